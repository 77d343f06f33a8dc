"""Measurement of claims: every instance, method and limit in a separate process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from bench.claims import Claim, Figures, Setting, chosen, claims_in
from bench.isolated import isolated
from bench.records import Record, Source, read_records
from tablecloak import budget
from tablecloak.budget import Stopwatch
from tablecloak.errors import InputError, suggestion
from tablecloak.executors.executor import ThreadExecutor

__all__ = ["Choice", "Run", "all_open", "asked", "measure", "smoke", "timed"]

T = TypeVar("T")

CLOCKS = ("processor", "wall")

SMOKE_SECONDS = 0.01
"""Time limit in seconds of each run on the smallest instance."""


@dataclass(frozen=True)
class Run:
    """A run to be made.

    Parameters
    ----------
    folder : Path
        Folder of the specifications.
    claim, instance, method : str
    setting : Setting
    clock : str
    """

    folder: Path
    claim: str
    instance: str
    method: str
    setting: Setting
    clock: str


@dataclass(frozen=True)
class Choice:
    """The part of a claim that is measured; an empty choice stands for everything.

    Parameters
    ----------
    only, methods : sequence of str
        Names of instances and of methods.
    limits : sequence of float
    clock : str, optional
    """

    only: Sequence[str] = ()
    methods: Sequence[str] = ()
    limits: Sequence[float] = ()
    clock: str | None = None


def timed(function: Callable[[], T]) -> tuple[T, Figures]:
    """Call a function; return its result, and its wall-clock and CPU time in seconds.

    Examples
    --------
    >>> pattern, spent = timed(lambda: tc.suppress(problem))  # doctest: +SKIP
    >>> sorted(spent)  # doctest: +SKIP
    ['cpu', 'seconds']
    """
    watch, started = Stopwatch(), time.process_time()
    result = function()
    return result, {"seconds": watch.seconds, "cpu": time.process_time() - started}


def asked(claim: Claim, folder: Path, setting: Setting, choice: Choice = Choice()) -> list[Run]:
    """Return the runs of a claim.

    Raises
    ------
    InputError
        If an instance, method or clock is unknown.
    """
    if setting.folder is not None:
        # Each run is made in a current folder of its own.
        setting = replace(setting, folder=setting.folder.resolve())
    instances = {each.name: each for each in claim.instances(setting.folder)}
    methods = {each.name: each for each in claim.methods}
    clock = choice.clock or claim.clock
    if clock not in CLOCKS:
        raise InputError(f"There is no clock {clock!r}.{suggestion(clock, CLOCKS)}")
    return [
        Run(folder.resolve(), claim.name, instance.name, method.name, limited, clock)
        for method in chosen("method", choice.methods, methods)
        for instance in chosen("instance", choice.only, instances)
        for limited in (
            replace(setting, limit=limit)
            for limit in choice.limits or method.limits or instance.limits or claim.limits
        )
    ]


def all_open(
    claims: Mapping[str, Claim],
    folder: Path,
    setting: Setting,
    choice: Choice,
) -> list[Run]:
    """Return the runs of all claims that are not stored yet for their commit, the quickest first.

    What a run will take is what it took the last time; one that was never made counts as its limit.
    Called again after an interrupt, it returns what is left.

    Raises
    ------
    InputError
        If files were changed after the commit: figures of such runs could not be measured again.
    """
    costs = {}
    for name, claim in claims.items():
        if not claim.commit or claim.commit.endswith("+"):
            raise InputError(
                "All claims are measured at one commit, but files of the package or of the "
                "benchmarks were changed after it. Commit them first."
            )
        took = {r.key: r for r in read_records(folder / "results" / f"{name}.jsonl")}
        for run in asked(claim, folder / "claims", setting, choice):
            last = took.get((name, run.instance, run.method, run.setting.limit))
            if last is None or (last.source.commit, last.seed) != (claim.commit, setting.seed):
                costs[run] = (last and last.cpu_seconds) or run.setting.limit
    return sorted(costs, key=lambda run: costs[run])


def measure(
    runs: Sequence[Run], claims: Mapping[str, Claim], source: Source, workers: int = 1
) -> Iterator[Record]:
    """Make runs, and yield the record of each when it has finished.

    Parameters
    ----------
    runs : sequence of Run
    claims : mapping of str to Claim
        By name.
    source : Source
    workers : int, default=1
        Number of processes at the same time.

    Notes
    -----
    A run that fails is a record whose only figure is the ``failure``.
    """
    for number, outcome in ThreadExecutor(workers).run(_isolated, runs):
        run = runs[number]
        figures = outcome.result if outcome.result is not None else {"failure": outcome.error}
        yield Record(
            claim=run.claim,
            instance=run.instance,
            method=run.method,
            limit=run.setting.limit,
            seed=run.setting.seed,
            clock=run.clock,
            figures=figures,
            cpu_seconds=outcome.cpu_seconds,
            peak_mib=outcome.memory,
            seconds=outcome.seconds,
            source=replace(source, commit=claims[run.claim].commit),
        )


def smoke(claim: Claim) -> dict[str, Figures]:
    """Run every method once on the smallest instance, in this process; return their figures."""
    found = {}
    for method in claim.methods:
        found[method.name] = method.run(claim.smallest.build(), Setting(SMOKE_SECONDS))
    return found


def _isolated(run: Run) -> Any:
    return isolated(figures_of, run)


def figures_of(run: Run) -> Figures:
    """Make a run in this process; its clock is replaced, so use the process for nothing else."""
    claim = claims_in(run.folder)[run.claim]
    instance = next(i for i in claim.instances(run.setting.folder) if i.name == run.instance)
    method = next(each for each in claim.methods if each.name == run.method)
    # Imports and compilation at first use must not count in a measurement.
    method.run(claim.smallest.build(), Setting(SMOKE_SECONDS))
    built = instance.build()
    if run.clock == "processor":
        vars(budget)["time"] = SimpleNamespace(monotonic=time.process_time)
    return method.run(built, run.setting)
