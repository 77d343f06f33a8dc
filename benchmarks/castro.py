"""Castro's tables: loss, bound, gap and time of suppression (and an audit of what comes out), or
of adjustment.

python benchmarks/castro.py FOLDER --weights value --time-limit 60 [--only hier13 table7]
python benchmarks/castro.py FOLDER --adjust --time-limit 60
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import tablecloak as tc


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="folder with NAME.jj.gz")
    parser.add_argument("--weights", default="value", choices=["value", "unit", "file"])
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--adjust", action="store_true", help="weights 1 / value")
    options = parser.parse_args()
    files = sorted(options.folder.glob("*.jj.gz"), key=lambda path: path.stat().st_size)
    for path in files:
        name = path.name.removesuffix(".jj.gz")
        if options.only and name not in options.only:
            continue
        problem = tc.read_jj(path)
        started = time.perf_counter()
        if options.adjust:
            # Levels that are not whole would be rounded up, and losses not be comparable.
            levels = np.concatenate([problem.lower_protection, problem.upper_protection])
            integer = None if np.all(levels == np.rint(levels)) else False
            adjusted = tc.adjust(problem, integer=integer, time_limit=options.time_limit)
            seconds = time.perf_counter() - started
            print(
                f"| {name} | {adjusted.loss:.6f} | {adjusted.bound:.6f} | "
                f"{100 * adjusted.gap:.2f} % | {'yes' if adjusted.integer else 'no'} | "
                f"{seconds:.0f} |",
                flush=True,
            )
            continue
        pattern = tc.suppress(problem, weights=options.weights, time_limit=options.time_limit)
        seconds = time.perf_counter() - started
        found = tc.audit(problem, pattern)
        bound = f"{pattern.bound:,.0f}" if pattern.bound_certificate else "none"
        gap = f"{100 * pattern.gap:.2f} %" if pattern.bound_certificate else "-"
        print(
            f"| {name} | {pattern.method} | {pattern.loss:,.0f} | {bound} | {gap} | "
            f"{int(pattern.suppressed.sum()):,} | {seconds:.0f} | "
            f"{problem.n_sensitive - found.count(tc.Verdict.PROTECTED)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
