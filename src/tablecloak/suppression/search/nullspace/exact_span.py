"""Witnesses of one pattern made exact: binary fractions for which all relations hold.

The hidden cells follow from few free ones by whole coefficients, d = N z, and only what the
relations left over ask of the free cells has to be eliminated in whole numbers: some 30 columns
where the pattern has 2,000 cells. z is then rounded once, and N z adds up without rounding.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.budget import Budget
from tablecloak.solve.exact import NullSpace
from tablecloak.suppression.search.nullspace.basis import basis_of
from tablecloak.suppression.system import System

__all__ = ["ExactSpan"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

MOST_MULTIPLE = 1000
"""Denominator up to which coefficients are read as fractions; what is rounded wrongly fails the
check of the relations."""


class ExactSpan:
    """Rounds deviations of the hidden cells of one pattern.

    Parameters
    ----------
    system : System
    cells : numpy.ndarray of int
        Those that move.
    budget : Budget
        The elimination is given up when it ends.
    """

    def __init__(self, system: System, cells: Integers, budget: Budget) -> None:
        self.cells = cells
        part = system.part(cells)
        # Cells in many relations determine much; fewer conditions are left than with small ones.
        self.basis = basis_of(part, -np.diff(part.by_cell.indptr).astype(np.float64))
        self.multiple = _common_multiple(self.basis.matrix.data)
        whole = self.basis.matrix.copy()
        whole.data = np.rint(whole.data * self.multiple)
        self.matrix = whole
        leftover = csr_array(part.matrix @ whole)
        leftover.eliminate_zeros()
        entries = leftover.tocoo()
        self.space = NullSpace(
            np.unique(entries.row, return_inverse=True)[1],
            entries.col,
            np.rint(entries.data),
            # One more, without relations, that only says how fine a grid may be.
            np.zeros(self.basis.n_free + 1, dtype=bool),
            lambda: budget.is_over,
        )

    def near(self, deviation: Floats) -> Floats | None:
        """Return a deviation close to a given one; None if the elimination was given up.

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
    """Smallest number that makes fractions whole; 1 if none up to `MOST_MULTIPLE` does."""
    left = np.unique(np.round(np.abs(fractions), 9))
    for multiple in range(1, MOST_MULTIPLE + 1):
        if np.all(np.abs(left * multiple - np.rint(left * multiple)) < 1e-7 * multiple):
            return multiple
    return 1
