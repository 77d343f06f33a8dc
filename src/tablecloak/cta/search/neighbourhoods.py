"""Directions that lie near each other: few relations apart."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Integers
from tablecloak.cta.model.model import AdjustmentModel


class DirectionNeighbourhoods:
    """Draws directions that lie near each other.

    Parameters
    ----------
    model : AdjustmentModel
    turnable : numpy.ndarray of int
        Directions among which to draw.
    random : numpy.random.Generator
    """

    def __init__(
        self, model: AdjustmentModel, turnable: Integers, random: np.random.Generator
    ) -> None:
        self._group = model.sensitive[turnable]
        self._turnable = turnable
        self._random = random
        self._relations = csr_array(abs(model.relations))
        self._back = csr_array(self._relations.T)

    def draw(self, count: int) -> Integers:
        """Return a random direction and those next to it, the nearest first."""
        start = int(self._random.integers(len(self._turnable)))
        reached = np.zeros(self._relations.shape[1])
        reached[self._group[start]] = 1
        order = self._turnable[[start]]
        while len(order) < count:
            further = ((self._back @ (self._relations @ reached)) > 0).astype(np.float64)
            if np.array_equal(further, reached):
                break
            new = self._turnable[(further > reached)[self._group]]
            order = np.concatenate([order, self._random.permutation(new)])
            reached = further
        return order[:count]
