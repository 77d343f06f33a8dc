"""From microdata to cell keys: one aggregation of the records, then a roll-up of the leaves.

A cell key is a sum of record keys modulo a whole number. Fractions are added up as whole numbers
of 15 digits, in two parts, so that the key of a cell is exact and the same through every engine,
for any order of the records, and in every table that the cell belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import AnyIntegers, Floats, Integers
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.tabulation.figures import roll_up
from tablecloak.tables.tabulation.frames import FrameRecords, frame_records
from tablecloak.tables.tabulation.levels import levels_of
from tablecloak.tables.tabulation.records import (
    CheckedRecords,
    ColumnRoles,
    checked_records,
    labelled_dimensions,
)

HIGH = 10**8
"""Units of the first part of a fraction: its first 8 digits, which most record keys have."""

LOW = 10**7
"""Units of the second part: the 7 digits that follow. Both together are what a double holds."""


@dataclass(frozen=True, eq=False)
class KeyedCells:
    """Cells with the number of their records and their keys. Keys and counts are secret.

    Parameters
    ----------
    codes : pandas.DataFrame of str, shape (n_cells, n_dimensions)
        Non-empty cells, totals included.
    hierarchies : mapping of str to Hierarchy
    count : numpy.ndarray of int, shape (n_cells,)
        Number of records.
    weight : numpy.ndarray of float, shape (n_cells,)
        Sum of their weights; equals `count` without weights.
    key : numpy.ndarray of int, shape (n_cells,)
        Cell key, from 0 to the modulus less 1.
    nonzero_key : numpy.ndarray of int, shape (n_cells,)
        The same over records whose value is not 0; equals `key` without a value.
    spread : numpy.ndarray of float, shape (n_cells,)
        Largest value of a record less the smallest; 0 without a value.
    """

    codes: pd.DataFrame
    hierarchies: Mapping[str, Hierarchy]
    count: Integers
    weight: Floats
    key: Integers
    nonzero_key: Integers
    spread: Floats


def keyed_cells(
    data: Any,
    dimensions: Mapping[str, Any] | Sequence[str],
    record_key: str,
    modulus: int,
    *,
    has_fractions: bool = True,
    value: str | None = None,
    weight: str | None = None,
    engine: str = "duckdb",
) -> KeyedCells:
    """Count the records of each cell, and add up their keys.

    Parameters
    ----------
    data, dimensions, value, weight, engine
        See `tabulate`.
    record_key : str
        Column with the record keys.
    modulus : int
        Cell keys are taken modulo this number. For fractions it must be 10^15.
    has_fractions : bool, default=True
        Whether record keys are fractions, at least 0 and below 1; otherwise whole numbers.

    Raises
    ------
    InputError
        As `tabulate` does; also for record keys that are missing or out of range.
    """
    roles = ColumnRoles(
        value, None, None, weight, value, None, record_key, has_whole_keys=not has_fractions
    )
    parsed = labelled_dimensions(dimensions, data)
    if (frame := frame_records(data, parsed, roles, engine)) is not None:
        positions, leaves = _leaf_sums_of(frame, roles)
        return _rolled_up(leaves, positions, frame.hierarchies, modulus)
    with checked_records(data, parsed, roles, engine) as records:
        leaves = _leaf_sums(records, roles)
        positions = records.positions(leaves)
    return _rolled_up(leaves, positions, records.hierarchies, modulus)


def _leaf_sums_of(records: FrameRecords, roles: ColumnRoles) -> tuple[AnyIntegers, pd.DataFrame]:
    """Add up records that pandas holds for each leaf; return the positions of leaves as well."""
    columns, exact = records.columns, records.overview.sums["weight"]
    scaled = columns["record_key"].to_numpy() * (1 if roles.has_whole_keys else HIGH)
    high = np.floor(scaled)
    sums = {"count": np.ones(len(high)), "high": high, "low": np.floor((scaled - high) * LOW + 0.5)}
    extremes = np.zeros((len(high), 0))
    if roles.value:
        value = columns["value"].to_numpy()
        sums |= {f"nonzero_{name}": np.where(value != 0, sums[name], 0) for name in ("high", "low")}
        extremes = np.column_stack([value, -value])
    words = np.column_stack(exact.words_of(columns["weight"].to_numpy()))
    added = np.column_stack(list(sums.values())).astype(np.int64)
    positions, (added, words), highest = roll_up(records.positions, [added, words], extremes, [])
    leaves = pd.DataFrame(dict(zip(sums, added.T, strict=True))).assign(
        weight=exact.of_arrays(words)
    )
    if roles.value:
        leaves = leaves.assign(largest=highest[:, 0], smallest=-highest[:, 1])
    return positions, leaves


def _leaf_sums(checked: CheckedRecords, roles: ColumnRoles) -> pd.DataFrame:
    """Add up the records for each leaf."""
    records = checked.table
    scaled = records.record_key * float(HIGH if not roles.has_whole_keys else 1)
    parts = {"high": scaled.floor(), "low": ((scaled - scaled.floor()) * float(LOW)).round()}
    sums = {name: part.cast("int64").sum() for name, part in parts.items()}
    if roles.value:
        counts = records.value != 0
        for name, part in parts.items():
            sums[f"nonzero_{name}"] = part.cast("int64").sum(where=counts)
        sums |= {"largest": records.value.max(), "smallest": records.value.min()}
    weight = checked.overview.sums["weight"].of(records.weight)
    frame = records.group_by(checked.axes).agg(count=records.count(), weight=weight, **sums)
    leaves: pd.DataFrame = frame.order_by(checked.axes).to_pandas()
    return leaves


def _rolled_up(
    leaves: pd.DataFrame,
    positions: AnyIntegers,
    hierarchies: Mapping[str, Hierarchy],
    modulus: int,
) -> KeyedCells:
    has_values = "largest" in leaves
    parts = [*_parts(leaves, "", modulus)]
    if has_values:
        parts += _parts(leaves, "nonzero_", modulus)
    sums = np.column_stack([leaves["count"], leaves["weight"], *parts]).astype(np.float64)
    extremes = np.zeros((len(leaves), 0))
    shift = 0.0
    if has_values:
        # The roll-up starts its maxima at 0; moved up, all of them are above.
        each = leaves[["largest", "smallest"]].to_numpy(np.float64) * [1.0, -1.0]
        shift = float(-each.min(initial=0.0))
        extremes = each + shift
    levels = [levels_of(tree) for tree in hierarchies.values()]
    cells, (added,), highest = roll_up(positions, [sums], extremes, levels)
    codes = {
        name: np.array(tree.codes, dtype=object)[cells[:, axis]]
        for axis, (name, tree) in enumerate(hierarchies.items())
    }
    key = _key(added[:, 2:4], modulus)
    return KeyedCells(
        codes=pd.DataFrame(codes),
        hierarchies=dict(hierarchies),
        count=added[:, 0].astype(np.int64),
        weight=added[:, 1],
        key=key,
        nonzero_key=_key(added[:, 4:6], modulus) if has_values else key,
        spread=highest.sum(axis=1) - 2 * shift if has_values else np.zeros(len(key)),
    )


def _parts(leaves: pd.DataFrame, prefix: str, modulus: int) -> list[Integers]:
    """Both parts of the key of each leaf, each small enough for exact sums of doubles."""
    high, low = (leaves[f"{prefix}{part}"].fillna(0).astype(np.int64) for part in ("high", "low"))
    if modulus != HIGH * LOW:
        return [np.zeros(len(high), dtype=np.int64), np.asarray(high % modulus, dtype=np.int64)]
    key = (high.to_numpy() % HIGH * LOW + low.to_numpy()) % modulus
    return [key // LOW, key % LOW]


def _key(parts: Floats, modulus: int) -> Integers:
    high, low = parts.astype(np.int64).T
    key: Integers = (high % HIGH * LOW + low) % modulus
    return key
