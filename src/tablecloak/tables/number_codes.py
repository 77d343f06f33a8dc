"""Codes that came as numbers: what they were, and what to do where a zero is lost."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

import pandas as pd

from tablecloak.errors import TablecloakWarning

_NUMBER = re.compile(r"\d+(\.\d+)?", re.ASCII)


def as_codes(column: pd.Series, *, quietly: bool = False) -> pd.Series:
    """Return codes as text, of whole numbers without a decimal point; missing ones stay missing.

    pandas reads whole numbers as 1.0, 2.0 where one is missing.

    Parameters
    ----------
    column : pandas.Series
    quietly : bool, default=False
        Whether nothing is said of it, as of files that know no other numbers.
    """
    if not are_whole(column):
        return column.astype(str)
    if not quietly:
        warn_of_points(column.name)
    return column.map(lambda code: str(int(code)), na_action="ignore")


def are_whole(column: pd.Series) -> bool:
    """Whether a column holds numbers with a decimal point, all of them whole."""
    given = column.dropna()
    return pd.api.types.is_float_dtype(column.dtype) and bool(len(given) and (given % 1 == 0).all())


def warn_of_points(name: object) -> None:
    """Say that codes with a decimal point are read without it."""
    warnings.warn(
        f"Column {str(name)!r} holds codes as numbers with a decimal point; 1.0 is read as '1'.",
        TablecloakWarning,
        stacklevel=2,
    )


def lost_zeros(name: str, codes: Iterable[str], wanted: Iterable[str]) -> str:
    """Say which column came as numbers, where a code that is expected differs by zeros alone.

    Parameters
    ----------
    name : str
        Column of the codes.
    codes : iterable of str
        That are not expected.
    wanted : iterable of str
        That are.

    Returns
    -------
    str
        A sentence with a space in front; empty where no zero was lost.

    Examples
    --------
    >>> lost_zeros("region", ["1"], ["01", "02"]).split(":")[0]
    " Column 'region' came as numbers, which lose the zeros of '01'"
    >>> lost_zeros("region", ["3"], ["01", "02"])
    ''
    """
    numbers = {float(code): code for code in map(str, wanted) if _NUMBER.fullmatch(code)}
    for code in sorted(map(str, codes)):
        expected = numbers.get(float(code), code) if _NUMBER.fullmatch(code) else code
        if expected.count("0") > code.removesuffix(".0").count("0"):
            return (
                f" Column {name!r} came as numbers, which lose the zeros of {expected!r}: read it "
                f"as text, in pandas by dtype={{{name!r}: str}}; in Excel store it as text."
            )
    return ""
