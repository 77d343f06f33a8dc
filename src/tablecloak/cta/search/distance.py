"""What a distance is: a loss, what it can be combined with, and how its best table is found.

A search of directions comes first; it minimises the sum or the maximum of weighted changes. From
its best point, the method `settle` of the distance computes the table and its proof.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.model.answer import AdjustmentAnswer
from tablecloak.cta.search.conditions import SearchedStatistic
from tablecloak.cta.search.state import DirectionState
from tablecloak.registry import Registry

SUM_SHARE = 1.0
"""Share of the time for the search of directions if the sum is minimised (L1)."""


@dataclass(frozen=True, eq=False)
class DirectionSearch:
    """The outcome of a search of directions, for a distance to settle.

    Parameters
    ----------
    state : DirectionState
        State of the search, with a best point.
    fixed : numpy.ndarray of float or None
        Directions, if they were given.
    budget : Budget
        Time for settling.
    wants_whole : bool
        Whether whole numbers are sought.
    must_be_whole : bool
        Whether an answer that is not in whole numbers is refused.
    conditions : tuple of SearchedStatistic
        Statistics that linear rows cannot express; only for a distance that `keeps_conditions`.
    start : numpy.ndarray of int, shape (n_cells,), optional
        Changes of a table in whole numbers from before the search.
    """

    state: DirectionState
    fixed: Floats | None
    budget: Budget
    wants_whole: bool = False
    must_be_whole: bool = False
    conditions: tuple[SearchedStatistic, ...] = ()
    start: Integers | None = None

    @property
    def changes(self) -> Floats:
        """Changes of all cells at the best point."""
        assert self.state.best is not None
        return self.state.form.changes(self.state.best.x)


class Distance(ABC):
    """Base class of all distances."""

    name: ClassVar[str]

    power: ClassVar[int] = 1
    """Power of the loss: changes that are u times as large lose u to this power times as much."""

    is_maximum: ClassVar[bool] = False
    """Whether the search of directions minimises the largest weighted change instead of the sum."""

    share: ClassVar[float] = SUM_SHARE
    """Share of the time for the search of directions."""

    is_proved_by_search: ClassVar[bool] = True
    """Whether the bound of the search of directions is wanted, or only a good point."""

    adds_up: ClassVar[bool] = True
    """Whether the losses of parts that no relation connects add up to that of the table."""

    has_whole_numbers: ClassVar[bool] = False
    """Whether the distance can give adjusted values in whole multiples of the last digit."""

    keeps_conditions: ClassVar[bool] = False
    """Whether statistics that linear rows cannot express, such as variances, can be preserved: then
    `settle` meets the conditions of the search."""

    @abstractmethod
    def loss(self, weights: Floats, changes: Floats) -> float:
        """Return the loss of given changes.

        Parameters
        ----------
        weights : numpy.ndarray of float, shape (n_cells,)
            Cost of changing each cell by one unit.
        changes : numpy.ndarray of float, shape (n_cells,)
        """

    def reach(self, weights: Floats, loss: float) -> Floats:
        """Return how far each cell can move in a table of at most a given loss; may be infinite."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            far = np.where(weights > 0, loss / weights, np.inf)
        reach: Floats = far ** (1 / self.power)
        return reach

    @abstractmethod
    def settle(self, searched: DirectionSearch) -> AdjustmentAnswer:
        """Return the best table for the directions found or better ones, with its proof.

        Raises
        ------
        SolverError
            If no table was found in time.
        """


DISTANCES: Registry[Distance] = Registry("distance", "tablecloak.cta.search.distances")
"""All distances that `adjust` can minimise, by name."""


def names_with(capability: str) -> str:
    """Return "distance A" or "distances A and B": those with a capability, for messages."""
    names = [kind.name for kind in DISTANCES if getattr(kind, capability)]
    return f"distance{'s' * (len(names) > 1)} {' and '.join(names)}"
