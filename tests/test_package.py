"""The package as a whole: its public names, its wheel."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tablecloak as tc
import wheel_check
from test_layout import WINGS

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_name_can_be_loaded():
    assert list(tc.__all__) == sorted(tc.__all__)
    assert all(getattr(tc, name) is not None for name in tc.__all__)


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


WITHOUT_WINGS = """\
import importlib
import pkgutil
import sys


class Absent:
    "Refuses the wings, as if their folders were not installed."

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[1:2] and name.split(".")[1] in WINGS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())
import tablecloak as tc
"""


def without_wings(program: str, folder: Path) -> str:
    """Run a program in a process in which the wings cannot be imported; return what it prints."""
    text = f"WINGS = {sorted(WINGS)}\n{WITHOUT_WINGS}{program}"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_program_of_the_readme_runs_without_the_wings(tmp_path):
    readme = (ROOT / "README.md").read_text("utf-8")
    first = re.findall(r"^```python\n(.*?)^```", readme, re.M | re.S)[0]
    program = f"""
tc.examples.write("firms")
{first}
problem = tc.examples.cox_rounded()
tc.publish_intervals(problem, time_limit=5)
tc.controlled_rounding(problem, base=5, time_limit=5).verify()
tc.write_problem(problem, "table.jj")
assert tc.audit(tc.read_problem("table.jj"), tc.suppress(problem).suppressed).is_safe
assert not [name for name in sys.modules if name.split(".")[1:2] and name.split(".")[1] in WINGS]
"""
    assert "loss" in without_wings(program, tmp_path)
    assert (tmp_path / "published.csv").exists()


def test_no_module_of_the_core_needs_a_wing(tmp_path):
    program = """
for module in pkgutil.walk_packages(tc.__path__, "tablecloak.", onerror=lambda name: None):
    if module.name.split(".")[1] not in (*WINGS, "cli", "app", "service"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            assert error.name.split(".")[1] in WINGS, error
            print(module.name.removeprefix("tablecloak."))
"""
    assert without_wings(program, tmp_path) == ""


def test_the_main_job_runs_without_the_wings(tmp_path):
    program = """
from tablecloak.cli.main import app
try:
    app(["example", "firms"])
except SystemExit as end:
    assert not end.code, end.code
try:
    app(["protect", "job.toml", "--out", "results"])
except SystemExit as end:
    assert not end.code, end.code
assert not [name for name in sys.modules if name.split(".")[1:2] and name.split(".")[1] in WINGS]
"""
    assert "All releases are proved safe" in without_wings(program, tmp_path)
    assert (tmp_path / "results" / "release" / "suppression" / "table.csv").exists()
