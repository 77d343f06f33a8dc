"""Measures by which releases are compared: what an intruder gets, and what the analyst gets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from tablecloak.arrays import Flags, Floats
from tablecloak.cta.risk.risk import TruthGuesses
from tablecloak.registry import Registry


@dataclass(frozen=True, eq=False)
class Seen:
    """What an analyst has of a table.

    Parameters
    ----------
    truth, shown : numpy.ndarray of float, shape (n_cells,)
        True values, and what the analyst uses: midpoints of suppressed cells.
    sensitive, exact : numpy.ndarray of bool, shape (n_cells,)
    lost : numpy.ndarray of float, shape (n_cells,)
        How much of each value is suppressed, or changed.
    """

    truth: Floats
    shown: Floats
    sensitive: Flags
    exact: Flags
    lost: Floats


class RiskMeasure(ABC):
    """What an intruder gets."""

    name: ClassVar[str]
    place: ClassVar[int]
    note: ClassVar[str]
    """What the figures mean, for the page."""

    @abstractmethod
    def figures(self, guesses: TruthGuesses) -> dict[str, float]:
        """Return the figures by their names."""


class UtilityMeasure(ABC):
    """What the analyst gets."""

    name: ClassVar[str]
    place: ClassVar[int]
    note: ClassVar[str]
    """What the figures mean, for the page."""

    @abstractmethod
    def figures(self, seen: Seen) -> dict[str, float]:
        """Return the figures by their names."""


RISKS: Registry[RiskMeasure] = Registry(
    "measure of risk", "tablecloak.comparison.measures", order=lambda measure: measure.place
)
"""All measures of risk by name."""

UTILITIES: Registry[UtilityMeasure] = Registry(
    "measure of utility", "tablecloak.comparison.measures", order=lambda measure: measure.place
)
"""All measures of utility by name."""
