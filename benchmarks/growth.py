"""How the time of a first complete pattern grows with the number of cells, with a plot.

    python benchmarks/growth.py benchmarks/growth.svg

Three-way tables of made-up enterprises, two levels in each hierarchy, four sizes.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from enterprises import enterprises

import tablecloak as tc
from tablecloak.suppression.external_bounds import with_finite_bounds
from tablecloak.suppression.needs import needs_of
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.strategy import Strategy
from tablecloak.suppression.system import System

SIZES = ((300, 2), (1_000, 3), (3_000, 4), (10_000, 5))
"""Enterprises, and branches on both levels of each of three hierarchies."""


def main() -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    cells, seconds = [], []
    for n, branches in SIZES:
        shape = dict.fromkeys("abc", (branches, branches))
        frame, trees = enterprises(shape, n, 1)
        table = tc.tabulate(frame, trees, "v")
        problem = with_finite_bounds(table.protect(tc.PPercent(10), tc.MinimumFrequency(3)))
        started = time.perf_counter()
        system = System.of(problem, needs_of(problem, "two-sided"), ~problem.frozen)
        found = protect_one_by_one(problem, system, Strategy(symmetric=False))
        seconds.append(time.perf_counter() - started)
        cells.append(table.n_cells)
        assert found.is_proved
        print(
            f"| {n:,} | {table.n_cells:,} | {problem.n_sensitive:,} | {seconds[-1]:.1f} | "
            f"{1e3 * seconds[-1] / table.n_cells:.2f} |",
            flush=True,
        )
    slope, constant = np.polyfit(np.log(cells), np.log(seconds), 1)
    print(f"seconds = {np.exp(constant):.3g} cells^{slope:.2f}")
    figure, axes = pyplot.subplots(figsize=(5, 3.5))
    axes.loglog(cells, seconds, "o")
    line = np.array([cells[0], cells[-1]])
    axes.loglog(line, np.exp(constant) * line**slope, label=f"cells^{slope:.2f}")
    axes.set(xlabel="cells", ylabel="seconds", title="First complete proved pattern")
    axes.legend()
    figure.tight_layout()
    figure.savefig(sys.argv[1])


if __name__ == "__main__":
    main()
