"""What the documentation shows works as it is shown."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

import readme
import tablecloak
import tablecloak as tc
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.run import run_job

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
MODULES = [name for _, name, _ in pkgutil.walk_packages(tablecloak.__path__, "tablecloak.")]
WITH_EXAMPLES = [
    name for name in MODULES if ">>> " in Path(find_spec(name).origin).read_text("utf-8")
]


def test_every_module_can_be_imported():
    for name in MODULES:
        importlib.import_module(name)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings(name):
    module = importlib.import_module(name)
    done = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert done.attempted and not done.failed


def test_coxs_example_runs_and_asserts_its_figures(capsys):
    runpy.run_path(str(EXAMPLES / "cox" / "run.py"))
    assert "loss 3,076" in capsys.readouterr().out


def test_noisy_counts_are_made_to_add_up_without_a_privacy_library(capsys, monkeypatch):
    # Without OpenDP the noise is the same each time. The example itself checks that it adds up.
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    runpy.run_path(str(EXAMPLES / "noisy_counts" / "run.py"), run_name="__main__")
    assert "35 cells" in capsys.readouterr().out


@pytest.mark.slow
def test_enterprises_are_protected_both_ways(tmp_path):
    job = read_job(EXAMPLES / "enterprises" / "job.toml")
    job.adjustment.time_limit = 1
    job.suppression.time_limit = 2
    # The pages have tests of their own.
    job.output.report = False
    result = run_job(job, tmp_path)
    assert result.is_safe
    # The best pattern loses 3,210,321; how near the search comes depends on the machine.
    assert result.pattern.bound <= 3210321 <= result.pattern.loss
    table = result.problem.table
    assert (table.n_cells, result.problem.n_sensitive) == (728, 128)
    released = pd.read_csv(tmp_path / "release" / "suppression" / "table.csv")
    assert len(released) == table.n_cells
    assert released[table.name].isna().sum() == result.pattern.suppressed.sum()
    assert not (table.relations @ result.adjustment.values).any()


DOCS = EXAMPLES.parent / "docs"
# The recipes of the architecture register things: tests/test_recipes.py runs and forgets them.
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if "```python" in path.read_text("utf-8") and path.name != "architecture.md"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_programs_of_the_documentation_run_and_hold_what_they_assert(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in re.findall(r"/raw/main/(tests/data/\S+?)\)", page.read_text("utf-8")):
        shutil.copy(DOCS.parent / name, tmp_path)
    shown = readme.steps(page.read_text("utf-8"))
    if page.parent.name != "tutorials":
        # Commands of other pages name files of the reader.
        shown = [step for step in shown if step.is_python]
    readme.run_steps(shown, page.name)


@pytest.mark.slow
def test_the_documentation_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        command,
        check=False,
        cwd=DOCS.parent,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) >= 18
    for page in pages:
        # Readers in closed networks: nothing is loaded from elsewhere.
        text = page.read_text("utf-8")
        assert not re.search(r'<(script|link|img)[^>]+(src|href)="https?://(?!tablecloak)', text)


def test_importing_the_package_loads_no_heavy_library():
    heavy = "{'pandas', 'scipy', 'highspy', 'ibis'}"
    code = f"import sys, tablecloak; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_documented():
    assert all(getattr(tc, name).__doc__ for name in tc.__all__ if name != "__version__")
