"""Records as an Ibis table with columns of our own, whatever they come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError, suggestion
from tablecloak.tables.dimensions import Dimension
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.tabulation.engines import engine_named
from tablecloak.tables.tabulation.roles import YES, Roles

__all__ = ["open_source", "resolve", "select_records"]


def open_source(
    data: Any, dimensions: Mapping[str, Dimension], roles: Roles, engine: str
) -> tuple[Any, bool]:
    """Return an Ibis table over the data, and whether reading it again costs little.

    Raises
    ------
    InputError
        If the data cannot be read, or a column that is needed is not there.
    """
    codes = [column for dimension in dimensions.values() for column in dimension.columns]
    text = [name for name in (roles.contributor, roles.holding, roles.waiver) if name]
    table, is_quick = _as_ibis(data, [*codes, *text], engine)
    alike: dict[str, str] = {}
    for column in [*codes, *roles.columns()]:
        if column not in table.columns:
            raise InputError(
                f"The data has no column {column!r}.{suggestion(column, table.columns)}"
            )
        if alike.setdefault(column.lower(), column) != column:
            raise InputError(
                f"The columns {alike[column.lower()]!r} and {column!r} differ in capitals only, "
                f"which databases do not tell apart. Rename one of them."
            )
    return table, is_quick


def _as_ibis(data: Any, text_columns: list[str], engine: str) -> tuple[Any, bool]:
    if isinstance(data, str | Path):
        return engine_named(engine).open_file(data, text_columns)
    if isinstance(data, pd.DataFrame):
        return _open_frame(data), True
    if hasattr(data, "to_arrow") and not hasattr(data, "__arrow_c_stream__"):
        data = data.to_arrow()  # frames of polars before release 1.3
    if hasattr(data, "__arrow_c_stream__") and not hasattr(data, "execute"):
        # Frames of polars, tables of Arrow, and others that speak its protocol.
        import ibis
        import pyarrow as pa

        return ibis.memtable(pa.table(data)), True
    return data, False


def _open_frame(frame: pd.DataFrame) -> Any:
    """Open a frame; a column of mixed types is none that a database can read."""
    import ibis
    import pyarrow as pa

    try:
        return ibis.memtable(pa.Table.from_pandas(frame, preserve_index=False))
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise InputError(
            f"The frame cannot be read: {' '.join(map(str, error.args))}. A column mixes numbers "
            f"and text; look for entries such as '-' or 'x' in it."
        ) from error


def resolve(
    source: Any, dimensions: Mapping[str, Dimension]
) -> tuple[dict[str, Hierarchy], dict[str, list[str]]]:
    """Return the hierarchies, and the codes that occur."""
    hierarchies, codes = {}, {}
    for name, dimension in dimensions.items():
        columns = list(dimension.columns)
        distinct = source.select(**{c: source[c].cast("string") for c in columns}).distinct()
        present = distinct.to_pandas()
        hierarchies[name] = dimension.resolve(present.dropna())
        codes[name] = present[dimension.column].dropna().tolist()
    return hierarchies, codes


def select_records(
    source: Any, dimensions: Mapping[str, Dimension], roles: Roles, is_quick: bool
) -> tuple[Any, Any]:
    """Select what is needed, under names of our own: d0.., value, shadow, weight, ...

    Returns the records, cached unless they are quick to read, and the same with row numbers, to be
    executed for errors only.
    """
    given = _given_columns(source, dimensions, roles)
    same = _constant_columns(roles)

    def complete(table: Any) -> Any:
        columns = {
            role: table[column] if isinstance(column, str) else column
            for role, column in same.items()
        }
        if roles.has_waivers:
            columns |= _waiver_marks(table, roles)
        return table.mutate(**columns)

    numbered = _numbered(source, given)
    # Numbers of rows are needed where each record is a contributor, and else for errors only; they
    # are given once. Text, and what somebody else computes, is read once.
    wanted = source.select(**given) if roles.contributor else numbered
    if not (is_quick and roles.contributor):
        wanted = wanted.cache()
    return complete(wanted), complete(numbered)


def _numbered(source: Any, given: dict[str, Any]) -> Any:
    import ibis

    return source.select(row=ibis.row_number(), **given)


def _given_columns(
    source: Any, dimensions: Mapping[str, Dimension], roles: Roles
) -> dict[str, Any]:
    """Columns of our own that are computed from those of the data."""
    given: dict[str, Any] = {
        f"d{axis}": source[dimension.column].cast("string")
        for axis, dimension in enumerate(dimensions.values())
    }
    for role in ("value", "shadow", "weight"):
        column = getattr(roles, role)
        if column and not (role == "shadow" and column == roles.value):
            given[role] = _as_float(source, column)
    for role in ("contributor", "holding"):
        column = getattr(roles, role)
        if column:
            given[role] = source[column].cast("string")
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


def _waiver_marks(table: Any, roles: Roles) -> dict[str, Any]:
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


def _constant_columns(roles: Roles) -> dict[str, Any]:
    """Columns of our own that are the same everywhere, or the same as another column."""
    import ibis

    same: dict[str, Any] = {}
    for role in ("value", "shadow", "weight"):
        column = getattr(roles, role)
        if role == "shadow" and column and column == roles.value:
            same[role] = "value"
        elif not column:
            same[role] = _number(1)
    for role in ("contributor", "holding"):
        if not getattr(roles, role):
            same[role] = ibis.null("string")
    if not roles.request:
        same["request"] = ibis.literal(0)
    return same


def _as_float(source: Any, column: str) -> Any:
    if not source[column].type().is_numeric():
        raise InputError(
            f"Column {column!r} must hold numbers, but its type is {source[column].type()}. Look "
            f"for text such as '-' or 'x' in it, or for a decimal comma."
        )
    return source[column].cast("float64")
