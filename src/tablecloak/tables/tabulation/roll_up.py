"""From leaves to margins: rows of codes, expanded to all codes above and added up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.tables.hierarchy import Hierarchy


def ancestors_of(tree: Hierarchy) -> tuple[Integers, Integers]:
    """For each leaf position the codes it counts towards, as a ragged array."""
    closure = tree.closure().T.tocsr()
    closure.sort_indices()
    return closure.indptr.astype(np.int64), closure.indices.astype(np.int64)


def positions_of(frame: pd.DataFrame, trees: Mapping[str, Hierarchy]) -> Integers:
    """Return the position of each leaf code on its axis, one column for each axis."""
    columns = []
    for name, tree in trees.items():
        number = {leaf: index for index, leaf in enumerate(tree.leaves)}
        columns.append(frame[name].map(number).to_numpy(np.int64))
    return np.column_stack(columns)


def expand(
    positions: Integers, axis: int, ancestors: tuple[Integers, Integers]
) -> tuple[Integers, Integers]:
    """Repeat each row for each code above its leaf on one axis; return source row and codes."""
    start, codes = ancestors
    leaf = positions[:, axis]
    repeats = start[leaf + 1] - start[leaf]
    source = np.repeat(np.arange(len(positions)), repeats)
    offset = np.arange(len(source)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    expanded = positions[source]
    expanded[:, axis] = codes[start[leaf][source] + offset]
    return source, expanded


def group_rows(rows: Integers) -> tuple[Integers, Integers]:
    """Distinct rows in sorted order, and the number of each row among them."""
    widths = [int(width) for width in rows.max(axis=0, initial=0) + 1]
    if math.prod(widths) < 2**62:
        flat = np.ravel_multi_index(tuple(rows.T), widths)
        _, first, group = np.unique(flat, return_index=True, return_inverse=True)
        return rows[first], group.reshape(-1)
    keys, group = np.unique(rows, axis=0, return_inverse=True)
    return keys, group.reshape(-1)


def roll_up(
    positions: Integers,
    sums: Floats,
    maxima: Floats,
    ancestors: Sequence[tuple[Integers, Integers]],
) -> tuple[Integers, Floats, Floats]:
    """Add up sums, and take maxima, over all codes of all axes."""
    # Leaves that differ only on dimensions outside this table fall together first.
    positions, group = group_rows(positions)
    sums, maxima = _reduce(sums, maxima, group, len(positions))
    for axis, above in enumerate(ancestors):
        source, expanded = expand(positions, axis, above)
        positions, group = group_rows(expanded)
        sums, maxima = _reduce(sums[source], maxima[source], group, len(positions))
    return positions, sums, maxima


def _reduce(sums: Floats, maxima: Floats, group: Integers, n_groups: int) -> tuple[Floats, Floats]:
    added = [np.bincount(group, column, minlength=n_groups) for column in sums.T]
    highest = np.zeros((n_groups, maxima.shape[1]))
    np.maximum.at(highest, group, maxima)
    return np.column_stack(added) if added else np.zeros((n_groups, 0)), highest


def rank_within(sorted_groups: Integers) -> Integers:
    """Position of each row within its run of equal group numbers."""
    index = np.arange(len(sorted_groups))
    starts = np.ones(len(index), dtype=bool)
    starts[1:] = sorted_groups[1:] != sorted_groups[:-1]
    return index - np.maximum.accumulate(np.where(starts, index, 0))


def locate(rows: Integers, cells: Integers) -> Integers:
    """Index of each row among the cells, which are sorted and unique."""
    both = np.concatenate([cells, rows])
    number = group_rows(both)[1]
    index_of = np.empty(number.max() + 1, dtype=np.int64)
    index_of[number[: len(cells)]] = np.arange(len(cells))
    return index_of[number[len(cells) :]]
