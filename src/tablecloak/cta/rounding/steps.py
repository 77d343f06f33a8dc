"""Controlled rounding as a program in steps from the multiple below each value, and its search.

Changes x - a satisfy A (x - a) = 0, and are small however large values are. Relations have whole
coefficients, so that their sides are whole numbers too: nothing in their rows is rounded. The
nearest rounding is searched within one step, then within more steps.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers, median_of_positive
from tablecloak.budget import Budget
from tablecloak.cta.model.precision import accepted_errors, off_by
from tablecloak.cta.model.steps import StepBlock, StepProgram
from tablecloak.cta.rounding.rounded_table import RoundingAnswer, RoundingBound
from tablecloak.cta.rounding.task import RoundingTask
from tablecloak.errors import ModelError, SolverError
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.solver import Solution, SolveStatus

EPSILON = float(np.finfo(np.float64).eps)
"""Largest relative error of two sums."""

INTEGRALITY = 1e-7
"""Largest distance from whole numbers at which a point of the relaxation is rounded to them."""

FIRST_SHARE = 0.5
"""Share of the time for the first rounding that goes to a mixed-integer solver; our own branch and
bound follows. Chosen by trial; not measured."""

FIRST_GAP = 1e-6
"""Relative gap at which the mixed-integer solver may stop."""

LEAST_SECONDS = 0.1
"""Time limit in seconds for one program if the time is over already."""


class RoundingModel:
    """min w.|x - a| as a program in steps t = up + further - back.

    Columns: for each value that is not a multiple, whether it goes up; then, if more than one step
    is allowed, how many multiples each cell goes further up, and how many down.

    Parameters
    ----------
    task : RoundingTask
    steps : int

    Attributes
    ----------
    up_cost : numpy.ndarray of float
        What a whole step costs each value that is not a multiple, in the unit of the program.
    """

    def __init__(self, task: RoundingTask, steps: int) -> None:
        self.task, self.steps, self.true = task, steps, task.true
        base, weights = task.base, task.weights
        self.floor, rest = self.true // base, self.true % base
        self.offset = float(np.dot(weights, rest))
        # The unit of costs is the median weight times the base.
        self.unit = median_of_positive(weights) * base
        scaled = weights * base / self.unit
        up = np.flatnonzero(rest)
        share = rest[up] / base
        self.up_cost = scaled[up]
        blocks = [StepBlock(up, 1, scaled[up] * (1 - 2 * share), np.ones(len(up)))]
        if steps > 1:
            blocks += self._further(np.flatnonzero(~task.problem.frozen), scaled, float(steps - 1))
        self._columns = StepProgram.of(*self._rows(rest, steps), blocks)
        self.program = self._columns.program

    def _rows(self, rest: Integers, steps: int) -> tuple[csr_array, Floats, Floats]:
        """Relations on steps t: A (base t - rest) = 0, with the error that a table may have."""
        whole, base = self.task.whole, self.task.base
        real = whole.is_real
        # Whole sides, since relations with others are refused.
        side = (self.task.sides // base).astype(np.float64)
        side[real] = whole.rows[real, :] @ rest / base
        moved = np.abs(self.true).astype(np.float64) + steps * base
        error = accepted_errors(self.task.problem.table.relations, moved) / base
        terms = np.diff(whole.rows.indptr) + 3
        error += np.where(real, EPSILON * terms * (abs(whole.rows) @ rest) / base, 0.0)
        return whole.rows, side - error, side + error

    def _further(self, cells: Integers, cost: Floats, most: float) -> list[StepBlock]:
        """Steps beyond the two multiples around a value, so that no value changes its sign."""
        true, floor = self.true[cells], self.floor[cells]
        above = np.where(true < 0, np.minimum(-(floor + 1), most), most)
        below = np.where(true >= 0, np.minimum(floor, most), most)
        return [
            StepBlock(cells, 1, cost[cells], np.maximum(above, 0.0)),
            StepBlock(cells, -1, cost[cells], np.maximum(below, 0.0)),
        ]

    def loss(self, objective: float) -> float:
        """Return sum w |x - a| from an objective of the program."""
        return objective * self.unit + self.offset

    def values(self, x: Floats) -> Integers:
        """Return the rounded table that a point of the program stands for."""
        values: Integers = self.task.base * (self.floor + self._columns.moves(x))
        return values

    def adds_up(self, x: Floats) -> bool:
        """Whether the rounded table of a point satisfies every relation.

        A solver accepts small errors, which large coefficients make of a whole step.
        """
        return not np.any(off_by(self.task.problem.table, self.values(x)))


def rounding_in_steps(task: RoundingTask, budget: Budget) -> RoundingAnswer:
    """Return the nearest rounding within as few steps as are found.

    Raises
    ------
    ModelError
        If it is proved that no rounding exists.
    SolverError
        If no rounding was found in time.
    """
    notes: list[str] = []
    is_empty = True
    for steps in range(1, task.max_steps + 1):
        if notes and budget.is_over:
            is_empty = False
            break
        # Until a rounding is found, keep half of the time for more steps.
        first = budget.share(1.0 if steps == task.max_steps else 0.5).at_least(LEAST_SECONDS)
        rounding = nearest_rounding(RoundingModel(task, steps), first, budget)
        if isinstance(rounding, RoundingAnswer):
            return replace(rounding, notes=tuple(notes))
        is_empty &= rounding
        why = "is proved to be impossible" if rounding else "was not found in time"
        notes.append(f"a rounding with {steps} step{'s' * (steps > 1)} {why}")
    if is_empty:
        raise ModelError(
            f"No additive rounding to base {task.base} within {task.max_steps} steps exists "
            f"(proved by a complete search). Raise `max_steps`, or let frozen cells be rounded."
        )
    raise SolverError(
        f"No additive rounding to base {task.base} was found in time: {'; '.join(notes)}. Raise "
        f"`time_limit` or `max_steps`."
    )


def nearest_rounding(model: RoundingModel, first: Budget, budget: Budget) -> RoundingAnswer | bool:
    """Return the nearest rounding; without one, True if it is proved that there is none, or False.

    Parameters
    ----------
    model : RoundingModel
    first, budget : Budget
        Time for a first rounding, and for a better one.
    """
    program = model.program
    relaxed = LinearSolver(program).solve(_left(first))
    # If every value is a multiple, the program has no columns, and its only point no entries.
    is_point = len(relaxed.x) or not program.n_columns
    is_whole = np.all(np.abs(relaxed.x - np.rint(relaxed.x)) <= INTEGRALITY)
    if is_point and is_whole and model.adds_up(relaxed.x):
        return RoundingAnswer(
            model.values(relaxed.x), RoundingBound(None, relaxed.duals), model.steps
        )
    if relaxed.status is SolveStatus.INFEASIBLE:
        with suppress(SolverError):
            if find_infeasibility(program, time_limit=_left(first)).confirmed:
                return True
    start = np.empty(0)
    with suppress(SolverError):
        start = solve(program, time_limit=FIRST_SHARE * _left(first), gap=FIRST_GAP).x
    if not len(start) or not model.adds_up(start):
        return _branched(model, relaxed, np.empty(0), first)
    return _branched(model, relaxed, start, budget)


def _left(budget: Budget) -> float:
    return max(budget.left, LEAST_SECONDS)


def _branched(
    model: RoundingModel, relaxed: Solution, start: Floats, budget: Budget
) -> RoundingAnswer | bool:
    """Improve a rounding, or find one, by branch and bound with a proof."""
    program = model.program

    def report(value: float, bound: float, open_nodes: int) -> None:
        budget.report("rounding", model.loss(value), model.loss(bound), open_nodes)

    result = branch_and_bound(
        program,
        value=program.objective(np.rint(start)) if len(start) else np.inf,
        budget=budget.at_least(LEAST_SECONDS),
        progress=report,
    )
    best = result.x if len(result.x) and model.adds_up(result.x) else start
    proved = result.tree.verify(program)
    if not len(best):
        # A leaf may have been closed without a proof that it is empty.
        return proved == np.inf
    # The leaves of an interrupted search can prove less than the root does.
    is_better = proved >= dual_bound(program, relaxed.duals)
    tree, duals = (result.tree, np.empty(0)) if is_better else (None, relaxed.duals)
    return RoundingAnswer(model.values(best), RoundingBound(tree, duals), model.steps)
