"""Where the instances of tests lie: those that may be shipped in tests/data, the others beside.

A few files of other tools may not be shipped (see tests/data/NOTICE.md). Tests that read one of
them look for it in ``shared/instances`` beside the clone, and name it where it is missing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

SHIPPED = Path(__file__).resolve().parent / "data"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "instances"


class Instances:
    """Files by their name in tests/data, as in ``instances / "castro-cta-jj/targus.jj.gz"``."""

    def __init__(self, *folders: Path) -> None:
        self.folders = folders or (SHIPPED, BESIDE)

    def __truediv__(self, name: str) -> Path:
        """Return the place of a file or folder; the test is skipped if there is none."""
        places = [folder / name for folder in self.folders if (folder / name).exists()]
        if not places:
            pytest.skip(f"{name} may not be shipped and is not in {self.folders[-1]}")
        return places[0]
