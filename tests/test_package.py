"""The package as a whole: its public names, its wheel."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zipfile
from importlib import import_module, metadata
from inspect import ismodule
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

import pytest
from packaging.requirements import Requirement

import tablecloak as tc
import wheel_check
from test_layout import WINGS

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_name_can_be_loaded():
    assert list(tc.__all__) == sorted(tc.__all__)
    assert all(getattr(tc, name) is not None for name in tc.__all__)


def public_names(package: ModuleType) -> set[str]:
    """Names in `__all__`; without one, those that the package imports under their own name."""
    tree = ast.parse(Path(package.__file__).read_text("utf-8"))
    imports = [line for line in tree.body if isinstance(line, ast.ImportFrom)]
    kept = {part.name for line in imports for part in line.names if part.name == part.asname}
    return set(getattr(package, "__all__", kept))


def test_the_reference_shows_every_name_of_every_public_package():
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs/reference").glob("*.md"))
    paths = re.findall(r"^::: (\S+)\.(\w+)$", pages, re.MULTILINE)
    shown = {id(getattr(import_module(module), name)) for module, name in paths}
    below = [part.name for part in walk_packages(tc.__path__, "tablecloak.") if part.ispkg]
    packages = {name: import_module(name) for name in ("tablecloak", *below)}
    public = {
        f"{name}.{member}": getattr(package, member)
        for name, package in packages.items()
        for member in public_names(package)
    }
    # A name of the package itself, one of `__all__`, and one that is imported under its own name.
    assert {"suppress", "argus.run_batch", "safe.Project"} <= {name[11:] for name in public}
    missing = [
        name for name, thing in public.items() if not ismodule(thing) and id(thing) not in shown
    ]
    assert missing == []


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """The source archive, and the wheel that is made of it, as for a release."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def test_wheel_contains_the_whole_package_and_nothing_else(dist):
    (wheel,) = dist.glob("*.whl")
    wheel_check.check_wheel(wheel)
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "tablecloak"
    sources = {
        f"tablecloak/{path.relative_to(package).as_posix()}" for path in package.rglob("*.py")
    }
    assert sources <= names
    assert f"tablecloak-{tc.__version__}.dist-info/METADATA" in names


def test_the_source_archive_holds_what_a_release_needs_and_no_more(dist):
    (source,) = dist.glob("*.tar.gz")
    wheel_check.check_source(source)


def test_a_wheel_with_foreign_files_is_refused(tmp_path):
    path = tmp_path / "tablecloak-9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tablecloak/__init__.py", "")
        wheel.writestr("tests/test_it.py", "")
    with pytest.raises(SystemExit, match="tests"):
        wheel_check.check_wheel(path)


def needed(requirements: list[str], extra: str) -> set[str]:
    """Distributions that some requirements ask for, and all that these need in turn."""
    closure, waiting = set(), [(line, extra) for line in requirements]
    while waiting:
        line, extra = waiting.pop()
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            for option in (*requirement.extras, ""):
                if (requirement.name, option) not in closure:
                    closure.add((requirement.name, option))
                    inner = metadata.requires(requirement.name) or []
                    waiting += [(one, option) for one in inner]
    return {name for name, _ in closure}


@pytest.fixture(scope="module")
def core(dist, tmp_path_factory) -> Path:
    """A folder with what the wheel installs, less the wings, and the dependencies of the core."""
    return installed(dist, tmp_path_factory.mktemp("core"))


@pytest.fixture(scope="module")
def with_engines(dist, tmp_path_factory) -> Path:
    """The same with the extra that makes tables of records."""
    return installed(dist, tmp_path_factory.mktemp("engines"), "engines")


def installed(dist: Path, folder: Path, extra: str = "") -> Path:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        wings = tuple(f"tablecloak/{wing}/" for wing in WINGS)
        archive.extractall(folder, [n for n in archive.namelist() if not n.startswith(wings)])
    (info,) = folder.glob("*.dist-info")
    for name in needed(metadata.PathDistribution(info).requires or [], extra):
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(distribution.locate_file(top)).resolve())
    return folder


def run_on(core: Path, program: str, folder: Path) -> str:
    """Run a program in a process that finds the core and nothing else; return what it prints."""
    done = subprocess.run(
        # Without `site` no package that is installed here can be found.
        [sys.executable, "-S", "-c", f"WINGS = {sorted(WINGS)}\n{program}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PYTHONPATH": str(core), "PATH": os.environ["PATH"], "HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_core_is_installed_alone(core, tmp_path):
    program = """
from importlib.util import find_spec
print([name for name in ("flask", "pulp", "duckdb", "ibis", "pyarrow") if find_spec(name)])
print([wing for wing in WINGS if find_spec(f"tablecloak.{wing}")])
import tablecloak
print(tablecloak.__file__)
"""
    assert run_on(core, program, tmp_path).split("\n")[:3] == [
        "[]", "[]", str(core / "tablecloak" / "__init__.py")
    ]  # fmt: skip


def test_tables_are_made_and_protected_by_the_core_alone(core, tmp_path):
    program = """
import tablecloak as tc
problem = tc.examples.cox_rounded()
tc.publish_intervals(problem, time_limit=5)
tc.controlled_rounding(problem, base=5, time_limit=5).verify()
tc.write_problem(problem, "table.jj")
assert tc.audit(tc.read_problem("table.jj"), tc.suppress(problem).suppressed).is_safe
print(tc.tabulate(tc.examples.firms(), ["region"], "turnover").to_frame())
"""
    assert "Total" in run_on(core, program, tmp_path)


def test_a_folder_of_jobs_is_protected_by_the_core_alone(core, tmp_path):
    program = """
import shutil
from pathlib import Path
import tablecloak as tc
from tablecloak.jobs.campaign import run_campaign
tc.examples.write("jobs")
print(all(outcome.is_safe for outcome in run_campaign("jobs", "years")))
job = next(Path("jobs").glob("*.toml"))
shutil.copy(job, job.with_name("copy.toml"))
try:
    run_campaign("jobs", "again")
except tc.InputError as error:
    print(error)
"""
    printed = run_on(core, program, tmp_path)
    assert printed.startswith("True\n")
    assert "tables are linked" in printed


def test_the_program_of_the_readme_runs_with_engines(with_engines, tmp_path):
    readme = (ROOT / "README.md").read_text("utf-8")
    first = re.findall(r"^```python\n(.*?)^```", readme, re.M | re.S)[0]
    program = f"""
import tablecloak as tc
tc.examples.write("firms")
{first}
"""
    assert "loss" in run_on(with_engines, program, tmp_path)
    assert (tmp_path / "published.csv").exists()


def test_no_module_of_the_core_needs_a_wing_or_an_extra(core, tmp_path):
    program = """
import importlib
import pkgutil
import tablecloak as tc
for module in pkgutil.walk_packages(tc.__path__, "tablecloak.", onerror=lambda name: None):
    # The roof asks for a wing or an extra when a command of it is typed.
    if module.name.split(".")[1] not in ("cli", "app", "service"):
        importlib.import_module(module.name)
        print(module.name)
"""
    assert len(run_on(core, program, tmp_path).split()) > 300


def test_the_main_job_runs_with_engines(with_engines, tmp_path):
    program = """
from tablecloak.cli.main import app
for words in (["example", "firms"], ["protect", "job.toml", "--out", "results"]):
    try:
        app(words)
    except SystemExit as end:
        assert not end.code, end.code
"""
    assert "It is proved that nobody who knows" in run_on(with_engines, program, tmp_path)
    assert (tmp_path / "results" / "release" / "suppression" / "table.csv").exists()
