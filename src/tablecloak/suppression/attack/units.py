"""Units of columns that relations with coefficients connect, such as GWh and EUR.

Solvers decide with absolute tolerances. Where one cell counts a million times as much as another in
a relation, moves of the other one would be lost in the tolerance of the row. Each column is
therefore measured in a unit of its own, such that all coefficients of a row are about equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import lsmr

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.graph import components_of_columns

__all__ = ["Units"]

LARGEST_RATIO = 1e3
"""Ratio of two coefficients of a row up to which no units are needed.

Cells that can only move together give coefficients of 2 or 3 in tables of one variable, whose
programs stay as they are. The tolerances of solvers leave room for a thousand.
"""


@dataclass(frozen=True, eq=False)
class Units:
    """A unit for each column and a factor for each row, all powers of two, so that none rounds.

    Parameters
    ----------
    column : numpy.ndarray of float, shape (n_columns,)
        Unit of each column, as a multiple of the unit of length of a program.
    row : numpy.ndarray of float, shape (n_rows,)
        What each row is multiplied by.
    """

    column: Floats
    row: Floats

    @classmethod
    def of(cls, matrix: csr_array) -> Units:
        """Return units in which the coefficients of each row are about equal.

        All are 1 where no coefficient is small beside another one, as in sums of one variable.
        """
        n_rows, n_columns = matrix.shape
        length = np.diff(matrix.indptr)
        row = np.repeat(np.arange(n_rows), length)
        size = np.abs(matrix.data)
        largest = np.zeros(n_rows)
        np.maximum.at(largest, row, size)
        if np.all(size * LARGEST_RATIO >= largest[row]):
            return cls(np.ones(n_columns), np.ones(n_rows))
        is_plain = np.bincount(row, size != largest[row], minlength=n_rows) == 0
        column = 2.0 ** np.rint(_logarithms(matrix, row, is_plain))
        grown = np.zeros(n_rows)
        np.maximum.at(grown, row, size * column[matrix.indices])
        grown = np.where(is_plain & (grown == largest), 1.0, np.where(grown > 0, grown, 1.0))
        return cls(column, 2.0 ** -np.rint(np.log2(grown)))

    def scaled(self, matrix: csr_array) -> csr_array:
        """Return the matrix over columns in these units."""
        if np.all(self.column == 1) and np.all(self.row == 1):
            return matrix
        return csr_array(diags_array(self.row) @ matrix @ diags_array(self.column))


def _logarithms(matrix: csr_array, row: Integers, is_plain: Flags) -> Floats:
    """Return the logarithm of the unit of each column: one for all columns of one variable."""
    kind = components_of_columns(matrix[np.flatnonzero(is_plain), :])
    first = np.minimum(matrix.indptr[row], len(row) - 1)
    other = np.flatnonzero(~is_plain[row] & (kind[matrix.indices] != kind[matrix.indices[first]]))
    reference = first[other]
    difference = np.log2(np.abs(matrix.data[reference] / matrix.data[other]))
    pairs = np.column_stack(
        [kind[matrix.indices[other]], kind[matrix.indices[reference]], difference]
    )
    pairs = np.unique(pairs, axis=0)
    number = np.tile(np.arange(len(pairs)), 2)
    sign = np.repeat([1.0, -1.0], len(pairs))
    system = csr_array(
        (sign, (number, pairs[:, :2].T.reshape(-1).astype(np.int64))),
        shape=(len(pairs), int(kind.max()) + 1),
    )
    found: Floats = lsmr(system, pairs[:, 2], atol=1e-12, btol=1e-12)[0]
    return found[kind]
