"""The cells and the additive relations that follow from hierarchies."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import AnyIntegers, Integers
from tablecloak.errors import InputError
from tablecloak.tables.hierarchy import Hierarchy

MOST_CELLS = 20_000_000
"""Most cells of a table that lists its empty ones: at about 1 kB a cell what 20 GB hold."""


def all_positions(trees: Mapping[str, Hierarchy]) -> Integers:
    """Return every combination of codes by their positions, sorted, shape (n, n_dimensions).

    Raises
    ------
    InputError
        If there are more than `MOST_CELLS`.
    """
    sizes = [len(tree.codes) for tree in trees.values()]
    if math.prod(sizes) > MOST_CELLS:
        raise InputError(
            f"With its empty cells the table would have {math.prod(sizes):,} cells; at most "
            f"{MOST_CELLS:,} are possible. Leave out `empty_cells`, or some of the codes."
        )
    grid = np.indices(sizes, dtype=np.int64)
    return grid.reshape(len(sizes), -1).T.copy()


def with_empty_rows(
    frame: pd.DataFrame, trees: Mapping[str, Hierarchy], numbers: list[str]
) -> pd.DataFrame:
    """Return a frame of cells with a row of zeros for each combination of codes it lacks.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each cell, with codes as text.
    trees : mapping of str to Hierarchy
    numbers : list of str
        Columns that are 0 in the new rows.
    """
    positions = all_positions(trees)
    codes = {
        name: np.array(tree.codes, dtype=object)[positions[:, axis]]
        for axis, (name, tree) in enumerate(trees.items())
    }
    every = pd.DataFrame(codes)
    known = pd.MultiIndex.from_frame(frame[list(trees)])
    lacking = every[~pd.MultiIndex.from_frame(every).isin(known)]
    zeros = dict.fromkeys(numbers, 0.0)
    return pd.concat([frame, lacking.assign(**zeros)], ignore_index=True)


def hierarchical_relations(keys: pd.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> csr_array:
    """Derive the relations of a table from its hierarchies.

    For each group of each dimension and each combination of codes on the other dimensions:
    total = sum of the parts that occur. Empty cells take no part.

    Parameters
    ----------
    keys : pandas.DataFrame of str, shape (n_cells, n_dimensions)
    hierarchies : mapping of str to Hierarchy

    Returns
    -------
    scipy.sparse.csr_array of shape (n_relations, n_cells)
    """
    positions = np.column_stack(
        [keys[name].map(tree.position).to_numpy(np.int64) for name, tree in hierarchies.items()]
    )
    blocks = [
        _relations_along(positions, axis, tree)
        for axis, tree in enumerate(hierarchies.values())
        if len(tree.groups)
    ]
    return vstack(blocks, format="csr") if blocks else csr_array((0, len(keys)))


def _relations_along(positions: AnyIntegers, axis: int, tree: Hierarchy) -> csr_array:
    """Relations along one dimension, without a loop over cells."""
    n_cells = len(positions)
    others = np.delete(positions, axis, axis=1)
    _, line = np.unique(others, axis=0, return_inverse=True)
    line = line.reshape(-1)
    code_of_cell = positions[:, axis]
    rows, columns, signs = [], [], []
    for side, pairs in ((-1.0, _totals(tree)), (1.0, _parts(tree))):
        members = pairs[np.argsort(pairs[:, 0], kind="stable")]
        start = np.searchsorted(members[:, 0], code_of_cell, side="left")
        stop = np.searchsorted(members[:, 0], code_of_cell, side="right")
        cells = np.repeat(np.arange(n_cells), stop - start)
        offset = np.arange(len(cells)) - np.repeat(np.cumsum(stop - start) - (stop - start),
                                                   stop - start)  # fmt: skip
        group = members[np.repeat(start, stop - start) + offset, 1]
        rows.append(line[cells] * len(tree.groups) + group)
        columns.append(cells)
        signs.append(np.full(len(cells), side))
    row = np.concatenate(rows)
    sign = np.concatenate(signs)
    _, row = np.unique(row, return_inverse=True)
    n_rows = int(row.max(initial=-1)) + 1
    # A group whose total or parts are all missing from the table gives no relation.
    complete = np.bincount(row[sign < 0], minlength=n_rows) > 0
    complete &= np.bincount(row[sign > 0], minlength=n_rows) > 0
    keep = complete[row]
    renumbered = np.cumsum(complete) - 1
    return csr_array(
        (sign[keep], (renumbered[row[keep]], np.concatenate(columns)[keep])),
        shape=(int(complete.sum()), n_cells),
    )


def _totals(tree: Hierarchy) -> AnyIntegers:
    pairs = [(tree.position[parent], number) for number, (parent, _) in enumerate(tree.groups)]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _parts(tree: Hierarchy) -> AnyIntegers:
    pairs = [
        (tree.position[code], number)
        for number, (_, children) in enumerate(tree.groups)
        for code in children
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
