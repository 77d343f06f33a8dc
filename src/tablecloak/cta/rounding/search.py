"""Search for the nearest rounding within a given number of steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.cta.rounding.answer import Rounding, RoundingBound
from tablecloak.cta.rounding.model import RoundingModel
from tablecloak.cta.rounding.task import RoundingTask
from tablecloak.errors import ModelError, SolverError
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.branch import branch_and_bound
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

INTEGRALITY = 1e-7
"""Largest distance from whole numbers at which a point of the relaxation is rounded to them."""

FIRST_SHARE = 0.5
"""Share of the time for the first rounding that goes to a mixed-integer solver; our own branch and
bound follows. Chosen by trial; not measured."""

FIRST_GAP = 1e-6
"""Relative gap at which the mixed-integer solver may stop."""

LEAST_SECONDS = 0.1
"""Time limit in seconds for one program if the time is over already."""


def rounding_in_steps(task: RoundingTask, budget: Budget) -> Rounding:
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
        if isinstance(rounding, Rounding):
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


def nearest_rounding(model: RoundingModel, first: Budget, budget: Budget) -> Rounding | bool:
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
        return Rounding(model.values(relaxed.x), RoundingBound(None, relaxed.duals), model.steps)
    if relaxed.status is SolveStatus.INFEASIBLE and _is_empty(program, _left(first)):
        return True
    start = _first_point(model, first)
    return _branched(model, relaxed, start, budget if len(start) else first)


def _left(budget: Budget) -> float:
    return max(budget.left, LEAST_SECONDS)


def _first_point(model: RoundingModel, first: Budget) -> Floats:
    """Return the point that a mixed-integer solver finds; empty if it finds none."""
    try:
        x = solve(model.program, time_limit=FIRST_SHARE * _left(first), gap=FIRST_GAP).x
    except SolverError:
        return np.empty(0)
    return x if len(x) and model.adds_up(x) else np.empty(0)


def _branched(
    model: RoundingModel, relaxed: Solution, start: Floats, budget: Budget
) -> Rounding | bool:
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
    return Rounding(model.values(best), RoundingBound(tree, duals), model.steps)


def _is_empty(program: Program, time_limit: float) -> bool:
    """Whether it is proved in time that even the relaxation is infeasible."""
    try:
        return find_infeasibility(program, time_limit=time_limit).confirmed
    except SolverError:
        return False
