"""How fast the audit decides, against two hot-started linear programs for each cell.

    python benchmarks/audit.py 80x80 16x16x16 200k --repeat 5

Patterns come from our own sequential method. The baseline is the usual audit made well: one
solver over the same reduced system, hot-started, only the objective changes. Where it would
take too long it is run on an even sample of the cells and scaled up; the line says so.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time

import numpy as np

import tablecloak as tc
from tablecloak.suppression.audit.attack import Attack
from tablecloak.suppression.external_bounds import with_finite_bounds
from tablecloak.suppression.needs import needs_of
from tablecloak.suppression.system import System
from tables import TABLES


def baseline(
    problem: tc.ProtectionProblem, hidden: np.ndarray, at_most: float
) -> tuple[float, int]:
    """Seconds of two programs for each sensitive cell, and how many cells were really tried."""
    finite = with_finite_bounds(problem)
    started = time.perf_counter()
    attack = Attack(System.of(finite, needs_of(finite, "two-sided"), hidden))
    cells = attack.system.needs.cells
    order = np.argsort(np.arange(len(cells)) * 0.6180339887 % 1.0)
    done = 0
    for index in order:
        done += 1
        for sign in (1, -1):
            attack.extreme(int(cells[index]), sign)
        if time.perf_counter() - started > at_most:
            break
    seconds = time.perf_counter() - started
    return seconds * len(cells) / done, done


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="+", choices=list(TABLES))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--baseline-seconds", type=float, default=120.0)
    options = parser.parse_args()
    for name in options.tables:
        problem = TABLES[name]()
        pattern = tc.suppress(problem, method="sequential", time_limit=options.time_limit)
        hidden = pattern.suppressed
        times = []
        for _ in range(options.repeat):
            started = time.perf_counter()
            found = tc.audit(problem, hidden)
            times.append(time.perf_counter() - started)
            assert found.is_safe
        slow, tried = baseline(problem, hidden, options.baseline_seconds)
        median = statistics.median(times)
        scaled = "" if tried == problem.n_sensitive else f" (scaled up from {tried} cells)"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"| {name} | {problem.table.n_cells:,} | {int(hidden.sum()):,} | "
            f"{problem.n_sensitive:,} | {median:.3f} | {found.programs} | {slow:.1f}{scaled} | "
            f"{slow / median:.0f} | {memory:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
