"""Witnesses of one pattern made exact: binary fractions for which all relations hold.

The hidden cells follow from few free ones by whole coefficients, d = N z. Relations that determine
no cell leave conditions on z, and only these are eliminated in whole numbers: some 30 columns for a
pattern of 2,000 cells. z is then rounded once, and N z adds up without rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.solve.exact import NullSpace
from tablecloak.suppression.system.basis import Basis, basis_of
from tablecloak.tables.distinct import distinct_rows

__all__ = ["ExactSpan"]

MOST_MULTIPLE = 1000
"""Largest denominator with which coefficients are read as fractions. The check of the relations
detects a wrong fraction."""


@dataclass(frozen=True, eq=False)
class ExactSpan:
    """Rounds deviations of the hidden cells of one pattern.

    Parameters
    ----------
    basis : Basis
        Basis of all deviations.
    multiple : int
        Least number by which N is multiplied to make it whole; deviations of free cells are divided
        by it.
    matrix : scipy.sparse.csr_array, shape (n_cells, n_free)
        N, multiplied by `multiple`.
    space : NullSpace
        Null space of the conditions on the free cells.
    """

    basis: Basis
    multiple: int
    matrix: csr_array
    space: NullSpace

    @classmethod
    def of(
        cls, relations: csr_array, budget: Budget, most_free: float = np.inf
    ) -> ExactSpan | None:
        """Eliminate once for all deviations; None if there are too many free cells or no time.

        Parameters
        ----------
        relations : scipy.sparse.csr_array, shape (n_relations, n_cells)
            Relations between the cells that move.
        budget : Budget
            The elimination is given up when it ends.
        most_free : float, default=inf
            Most free cells for which a span is returned.
        """
        # Cells in many relations should not be free: determined, they leave fewer conditions.
        many = np.diff(csc_array(relations).indptr).astype(np.float64)
        basis = basis_of(relations, -many, most_free)
        if basis is None:
            return None
        whole = basis.matrix.copy()
        multiple = _common_multiple(whole.data)
        whole.data = np.rint(whole.data * multiple)
        entries = distinct_rows(basis.leftover)[0].tocoo()
        # One more cell without relations, whose divisor tells how fine the grid may be.
        held = np.zeros(basis.n_free + 1, dtype=bool)
        space = NullSpace(
            entries.row,
            entries.col,
            np.rint(entries.data * multiple),
            held,
            lambda: budget.is_over,
        )
        return None if space.is_given_up else cls(basis, multiple, whole, space)

    @property
    def n_cells(self) -> int:
        """Number of cells that move."""
        return int(self.matrix.shape[0])

    def near(self, deviation: Floats) -> Floats | None:
        """Return a deviation close to a given one; None if free cells share too large a divisor.

        Parameters
        ----------
        deviation : numpy.ndarray of float, shape (n_cells,)
            Moves of the cells of this span.
        """
        wanted = deviation[self.basis.free] / self.multiple
        largest = float(np.max(abs(self.matrix) @ np.abs(wanted)))
        free = self.space.near(np.append(wanted, largest))
        if free is None:
            return None
        moves: Floats = self.matrix @ free[:-1]
        return moves


def _common_multiple(fractions: Floats) -> int:
    """Return the least factor that makes fractions whole; 1 if none up to `MOST_MULTIPLE` does."""
    left = np.unique(np.round(np.abs(fractions), 9))
    for multiple in range(1, MOST_MULTIPLE + 1):
        if np.all(np.abs(left * multiple - np.rint(left * multiple)) < 1e-7 * multiple):
            return multiple
    return 1
