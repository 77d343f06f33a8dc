"""What a job file may say: its sections and their keys.

Names of rules, weights, methods, requirements, intruders, distances and formats are those of the
registries at the time when a job is read; there is no list of them here.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tablecloak.arrays import Flags
from tablecloak.budget import MOST_THREADS
from tablecloak.data_file import AS_USUAL, DataFile
from tablecloak.errors import suggestion
from tablecloak.protection import PROTECTIONS, Attackers, Protection
from tablecloak.publish.data_structure import DataStructure
from tablecloak.publish.register import PUBLIC
from tablecloak.publish.transmission import Sent, Transmission, rows_to_send, write_transmission
from tablecloak.registered import NameIn, Section, SectionsOf, SiblingIn, missing
from tablecloak.solve.solver import SOLVERS
from tablecloak.storage import checksum, existing_file
from tablecloak.suppression.attack.intruder import INTRUDERS
from tablecloak.tables.classifications import CLASSIFICATIONS
from tablecloak.tables.confidentiality import Confidentiality
from tablecloak.tables.equations import Equation
from tablecloak.tables.figures.figure import FIGURES, DerivedFigure
from tablecloak.tables.formats import FORMATS, ReleaseFormat
from tablecloak.tables.formats.layouts import Layout, LayoutName, TotalsPlace
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import RULES, Rule, Zeros, refuse_weighted_holdings
from tablecloak.tables.sums import rules_for_sums


class _JobPart(Section, BaseModel):
    model_config = ConfigDict(populate_by_name=True)


class HowRead(_JobPart):
    """Keys of ``[data]`` that say how its files are read; see `DataFile`."""

    sep: str = AS_USUAL.sep
    decimal: str = AS_USUAL.decimal
    encoding: str = AS_USUAL.encoding
    sheet: str = AS_USUAL.sheet
    header: int = AS_USUAL.header

    def of(self, path: Path) -> DataFile:
        """Return a file that is read so."""
        return DataFile(path, **{name: getattr(self, name) for name in AS_USUAL.how})

    @model_validator(mode="after")
    def _known_signs(self) -> Self:
        self.of(Path())
        return self


class Data(HowRead):
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
    waiver: str | None = None
    waiver_p: str | None = None
    frequency: str | None = None
    largest: list[str] = []
    flags: str | None = None
    flags_range: float = Field(20.0, ge=0)
    unreliable: str | None = None
    unreliable_above: float | None = None
    decimals: int | None = Field(None, ge=0, le=15)
    unit: str = ""
    empty_cells: bool | None = None
    tolerance: float = Field(0.0, ge=0)
    only: dict[str, str | list[str]] = {}

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
        if self.unreliable_above is not None and self.unreliable is None:
            raise ValueError("unreliable_above is a limit of the column `unreliable`; name it")
        if self.only and (self.file is None or self.kind == "table"):
            raise ValueError("only chooses records of a file with microdata; leave it out")
        return self


_OF_TABLES = ("frequency", "largest", "flags", "unreliable")
_OF_MICRODATA = ("contributor", "holding", "weight", "shadow", "request", "waiver", "waiver_p")


class DimensionSpec(_JobPart):
    """``[dimensions.NAME]``: where the codes come from."""

    column: str | None = None
    hierarchy: Path | str | dict[str, Any] | None = None
    levels: list[str] = []
    total: str = "Total"

    @field_validator("hierarchy", mode="before")
    @classmethod
    def _file_or_tables(cls, given: Any) -> Any:
        if given is not None and not isinstance(given, str | Path | dict):
            raise ValueError("give the path of an .hrc file, or nested tables of codes")
        return Path(given) if isinstance(given, str) and given not in CLASSIFICATIONS else given


class ProtectionLevels(_JobPart):
    """``[protection]``: protection levels and what an intruder knows beforehand."""

    floor: Annotated[float, Field(ge=0)] = 1.0
    lower_factor: Annotated[float, Field(ge=0)] = 1.0
    lower_bound: float | None = None
    upper_bound: float | None = None
    zeros: Zeros = "public"
    zeros_published: bool = True

    @model_validator(mode="after")
    def _both_bounds(self) -> ProtectionLevels:
        if (self.lower_bound is None) != (self.upper_bound is None):
            raise ValueError("give both lower_bound and upper_bound, or neither")
        return self


class TableSpec(_JobPart):
    """``[[tables]]``: one of several linked tables: its dimensions; a ready one also has a file."""

    dimensions: list[str] = Field(min_length=1)
    file: Path | None = None
    columns: dict[str, str] = {}

    @model_validator(mode="after")
    def _columns_of_a_file(self) -> TableSpec:
        if self.columns and self.file is None:
            raise ValueError("columns are those of the table's own file; leave them out")
        odd = [name for name in self.columns if name not in self.dimensions]
        if odd:
            raise ValueError(f"columns: {odd[0]!r} is none of its dimensions")
        return self


FigureName = Annotated[DerivedFigure, SiblingIn(FIGURES, "figure")]

RuleName = Annotated[Rule, SiblingIn(RULES, "rule")]


class VariableSpec(_JobPart):
    """``[variables.NAME]``: one of several variables; what is left out is that of the job."""

    value: str | None = None
    file: Path | None = None
    only: dict[str, str | list[str]] | None = None
    frequency: str | None = None
    largest: list[str] | None = None
    unit: str | None = None
    decimals: int | None = Field(None, ge=0, le=15)
    tolerance: float | None = Field(None, ge=0)
    dimensions: list[str] = []
    tables: list[TableSpec] | None = Field(None, min_length=1)
    rules: list[RuleName] = []
    protection: ProtectionLevels | None = None


class EquationSpec(_JobPart):
    """``[[equations]]``: an equation between variables; see `tablecloak.Equation`."""

    equation: str
    where: dict[str, str | list[str]] = {}
    tolerance: float = Field(0.0, ge=0)
    name: str = ""
    unit: str = ""

    @property
    def made(self) -> Equation:
        """The equation."""
        return Equation(self.equation, self.where, self.name, self.unit, self.tolerance)

    @model_validator(mode="after")
    def _can_be_read(self) -> EquationSpec:
        assert self.made.terms
        return self


IntruderName = Annotated[str, NameIn(INTRUDERS)]
SolverName = Annotated[str, NameIn(SOLVERS)]
FormatName = Annotated[str, NameIn(FORMATS, only=lambda kind: issubclass(kind, ReleaseFormat))]


class AuditSpec(_JobPart):
    """``[audit]``: who attacks the suppression besides the external intruder."""

    intruders: list[IntruderName] = []
    groups: bool = False
    time_limit: Annotated[float, Field(gt=0)] = math.inf


class OutputSpec(_JobPart):
    """``[output]``: in which formats and layout releases are written, and whether with a page."""

    formats: Annotated[list[FormatName], Field(min_length=1)] = ["csv"]
    report: bool = True
    layout: LayoutName = "long"
    columns: str | list[str] = []
    marker: str = "c"
    totals: TotalsPlace = "first"

    @property
    def laid_out(self) -> Layout:
        """The layout of releases."""
        return Layout(self.layout, self.columns, self.marker, self.totals)

    @model_validator(mode="after")
    def _sound_layout(self) -> OutputSpec:
        if self.laid_out.is_wide and not any(FORMATS[name].has_wide for name in self.formats):
            raise ValueError("a wide layout needs csv or excel among the formats")
        return self


class PublishedSpec(_JobPart):
    """``[[published]]``: an earlier release that everybody has."""

    file: Path
    problem: Path | None = None
    name: str | None = None
    period: str = ""
    made: str | None = None


class FlaggedCells(_JobPart):
    """One entry of ``cells``: codes, and the flag of all cells that have them."""

    codes: dict[str, str] = Field(min_length=1)
    flag: Confidentiality


class TransmissionSpec(_JobPart):
    """``[transmission]``: all values with flags, for another authority; see `Transmission`."""

    template: Path | None = None
    structure: Path | None = None
    structure_id: str = ""
    names: dict[str, str] = {}
    codes: dict[str, dict[str, str]] = {}
    constants: dict[str, str] = {}
    redistribution: str = ""
    secondary: Literal["D", "S"] = "D"
    embargo: str = ""
    flags: dict[str, Confidentiality] = {}
    cells: list[FlaggedCells] = []
    partial: bool = False

    def check(self, problem: ProtectionProblem, rules: Sequence[Rule]) -> None:
        """Check names, codes and template before a search that may take long.

        Raises
        ------
        InputError
            What `write_transmission` raises.
        """
        hidden = problem.sensitive | problem.forced
        table = self._table(problem, hidden, rules)
        rows_to_send([table], self.template, self._structure, complete=not self.partial)

    def write(
        self, problem: ProtectionProblem, suppressed: Flags, rules: Sequence[Rule], path: Path
    ) -> Sent:
        """Write the file."""
        table = self._table(problem, suppressed, rules)
        return write_transmission(
            table, path, template=self.template, structure=self._structure,
            complete=not self.partial,
        )  # fmt: skip

    @property
    def _structure(self) -> DataStructure | None:
        given = self.structure
        return None if given is None else DataStructure.read(given, self.structure_id)

    def _table(
        self, problem: ProtectionProblem, suppressed: Flags, rules: Sequence[Rule]
    ) -> Transmission:
        cells = [(entry.codes, entry.flag.value) for entry in self.cells]
        others = {"template", "structure", "structure_id", "partial", "cells"}
        options = self.model_dump(mode="json", exclude=others)
        return Transmission(problem, suppressed, rules=rules, cells=cells, **options)


class RegisterSpec(_JobPart):
    """``[register]``: the register of what has left, and who gets this release; see `Register`."""

    folder: Path
    receiver: str = PUBLIC
    series: str = ""


WAYS = SectionsOf(PROTECTIONS)


class Job(_JobPart):
    """All that one job file says; see docs/job-file.md."""

    title: str = ""
    seed: int = Field(0, ge=0)
    solver: SolverName | None = None
    threads: int | None = Field(None, ge=1, le=MOST_THREADS, exclude=True)
    """Default: one for each processor. Not in the fingerprint: results do not depend on it."""
    data: Data
    dimensions: dict[str, DimensionSpec]
    tables: list[TableSpec] | None = Field(None, min_length=1)
    variables: dict[str, VariableSpec] = {}
    equations: list[EquationSpec] = []
    rules: list[RuleName] = Field([], min_length=1)
    protection: ProtectionLevels = ProtectionLevels()
    derived: list[FigureName] = []
    published: list[PublishedSpec] = []
    between: list[str] = []
    ways: Annotated[dict[str, Protection], WAYS] = {}
    """The ways to protect that are asked for, by the names of their sections."""
    audit: AuditSpec = AuditSpec()
    transmission: TransmissionSpec | None = None
    registered: RegisterSpec | None = Field(None, alias="register")
    """Every class of pydantic has something else that is called register."""
    output: OutputSpec = OutputSpec()
    source: str = Field("", exclude=True)
    """The text of the job file, for the report."""
    in_publication: bool = Field(False, exclude=True)
    """Whether later years of a publication may build on its release; its results then say what the
    release tells of, so that another one of the same does not come beside it."""

    @property
    def lists_empty_cells(self) -> bool:
        """Whether cells into which no record falls are listed: where microdata may hide zeros."""
        if self.data.empty_cells is not None:
            return self.data.empty_cells
        return self.data.kind == "microdata" and self.protection.zeros != "public"

    @property
    def counts_records(self) -> bool:
        """Whether one of its variables counts records."""
        return self.data.kind == "microdata" and any(job.data.value is None for job in self.alone)

    @property
    def group_rules(self) -> list[Rule]:
        """Rules that also apply to sums of suppressed cells; none where variables have others."""
        if any(spec.rules or spec.protection for spec in self.variables.values()):
            return []
        return [rule for rule in self.rules if rule.applies_to_sums]

    @property
    def attackers(self) -> Attackers:
        """Who attacks the releases."""
        groups = self.group_rules if self.audit.groups else []
        return Attackers(self.audit.intruders, groups, self.audit.time_limit)

    @property
    def series(self) -> str:
        """What the register calls the records of the job."""
        return self.registered.series if self.registered else ""

    @property
    def paths(self) -> list[Path]:
        """All files that the job reads."""
        files = [self.data.file] if self.data.file else []
        files += [spec.file for spec in self.variables.values() if spec.file]
        files += [table.file for table in self.every_table if table.file]
        files += [s.hierarchy for s in self.dimensions.values() if isinstance(s.hierarchy, Path)]
        files += [path for way in self.ways.values() for path in way.paths]
        files += [path for each in self.published for path in (each.file, each.problem) if path]
        if self.transmission is not None:
            sent = self.transmission.template, self.transmission.structure
            files += [path for path in sent if path is not None]
        return files

    @property
    def alone(self) -> list[Job]:
        """The job of each variable alone, or this one if it has no variables."""
        return [self.of_variable(name) for name in self.variables] or [self]

    @property
    def every_table(self) -> list[TableSpec]:
        """Linked tables of the job, and those of its variables."""
        own = [table for spec in self.variables.values() for table in spec.tables or []]
        return [*(self.tables or []), *own]

    @property
    def every_rule(self) -> list[Rule]:
        """Rules of the job, and those of its variables."""
        return [*self.rules, *(rule for spec in self.variables.values() for rule in spec.rules)]

    def of_variable(self, name: str) -> Job:
        """Return the job for one variable alone, with what it leaves out taken from this one."""
        spec = self.variables[name]
        given = {key: getattr(spec, key) for key in _OF_DATA if getattr(spec, key) is not None}
        if self.data.kind == "table" and spec.value is None:
            given["value"] = "value" if spec.file else name
        chosen = {key: self.dimensions[key] for key in spec.dimensions} or self.dimensions
        return self.model_copy(
            update={
                "variables": {},
                "equations": [],
                "data": self.data.model_copy(update=given),
                "dimensions": chosen,
                "tables": spec.tables or (None if spec.dimensions else self.tables),
                "rules": spec.rules or self.rules,
                "protection": spec.protection or self.protection,
            }
        )

    def fingerprint(self) -> str:
        """Return a hash of all that the results depend on: job, data, hierarchies, version.

        Raises
        ------
        InputError
            If a file does not exist.
        """
        digest = hashlib.sha256(f"{version('tablecloak')}\0{self.model_dump_json()}".encode())
        for path in map(existing_file, self.paths):
            digest.update(bytes.fromhex(checksum(path)))
        return digest.hexdigest()

    def __getattr__(self, name: str) -> Any:
        """Return the section of a way to protect by its name; None if the job has none."""
        if name in PROTECTIONS:
            return self.ways.get(name)
        raise AttributeError(name)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Show each way to protect as the section that it is."""
        shown = handler(schema)
        told = handler.resolve_ref_schema(shown)
        told["properties"].pop("ways", None)
        told["properties"] |= WAYS.schemas()
        return shown

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, given: Any) -> Any:
        """Gather the sections of ways to protect."""
        if not isinstance(given, Mapping):
            return given
        ways = {name: given[name] for name in PROTECTIONS.names if given.get(name) is not None}
        others = {key: value for key, value in given.items() if key not in PROTECTIONS}
        return {**others, "ways": {**ways, **others.get("ways", {})}}

    @model_validator(mode="after")
    def _some_way(self) -> Job:
        if not self.ways:
            raise ValueError(f"add a section {_headers(PROTECTIONS, 'or')}")
        self._one_of_records()
        if self.output.laid_out.is_wide:
            several = ["variable"] if self.variables else []
            self.output.laid_out.check([*several, *self.dimensions])
        if self.between and not self.published:
            raise ValueError("between joins releases; it needs [[published]]")
        self._require_user("derived", "[[derived]] is for {}")
        self._require_user("published", "[[published]] is for {}")
        self._require_user("transmission", "[transmission] flags hidden cells")
        self._require_user("registered", "[register] keeps what can be protected together")
        if self.registered is not None:
            self._one_release()
        if any(way.needs_rules for way in self.ways.values()) and not self._has_rules:
            raise missing("rules", {})
        if self.data.weight and self.data.holding:
            for rule in self.every_rule:
                refuse_weighted_holdings(rule)
        if self.variables or self.equations:
            self._for_variables()
        for way in self.ways.values():
            way.check(self)
        if self.audit.groups and not self.group_rules:
            raise ValueError(
                f"[audit] groups: needs contributors of each cell and a rule that applies to sums "
                f"of cells: {rules_for_sums()}. Add one under [[rules]], or leave groups out"
            )
        return self

    def _one_release(self) -> None:
        """Refuse what an entry of a register cannot hold."""
        if len(self.ways) > 1:
            raise ValueError(
                "[register] keeps one release of one table; leave out all ways to protect but one"
            )
        earlier = {spec.name or spec.file.stem for spec in self.published}
        if earlier & {getattr(figure, figure.compared_with, "") for figure in self.derived}:
            raise ValueError(
                "[register] keeps one table, and not the releases of [[published]]; leave out "
                "figures that compare with these"
            )

    @property
    def _has_rules(self) -> bool:
        """Whether rules or flags tell which cells are sensitive."""
        of_all = self.variables and all(spec.rules for spec in self.variables.values())
        return bool(self.rules or self.data.flags or of_all)

    def _one_of_records(self) -> None:
        """Refuse a way that changes the records themselves beside others."""
        alone = [way for way in self.ways.values() if way.is_alone]
        if alone and len(self.ways) > 1:
            others = [way for way in self.ways.values() if way is not alone[0]]
            raise ValueError(
                f"leave out {_headers(others, 'and')}, or {_headers(alone[:1], 'or')}: two "
                f"releases of one table together reveal more than each of them"
            )

    def _require_user(self, section: str, why: str) -> None:
        """Refuse a section that none of the ways uses."""
        users = [way for way in PROTECTIONS if section in way.sections]
        if getattr(self, section) and not any(way.name in self.ways for way in users):
            names = " or ".join(way.name for way in users)
            raise ValueError(f"{why.format(names)}; it needs {_headers(users, 'or')}")

    @model_validator(mode="after")
    def _tables_once(self) -> Job:
        ready = self.data.kind == "table"
        _check_files(self.every_table, ready=ready)
        for tables in (self.tables, *(spec.tables for spec in self.variables.values())):
            _refuse_twice(tables or [])
        if ready and any(dimension.levels for dimension in self.dimensions.values()):
            raise ValueError("levels are read from microdata; a ready table has none")
        return self

    @model_validator(mode="before")
    @classmethod
    def _files_of_variables(cls, given: Any) -> Any:
        """Let `[data]` name no file where each variable or each table names one."""
        return _with_own_file(given)

    def _for_variables(self) -> None:
        """Refuse what several variables cannot have, and names that are unknown."""
        if not self.variables:
            raise ValueError("[[equations]] need variables; add [variables.NAME] for each")
        for key, why in _OF_ONE_VARIABLE.items():
            section, _, name = key.partition(".")
            if getattr(getattr(self, section), name, None):
                raise ValueError(f"[{section}] {name}: {why}")
        if self.audit.groups and not self.group_rules:
            raise ValueError("[audit] groups: needs rules that all variables share; leave it out")
        for name, spec in self.variables.items():
            odd = [each for each in spec.dimensions if each not in self.dimensions]
            if odd:
                near = suggestion(odd[0], self.dimensions)
                raise ValueError(f"[variables.{name}]: there is no dimension {odd[0]!r}.{near}")
            if spec.only and (self.data.kind == "table" or self.data.connection is not None):
                raise ValueError(
                    f"[variables.{name}] only: chooses records of a file with microdata; leave "
                    f"it out"
                )
        for equation in (spec.made for spec in self.equations):
            odd = [each for each in equation.variables if each not in self.variables]
            if odd:
                near = suggestion(odd[0], self.variables)
                raise ValueError(
                    f"Equation {equation.label}: there is no [variables.{odd[0]}].{near}"
                )


def _check_files(tables: Iterable[TableSpec], *, ready: bool) -> None:
    """Refuse ready tables without a file, and records with one for each table.

    Raises
    ------
    ValueError
        Says what to do.
    """
    lacking = {table.file is None for table in tables}
    if ready and True in lacking:
        raise ValueError(
            "a table that is ready has no [[tables]] but those with a file of their own; leave "
            "them out, or give each its file"
        )
    if not ready and False in lacking:
        raise ValueError("[[tables]] of records have no file of their own; leave it out")


def _refuse_twice(tables: Iterable[TableSpec]) -> None:
    """Refuse a table that is named twice, in any order of its dimensions.

    Raises
    ------
    ValueError
        Names the table.
    """
    named = set()
    for table in tables:
        key = frozenset(table.dimensions), table.file, frozenset(table.columns.items())
        if key in named:
            raise ValueError(
                f"[[tables]] names the table over {', '.join(table.dimensions)} twice; leave one "
                f"out"
            )
        named.add(key)


def _with_own_file(given: Any) -> Any:
    """Return a job as it was typed; ``[data]`` gets the first file of variables or tables.

    It then needs none of its own: each variable, or each ready table, names one.
    """
    if not isinstance(given, dict):
        return given
    variables, tables, data = (given.get(name) for name in ("variables", "tables", "data"))
    specs = list(variables.values()) if isinstance(variables, dict) else []
    files = [_own_file(spec) for spec in specs if isinstance(spec, dict)]
    if not specs and isinstance(tables, list):
        files = [spec["file"] for spec in tables if isinstance(spec, dict) and "file" in spec]
    has_source = not isinstance(data, dict) or bool({"file", "connection"} & set(data))
    if has_source or not isinstance(data, dict) or not files or None in files:
        return given
    return given | {"data": data | {"file": files[0]}}


def _own_file(spec: dict[str, Any]) -> Any:
    """Return the file of a variable, or that of its first table."""
    tables = spec.get("tables")
    first = tables[0] if isinstance(tables, list) and tables else None
    return spec.get("file") or (first.get("file") if isinstance(first, dict) else None)


def _headers(ways: Iterable[Protection | type[Protection]], last: str) -> str:
    """Return the headers of the sections of ways to protect, with a word before the last."""
    *first, final = [f"[{way.name}]" for way in ways]
    return f"{', '.join(first)} {last} {final}" if first else final


_OF_DATA = ("value", "file", "only", "frequency", "largest", "unit", "decimals", "tolerance")
"""Keys of a variable that replace those of ``[data]``."""

_OF_ONE_VARIABLE = {
    "data.value": "each of [variables] gives its own value; leave it out",
}
"""Keys that a job with several variables cannot have, and why."""
