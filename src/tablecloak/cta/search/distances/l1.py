"""The sum of weighted absolute changes."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.cta.first_order.relaxation import has_two_values
from tablecloak.cta.model.answer import AdjustmentAnswer
from tablecloak.cta.model.refinement import additive_changes
from tablecloak.cta.model.steps import is_near_whole, whole_changes
from tablecloak.cta.model.tight import INTERIOR_ROWS
from tablecloak.cta.search.bounds import search_bound
from tablecloak.cta.search.distance import DISTANCES, DirectionSearch, Distance
from tablecloak.cta.search.smooth import with_conditions
from tablecloak.cta.search.state import SPARE_SECONDS, DirectionState, Point
from tablecloak.cta.statistics.statistic import SmoothCondition
from tablecloak.errors import SolverError
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

PRICED = 1e-7
"""Scaled reduced cost or multiplier above which a column or row is fixed while ties are broken,
which keeps the program on the optimal face."""

TIED = 1e-9
"""Largest relative difference between losses that count as equal."""

LEAST_SECONDS = 1.0
"""Time limit in seconds for whole numbers, past the time limit of the search if need be."""

REQUIRED_SECONDS = 10.0
"""Time limit in seconds for whole numbers if no other answer is accepted, past the time limit of
the search if need be. Chosen by trial; not measured."""


@DISTANCES.register
class L1(Distance):
    """sum w_i |z_i|; among tables with the same loss, one in which sensitive cells move least."""

    name: ClassVar[str] = "L1"
    has_whole_numbers: ClassVar[bool] = True
    keeps_conditions: ClassVar[bool] = True

    def loss(self, weights: Floats, changes: Floats) -> float:
        """Return sum w_i |z_i|."""
        return float(np.dot(weights, np.abs(changes)))

    def settle(self, searched: DirectionSearch) -> AdjustmentAnswer:
        """Return the best table of the search in whole numbers, or else made exactly additive."""
        state, model = searched.state, searched.state.form.model
        # Conditions change the table afterwards, so that breaking ties before has no effect.
        if not searched.conditions:
            _break_ties(searched)
        whole = _whole(searched) if searched.wants_whole else None
        whole = searched.start if whole is None else whole
        if whole is None and searched.must_be_whole:
            raise SolverError(
                "No adjustment in whole numbers was found for the best directions, and others were "
                "not tried. Raise `time_limit`, give `directions`, or pass integer=False."
            )
        if whole is None:
            changes = additive_changes(model, searched.changes, searched.budget)
        else:
            changes = whole.astype(np.longdouble)
        if searched.conditions:
            near = changes.astype(np.float64)
            changes = _kept(searched, near).astype(np.longdouble)
        return AdjustmentAnswer(changes, whole is not None, search_bound(state, searched.fixed))


def _kept(searched: DirectionSearch, near: Floats) -> Floats:
    """Return changes that meet all conditions, several of them together."""
    model, (first, *others) = searched.state.form.model, searched.conditions
    if not others:
        return first.keep(model, near, searched.fixed, searched.budget)
    conditions = [one for kind in searched.conditions for one in kind.conditions(model.problem)]
    smooth = [one for one in conditions if isinstance(one, SmoothCondition)]
    return with_conditions(model, near, smooth, searched.fixed, searched.budget)


def _break_ties(searched: DirectionSearch) -> None:
    """Prefer an equally good table in which sensitive cells move less, unless wholeness is lost."""
    state, model = searched.state, searched.state.form.model
    seconds = searched.budget.past(SPARE_SECONDS)
    # Cells with two values move as far as they do whatever the others do.
    if state.reserve.program > seconds or has_two_values(model):
        return
    point = with_broken_ties(state, seconds)
    if point is None:
        return
    before, after = searched.changes, state.form.changes(point.x)
    if not is_near_whole(model, before) or is_near_whole(model, after):
        state.best = point


def _whole(searched: DirectionSearch) -> Integers | None:
    """Return changes in whole numbers for the best directions; None if none were found."""
    model, notes = searched.state.form.model, searched.state.notes
    if not is_near_whole(model, searched.changes):
        notes.append("whole numbers needed a program of their own")
    whole = whole_changes(model, searched.changes, searched.budget.at_least(LEAST_SECONDS))
    if whole is None and searched.must_be_whole and searched.start is None:
        # A program uses all its time to prove how near it is, so that only few get this much.
        whole = whole_changes(model, searched.changes, searched.budget.at_least(REQUIRED_SECONDS))
    if whole is None:
        notes.append("no adjustment in whole numbers was found")
    return whole


def with_broken_ties(state: DirectionState, time_limit: float) -> Point | None:
    """Return a point as good as the best, with its directions, that moves sensitive cells least.

    Columns and rows with a nonzero reduced cost or multiplier are fixed, which keeps the search on
    the optimal face. None if the solver does not finish, or if the point is worse than the best.
    """
    assert state.best is not None
    program = state.light.directed(state.best_directions).relaxed()
    if program.n_rows > INTERIOR_ROWS:
        return None
    solution = LinearSolver(program).solve(time_limit)
    if solution.status is not SolveStatus.OPTIMAL:
        return None
    second = LinearSolver(_optimal_face(state, program, solution)).solve(time_limit)
    if second.status is not SolveStatus.OPTIMAL:
        return None
    point = Point(second.x, program.objective(second.x))
    is_as_good = point.value <= state.best.value + TIED * max(1.0, abs(state.best.value))
    return point if is_as_good else None


def _optimal_face(state: DirectionState, program: Program, solution: Solution) -> Program:
    """Return the program over all optima that minimises how far sensitive cells move."""
    model = state.form.model
    reduced = program.cost - program.matrix.T @ solution.duals
    beyond = np.concatenate([model.sensitive, model.sensitive + model.n_groups])
    cost = np.zeros(program.n_columns)
    cost[beyond] = program.cost[beyond]
    duals = solution.duals
    return replace(
        program,
        cost=cost,
        lower=np.where(reduced < -PRICED, program.upper, program.lower),
        upper=np.where(reduced > PRICED, program.lower, program.upper),
        row_lower=np.where(duals < -PRICED, program.row_upper, program.row_lower),
        row_upper=np.where(duals > PRICED, program.row_lower, program.row_upper),
    )
