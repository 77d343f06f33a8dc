"""An adjusted table under question: its rooms and directions, and searches of other adjustments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.cta.adjust import adjust
from tablecloak.cta.model.precision import deviation
from tablecloak.cta.model.room import Room, room_of
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.explaining.derivation import Derivation, derived
from tablecloak.explaining.known import Known
from tablecloak.explaining.numbers import shown
from tablecloak.explaining.searched import searched
from tablecloak.results import OPTIMAL
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["AdjustedQuestion", "OtherWay", "least_anywhere", "other_way", "staying"]

NOISE = 1e-9
"""Share of a level below which a change counts as none: levels are met up to as much."""


SEARCH_SHARE = 0.7
"""Share of the time that is left for one search of another adjustment."""


@dataclass(frozen=True, eq=False)
class AdjustedQuestion:
    """An adjusted table, and all that an explanation asks of it.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of float, shape (n_cells,)
    release : Adjustment or None
        The result of the search; None if the values came from elsewhere.
    budget : Budget
    """

    problem: ProtectionProblem
    values: Floats
    release: Adjustment | None
    budget: Budget

    @cached_property
    def changes(self) -> Floats:
        """Adjusted minus true values, without the rounding of doubles."""
        if self.release is not None:
            return np.asarray(self.release.changes)
        return deviation(self.problem.table, self.values).changes.astype(np.float64)

    @cached_property
    def room(self) -> Room:
        """How far each cell may move, and sensitive cells must: levels in the digits released."""
        if self.release is None:
            return room_of(self.problem, limit=None, strict=False)
        own, limit = self.release.room, self.release.sensitive_limit
        whole = room_of(self.problem, limit=limit, strict=False)
        return replace(whole, up_level=own.up_level, down_level=own.down_level)

    def forced(self, cell: int) -> Derivation | None:
        """Return the sum that bounds the change of a cell away from 0; None if nothing does."""
        sign = 1 if self.changes[cell] > 0 else -1
        end = self.known.limit(cell, -sign, self.budget.left, simple=False).end
        if sign * end <= NOISE * self.problem.unit:
            return None
        found = derived(self.known, cell, -sign, self.budget.left)
        return found if sign * float(found.limit) > 0 else None

    @property
    def can_be_priced(self) -> bool:
        """Whether another adjustment can be compared: a search made this one, by its loss alone."""
        release = self.release
        return release is not None and not release.preserved and release.chance is None

    @cached_property
    def known(self) -> Known:
        """What must hold for the changes: rooms, and the directions of the release."""
        room, changes = self.room, self.changes
        slack = NOISE * self.problem.unit
        up = self.problem.sensitive & (changes >= room.up_level - slack) & (changes > 0)
        down = self.problem.sensitive & (-changes >= room.down_level - slack) & (changes < 0)
        lower = np.where(up, room.up_level, -room.down)
        upper = np.where(down, -room.down_level, room.up)
        # Values from elsewhere may pass a capacity: then it is no condition that they met.
        table, unit = self.problem.table, self.problem.unit
        lower, upper = np.minimum(lower, changes), np.maximum(upper, changes)
        return Known(table, lower, upper, changes, unit, are_changes=True)


@dataclass(frozen=True, eq=False)
class OtherWay:
    """What another place for this cell would take: the other direction, or its true value.

    Parameters
    ----------
    excluded : Derivation or None
        The sum that excludes it while the other sensitive cells keep their directions.
    loss, bound : float
        Loss of the best such adjustment found, with a proved bound on all of them; infinite and 0
        if none was found or searched.
    """

    excluded: Derivation | None
    loss: float = np.inf
    bound: float = 0.0

    def price(self, loss: float) -> str:
        """Say what it would cost, beside the loss of the release."""
        if self.loss - self.bound <= OPTIMAL * self.loss:
            return f"the least loss would be {shown(self.loss)} (proved), instead of {shown(loss)}"
        return (
            f"the loss would be at least {shown(self.bound)} and at most {shown(self.loss)}, "
            f"instead of {shown(loss)}"
        )

    def facts(self) -> dict[str, Any]:
        """Return the same as plain numbers."""
        return {
            "is_excluded": self.excluded is not None,
            "sum": None if self.excluded is None else self.excluded.to_dict(),
            "loss": self.loss if np.isfinite(self.loss) else None,
            "bound": self.bound,
        }


def other_way(asked: AdjustedQuestion, cell: int, *, with_price: bool) -> OtherWay | None:
    """Return what moving a sensitive cell in the other direction would take."""
    change, room = asked.changes[cell], asked.room
    if not change:
        return None
    sign = 1 if change > 0 else -1
    needed = (room.down_level if sign > 0 else room.up_level)[cell]
    may = (room.may_fall if sign > 0 else room.may_rise)[cell]
    reach = (room.down if sign > 0 else room.up)[cell]
    if not may or reach < needed:
        return None
    free = np.array([cell]), np.array([-room.down[cell]]), np.array([room.up[cell]])
    turned, most = asked.known.with_ends(*free), -needed * (1 - NOISE)
    # The sum is looked for only where the end says that there is one to tell.
    if sign * turned.limit(cell, -sign, asked.budget.left, simple=False).end > most:
        bound = derived(turned, cell, -sign, asked.budget.left)
        if sign * float(bound.limit) > most:
            return OtherWay(bound)
    if not (with_price and asked.can_be_priced):
        return OtherWay(None)
    directions = np.where(asked.changes > 0, 1, -1)
    directions[cell] *= -1
    return _priced(asked, asked.problem, directions[asked.problem.sensitive])


def staying(asked: AdjustedQuestion, cell: int) -> OtherWay | None:
    """Search the best adjustment that leaves a cell at its true value."""
    if not asked.can_be_priced:
        return None
    status = asked.problem.status.copy()
    status[cell] = "z"
    return _priced(asked, asked.problem.with_changes(status=status), "search")


def _priced(asked: AdjustedQuestion, problem: ProtectionProblem, directions: Any) -> OtherWay:
    assert asked.release is not None
    release = asked.release
    found = _adjusted(asked, problem, release.weights, release.distance, directions)
    return OtherWay(None) if found is None else OtherWay(None, found.loss, found.bound)


def least_anywhere(asked: AdjustedQuestion, cell: int) -> float | None:
    """Return a proved lower bound on the move of a cell in any adjustment."""
    weights = np.zeros(asked.problem.table.n_cells)
    weights[cell] = 1.0
    found = _adjusted(asked, asked.problem, weights, "L1", "search")
    return None if found is None else found.bound


def _adjusted(
    asked: AdjustedQuestion,
    problem: ProtectionProblem,
    weights: Floats,
    distance: str,
    directions: Any,
) -> Adjustment | None:
    """Search an adjustment within the time that is left; None if none was found."""
    release = asked.release
    return searched(
        asked.budget,
        SEARCH_SHARE,
        lambda budget: adjust(
            problem,
            weights=weights,
            distance=distance,
            directions=directions,
            sensitive_limit=None if release is None else release.sensitive_limit,
            integer=None if release is None or release.integer else False,
            time_limit=budget.left,
            progress=budget.progress,
            threads=budget.threads,
        ),
    )
