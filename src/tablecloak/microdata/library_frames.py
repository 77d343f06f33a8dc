"""Records of pandas, polars or Arrow: methods see pandas, callers get back what they gave."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.errors import InputError
from tablecloak.microdata.columns import columns_of

if TYPE_CHECKING:
    import pyarrow as pa


P = ParamSpec("P")
R = TypeVar("R")


class LibraryFrame:
    """Records as a caller gave them, and the same records for pandas.

    Parameters
    ----------
    records : pandas.DataFrame, polars.DataFrame or pyarrow.Table

    Attributes
    ----------
    is_pandas : bool
        Whether a release of these records needs no change: they are a frame of pandas whose
        labels occur once each.
    pandas : pandas.DataFrame
        The records; a frame of pandas itself, with labels from 0 if some of its labels occur
        twice. Whole numbers stay whole beside missing values, and categories stay categories.

    Raises
    ------
    InputError
        If they are of another kind, or a column's name is no text or occurs twice.
    """

    def __init__(self, records: Any) -> None:
        self._given = records
        self.is_pandas = isinstance(records, pd.DataFrame) and records.index.is_unique
        if isinstance(records, pd.DataFrame):
            columns_of(records)
            # Values are written back by label, which needs labels that occur once.
            self.pandas = records if self.is_pandas else records.reset_index(drop=True)
            return
        if hasattr(records, "collect") and not hasattr(records, "to_arrow"):
            raise InputError(
                "Records are a query that has not run yet. Call its `collect()` first."
            )
        if not hasattr(records, "to_arrow") and not _is_arrow(records):
            raise InputError(
                "Records must be a frame of pandas or polars, or a table of Arrow. Got "
                f"{type(records).__name__}; convert it first, as with pandas.DataFrame(records)."
            )
        arrow = records if _is_arrow(records) else records.to_arrow()
        columns = [_for_pandas(arrow.column(at)) for at in range(arrow.num_columns)]
        names = arrow.schema.names
        columns_of(pd.DataFrame(columns=names))
        self.pandas = pd.DataFrame(dict(zip(names, columns, strict=True)))

    def taken(self, order: Integers) -> Any:
        """Return the records in another order, as what the caller gave."""
        if isinstance(self._given, pd.DataFrame):
            return self._given.iloc[order].reset_index(drop=True)
        return self._given.take(order) if _is_arrow(self._given) else self._given[order]

    def back(self, released: pd.DataFrame, changed: Collection[str]) -> Any:
        """Return a release as what the caller gave; columns that did not change are the caller's.

        Parameters
        ----------
        released : pandas.DataFrame
        changed : collection of str
            Columns that may have changed.
        """
        if isinstance(self._given, pd.DataFrame):
            return released.set_axis(self._given.index)
        import pyarrow as pa

        new = {name: pa.array(released[name], from_pandas=True) for name in changed}
        if _is_arrow(self._given):
            table = self._given
            for name, column in new.items():
                at = table.schema.get_field_index(name)
                kind = _kept_type(table.schema.field(at).type, column.type)
                table = table.set_column(at, pa.field(name, kind), column.cast(kind))
            return table
        import polars as pl

        arrow = self._given.to_arrow()
        columns = []
        for name, column in new.items():
            at = arrow.schema.get_field_index(name)
            kept = _kept_type(arrow.schema.field(at).type, column.type)
            series = pl.Series(name, column)
            columns.append(series if kept is column.type else series.cast(self._given.schema[name]))
        return self._given.with_columns(columns)


def _is_arrow(records: Any) -> bool:
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(records, arrow.Table)


def seen_by_pandas(check: Callable[[Any, Any], float]) -> Callable[[Any, Any], float]:
    """Let a check of a release and its original see frames of pandas, whatever library they are of.

    Parameters
    ----------
    check : callable
        Method of a release, with the original records as its argument.
    """

    @wraps(check)
    def checked(release: Any, original: Any) -> float:
        if isinstance(release.frame, pd.DataFrame):
            return check(release, original)
        seen = replace(release, frame=LibraryFrame(release.frame).pandas)
        return check(seen, LibraryFrame(original).pandas)

    return checked


def of_any_library(measure: Callable[P, R]) -> Callable[P, R]:
    """Let a measure of frames of pandas take frames of polars and tables of Arrow as well."""

    @wraps(measure)
    def measured(*args: P.args, **kwargs: P.kwargs) -> R:
        given: Any = [_seen(one) for one in args]
        named: Any = {name: _seen(one) for name, one in kwargs.items()}
        return measure(*given, **named)

    return measured


def _seen(given: Any) -> Any:
    is_frame = _is_arrow(given) or (hasattr(given, "to_arrow") and hasattr(given, "columns"))
    return LibraryFrame(given).pandas if is_frame else given


def _for_pandas(column: pa.ChunkedArray) -> pd.Series:
    """Return a column of Arrow as one of pandas, in which whole numbers and bools stay so."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = column.type
    if column.null_count and (kinds.is_integer(kind) or kinds.is_boolean(kind)):
        missing = column.is_null().to_numpy()
        if kinds.is_boolean(kind):
            return pd.Series(pd.arrays.BooleanArray(column.fill_null(False).to_numpy(), missing))
        return pd.Series(pd.arrays.IntegerArray(column.fill_null(0).to_numpy(), missing))
    if kinds.is_dictionary(kind) and kinds.is_unsigned_integer(kind.index_type):
        # As polars 1 numbers categories; pandas does so with a sign.
        column = column.cast(pa.dictionary(pa.int64(), kind.value_type, kind.ordered))
    series: pd.Series = column.to_pandas()
    return series


def _kept_type(given: pa.DataType, found: pa.DataType) -> pa.DataType:
    """Return the given type, or the new one where values have become others.

    Whole numbers may have become fractions, and numbers groups with names.
    """
    import pyarrow.types as kinds

    fractions = kinds.is_integer(given) and kinds.is_floating(found)
    return found if fractions or _is_text(given) != _is_text(found) else given


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow.types as kinds

    inner = kind.value_type if kinds.is_dictionary(kind) else kind
    # Older versions of Arrow do not know the last one.
    names = ("is_string", "is_large_string", "is_string_view")
    return any(getattr(kinds, name)(inner) for name in names if hasattr(kinds, name))
