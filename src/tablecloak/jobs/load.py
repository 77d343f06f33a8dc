"""From a job file to the problem that it describes, and to what else its data tell."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats
from tablecloak.data_file import DataFile
from tablecloak.errors import (
    InputError,
    TablecloakError,
    TablecloakWarning,
    listed,
    suggestion,
)
from tablecloak.jobs.schema import DimensionSpec, Job, TableSpec
from tablecloak.protection import Material, Records
from tablecloak.publish.besides import besides, refuse_besides
from tablecloak.publish.records import restriction
from tablecloak.publish.register import Register
from tablecloak.publish.released_cells import read_published
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.earlier_releases import EarlierRelease, Published
from tablecloak.tables.code_lists import read_code_list
from tablecloak.tables.equations import Equation
from tablecloak.tables.formats import read_frame, read_problem, record_endings
from tablecloak.tables.hierarchy import Dimension, Hierarchy
from tablecloak.tables.link import join, link
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import in_published_order, published_decimals
from tablecloak.tables.rules.manual import Manual
from tablecloak.tables.rules.rule import protect
from tablecloak.tables.shared_records import RecordSum, leaves_below, with_shared_records
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.contributed import Contributed, contributed
from tablecloak.tables.tabulation.exact_sum import MOST_DIGITS
from tablecloak.tables.tabulation.records import FILE, open_database
from tablecloak.tables.tabulation.tabulate import tabulate
from tablecloak.tables.text_numbers import numbers_of


def load_data(job: Job, engine: str = "duckdb") -> Material:
    """Return what the ways to protect of a job work on; data are read as they are asked for.

    Parameters
    ----------
    job : Job
    engine : str, default="duckdb"
        What reads microdata from a file; see `tablecloak.tabulate`.
    """
    settings = _settings(job)
    parts = cache(partial(_parts, job, engine))
    joined = cache(lambda: _joined(job, parts()))
    return Material(
        tabulated=joined,
        parts=parts,
        earlier=lambda problem: published_beside(job, problem, parts()),
        sums=lambda column: _sums(job, joined(), column),
        records=partial(keyed_records, job, engine),
        contributions=partial(contributed_records, job, engine, needs_contributor=False),
        **settings,
    )


def material_of(job: Job, problem: ProtectionProblem) -> Material:
    """Return the same of a job whose problem has been loaded, without its data."""
    return Material.of(problem, **_settings(job))


def insiders_of(job: Job, problem: ProtectionProblem, *, required: bool = False) -> list[str]:
    """Return the insiders of a job, or those alone against whom its releases must hold."""
    material, ways = material_of(job, problem), job.ways.values()
    names = [name for way in ways for name in way.kept_out(material, job.attackers)]
    if not required:
        names += [name for way in ways for name in way.protects_against(material)]
    return list(dict.fromkeys(names))


def _settings(job: Job) -> dict[str, Any]:
    return {
        "roles": job.data.roles,
        "group_rules": job.group_rules,
        "floor": job.protection.floor,
        "lower_factor": job.protection.lower_factor,
        "file": job.data.file,
        "unit": job.data.unit,
        "seed": job.seed,
        "is_seeded": "seed" in job.model_fields_set,
        "threads": job.threads,
    }


def published_beside(
    job: Job, problem: ProtectionProblem, parts: Sequence[ProtectionProblem] = ()
) -> Published | None:
    """Read the earlier releases of a job: of ``[[published]]``, and of its register.

    Parameters
    ----------
    job : Job
    problem : ProtectionProblem
    parts : sequence of ProtectionProblem, default=()
        The problem of each of several variables.
    """
    found: dict[str, EarlierRelease] = {}
    periods = {spec.name or spec.file.stem: spec.period for spec in job.published if spec.period}
    for spec in job.published:
        name = spec.name or spec.file.stem
        if name in found:
            raise InputError(
                f"[[published]]: there are two releases {name!r}. Give each a `name` of its own."
            )
        truth = None if spec.problem is None else read_problem(spec.problem)
        found[name] = read_published(
            spec.file, truth or problem, revised=truth is None, made=spec.made
        )
    if job.registered is not None:
        register = Register(job.registered.folder)
        further = besides(parts or [problem], job.derived)
        refuse_besides(register, further, job.series, job.registered.receiver)
        found |= register.published(
            problem, job.series, job.registered.receiver, only=restriction(job.data.only)
        )
    return Published(found, tuple(job.between), periods) if found else None


def load_problem(job: Job, engine: str = "duckdb") -> ProtectionProblem:
    """Tabulate or read the data of a job and apply its rules; join its variables, if it has any.

    Parameters
    ----------
    job : Job
    engine : str, default="duckdb"
        What reads microdata from a file; see `tablecloak.tabulate`.
    """
    return _joined(job, _parts(job, engine))


def _parts(job: Job, engine: str) -> tuple[ProtectionProblem, ...]:
    """Return the problem of each variable, or the only one of a job without variables."""
    if not job.variables:
        return (_alone(job, engine),)
    problems = []
    for name in job.variables:
        try:
            problems.append(_alone(job.of_variable(name), engine))
        except TablecloakError as error:
            raise type(error)(f"[variables.{name}]: {error}", cells=error.cells) from None
    return tuple(problems)


def _joined(job: Job, parts: Sequence[ProtectionProblem]) -> ProtectionProblem:
    """Return the problem of all variables with the equations between them, and its figures."""
    problem = parts[0]
    if job.variables:
        counts = [name for name, part in zip(job.variables, parts, strict=True)
                  if part.table.is_count]  # fmt: skip
        for figure in job.derived:
            figure.check_beside(counts)
        problems = dict(zip(job.variables, parts, strict=True))
        equations = [spec.made for spec in job.equations]
        problem = join(problems, equations)
        if job.data.kind == "microdata":
            problem = _with_shared_records(job, problem, problems, equations)
    if not job.derived:
        return problem
    return replace(problem, table=replace(problem.table, figures=tuple(job.derived)))


def _with_shared_records(
    job: Job,
    problem: ProtectionProblem,
    problems: Mapping[str, ProtectionProblem],
    equations: Sequence[Equation],
) -> ProtectionProblem:
    """Return the problem with the relations between variables of the same records."""
    columns = {name: spec.column for name, spec in _dimensions(job).items()}
    coarse = {level: name for name, spec in job.dimensions.items() for level in spec.levels[:-1]}
    sums, files = dict[str, RecordSum](), dict[Path, set[str]]()
    for name, made in problems.items():
        alone = job.of_variable(name)
        trees, only = made.table.hierarchies, dict[str, frozenset[str]]()
        for given, wanted in alone.data.only.items():
            column, chosen = given, {wanted} if isinstance(wanted, str) else set(wanted)
            if given in coarse and coarse[given] in trees:
                tree = trees[coarse[given]]
                column = columns[coarse[given]]
                chosen = {leaf for code in chosen for leaf in leaves_below(tree)[code]}
            only[column] = only.get(column, frozenset(chosen)) & chosen
        tables = alone.tables or [TableSpec(dimensions=list(alone.dimensions))]
        shown = [frozenset(spec.dimensions) for spec in tables]
        file = alone.data.file and alone.data.file.resolve()
        sums[name] = RecordSum((alone.data.value, file), only, trees, shown)
        if only and file is not None:
            files.setdefault(file, set()).update(only)
    codes = dict[str, frozenset[str]]()
    for file, limited in files.items():
        frame = read_frame(job.data.of(file), tuple(limited))
        for column in limited:
            found = frozenset(frame[column].astype(str))
            codes[column] = codes.get(column, frozenset()) | found
    return with_shared_records(problem, sums, columns, codes, equations)


def _alone(job: Job, engine: str) -> ProtectionProblem:
    """Tabulate or read the data of a job without variables and apply its rules."""
    dimensions = _dimensions(job)
    table = _table(job, dimensions, job.data.value, engine)
    bounds = None
    if job.protection.lower_bound is not None and job.protection.upper_bound is not None:
        bounds = (job.protection.lower_bound, job.protection.upper_bound)
    protected = partial(
        protect,
        table,
        floor=job.protection.floor,
        lower_factor=job.protection.lower_factor,
        external_bounds=bounds,
        zeros=job.protection.zeros,
        zeros_published=job.protection.zeros_published,
    )
    if job.data.flags is None:
        # Some ways to protect find the cells that they protect themselves.
        problem = protected(*(job.rules or [Manual([])]))
    else:
        flagged = _flagged_cells(table, _sources(job, dimensions), job.data.flags)
        if job.rules:
            # A rule says more of a cell than a flag: how far it must be protected.
            flagged &= ~protected(*job.rules).sensitive
        cells = np.flatnonzero(flagged).tolist()
        problem = protected(*job.rules, Manual(cells, range=job.data.flags_range))
    if job.data.unreliable is None:
        return problem
    sources, limit = _sources(job, dimensions), job.data.unreliable_above
    hidden = _flagged_cells(table, sources, job.data.unreliable, limit)
    hidden &= ~problem.sensitive
    return problem.with_changes(status=np.where(hidden, CellStatus.FORCED.value, problem.status))


def _sources(
    job: Job, dimensions: dict[str, Dimension]
) -> list[tuple[DataFile, dict[str, Dimension]]]:
    """Return each file of a ready table with its dimensions, by the columns of that file."""
    if not job.tables:
        assert job.data.file is not None
        return [(job.data.of(job.data.file), dimensions)]
    return [
        (job.data.of(spec.file), _dimensions_of(spec, dimensions))
        for spec in job.tables
        if spec.file
    ]


def _dimensions_of(spec: TableSpec, dimensions: dict[str, Dimension]) -> dict[str, Dimension]:
    """Return the dimensions of one of several tables, with the columns of its own file."""
    for name in (name for name in spec.dimensions if name not in dimensions):
        raise InputError(f"A table names {name!r}.{suggestion(name, dimensions)}")
    return {
        name: replace(dimensions[name], column=spec.columns.get(name, dimensions[name].column))
        for name in spec.dimensions
    }


WORDS = {"true": True, "1": True, "1.0": True, "yes": True, "u": True,
         "false": False, "0": False, "0.0": False, "no": False, "s": False}  # fmt: skip
"""What a flag may be, in small letters: also the statuses unsafe and safe of tau-ARGUS."""


def _flagged_cells(
    table: Table,
    files: Sequence[tuple[DataFile, Mapping[str, Dimension]]],
    column: str,
    limit: float | None = None,
) -> Flags:
    """Return which cells of a table are flagged in the files that it was read from.

    Parameters
    ----------
    table : Table
    files : sequence of (DataFile, mapping of str to Dimension)
        Each file with its dimensions; the others stand at their total there.
    column : str
        Column with the flags, or with numbers.
    limit : float, optional
        Of these numbers: cells above it are flagged.

    Raises
    ------
    InputError
        If a file has no such column, or an entry is no flag or no number; names the row.
    """
    names = list(table.keys.columns)
    flagged: set[tuple[str, ...]] = set()
    for path, dimensions in files:
        frame = read_frame(path, tuple(each.column for each in dimensions.values()))
        if column not in frame.columns:
            near = suggestion(column, map(str, frame.columns))
            raise InputError(f"{path}: there is no column {column!r}.{near}")
        rows = frame[_flags_of(path, frame[column], limit)]
        codes = [
            rows[dimensions[name].column].astype(str)
            if name in dimensions
            else [table.hierarchies[name].total] * len(rows)
            for name in names
        ]
        flagged.update(zip(*codes, strict=True))
    return np.array([key in flagged for key in table.keys.itertuples(index=False, name=None)])


def _flags_of(path: DataFile, given: pd.Series, limit: float | None) -> Flags:
    filled = given.astype(object).where(given.notna(), "")
    if limit is None:
        words = filled.map(lambda entry: str(entry).strip().lower())
        flags, what = words.map(WORDS), "true or false"
    else:
        numbers = numbers_of(given)
        flags, what = (numbers > limit).where(numbers.notna()), "a number"
    odd = np.flatnonzero(flags.isna())
    if len(odd):
        entry = filled.iloc[odd[0]]
        fault = f"must be {what}, but is {entry!r}"
        if limit is None and not str(entry).strip():
            fault = "is empty: the cell might be sensitive. Write true or false"
        raise InputError(
            f"column {given.name!r} {fault}.",
            row=int(odd[0]),
            source=path,
        )
    return flags.to_numpy(dtype=bool)


def keyed_records(job: Job, engine: str = "duckdb") -> Records:
    """Return the records and the tables of a job that perturbs them by cell keys."""
    dimensions = _dimensions(job)
    return Records(
        data=_source(job),
        tables=[_dimensions_of(spec, dimensions) for spec in job.tables or []] or [dimensions],
        value=job.data.value,
        weight=job.data.weight,
        rules=job.rules,
        decimals=job.data.decimals,
        engine=engine,
    )


def contributed_records(
    job: Job, engine: str = "duckdb", *, needs_contributor: bool = True
) -> Contributed | None:
    """Return what each contributor adds to the table of a job.

    None where noise of records cannot be had: without a column of contributors, for ready tables,
    counts and several variables. Without such a column each record is a contributor if
    `needs_contributor` is False.
    """
    data = job.data
    if data.kind != "microdata" or data.value is None or job.variables:
        return None
    if needs_contributor and data.contributor is None:
        return None
    return contributed(
        _source(job),
        _dimensions(job),
        data.value,
        contributor=data.contributor,
        weight=data.weight,
        engine=engine,
    )


def _source(job: Job) -> Any:
    data = job.data
    if data.only and data.file is not None:
        return _chosen(job, data.of(data.file))
    if data.connection is not None and data.table is not None:
        return open_database(data.connection, data.table)
    return None if data.file is None else data.of(data.file)


def _chosen(job: Job, path: DataFile) -> pd.DataFrame:
    """Return the records that count: those with the codes of ``only``."""
    data = job.data
    codes = [column for d in _dimensions(job).values() for column in (*d.levels, d.column)]
    roles = [name for name in (data.contributor, data.holding, data.waiver) if name is not None]
    frame = read_frame(path, tuple(dict.fromkeys([*codes, *roles, *data.only])))
    for column, wanted in data.only.items():
        if column not in frame.columns:
            raise InputError(
                f"only: there is no column {column!r}.{suggestion(column, map(str, frame.columns))}"
            )
        known = [wanted] if isinstance(wanted, str) else wanted
        found = frame[column].astype(str)
        odd = [code for code in known if code not in set(found)]
        if odd:
            near = suggestion(odd[0], found.unique()[:100])
            raise InputError(f"only: column {column!r} never holds {odd[0]!r}.{near}")
        frame = frame[found.isin(known)]
    frame.attrs[FILE] = str(path)
    return frame


def _dimensions(job: Job) -> dict[str, Dimension]:
    return {
        name: Dimension(spec.column or (spec.levels or [name])[-1], _hierarchy(spec),
                        tuple(spec.levels), spec.total)
        for name, spec in job.dimensions.items()
    }  # fmt: skip


def _hierarchy(spec: DimensionSpec) -> Hierarchy | Path | str | dict[str, Any] | None:
    """Read a table of correspondence, one column for each level; leave other hierarchies."""
    given = spec.hierarchy
    if isinstance(given, Path) and given.suffix == ".xml":
        return read_code_list(given, total=spec.total)
    if not isinstance(given, Path) or not given.name.lower().endswith(record_endings()):
        return given
    if given.suffix == ".txt":
        return given
    names = tuple(map(str, read_frame(given).columns))
    return Hierarchy.from_levels(read_frame(given, names), names, spec.total)


def _table(
    job: Job, dimensions: dict[str, Dimension], value: str | None, engine: str = "duckdb"
) -> Table:
    """Tabulate or read one column of the data; an error names the file."""
    try:
        return _tabulated(job, dimensions, value, engine)
    except InputError as error:
        file = None if job.data.kind == "table" else job.data.file
        if file is None:
            raise
        raise error.of(file) from None


def _tabulated(job: Job, dimensions: dict[str, Dimension], value: str | None, engine: str) -> Table:
    data = job.data
    if data.kind == "table":
        return _ready(job, dimensions, value or "value")
    source = _source(job)
    n_largest = max([3, *(rule.n_largest for rule in job.rules)])
    table = tabulate(
        source,
        dimensions,
        value,
        contributor=data.contributor,
        holding=data.holding,
        weight=data.weight,
        shadow=data.shadow,
        request=data.request,
        waiver=data.waiver,
        waiver_p=data.waiver_p,
        tables=[spec.dimensions for spec in job.tables] if job.tables else None,
        decimals=data.decimals,
        unit=data.unit,
        n_largest=n_largest,
        empty_cells=job.lists_empty_cells,
        engine=engine,
    )
    is_rounded = data.decimals is not None or not data.weight
    if not is_rounded and published_decimals(table.values) > MOST_DIGITS:
        warnings.warn(
            "Weighted sums have many decimals and add up with all of them, but not once they are "
            "rounded, as a reader may do. Give `decimals` in [data], such as 2: sums of the most "
            "detailed cells are then rounded before margins are formed.",
            TablecloakWarning,
            stacklevel=2,
        )
    return table


def _ready(job: Job, dimensions: dict[str, Dimension], value: str) -> Table:
    """Read a table that is tabulated already, or several, each from its own file, and link them."""
    parts = []
    for file, own_dimensions in _sources(job, dimensions):
        try:
            parts.append(_read_ready(job, file, own_dimensions, value))
        except InputError as error:
            raise error.of(file) from None
    if not job.tables:
        return parts[0]
    try:
        return in_published_order(link(*parts))
    except InputError as error:
        names = listed([str(spec.file) for spec in job.tables])
        raise InputError(f"Linking {names}: {error}", cells=error.cells) from None


def _read_ready(job: Job, file: DataFile, dimensions: dict[str, Dimension], value: str) -> Table:
    """Read a table that is tabulated already."""
    data = job.data
    frame = read_frame(file, tuple(d.column for d in dimensions.values()))
    renamed = {dimension.column: name for name, dimension in dimensions.items()}
    numbers = [value, data.frequency or "", *data.largest]
    frame = _without_namesakes(frame, renamed, numbers).rename(columns=renamed)
    table = Table.from_frame(
        frame,
        {name: Dimension(name, d.hierarchy, total=d.total) for name, d in dimensions.items()},
        value,
        frequency=data.frequency,
        largest=data.largest,
        unit=data.unit,
        tolerance=data.tolerance,
        decimals=data.decimals,
        empty_cells=job.lists_empty_cells,
    )
    return in_published_order(table)


def _without_namesakes(
    frame: pd.DataFrame, renamed: dict[str, str], needed: list[str]
) -> pd.DataFrame:
    """Leave out columns with the name of a dimension whose codes come from another column."""
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


def _sums(job: Job, problem: ProtectionProblem, column: str) -> Floats:
    """Return the absolute sum of a column in each cell; 0 for rests of groups, the last cells.

    Of a table that is ready it is what the column says: costs and errors need not add up.
    """
    if job.data.kind == "table":
        alone: dict[str, Any] = {"frequency": None, "largest": [], "tolerance": np.inf}
        job = job.model_copy(update={"data": job.data.model_copy(update=alone)})
    dimensions = _dimensions(job)
    sums = np.abs(_table(job, dimensions, column).values)
    return np.append(sums, np.zeros(problem.table.n_cells - len(sums)))
