"""Records as an Ibis table with columns of our own, whatever they come from, and their checks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.data_file import ReadingError
from tablecloak.errors import InputError, listed, suggestion
from tablecloak.extras import required
from tablecloak.storage import existing_file
from tablecloak.tables.contributions import HOLDINGS, IN_NO_HOLDING
from tablecloak.tables.formats import FilePath, RecordFormat, column_names, format_of, read_columns
from tablecloak.tables.formats.csv_file import odd_entries
from tablecloak.tables.formats.format import NO_RECORDS, reading
from tablecloak.tables.hierarchy import Dimension, Hierarchy, as_dimensions
from tablecloak.tables.library_frames import as_arrow
from tablecloak.tables.number_codes import are_whole, as_codes, lost_zeros, warn_of_points
from tablecloak.tables.tabulation.engines import Engine, engine_named
from tablecloak.tables.tabulation.engines.engine import interruption, unreadable
from tablecloak.tables.tabulation.exact_sum import EXACT_BITS, MOST_DIGITS, ExactSum

YES = ("yes", "y", "true", "t", "1", "1.0")
"""Entries of a column of waivers that say yes, in small letters; numbers as engines write them."""

NO = ("", "no", "n", "false", "f", "0", "0.0")
"""Entries of a column of waivers that say no; an empty one does."""


@dataclass(frozen=True)
class ColumnRoles:
    """Columns of the data, by their parts; None where there is none."""

    value: str | None
    contributor: str | None
    holding: str | None
    weight: str | None
    shadow: str | None
    request: str | None
    record_key: str | None = None
    has_whole_keys: bool = False
    waiver: str | None = None
    waiver_p: str | None = None

    @property
    def has_waivers(self) -> bool:
        """Whether contributors can waive protection."""
        return bool(self.waiver or self.waiver_p)

    def names(self) -> dict[str, str]:
        """Return the columns that name contributors and holdings, by their parts."""
        given = {"contributor": self.contributor, "holding": self.holding}
        return {role: column for role, column in given.items() if column}

    def columns(self) -> list[str]:
        """Return the columns that are given."""
        return [column for column in self.__dict__.values() if isinstance(column, str)]


@dataclass(frozen=True)
class Overview:
    """One look at all records: how many there are, and how their numbers add up exactly.

    Parameters
    ----------
    count : int
    sums : mapping of str to ExactSum
        Of "shadow", "value" (weighted), "total" (the weighted shadow), "weight", and "once" (what
        contributors themselves add, without those that a weight above 1 stands for).
    negative : bool
        Whether a contribution is negative.
    is_weighted : bool
    """

    count: int
    sums: Mapping[str, ExactSum]
    negative: bool
    is_weighted: bool


@dataclass(frozen=True)
class CheckedRecords:
    """Records of which each entry is in order.

    Parameters
    ----------
    table : ibis.Table
        One row for each record: d0.. with the positions of its codes among the leaves of the
        hierarchies, value, shadow, weight, ...
    overview : Overview
    hierarchies : dict of str to Hierarchy
        Of each dimension.
    cached : callable
        Computes a table in the engine, and keeps it there until the records are closed.
    """

    table: Any
    overview: Overview
    hierarchies: dict[str, Hierarchy]
    cached: Callable[[Any], Any]

    @property
    def axes(self) -> list[str]:
        """The columns of codes."""
        return [f"d{axis}" for axis in range(len(self.hierarchies))]

    @property
    def sizes(self) -> list[int]:
        """Number of leaves of each hierarchy."""
        return [len(tree.leaves) for tree in self.hierarchies.values()]

    def positions(self, leaves: pd.DataFrame) -> Integers:
        """Return the positions of leaves in an answer that is grouped by the columns of codes."""
        return np.column_stack([leaves[axis].to_numpy(np.int64) for axis in self.axes])


@contextmanager
def checked_records(
    data: Any, dimensions: Mapping[str, Dimension], roles: ColumnRoles, engine: str
) -> Iterator[CheckedRecords]:
    """Open and check records, and speak for the engine while it aggregates them.

    Parameters
    ----------
    data, dimensions, engine
        See `tabulate`.
    roles : ColumnRoles

    Raises
    ------
    InputError
        If the data cannot be read; names row, column and code of the first wrong entry.
    """
    required("ibis", "Tables from records")
    with lines_named(data), engine_errors(data), ExitStack() as opened:
        source, is_quick = open_source(data, dimensions, roles, engine)
        if isinstance(data, str | os.PathLike):
            opened.callback(engine_named(engine).close, source)

        def cached(table: Any) -> Any:
            kept = table.cache()
            opened.callback(kept.release)
            return kept

        # Numbers of rows are needed where each record is a contributor, and else for errors only.
        # Text, and what somebody else computes, is read once, so that they are given once; DuckDB
        # numbers what it reads itself in the order in which it lies there.
        records, numbered = _select_records(source, dimensions, roles)
        if not is_quick:
            records = cached(records)
        records, numbered = (_completed(table, roles) for table in (records, numbered))
        hierarchies, codes = _resolved(records, dimensions)
        overview = _check_records(records, numbered, roles, hierarchies, codes)
        yield CheckedRecords(_with_positions(records, hierarchies), overview, hierarchies, cached)


LIBRARIES = ("duckdb", "_duckdb", "ibis", "pyarrow", "pyspark", "py4j", "psycopg", "sqlglot")
"""Libraries that engines are made of: the packages in which their errors are defined."""


@contextmanager
def engine_errors(data: Any) -> Iterator[None]:
    """Turn errors of an engine while it works into ones of ours that hold nothing of a record.

    Engines look at the first records only when they open a file; what comes later is found when
    it is read.

    Raises
    ------
    InputError
        Names line and column where the engine does.
    """
    try:
        yield
    except Exception as error:
        if interrupted := interruption(error):
            raise interrupted from None
        if type(error).__module__.partition(".")[0] not in LIBRARIES:
            raise
        source = data if isinstance(data, str | os.PathLike) else "The data"
        raise unreadable(source, error) from None


FILE = "file"
"""Attribute of a frame whose index numbers the rows of a file, of which it holds some."""


@contextmanager
def lines_named(data: Any) -> Iterator[None]:
    """Let errors of rows name the file that the data are, or come from, and the line in it.

    Raises
    ------
    InputError
    """
    try:
        yield
    except InputError as error:
        is_part = isinstance(data, pd.DataFrame) and FILE in data.attrs
        if error.row is None or not (is_part or isinstance(data, str | os.PathLike)):
            raise
        if is_part:
            error.row = int(data.index[error.row])
        raise error.of(data.attrs[FILE] if is_part else data) from None


def labelled_dimensions(
    dimensions: Mapping[str, Any] | Sequence[str], data: Any
) -> dict[str, Dimension]:
    """Return dimensions with the labels of their codes that the file of the data holds, if any."""
    parsed = as_dimensions(dimensions)
    file = data.attrs.get(FILE) if isinstance(data, pd.DataFrame) else data
    if not isinstance(file, str | os.PathLike) or not Path(file).is_file():
        return parsed
    columns = [column for dimension in parsed.values() for column in dimension.columns]
    with reading(Path(file)):
        kind = format_of(file, RecordFormat, otherwise="csv")
        labels = kind.code_labels(Path(file), list(dict.fromkeys(columns)))
    return {
        name: replace(
            dimension,
            labels={c: t for column in dimension.columns for c, t in labels.get(column, {}).items()}
            | dict(dimension.labels),
        )
        for name, dimension in parsed.items()
    }


def open_source(
    data: Any, dimensions: Mapping[str, Dimension], roles: ColumnRoles, engine: str
) -> tuple[Any, bool]:
    """Return a table over the data, of Ibis or pandas, and whether reading it again costs little.

    Raises
    ------
    InputError
        If the data cannot be read, have no record, or lack a column that is needed.
    """
    codes = [column for dimension in dimensions.values() for column in dimension.columns]
    text = [name for name in (roles.contributor, roles.holding, roles.waiver) if name]
    numbers = [name for name in (roles.value, roles.weight, roles.shadow, roles.waiver_p) if name]
    is_file = isinstance(data, str | os.PathLike)
    try:
        table, is_quick = _as_table(data, [*codes, *text], engine_named(engine))
    except InputError:
        if is_file and format_of(data, RecordFormat, otherwise="csv").is_typed:
            # No engine takes a column of a sheet with numbers and text.
            _refuse_odd_entries(data, numbers)
        raise
    alike: dict[str, str] = {}
    for column in [*codes, *roles.columns()]:
        if column not in table.columns:
            to_count = (
                f" To count records, give no `value`; in a publication, say so by `columns = "
                f"{{{column} = ''}}`."
            )
            raise InputError(
                f"The data has no column {column!r}.{suggestion(column, table.columns)}"
                f"{to_count * (column == roles.value)}"
            )
        if alike.setdefault(column.lower(), column) != column:
            raise InputError(
                f"The columns {alike[column.lower()]!r} and {column!r} differ in capitals only, "
                f"which databases do not tell apart. Rename one of them."
            )
    if table.head(1).empty if isinstance(table, pd.DataFrame) else not _has_rows(table):
        # Without a row no column has a type of its own.
        raise InputError(f"{data if is_file else 'The data'}: {NO_RECORDS}")
    if is_file:
        _refuse_odd_entries(data, [name for name in numbers if not _is_numeric(table, name)])
    names = list(roles.names().values())
    read = dict.fromkeys(column for column in (*codes, *names) if column not in numbers)
    return _without_points(table, read), is_quick


def _is_numeric(table: Any, column: str) -> bool:
    if isinstance(table, pd.DataFrame):
        return pd.api.types.is_numeric_dtype(table[column])
    return bool(table[column].type().is_numeric())


_MISTYPED = re.compile(r"[-+]?[\d.,]\S{,15}")


def _refuse_odd_entries(file: FilePath, columns: Sequence[str]) -> None:
    """Refuse a file with few entries that are no numbers in a column of numbers, by the first.

    It is quoted where it may be a number with a slip: other text may name somebody.
    """
    if not columns:
        return
    kind = format_of(file, RecordFormat, otherwise="csv")
    header = column_names(file)
    for column in (name for name in columns if name in header):
        entries = read_columns(file, [column], as_text=True)[column]
        odd = np.flatnonzero(odd_entries(entries, kind.how.decimal))
        if 0 < 2 * len(odd) < entries.notna().sum():
            first, entry = int(odd[0]), str(entries.iloc[odd[0]]).strip()
            shown = repr(entry) if _MISTYPED.fullmatch(entry) else "text"
            raise wrong_entry(first, column, shown, "a number", len(odd)).of(file)


def _has_rows(table: Any) -> bool:
    return bool(len(table.limit(1).to_pandas()))


def _without_points(table: Any, columns: Iterable[str]) -> Any:
    """Return a table whose codes that are whole numbers have no decimal point."""
    for column in columns:
        code = table[column]
        if isinstance(table, pd.DataFrame):
            if are_whole(code):
                table = table.assign(**{column: as_codes(code)})
        elif code.type().is_floating():
            missing = code.isnull() | code.isnan()
            given = table.filter(~missing)[column]
            whole = given.count() > 0, (given == given.floor()).all(), ~given.isinf().any()
            if all(condition.execute() for condition in whole):
                warn_of_points(column)
                table = table.mutate(**{column: missing.ifelse(None, code.cast("int64"))})
    return table


def _as_table(data: Any, text_columns: list[str], engine: Engine) -> tuple[Any, bool]:
    if isinstance(data, str | os.PathLike):
        return engine.open_file(data, text_columns)
    if isinstance(data, pd.DataFrame):
        return (_open_frame(data) if engine.has_ibis else data), True
    table = as_arrow(data)
    if table is not None:
        if not engine.has_ibis:
            return table.to_pandas(), True
        import ibis

        return ibis.memtable(table), True
    return data, False


def _open_frame(frame: pd.DataFrame) -> Any:
    """Open a frame; a column of mixed types is none that a database can read."""
    import ibis
    import pyarrow as pa

    try:
        return ibis.memtable(pa.Table.from_pandas(frame, preserve_index=False))
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise mixed_column(" ".join(map(str, error.args))) from error


def mixed_column(place: str) -> InputError:
    """Return the error for a column with numbers and text."""
    return InputError(
        f"The frame cannot be read: {place}. A column mixes numbers and text; look for entries "
        f"such as '-' or 'x' in it."
    )


def open_database(address: str, table: str) -> Any:
    """Open a table of a database as an Ibis table; it is aggregated where it lies.

    Parameters
    ----------
    address : str
        Such as ``postgresql://user@host/database``; a password belongs into the environment
        (``PGPASSWORD``), not into a file.
    table : str

    Raises
    ------
    InputError
        If it cannot be opened.
    """
    ibis: Any = required("ibis", "Tables of a database")
    scheme = address.partition(":")[0]
    if match := FILE_DATABASE.fullmatch(address):
        existing_file(match[2])  # opening one that is not there would create it
    try:
        return ibis.connect(address).table(table)
    except ImportError as error:
        # Ibis tells of a backend alone; what it lacks is the cause.
        missing = error.name or getattr(error.__cause__, "name", None) or "of their driver"
        raise InputError(
            f"{scheme} databases need the library {missing}, which is not installed. For "
            f'PostgreSQL: pip install "tablecloak[postgres]"; for another database, install '
            f"ibis-framework with its extra."
        ) from error
    except Exception as error:
        # The address may hold a password.
        is_alone = "refused" in str(error).lower() or "could not translate" in str(error).lower()
        what = "no server answers at its address" if is_alone else type(error).__name__
        raise InputError(
            f"Table {table!r} cannot be opened in the database: {what}. Check the connection, the "
            f"name of the table, and that you may read it."
        ) from error


FILE_DATABASE = re.compile(r"(duckdb|sqlite):(?://)?(?!:memory:)([^?]+)(.*)")
"""Addresses of databases that are files: the scheme, the path, and options."""


def database_below(address: str, folder: Path) -> str:
    """Return the address of a database; the path of one that is a file is taken from a folder."""
    match = FILE_DATABASE.fullmatch(address)
    if match is None:
        return address
    return f"{match[1]}://{folder.absolute() / match[2]}{match[3]}"


def _resolved(
    records: Any, dimensions: Mapping[str, Dimension]
) -> tuple[dict[str, Hierarchy], dict[str, list[str]]]:
    """Return the hierarchies, and the codes that occur."""
    hierarchies, codes = {}, {}
    for axis, (name, dimension) in enumerate(dimensions.items()):
        columns = code_columns(axis, dimension)
        present = records.select(*columns.values()).distinct().to_pandas()
        present = present.set_axis(list(columns), axis=1)
        hierarchies[name] = resolved(present, dimension)
        codes[name] = present[dimension.column].dropna().tolist()
    return hierarchies, codes


def resolved(present: pd.DataFrame, dimension: Dimension) -> Hierarchy:
    """Return the hierarchy of a dimension from the codes that occur; blank ones are missing.

    Raises
    ------
    InputError
        If two codes differ in blanks only.
    """
    present = present.dropna()
    bare = present.apply(lambda column: column.str.strip())
    for column in present:
        spelt = dict[str, str]()
        for code in sorted(present[column].unique()):
            if (other := spelt.setdefault(code.strip(), code)) != code and other.strip():
                raise InputError(
                    f"The codes {code!r} and {other!r} of column {column!r} differ in blanks only, "
                    f"but would be two cells. {_strip(str(column))}"
                )
    return dimension.resolve(present[(bare != "").all(axis=1)])


def refuse_padded(column: str, names: int, bare: int) -> None:
    """Refuse contributors or holdings of which fewer are left without the blanks around them.

    Raises
    ------
    InputError
        Says how to take the blanks away.
    """
    if bare < names:
        raise InputError(
            f"Column {column!r} has entries that differ in blanks only, {names - bare:,} more than "
            f"without them: one respondent would count as several. {_strip(column)}"
        )


def _strip(column: str) -> str:
    return (
        f"Take the blanks away where the data are made; in pandas frame[{column!r}] = "
        f"frame[{column!r}].str.strip()."
    )


def code_columns(axis: int, dimension: Dimension) -> dict[str, str]:
    """Our names of the columns of a dimension, by theirs; that of the records' codes is d0, ..."""
    levels = [column for column in dimension.columns if column != dimension.column]
    return {column: f"level{axis}_{i}" for i, column in enumerate(levels)} | {
        dimension.column: f"d{axis}"
    }


def _with_positions(records: Any, hierarchies: Mapping[str, Hierarchy]) -> Any:
    """Put positions of leaves in the place of codes: engines group by numbers in less time."""
    for axis, tree in enumerate(hierarchies.values()):
        number = np.arange(
            len(tree.leaves), dtype=np.int16 if len(tree.leaves) < 2**15 else np.int32
        )
        codes = table_of({f"d{axis}": list(tree.leaves), "position": number})
        records = records.join(codes, f"d{axis}").drop(f"d{axis}")
        records = records.rename({f"d{axis}": "position"})
    return records


def table_of(columns: Mapping[str, Any]) -> Any:
    """Return arrays as a small table that any engine takes up."""
    import ibis
    import pyarrow as pa

    return ibis.memtable(pa.table(dict(columns)))


def _select_records(
    source: Any, dimensions: Mapping[str, Dimension], roles: ColumnRoles
) -> tuple[Any, Any]:
    """Select what is needed, under names of our own: d0.., value, shadow, weight, ...

    Returns the records, and the same with row numbers, to be executed for errors only.
    """
    import ibis

    given = _given_columns(source, dimensions, roles)
    numbered = source.select(row=ibis.row_number(), **given)
    return source.select(**given) if roles.contributor else numbered, numbered


def _completed(table: Any, roles: ColumnRoles) -> Any:
    """Add columns that follow from others, or are the same everywhere."""
    columns = {
        role: _number(1) for role in ("value", "shadow", "weight") if not getattr(roles, role)
    }
    if roles.shadow and roles.shadow == roles.value:
        columns["shadow"] = table.value
    if roles.has_waivers:
        columns |= _waiver_marks(table, roles)
    return table.mutate(**columns)


def _given_columns(
    source: Any, dimensions: Mapping[str, Dimension], roles: ColumnRoles
) -> dict[str, Any]:
    """Columns of our own that are computed from those of the data."""
    import ibis

    given: dict[str, Any] = {
        ours: source[theirs].cast("string")
        for axis, dimension in enumerate(dimensions.values())
        for theirs, ours in code_columns(axis, dimension).items()
    }
    for role in ("value", "shadow", "weight"):
        column = getattr(roles, role)
        if column and not (role == "shadow" and column == roles.value):
            given[role] = _as_float(source, column)
    if roles.contributor:
        given["contributor"] = source[roles.contributor].cast("string")
    if roles.holding:
        who = given.get("contributor", ibis.row_number().cast("string"))
        name = source[roles.holding].cast("string").fill_null("")
        given["holding"] = ibis.ifelse(name.strip() == "", who + IN_NO_HOLDING, name)
    if roles.request:
        given["request"] = _as_float(source, roles.request).fill_null(0.0)
    if roles.waiver:
        text = source[roles.waiver].cast("string").fill_null("")
        given["waiver"] = text.strip().lower()
    if roles.waiver_p:
        given["waiver_p"] = _as_float(source, roles.waiver_p)
    if roles.record_key:
        given["record_key"] = _as_float(source, roles.record_key)
    return given


def _waiver_marks(table: Any, roles: ColumnRoles) -> dict[str, Any]:
    """Return what each record needs: 1 if the margin of the rule, and the margin that it named."""
    import ibis

    none, one = _number(0), _number(1)
    waives, own = ibis.literal(False), none
    if roles.waiver:
        waives = table.waiver.isin(YES)
    if roles.waiver_p:
        # A margin of its own holds also where a record is marked as waived.
        given = ~(table.waiver_p.isnull() | table.waiver_p.isnan()).fill_null(True)
        waives, own = waives | given, ibis.ifelse(given, table.waiver_p, none)
    return {"unwaived": ibis.ifelse(waives, none, one), "own_p": own}


def _number(number: float) -> Any:
    """Return a number as a double: Spark reads 1.0 as a decimal of two digits."""
    import ibis

    return ibis.literal(str(number)).cast("float64")


def no_numbers(column: str, kind: Any, row: int | None = None) -> InputError:
    """Return the error for a column of another type, of which a row may be named."""
    return ReadingError(
        f"{'Column' if row is None else 'column'} {column!r} must hold numbers, but its type is "
        f"{kind}. Look for text such as '-' or 'x' in it.",
        "If the file has decimal commas, say decimal = ',', in Python tc.DataFile(path, "
        "decimal=',').",
        row=row,
        decimal=",",
    )


def _as_float(source: Any, column: str) -> Any:
    if not source[column].type().is_numeric():
        raise no_numbers(column, source[column].type())
    return source[column].cast("float64")


def wrong_entries(
    records: Any,
    roles: ColumnRoles,
    is_missing: Callable[[Any], Any],
    is_infinite: Callable[[Any], Any],
    is_blank: Callable[[Any], Any],
) -> dict[str, tuple[Any, str]]:
    """For each role which records are wrong, and what they must be; of Ibis or pandas."""
    conditions = {}
    for role in ("value", "shadow", "weight"):
        if getattr(roles, role) and not (role == "shadow" and roles.shadow == roles.value):
            column = records[role]
            bad = is_missing(column) | is_infinite(column)
            bad = (bad | (column <= 0)) if role == "weight" else bad
            conditions[role] = bad, "a finite number" + " above 0" * (role == "weight")
    if roles.contributor:
        conditions["contributor"] = is_blank(records.contributor), "an identifier"
    if roles.record_key:
        conditions["record_key"] = _bad_key(records.record_key, roles.has_whole_keys, is_missing)
    if roles.request:
        conditions["request"] = ~records.request.isin([0, 1, 2]), "0, 1 or 2"
    if roles.waiver:
        wanted = "yes or no (also true or false, 1 or 0; empty means no)"
        conditions["waiver"] = ~records.waiver.isin([*YES, *NO]), wanted
    if roles.waiver_p:
        wanted = "a percentage from 0 to 100, or empty where there is no partial waiver"
        outside = (records.waiver_p < 0) | (records.waiver_p > 100)
        conditions["waiver_p"] = outside & ~is_missing(records.waiver_p), wanted
    return conditions


def _bad(records: Any, roles: ColumnRoles) -> dict[str, tuple[Any, str]]:
    missing, infinite = lambda c: c.isnull() | c.isnan(), lambda c: c.isinf()
    # To strip each entry takes four times the seconds of a look at its ends, as is done for others.
    return wrong_entries(records, roles, missing, infinite, lambda c: c.isnull() | (c == ""))


def _is_blank(text: Any) -> Any:
    return text.isnull() | (text.strip() == "")


def _bad_key(key: Any, is_whole: bool, is_missing: Callable[[Any], Any]) -> tuple[Any, str]:
    bad = is_missing(key) | (key < 0)
    if is_whole:
        return bad | (key != key.round()), "a whole number of 0 or more"
    return bad | (key >= 1), "a record key of 0 or more and below 1"


def _check_records(
    records: Any,
    numbered: Any,
    roles: ColumnRoles,
    hierarchies: Mapping[str, Hierarchy],
    codes: Mapping[str, Any],
) -> Overview:
    """Check all records in one pass; only an error is looked up.

    Raises
    ------
    InputError
        Names row, column and code of the first wrong entry.
    """
    bad = _bad(records, roles)
    terms = terms_of(records, roles)
    counts = {f"bad_{role}": condition.sum() for role, (condition, _) in bad.items()}
    missing = {f"no_d{axis}": records[f"d{axis}"].isnull().sum() for axis in range(len(codes))}
    sizes = {f"largest_{name}": term.abs().max() for name, term in terms.items()}
    negative = (records.shadow < 0).sum()
    columns = {"count": records.count(), "negative": negative, **counts, **missing}
    for role in roles.names():
        name = records[role]
        columns[f"padded_{role}"] = (name.startswith(" ") | name.endswith(" ")).sum()
    counted = records.agg(**columns, **sizes).to_pandas().iloc[0]
    count = int(counted["count"])
    for role in bad:
        if counted[f"bad_{role}"]:
            condition, expected = _bad(numbered, roles)[role]
            _reject(numbered, condition, role, getattr(roles, role), expected)
    for role, column in roles.names().items():
        if counted[f"padded_{role}"]:
            name = records[role]
            if records.filter(_is_blank(name)).count().to_pandas():
                _reject(numbered, _is_blank(numbered[role]), role, column, "an identifier")
            distinct = records.agg(names=name.nunique(), bare=name.strip().nunique()).to_pandas()
            refuse_padded(column, *map(int, distinct.iloc[0]))
    for axis, (name, tree) in enumerate(hierarchies.items()):
        unknown, lacking = set(codes[name]) - set(tree.leaves), int(counted[f"no_d{axis}"])
        if unknown or lacking:
            column = numbered[f"d{axis}"]
            if blank := {code for code in unknown if not code.strip()}:
                unknown -= blank
                lacking = int(numbered.filter(_is_blank(column)).count().to_pandas())
            where = column == min(unknown) if unknown else _is_blank(column)
            row = numbered.filter(where).order_by("row").limit(1).to_pandas()["row"].iloc[0]
            raise wrong_code(row, name, tree, unknown, lacking, count)
    largest = {name: float(counted[f"largest_{name}"]) for name in terms}
    digits = {name: _most_digits_of(term, largest[name]) for name, term in terms.items()}
    long = {
        f"long_{name}": (~ExactSum.are_short(term, count, largest[name])).sum()
        for name, term in terms.items()
    }
    most = records.agg(**digits, **long).to_pandas().iloc[0]
    looks = {name: (largest[name], int(most[name]), not most[f"long_{name}"]) for name in terms}
    return overview_of(count, looks, bool(counted["negative"]), bool(roles.weight))


def overview_of(
    count: int, looks: Mapping[str, tuple[float, int, bool]], negative: bool, is_weighted: bool
) -> Overview:
    """Return the overview for the largest size and the most digits of each of `terms_of`.

    With them, whether all terms are short; see `ExactSum.fitting`.
    """
    sums = {
        name: ExactSum.fitting(count, float(largest), int(digits), is_short=is_short)
        for name, (largest, digits, is_short) in looks.items()
    }
    shared = {"total": "shadow", "once": "shadow", "value": "total"}
    for name, same in shared.items():
        sums.setdefault(name, sums[same])
    sums.setdefault("weight", ExactSum.fitting(count, 1.0, 0))
    return Overview(count, sums, negative, is_weighted)


def terms_of(records: Any, roles: ColumnRoles) -> dict[str, Any]:
    """Return what is added up, of which each is another."""
    terms = {"shadow": records.shadow}
    if roles.weight:
        terms["total"] = records.shadow * records.weight
        terms["once"] = records.shadow * records.weight.clip(upper=1.0)
        terms["weight"] = records.weight
    if roles.shadow != roles.value:
        terms["value"] = records.value * records.weight
    return terms


def _most_digits_of(terms: Any, largest: float) -> Any:
    """Return the most digits after the point of any term; one more than looked for if more.

    A double is taken for the decimal number of these digits that it is nearest to. Digits of which
    the largest term has too many for a whole number are not looked for: see `ExactSum.fitting`.

    Parameters
    ----------
    terms : ibis.Column of float
    largest : float
        By absolute value.
    """
    import ibis

    def has(digits: int) -> Any:
        return (terms * 10.0**digits + 0.5).floor().cast("float64") / 10.0**digits == terms

    exact = [digits for digits in range(MOST_DIGITS + 1) if largest * 10.0**digits < 2**EXACT_BITS]
    if not exact:
        return ibis.literal(MOST_DIGITS + 1)
    return ibis.cases(*((has(digits), digits) for digits in exact), else_=MOST_DIGITS + 1).max()


def _reject(records: Any, bad: Any, role: str, column: str | None, expected: str) -> None:
    wrong = records.filter(bad)
    first, number = wrong.order_by("row").limit(1).to_pandas(), int(wrong.count().to_pandas())
    raise wrong_entry(first["row"].iloc[0], column, first[role].iloc[0], expected, number)


def wrong_entry(row: int, column: str | None, entry: Any, expected: str, number: int) -> InputError:
    """Return the error for entries of records, of which the first is named; rows count from 0."""
    shown = "missing" if pd.isna(entry) or not str(entry).strip() else f"{entry}"
    which = "Correct the record or leave it out."
    if number > 1:
        which = f"{number:,} records have this fault: correct them, or leave them out."
    return InputError(
        f"column {column!r} is {shown}, but must be {expected}. {which}", row=int(row)
    )


def wrong_code(
    row: int, name: str, tree: Hierarchy, unknown: set[str], lacking: int, count: int
) -> InputError:
    """Return the error for the first unknown code, or else missing ones; rows count from 0.

    Where `lacking` of `count` records have no code, they may be firms that are in no holding.
    """
    row = int(row)
    if not unknown:
        # One code for all firms without a holding would make them one.
        is_holding = HOLDINGS.search(name) or 2 * lacking > count
        cure = "Fill in codes, such as one for unknown."
        if is_holding:
            cure = (
                "If it names holdings, give it as `holding` and not as a dimension: who is in none "
                "then counts alone. If not, fill in the codes."
            )
        return InputError(
            f"the code of dimension {name!r} is missing, as in {lacking:,} "
            f"{'row' if lacking == 1 else 'rows'} in all. {cure}",
            row=row,
        )
    code = min(unknown)
    if code in tree.position:
        return InputError(
            f"code {code!r} of dimension {name!r} has codes below it in the hierarchy. "
            f"Records need a code of the most detailed level, such as {listed(tree.leaves, 3)}.",
            row=row,
        )
    return InputError(
        f"code {code!r} of dimension {name!r} is not in its hierarchy (unknown are "
        f"{listed(sorted(unknown))}). Add the code to the hierarchy or correct the data."
        f"{lost_zeros(name, unknown, tree.codes)}"
        f"{' It has blanks around it.' * (code.strip() != code)}",
        row=row,
    )
