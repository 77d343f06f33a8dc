"""The package as a whole: its public names, its wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import tablecloak as tc

ROOT = Path(__file__).resolve().parents[1]


def test_every_public_name_can_be_loaded():
    assert list(tc.__all__) == sorted(tc.__all__)
    assert all(getattr(tc, name) is not None for name in tc.__all__)


def test_wheel_contains_only_the_package(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"tablecloak", f"tablecloak-{tc.__version__}.dist-info"}
