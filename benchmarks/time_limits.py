"""Whether time limits are kept: public functions on tables of about 5,000, 12,000 and 25,000 cells.

Each line is one call in a process of its own: the limit, the seconds that were used, verification
included, when the first proved answer was there, and whether that keeps the promise: to the larger
of 1 s and 5 % once there is an answer, and a word in the result where the first one came later.
By default seconds are those of the processor, with one thread, so that a busy machine does not
matter; with `--wall` they are those of the wall.

    python benchmarks/time_limits.py                       # everything, about an hour
    python benchmarks/time_limits.py suppress --tables flat5 cube12 --limits 2 10
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

import tablecloak as tc
from tablecloak import budget as clock
from tablecloak.budget import Stopwatch
from tablecloak.solve.highs import instance
from tables import leaf_table

LEEWAY, SHARE = 1.0, 0.05
"""Seconds, and share of the limit, by which it may be missed."""

LATE = ("took longer than the time limit", "no pattern was proved within the limit")
"""One of these stands in a result whose first answer came after the limit."""

TREES = {
    "flat5": {"r": (70,), "c": (70,)},
    "cube5": {"a": (16,), "b": (16,), "c": (16,)},
    "tree5": {"a": (4, 4), "b": (4, 4), "c": (2, 5)},
    "flat12": {"r": (110,), "c": (110,)},
    "cube12": {"a": (22,), "b": (22,), "c": (22,)},
    "tree12": {"a": (4, 5), "b": (4, 5), "c": (3, 5)},
    "flat25": {"r": (157,), "c": (157,)},
    "cube25": {"a": (28,), "b": (28,), "c": (28,)},
    "tree25": {"a": (5, 5), "b": (5, 5), "c": (4, 5)},
}
"""Dimensions of the tables; a number in the name stands for thousands of cells."""


@cache
def table(name: str) -> tc.ProtectionProblem:
    """Return a table in which one leaf in twelve is sensitive."""
    if name == "cox":
        return tc.examples.cox_rounded()
    return leaf_table(TREES[name], zeros=0.05, sensitive=0.08, seed=4)


@cache
def _pattern(name: str) -> tc.SuppressionPattern:
    """A proved pattern to attack, made without a limit of its own."""
    return tc.suppress(table(name), method="sequential", time_limit=5, threads=1)


def _audited(name: str, **options: Any) -> Any:
    return tc.audit(table(name), _pattern(name), threads=1, **options)


METHODS: dict[str, Callable[..., Any]] = {
    "suppress": lambda name, **o: tc.suppress(table(name), threads=1, **o),
    "adjust": lambda name, **o: tc.adjust(table(name), threads=1, **o),
    "adjust-L2": lambda name, **o: tc.adjust(table(name), distance="L2", threads=1, **o),
    "adjust-Linf": lambda name, **o: tc.adjust(table(name), distance="Linf", threads=1, **o),
    "adjust-regression": lambda name, **o: tc.adjust(
        table(name), preserve=["regression"], threads=1, **o
    ),
    "audit": _audited,
    "audit-intervals": partial(_audited, detail="intervals"),
    "intervals": lambda name, **o: tc.publish_intervals(table(name), seed=0, **o),
    "round": lambda name, **o: tc.controlled_rounding(table(name), base=5, **o),
    "small-counts": lambda name, **o: tc.small_count_rounding(table(name), base=50, **o),
}


def use_processor_clock() -> None:
    """Measure seconds of this process, in the package and in HiGHS.

    HiGHS counts seconds of the wall. A program is ended from outside instead, when the processor
    has worked for its limit; where HiGHS does not always ask (least squares, whole numbers), the
    limit is stretched by what other processes take away.
    """
    clock.time = SimpleNamespace(monotonic=time.process_time)
    wall, deadline = time.monotonic() - time.process_time(), [np.inf]

    def limit(highs: Any, seconds: float) -> None:
        deadline[0] = time.process_time() + max(seconds, 0.0)
        stretched = np.inf
        asks = not highs.getHessianNumNz() and not len(highs.getLp().integrality_)
        if not asks and np.isfinite(seconds):
            slower = (time.monotonic() - wall) / max(time.process_time(), 0.1)
            stretched = highs.getRunTime() + slower * max(seconds, 0.0)
        highs.setOptionValue("time_limit", stretched)

    def listener(event: Any) -> None:
        event.interrupt(time.process_time() >= deadline[0])

    @contextmanager
    def ended_by_processor(highs: Any) -> Iterator[None]:
        events = (highs.cbSimplexInterrupt, highs.cbIpmInterrupt, highs.cbMipInterrupt)
        for event in events:
            event.subscribe(listener)
        yield
        for event in events:
            event.unsubscribe(listener)

    instance.STOPPABLE, instance._limit = 0, limit
    instance._stopped_with_search = ended_by_processor


@dataclass(frozen=True)
class Case:
    """One call."""

    method: str
    table: str
    limit: float
    wall: bool

    def run(self) -> str:
        """Call it and say in one line of a table what came of it."""
        if not self.wall:
            use_processor_clock()
        # Modules that are imported when they are first needed are no part of a search.
        METHODS[self.method]("cox", time_limit=5.0)
        table(self.table)
        if self.method.startswith("audit"):
            _pattern(self.table)
        first: list[float] = []
        watch = Stopwatch()

        def note(stage: str, loss: float, bound: float, open_: int) -> None:
            del stage, bound, open_
            if not first and np.isfinite(loss):
                first.append(watch.seconds)

        said = ""
        try:
            result = METHODS[self.method](self.table, time_limit=self.limit, progress=note)
            said = " ".join([result.summary(), *map(str, getattr(result, "notes", ()))])
        except tc.TablecloakError as error:
            said = f"{type(error).__name__}: {error}"
        seconds = watch.seconds
        answer = min([*first, seconds])
        answer = getattr(locals().get("result"), "first_seconds", answer)
        return (
            f"| {self.method} | {self.table} | {self.limit:g} | {seconds:.1f} | {answer:.1f} | "
            f"{seconds / self.limit:.2f} | {self._verdict(seconds, said)} |"
        )

    def _verdict(self, seconds: float, said: str) -> str:
        if said.startswith("SolverError"):
            return "no answer, and said so"
        if seconds <= self.limit + max(LEEWAY, SHARE * self.limit):
            return "kept"
        if any(text in said for text in LATE):
            return "first answer late, and said so"
        return f"MISSED {said.partition(':')[0]}" if "Error" in said[:20] else "MISSED"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("methods", nargs="*", choices=[*METHODS, []], default=[])
    parser.add_argument("--tables", nargs="*", choices=list(TREES), default=list(TREES))
    parser.add_argument("--limits", nargs="*", type=float, default=[2.0, 8.0, 20.0])
    parser.add_argument("--wall", action="store_true")
    chosen = parser.parse_args()
    print("| method | table | limit | seconds | first answer | ratio | verdict |")
    print("|---|---|---|---|---|---|---|")
    for method in chosen.methods or METHODS:
        for name in chosen.tables:
            for limit in chosen.limits:
                case = Case(method, name, limit, chosen.wall)
                context = multiprocessing.get_context("spawn")
                with ProcessPoolExecutor(1, mp_context=context) as fresh:
                    print(fresh.submit(case.run).result(), flush=True)


if __name__ == "__main__":
    main()
