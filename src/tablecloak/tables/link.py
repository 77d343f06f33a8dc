"""Linked tables: one table over the union of their cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array, vstack

from tablecloak.arrays import AnyIntegers, Floats
from tablecloak.errors import InputError
from tablecloak.tables.additivity import CANCELLATION, added_up
from tablecloak.tables.contributions import LEVELS, Contributions
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.keys import check_same_values, number_rows
from tablecloak.tables.table import Table


def link(*tables: Table) -> Table:
    """Join tables of the same measure into one: the union of cells, all relations stacked.

    Two cells are the same if their codes are the same; a dimension that a table does not
    have stands at its total there.

    Parameters
    ----------
    *tables : Table
        Tables with hierarchies, or at least with the same dimensions.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If a cell has different values in two tables, or a dimension different totals.
    """
    hierarchies = linked_hierarchies(tables)
    totals = {name: tree.total for name, tree in hierarchies.items()}
    stacked = pd.concat(completed_keys([table.keys for table in tables], totals))
    first, cell_of_row = number_rows(stacked)
    values = np.concatenate([table.values for table in tables])
    added = np.concatenate([added_up(table.relations, table.values) for table in tables])
    check_same_values(stacked, values, first, cell_of_row, CANCELLATION * added)
    offsets = np.cumsum([0, *(table.n_cells for table in tables)])
    relations, right_hand_side = _stack_relations(tables, cell_of_row, offsets, len(first))
    merged: dict[str, Any] = {}
    for attribute in LEVELS.values():
        parts = [getattr(table, attribute) for table in tables]
        merged[attribute] = (
            None
            if any(part is None for part in parts)
            else Contributions.concatenate(parts).take(first)
        )
    return Table(
        keys=stacked.iloc[first].reset_index(drop=True),
        values=values[first],
        relations=relations,
        right_hand_side=right_hand_side,
        hierarchies=hierarchies,
        name=tables[0].name,
        unit=tables[0].unit,
        integer=all(bool(table.integer) for table in tables),
        tolerance=max(table.tolerance for table in tables),
        decimals=most_decimals(tables),
        **merged,
    )


def most_decimals(tables: Sequence[Table]) -> int | None:
    """Return the most digits that tables declare; None if one of them declares none."""
    declared = [table.decimals for table in tables if table.decimals is not None]
    return max(declared) if len(declared) == len(tables) else None


def stacked_contributions(tables: Sequence[Table], attribute: str) -> Contributions:
    """Stack contributions; tables without any have cells of unknown contributors."""
    parts = [getattr(table, attribute) or Contributions.unknown(table.values) for table in tables]
    most = max(part.largest.shape[1] for part in parts)
    return Contributions.concatenate([part.padded(most) for part in parts])


def linked_hierarchies(tables: Sequence[Table]) -> dict[str, Hierarchy]:
    """One hierarchy for each dimension; the one with the most codes stands for all."""
    merged: dict[str, Hierarchy] = {}
    for table in tables:
        for name, tree in table.hierarchies.items():
            largest = merged.setdefault(name, tree)
            if largest.total != tree.total:
                raise InputError(
                    f"Dimension {name!r} has the total {largest.total!r} in one table and "
                    f"{tree.total!r} in another. Linked tables need one code for the total."
                )
            if len(tree.codes) > len(largest.codes):
                merged[name] = tree
    return merged


def completed_keys(every: Sequence[pd.DataFrame], totals: Mapping[str, str]) -> list[pd.DataFrame]:
    """Return the keys of each table over the dimensions of all.

    A dimension that a table lacks stands at its total there.
    """
    names = list(dict.fromkeys(name for keys in every for name in keys.columns))
    completed = []
    for keys in every:
        missing = [name for name in names if name not in keys.columns]
        for name in missing:
            if name not in totals:
                raise InputError(
                    f"Dimension {name!r} is missing in one of the linked tables and has no "
                    f"hierarchy, so its total is unknown. Give the hierarchy of each dimension."
                )
        completed.append(keys.assign(**{name: totals[name] for name in missing})[names])
    return completed


def _stack_relations(
    tables: Sequence[Table], cell_of_row: AnyIntegers, offsets: AnyIntegers, n_cells: int
) -> tuple[csr_array, Floats]:
    """Stack all relations over the common cells, each only once."""
    blocks = []
    for table, start in zip(tables, offsets, strict=False):
        block = coo_array(table.relations)
        blocks.append(
            csr_array(
                (block.data, (block.coords[0], cell_of_row[start + block.coords[1]])),
                shape=(table.n_relations, n_cells),
            )
        )
    stacked = csr_array(vstack(blocks, format="csr"))
    stacked.sort_indices()
    right_hand_side = np.concatenate([table.right_hand_side for table in tables])
    rows: dict[bytes, int] = {}
    for row in range(stacked.shape[0]):
        part = slice(stacked.indptr[row], stacked.indptr[row + 1])
        rows.setdefault(stacked.indices[part].tobytes() + stacked.data[part].tobytes(), row)
    kept = np.array(list(rows.values()), dtype=np.int64)
    return stacked[kept, :], right_hand_side[kept]
