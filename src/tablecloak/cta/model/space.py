"""All that is allowed for an adjustment in one unit: the problem, rooms, statistics, and its parts.

Everything is in it from which the bound of an adjustment is proved anew. What can move in one part
has no influence on the others, so that losses and bounds of the parts add up. A hierarchy is
connected through its total unless that is frozen; tables published side by side, or with frozen
margins, fall apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, diags_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.room import Room, first_reach, room_of
from tablecloak.cta.statistics.statistic import PreservedRow
from tablecloak.graph import components_of_cells
from tablecloak.tables.changes.change import Change
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class SeparatePart(Change):
    """The problem of one part: all other cells are frozen.

    What protects the part leaves sensitive cells of other parts as they are: a table protects the
    given problem if the moves of all parts are added up.
    """

    @classmethod
    def of(cls, given: ProtectionProblem, cells: Flags) -> SeparatePart:
        """Return the change of a problem to that of some cells.

        Parameters
        ----------
        given : ProtectionProblem
        cells : numpy.ndarray of bool, shape (n_cells,)
        """
        problem = given.within(cells)
        return cls.within(given, problem, cells=csr_array(diags_array(cells.astype(np.float64))))


def parts_of(problem: ProtectionProblem, room: Room) -> Integers:
    """Return the number of the part of each cell; -1 for cells that cannot move.

    Parameters
    ----------
    problem : ProtectionProblem
    room : Room
    """
    return components_of_cells(problem.table.relations, (room.up > 0) | (room.down > 0))


@dataclass(frozen=True, eq=False)
class AdjustmentSpace:
    """A problem in the unit in which it is solved, with costs and rooms.

    Parameters
    ----------
    problem : ProtectionProblem
        In units of the last digit, where there is one.
    weights : numpy.ndarray of float, shape (n_cells,)
        Cost of changing each cell by one unit of the given problem.
    room : Room
        How far each cell may move in the search, and how far sensitive ones must; finite.
    allowed : Room
        How far bounds, capacities and limits let each cell move; may be infinite. Where the room
        of the search is smaller, no statement may rest on it.
    reach : numpy.ndarray of float, shape (n_cells,)
        Farthest that the search moves each cell, levels apart; finite.
    preserved : tuple of PreservedRow
    distance : str
        Name of a distance.
    """

    problem: ProtectionProblem
    weights: Floats
    room: Room
    allowed: Room
    reach: Floats
    preserved: tuple[PreservedRow, ...]
    distance: str

    @classmethod
    def of(
        cls,
        problem: ProtectionProblem,
        *,
        weights: Floats,
        limit: float | None,
        whole: bool = False,
        preserved: Sequence[PreservedRow] = (),
        distance: str = "L1",
        reach: Floats | None = None,
    ) -> AdjustmentSpace:
        """Return the space of a problem.

        Parameters
        ----------
        problem : ProtectionProblem
            In the unit in which it is solved.
        weights : numpy.ndarray of float, shape (n_cells,)
        limit : float or None
            Largest change of a sensitive cell as a multiple of its level.
        whole : bool, default=False
            Whether limits are rounded down to whole numbers.
        preserved : sequence of PreservedRow
            In the unit of the problem.
        distance : str
            Name of a distance.
        reach : numpy.ndarray of float, shape (n_cells,), optional
            Farthest that the search moves each cell, in the unit of the problem; finite. By default
            `first_reach`.

        Raises
        ------
        ModelError
            If a sensitive cell can move neither up nor down far enough.
        """
        allowed = room_of(problem, limit=limit, whole=whole)
        if reach is None:
            reach = np.full(problem.table.n_cells, first_reach(problem, allowed))
        room = allowed.within(reach)
        return cls(problem, weights, room, allowed, reach, tuple(preserved), distance)

    @property
    def is_cut(self) -> bool:
        """Whether the search looks at a part of the tables only."""
        return bool(np.any(self.allowed.is_wider(self.room)))

    @cached_property
    def model(self) -> AdjustmentModel:
        """Columns, rooms and rows."""
        return AdjustmentModel.of(self.problem, self.weights, self.room, self.preserved)

    def farther(self, reach: Floats) -> AdjustmentSpace:
        """Return the space in which the search moves cells as far as `reach`; finite."""
        return replace(self, room=self.allowed.within(reach), reach=reach)

    @cached_property
    def parts(self) -> Integers:
        """Part of each cell; no relation connects parts. -1 for cells that cannot move."""
        return parts_of(self.problem, self.room)

    def part(self, cells: Flags) -> AdjustmentSpace:
        """Return the space of one part: all other cells are frozen."""
        problem = SeparatePart.of(self.problem, cells).problem
        room, allowed = self.room.of_part(cells), self.allowed.of_part(cells)
        return replace(self, problem=problem, room=room, allowed=allowed)
