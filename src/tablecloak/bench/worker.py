"""One question, one solver, one process: ``python -m tablecloak.bench.worker TASK ANSWER``."""

from __future__ import annotations

import pickle
import re
import sys
import traceback
from dataclasses import replace
from pathlib import Path

from tablecloak.bench.answers import Answer
from tablecloak.bench.solvers import solver_named
from tablecloak.budget import Stopwatch

__all__ = ["main"]


def main(task: Path, answer: Path) -> None:
    """Answer a task that was written by the runner of this machine."""
    solver, question, kind, seconds, memory, places = pickle.loads(task.read_bytes())
    # Last, so that no file of the user takes the place of a module of Python.
    sys.path.extend(place for place in places if place not in sys.path)
    solve = solver_named(solver)
    _limit_memory(memory)
    watch = Stopwatch()
    try:
        found = solve(question, kind, seconds)
    except MemoryError:
        found = Answer("limit", message="out of memory")
    except Exception:
        found = Answer("error", message=traceback.format_exc(limit=1).strip().splitlines()[-1])
    found = replace(found, seconds=watch.seconds, memory=_peak())
    answer.write_bytes(pickle.dumps(found))


def _limit_memory(mebibytes: float) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    size = int(mebibytes * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _peak() -> float:
    """Peak memory of this process, in MiB; NaN where the system does not tell."""
    # What `resource` calls the peak includes that of the process that started this one.
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
    return int(found.group(1)) / 1024 if found else float("nan")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
