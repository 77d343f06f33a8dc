"""An adjusted table, and its check against the guarantee, by sparse products alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.certificates.tree import check_bound
from tablecloak.cta.model.answer import LossBound
from tablecloak.cta.model.precision import (
    LEVEL_SHARE,
    Deviation,
    LastDigits,
    deviation,
    last_unit,
    moved_multiples,
    shortfall,
)
from tablecloak.cta.model.room import Room, near_bound
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.spread import Chance
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.cta.statistics.statistic import Condition, PreservedRow
from tablecloak.errors import CHANGED, VerificationError, listed
from tablecloak.tables.problem import ProtectionProblem

TOO_NEAR = "are too near to their true values"

STATISTICS = 1e-9
"""Accepted error of a preserved statistic, as a share of the sum of its terms."""


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
    time_limit: float = np.inf
    ran_out: bool = False

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


@dataclass(frozen=True)
class AdjustmentErrors:
    """Measurements of a check of an adjusted table, in its unit.

    Parameters
    ----------
    relations, bounds, levels : float
        Largest violation of any relation, bound or capacity, and protection level.
    preserved : float
        Largest violation of a preserved statistic, as a share of the sum of its terms; of a
        variance, as a share of it.
    exact : bool
        Whether all values are multiples of the last digit, so that the check is free of rounding.
    """

    relations: float
    bounds: float
    levels: float
    preserved: float
    exact: bool


def check_adjusted(adjusted: AdjustedTable, proved: float) -> AdjustmentErrors:
    """Check table, levels, bounds, statistics and loss of an adjusted table.

    Parameters
    ----------
    adjusted : AdjustedTable
    proved : float
        Lower bound on the loss that the certificate proves.

    Raises
    ------
    VerificationError
        Names the condition that fails, the cells, and by how much.
    """
    problem = adjusted.problem
    difference = deviation(problem.table, adjusted.values, adjusted.decimals)
    if adjusted.integer and not difference.in_last_digits:
        raise VerificationError(
            f"The table must have multiples of {adjusted.unit:g}, but some values are not. "
            f"{CHANGED}"
        )
    off = difference.relations > difference.accepted
    if np.any(off):
        worst = int(np.argmax(np.where(off, difference.relations, 0.0)))
        raise VerificationError(
            f"A relation of the adjusted table is off by {difference.relations[worst]:g}: "
            f"{problem.table.describe_relation(worst)}. {CHANGED}"
        )
    bounds = _bound_error(adjusted, difference.changes.astype(np.float64))
    _require(problem, bounds, "move beyond their bounds")
    moved = np.abs(difference.changes).astype(np.float64)
    _require(problem, np.where(problem.frozen, moved, 0.0), "are frozen but changed")
    _require(problem, shortfall(problem, difference.changes), TOO_NEAR)
    preserved = _statistics_error(adjusted, difference)
    check_bound(adjusted.bound, proved, adjusted.loss)
    return AdjustmentErrors(
        float(difference.relations.max(initial=0)),
        float(bounds.max(initial=0)),
        0.0,
        preserved,
        difference.in_last_digits,
    )


def _statistics_error(adjusted: AdjustedTable, difference: Deviation) -> float:
    """Return the largest error of a statistic.

    Raises
    ------
    VerificationError
        If one is not kept.
    """
    worst, changes = 0.0, difference.changes
    values = None if adjusted.integer else adjusted.values / adjusted.unit
    for row in adjusted.preserved:
        if isinstance(row, PreservedRow):
            error = row.error(changes / adjusted.unit, values)
        else:
            error = row.error(adjusted.problem, changes.astype(np.float64))
        if not error <= STATISTICS:
            raise VerificationError(
                f"A preserved statistic is off by {error:g} of its terms. {CHANGED}"
            )
        worst = max(worst, error)
    return worst


def _bound_error(adjusted: AdjustedTable, z: Floats) -> Floats:
    """How far each cell lies beyond its bounds, capacity or limit; 0 within the tolerance."""
    problem, x = adjusted.problem, adjusted.values
    sensitive, limit = problem.sensitive, adjusted.sensitive_limit
    outside = np.zeros(len(x))
    for bound, beyond in (
        (problem.lower_bound, problem.lower_bound - x),
        (problem.upper_bound, x - problem.upper_bound),
    ):
        outside = np.maximum(outside, np.where(beyond > near_bound(bound, x), beyond, 0.0))
    reach = [problem.capacity_up, problem.capacity_down]
    if limit is not None:
        # A limit refers to levels rounded up to the last digit.
        work, unit = adjusted.space.problem, adjusted.unit
        levels = (work.upper_protection, work.lower_protection)
        of_sensitive = [limit * level * unit for level in levels]
    else:
        of_sensitive = [np.full(len(x), np.inf)] * 2
    for sign, capacity, most_sensitive in zip((1, -1), reach, of_sensitive, strict=True):
        most = np.where(sensitive, most_sensitive, capacity)
        noise = LEVEL_SHARE * np.where(np.isfinite(most), most, 0.0) + near_bound(x, x)
        beyond = np.where(np.isinf(most), 0.0, sign * z - most)
        outside = np.maximum(outside, np.where(beyond > noise, beyond, 0.0))
    return outside


def _require(problem: ProtectionProblem, error: Floats, what: str) -> None:
    bad = np.flatnonzero(error > 0)
    if len(bad):
        raise VerificationError(
            f"{len(bad)} cells {what}: {listed(problem.table.labels(bad[:5]))} "
            f"(by up to {float(error.max()):g}). {CHANGED}",
            cells=bad,
        )
