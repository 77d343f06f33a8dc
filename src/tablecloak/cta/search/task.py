"""The arguments of `adjust`, checked once and prepared as spaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Floats
from tablecloak.cta.model.model import Directions
from tablecloak.cta.model.precision import LastDigits, check_required, last_digit
from tablecloak.cta.model.room import Room, room_of
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.search.conditions import SearchedStatistic
from tablecloak.cta.search.distance import DISTANCES, Distance, names_with
from tablecloak.cta.statistics.preserve import parse
from tablecloak.cta.statistics.statistic import Condition, PreservedRow, Statistic
from tablecloak.errors import InputError, ModelError
from tablecloak.tables.changes.change import Change
from tablecloak.tables.changes.derived_figures import require_no_figures
from tablecloak.tables.changes.earlier_releases import Published
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights import WeightRule

PLAIN_SHARE = 0.4
"""Share of the time for the least adjustment where distances are left to chance: it gives the
bound, and shows what chance costs. Chosen by trial; not measured."""


@dataclass(frozen=True, eq=False)
class AdjustmentTask:
    """What is asked for.

    Parameters
    ----------
    problem : ProtectionProblem
    weights : numpy.ndarray of float, shape (n_cells,)
    distance : Distance
    statistics : tuple of Statistic
    sensitive_limit : float or None
    directions : {"search", "up", "down"} or array
    integer : bool or None
    repair : bool or None
        Whether levels and capacities may give way where there is no table; None if not even an
        error is to name them.
    recovery : float or None
        Largest share of the sensitive cells to be guessed; None to leave nothing to chance.
    seed : int or None
        Of what is left to chance.
    decimals : int or None
        Last digit of the adjusted values; None for real numbers.
    notes : tuple of str
        What a result says of changes of the problem.
    """

    problem: ProtectionProblem
    weights: Floats
    distance: Distance
    statistics: tuple[Statistic, ...]
    sensitive_limit: float | None
    directions: Directions
    integer: bool | None
    repair: bool | None = False
    recovery: float | None = None
    seed: int | None = None
    decimals: int | None = None
    notes: tuple[str, ...] = ()

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
        repair: bool = False,
        recovery: float | None = None,
        seed: int | None = None,
        published: object = (),
    ) -> AdjustmentTask:
        """Check the arguments of a caller.

        Raises
        ------
        InputError
            If an argument is unknown, out of range, or conflicts with another.
        ModelError
            If both levels of a sensitive cell are 0.
        """
        earlier = Published.parse(published)
        problem = problem if earlier is None else earlier.kept_beside(problem).problem
        check_required(problem)
        require_no_figures(problem, "An adjustment")
        kind = DISTANCES[distance]
        task = cls(
            problem,
            cost_of(problem, weights),
            kind(),
            tuple(parse(preserve, problem)),
            sensitive_limit,
            directions,
            integer,
            repair,
            recovery,
            seed,
        )
        _check(task)
        if task.may_be_whole:
            task = replace(task, decimals=0 if integer else last_digit(problem.table))
        return task

    @property
    def is_free(self) -> bool:
        """Whether directions are searched."""
        return isinstance(self.directions, str) and self.directions == "search"

    @property
    def searched(self) -> list[SearchedStatistic]:
        """Statistics that rows do not express."""
        return [
            statistic for statistic in self.statistics if isinstance(statistic, SearchedStatistic)
        ]

    @property
    def may_be_whole(self) -> bool:
        """Whether multiples of a last digit may be sought."""
        return self.integer is not False and not self.searched and self.distance.has_whole_numbers

    @property
    def has_two_values(self) -> bool:
        """Whether sensitive cells go to one of two whole numbers each, in a free direction."""
        return bool(self.integer) and self.is_free and self.sensitive_limit == 1

    @property
    def conditions(self) -> list[Condition]:
        """What rows do not express."""
        return [one for statistic in self.statistics for one in statistic.conditions(self.problem)]

    @cached_property
    def digits(self) -> Change:
        """The change of the problem to units of the last digit, where there is one."""
        if self.decimals is None:
            return Change.within(self.problem, self.problem)
        return LastDigits.of(self.problem, self.decimals)

    def rows(self, problem: ProtectionProblem, *, whole: bool) -> list[PreservedRow]:
        """Return the rows that preserve all statistics, in the unit of a problem."""
        return [
            row for statistic in self.statistics for row in statistic.rows(problem, integer=whole)
        ]

    @property
    def plain_share(self) -> float:
        """Share of the time for the least adjustment."""
        return 1.0 if self.recovery is None else PLAIN_SHARE

    def of_problem(self, change: Change, **options: Any) -> AdjustmentTask:
        """Return the task for the problem that a change makes, with other options if need be."""
        return replace(self, problem=change.problem, **options)

    def in_real_numbers(self) -> AdjustmentTask:
        """Ask the same without a last digit."""
        return replace(self, decimals=None)

    def space(self) -> AdjustmentSpace:
        """Return the space in units of the last digit, where there is one."""
        whole, problem = self.decimals is not None, self.digits.problem
        preserved = self.rows(problem, whole=whole)
        return AdjustmentSpace.of(
            problem,
            weights=self.weights,
            limit=self.sensitive_limit,
            whole=whole,
            preserved=preserved,
            distance=self.distance.name,
        )

    @property
    def may_need_real_numbers(self) -> bool:
        """Whether there may be a table in real numbers where there is none in last digits."""
        return self.decimals is not None and not self.integer and not self.is_in_last_digits

    @property
    def holds_in_real_numbers(self) -> bool:
        """Whether an answer in units of the last digit that is not whole is one in real numbers.

        A limit is a multiple of a level, which is rounded up, and a slope is kept to half a digit.
        """
        if self.decimals is None:
            return True
        if self.sensitive_limit is not None and not self.is_in_last_digits:
            return False
        whole, real = (self.rows(self.digits.problem, whole=whole) for whole in (True, False))
        return all(one.slack <= other.slack for one, other in zip(whole, real, strict=True))

    @property
    def is_in_last_digits(self) -> bool:
        """Whether levels and rooms are multiples of the last digit without rounding."""
        limit = self.sensitive_limit
        try:
            fine = room_of(self.problem, limit=limit, strict=False)
            coarse = room_of(self.digits.problem, limit=limit, whole=True, strict=False)
        except ModelError:
            return False
        unit = self.digits.unit
        pairs = zip(_lengths(fine), _lengths(coarse), strict=True)
        return all(
            np.allclose(one, other * unit, rtol=1e-12, atol=1e-9 * unit) for one, other in pairs
        )


def _lengths(room: Room) -> tuple[Floats, Floats, Floats, Floats]:
    return room.up, room.down, room.up_level, room.down_level


def _check(task: AdjustmentTask) -> None:
    """Refuse arguments that conflict."""
    distance, limit, searched = task.distance, task.sensitive_limit, task.searched
    if task.integer and not distance.has_whole_numbers:
        raise InputError(
            f"Whole numbers are offered for the {names_with('has_whole_numbers')} only. Leave out "
            f"`integer`, or change `distance`."
        )
    if task.integer and not task.problem.table.integer:
        raise InputError(
            "`integer` asks for whole numbers, but the true values are not whole. Leave it out: "
            "adjusted values then get the decimals of the true ones."
        )
    if limit is not None and not limit >= 1:
        raise InputError(f"`sensitive_limit` must be at least 1. Got {limit!r}.")
    if task.repair and not task.is_free:
        raise InputError(
            "`repair` and `directions` exclude each other, since a repair chooses directions "
            "itself. Leave out one of the two."
        )
    if task.recovery is not None:
        _check_chance(task, task.recovery)
    if not searched:
        return
    name = searched[0].name
    alone = [statistic for statistic in searched if not statistic.is_joint]
    if len(searched) > 1 and alone:
        name = alone[0].name
        raise InputError(
            f"Only one {name} can be preserved, and nothing else that needs a search, but "
            f"{len(searched)} are named. Name one, or preserve slopes, of which there may be "
            f"several."
        )
    if task.integer:
        raise InputError(
            f"A {name} cannot be preserved in whole numbers. Leave out `integer`, or preserve "
            f"the slope instead."
        )
    if not distance.keeps_conditions:
        raise InputError(
            f"A {name} is preserved with the {names_with('keeps_conditions')} only. Change "
            f"`distance`, or preserve the slope, which every distance can."
        )


def _check_chance(task: AdjustmentTask, recovery: float) -> None:
    """Refuse what cannot be had together with random distances."""
    if not 0 < recovery < 1:
        raise InputError(
            f"`recovery` is the largest share of the sensitive cells to be guessed, between 0 and "
            f"1, such as 0.1. Got {recovery!r}."
        )
    if task.repair or not task.is_free or task.sensitive_limit is not None:
        raise InputError(
            "`recovery` chooses directions and distances itself. Leave out `directions`, "
            "`sensitive_limit` and `repair`."
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
        raise InputError(
            "`weights` must be a rule, or one finite number >= 0 for each cell. Got an array of "
            f"shape {cost.shape} for {problem.table.n_cells} cells"
            f"{'' if np.all(np.isfinite(cost) & (cost >= 0)) else ', with others among them'}."
        )
    return cost
