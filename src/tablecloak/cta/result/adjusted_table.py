"""An adjusted table as far as its checks and claims read it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.cta.model.answer import LossBound
from tablecloak.cta.model.last_digits import LastDigits
from tablecloak.cta.model.precision import last_unit, moved_multiples
from tablecloak.cta.model.room import Room
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.spread import Chance
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.cta.statistics.statistic import Condition, PreservedRow
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False, repr=False)
class AdjustedTable:
    """The values of an adjusted table, what was asked of them, and how good they are.

    `tablecloak.Adjustment` describes the fields.
    """

    problem: ProtectionProblem
    values: Floats
    weights: Floats
    sensitive_limit: float | None
    preserved: tuple[PreservedRow | Condition, ...]
    bound_certificate: LossBound | None
    bound: float
    seconds: float
    decimals: int | None
    integer: bool
    notes: tuple[str, ...] = field(default=())
    distance: str = "L1"
    chance: Chance | None = None
    reach: Floats | None = None

    @property
    def changes(self) -> Floats:
        """Adjusted minus true values."""
        true = self.problem.table.values
        moved = moved_multiples(true, self.values, self.decimals)
        if moved is None:
            return self.values - true
        return np.asarray(moved * self.unit, dtype=np.float64)

    @property
    def loss(self) -> float:
        """Return the distance of adjusted and true values, such as sum w_i |z_i|."""
        return self._loss_of(np.abs(self.changes))

    def _loss_of(self, z: Floats) -> float:
        return DISTANCES[self.distance]().loss(self.weights, z)

    @property
    def space(self) -> AdjustmentSpace:
        """The space, built anew from the problem."""
        whole, problem = self.decimals is not None, self.problem
        if self.decimals is not None:
            problem = LastDigits.of(problem, self.decimals).problem
        return AdjustmentSpace.of(
            problem,
            weights=self.weights,
            limit=self.sensitive_limit,
            whole=whole,
            preserved=[row for row in self.preserved if isinstance(row, PreservedRow)],
            distance=self.distance,
            reach=self.reach,
        )

    @property
    def room(self) -> Room:
        """How far each cell may move, and sensitive cells must, in the unit of the table."""
        room, unit = self.space.allowed, self.unit
        return Room(
            up=room.up * unit,
            down=room.down * unit,
            up_level=room.up_level * unit,
            down_level=room.down_level * unit,
            may_rise=room.may_rise,
            may_fall=room.may_fall,
        )

    @property
    def unit(self) -> float:
        """Unit of rooms and preserved rows: the last digit, or 1."""
        return 1.0 if self.decimals is None else last_unit(self.decimals)
