"""Tables in JSON: one list of values for each column."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.errors import InputError

Value = str | int | float | bool | None

Columns = Annotated[
    dict[str, list[Value] | Value],
    Field(
        description="A table: for each column the list of its values, all of one length; a single "
        "value stands for a list of one."
    ),
]


def frame_of(columns: dict[str, Any], place: str) -> pd.DataFrame:
    """Return the table that columns describe, with each value in the type that was sent.

    Codes such as "01" stay text, and whole numbers stay whole beside missing ones.

    Parameters
    ----------
    columns : dict of str to list
    place : str
        Where they stand in the request, for messages.

    Raises
    ------
    InputError
        If the columns differ in length, or there is none.
    """
    lists = {name: each if isinstance(each, list) else [each] for name, each in columns.items()}
    lengths = {name: len(each) for name, each in lists.items()}
    if not lengths:
        raise InputError(f"{place}: the table has no columns. Send a list of values for each.")
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r} {length}" for name, length in list(lengths.items())[:5])
        raise InputError(
            f"{place}: all columns must have one length. Found {told}. Send a value, or null, for "
            f"each row."
        )
    return pd.DataFrame({name: pd.Series(each, dtype=object) for name, each in lists.items()})


def columns_of(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the columns of a table as lists that JSON can hold; missing values are None."""
    return {str(name): _values(frame[name]) for name in frame.columns}


def _values(column: pd.Series) -> list[Any]:
    known = column.notna().to_numpy()
    plain: list[Any] = column.tolist()
    return [finite(value) if there else None for value, there in zip(plain, known, strict=True)]


def finite(value: Any) -> Any:
    """Return a value in a type of JSON; None for a number that is not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
