"""A function called in a process of its own, with limits of time and memory, and what it used."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["OUT_OF_MEMORY", "Outcome", "isolated"]

OUT_OF_MEMORY = "out of memory"


@dataclass(frozen=True)
class Outcome:
    """What became of a call.

    Parameters
    ----------
    result : object
        None if there is none.
    error : str
        Last line of what went wrong, `OUT_OF_MEMORY`, or empty.
    cpu_seconds : float
        Of the processor, processes that it started included.
    memory : float
        Peak, in MiB; NaN where the system does not tell.
    timed_out : bool
    """

    result: Any = None
    error: str = ""
    cpu_seconds: float = float("nan")
    memory: float = float("nan")
    timed_out: bool = False


def isolated(
    function: Callable[..., Any],
    *arguments: Any,
    seconds: float | None = None,
    memory: float | None = None,
) -> Outcome:
    """Call a function in a fresh process.

    Parameters
    ----------
    function : callable
        Declared in a module, so that it can be found there.
    *arguments
        Anything that can be pickled.
    seconds : float, optional
        Of the wall, after which the process is ended.
    memory : float, optional
        MiB of address space.
    """
    with tempfile.TemporaryDirectory(prefix="tablecloak-bench-") as folder:
        task, answer = Path(folder) / "task", Path(folder) / "answer"
        packed = pickle.dumps((function, arguments, memory))
        task.write_bytes(pickle.dumps((_places(), packed)))
        command = [sys.executable, "-m", "tablecloak.bench.worker", str(task), str(answer)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                env=environment,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(error="did not end; it was killed", timed_out=True)
        if not answer.exists():
            said = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
            return Outcome(error=said[-1])
        outcome: Outcome = pickle.loads(answer.read_bytes())
        return outcome


def _places() -> list[str]:
    """Where modules may lie: as here, and in the folder from which the bench is run."""
    return [*(place for place in sys.path if place), str(Path.cwd())]
