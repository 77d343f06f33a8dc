"""What the package brings, what its extras bring, and what it says where one is missing."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from imported_names import imported
from programs import small
from tablecloak.app.server import create_app, serve
from tablecloak.cli.main import app
from tablecloak.executors import executor_named
from tablecloak.extras import EXTRA_OF, how_to_install, is_installed, required
from tablecloak.microdata.agencies import make_certificate
from tablecloak.render.page import Page
from tablecloak.risk_utility_map import RiskUtilityMap
from tablecloak.safe.appetite import Appetite
from tablecloak.solve.solver import SOLVERS, Request, using_solver
from tablecloak.tables.formats import write_frame
from tablecloak.tables.tabulation.records import open_database
from test_layout import WINGS

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
    "project"
]
EXTRAS = PROJECT["optional-dependencies"]


def distribution(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", requirement).group().lower().replace("_", "-")


def brought(extra: str) -> set[str]:
    """Distributions of an extra, and of the extras that it takes in."""
    found: set[str] = set()
    for requirement in EXTRAS[extra]:
        if distribution(requirement) == "tablecloak":
            inner = re.search(r"\[(.*)\]", requirement).group(1)
            found |= set().union(*(brought(name.strip()) for name in inner.split(",")))
        else:
            found.add(distribution(requirement))
    return found


DISTRIBUTIONS = {
    "ibis": "ibis-framework",
    "psycopg": "ibis-framework",
    "tomli_w": "tomli-w",
    "yaml": "pyyaml",
}
"""Where a library is not called like what installs it."""


@pytest.mark.parametrize("library", EXTRA_OF)
def test_the_extra_that_a_message_names_brings_the_library(library):
    assert DISTRIBUTIONS.get(library, library) in brought(EXTRA_OF[library])


def test_the_package_itself_brings_no_library_of_an_extra():
    core = {distribution(requirement) for requirement in PROJECT["dependencies"]}
    assert not core & (EXTRA_OF.keys() | {"networkx", "pyyaml", "tomli-w"})


def test_each_wing_has_an_extra():
    # Records are what `microdata` is about.
    assert {"records" if wing == "microdata" else wing for wing in WINGS} <= EXTRAS.keys()


def test_what_only_wings_import_is_no_dependency_of_the_core():
    package = Path(tc.__file__).parent
    homes = defaultdict(set)
    for path in package.rglob("*.py"):
        for name in imported(ast.parse(path.read_text("utf-8"))).values():
            homes[name.partition(".")[0]].add(path.relative_to(package).parts[0])
    core = {distribution(requirement) for requirement in PROJECT["dependencies"]}
    imports = {"yaml": "pyyaml"}
    of_wings = {imports.get(name, name) for name, places in homes.items() if places <= WINGS}
    assert "cryptography" in of_wings
    assert not core & of_wings


def test_the_documentation_lists_every_extra():
    page = (Path(__file__).parents[1] / "docs" / "installing.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]*`) \|", page, re.M)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == EXTRAS.keys()


def test_all_extras_together_are_those_that_need_neither_java_nor_a_licence():
    left_out = {"docs", "dev", "all", "spark", "scip"}
    each = set().union(*(brought(name) for name in EXTRAS.keys() - left_out))
    assert brought("all") == each


WITHOUT_EXTRAS = """
import importlib, json, pkgutil, sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRA_OF:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
EXTRA_OF = json.loads(sys.argv[1])
sys.meta_path.insert(0, Nothing())
import tablecloak
names = [name for _, name, _ in pkgutil.walk_packages(tablecloak.__path__, "tablecloak.")]
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        # The folder of an extra may need what the extra brings.
        if EXTRA_OF.get(error.name.partition(".")[0]) != name.split(".")[1]:
            raise
table = tablecloak.tabulate(
    tablecloak.examples.firms(100), ["region", "industry"], "turnover", contributor="firm"
)
pattern = tablecloak.suppress(table.protect(tablecloak.PPercent(10)), time_limit=5)
pattern.certificate.verify()
pattern.write("release.csv")
print(len(names))
"""


def test_the_package_alone_imports_all_modules_and_protects_records(tmp_path):
    extra_of = json.dumps(dict(EXTRA_OF) | {"networkx": ""})
    command = [sys.executable, "-c", WITHOUT_EXTRAS, extra_of]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300
    assert (tmp_path / "release.csv").exists()


def test_importing_the_package_loads_the_standard_library_alone():
    program = """
import sys
before = set(sys.modules)
import tablecloak
new = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(new - sys.stdlib_module_names))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['tablecloak']"


def test_the_command_line_answers_without_loading_what_draws_or_opens_data():
    program = """
import sys
from tablecloak.cli.main import app
for words in (["--version"], ["records", "swap", "--help"], ["protect", "--help"]):
    try:
        app(words)
    except SystemExit as end:
        assert not end.code
heavy = {"matplotlib", "duckdb", "flask", "pyarrow.parquet", "pyspark", "distributed", "highspy"}
sys.stderr.write(repr(sorted(heavy & set(sys.modules))))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "[]"
    assert done.stdout.startswith(f"tablecloak {tc.__version__}")


@pytest.fixture
def without(monkeypatch):
    def hide(library: str) -> None:
        monkeypatch.setitem(sys.modules, library, None)

    return hide


USES = {
    "cryptography": lambda folder: make_certificate("north", folder),
    "distributed": lambda folder: list(executor_named("dask").run(abs, [-1])),
    "flask": lambda folder: create_app(folder, "token"),
    "matplotlib": lambda folder: RiskUtilityMap(pd.DataFrame()).plot(),
    "ibis": lambda folder: open_database("sqlite://", "firms"),
    "openpyxl": lambda folder: tc.run_job(excel_job(folder)),
    "pyarrow": lambda folder: write_frame(tc.examples.firms(), folder / "firms.parquet"),
    "pulp": lambda folder: SOLVERS["cbc"]().run(small(), Request()),
    "tqdm": lambda folder: tc.ProgressBar(),
    "waitress": lambda folder: serve(),
    "yaml": lambda folder: Appetite.read(folder / "limits.yaml"),
}
"""A use of each library."""


def excel_job(folder: Path) -> Path:
    tc.examples.write("firms", folder)
    path = folder / "excel.toml"
    job = (folder / "job.toml").read_text("utf-8")
    path.write_text(job + '[output]\nformats = ["excel"]\n', encoding="utf-8")
    return path


@pytest.mark.parametrize("library", USES)
def test_a_missing_library_is_named_with_what_to_type(library, without, tmp_path):
    without(library)
    assert not is_installed(library)
    with pytest.raises(tc.InputError) as caught:
        USES[library](tmp_path)
    assert f"need the library {library}, which is not installed" in str(caught.value)
    assert str(caught.value).endswith(how_to_install(library))
    assert how_to_install(library) == (
        f'Install it with: pip install "tablecloak[{EXTRA_OF[library]}]".'
    )


def test_a_solver_that_is_not_there_is_named_with_its_extra(without):
    without("pulp")
    with pytest.raises(tc.InputError, match=r"'cbc' is not installed: the Python package pulp"):
        using_solver("cbc").__enter__()


def test_plots_are_refused_before_the_audit_and_not_after_it(without, tmp_path):
    without("matplotlib")
    words = ["audit", "none.jj", "none.csv", "--plot", str(tmp_path / "a.png")]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert 'pip install "tablecloak[plots]"' in " ".join(refused.output.split())


def test_a_page_without_matplotlib_says_what_is_left_out_and_warns_once(without, tmp_path):
    without("matplotlib")
    page = Page("Turnover")
    page.text("three cells")
    with pytest.warns(tc.TablecloakWarning, match="written without its plots") as warned:
        page.figure(lambda: pytest.fail("nothing can be drawn"), "First")
        page.figure(lambda: pytest.fail("nothing can be drawn"), "Second")
    assert len(warned) == 1
    assert "three cells" in page.html()
    assert page.html().count("Plot left out: ") == 2
    assert "tablecloak[plots]" in page.html()


def test_a_broken_library_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "tomli_w.py").write_text("raise ImportError('built for another Python')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tomli_w", raising=False)
    with pytest.raises(tc.InputError, match=r"which cannot be imported \(built for another Pyth"):
        required("tomli_w", "Job files")
