"""How far cells may move, and how far sensitive ones must: alone, and coupled with others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.cta.model.precision import ULPS
from tablecloak.errors import ModelError, listed
from tablecloak.tables.coupling import CoupledCells
from tablecloak.tables.problem import ProtectionProblem

FAR_VALUES, FAR_LEVELS = 10.0, 100.0
"""Multiples of the largest value and of the sum of all levels beyond which a search looks for no
table at first. Chosen by trial; not measured. Nothing that is claimed rests on them."""

LARGEST_RATIO = 1e6
"""Largest ratio of coefficients in a relation that extends this distance: a cell in grams moves a
million times as far as one in tonnes."""


@dataclass(frozen=True, eq=False)
class Room:
    """How far each cell may move, and how far sensitive cells must.

    Parameters
    ----------
    up, down : numpy.ndarray of float, shape (n_cells,)
        Largest change in each direction; 0 for frozen cells.
    up_level, down_level : numpy.ndarray of float, shape (n_cells,)
        UPL and LPL of sensitive cells, 0 for others.
    may_rise, may_fall : numpy.ndarray of bool, shape (n_cells,), optional
        Whether a sensitive cell is safe above and below: where its level is not 0. By default
        both for all cells.
    """

    up: Floats
    down: Floats
    up_level: Floats
    down_level: Floats
    may_rise: Flags = None  # type: ignore[assignment]
    may_fall: Flags = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("may_rise", "may_fall"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.ones(len(self.up), dtype=bool))

    @property
    def is_stuck(self) -> Flags:
        """Which cells can move neither up nor down as far as they must."""
        can_rise = self.may_rise & (self.up >= self.up_level)
        can_fall = self.may_fall & (self.down >= self.down_level)
        stuck: Flags = ~can_rise & ~can_fall
        return stuck

    def within(self, reach: Floats | float) -> Room:
        """Return the room in which no cell moves farther than a distance, or than its level."""
        return replace(
            self,
            up=np.minimum(self.up, np.maximum(reach, self.up_level)),
            down=np.minimum(self.down, np.maximum(reach, self.down_level)),
        )

    def is_wider(self, other: Room) -> Flags:
        """Which cells can move farther here than in another room."""
        wider: Flags = (self.up > other.up) | (self.down > other.down)
        return wider

    def of_part(self, cells: Flags) -> Room:
        """Return the room if all other cells are frozen."""
        return replace(
            self,
            up=np.where(cells, self.up, 0.0),
            down=np.where(cells, self.down, 0.0),
            up_level=np.where(cells, self.up_level, 0.0),
            down_level=np.where(cells, self.down_level, 0.0),
        )


def room_of(
    problem: ProtectionProblem, *, limit: float | None, whole: bool = False, strict: bool = True
) -> Room:
    """Combine bounds, capacities and limits.

    Parameters
    ----------
    problem : ProtectionProblem
    limit : float or None
        Largest change of a sensitive cell as a multiple of its level, at least 1; None leaves
        it to the external bounds.
    whole : bool, default=False
        Whether changes are whole numbers, so that limits are rounded down.
    strict : bool, default=True
        Whether every sensitive cell must be able to move far enough one way.

    Raises
    ------
    ModelError
        If a sensitive cell can move neither up nor down far enough; names the cells.
    """
    values, sensitive = problem.table.values, problem.sensitive
    up_level = np.where(sensitive, problem.upper_protection, 0.0)
    down_level = np.where(sensitive, problem.lower_protection, 0.0)
    up = _distance(problem.upper_bound, values, up_level)
    down = _distance(problem.lower_bound, values, down_level)
    up = np.where(sensitive, up, np.minimum(up, problem.capacity_up))
    down = np.where(sensitive, down, np.minimum(down, problem.capacity_down))
    if limit is not None:
        up = np.where(sensitive, np.minimum(up, limit * up_level), up)
        down = np.where(sensitive, np.minimum(down, limit * down_level), down)
        if whole:
            up, down = np.floor(up), np.floor(down)
    up, down = np.where(problem.frozen, 0.0, up), np.where(problem.frozen, 0.0, down)
    may_rise, may_fall = ~sensitive | (up_level > 0), ~sensitive | (down_level > 0)
    room = Room(up, down, up_level, down_level, may_rise, may_fall)
    stuck = np.flatnonzero(sensitive & room.is_stuck)
    if strict and len(stuck):
        raise ModelError(
            f"{len(stuck)} sensitive cells can move neither up nor down as far as their protection "
            f"levels ask (a side whose level is 0 does not count): "
            f"{listed(problem.table.labels(stuck[:5]))}. Widen their external bounds or lower "
            f"their levels.",
            cells=stuck,
        )
    return room


def _distance(bound: Floats, values: Floats, level: Floats) -> Floats:
    """Distance to a bound, at least the level if the level exceeds it by rounding only."""
    distance = np.abs(bound - values)
    near = (distance < level) & (distance >= level - near_bound(bound, values))
    reach: Floats = np.where(near, level, distance)
    return reach


def coupled_room(problem: ProtectionProblem, room: Room) -> tuple[CoupledCells, Room]:
    """Find cells that can only move together, and how far they can and must.

    Raises
    ------
    ModelError
        If a sensitive cell is coupled with others in such a way that it cannot move as far as its
        levels ask.
    """
    movable = (room.up > 0) | (room.down > 0) | problem.sensitive
    coupled = CoupledCells.find(problem.table.relations, movable, problem.sensitive)
    up, down = coupled.least(room.up, room.down)
    up_level, down_level = coupled.largest(room.up_level, room.down_level)
    may_rise, may_fall = coupled.everywhere(room.may_rise, room.may_fall)
    # If one cell of a group is not safe on a side, the group cannot move there.
    up_level, down_level = np.where(may_rise, up_level, 0.0), np.where(may_fall, down_level, 0.0)
    together = Room(up, down, up_level, down_level, may_rise, may_fall)
    stuck = np.append(together.is_stuck, True)[coupled.group] & problem.sensitive
    if np.any(stuck):
        cells = np.flatnonzero(stuck)
        raise ModelError(
            f"{len(cells)} sensitive cells cannot move as far as their protection levels ask. "
            f"Where nothing else in a relation can change, they are coupled with cells that "
            f"cannot: {listed(problem.table.labels(cells[:5]))}. Lower their levels, or widen "
            f"bounds or capacities in their relations.",
            cells=cells,
        )
    return coupled, together


def sensitive_groups(problem: ProtectionProblem, coupled: CoupledCells) -> Integers:
    """Return the groups with sensitive cells."""
    groups = np.unique(coupled.group[problem.sensitive])
    return groups[groups >= 0]


def first_reach(problem: ProtectionProblem, room: Room) -> float:
    """Return a finite distance within which a search looks for a table first.

    A cut of rooms may steer a search. No bound and no "impossible" may rest on one: see
    `AdjustmentSpace`.
    """
    levels = np.concatenate([room.up_level, room.down_level])
    largest = float(np.abs(problem.table.values).max(initial=0))
    far = FAR_VALUES * largest + FAR_LEVELS * float(levels.sum())
    return far * min(_largest_ratio(problem), LARGEST_RATIO)


def _largest_ratio(problem: ProtectionProblem) -> float:
    """Return the largest ratio of absolute coefficients in one relation."""
    relations = problem.table.relations
    full = np.flatnonzero(np.diff(relations.indptr))
    if not len(full):
        return 1.0
    size, starts = np.abs(relations.data), relations.indptr[full]
    smallest = np.minimum.reduceat(np.where(size > 0, size, np.inf), starts)
    return float(np.max(np.maximum.reduceat(size, starts) / smallest, initial=1.0))


def near_bound(bound: Floats, values: Floats) -> Floats:
    """Return by how much a value may lie beyond its bound: rounding of these two numbers."""
    finite = np.where(np.isfinite(bound), bound, 0.0)
    accepted: Floats = ULPS * np.spacing(np.maximum(np.abs(finite), np.abs(values)))
    return accepted
