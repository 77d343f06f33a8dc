"""Functions that other processes can find by name."""

from __future__ import annotations

import os
import signal
from pathlib import Path

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""What ends a process at once; on Windows SIGTERM does."""


def square(x: int) -> int:
    return x * x


def die_once(path: str) -> str:
    marker = Path(path)
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), KILL)
    return marker.name


def die(path: str) -> None:
    os.kill(os.getpid(), KILL)
