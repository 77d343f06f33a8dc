"""Whether public functions keep their time limits, on tables of 5,000 to 25,000 cells."""

import time
from contextlib import contextmanager
from functools import cache, partial
from types import SimpleNamespace

import numpy as np

import tablecloak as tc
from bench.claims import Claim, Column, Instance, Method
from tablecloak import budget as clock
from tablecloak.budget import Stopwatch
from tablecloak.solve import highs
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
def _pattern(problem):
    """A proved pattern to attack, made without a limit of its own."""
    seconds = 5.0 if problem.table.n_cells > TINY else 0.1
    return tc.suppress(problem, method="sequential", time_limit=seconds, threads=1)


def audited(problem, **options):
    return tc.audit(problem, _pattern(problem), threads=1, **options)


METHODS = {
    "suppress": partial(tc.suppress, threads=1),
    "adjust": partial(tc.adjust, threads=1),
    "adjust, L2": partial(tc.adjust, distance="L2", threads=1),
    "adjust, Linf": partial(tc.adjust, distance="Linf", threads=1),
    "adjust, regression": partial(tc.adjust, preserve=["regression"], threads=1),
    "audit": audited,
    "audit, intervals": partial(audited, detail="intervals"),
    "publish_intervals": partial(tc.publish_intervals, seed=0),
    "controlled_rounding": partial(tc.controlled_rounding, base=5),
    "small_count_rounding": partial(tc.small_count_rounding, base=50),
}


def use_processor_clock():
    """Measure seconds of this process, in the package and in HiGHS.

    HiGHS counts seconds of the wall. A program is ended from outside instead, when the processor
    has worked for its limit; where HiGHS does not always ask (least squares, whole numbers), the
    limit is stretched by what other processes take away.
    """
    clock.time = SimpleNamespace(monotonic=time.process_time)
    wall, deadline = time.monotonic() - time.process_time(), [np.inf]

    def limit(highs, seconds):
        deadline[0] = time.process_time() + max(seconds, 0.0)
        stretched = np.inf
        asks = not highs.getHessianNumNz() and not len(highs.getLp().integrality_)
        if not asks and np.isfinite(seconds):
            slower = (time.monotonic() - wall) / max(time.process_time(), 0.1)
            stretched = highs.getRunTime() + slower * max(seconds, 0.0)
        highs.setOptionValue("time_limit", stretched)

    def listener(event):
        event.interrupt(time.process_time() >= deadline[0])

    @contextmanager
    def ended_by_processor(highs):
        events = (highs.cbSimplexInterrupt, highs.cbIpmInterrupt, highs.cbMipInterrupt)
        for event in events:
            event.subscribe(listener)
        yield
        for event in events:
            event.unsubscribe(listener)

    highs.STOPPABLE, highs._limit = 0, limit
    highs._stopped_with_search = ended_by_processor


def verdict(seconds, limit, said):
    if said.startswith("SolverError"):
        return "no answer, and said so"
    if seconds <= limit + max(LEEWAY, SHARE * limit):
        return "kept"
    if any(text in said for text in LATE):
        return "first answer late, and said so"
    return f"MISSED {said.partition(':')[0]}" if "Error" in said[:20] else "MISSED"


def called(method, problem, setting):
    if problem.table.n_cells > TINY:
        # Modules that are imported when they are first needed are no part of a search.
        method(tc.examples.cox_rounded(), time_limit=5.0)
        if method in (METHODS["audit"], METHODS["audit, intervals"]):
            _pattern(problem)
        if clock.time is not time:
            use_processor_clock()
    first, watch = [], Stopwatch()

    def note(stage, loss, bound, open_):
        del stage, bound, open_
        if not first and np.isfinite(loss):
            first.append(watch.seconds)

    result = None
    try:
        result = method(problem, time_limit=setting.limit, progress=note)
        said = " ".join([result.summary(), *map(str, getattr(result, "notes", ()))])
    except tc.TablecloakError as error:
        said = f"{type(error).__name__}: {error}"
    seconds = watch.seconds
    answer = getattr(result, "first_seconds", min([*first, seconds]))
    told = {"used": seconds, "first": answer, "verdict": verdict(seconds, setting.limit, said)}
    return told | {"ratio": seconds / setting.limit}


TINY = 100
"""Cells up to which nothing is prepared, and the clock of the process stays as it is."""

CLAIM = Claim(
    name="time-limits",
    title="Time limits",
    text="""A limit may be missed by the larger of 1 s and 5 % once there is an answer; an answer that comes later says so. One leaf in
twelve of each table is sensitive: cube has three dimensions, tree three with two levels each, flat two; the number stands for
thousands of cells. Seconds of one processor, HiGHS included, so that a busy machine does not matter.""",
    said_in=("docs/decisions", "docs/job-file.md"),
    methods=tuple(Method(name, partial(called, method)) for name, method in METHODS.items()),
    instances=lambda folder: [
        Instance(name, partial(leaf_table, trees, zeros=0.05, sensitive=0.08, seed=4))
        for name, trees in TREES.items()
    ],
    smallest=Instance("cox", tc.examples.cox_rounded),
    columns=(
        Column("used", "seconds used", ".1f"),
        Column("first", "first answer, s", ".1f"),
        Column("ratio", "of the limit", ".2f"),
        Column("verdict", "verdict"),
    ),
    limits=(5.0, 20.0),
    findings="""Least squares were late because each program that might have made the table better had a second of its own past the
limit, and because HiGHS ends quadratic programs late. A first pattern of three dimensions is completed whatever it takes. Small counts
were late because programs with given directions came before any table: their table is now driven to whole values by first-order steps.""",
)
