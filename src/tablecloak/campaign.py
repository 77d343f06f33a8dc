"""Many jobs, one after the other or at once, with results that stay when the rest is interrupted.

Each job has a folder of results that appears whole, with a fingerprint of all that went into it.
A job whose folder has the right fingerprint is not done again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tablecloak.errors import InputError, TablecloakError, listed
from tablecloak.executors import Executor, SerialExecutor
from tablecloak.job import RESULT, Job, read_job, run_job

__all__ = ["Outcome", "run_campaign"]


@dataclass(frozen=True)
class Outcome:
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
    """

    name: str
    is_safe: bool
    is_new: bool
    message: str


def run_campaign(
    jobs: str | Path,
    out: str | Path,
    *,
    executor: Executor | None = None,
    said: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
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
    list of Outcome
        In the order of the names. A job that fails does not keep others from being done.

    Raises
    ------
    InputError
        If there is no job, a job file is wrong, or two jobs are linked: they publish cells of
        the same data, so that each of them could reveal what the other hides.
    """
    files = sorted(Path(jobs).glob("*.toml"))
    if not files:
        raise InputError(f"{jobs}: no job file (*.toml) was found.")
    read = {path: read_job(path) for path in files}
    _refuse_linked(read)
    out = Path(out)
    done: dict[Path, Outcome] = {}
    waiting: list[tuple[str, str]] = []
    for path, job in read.items():
        # What lies in a database may have changed without a trace here.
        known = _known(out / path.stem, job.fingerprint()) if job.data.file else None
        if known is None:
            waiting.append((str(path), str(out / path.stem)))
        else:
            done[path] = known
            if said is not None:
                said(known)
    for number, outcome in (executor or SerialExecutor()).run(_do, waiting):
        done[Path(waiting[number][0])] = outcome
        if said is not None:
            said(outcome)
    return [done[path] for path in files]


def _known(folder: Path, key: str) -> Outcome | None:
    """Return the outcome that lies in a folder, if it is that of the same inputs."""
    state = folder / "internal" / RESULT
    if not state.exists():
        return None
    try:
        found = json.loads(state.read_text(encoding="utf-8"))
        same = found["fingerprint"] == key
        return Outcome(folder.name, found["is_safe"], False, found["message"]) if same else None
    except (ValueError, KeyError):
        return None


def _do(task: tuple[str, str]) -> Outcome:
    """Do one job; runs in whatever process the executor chooses."""
    path, folder = task
    name = Path(folder).name
    try:
        result = run_job(path, folder)
    except TablecloakError as error:
        return Outcome(name, False, True, str(error))
    return Outcome(name, result.is_safe, True, result.summary())


def _refuse_linked(jobs: dict[Path, Job]) -> None:
    """Refuse jobs that publish cells of the same data apart from each other.

    Even without a common dimension they share the grand total.
    """
    by_data: dict[tuple[object, ...], list[str]] = {}
    for path, job in jobs.items():
        data = job.data
        source = data.file.resolve() if data.file else (data.connection, data.table)
        measure = (source, data.value, data.weight)
        by_data.setdefault(measure, []).append(path.name)
    for names in by_data.values():
        if len(names) > 1:
            raise InputError(
                f"{listed(names)} tabulate the same values: their tables are linked, and protected "
                f"apart one could reveal what the other hides. Put them into one job with one "
                f"[[tables]] entry each."
            )
