"""The intruder's program: how far a suppressed cell can move, given everything published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.attack.least_moves import LeastMoves
from tablecloak.suppression.attack.moves_program import Extreme, MovesProgram
from tablecloak.suppression.system.system import CoupledSystem, System


class Attack:
    """max or min of d_p over A d = 0, share * low <= d <= share * high.

    The share of a cell is 1 if it is suppressed, 0 if it is published, and lies between in
    the relaxation of the exact method. The program stays in memory; only costs and bounds
    change. Its unit of length is the median protection level, or the need of the attacked cell if
    that is of another order of magnitude. Cells that can only move together are one column.

    Parameters
    ----------
    system : System
    only_pushed : bool, default=False
        Promise that only `push` is called, which needs no vertices; on tables of hundreds of
        thousands of cells a program then takes seconds instead of minutes.
    checked : bool, default=True
        As for `LinearSolver`. If False, the limit of an extreme is inf.
    coupled : CoupledSystem, optional
        Which cells share one column; by default all that the rows couple.
    """

    def __init__(
        self,
        system: System,
        *,
        only_pushed: bool = False,
        checked: bool = True,
        coupled: CoupledSystem | None = None,
    ) -> None:
        self.system = system
        self._low, self._high = system.low, system.high
        self._share = np.ones(system.n_unknown)
        self._cap = np.inf
        self._coupled = coupled or CoupledSystem.of(system)
        # Answers by column and direction: they hold for all sensitive cells that move together.
        self._ends: dict[tuple[int, int], Extreme] = {}
        self._nearest: tuple[Integers, Integers] | None = None
        self._least: LeastMoves | None = None
        self._program = MovesProgram(
            self._coupled.matrix,
            self._coupled.room(*self._room()),
            system.unit,
            only_pushed=only_pushed,
            checked=checked,
        )

    @property
    def programs(self) -> int:
        """Number of programs solved so far."""
        return self._program.programs + (self._least.programs if self._least else 0)

    def hide(self, share: Floats | Flags) -> None:
        """Set which cells are suppressed, by a flag or a share for each cell."""
        self._share = np.asarray(share, dtype=np.float64)
        self._leave()

    @contextmanager
    def sparing_rooms(self, share: float) -> Iterator[None]:
        """Leave the rooms of derived figures only a share of what they have, for a while."""
        before = self._share
        self.hide(np.where(self.system.rooms, share * before, before))
        try:
            yield
        finally:
            self.hide(before)

    def cap(self, distance: float) -> None:
        """Cap the moves of all suppressed cells, whatever their room; inf removes the cap.

        A cap at the level costs nothing: rows cut their coefficients at the level anyway.
        """
        if distance != self._cap:
            self._cap = distance
            self._leave(restart=False)

    def know(self, system: System) -> None:
        """Attack as an intruder who knows the bounds of another system over the same cells."""
        self._low, self._high = system.low, system.high
        self._leave()

    def extreme(
        self,
        cell: int,
        sign: int,
        *,
        enough: float = np.inf,
        time_limit: float = np.inf,
        nearby: bool = False,
    ) -> Extreme:
        """Move one cell as far as possible, up (sign = 1) or down (sign = -1).

        Parameters
        ----------
        cell : int
            Position in the system.
        sign : {1, -1}
        enough : float, default=inf
            Distance at which the search may stop.
        time_limit : float, default=inf
            Time limit in seconds.
        nearby : bool, default=False
            Let no cell move by more than a thousand times `enough`, if that suffices. A vertex may
            move unrelated cells so far that rounding errors exceed the move of this cell.
        """
        cells, needs = self._coupled.cells, self.system.needs
        column, turn = int(cells.group[cell]), sign * int(cells.sign[cell])
        if column < 0:
            none = np.zeros(len(self._coupled.rows))
            return Extreme(np.zeros(0), 0.0, 0.0, self._multipliers(none, cell, sign))
        found, asked = self._ends.get((column, turn)), 0.0
        if found is None or nearby:
            if (index := int(self.system.need_of[cell])) >= 0:
                asked = max(needs.upper[index], needs.lower[index], needs.width[index])
            found = self._program.extreme(
                column, turn, float(asked), enough=enough, time_limit=time_limit, nearby=nearby
            )
            is_end = found.limit < enough * (1 - 1e-9) and found.limit <= found.reach * (1 + 1e-6)
            if is_end and self._coupled.n_needs[column] > 1:
                self._ends[column, turn] = found
        # A search that stops at a distance proves nothing beyond it.
        limit = found.limit if found.limit < enough * (1 - 1e-9) else np.inf
        return replace(
            found,
            limit=limit,
            deviation=self._coupled.deviation(found.deviation),
            duals=self._multipliers(found.duals, cell, sign),
        )

    def least(self, cell: int, sign: int, distance: float, time_limit: float = np.inf) -> Floats:
        """Move one cell by a distance and the others as little as possible in sum.

        Returns the deviation found, which moves few cells, or an empty array. It proves nothing if
        there is none.
        """
        cells = self._coupled.cells
        column, turn = int(cells.group[cell]), sign * int(cells.sign[cell])
        if column < 0:
            return np.zeros(0)
        if self._least is None:
            room = self._coupled.room(*self._room())
            self._least = LeastMoves(self._coupled.matrix, room, self.system.unit)
        return self._coupled.deviation(self._least.move(column, turn, distance, time_limit))

    def push(self, cells: Integers, targets: Floats, time_limit: float = np.inf) -> Floats:
        """Move many cells at once; moves count up to the target of each cell.

        Targets should be of one order of magnitude. Returns the deviation found, or an empty array.
        For cells that move together the farthest target counts.
        """
        coupled = self._coupled.cells
        columns, targets = coupled.group[cells], targets * coupled.sign[cells]
        order = np.lexsort([-np.abs(targets), columns])
        order = order[columns[order] >= 0]
        if not len(order):
            return np.zeros(0)
        first = np.sort(order[np.unique(columns[order], return_index=True)[1]])
        found = self._program.push(columns[first], targets[first], time_limit)
        return self._coupled.deviation(found)

    def _multipliers(self, duals: Floats, cell: int, sign: int) -> Floats:
        """Return multipliers of the rows of the system from those of the program."""
        if self._coupled.is_smaller and self._nearest is None:
            self._nearest = self._coupled.nearest(*self._room())
        return self._coupled.multipliers(duals, cell, sign, self._nearest)

    def _room(self) -> tuple[Floats, Floats]:
        """Return how far each cell may move down and up, given its share and the cap."""
        # A published cell does not move, even if its room is infinite.
        some = self._share > 0
        low, high = (
            np.multiply(self._share, room, out=np.zeros(len(some)), where=some)
            for room in (np.maximum(self._low, -self._cap), np.minimum(self._high, self._cap))
        )
        return low, high

    def _leave(self, *, restart: bool = True) -> None:
        self._ends, self._nearest = {}, None
        room = self._coupled.room(*self._room())
        self._program.leave(*room, restart=restart)
        if self._least is not None:
            self._least.leave(room)
