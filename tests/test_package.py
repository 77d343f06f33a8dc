"""The package as a whole: its public names, its wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tablecloak as tc
import wheel_check

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
