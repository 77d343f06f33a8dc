"""Suppression on tables of made-up enterprises: time, memory, secondary value, and growth.

    python benchmarks/enterprises.py two-way --seeds 5 --time-limit 3
    python benchmarks/enterprises.py three-way --enterprises 30000
    python benchmarks/enterprises.py three-way-large --enterprises 300000 --time-limit 900

Codes are drawn with lognormal shares, values lognormal (sigma 1.8) and rounded up; p% rule with
p = 10, and fewer than three contributors.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import pandas as pd

import tablecloak as tc

SHAPES = {
    "two-way": ({"a": (4, 6), "b": (5, 5)}, 3_000),
    "three-way": ({"a": (6, 6), "b": (5, 6), "c": (4, 6)}, 30_000),
    "three-way-large": ({"a": (10, 10), "b": (10, 10), "c": (10, 10)}, 300_000),
}
"""Branches on both levels of each hierarchy, and the usual number of enterprises."""


def enterprises(
    shape: dict[str, tuple[int, int]], n: int, seed: int
) -> tuple[pd.DataFrame, dict[str, dict[str, list[str]]]]:
    """One row for each enterprise, and the hierarchies."""
    random = np.random.default_rng(seed)
    columns, trees = {}, {}
    for name, (outer, inner) in shape.items():
        groups = {
            f"{name}{i:02d}": [f"{name}{i:02d}{j:02d}" for j in range(inner)] for i in range(outer)
        }
        codes = [code for group in groups.values() for code in group]
        share = random.lognormal(0, 1, len(codes))
        columns[name] = random.choice(codes, n, p=share / share.sum())
        trees[name] = groups
    frame = pd.DataFrame(columns)
    return frame.assign(v=np.ceil(random.lognormal(4, 1.8, n))), trees


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", choices=list(SHAPES))
    parser.add_argument("--enterprises", type=int)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--method", default="sequential")
    parser.add_argument("--jj", help="write the first problem here, for another tool")
    options = parser.parse_args()
    shape, usual = SHAPES[options.shape]
    for seed in range(1, options.seeds + 1):
        started = time.perf_counter()
        frame, trees = enterprises(shape, options.enterprises or usual, seed)
        table = tc.tabulate(frame, trees, "v")
        problem = table.protect(tc.PPercent(10), tc.MinimumFrequency(3))
        tabulated = time.perf_counter() - started
        print(f"seed {seed}: {problem.summary()}; tabulated in {tabulated:.1f} s", flush=True)
        if options.jj and seed == 1:
            tc.write_jj(problem, options.jj)
        started = time.perf_counter()
        pattern = tc.suppress(problem, method=options.method, time_limit=options.time_limit)
        seconds = time.perf_counter() - started
        value = problem.table.values
        share = value[pattern.secondary].sum() / value.max()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"  {pattern.summary()}", flush=True)
        print(
            f"  {seconds:.1f} s, secondary value {100 * share:.2f} % of the total, "
            f"{memory:.2f} GiB",
            flush=True,
        )
        started = time.perf_counter()
        found = tc.audit(problem, pattern)
        print(f"  {found.summary()} ({time.perf_counter() - started:.1f} s in all)", flush=True)


if __name__ == "__main__":
    main()
