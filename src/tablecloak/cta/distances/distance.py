"""What a distance is: the loss of an adjusted table, and what it can be combined with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tablecloak.registry import Registry

__all__ = ["DISTANCES", "Distance", "names_with"]

Floats = npt.NDArray[np.float64]


class Distance(ABC):
    """Base class of all distances.

    A distance says what is minimised, and what it can be combined with.
    """

    name: ClassVar[str]

    power: ClassVar[int] = 1
    """A change of unit by a factor u changes the loss by u to this power."""

    is_maximum: ClassVar[bool] = False
    """Whether programs minimise the largest weighted change instead of the sum."""

    adds_up: ClassVar[bool] = True
    """Whether the losses of parts that no relation connects add up to that of the table."""

    has_whole_numbers: ClassVar[bool] = False
    """Whether adjusted values in multiples of the last digit are offered."""

    keeps_conditions: ClassVar[bool] = False
    """Whether statistics that are no rows of a program, such as variances, can be preserved."""

    @abstractmethod
    def loss(self, weights: Floats, changes: Floats) -> float:
        """Return the loss of given changes.

        Parameters
        ----------
        weights : numpy.ndarray of float, shape (n_cells,)
            Cost of changing each cell by one unit.
        changes : numpy.ndarray of float, shape (n_cells,)
        """


DISTANCES: Registry[Distance] = Registry("distance", "tablecloak.cta.distances")
"""All distances that `adjust` can minimise, by name."""


def names_with(capability: str) -> str:
    """Return "distance A" or "distances A and B": those with a capability, for messages."""
    names = [kind.name for kind in DISTANCES if getattr(kind, capability)]
    return f"distance{'s' * (len(names) > 1)} {' and '.join(names)}"
