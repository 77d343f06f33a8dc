"""Relations: those that follow from hierarchies, those listed in files, and the distinct ones.

In a table of several dimensions the same relation often follows from two of them, and more become
the same once equal cells are merged or published cells left out. Leaving the copies out makes every
basis of a search smaller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csc_array, csr_array, vstack

from tablecloak.arrays import AnyIntegers, Floats, Integers, numbered_rows, ranked
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
    return relations_of_cells(positions, hierarchies)


def relations_of_cells(positions: AnyIntegers, hierarchies: Mapping[str, Hierarchy]) -> csr_array:
    """Derive the relations of cells that are given by the positions of their codes.

    Parameters
    ----------
    positions : numpy.ndarray of int, shape (n_cells, n_dimensions)
    hierarchies : mapping of str to Hierarchy

    Returns
    -------
    scipy.sparse.csr_array of shape (n_relations, n_cells)
    """
    blocks = [
        _relations_along(positions, axis, tree)
        for axis, tree in enumerate(hierarchies.values())
        if len(tree.groups)
    ]
    return vstack(blocks, format="csr") if blocks else csr_array((0, len(positions)))


def _relations_along(positions: AnyIntegers, axis: int, tree: Hierarchy) -> csr_array:
    """Relations along one dimension, without a loop over cells."""
    others = np.delete(positions, axis, axis=1)
    # The combinations of codes on other dimensions, numbered in their order.
    line = ranked(*numbered_rows(others))[1]
    signs = [
        (number, tree.position[code], sign)
        for number, (parent, children) in enumerate(tree.groups)
        for code, sign in ((parent, -1.0), *((child, 1.0) for child in children))
    ]
    numbers, codes, data = map(np.array, zip(*signs, strict=True))
    groups = csc_array((data, (numbers, codes)), shape=(len(tree.groups), len(tree.codes)))
    entries = coo_array(groups[:, positions[:, axis]])
    group, cell = entries.coords
    n_rows, row = ranked(line[cell] * len(tree.groups) + group)
    # A group whose total or parts are all missing from the table gives no relation.
    complete = np.bincount(row[entries.data < 0], minlength=n_rows) > 0
    complete &= np.bincount(row[entries.data > 0], minlength=n_rows) > 0
    kept = complete[row]
    renumbered = np.cumsum(complete) - 1
    return csr_array(
        (entries.data[kept], (renumbered[row[kept]], cell[kept])),
        shape=(int(complete.sum()), len(positions)),
    )


def relation_matrix(
    row: Integers, cell: Integers, coefficient: Floats, shape: tuple[int, int]
) -> csr_array:
    """Build relations from their terms; a cell listed twice counts with the sum.

    Coefficients are decimal numbers, and so are these sums: 0.1 + 0.2 - 0.3 is 0.

    Parameters
    ----------
    row, cell : numpy.ndarray of int, shape (n_terms,)
    coefficient : numpy.ndarray of float, shape (n_terms,)
    shape : (int, int)
        Number of relations and of cells.

    Returns
    -------
    scipy.sparse.csr_array
        Without coefficients of 0.

    Raises
    ------
    InputError
        If such a sum is beyond all numbers.
    """
    order = np.lexsort((cell, row))
    row, cell, coefficient = row[order], cell[order], coefficient[order]
    new = np.append(True, (np.diff(row) != 0) | (np.diff(cell) != 0))[: len(row)]
    first = np.flatnonzero(new)
    sums = coefficient[first]
    length = np.diff(np.append(first, len(row)))
    for term in np.flatnonzero(length > 1):
        same = coefficient[first[term] : first[term] + length[term]].tolist()
        try:
            sums[term] = float(sum(Fraction(repr(number)) for number in same))
        except OverflowError:
            raise InputError(
                f"Relation {row[first[term]]} lists the cell {cell[first[term]]} {length[term]} "
                f"times, and the sum of its coefficients is too large."
            ) from None
    used = sums != 0
    return csr_array(coo_array((sums[used], (row[first][used], cell[first][used])), shape=shape))


LARGEST_SCALED = 2.0**25
"""Coefficients up to this size are divided by each other: two different quotients of such whole
numbers never round to the same number."""


def distinct_rows(matrix: csr_array) -> tuple[csr_array, Integers]:
    """Rows that are not empty, each distinct one once, whatever its sign and scale.

    Rows are the same if their products with two random vectors agree to the last digit, where
    those of whole coefficients are divided by the first one before. Should two different rows
    ever do so, witnesses still fail their check on all relations.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_columns)

    Returns
    -------
    matrix : scipy.sparse.csr_array, shape (n_distinct, n_columns)
    rows : numpy.ndarray of int, shape (n_distinct,)
        Number of each kept row in the given matrix: the first of those that are the same.
    """
    matrix = csr_array(matrix)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    length = np.diff(matrix.indptr)
    used = np.flatnonzero(length)
    if not len(used):
        return csr_array((0, matrix.shape[1])), used
    first = matrix.data[matrix.indptr[used]]
    is_odd = (matrix.data != np.rint(matrix.data)) | (np.abs(matrix.data) > LARGEST_SCALED)
    n_odd = np.add.reduceat(is_odd, matrix.indptr[used])
    divisor = np.ones(len(length))
    divisor[used] = np.where(n_odd > 0, np.sign(first), first)
    data = matrix.data / np.repeat(divisor, length)
    scaled = csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    random = np.random.default_rng(20011)
    keys = [(scaled @ random.random(matrix.shape[1]))[used] for _ in range(2)]
    _, kept = np.unique(np.column_stack([length[used], *keys]), axis=0, return_index=True)
    rows = used[np.sort(kept)]
    return csr_array(matrix[rows, :]), rows


def without_repeated_rows(matrix: csr_array) -> csr_array:
    """Return the matrix with all rows under their numbers, those left out by `distinct_rows` empty.

    Multipliers of its rows are multipliers of the given one.
    """
    distinct, rows = distinct_rows(matrix)
    length = np.zeros(matrix.shape[0], dtype=np.int64)
    length[rows] = np.diff(distinct.indptr)
    starts = np.concatenate([[0], np.cumsum(length)])
    return csr_array((distinct.data, distinct.indices, starts), shape=matrix.shape)
