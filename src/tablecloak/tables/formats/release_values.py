"""What formats of releases share: hidden cells, codes, and the combinations of these.

Suppressed cells have no value. Their flags say that they are confidential, not whether they are
sensitive themselves or protect others: that alone would help an intruder.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from tablecloak.errors import InputError

MOST_SQUARES = 20_000_000
"""Combinations of codes up to which JSON-stat and PX, which list all of them, are written: 200 MB
of JSON. docs/decisions, "Combinations of codes"."""


def hidden_cells(released: pd.DataFrame) -> pd.Series:
    """Which cells of a release are confidential: primary and secondary alike."""
    if "status" in released:
        return released["status"].eq("suppressed")
    return pd.Series(False, index=released.index)


def codes_of(released: pd.DataFrame, measure: str) -> dict[str, list[str]]:
    """Return the codes of each dimension in the order in which they occur.

    Raises
    ------
    InputError
        If there are too many combinations of them.
    """
    codes = {
        str(name): list(dict.fromkeys(map(str, released[name])))
        for name in released.columns
        if name not in (measure, "status")
    }
    squares = 1
    for known in codes.values():
        squares *= len(known)
    if squares > MOST_SQUARES:
        raise InputError(
            f"JSON-stat and PX list every combination of codes, here {squares:,}. Write CSV, "
            f"Parquet or SDMX-CSV instead."
        )
    return codes


def places_of(released: pd.DataFrame, codes: Mapping[str, list[str]]) -> list[int]:
    """Number of each cell among all combinations of codes, the last dimension fastest."""
    place = pd.Series(0, index=released.index)
    for name, known in codes.items():
        number = {code: at for at, code in enumerate(known)}
        place = place * len(known) + released[name].astype(str).map(number)
    return [int(at) for at in place]


def as_written(value: object) -> float | int:
    """Return a number as it is written: without a decimal point where it is whole."""
    number = float(value)  # type: ignore[arg-type]
    return int(number) if number == int(number) and abs(number) < 2**53 else number
