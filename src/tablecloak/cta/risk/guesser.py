"""Intruders who guess true values from adjusted ones: they run an adjustment backwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.registry import Registry

if TYPE_CHECKING:
    from tablecloak.cta.model.spread import Chance
    from tablecloak.tables.problem import ProtectionProblem


class Adjusted(Protocol):
    """An adjusted table beside the true one: an `Adjustment`, or a file that was read."""

    @property
    def problem(self) -> ProtectionProblem:
        """The true table."""
        ...

    @property
    def values(self) -> Floats:
        """Published values."""
        ...

    @property
    def changes(self) -> Floats:
        """Published minus true values."""
        ...

    @property
    def chance(self) -> Chance | None:
        """How far chance may have moved sensitive cells."""
        ...


class Guesser(ABC):
    """An intruder who guesses true values from adjusted ones, by what is known beforehand.

    Everybody knows the published table, the relations, the method, and which cells are sensitive.
    """

    name: ClassVar[str]

    @abstractmethod
    def distances(self, adjustment: Adjusted, assumed_level: float) -> tuple[Floats, Floats]:
        """Return how far the truth must lie below and above each published value.

        Parameters
        ----------
        adjustment : Adjusted
        assumed_level : float
            Level that an intruder without knowledge of the levels assumes, as a share of the value.

        Returns
        -------
        below, above : numpy.ndarray of float, shape (n_cells,)
            In the unit of the table; 0 where nothing is known.
        """

    def attempts(self, adjustment: Adjusted, assumed_level: float) -> list[tuple[Floats, Floats]]:
        """Return the distances of each guess that is tried, the first as of `distances`."""
        return [self.distances(adjustment, assumed_level)]

    def directions(self, adjustment: Adjusted) -> Floats | None:
        """Return the way back to each sensitive cell, +1 or -1; None if it is not known."""
        del adjustment
        return None


GUESSERS: Registry[Guesser] = Registry("knowledge", "tablecloak.cta.risk")
"""All intruders who guess, by the name of what they know."""


@GUESSERS.register
class KnowsLevels(Guesser):
    """Knows the true protection levels, and how far chance may move a cell beyond them."""

    name: ClassVar[str] = "levels"

    def distances(self, adjustment: Adjusted, assumed_level: float) -> tuple[Floats, Floats]:
        """Return the levels: a cell moved up is published its upper level above the truth."""
        del assumed_level
        return adjustment.problem.upper_protection, adjustment.problem.lower_protection

    def attempts(self, adjustment: Adjusted, assumed_level: float) -> list[tuple[Floats, Floats]]:
        """Return the levels and, where distances were left to chance, their means as well."""
        distances = [self.distances(adjustment, assumed_level)]
        chance = adjustment.chance
        if chance is not None:
            below, above = distances[0]
            distances.append((below + chance.up / 2, above + chance.down / 2))
        return distances


@GUESSERS.register
class KnowsDirections(KnowsLevels):
    """Knows the levels, and which way each sensitive cell moved, as after directions="up"."""

    name: ClassVar[str] = "directions"

    def directions(self, adjustment: Adjusted) -> Floats | None:
        """Return for each sensitive cell the direction opposite to its change."""
        changes = adjustment.changes[adjustment.problem.sensitive]
        return np.where(changes > 0, -1.0, 1.0)


@GUESSERS.register
class KnowsMethod(Guesser):
    """Knows only the method, and assumes that levels are a share of the published values."""

    name: ClassVar[str] = "method"

    def distances(self, adjustment: Adjusted, assumed_level: float) -> tuple[Floats, Floats]:
        """Return the same share of each sensitive value, below and above."""
        share = assumed_level * np.abs(adjustment.values)
        levels = np.where(adjustment.problem.sensitive, share, 0.0)
        return levels, levels
