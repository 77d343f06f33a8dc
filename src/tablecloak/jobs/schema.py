"""What a job file may say: its sections and their keys.

Names of rules, weights, methods, requirements, intruders, distances and formats are those of the
registries at the time when a job is read; there is no list of them here.
"""

from __future__ import annotations

import hashlib
import math
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tablecloak.cellkey.perturbation import PERTURBATIONS, Perturbation
from tablecloak.cta.distances.distance import DISTANCES
from tablecloak.cta.statistics.statistic import STATISTICS
from tablecloak.jobs.registered import NameIn, SiblingIn, missing
from tablecloak.jobs.sending import TransmissionSpec
from tablecloak.solve.solver import SOLVERS
from tablecloak.suppression.audit.intruder import INTRUDERS
from tablecloak.suppression.hold import HOLDS
from tablecloak.suppression.requirement import REQUIREMENTS
from tablecloak.suppression.search.method import SEARCH_METHODS
from tablecloak.tables.formats import FORMATS, ReleaseFormat, existing
from tablecloak.tables.rules.rule import RULES, Rule
from tablecloak.tables.weights.rule import WEIGHT_RULES
from tablecloak.tables.zeros import Zeros

__all__ = ["SECTIONS", "AdjustmentSpec", "Data", "DimensionSpec", "Job", "TableSpec"]


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
    empty_cells: bool | None = None
    tolerance: float = Field(0.0, ge=0)

    @property
    def roles(self) -> list[str]:
        """Roles that columns of microdata have besides the value, such as contributor."""
        return [role for role in _OF_MICRODATA if getattr(self, role)]

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
    zeros: Zeros = "public"
    zeros_published: bool = True

    @model_validator(mode="after")
    def _both_bounds(self) -> Protection:
        if (self.lower_bound is None) != (self.upper_bound is None):
            raise ValueError("give both lower_bound and upper_bound, or neither")
        return self


WeightName = Annotated[str, NameIn(WEIGHT_RULES, only=lambda rule: rule.is_of_table)]
MethodName = Annotated[str, NameIn(SEARCH_METHODS)]
RequirementName = Annotated[str, NameIn(REQUIREMENTS)]
IntruderName = Annotated[str, NameIn(INTRUDERS)]
InsiderName = Annotated[str, NameIn(INTRUDERS, only=lambda intruder: not intruder.is_everybody)]
HoldName = Annotated[str, NameIn(HOLDS)]
DistanceName = Annotated[str, NameIn(DISTANCES)]
StatisticName = Annotated[str, NameIn(STATISTICS, only=lambda kind: kind.is_named, end=":")]
"""Such as ``mean`` and ``mean:all``."""
SolverName = Annotated[str, NameIn(SOLVERS)]
FormatName = Annotated[str, NameIn(FORMATS, only=lambda kind: issubclass(kind, ReleaseFormat))]


class Suppression(_Part):
    """``[suppression]``."""

    method: MethodName = Field("auto", description="How the cells to hide are searched for.")
    require: RequirementName = Field("two-sided", description="What counts as protected.")
    weights: WeightName = Field("value", description="What hiding a cell costs.")
    cost: str | None = None
    protect_against: list[InsiderName] = Field(
        [], description="Insiders against whom the pattern must protect as well."
    )
    hold: HoldName = Field(
        "possible",
        description="Whether protection against insiders is a must; if none is named, these are "
        "contributors and holdings, where the data tell them.",
    )
    previous: Path | None = None
    discount: float = Field(0.5, ge=0, le=1)
    time_limit: float = Field(60.0, gt=0)

    @model_validator(mode="after")
    def _hold_against_whom(self) -> Suppression:
        if self.protect_against and self.hold == "off":
            raise ValueError(
                'hold = "off" protects against no insider; leave out protect_against or hold'
            )
        if self.protect_against and "hold" not in self.model_fields_set:
            # Insiders named in the job must be protected against, unless it says how firmly.
            self.hold = "strict"
        return self


class AdjustmentSpec(_Part):
    """``[adjustment]``."""

    weights: WeightName = Field("relative", description="What changing a cell by one unit costs.")
    cost: str | None = None
    distance: DistanceName = Field("L1", description="What is made as small as possible.")
    preserve: list[StatisticName] = Field(
        [], description="Statistics that stay as they are, with a subset after a colon."
    )
    sensitive_limit: float | None = Field(None, ge=1)
    capacity: float | None = Field(None, ge=0)
    capacity_percent: float | None = Field(None, ge=0)
    measurement_error: str | None = None
    repair: bool = False
    recovery: float | None = Field(None, gt=0, lt=1)
    integer: bool | None = None
    time_limit: float = Field(60.0, gt=0)


class AuditSpec(_Part):
    """``[audit]``: who attacks the suppression besides the external intruder."""

    intruders: list[IntruderName] = []
    groups: bool = False
    time_limit: Annotated[float, Field(gt=0)] = math.inf


class Output(_Part):
    """``[output]``: in which formats releases are written, and whether with a page."""

    formats: Annotated[list[FormatName], Field(min_length=1)] = ["csv"]
    report: bool = True


class Job(_Part):
    """All that one job file says; see docs/job-file.md."""

    title: str = ""
    seed: int = Field(0, ge=0)
    solver: SolverName | None = None
    threads: int | None = Field(None, ge=1, exclude=True)
    """Default: one for each processor. Not in the fingerprint: results do not depend on it."""
    data: Data
    dimensions: dict[str, DimensionSpec]
    tables: list[TableSpec] | None = Field(None, min_length=1)
    rules: list[Annotated[Rule, SiblingIn(RULES, "rule")]] = Field([], min_length=1)
    protection: Protection = Protection()
    suppression: Suppression | None = None
    adjustment: AdjustmentSpec | None = None
    perturbation: Annotated[Perturbation, SiblingIn(PERTURBATIONS, "kind")] | None = None
    audit: AuditSpec = AuditSpec()
    transmission: TransmissionSpec | None = None
    output: Output = Output()
    source: str = Field("", exclude=True)
    """The text of the job file, for the report."""

    @property
    def lists_empty_cells(self) -> bool:
        """Whether cells into which no record falls are listed: where microdata may hide zeros."""
        if self.data.empty_cells is not None:
            return self.data.empty_cells
        return self.data.kind == "microdata" and self.protection.zeros != "public"

    @property
    def group_rules(self) -> list[Rule]:
        """Rules that also apply to sums of suppressed cells."""
        return [rule for rule in self.rules if rule.applies_to_sums]

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
        if self.transmission is not None and self.transmission.template is not None:
            files.append(self.transmission.template)
        if self.perturbation is not None:
            files.extend(self.perturbation.files.values())
        for path in map(existing, files):
            with path.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()

    @model_validator(mode="after")
    def _some_method(self) -> Job:
        others = self.suppression is not None or self.adjustment is not None
        if not others and self.perturbation is None:
            raise ValueError("add a section [suppression], [adjustment] or [perturbation]")
        if self.transmission is not None and self.suppression is None:
            raise ValueError("[transmission] flags hidden cells; it needs [suppression]")
        if self.perturbation is not None:
            self._for_cell_keys(others)
        elif not self.rules:
            raise missing("rules", {})
        if self.data.kind == "table":
            if self.tables:
                raise ValueError("a table that is ready has no [[tables]]; leave them out")
            if any(dimension.levels for dimension in self.dimensions.values()):
                raise ValueError("levels are read from microdata; a ready table has none")
        return self

    def _for_cell_keys(self, others: bool) -> None:
        """Refuse what perturbation by cell keys does not use."""
        if others:
            raise ValueError(
                "leave out [suppression] and [adjustment], or [perturbation]: two releases of one "
                "table together reveal more than each of them"
            )
        if self.data.kind == "table":
            raise ValueError("[perturbation] needs microdata with record keys")
        unused = [role for role in self.data.roles if role != "weight"]
        if unused:
            raise ValueError(f"[perturbation] does not use {unused[0]}; leave it out of [data]")


SECTIONS: dict[str, type[BaseModel]] = {
    "data": Data,
    "dimensions": DimensionSpec,
    "audit": AuditSpec,
    "tables": TableSpec,
    "protection": Protection,
    "suppression": Suppression,
    "adjustment": AdjustmentSpec,
    "transmission": TransmissionSpec,
    "output": Output,
}
"""The model of each section of a job file."""
