"""Columns of a frame of records: checks of their names, values and types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError, require_known

LARGEST = 1e100
"""Largest size of a number in records: sums of squares of larger ones become infinite."""


def some_rows(n_records: int, most: int | None) -> Integers:
    """Return the rows of a file, or if there are more than `most`, so many at random, in order.

    They are the same at each call, so that measures of the same file agree.
    """
    if most is None or n_records <= most:
        return np.arange(n_records)
    return np.sort(np.random.default_rng(0).choice(n_records, most, replace=False))


def columns_of(frame: Any) -> list[str]:
    """Return the names of the columns of a frame of records.

    Raises
    ------
    InputError
        If it is no frame, or a name is no text or occurs twice.
    """
    if not isinstance(frame, pd.DataFrame):
        way = "records.to_pandas()" if hasattr(frame, "to_pandas") else "pandas.DataFrame(records)"
        raise InputError(
            f"Records must be a pandas.DataFrame. Got {type(frame).__name__}; convert it first, as "
            f"with {way}."
        )
    names = list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"Column {name!r} has a name that is no text. Rename the columns first, as with "
                f"frame.columns.astype(str)."
            )
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"Two columns are called {twice!r}. Rename one of them.")
    return names


def require_column(frame: pd.DataFrame, name: str) -> None:
    """Require a column.

    Raises
    ------
    InputError
        If it does not exist; names similar ones.
    """
    known = columns_of(frame)
    require_known(name, known, f"There is no column {name!r}.")


def require_numeric(frame: pd.DataFrame, name: str) -> None:
    """Require a column of numbers, which may have missing values.

    Raises
    ------
    InputError
        If it does not exist, or is not numeric.
    """
    require_column(frame, name)
    if not pd.api.types.is_numeric_dtype(frame[name]):
        raise InputError(
            f"Column {name!r} is not numeric: its type is {frame[name].dtype}. Name a column of "
            "numbers, or convert it first."
        )


def is_number(column: pd.Series) -> bool:
    """Whether a column holds numbers; truth values are categories."""
    kind = column.dtype
    return bool(pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind))


def codes_of_both(
    before: pd.Series, after: pd.Series, *, in_order: bool = False
) -> tuple[Integers, Integers]:
    """Return whole numbers for the values of two columns, -1 for missing ones.

    With `in_order` they rise as the values do, where these have an order.
    """
    if before.dtype != after.dtype:
        before, after = before.astype(object), after.astype(object)
    both = pd.concat([before, after], ignore_index=True)
    try:
        codes = pd.factorize(both, sort=in_order)[0]
    except TypeError:  # Texts and numbers have no common order.
        codes = pd.factorize(both)[0]
    one, other = np.split(codes.astype(np.int64), [len(before)])
    return one, other


def row_label(frame: pd.DataFrame, position: int) -> str:
    """Return the label of a record as text for messages: 20, not np.int64(20)."""
    return repr(frame.index[[position]].tolist()[0])


def names_of(given: Any, parameter: str) -> list[str]:
    """Return a method's list of columns as a list of names.

    Raises
    ------
    InputError
        If it is a single text, is empty, or names a column twice.
    """
    names = [] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if not names or len(set(names)) < len(names):
        raise InputError(
            f"`{parameter}` must be a list of one or more names, none of them twice. Got {given!r}."
        )
    return names


def like(column: pd.Series, values: Floats, *, whole: bool = False) -> pd.Series:
    """Return new values of a column in its type.

    Parameters
    ----------
    column : pandas.Series
    values : numpy.ndarray of float
    whole : bool, default=False
        Whether the values of a column of whole numbers are whole numbers within the range of its
        type. If not, such a column becomes one of floating-point numbers, since rounding could
        restore true values.
    """
    kind: Any = column.dtype
    if not whole and not pd.api.types.is_float_dtype(kind):
        kind = np.dtype(np.float64)
    return pd.Series(values, index=column.index).astype(kind)


def numbers_of(frame: pd.DataFrame, name: str, *, refuse_missing: bool = True) -> Floats:
    """Return a column of numbers.

    Parameters
    ----------
    frame : pandas.DataFrame
    name : str
    refuse_missing : bool, default=True
        Whether missing values are errors. If not, they are NaN.

    Raises
    ------
    InputError
        If it does not exist, is not numeric, or has an infinite value, or a missing one where this
        is refused; names column and row.
    """
    require_numeric(frame, name)
    missing = np.flatnonzero(frame[name].isna())
    if len(missing) and refuse_missing:
        raise InputError(
            f"Column {name!r} has a missing value in row {row_label(frame, missing[0])}. Impute it "
            "or drop the record."
        )
    values: Floats = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    large = np.flatnonzero(np.abs(values) > LARGEST)
    if len(large):
        what = "an infinite value" if np.isinf(values[large[0]]) else f"{values[large[0]]:g}"
        raise InputError(
            f"Column {name!r} has {what} in row {row_label(frame, large[0])}; sizes up to "
            f"{LARGEST:g} are accepted. Correct it or drop the record."
        )
    return values


def taken_from(
    frame: pd.DataFrame, names: Sequence[str], records: Integers, donors: Integers
) -> pd.DataFrame:
    """Return a copy in which some records have the values of others in some columns.

    Parameters
    ----------
    frame : pandas.DataFrame
    names : sequence of str
    records, donors : numpy.ndarray of int, shape (n,)
        Positions; each donor gives the values that it has in `frame`.
    """
    source = np.arange(len(frame))
    source[records] = donors
    changed = frame.copy()
    for name in names:
        # `take` keeps every type: categories, whole numbers beside missing ones, dates.
        changed[name] = pd.Series(frame[name].array.take(source), index=frame.index)
    return changed


def paired_numbers(
    original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str]
) -> tuple[Floats, Floats]:
    """Return some columns of the same records before and after, shape (n_complete, n_columns).

    Records with a missing value in one of the columns, before or after, are left out.

    Raises
    ------
    InputError
        If the numbers of records differ, no record is complete, or a column is constant.
    """
    require_same_records(original, released)
    names = names_of(columns, "columns")
    x, y = (
        np.column_stack([numbers_of(frame, name, refuse_missing=False) for name in names])
        for frame in (original, released)
    )
    complete = ~(np.isnan(x).any(axis=1) | np.isnan(y).any(axis=1))
    if not complete.any():
        raise InputError(
            f"No record has values in all of {names}, before and after. Name fewer columns."
        )
    if not complete.all():
        x, y = x[complete], y[complete]
    constant = [name for name, s in zip(names, np.ptp(x, axis=0), strict=True) if s == 0]
    if constant:
        raise InputError(
            f"Columns {constant} are constant in the original, so that distances cannot be "
            "measured in their standard deviations. Leave them out."
        )
    return x, y


def require_same_records(original: pd.DataFrame, released: pd.DataFrame) -> None:
    """Require as many records after as before, and at least one.

    Raises
    ------
    InputError
        If there are not.
    """
    if len(original) != len(released):
        raise InputError(
            f"The original has {len(original)} records and the release {len(released)}; both must "
            f"have the same records in the same order."
        )
    if not len(original):
        raise InputError("There are no records: original and release are empty. Give some.")
