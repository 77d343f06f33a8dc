"""How the time of a first complete pattern grows with the number of cells, with a plot.

    python benchmarks/growth.py benchmarks/growth.svg

Tables of made-up farms (`farms.py`), five sizes up to a grid of 792,120 cells. Seconds are those of
the processor, from the problem to the pattern, with its certificate built and verified.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from farms import SHAPES, memory, problem_of

import tablecloak as tc

SIZES = ("5k", "25k", "100k", "300k", "792k")

AT_ONCE = 1e-3
"""Limit in seconds; a first pattern is completed in any case."""


def main() -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    cells, seconds = [], []
    for name in SIZES:
        problem = problem_of(name)
        started = time.process_time()
        pattern = tc.suppress(problem, method="sequential", time_limit=AT_ONCE, threads=1)
        seconds.append(time.process_time() - started)
        cells.append(SHAPES[name].n_cells)
        print(
            f"| {cells[-1]:,} | {problem.table.n_cells:,} | {problem.n_sensitive:,} | "
            f"{seconds[-1]:.1f} | {1e3 * seconds[-1] / problem.table.n_cells:.2f} | "
            f"{int(pattern.suppressed.sum()):,} | {memory():.2f} |",
            flush=True,
        )
    slope, constant = np.polyfit(np.log(cells), np.log(seconds), 1)
    print(f"seconds = {np.exp(constant):.3g} cells^{slope:.2f}")
    figure, axes = pyplot.subplots(figsize=(5, 3.5))
    axes.loglog(cells, seconds, "o")
    line = np.array([cells[0], cells[-1]])
    axes.loglog(line, np.exp(constant) * line**slope, label=f"cells^{slope:.2f}")
    axes.set(xlabel="cells of the grid", ylabel="seconds", title="First complete proved pattern")
    axes.legend()
    figure.tight_layout()
    figure.savefig(sys.argv[1])


if __name__ == "__main__":
    main()
