"""Many jobs, one after the other or at once; results that are complete survive an interruption.

Each job has a folder of results that appears whole, with a fingerprint of all that went into it.
A job whose folder has the right fingerprint is not done again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.errors import (
    InputError,
    TablecloakError,
    listed,
    suggestion,
)
from tablecloak.executors import Executor, SerialExecutor
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem
from tablecloak.jobs.result import OPEN_INSIDERS
from tablecloak.jobs.run import run_job
from tablecloak.jobs.schema import Job
from tablecloak.jobs.write import RESULT, subject_of
from tablecloak.tables.tabulation.engines import engine_named
from tablecloak.tables.tabulation.records import engine_errors, open_database


@dataclass(frozen=True)
class JobOutcome:
    """How a job of a campaign went.

    Parameters
    ----------
    name : str
    is_safe : bool
        Whether every release of the job is proved to be safe.
    is_new : bool
        Whether it was done now; False if its results were there already.
    message : str
        One line: losses and gaps, or what went wrong.
    report : tuple of str
        What is said of the releases, line by line; empty if the job failed.
    figures : mapping of str to float
        ``cells``, ``relations``, ``sensitive``, ``loss``, ``bound``, ``seconds``,
        ``open insiders``, as far as known.
    """

    name: str
    is_safe: bool
    is_new: bool
    message: str
    report: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_failed(self) -> bool:
        """Whether there are no results."""
        return not self.report

    @property
    def state(self) -> str:
        """Say in a few words how safe its releases are."""
        if not self.is_safe:
            return "FAILED" if self.has_failed else "NOT SAFE"
        n = int(self.figures.get(OPEN_INSIDERS, 0))
        return f"not proved against {n:,} insider{'s' * (n > 1)}" if n else "safe"


def run_campaign(
    jobs: str | Path,
    out: str | Path,
    *,
    executor: Executor | None = None,
    said: Callable[[JobOutcome], None] | None = None,
) -> list[JobOutcome]:
    """Do all jobs in a folder.

    Parameters
    ----------
    jobs : str or path
        Folder with job files (``*.toml``).
    out : str or path
        Results go to ``out/NAME`` for ``NAME.toml``.
    executor : Executor, optional
        See `tablecloak.executors`; by default one job after the other.
    said : callable, optional
        Told each outcome as it comes.

    Returns
    -------
    list of JobOutcome
        In the order of the names. A job that fails does not keep others from being done.

    Raises
    ------
    InputError
        If there is no job, a job file is wrong, or two jobs are linked: they publish cells of
        the same data, so that each of them could reveal what the other hides.
    """
    files = sorted(Path(jobs).glob("*.toml"))
    if not files:
        raise InputError(
            f"{jobs}: no job file (*.toml) was found. Name the folder of the job files; "
            "`tablecloak example jobs` writes one to try."
        )
    read = {path: read_job(path) for path in files}
    _refuse_linked(read)
    named = {path.stem: job for path, job in read.items()}
    return run_jobs(named, out, executor=executor, said=said)


def run_jobs(
    jobs: Mapping[str, Job],
    out: str | Path,
    *,
    executor: Executor | None = None,
    said: Callable[[JobOutcome], None] | None = None,
    engine: str = "duckdb",
) -> list[JobOutcome]:
    """Do jobs that are not linked; arguments as those of `run_campaign`.

    Parameters
    ----------
    jobs : mapping of str to Job
        By the names of their folders in `out`. One that reads results of another comes after it.
        Where later releases build on it, a safe release that tells of the same stays as it is.
    """
    out, left, done = Path(out), dict(jobs), dict[str, JobOutcome]()
    notify = said or (lambda outcome: None)
    before = {
        name: _read_by(job, [n for n in jobs if n != name], out) for name, job in jobs.items()
    }
    chained = {name for name in jobs if before[name]}.union(*before.values())
    while left:
        ready = [name for name in left if not left.keys() & before[name]] or list(left)
        waiting: list[_Task] = []
        for name in ready:
            job = left.pop(name)
            outcome = _known(name, job, out, [done[other] for other in before[name]])
            if outcome is None and name in chained:
                outcome = _staying(name, job, out, engine)
            if outcome is None:
                waiting.append((job, str(out / name), engine))
            else:
                done[name] = outcome
                notify(outcome)
        for _, outcome in (executor or SerialExecutor()).run(_do, waiting):
            done[outcome.name] = outcome
            notify(outcome)
    return [done[name] for name in jobs]


def _read_by(job: Job, names: Iterable[str], out: Path) -> set[str]:
    """Return the jobs of whose results a job reads a file."""
    paths = [path.resolve() for path in job.paths]
    return {name for name in names if any(p.is_relative_to((out / name).resolve()) for p in paths)}


def _known(name: str, job: Job, out: Path, before: Sequence[JobOutcome]) -> JobOutcome | None:
    """Return the outcome of a job that needs not, or cannot, be done now."""
    failed = [outcome.name for outcome in before if outcome.has_failed]
    if failed:
        why = f"was not done, since it reads the results of {listed(failed)}."
        return JobOutcome(name, False, True, why)
    try:
        # Data in a database may have changed without any file being different.
        return finished(out / name, fingerprint=job.fingerprint()) if job.data.file else None
    except TablecloakError as error:
        return JobOutcome(name, False, True, str(error))


def _staying(name: str, job: Job, out: Path, engine: str) -> JobOutcome | None:
    """Return the outcome of a release that stays: readers would put another one beside it."""
    there = finished(out / name)
    if there is None or not there.is_safe:
        return None
    try:
        if finished(out / name, subject=subject_of(job, load_problem(job, engine))):
            return there
    except TablecloakError as error:
        return JobOutcome(name, False, True, str(error))
    message = (
        f"was not done again: its values, levels or figures, or the release before it, have "
        f"changed since the release in {out / name}, and whoever has that would have both. If it "
        f"has not left, delete its folder. If it has, this is a revision: write a job of its own "
        f"that names the earlier release in [[published]]."
    )
    return JobOutcome(name, False, True, message)


_Task = tuple[Job, str, str]
"""A job, the folder of its results, and what reads its records."""


def finished(folder: Path, **same: str) -> JobOutcome | None:
    """Return the outcome that lies in a folder, if it is of the same inputs: all that are given."""
    path = folder / RESULT
    if not path.exists():
        return None
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        if any(state.get(name) != key for name, key in same.items()):
            return None
        report, figures = tuple(state["report"]), state["figures"]
        return JobOutcome(folder.name, state["is_safe"], False, state["message"], report, figures)
    except (ValueError, KeyError):
        return None


def _do(task: _Task) -> JobOutcome:
    """Do one job; runs in whatever process the executor chooses."""
    job, folder, engine = task
    name = Path(folder).name
    try:
        result = run_job(job, folder, engine=engine)
    except TablecloakError as error:
        return JobOutcome(name, False, True, str(error))
    said = tuple(result.report())
    return JobOutcome(name, result.is_safe, True, result.summary(), said, result.figures())


FEW = 50
"""Number of different contributions up to which two measures can agree by chance."""

DIGITS = 10
"""Significant digits that are compared: the last ones may differ between Parquet and CSV."""


def _refuse_linked(jobs: dict[Path, Job]) -> None:
    """Refuse jobs that publish sums of the same contributions apart from each other.

    Even without a common dimension they share the grand total. The contributions themselves are
    compared, not names of files and columns: a copy, a link, another format or order, an equal or
    proportional column, or the same data with a constant weight are the same measure.
    """
    measures = [_Measure(path.name, alone) for path, job in jobs.items() for alone in job.alone]
    for number, measure in enumerate(measures, start=1):
        # Variables of one job are protected together already.
        others = [other for other in measures[number:] if other.name != measure.name]
        linked = dict.fromkeys(other.name for other in others if measure.is_like(other))
        if linked:
            raise InputError(
                f"{listed([measure.name, *linked])} tabulate the same values: their tables are "
                f"linked, and protected apart one could reveal what the other hides. Put them into "
                f"one job with one [[tables]] entry each."
            )


class _Measure:
    """What a job adds up: one contribution for each record."""

    def __init__(self, name: str, job: Job) -> None:
        self.name = name
        self.data = data = job.data
        self.source = str(data.file.resolve()) if data.file else f"{data.connection} {data.table}"
        given = [column for column in (data.value, data.weight) if column]
        try:
            frame = self._read([*given, *data.only])
        except InputError:
            # Running the job reports what is wrong.
            self.columns: tuple[object, ...] | None = (self.source, *given, repr(data.only))
            self.sorted = self.ordered = b""
            self.distinct = 0
            return
        self.columns = None
        products = np.ones(len(frame))
        for column in given:
            products = products * pd.to_numeric(frame[column], errors="coerce").to_numpy(np.float64)
        for column, codes in data.only.items():
            counted = [codes] if isinstance(codes, str) else codes
            products = products * frame[column].astype(str).isin(counted).to_numpy()
        self.ordered = _digest(products)
        # Zeros add nothing. Proportional contributions give proportional tables.
        terms = np.sort(products[np.isfinite(products) & (products != 0)])
        scale = terms[np.argmax(np.abs(terms))] if len(terms) else 1.0
        self.sorted = _digest(np.sort(terms / scale)) + str(data.kind).encode()
        self.distinct = len(np.unique(terms))

    def _read(self, columns: list[str] | None) -> pd.DataFrame:
        """Read columns of the data; the first one, if none is asked for; None: all of them."""
        data = self.data
        if data.file is not None:
            table, _ = engine_named("duckdb").open_file(data.of(data.file), [])
        else:
            assert data.connection is not None
            assert data.table is not None
            table = open_database(data.connection, data.table)
        names = list(table.columns)
        wanted = names if columns is None else list(dict.fromkeys(columns)) or names[:1]
        with engine_errors(self.source):
            lacking = [name for name in wanted if name not in names]
            if lacking:
                near = suggestion(lacking[0], names)
                raise InputError(f"{self.source}: there is no column {lacking[0]!r}.{near}")
            chosen = table[wanted]
            # Where no engine is installed, files are frames already.
            frame: pd.DataFrame = chosen if isinstance(chosen, pd.DataFrame) else chosen.to_pandas()
        return frame

    def is_like(self, other: _Measure) -> bool:
        """Whether both add up the same contributions."""
        if self.columns is not None or other.columns is not None:
            return self.columns is not None and self.columns == other.columns
        if self.sorted != other.sorted:
            return False
        if max(self.distinct, other.distinct) > FEW:
            return True
        # Counts and columns of few values agree by chance, unless the records agree too.
        if self.source == other.source:
            return self.ordered == other.ordered
        return bool(self.contents & other.contents)

    @cached_property
    def contents(self) -> set[bytes]:
        """Digests of all columns that are not constant, in any order of the records."""
        frame = self._read(None)
        digests = set()
        for name in frame.columns:
            column = frame[name]
            numeric = pd.to_numeric(column, errors="coerce")
            if numeric.notna().equals(column.notna()):
                values: Any = np.sort(numeric.to_numpy(np.float64))
            else:
                values = np.sort(column.astype(str).to_numpy(dtype=str))
            if len(np.unique(values)) > 1:
                digests.add(_digest(values))
        return digests


def _digest(values: Any) -> bytes:
    """Digest of numbers to their first digits, or of text."""
    if values.dtype.kind == "f":
        text = "\n".join(f"{value:.{DIGITS - 1}e}" for value in values.tolist())
    else:
        text = "\n".join(map(repr, values.tolist()))
    return hashlib.sha256(text.encode()).digest()
