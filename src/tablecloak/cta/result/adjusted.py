"""The part of an adjusted table that lower modules use."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from tablecloak.arrays import Floats
from tablecloak.cta.model.answer import LossBound
from tablecloak.cta.model.room import Room
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.statistics.statistic import Condition, PreservedRow
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Adjusted"]


class Adjusted(Protocol):
    """An adjusted table, a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def problem(self) -> ProtectionProblem:
        """True table, levels, bounds."""

    @property
    def values(self) -> Floats:
        """Adjusted values."""

    @property
    def changes(self) -> Floats:
        """Adjusted minus true values."""

    @property
    def weights(self) -> Floats:
        """Cost of changing each cell by one unit."""

    @property
    def room(self) -> Room:
        """How far each cell may move, and how far sensitive cells must."""

    @property
    def preserved(self) -> tuple[PreservedRow | Condition, ...]:
        """Rows on changes in units of the last digit."""

    @property
    def distance(self) -> str:
        """Name of the distance."""

    @property
    def sensitive_limit(self) -> float | None:
        """Largest change of a sensitive cell, as a multiple of its level."""

    @property
    def decimals(self) -> int | None:
        """Last digit to which levels and rooms were rounded."""

    @property
    def integer(self) -> bool:
        """Whether all values had to be multiples of the last digit."""

    @property
    def space(self) -> AdjustmentSpace:
        """The space, built anew from the problem."""

    @property
    def bound_certificate(self) -> LossBound | None:
        """Proof of the bound."""

    @property
    def unit(self) -> float:
        """Unit of preserved rows."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the search."""

    @property
    def bound(self) -> float:
        """Proved lower bound."""

    @property
    def loss(self) -> float:
        """Loss of the values."""

    def verify(self) -> object:
        """Check the table."""
