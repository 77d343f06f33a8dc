"""A program of the package beside this one, which goes on when this one ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

Program = subprocess.Popen[bytes]
"""A program that runs."""


def started_beside(module: str) -> Program | None:
    """Run a module as a program, unseen and unwaited for; None where this process is no Python.

    Parameters
    ----------
    module : str
        Full name.
    """
    if not Path(sys.executable).name.startswith("python"):
        return None
    return subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
