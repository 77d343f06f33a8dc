"""Who can read a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def is_private(path: Path) -> bool:
    """Whether only the owner can read and write a file; Windows knows no such modes."""
    return os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o600
