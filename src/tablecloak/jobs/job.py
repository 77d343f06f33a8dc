"""A whole job from one file: data, dimensions, rules, methods, and two folders of results.

``release/`` holds what may be published: one folder for each method, alternatives of which only
one may be published. ``internal/`` (readable by the owner only) holds the true table, statuses,
intervals, certificates and the report.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tablecloak.certificates.file import write_certificate
from tablecloak.cta.adjust import adjust
from tablecloak.cta.adjustment import Adjustment
from tablecloak.cta.decimals import in_decimals
from tablecloak.errors import InputError, ModelError, SolverError, TablecloakError, suggestion
from tablecloak.history import History
from tablecloak.jobs.registered import NameIn, SiblingIn, innermost
from tablecloak.publish.adjusted_audit import AdjustedAudit
from tablecloak.publish.audit import audit
from tablecloak.publish.previous import read_previous
from tablecloak.publish.publication import write_release
from tablecloak.render.page import Page
from tablecloak.render.report import Finding, internal_report
from tablecloak.storage import replacing_folder, write_text
from tablecloak.suppression.audit.audit import Audit
from tablecloak.suppression.pattern import SuppressionPattern
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.suppress import suppress
from tablecloak.tables.dimensions import Dimension
from tablecloak.tables.formats import existing, read_frame, write_frame, write_problem
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.protect import protect
from tablecloak.tables.published import in_published_order
from tablecloak.tables.rules.rule import RULES, Rule
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.database import open_database
from tablecloak.tables.tabulation.tabulate import tabulate
from tablecloak.tables.weights.rule import WEIGHT_RULES
from tablecloak.toml_file import read_toml

__all__ = ["Job", "JobResult", "read_job", "run_job"]

Progress = Callable[[str, float, float, int], None]

RESULT = "result.json"
"""Internal file that says how a job went, and of which inputs its results are."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True, allow_inf_nan=False)


class Data(_Part):
    """``[data]``: microdata, one row for each record, or a table, one row for each cell."""

    file: Path | None = None
    connection: str | None = None
    table: str | None = None
    kind: Literal["microdata", "table"] = "microdata"
    value: str | None = None
    contributor: str | None = None
    holding: str | None = None
    weight: str | None = None
    shadow: str | None = None
    request: str | None = None
    frequency: str | None = None
    largest: list[str] = []
    decimals: int | None = Field(None, ge=0, le=15)
    unit: str = ""
    tolerance: float = Field(0.0, ge=0)

    @model_validator(mode="after")
    def _one_source(self) -> Data:
        if (self.file is None) == (self.connection is None):
            raise ValueError("give either file, or connection and table")
        if self.connection is not None and (self.table is None or self.kind == "table"):
            raise ValueError("a connection needs the name of a table with microdata")
        for name in _OF_TABLES if self.kind == "microdata" else _OF_MICRODATA:
            if getattr(self, name):
                raise ValueError(f"kind = {self.kind!r} has no {name}; leave it out")
        return self


_OF_TABLES = ("frequency", "largest")
_OF_MICRODATA = ("contributor", "holding", "weight", "shadow", "request")


class DimensionSpec(_Part):
    """``[dimensions.NAME]``: where the codes come from."""

    column: str | None = None
    hierarchy: Path | dict[str, Any] | None = None
    levels: list[str] = []
    total: str = "Total"

    @field_validator("hierarchy", mode="before")
    @classmethod
    def _file_or_tables(cls, given: Any) -> Any:
        if given is not None and not isinstance(given, str | Path | dict):
            raise ValueError("give the path of an .hrc file, or nested tables of codes")
        return given


class TableSpec(_Part):
    """``[[tables]]``: the dimensions of one of several linked tables."""

    dimensions: list[str] = Field(min_length=1)


class Protection(_Part):
    """``[protection]``: protection levels and what an intruder knows beforehand."""

    floor: Annotated[float, Field(ge=0)] = 1.0
    lower_factor: Annotated[float, Field(ge=0)] = 1.0
    lower_bound: float | None = None
    upper_bound: float | None = None
    zeros_published: bool = True

    @model_validator(mode="after")
    def _both_bounds(self) -> Protection:
        if (self.lower_bound is None) != (self.upper_bound is None):
            raise ValueError("give both lower_bound and upper_bound, or neither")
        return self


WeightName = Annotated[str, NameIn(WEIGHT_RULES, only=lambda rule: rule.is_of_table)]


class Suppression(_Part):
    """``[suppression]``."""

    method: Literal["auto", "sequential", "exact"] = "auto"
    require: Literal["two-sided", "width", "upper"] = "two-sided"
    weights: WeightName = "value"
    cost: str | None = None
    protect_against: list[
        Literal["contributors", "pairs", "all-pairs", "holdings", "zeros", "integers"]
    ] = []
    previous: Path | None = None
    discount: float = Field(0.5, ge=0, le=1)
    time_limit: float = Field(60.0, gt=0)


class AdjustmentSpec(_Part):
    """``[adjustment]``."""

    weights: WeightName = "relative"
    cost: str | None = None
    distance: Literal["L1", "L2", "Linf"] = "L1"
    preserve: list[str] = []
    sensitive_limit: float | None = Field(None, ge=1)
    capacity: float | None = Field(None, ge=0)
    capacity_percent: float | None = Field(None, ge=0)
    measurement_error: str | None = None
    repair: bool = False
    integer: bool | None = None
    time_limit: float = Field(60.0, gt=0)


class AuditSpec(_Part):
    """``[audit]``: who attacks the suppression besides the external intruder."""

    intruders: list[
        Literal["external", "contributors", "pairs", "all-pairs", "holdings", "zeros", "integers"]
    ] = []
    groups: bool = False
    time_limit: Annotated[float, Field(gt=0)] = math.inf


class Output(_Part):
    """``[output]``: in which formats releases are written, and whether with a page."""

    formats: Annotated[
        list[Literal["csv", "parquet", "excel", "sdmx-csv", "json-stat", "px"]], Field(min_length=1)
    ] = ["csv"]
    report: bool = True


class Job(_Part):
    """All that one job file says; see docs/job-file.md."""

    title: str = ""
    seed: int = Field(0, ge=0)
    data: Data
    dimensions: dict[str, DimensionSpec]
    tables: list[TableSpec] | None = Field(None, min_length=1)
    rules: list[Annotated[Rule, SiblingIn(RULES, "rule")]] = Field(min_length=1)
    protection: Protection = Protection()
    suppression: Suppression | None = None
    adjustment: AdjustmentSpec | None = None
    audit: AuditSpec = AuditSpec()
    output: Output = Output()
    source: str = Field("", exclude=True)
    """The text of the job file, for the report."""

    def fingerprint(self) -> str:
        """Return a hash of all that the results depend on: job, data, hierarchies, version.

        Raises
        ------
        InputError
            If a file does not exist.
        """
        digest = hashlib.sha256(f"{version('tablecloak')}\0{self.model_dump_json()}".encode())
        files = [self.data.file] if self.data.file else []
        files += [s.hierarchy for s in self.dimensions.values() if isinstance(s.hierarchy, Path)]
        if self.suppression is not None and self.suppression.previous is not None:
            files.append(self.suppression.previous)
        for path in map(existing, files):
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()

    @model_validator(mode="after")
    def _some_method(self) -> Job:
        if self.suppression is None and self.adjustment is None:
            raise ValueError("add a section [suppression] or [adjustment], or both")
        if self.data.kind == "table":
            if self.tables:
                raise ValueError("a table that is ready has no [[tables]]; leave them out")
            if any(dimension.levels for dimension in self.dimensions.values()):
                raise ValueError("levels are read from microdata; a ready table has none")
        return self


@dataclass(frozen=True, eq=False)
class JobResult:
    """What a job produced.

    Parameters
    ----------
    problem : ProtectionProblem
    pattern : SuppressionPattern or None
    pattern_audit : Audit or None
    adjustment : Adjustment or None
    adjustment_audit : AdjustedAudit or None
    files : list of Path
        All files that were written.
    histories : dict of str to History
        How the searches went: ``suppression``, ``adjustment``.
    failures : dict of str to str
        Methods that gave no release although another did, and why.
    withheld : dict of str to str
        Methods whose release was found but not written to ``release/``, and why. Its files, if
        there are any, lie in ``internal/withheld/``.
    """

    problem: ProtectionProblem
    pattern: SuppressionPattern | None
    pattern_audit: Audit | None
    adjustment: Adjustment | None
    adjustment_audit: AdjustedAudit | None
    files: list[Path]
    histories: dict[str, History]
    failures: dict[str, str]
    withheld: dict[str, str] = field(default_factory=dict)

    @property
    def is_safe(self) -> bool:
        """Whether every release passed its audit, and none was withheld."""
        audits = [self.pattern_audit, self.adjustment_audit]
        return not self.withheld and all(found.is_safe for found in audits if found is not None)

    def summary(self) -> str:
        """Say in one line what was found. Secret: losses are sums of hidden values."""
        parts = [part.summary() for part in (self.pattern, self.adjustment) if part is not None]
        failed = [f"no {name}: {why}" for name, why in self.failures.items()]
        kept = [f"release of the {name} withheld: {why}" for name, why in self.withheld.items()]
        return "; ".join([*parts, *failed, *kept])


def read_job(path: str | Path) -> Job:
    """Read and check a job file (TOML). Paths in it are relative to the file.

    Raises
    ------
    InputError
        Names file, line, key and remedy; for a misspelt key or rule also the likely one.
    """
    path = Path(path)
    text, raw = read_toml(path)
    try:
        job = Job.model_validate(raw)
    except ValidationError as error:
        raise InputError(_readable(path, text, error)) from None
    _make_paths_absolute(job, path.parent)
    job.source = text
    return job


def load_problem(job: Job, engine: str = "duckdb") -> ProtectionProblem:
    """Tabulate or read the data of a job and apply its rules.

    Parameters
    ----------
    job : Job
    engine : str, default="duckdb"
        What reads microdata from a file; see `tablecloak.tabulate`.
    """
    table = _table(job, _dimensions(job), job.data.value, engine)
    bounds = None
    if job.protection.lower_bound is not None and job.protection.upper_bound is not None:
        bounds = (job.protection.lower_bound, job.protection.upper_bound)
    return protect(
        table,
        *job.rules,
        floor=job.protection.floor,
        lower_factor=job.protection.lower_factor,
        external_bounds=bounds,
        zeros_published=job.protection.zeros_published,
    )


def group_rules(job: Job) -> list[Rule]:
    """Return the rules of a job that also apply to sums of suppressed cells."""
    return [rule for rule in job.rules if rule.applies_to_sums]


def run_job(
    job: Job | str | Path,
    out: str | Path | None = None,
    *,
    engine: str = "duckdb",
    progress: Progress | None = None,
) -> JobResult:
    """Run a job and write its results.

    Parameters
    ----------
    job : Job, str or Path
        A job, or the path of a job file.
    out : str or Path, optional
        Folder for ``release/`` and ``internal/``. Without it nothing is written.
    engine : str, default="duckdb"
        What reads microdata from a file; see `tablecloak.tabulate`.
    progress : callable, optional
        Called with stage, loss, bound and what is still open.

    Returns
    -------
    JobResult
        Each release has been verified by its certificate and audited as a stranger would.
    """
    job = job if isinstance(job, Job) else read_job(job)
    # Before the data are read: what changes while the job runs is then noticed.
    fingerprint = "" if out is None else job.fingerprint()
    problem = load_problem(job, engine)
    histories = {name: History(progress) for name in ("suppression", "adjustment")}
    failures: dict[str, str] = {}
    pattern = _suppressed(job, problem, histories["suppression"])
    try:
        adjusted = _adjusted(job, problem, histories["adjustment"])
    except (ModelError, SolverError) as error:
        # What the other method found is not lost.
        if pattern is None:
            raise
        adjusted, failures = None, {"adjustment": str(error)}
    result = JobResult(
        problem=problem,
        pattern=pattern,
        pattern_audit=_audited(job, problem, pattern, Audit),
        adjustment=adjusted,
        adjustment_audit=_audited(job, problem, adjusted, AdjustedAudit),
        files=[],
        histories=histories,
        failures=failures,
    )
    if out is not None:
        out = Path(out)
        with replacing_folder(out) as folder:
            _write(job, result, folder, fingerprint)
        result.files[:] = [out / path.relative_to(folder) for path in result.files]
    return result


def _suppressed(
    job: Job, problem: ProtectionProblem, progress: Progress
) -> SuppressionPattern | None:
    options = job.suppression
    if options is None:
        return None
    return suppress(
        problem if options.cost is None else _with_costs(job, problem, options.cost),
        method=options.method,
        require=options.require,
        weights=None if options.cost else options.weights,
        protect_against=options.protect_against,
        previous=None if options.previous is None else read_previous(problem, options.previous),
        discount=options.discount,
        time_limit=options.time_limit,
        seed=job.seed,
        progress=progress,
    )


def _adjusted(job: Job, problem: ProtectionProblem, progress: Progress) -> Adjustment | None:
    chosen = job.adjustment
    if chosen is None:
        return None
    found = adjust(
        _with_capacities(job, problem, chosen),
        weights=chosen.weights if chosen.cost is None else _sums(job, chosen.cost),
        preserve=chosen.preserve,
        distance=chosen.distance,
        sensitive_limit=chosen.sensitive_limit,
        integer=_whole(problem, chosen),
        repair=chosen.repair,
        time_limit=chosen.time_limit,
        progress=progress,
    )
    # What is audited and reported is what is published.
    return in_decimals(found, time_limit=chosen.time_limit)


def _whole(problem: ProtectionProblem, chosen: AdjustmentSpec) -> bool | None:
    """Whole numbers for a table of these; else the last digit of the table, where there is one."""
    if chosen.integer is not None:
        return chosen.integer
    return True if problem.table.integer and chosen.distance == "L1" else None


# -- reading ------------------------------------------------------------------------------


def _readable(path: Path, text: str, error: ValidationError) -> str:
    """Turn the first of pydantic's errors into a sentence with line and remedy."""
    first = innermost(error.errors()[0])
    location = [part for part in first["loc"] if not isinstance(part, int)]
    location = [part for part in location if part not in RULES]
    where = ".".join(map(str, location)) or "the file"
    key = str(location[-1]) if location else ""
    line = _line_of(text, key, first)
    place = f"{path}, line {line}" if line else str(path)
    match first["type"]:
        case "extra_forbidden":
            known = _known_keys(list(first["loc"])[:-1])
            return f"{place}: unknown key {key!r} in {where}.{suggestion(key, known)}"
        case "union_tag_invalid":
            tag = str(first["ctx"]["tag"])
            return f"{place}: unknown rule {tag!r}.{suggestion(tag, RULES.names)}"
        case "missing":
            return f"{place}: {where} is missing. Add it; see docs/job-file.md."
        case "literal_error":
            given, expected = first["input"], first["ctx"]["expected"]
            return f"{place}: {where} is {given!r}; expected {expected}."
    return f"{place}: {where}: {first['msg']}. Found {first['input']!r}."


def _line_of(text: str, key: str, error: Any) -> int | None:
    """Line of a key or, for an unknown rule, of its name."""
    wanted = re.escape(str(error["ctx"]["tag"])) if error["type"] == "union_tag_invalid" else None
    patterns = [rf"=\s*[\"']{wanted}[\"']"] if wanted else [
        rf"^\s*[\"']?{re.escape(key)}[\"']?\s*=", rf"^\s*\[+[^\]]*\b{re.escape(key)}\s*\]"
    ]  # fmt: skip
    for pattern in patterns:
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(pattern, line):
                return number
    return None


_SECTIONS: dict[str, type[BaseModel]] = {
    "data": Data,
    "dimensions": DimensionSpec,
    "audit": AuditSpec,
    "tables": TableSpec,
    "protection": Protection,
    "suppression": Suppression,
    "adjustment": AdjustmentSpec,
    "output": Output,
}


def _known_keys(location: list[Any]) -> list[str]:
    """Keys that are allowed where an unknown one was found."""
    rule = next((part for part in location if part in RULES), None)
    model = (
        RULES.model(rule, "rule")
        if rule
        else _SECTIONS.get(str(location[0]), Job)
        if location
        else Job
    )
    return list(model.model_fields)


def _make_paths_absolute(job: Job, folder: Path) -> None:
    if job.data.file is not None:
        job.data.file = folder / job.data.file
    if job.suppression is not None and job.suppression.previous is not None:
        job.suppression.previous = folder / job.suppression.previous
    for spec in job.dimensions.values():
        if isinstance(spec.hierarchy, Path):
            spec.hierarchy = folder / spec.hierarchy


def _dimensions(job: Job) -> dict[str, Dimension]:
    return {
        name: Dimension(spec.column or (spec.levels or [name])[-1], spec.hierarchy,
                        tuple(spec.levels), spec.total)
        for name, spec in job.dimensions.items()
    }  # fmt: skip


def _table(
    job: Job, dimensions: dict[str, Dimension], value: str | None, engine: str = "duckdb"
) -> Table:
    """Tabulate or read one column of the data; an error names the file."""
    try:
        return _tabulated(job, dimensions, value, engine)
    except InputError as error:
        file = job.data.file
        if file is None or str(error).startswith(str(file)):
            raise
        raise InputError(f"{file}: {error}", cells=error.cells) from None


def _tabulated(job: Job, dimensions: dict[str, Dimension], value: str | None, engine: str) -> Table:
    data = job.data
    if data.kind == "table":
        assert data.file is not None
        frame = read_frame(data.file, tuple(d.column for d in dimensions.values()))
        renamed = {dimension.column: name for name, dimension in dimensions.items()}
        frame = _without_namesakes(frame, renamed, [value or "value", data.frequency or "",
                                                    *data.largest])  # fmt: skip
        plain = {
            name: Dimension(name, d.hierarchy, total=d.total) for name, d in dimensions.items()
        }
        table = Table.from_frame(
            frame.rename(columns=renamed),
            plain,
            value or "value",
            frequency=data.frequency,
            largest=data.largest,
            unit=data.unit,
            tolerance=data.tolerance,
            decimals=data.decimals,
        )
        return in_published_order(table)
    source: Any = data.file
    if data.connection is not None and data.table is not None:
        source = open_database(data.connection, data.table)
    return tabulate(
        source,
        dimensions,
        value,
        contributor=data.contributor,
        holding=data.holding,
        weight=data.weight,
        shadow=data.shadow,
        request=data.request,
        tables=[spec.dimensions for spec in job.tables] if job.tables else None,
        decimals=data.decimals,
        unit=data.unit,
        n_largest=_largest_needed(job),
        engine=engine,
    )


def _without_namesakes(
    frame: pd.DataFrame, renamed: dict[str, str], needed: list[str]
) -> pd.DataFrame:
    """Leave out columns that are called like a dimension whose codes come from another column."""
    like = [
        name
        for column, name in renamed.items()
        if name != column and name in frame.columns and name not in renamed
    ]
    taken = [name for name in like if name in needed]
    if taken:
        raise InputError(
            f"Dimension {taken[0]!r} has the name of a column with numbers. Give the dimension "
            f"another name."
        )
    return frame.drop(columns=like)


def _with_costs(job: Job, problem: ProtectionProblem, column: str) -> ProtectionProblem:
    """Return the problem with the sums of a column as weights."""
    return problem.with_changes(weights=_sums(job, column))


def _with_capacities(
    job: Job, problem: ProtectionProblem, chosen: AdjustmentSpec
) -> ProtectionProblem:
    """Return the problem with the tightest of the limits on changes of other cells."""
    if chosen.capacity is None and chosen.capacity_percent is None and not chosen.measurement_error:
        return problem
    limit = np.full(problem.table.n_cells, np.inf if chosen.capacity is None else chosen.capacity)
    if chosen.measurement_error:
        limit = np.minimum(limit, _sums(job, chosen.measurement_error))
    return problem.with_capacity(limit, percent=chosen.capacity_percent)


def _sums(job: Job, column: str) -> npt.NDArray[np.float64]:
    """Return the absolute sum of a column in each cell."""
    return np.abs(_table(job, _dimensions(job), column).values)


def _largest_needed(job: Job) -> int:
    """How many largest contributors the rules of the job look at."""
    return max([3, *(rule.n_largest for rule in job.rules)])


# -- writing ------------------------------------------------------------------------------


def _audited(job: Job, problem: ProtectionProblem, found: Any, kind: type[Any]) -> Any:
    if found is None:
        return None
    pattern = isinstance(found, SuppressionPattern)
    require = found.requirement if pattern else Requirement.TWO_SIDED
    options = job.audit
    groups = group_rules(job) if options.groups else []
    promised = job.suppression.protect_against if job.suppression else []
    intruders = list(dict.fromkeys([*options.intruders, *promised]))
    result = audit(
        problem,
        found,
        require=require,
        intruders=intruders,
        groups=groups,
        time_limit=options.time_limit,
    )
    assert isinstance(result, kind)
    return result


def _write(job: Job, result: JobResult, out: Path, fingerprint: str) -> None:
    internal = out / "internal"
    internal.mkdir(parents=True, exist_ok=True)
    internal.chmod(0o700)
    files = result.files

    def secret(name: str, content: Any) -> None:
        write_frame(content, internal / name, secret=True)
        files.append(internal / name)

    def release(found: SuppressionPattern | Adjustment) -> None:
        name = "adjustment" if found is result.adjustment else "suppression"
        try:
            written = write_release(
                found,
                out / "release" / name,
                title=job.title,
                formats=job.output.formats,
                report=job.output.report,
                withheld=internal / "withheld" / name,
            )
        except TablecloakError as error:
            # The search is not lost with the files of the release.
            result.withheld[name] = str(error)
            shutil.rmtree(out / "release" / name, ignore_errors=True)
        else:
            files.extend(written)

    # Also where nothing is released: what an older job released must not stay beside this one.
    (out / "release").mkdir()
    if result.pattern is not None and result.pattern_audit is not None:
        release(result.pattern)
        secret("suppression_statuses.csv", result.pattern.to_frame())
        secret("suppression_audit.csv", result.pattern_audit.to_frame())
        if result.pattern_audit.is_safe:
            # The audit's own proof: it covers all intruders of the job.
            path = internal / "suppression_certificate.npz"
            write_certificate(result.pattern_audit.certificate(), path)
            files.append(path)
    if result.adjustment is not None and result.adjustment_audit is not None:
        release(result.adjustment)
        secret("adjustment_changes.csv", result.adjustment.to_frame())
        secret("adjustment_audit.csv", result.adjustment_audit.to_frame())
    secret("problem.csv", result.problem.to_frame())
    write_problem(result.problem, internal / "problem.jj")
    files.append(internal / "problem.jj")
    state = {
        "fingerprint": fingerprint,
        "is_safe": result.is_safe,
        "message": result.summary(),
    }
    write_text(internal / RESULT, json.dumps(state, indent=2) + "\n", secret=True)
    files.append(internal / RESULT)
    if job.output.report:
        _report(job, result).write(internal / "report.html")
        files.append(internal / "report.html")


def _report(job: Job, result: JobResult) -> Page:
    """Return the internal report. Secret: it shows true values and sensitive cells."""
    findings = [
        Finding(release, found, result.histories.get(name))
        for name, release, found in (
            ("suppression", result.pattern, result.pattern_audit),
            ("adjustment", result.adjustment, result.adjustment_audit),
        )
        if release is not None
    ]
    return internal_report(
        job.title or result.problem.table.name,
        result.problem,
        findings,
        settings={"seed": job.seed}
        | {f"no {name}": why for name, why in result.failures.items()}
        | {f"withheld {name}": why for name, why in result.withheld.items()},
        source=job.source,
    )
