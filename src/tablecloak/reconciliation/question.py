"""The question of a reconciliation: which additive table within bounds is the nearest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

__all__ = ["Question"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Question:
    """min distance(x, y)  subject to  A x = b,  lower <= x <= upper.

    Parameters
    ----------
    values : numpy.ndarray of float, shape (n_cells,)
        Given values y, which need not add up.
    weights : numpy.ndarray of float, shape (n_cells,)
        Weights w > 0 of the changes; for L2 the inverse of the variance.
    relations : scipy.sparse.csr_array, shape (n_relations, n_cells)
        A.
    sides : numpy.ndarray of float, shape (n_relations,)
        b, usually 0.
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Bounds; equal where a cell is fixed.
    """

    values: Floats
    weights: Floats
    relations: csr_array
    sides: Floats
    lower: Floats
    upper: Floats

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.values)

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """Cells that may change."""
        return self.lower < self.upper

    def residual(self, x: Floats) -> Floats:
        """A x - b."""
        found: Floats = self.relations @ x - self.sides
        return found

    def scale(self) -> Floats:
        """Size of the terms of each relation, at least 1; residuals are relative to it."""
        size = np.maximum(np.abs(self.values), 1.0)
        found: Floats = abs(self.relations) @ size + np.abs(self.sides)
        return np.maximum(found, 1.0)

    def fixed_at(self, cells: npt.NDArray[np.bool_], values: Floats) -> Question:
        """Return the question with some cells fixed at values."""
        return replace(
            self,
            lower=np.where(cells, values, self.lower),
            upper=np.where(cells, values, self.upper),
        )
