"""Functions that other processes can find by name."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def square(x: int) -> int:
    return x * x


def die_once(path: str) -> str:
    marker = Path(path)
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return marker.name


def die(path: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
