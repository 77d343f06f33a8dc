"""Tables that are tabulated already: one row for each cell, totals included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import AnyIntegers, Floats
from tablecloak.errors import InputError, listed, suggestion
from tablecloak.tables.contributions import Contributions, implausible
from tablecloak.tables.hierarchy import Hierarchy, read_dimensions
from tablecloak.tables.keys import check_same_values, label_of, number_rows
from tablecloak.tables.relations import hierarchical_relations, with_empty_rows
from tablecloak.tables.text_numbers import numbers_of


@dataclass(frozen=True, eq=False)
class ReadyCells:
    """The cells of a frame, each once, with the relations that their codes imply.

    Attributes as those of `tablecloak.Table`.
    """

    keys: pd.DataFrame
    values: Floats
    relations: csr_array
    hierarchies: dict[str, Hierarchy]
    contributions: Contributions | None


def read_cells(
    frame: pd.DataFrame,
    dimensions: Mapping[str, Any] | Sequence[str],
    value: str,
    *,
    frequency: str | None,
    largest: Sequence[str],
    tolerance: float,
    empty_cells: bool = False,
) -> ReadyCells:
    """Read cells; arguments as those of `tablecloak.Table.from_frame`."""
    needed = [*dimensions, value, *([frequency] if frequency else []), *largest]
    _check_columns(frame, needed)
    _check_filled(frame, list(dimensions))
    codes = {name: frame[name].astype(str) for name in dimensions}
    hierarchies = read_dimensions(dimensions, codes)
    if empty_cells:
        frame = with_empty_rows(frame.assign(**codes), hierarchies, needed[len(codes) :])
        codes = {name: frame[name] for name in codes}
    keys = pd.DataFrame(codes).reset_index(drop=True)
    values = _numbers(frame, value)
    contributions = None
    if frequency:
        contributions = _contributions(frame, keys, values, [frequency, *largest], tolerance)
    elif largest:
        raise InputError(
            f"Columns {listed(list(largest))} are the largest contributions, but the number of "
            f"contributors is not known. Name its column with `frequency`."
        )
    keep = _distinct_cells(keys, values, contributions)
    keys, values = keys.iloc[keep].reset_index(drop=True), values[keep]
    return ReadyCells(
        keys=keys,
        values=values,
        relations=hierarchical_relations(keys, hierarchies),
        hierarchies=hierarchies,
        contributions=contributions.take(keep) if contributions else None,
    )


def _check_columns(frame: pd.DataFrame, needed: Sequence[str]) -> None:
    for column in needed:
        if column not in frame.columns:
            raise InputError(
                f"The data has no column {column!r}.{suggestion(column, map(str, frame.columns))}"
            )


def _numbers(frame: pd.DataFrame, column: str) -> Floats:
    found = numbers_of(frame[column])
    odd = np.flatnonzero(found.isna() & frame[column].notna())
    if len(odd):
        raise InputError(
            f"Row {odd[0] + 1}: column {column!r} must hold numbers, but is "
            f"{frame[column].iloc[odd[0]]!r}."
        )
    return found.to_numpy(dtype=np.float64)


def _distinct_cells(
    keys: pd.DataFrame, values: Floats, contributions: Contributions | None
) -> AnyIntegers:
    first, number = number_rows(keys)
    check_same_values(keys, values, first, number)
    if contributions:
        for given in (contributions.count[:, None], contributions.largest):
            conflict = np.flatnonzero(np.any(given != given[first][number], axis=1))
            if len(conflict):
                row = int(conflict[0])
                raise InputError(
                    f"Row {row + 1}: cell {label_of(keys, row)} is given twice with different "
                    f"contributors. Remove one of the rows."
                )
    return first


def _contributions(
    frame: pd.DataFrame, keys: pd.DataFrame, values: Floats, columns: list[str], tolerance: float
) -> Contributions:
    """Read the number of contributors and the largest of them; impossible figures are refused."""
    count, *top = (_numbers(frame, column) for column in columns)
    largest = np.column_stack(top) if top else np.zeros((len(values), 0))
    found = implausible(count, values, largest, tolerance)
    if found is not None:
        row, what, rank = found
        column = columns[0] if rank is None else columns[1 + rank]
        raise InputError(
            f"Row {row + 1}, cell {label_of(keys, row)}: column {column!r} is {what} Correct it: "
            f"the rules could find a sensitive cell safe.",
            cells=[row],
        )
    return Contributions.from_largest(count, values, largest, tolerance)


def _check_filled(frame: pd.DataFrame, names: Sequence[str]) -> None:
    for name in names:
        missing = np.flatnonzero(frame[name].isna().to_numpy())
        if len(missing):
            raise InputError(
                f"Row {missing[0] + 1}: the code of dimension {name!r} is missing "
                f"({len(missing)} such rows). Fill it in; a total needs a code too."
            )
