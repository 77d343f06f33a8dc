"""Who can read a file or a folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def is_private(path: Path) -> bool:
    """Whether nobody but the owner can read or write; Windows knows no such modes."""
    return os.name == "nt" or stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
