"""A function call in a separate process, with limits of time and memory, and its use of both."""

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
    """The outcome of a call.

    Parameters
    ----------
    result : object
        What the function returned; None if it failed.
    error : str
        Last line of the error message, `OUT_OF_MEMORY`, or empty.
    cpu_seconds : float
        CPU time, including that of processes which the call started.
    memory : float
        Peak memory, in MiB; NaN if the system does not report it.
    timed_out : bool
    seconds : float
        Seconds of the wall.
    """

    result: Any = None
    error: str = ""
    cpu_seconds: float = float("nan")
    memory: float = float("nan")
    timed_out: bool = False
    seconds: float = float("nan")


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
        A function at the top level of a module, so that the new process can import it.
    *arguments
        Arguments of the function, which can be pickled.
    seconds : float, optional
        Wall-clock time after which the process is killed.
    memory : float, optional
        Limit of the address space, in MiB.
    """
    with tempfile.TemporaryDirectory(prefix="tablecloak-bench-") as folder:
        task, answer = Path(folder) / "task", Path(folder) / "answer"
        packed = pickle.dumps((function, arguments, memory))
        task.write_bytes(pickle.dumps((_places(), packed)))
        command = [sys.executable, "-m", "bench.worker", str(task), str(answer)]
        places = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(place for place in places if place),
        }
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
    """Return the folders of modules: those of this process, and the current folder."""
    return [*(place for place in sys.path if place), str(Path.cwd())]
