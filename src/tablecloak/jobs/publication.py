"""``[publication]``: a whole publication from one file: the plan, and the job of each cluster."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError, model_validator

from tablecloak.errors import InputError, TablecloakError, suggestion
from tablecloak.executors import Executor
from tablecloak.jobs.campaign import JobOutcome, finished, run_jobs
from tablecloak.jobs.job_file import job_of
from tablecloak.jobs.load import load_problem
from tablecloak.jobs.schema import Job
from tablecloak.planning.jobs import JobWriter
from tablecloak.planning.page import ClusterState, write_plan
from tablecloak.planning.periods import in_order, together
from tablecloak.planning.plan import Plan
from tablecloak.planning.planner import plan
from tablecloak.registered import Section
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.toml_file import read_toml


class PublicationSpec(Section, BaseModel):
    """``[publication]``: which tables are to be published."""

    metadata: Path | None = None
    equations: Path | list[str] | None = None
    template: Path | None = None
    formulas: str | list[str] | dict[str, str] | None = None
    levels: dict[str, list[str]] = {}
    totals: dict[str, str | list[str]] = {}
    field: str | list[str] = []
    variable: str = ""
    columns: dict[str, str] = {}
    field_column: str = ""
    fields: Literal["apart", "in order", "together"] = "apart"

    @model_validator(mode="after")
    def _some_tables(self) -> PublicationSpec:
        if self.metadata is None and self.template is None and self.formulas is None:
            raise ValueError("give metadata, a template or formulas")
        return self

    def plan(self, folder: Path, derived: Sequence[Mapping[str, Any]] = ()) -> Plan:
        """Return the plan beside figures of the job; paths are relative to a folder."""
        equations: Any = self.equations
        return plan(
            None if self.metadata is None else folder / self.metadata,
            equations=folder / equations if isinstance(equations, Path) else equations,
            template=None if self.template is None else folder / self.template,
            formulas=self.formulas,
            levels=self.levels,
            totals=self.totals,
            field=self.field,
            variable=self.variable,
            derived=derived,
        )


@dataclass(frozen=True, eq=False)
class PublicationResult:
    """What a publication gave.

    Parameters
    ----------
    plan : Plan
    outcomes : dict of str to JobOutcome
        For each cluster, by the name of its folder.
    files : list of Path
        The files of the plan; those of clusters lie in their folders.
    """

    plan: Plan
    outcomes: dict[str, JobOutcome]
    files: list[Path] = field(default_factory=list)

    @property
    def is_safe(self) -> bool:
        """Whether the releases of all clusters are proved safe."""
        return all(outcome.is_safe for outcome in self.outcomes.values())

    def summary(self) -> str:
        """Say in one line for each cluster what was found. Secret."""
        return "\n".join(f"{name}: {outcome.message}" for name, outcome in self.outcomes.items())


@dataclass(frozen=True)
class Publication:
    """A publication that has been read: the plan and the job of each cluster.

    Parameters
    ----------
    plan : Plan
    jobs : mapping of str to Job
        By the name of the folder of their results.
    out : Path
        Folder of all results. Where fields are protected in order, jobs read results of others.
    """

    plan: Plan
    jobs: dict[str, Job]
    out: Path

    def run(
        self,
        *,
        engine: str = "duckdb",
        executor: Executor | None = None,
        said: Callable[[JobOutcome], None] | None = None,
    ) -> PublicationResult:
        """Do the job of each cluster; see `run_publication`."""
        done = run_jobs(self.jobs, self.out, executor=executor, said=said, engine=engine)
        outcomes = {outcome.name: outcome for outcome in done}
        if outcomes and all(outcome.has_failed for outcome in done):
            messages = dict.fromkeys(outcome.message for outcome in done)
            raise InputError(" ".join(messages))
        states = {name: _state_of(outcome, self.out / name) for name, outcome in outcomes.items()}
        return PublicationResult(
            self.plan, outcomes, write_plan(self.plan, self.out, states=states)
        )

    def sizes(self) -> dict[str, ClusterState]:
        """Return the size of the problem of each cluster, and how long it is expected to take.

        Results of an earlier run, which lie in the folder of results, tell best how long that is.
        """
        states = {}
        for name, job in self.jobs.items():
            try:
                problem = load_problem(job)
            except TablecloakError as error:
                states[name] = ClusterState({}, f"cannot be read: {error}")
                continue
            earlier = finished(self.out / name)
            seconds = (earlier.figures if earlier else {}).get("seconds")
            table = problem.table
            figures = {"cells": table.n_cells, "relations": table.n_relations,
                       "expected seconds": seconds or expected_seconds(job, problem)}  # fmt: skip
            states[name] = ClusterState(figures)
        return states


def is_publication(path: str | Path) -> bool:
    """Whether a job file describes a whole publication."""
    return "publication" in read_toml(path)[1]


def read_publication(path: str | Path, out: str | Path) -> Publication:
    """Read a job file with a section ``[publication]``.

    Parameters
    ----------
    path : str or Path
        Data, dimensions, rules and methods are those of every cluster; its tables, variables and
        equations come from the plan. Paths are relative to the file.
    out : str or Path
        Folder of the results.

    Raises
    ------
    InputError
        Names file and remedy.
    """
    path, out = Path(path), Path(out)
    text, _ = read_toml(path)
    made, jobs = planned(path, out)
    read = {name: job_of(tables, path, text) for name, tables in jobs.items()}
    _refuse_means_beside_counts(read)
    marked = {"in_publication": True}
    return Publication(made, {n: job.model_copy(update=marked) for n, job in read.items()}, out)


def _refuse_means_beside_counts(jobs: Mapping[str, Job]) -> None:
    """Refuse clusters of the same records of which one has means and another one counts.

    Raises
    ------
    InputError
        Names both, and what to ask for instead.
    """
    for name, job in jobs.items():
        counts = [
            other
            for other, beside in jobs.items()
            if beside.counts_records and beside.data.only == job.data.only and other != name
        ]
        for figure in job.derived if counts else ():
            try:
                figure.check_beside(counts)
            except InputError as error:
                raise InputError(f"cluster {name}: {error}") from None


def planned(path: Path, out: Path) -> tuple[Plan, dict[str, dict[str, Any]]]:
    """Return the plan of a publication, and the tables of the job file of each cluster."""
    raw = read_toml(path)[1]
    given = raw.get("publication")
    if not isinstance(given, dict):
        raise InputError(f"{path}: there is no section [publication].")
    for name in ("tables", "equations"):
        if name in raw:
            raise InputError(f"{path}: [[{name}]] come from the plan. Leave them out.")
    try:
        spec = PublicationSpec.model_validate(given)
    except ValidationError as error:
        raise InputError(f"{path}, [publication]: {_in_words(error)}") from None
    shared = copy.deepcopy({key: value for key, value in raw.items() if key != "publication"})
    _check_sections(path, shared)
    made = spec.plan(path.parent, shared.get("derived", []))
    jobs = JobWriter(made, shared, spec.columns, spec.field_column).jobs()
    if spec.fields == "in order":
        jobs = in_order(made, jobs, out.resolve())
    return made, together(made, jobs) if spec.fields == "together" else jobs


def _check_sections(path: Path, shared: dict[str, Any]) -> None:
    """Refuse sections that are not tables, which every job needs."""
    for name in ("data", "dimensions", "variables"):
        if not isinstance(shared.setdefault(name, {}), dict):
            raise InputError(f"{path}: {name!r} must be a table. Write [{name}].")
    for name in ("dimensions", "variables"):
        for key, value in shared[name].items():
            if not isinstance(value, dict):
                raise InputError(f"{path}: {key!r} must be a table. Write [{name}.{key}].")
    figures = shared.get("derived", [])
    if not isinstance(figures, list) or not all(isinstance(figure, dict) for figure in figures):
        raise InputError(f"{path}: 'derived' must be tables. Write [[derived]] for each figure.")
    if not shared["variables"]:
        del shared["variables"]


def _in_words(error: ValidationError) -> str:
    fault = error.errors()[0]
    name = str(fault["loc"][0]) if fault["loc"] else ""
    if fault["type"] == "extra_forbidden":
        return f"unknown key {name!r}.{suggestion(name, PublicationSpec.model_fields)}"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{name}: {message}." if name else f"{message}."


def run_publication(
    path: str | Path,
    out: str | Path,
    *,
    engine: str = "duckdb",
    executor: Executor | None = None,
    said: Callable[[JobOutcome], None] | None = None,
) -> PublicationResult:
    """Protect a whole publication: plan it, and do the job of each cluster.

    Parameters
    ----------
    path : str or Path
        A job file with a section ``[publication]``.
    out : str or Path
        Folder for ``plan.html``, ``plan.csv``, and a folder for each cluster with ``release/`` and
        ``internal/``. A cluster whose folder has the results of the same job, data and version is
        not done again.
    engine : str, default="duckdb"
        See `tablecloak.run_job`.
    executor : Executor, optional
        Does several clusters at once; see `tablecloak.executors`. By default one after the other.
    said : callable, optional
        Told the outcome of each cluster as it comes.

    Returns
    -------
    PublicationResult
        A cluster that fails does not keep others from being done, but for those of later fields
        that are protected beside it.

    Raises
    ------
    InputError
        Before anything is protected, if the file, the metadata or the job of a cluster is faulty;
        and if no cluster could be done.
    """
    return read_publication(path, out).run(engine=engine, executor=executor, said=said)


def _state_of(outcome: JobOutcome, folder: Path) -> ClusterState:
    report = folder / "internal" / "report.html"
    link = report.relative_to(folder.parent).as_posix() if report.exists() else ""
    if outcome.has_failed:
        return ClusterState({}, f"failed: {outcome.message}")
    return ClusterState(outcome.figures, outcome.state, link)


def expected_seconds(job: Job, problem: ProtectionProblem) -> float:
    """Return roughly how long the searches of a job take, by the size of its problem.

    A search that proves its answer best ends before its time limit; that of a large one does not.
    """
    limits = [getattr(way, "time_limit", 0.0) for way in job.ways.values()]
    usual = SECONDS_OF_CELL * problem.table.n_cells
    return float(sum(min(limit, usual) for limit in limits))


SECONDS_OF_CELL = 0.01
"""Seconds of suppression for each cell. Of random tables with 30 to 2,159 it took 0.003 to 0.04,
so that an earlier run of the same cluster tells far better."""
