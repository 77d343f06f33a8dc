"""Tight forms of small tables, and the values of all their directions by scipy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.state import DirectionState
from tablecloak.solve.program import Program

ENOUGH = 600.0
"""Seconds of budgets of searches that end by themselves."""


def form_of(
    problem: tc.ProtectionProblem, weights=None, *, preserve=(), limit=None, **options
) -> TightForm:
    """The form of a problem; by default each cell costs 1."""
    cost = np.ones(problem.table.n_cells) if weights is None else np.asarray(weights, float)
    rows = [row for each in preserve for row in each.rows(problem)]
    space = AdjustmentSpace.of(problem, weights=cost, limit=limit, preserved=rows)
    return TightForm.of(space.model, **options)


def state_of(problem: tc.ProtectionProblem, **options) -> DirectionState:
    """A search at its beginning."""
    return DirectionState(form_of(problem, **options), Budget.of(ENOUGH))


def value_of(program: Program) -> float:
    """Optimum of the relaxation of a program; infinite if it has no point."""
    matrix = program.matrix.toarray()
    low, high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    found = linprog(
        program.cost,
        A_ub=np.vstack([matrix[high], -matrix[low]]),
        b_ub=np.concatenate([program.row_upper[high], -program.row_lower[low]]),
        bounds=np.column_stack([program.lower, program.upper]),
    )
    return float(found.fun) if found.status == 0 else np.inf


def values_of_directions(form: TightForm) -> dict[tuple[float, ...], float]:
    """Optimum for all directions that bounds allow, in scaled units."""
    return {tuple(y.tolist()): value_of(form.directed(y)) for y in all_directions(form)}


def all_directions(form: TightForm) -> Iterator[np.ndarray]:
    low, high = form.model.allowed
    for y in itertools.product([0.0, 1.0], repeat=len(low)):
        if np.all((low <= y) & (np.array(y) <= high)):
            yield np.array(y)
