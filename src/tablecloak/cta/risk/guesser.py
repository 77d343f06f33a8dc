"""Intruders who run an adjustment backwards: base class and registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from tablecloak.arrays import Floats
from tablecloak.registry import Registry

if TYPE_CHECKING:
    from tablecloak.cta.result.adjustment import Adjustment


class Guesser(ABC):
    """An intruder who guesses true values from adjusted ones, by what is known beforehand.

    Everybody knows the published table, the relations, the method, and which cells are sensitive.
    """

    name: ClassVar[str]

    @abstractmethod
    def distances(self, adjustment: Adjustment, assumed_level: float) -> tuple[Floats, Floats]:
        """Return how far the truth must lie below and above each published value.

        Parameters
        ----------
        adjustment : Adjustment
        assumed_level : float
            Level that an intruder without knowledge of the levels assumes, as a share of the value.

        Returns
        -------
        below, above : numpy.ndarray of float, shape (n_cells,)
            In the unit of the table; 0 where nothing is known.
        """

    def attempts(self, adjustment: Adjustment, assumed_level: float) -> list[tuple[Floats, Floats]]:
        """Return the distances of each guess that is tried, the first as of `distances`."""
        return [self.distances(adjustment, assumed_level)]

    def directions(self, adjustment: Adjustment) -> Floats | None:
        """Return the way back to each sensitive cell, +1 or -1; None if it is not known."""
        del adjustment
        return None


GUESSERS: Registry[Guesser] = Registry("knowledge", "tablecloak.cta.risk.guessers")
"""All intruders who guess, by the name of what they know."""
