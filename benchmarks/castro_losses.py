"""Castro's tables: what suppression loses beside what it lost at first.

    python benchmarks/castro_losses.py FOLDER [--weights value] [--only hier13 table7]

One row for each table and kind of weights: the loss of 60 s at the first measurement (`BEFORE`),
the loss now, and what an audit of the pattern says; at the end, which tables lose more than before.
Tables run two at a time, each on one thread. `tablecloak bench castro` measures and keeps the rest.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tablecloak as tc

BEFORE = {
    "targus": {"value": 2_045_231, "unit": 20},
    "table7": {"value": 3_949_337, "unit": 45},
    "hier13x7x7d": {"value": 592_299, "unit": 152},
    "table8": {"value": 262, "unit": 6},
    "table1": {"value": 186_522_505, "unit": 193},
    "table6": {"value": 186_522_505, "unit": 191},
    "hier13": {"value": 9_156_860, "unit": 880},
    "hier13x13x13a": {"value": 8_408_410, "unit": 901},
    "hier13x13x13e": {"value": 9_175_608, "unit": 894},
    "hier16": {"value": 26_636_579, "unit": 2_038},
    "hier16x16x16a": {"value": 27_798_375, "unit": 1_901},
    "osorio": {"value": 55, "unit": 14},
    "cbs": {"value": 186_743, "unit": 2_469},
    "two5in6": {"value": 21_197_329, "unit": 2_621},
    "dale": {"value": 11_792, "unit": 4_950},
    "nine12": {"value": 29_902_196, "unit": 5_955},
    "nine5d": {"value": 28_654_525, "unit": 5_565},
}
"""Loss after 60 s at the first measurement, on two cores, by table and weights."""

ROUNDING = 0.5
"""Losses there are whole numbers: what is larger by less is not worse."""

AT_ONCE = 2
"""Tables that run at the same time, as for the figures in `BEFORE`."""


@dataclass(frozen=True)
class Row:
    """What became of one table with one kind of weights."""

    name: str
    weights: str
    method: str
    loss: float
    bound: float
    gap: float
    hidden: int
    seconds: float
    unprotected: int

    @property
    def before(self) -> float:
        """Loss at the first measurement; not a number where there is none."""
        return BEFORE.get(self.name, {}).get(self.weights, float("nan"))

    @property
    def is_worse(self) -> bool:
        """Whether more is lost than before."""
        return self.loss > self.before + ROUNDING

    def __str__(self) -> str:
        change = 100 * (self.loss / self.before - 1)
        verdict = "**worse**" if self.is_worse else "ok"
        return (
            f"| {self.name} | {self.weights} | {self.before:,.0f} | {self.loss:,.0f} | "
            f"{change:+.1f} % | {verdict} | {self.method} | {self.bound:,.0f} | "
            f"{100 * self.gap:.2f} % | {self.hidden:,} | {self.seconds:.0f} | {self.unprotected} |"
        )


HEAD = """
| instance | weights | before | now | change | | method | bound | gap | hidden | s | not protected |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def suppressed(job: tuple[Path, str], *, time_limit: float) -> Row:
    """Suppress one table within the limit, and audit the pattern."""
    path, weights = job
    problem = tc.read_jj(path)
    started = time.perf_counter()
    pattern = tc.suppress(problem, weights=weights, time_limit=time_limit, threads=1)
    seconds = time.perf_counter() - started
    found = tc.audit(problem, pattern, threads=1)
    return Row(
        path.name.removesuffix(".jj.gz"),
        weights,
        pattern.method,
        pattern.loss,
        pattern.bound if pattern.bound_certificate else float("nan"),
        pattern.gap if pattern.bound_certificate else float("nan"),
        int(pattern.suppressed.sum()),
        seconds,
        problem.n_sensitive - found.count(tc.Verdict.PROTECTED),
    )


def suppress_all(files: list[Path], kinds: list[str], time_limit: float, at_once: int) -> None:
    """Print all tables with all weights, in order, and which lose more than before."""
    jobs = [(path, weights) for weights in kinds for path in files]
    print(HEAD, flush=True)
    rows = []
    with ProcessPoolExecutor(at_once) as pool:
        for row in pool.map(partial(suppressed, time_limit=time_limit), jobs):
            rows.append(row)
            print(row, flush=True)
    worse = [f"{row.name} ({row.weights})" for row in rows if row.is_worse]
    unsafe = [f"{row.name} ({row.weights})" for row in rows if row.unprotected]
    print(f"\nWorse than before: {', '.join(worse) or 'none'} of {len(rows)}.")
    print(f"With cells that are not protected: {', '.join(unsafe) or 'none'}.")


def main() -> None:
    """Run the tables of a folder, the smallest file first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="folder with NAME.jj.gz")
    parser.add_argument("--weights", nargs="*", default=["value", "unit"])
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="tables at the same time")
    options = parser.parse_args()
    files = sorted(options.folder.glob("*.jj.gz"), key=lambda path: path.stat().st_size)
    if options.only:
        files = [path for path in files if path.name.removesuffix(".jj.gz") in options.only]
    suppress_all(files, options.weights, options.time_limit, options.at_once)


if __name__ == "__main__":
    main()
