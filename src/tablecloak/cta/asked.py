"""What a caller of `adjust` asks for, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tablecloak.cta.distances.distance import DISTANCES, Distance, names_with
from tablecloak.cta.model import AdjustmentModel
from tablecloak.cta.precision import check_required, in_last_digits, last_digit, last_unit
from tablecloak.cta.preserve import parse
from tablecloak.cta.question import Question
from tablecloak.cta.room import Room, room_of
from tablecloak.cta.search.conditions import SearchedStatistic
from tablecloak.cta.statistics.statistic import Condition, PreservedRow, Statistic
from tablecloak.errors import InputError, ModelError, listed
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights.rule import WeightRule

__all__ = ["Asked", "Directions", "cost_of", "fixed_directions"]

Floats = npt.NDArray[np.float64]
Directions = Literal["search", "up", "down"] | npt.ArrayLike


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked for besides the problem.

    Parameters
    ----------
    weights : numpy.ndarray of float, shape (n_cells,)
    distance : Distance
    statistics : tuple of Statistic
    sensitive_limit : float or None
    directions : {"search", "up", "down"} or array
    integer : bool or None
    """

    weights: Floats
    distance: Distance
    statistics: tuple[Statistic, ...]
    sensitive_limit: float | None
    directions: Directions
    integer: bool | None

    @classmethod
    def of(
        cls,
        problem: ProtectionProblem,
        *,
        weights: WeightRule | str | npt.ArrayLike,
        distance: str,
        preserve: Sequence[Statistic | str],
        sensitive_limit: float | None,
        directions: Directions,
        integer: bool | None,
    ) -> Asked:
        """Check what a caller gave.

        Raises
        ------
        InputError
            If something is unknown, out of range, or does not go together.
        ModelError
            If both levels of a sensitive cell are 0.
        """
        check_required(problem)
        kind = DISTANCES[distance]
        asked = cls(
            cost_of(problem, weights),
            kind(),
            tuple(parse(preserve, problem)),
            sensitive_limit,
            directions,
            integer,
        )
        _check(problem, asked)
        return asked

    @property
    def is_free(self) -> bool:
        """Whether directions are searched."""
        return isinstance(self.directions, str) and self.directions == "search"

    @property
    def searched(self) -> list[SearchedStatistic]:
        """Statistics that rows do not express."""
        return [each for each in self.statistics if isinstance(each, SearchedStatistic)]

    def decimals(self, problem: ProtectionProblem) -> int | None:
        """Last digit of the adjusted values; None for real numbers."""
        if self.integer:
            return 0
        if self.integer is False or self.searched or not self.distance.has_whole_numbers:
            return None
        return last_digit(problem.table)

    def wants_whole(self, problem: ProtectionProblem) -> bool:
        """Whether whole multiples of the unit of a problem are sought."""
        if self.integer is False or self.searched or not self.distance.has_whole_numbers:
            return False
        return bool(problem.table.integer)

    def rows(self, problem: ProtectionProblem, *, whole: bool) -> list[PreservedRow]:
        """Return the rows that preserve all statistics, in the unit of a problem."""
        return [row for each in self.statistics for row in each.rows(problem, integer=whole)]

    def conditions(self, problem: ProtectionProblem) -> list[Condition]:
        """Return what rows do not express."""
        return [one for each in self.statistics for one in each.conditions(problem)]

    def question(self, problem: ProtectionProblem, decimals: int | None) -> Question:
        """Ask in units of the last digit, or as it is if there is none."""
        work = problem if decimals is None else in_last_digits(problem, decimals)
        return Question.of(
            problem,
            decimals=decimals,
            weights=self.weights,
            limit=self.sensitive_limit,
            preserved=self.rows(work, whole=decimals is not None),
            distance=self.distance.name,
        )

    def is_in_last_digits(self, problem: ProtectionProblem, decimals: int) -> bool:
        """Whether levels and rooms are multiples of the last digit as they are."""
        limit, work = self.sensitive_limit, in_last_digits(problem, decimals)
        try:
            fine = room_of(problem, limit=limit, strict=False)
            coarse = room_of(work, limit=limit, whole=True, strict=False)
        except ModelError:
            return False
        unit = last_unit(decimals)
        pairs = zip(_lengths(fine), _lengths(coarse), strict=True)
        return all(
            np.allclose(one, other * unit, rtol=1e-12, atol=1e-9 * unit) for one, other in pairs
        )


def _lengths(room: Room) -> tuple[Floats, Floats, Floats, Floats]:
    return room.up, room.down, room.up_level, room.down_level


def _check(problem: ProtectionProblem, asked: Asked) -> None:
    """Refuse what does not go together."""
    distance, limit, searched = asked.distance, asked.sensitive_limit, asked.searched
    if asked.integer and not distance.has_whole_numbers:
        raise InputError(
            f"Whole numbers are offered for the {names_with('has_whole_numbers')} only."
        )
    if asked.integer and not problem.table.integer:
        raise InputError("`integer` asks for whole numbers, but the true values are not whole.")
    if limit is not None and not limit >= 1:
        raise InputError(f"`sensitive_limit` must be at least 1. Got {limit!r}.")
    if not searched:
        return
    name = searched[0].name
    if len(searched) > 1:
        raise InputError(f"Only one {name} can be preserved; the slope of any number of subsets.")
    if asked.integer:
        raise InputError(
            f"A {name} cannot be preserved in whole numbers. Leave out `integer`, or preserve "
            f"the slope instead."
        )
    if not distance.keeps_conditions:
        raise InputError(
            f"A {name} is preserved with the {names_with('keeps_conditions')} only; the slope "
            f"with all of them."
        )


def cost_of(problem: ProtectionProblem, weights: WeightRule | str | npt.ArrayLike) -> Floats:
    """Return the cost of changing each cell by one unit.

    Raises
    ------
    InputError
        If `weights` is no rule, and not one finite number >= 0 for each cell.
    """
    if isinstance(weights, WeightRule | str):
        return WeightRule(weights).of(problem)
    cost = np.asarray(weights, dtype=np.float64)
    if cost.shape != problem.table.values.shape or not np.all(np.isfinite(cost) & (cost >= 0)):
        raise InputError("`weights` must be a rule, or one finite number >= 0 for each cell.")
    return cost


def fixed_directions(model: AdjustmentModel, given: Directions) -> Floats | None:
    """Return the direction of each sensitive group, None if they are to be searched.

    Raises
    ------
    InputError
        If `directions` is not understood.
    ModelError
        If a cell cannot move in its direction; names the cells.
    """
    low, high = model.allowed()
    if isinstance(given, str):
        if given not in ("search", "up", "down"):
            raise InputError(
                f"`directions` must be 'search', 'up', 'down' or an array. Got {given!r}."
            )
        return {"search": None, "up": high, "down": low}[given]
    signs = np.asarray(given, dtype=np.float64)
    sensitive = np.flatnonzero(model.problem.sensitive)
    if signs.shape != sensitive.shape or not np.all(np.abs(signs) == 1):
        raise InputError(
            f"`directions` must hold +1 or -1 for each of the {len(sensitive)} sensitive cells."
        )
    each = np.zeros(model.problem.table.n_cells)
    each[sensitive] = signs
    y = model.directions_of(each)
    together = np.zeros(model.n_groups)
    together[model.sensitive] = np.where((y < low) | (y > high), 0.0, 2 * y - 1)
    moved = model.coupled.spread @ together
    wrong = sensitive[(moved != each)[sensitive] & (model.coupled.group[sensitive] >= 0)]
    if len(wrong):
        raise ModelError(
            f"{len(wrong)} sensitive cells cannot move in the given direction as far as their "
            f"levels ask, or not together with cells that relations couple them with: "
            f"{listed(model.problem.table.labels(wrong[:5]))}.",
            cells=wrong,
        )
    return y
