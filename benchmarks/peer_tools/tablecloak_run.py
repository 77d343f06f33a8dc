"""tablecloak on one table, within a limit in seconds of the processor, on one thread.

    python benchmarks/peer_tools/tablecloak_run.py FOLDER METHOD SECONDS

FOLDER holds problem.pickle. The answer is written to FOLDER/answer.json.
"""

import json
import pickle
import sys
import time
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from two_way import ProcessorClock

import tablecloak as tc
import tablecloak.budget

AGAINST: dict[str, tuple[str, ...]] = {"": (), "contributors": ("contributors",)}
"""Insiders against whom the pattern shall hold as far as possible."""


def main(folder: Path, method: str, limit: float) -> None:
    """Write the answer: hidden cells by index, the bound, and seconds of the processor."""
    tablecloak.budget.time = SimpleNamespace(monotonic=ProcessorClock())
    with (folder / "problem.pickle").open("rb") as file:
        problem = pickle.load(file)
    # Modules that are imported when they are first needed are no part of a search.
    tc.suppress(tc.examples.cox_rounded(), threads=1, time_limit=1)
    started = time.process_time()
    pattern = tc.suppress(
        problem, protect_against=AGAINST[method], hold="possible", time_limit=limit, threads=1
    )
    seconds = time.process_time() - started
    answer = {
        "seconds": seconds,
        "hidden": np.flatnonzero(pattern.suppressed).tolist(),
        "claim": "optimal" if pattern.is_optimal else f"at least {pattern.bound:,.0f}",
        "version": version("tablecloak"),
    }
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
