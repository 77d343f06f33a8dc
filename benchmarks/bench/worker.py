"""One call, one process: ``python -m bench.worker TASK ANSWER``."""

from __future__ import annotations

import pickle
import re
import sys
import time
import traceback
from pathlib import Path

from bench.isolated import OUT_OF_MEMORY, Outcome

__all__ = ["main"]


def main(task: Path, answer: Path) -> None:
    """Do a task that `bench.isolated` wrote on this machine."""
    places, packed = pickle.loads(task.read_bytes())
    # The folders come last, so that no file of the user hides a module of Python.
    sys.path.extend(place for place in places if place not in sys.path)
    function, arguments, memory = pickle.loads(packed)
    if memory is not None:
        _limit_memory(memory)
    started = time.monotonic()
    result, error = None, ""
    try:
        result = function(*arguments)
    except MemoryError:
        error = OUT_OF_MEMORY
    except Exception:
        error = traceback.format_exc(limit=1).strip().splitlines()[-1]
    seconds = time.monotonic() - started
    outcome = Outcome(result, error, _cpu_seconds(), peak_memory(), seconds=seconds)
    answer.write_bytes(pickle.dumps(outcome))


def _limit_memory(mebibytes: float) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    size = int(mebibytes * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _cpu_seconds() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_memory() -> float:
    """Return the peak memory of this process, in MiB; NaN if the system does not report it."""
    # The peak that `resource` reports includes that of the process that started this one.
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
    return int(found.group(1)) / 1024 if found else float("nan")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
