"""What must give way where no adjustment exists: the fewest levels and capacities.

Each sensitive cell may be excused from its level, each other cell from its capacity, by a 0/1
variable of its own; their number is minimised, then by how much they give way. External bounds,
relations and statistics stay.

References
----------
.. [1] Castro, Gonzalez: A tool for analyzing and fixing infeasible RCTA instances, Privacy in
   Statistical Databases 2010.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.cta.formulation import Room
from tablecloak.cta.statistics.statistic import PreservedRow
from tablecloak.errors import ModelError, SolverError, listed
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.tables.problem import CellStatus, ProtectionProblem

__all__ = ["Repair", "find_repair"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NOISE = 1e-7
"""What a solver may leave of a relation, in median levels."""

NOISE_OF_LEVEL = 1e-3
"""The same, as a share of the level of the cell at most."""

PROOF_SHARE = 0.4
"""Share of the time for the proof that no fewer suffice."""


@dataclass(frozen=True, eq=False)
class Repair:
    """What gives way, so that an adjustment exists.

    Parameters
    ----------
    problem : ProtectionProblem
        As given.
    levels : numpy.ndarray of int
        Sensitive cells whose levels are lowered.
    capacities : numpy.ndarray of int
        Other cells whose capacities are raised.
    changes : numpy.ndarray of float, shape (n_cells,)
        An additive change of the table that shows that this suffices.
    is_smallest : bool
        Whether it is proved that no fewer cells suffice.
    """

    problem: ProtectionProblem
    levels: Integers
    capacities: Integers
    changes: Floats
    is_smallest: bool

    def repaired(self) -> ProtectionProblem:
        """Return the problem with levels lowered and capacities raised as far as is needed."""
        problem, z = self.problem, self.changes
        upper, lower = problem.upper_protection.copy(), problem.lower_protection.copy()
        # What the solver left of a relation must not make the repaired problem impossible again.
        slack = NOISE * problem.unit
        for cell in self.levels.tolist():
            own = min(slack, NOISE_OF_LEVEL * max(upper[cell], lower[cell]))
            rises = upper[cell] > 0 and (lower[cell] <= 0 or z[cell] > 0)
            level = upper if rises else lower
            level[cell] = min(level[cell], max((z if rises else -z)[cell] - own, 0.0))
        up, down = problem.capacity_up.copy(), problem.capacity_down.copy()
        at = self.capacities
        up[at] = np.maximum(up[at], z[at] + slack)
        down[at] = np.maximum(down[at], -z[at] + slack)
        if problem.table.integer:
            upper[self.levels] = np.floor(upper[self.levels] + 2 * slack)
            lower[self.levels] = np.floor(lower[self.levels] + 2 * slack)
        status = problem.status.copy()
        for cell in self.levels.tolist():
            # A level that is lowered to nothing: the true value may stay.
            was = problem.upper_protection[cell] > 0, problem.lower_protection[cell] > 0
            if (was[0] and upper[cell] <= 0) or (was[1] and lower[cell] <= 0):
                upper[cell] = lower[cell] = 0.0
                status[cell] = CellStatus.SAFE.value
        return problem.with_changes(
            status=status,
            upper_protection=upper,
            lower_protection=lower,
            capacity_up=up,
            capacity_down=down,
        )

    def summary(self) -> str:
        """Name the cells, and say whether fewer would do. Secret: it names sensitive cells."""
        labels = self.problem.table.labels
        parts = [
            f"{what} of {listed(labels(cells))}"
            for what, cells in (("levels", self.levels), ("capacities", self.capacities))
            if len(cells)
        ]
        n = len(self.levels) + len(self.capacities)
        fewer = "no fewer suffice (proved)" if self.is_smallest else "fewer might do"
        return f"relaxed {n}: {' and '.join(parts) or 'nothing'}; {fewer}"


def find_repair(
    problem: ProtectionProblem,
    room: Room,
    rows: Sequence[PreservedRow],
    *,
    time_limit: float,
) -> Repair:
    """Find the fewest levels and capacities that must give way.

    Parameters
    ----------
    problem : ProtectionProblem
    room : Room
        Finite; its `up` and `down` of sensitive cells may be too small for both levels.
    rows : sequence of PreservedRow
    time_limit : float
        Seconds.

    Raises
    ------
    ModelError
        If even that does not help: bounds, relations and statistics contradict each other.
    SolverError
        If nothing was found in time.
    """
    deadline = time.monotonic() + time_limit
    model = _RepairModel(problem, room, rows)
    fewest = solve(model.program, time_limit=max(0.5 * time_limit, 1.0))
    if not len(fewest.x):
        raise _impossible(model, max(deadline - time.monotonic(), 1.0))
    excused = fewest.x[model.excuses] > 0.5
    tree = branch_and_bound(
        model.program,
        value=float(excused.sum()),
        step=1.0,
        time_limit=PROOF_SHARE * max(deadline - time.monotonic(), 1.0),
    )
    least = solve(model.least(excused), time_limit=max(deadline - time.monotonic(), 1.0))
    x = least.x if len(least.x) else fewest.x
    cells = model.cells[excused]
    sensitive = problem.sensitive[cells]
    return Repair(
        problem=problem,
        levels=cells[sensitive],
        capacities=cells[~sensitive],
        changes=model.changes(x),
        is_smallest=tree.bound >= excused.sum() - 1e-6,
    )


def _impossible(model: _RepairModel, time_limit: float) -> ModelError | SolverError:
    everything = solve(model.least(np.ones(len(model.cells), dtype=bool)), time_limit=time_limit)
    if len(everything.x):
        return SolverError("What must give way was not found in time. Raise `time_limit`.")
    return ModelError(
        "No levels or capacities that give way make an adjustment possible: external bounds, "
        "frozen cells and preserved statistics contradict each other. Widen the bounds, or "
        "preserve fewer statistics."
    )


class _RepairModel:
    """Columns: change up and down of each movable cell, directions, excuses; lengths in units."""

    def __init__(
        self, problem: ProtectionProblem, room: Room, rows: Sequence[PreservedRow]
    ) -> None:
        self.problem, unit = problem, problem.unit
        values = problem.table.values
        reach = np.flatnonzero(~problem.frozen)
        self.cells = reach
        n = len(reach)
        sensitive = problem.sensitive[reach]
        at = np.flatnonzero(sensitive)
        k = len(at)
        far = 10 * float(np.abs(values).max(initial=0.0)) + 100 * unit
        high = np.minimum(problem.upper_bound - values, far)[reach] / unit
        low = np.minimum(values - problem.lower_bound, far)[reach] / unit
        up_level, down_level = room.up_level[reach] / unit, room.down_level[reach] / unit
        up, down = room.up[reach] / unit, room.down[reach] / unit
        most_up = np.where(sensitive, np.minimum(high, np.maximum(up, up_level)), high)
        most_down = np.where(sensitive, np.minimum(low, np.maximum(down, down_level)), low)
        relations = csr_array(problem.table.relations[:, reach])
        kept = csr_array(np.array([row.coefficients[reach] for row in rows]).reshape(len(rows), n))
        matrix = csr_array(vstack([relations, kept], format="csr"))
        m = matrix.shape[0]
        none = csr_array((m, k + n))
        blocks = [csr_array(hstack([matrix, -matrix, none], format="csr"))]
        side = np.concatenate([np.zeros(relations.shape[0]), [row.target for row in rows]]) / unit
        slack = np.concatenate([np.zeros(relations.shape[0]), [r.slack for r in rows]]) / unit
        lowers, uppers = [side - slack], [side + slack]

        nowhere = np.zeros(n)
        to_cells = csr_array((np.ones(k), (at, np.arange(k))), (n, k))

        def add(u: Floats, d: Floats, y: Floats, excuse: Floats, upper: Floats) -> None:
            """One row for each movable cell: at most `upper`."""
            direction = csr_array(diags_array(y) @ to_cells)
            parts = [diags_array(u), diags_array(d), direction, diags_array(excuse)]
            blocks.append(csr_array(hstack(parts, format="csr")))
            lowers.append(np.full(n, -np.inf))
            uppers.append(upper)

        primary, other = sensitive.astype(np.float64), (~sensitive).astype(np.float64)
        # Up or down, not both: u <= most y, d <= most (1 - y).
        add(primary, nowhere, -most_up, nowhere, np.where(sensitive, 0.0, np.inf))
        add(nowhere, primary, most_down, nowhere, np.where(sensitive, most_down, np.inf))
        # At least the level on the side of y, unless excused:
        # u >= UPL y - (UPL + LPL) r,  d >= LPL (1 - y) - (UPL + LPL) r.
        both = up_level + down_level
        add(-primary, nowhere, up_level, -both, np.where(sensitive, 0.0, np.inf))
        add(nowhere, -primary, -down_level, -both, np.where(sensitive, -down_level, np.inf))
        # A side on which the level is 0 is no way out, unless excused: y <= r or 1 - y <= r.
        rise, fall = room.may_rise[reach], room.may_fall[reach]
        add(nowhere, nowhere, primary, -primary, np.where(sensitive & ~rise, 0.0, np.inf))
        add(nowhere, nowhere, -primary, -primary, np.where(sensitive & ~fall, -1.0, np.inf))
        # Capacities of the others, unless excused.
        no_limit = np.where(sensitive, np.inf, 0.0)
        add(other, nowhere, nowhere, -np.maximum(high - up, 0) * other, up + no_limit)
        add(nowhere, other, nowhere, -np.maximum(low - down, 0) * other, down + no_limit)
        excusable = sensitive | (up < high) | (down < low)
        self.excuses = 2 * n + k + np.arange(n)
        self.program = Program(
            cost=np.concatenate([np.zeros(2 * n + k), np.ones(n)]),
            matrix=csr_array(vstack(blocks, format="csr")),
            row_lower=np.concatenate(lowers),
            row_upper=np.concatenate(uppers),
            lower=np.zeros(2 * n + k + n),
            upper=np.concatenate([most_up, most_down, np.ones(k), excusable.astype(np.float64)]),
            integral=np.arange(2 * n + k + n) >= 2 * n,
        )

    def least(self, excused: npt.NDArray[np.bool_]) -> Program:
        """Return the program in which excused cells give way as little as possible.

        Excuses are then shares: of the level that is missed, or of the capacity exceeded.
        """
        program = self.program
        upper = program.upper.copy()
        upper[self.excuses] = np.minimum(upper[self.excuses], excused)
        integral = program.integral.copy()
        integral[self.excuses] = False
        return replace(program, upper=upper, integral=integral)

    def changes(self, x: Floats) -> Floats:
        """Return the change of every cell."""
        n = len(self.cells)
        z = np.zeros(self.problem.table.n_cells)
        z[self.cells] = (x[:n] - x[n : 2 * n]) * self.problem.unit
        return z
