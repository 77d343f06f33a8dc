"""Repair of infeasible problems: lower the fewest levels and raise the fewest capacities.

Each sensitive cell may be excused from its level, each other cell from its capacity, by a 0/1
variable of its own; their number is minimised, then by how much they give way. External bounds,
relations and statistics stay.

References
----------
.. [1] Castro, Gonzalez: A tool for analyzing and fixing infeasible RCTA instances, Privacy in
   Statistical Databases 2010.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.room import Room
from tablecloak.errors import ModelError, SolverError, listed
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.change import Change
from tablecloak.tables.problem import ProtectionProblem

NOISE = 1e-7
"""Error of a solver in a relation, in median levels."""

NOISE_OF_LEVEL = 1e-3
"""Largest error of the solver, as a share of the level of a cell."""

FRACTION = 1e-6
"""What a bound on a number of cells may fall short of a whole number by rounding."""

PROOF_SHARE = 0.4
"""Share of the time for the proof that no fewer levels and capacities suffice. Chosen by trial; not
measured."""

LEAST_SECONDS = 1.0
"""Time limit in seconds for each program, past the time limit if need be."""

FAR_VALUES, FAR_UNITS = 10.0, 100.0
"""Multiples of the largest value and of the median level that together stand for an infinite
room. Chosen by trial; not measured."""


@dataclass(frozen=True, eq=False)
class Repair(Change):
    """A problem of which there is an adjustment, since some levels and capacities gave way.

    What protects the changed problem protects the given one only where levels were left.

    Parameters
    ----------
    given, problem, cells, relations, unit
        See `Change`.
    levels : numpy.ndarray of int
        Sensitive cells whose levels are lowered.
    capacities : numpy.ndarray of int
        Other cells whose capacities are raised.
    moves : numpy.ndarray of float, shape (n_cells,)
        An additive change of the table that shows that this suffices.
    is_smallest : bool
        Whether it is proved that no fewer cells suffice.
    """

    levels: Integers = field(kw_only=True)
    capacities: Integers = field(kw_only=True)
    moves: Floats = field(kw_only=True)
    is_smallest: bool = field(kw_only=True)

    @classmethod
    def of(
        cls,
        given: ProtectionProblem,
        levels: Integers,
        capacities: Integers,
        moves: Floats,
        *,
        is_smallest: bool,
    ) -> Repair:
        """Return the change of a problem that makes room for some moves.

        Parameters
        ----------
        given : ProtectionProblem
        levels, capacities : numpy.ndarray of int
            Cells that give way, each as far as is needed.
        moves : numpy.ndarray of float, shape (n_cells,)
            An additive change of the table that shows that this suffices.
        is_smallest : bool
        """
        upper, lower = given.upper_protection.copy(), given.lower_protection.copy()
        # Errors of the solver must not make the repaired problem infeasible again.
        slack = NOISE * given.unit
        for cell in levels.tolist():
            error = min(slack, NOISE_OF_LEVEL * max(upper[cell], lower[cell]))
            rises = upper[cell] > 0 and (lower[cell] <= 0 or moves[cell] > 0)
            level = upper if rises else lower
            level[cell] = min(level[cell], max((moves if rises else -moves)[cell] - error, 0.0))
        up, down = given.capacity_up.copy(), given.capacity_down.copy()
        up[capacities] = np.maximum(up[capacities], moves[capacities] + slack)
        down[capacities] = np.maximum(down[capacities], -moves[capacities] + slack)
        if given.table.integer:
            upper[levels] = np.floor(upper[levels] + 2 * slack)
            lower[levels] = np.floor(lower[levels] + 2 * slack)
        status = given.status.copy()
        for cell in levels.tolist():
            # A level that is lowered to 0: the cell may keep its true value.
            was = given.upper_protection[cell] > 0, given.lower_protection[cell] > 0
            if (was[0] and upper[cell] <= 0) or (was[1] and lower[cell] <= 0):
                upper[cell] = lower[cell] = 0.0
                status[cell] = CellStatus.SAFE.value
        problem = given.with_changes(
            status=status,
            upper_protection=upper,
            lower_protection=lower,
            capacity_up=up,
            capacity_down=down,
        )
        cells = {"levels": levels, "capacities": capacities, "moves": moves}
        return cls.within(given, problem, **cells, is_smallest=is_smallest)

    def summary(self) -> str:
        """Name the cells, and say whether fewer would do. Secret: it names sensitive cells."""
        labels = self.given.table.labels
        parts = [
            f"{what} of {listed(labels(cells))}"
            for what, cells in (("levels", self.levels), ("capacities", self.capacities))
            if len(cells)
        ]
        n = len(self.levels) + len(self.capacities)
        fewer = "no fewer suffice (proved)" if self.is_smallest else "fewer might do"
        return f"relaxed {n}: {' and '.join(parts) or 'nothing'}; {fewer}"


def find_repair(model: AdjustmentModel, allowed: Room, budget: Budget) -> Repair:
    """Find the fewest levels and capacities that must give way.

    Parameters
    ----------
    model : AdjustmentModel
        With all cells apart. Its room is finite; `up` and `down` of sensitive cells may be too
        small for both levels.
    allowed : Room
        How far bounds, capacities and limits let each cell move; may be infinite. "No fewer
        suffice" and "impossible" are claimed of these rooms only.
    budget : Budget

    Raises
    ------
    ModelError
        If no repair exists: bounds, relations and statistics contradict each other.
    SolverError
        If nothing was found in time.
    """
    problem, form = model.problem, _RepairForm(model, allowed)
    fewest = solve(form.program, time_limit=budget.share(0.5).past(LEAST_SECONDS))
    if not len(fewest.x):
        raise _impossible(form, budget.past(LEAST_SECONDS))
    excused = fewest.x[form.excuses] > 0.5
    proof = branch_and_bound(
        form.program,
        value=float(excused.sum()),
        step=1.0,
        budget=budget.at_least(LEAST_SECONDS).share(PROOF_SHARE),
    )
    least = solve(form.least(excused), time_limit=budget.past(LEAST_SECONDS))
    x = least.x if len(least.x) else fewest.x
    cells = form.cells[excused]
    sensitive = problem.sensitive[cells]
    return Repair.of(
        problem,
        cells[sensitive],
        cells[~sensitive],
        form.changes(x),
        is_smallest=bool(np.ceil(proof.tree.verify(form.opened) - FRACTION) >= excused.sum()),
    )


def _impossible(form: _RepairForm, time_limit: float) -> ModelError | SolverError:
    everything = form.least(np.ones(len(form.cells), dtype=bool), form.opened)
    late = SolverError("No levels and capacities to change were found in time. Raise `time_limit`.")
    try:
        conflict = find_infeasibility(everything, time_limit=time_limit)
    except SolverError:
        return late
    if not conflict.confirmed:
        return late
    return ModelError(
        "No change of levels and capacities makes an adjustment possible: external bounds, "
        "frozen cells and preserved statistics contradict each other. Widen the bounds, or "
        "preserve fewer statistics."
    )


class _RepairForm:
    """Columns: change up and down of each movable cell, directions, excuses; lengths in units.

    Parameters
    ----------
    model : AdjustmentModel
        With all cells apart, since a group of cells has no single level that could give way.
    allowed : Room
        The rooms of which something is to be proved.
    """

    def __init__(self, model: AdjustmentModel, allowed: Room) -> None:
        self.model, self.problem, self.allowed = model, model.problem, allowed
        self.cells = np.flatnonzero(~self.problem.frozen)
        self.sensitive = self.problem.sensitive[self.cells]
        self.n, self.k = len(self.cells), int(np.count_nonzero(self.sensitive))
        self.excuses = 2 * self.n + self.k + np.arange(self.n)
        self.blocks: list[csr_array] = []
        self.lowers: list[Floats] = []
        self.uppers: list[Floats] = []
        self._measure()
        self._add_rows()
        self._add_directions()
        self._add_levels()
        self._add_capacities()
        n, k = self.n, self.k
        excusable = self.sensitive | (self.up < self.high) | (self.down < self.low)
        most = [self.most_up, self.most_down, np.ones(k), excusable.astype(np.float64)]
        self.program = Program(
            cost=np.concatenate([np.zeros(2 * n + k), np.ones(n)]),
            matrix=csr_array(vstack(self.blocks, format="csr")),
            row_lower=np.concatenate(self.lowers),
            row_upper=np.concatenate(self.uppers),
            lower=np.zeros(3 * n + k),
            upper=np.concatenate(most),
            integral=np.arange(3 * n + k) >= 2 * n,
        )

    def _measure(self) -> None:
        """Rooms and levels in units, and how far cells may move at most if they are excused."""
        problem, moves, unit = self.problem, self.model.moves, self.problem.unit
        values, (low, high) = problem.table.values, self._external()
        far = FAR_VALUES * float(np.abs(values).max(initial=0.0)) + FAR_UNITS * unit
        self.high, self.low = np.minimum(high, far) / unit, np.minimum(low, far) / unit
        self.up, self.down = moves.up / unit, moves.down / unit
        self.up_level, self.down_level = moves.up_level / unit, moves.down_level / unit
        most = np.maximum(self.up, self.up_level), np.maximum(self.down, self.down_level)
        self.most_up = np.where(self.sensitive, np.minimum(self.high, most[0]), self.high)
        self.most_down = np.where(self.sensitive, np.minimum(self.low, most[1]), self.low)

    def _add_rows(self) -> None:
        """Relations and statistics."""
        rows, unit = self.model.rows, self.problem.unit
        none = csr_array((rows.matrix.shape[0], self.k + self.n))
        self.blocks.append(csr_array(hstack([rows.matrix, -rows.matrix, none], format="csr")))
        self.lowers.append(rows.low / unit)
        self.uppers.append(rows.high / unit)

    def _add(self, u: Floats, d: Floats, y: Floats, excuse: Floats, upper: Floats) -> None:
        """One row for each movable cell: at most `upper`."""
        at = np.flatnonzero(self.sensitive)
        to_cells = csr_array((np.ones(self.k), (at, np.arange(self.k))), (self.n, self.k))
        direction = csr_array(diags_array(y) @ to_cells)
        parts = [diags_array(u), diags_array(d), direction, diags_array(excuse)]
        self.blocks.append(csr_array(hstack(parts, format="csr")))
        self.lowers.append(np.full(self.n, -np.inf))
        self.uppers.append(upper)

    def _add_directions(self) -> None:
        """Up or down, not both: u <= most y, d <= most (1 - y)."""
        nowhere, mask = np.zeros(self.n), self.sensitive
        sensitive = mask.astype(np.float64)
        high = np.where(mask, self.most_down, np.inf)
        self._add(sensitive, nowhere, -self.most_up, nowhere, np.where(mask, 0.0, np.inf))
        self._add(nowhere, sensitive, self.most_down, nowhere, high)

    def _add_levels(self) -> None:
        """At least the level on the side of y, and no side on which it is 0, unless excused (r).

        u >= UPL y - (UPL + LPL) r,  d >= LPL (1 - y) - (UPL + LPL) r;  y <= r or 1 - y <= r.
        """
        nowhere, mask = np.zeros(self.n), self.sensitive
        sensitive = mask.astype(np.float64)
        up, down = self.up_level, self.down_level
        self._add(-sensitive, nowhere, up, -(up + down), np.where(mask, 0.0, np.inf))
        self._add(nowhere, -sensitive, -down, -(up + down), np.where(mask, -down, np.inf))
        rise, fall = self.model.moves.may_rise, self.model.moves.may_fall
        upper = (
            np.where(mask & ~rise, 0.0, np.inf),
            np.where(mask & ~fall, -1.0, np.inf),
        )
        self._add(nowhere, nowhere, sensitive, -sensitive, upper[0])
        self._add(nowhere, nowhere, -sensitive, -sensitive, upper[1])

    def _add_capacities(self) -> None:
        """Capacities of cells that are not sensitive, unless excused."""
        nowhere, other = np.zeros(self.n), (~self.sensitive).astype(np.float64)
        no_limit = np.where(self.sensitive, np.inf, 0.0)
        above = np.maximum(self.high - self.up, 0) * other
        below = np.maximum(self.low - self.down, 0) * other
        self._add(other, nowhere, nowhere, -above, self.up + no_limit)
        self._add(nowhere, other, nowhere, -below, self.down + no_limit)

    @property
    def opened(self) -> Program:
        """The program without a limit on cells that are allowed to move farther than it lets them.

        What is proved of it holds for the given bounds, however far the search looked.
        """
        n, at, program, unit = self.n, self.cells, self.program, self.problem.unit
        low, high = self._external()
        far_up = (high / unit > self.high) | (self.allowed.up[at] / unit > self.up)
        far_down = (low / unit > self.low) | (self.allowed.down[at] / unit > self.down)
        upper, row_upper = program.upper.copy(), program.row_upper.copy()
        upper[:n][far_up], upper[n : 2 * n][far_down] = np.inf, np.inf
        # Blocks of n rows: directions up and down, two of levels, two of sides, then capacities.
        for block, far in zip((0, 1, 6, 7), (far_up, far_down) * 2, strict=True):
            first = len(row_upper) - (8 - block) * n
            row_upper[first : first + n][far] = np.inf
        return replace(program, upper=upper, row_upper=row_upper)

    def _external(self) -> tuple[Floats, Floats]:
        """Distance of each movable cell to its external bounds, below and above."""
        problem, values = self.problem, self.problem.table.values
        low, high = values - problem.lower_bound, problem.upper_bound - values
        return low[self.cells], high[self.cells]

    def least(self, excused: Flags, program: Program | None = None) -> Program:
        """Return the program that minimises changes of levels and capacities of excused cells.

        Excuses are then shares: of the level that is missed, or of the capacity exceeded.
        """
        program = self.program if program is None else program
        upper = program.upper.copy()
        upper[self.excuses] = np.minimum(upper[self.excuses], excused)
        integral = program.integral.copy()
        integral[self.excuses] = False
        return replace(program, upper=upper, integral=integral)

    def changes(self, x: Floats) -> Floats:
        """Return the change of every cell."""
        moved = (x[: self.n] - x[self.n : 2 * self.n]) * self.problem.unit
        changes: Floats = self.model.cells(moved)
        return changes
