"""Why no adjustment was found: a proof that there is none, or merely too little time.

For the proof every number of the program is loosened by what it may have been rounded: if the
loosened program has no point there is no adjustment, of which no certificate could be made. Scaling
is by powers of two, so that only sums and differences of levels, rooms and coefficients are
rounded.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.room import Room
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.tight import ENUMERATED_SIGNS, TightForm
from tablecloak.cta.search.state import DirectionState
from tablecloak.errors import ModelError, SolverError, TablecloakError, listed
from tablecloak.solve.bounds import proves_infeasible
from tablecloak.solve.exact import columns_at_zero, whole_rows
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.independent import EXACT
from tablecloak.solve.program import Program

NAMING_SECONDS = 5.0
"""Time limit in seconds for finding what makes a problem infeasible, past the time limit of the
search if need be, since the user needs the names of the cells to change anything."""

NAMED = 5
"""Most conflicting rows whose cells an error names."""

FREE = 0.5
"""Direction of a cell that may go either way."""

SHORT = 1e-7
"""Scaled shortfall above which a row belongs to the conflict."""


def reason(
    space: AdjustmentSpace, state: DirectionState, fixed: Floats | None, budget: Budget
) -> TablecloakError:
    """Return the error for a search without an answer: proved infeasible, or merely not found.

    Parameters
    ----------
    space : AdjustmentSpace
    state : DirectionState
        Without a point.
    fixed : numpy.ndarray of float or None
        Directions, if they were given.
    budget : Budget
    """
    form, allowed = state.form, space.allowed
    program = opened(form, form.program, allowed)
    certain = opened(form, loosened(form), allowed)
    if fixed is not None:
        program, certain = form.directed(fixed, program), form.directed(fixed, certain)
    try:
        conflict = find_infeasibility(program, time_limit=budget.past(NAMING_SECONDS))
    except SolverError:
        return _not_found()
    if proves_infeasible(certain, conflict.duals):
        worst = np.argsort(-conflict.shortfall)[:NAMED]
        worst = worst[conflict.shortfall[worst] > SHORT]
        cells = form.cells_of(np.unique(program.matrix[worst, :].indices))
        which = "" if fixed is None else "with these directions "
        return ModelError(
            f"No additive table {which}satisfies all levels, bounds, capacities and statistics "
            f"(proved by an elastic program). The conflict involves "
            f"{listed(space.problem.table.labels(cells))}. Lower these levels, widen bounds or "
            f"capacities in their relations, or preserve fewer statistics.",
            cells=cells,
        )
    still = _still(space)
    if len(still):
        return ModelError(
            f"No additive table satisfies all levels: {len(still)} sensitive cells follow from "
            f"cells that cannot move, by relations alone (in exact arithmetic): "
            f"{listed(space.problem.table.labels(still))}. Unfreeze cells in their relations, or "
            f"widen external bounds there.",
            cells=still,
        )
    if _is_refuted(state, allowed) or (
        fixed is None and _are_all_refuted(form, program, certain, budget.at_least(NAMING_SECONDS))
    ):
        return ModelError(
            "No choice of directions satisfies all levels, bounds, capacities and statistics "
            "(proved by a complete search). Raise `sensitive_limit`, widen bounds or "
            "capacities, or preserve fewer statistics.",
            cells=np.flatnonzero(space.problem.sensitive),
        )
    return _not_found()


def _still(space: AdjustmentSpace) -> Integers:
    """Return the sensitive cells that no additive change moves, found by elimination."""
    relations, problem = space.problem.table.relations, space.problem
    if relations.shape[0] > EXACT:
        return np.zeros(0, dtype=np.int64)
    whole, real = whole_rows(relations)
    moved = np.flatnonzero(space.allowed.up + space.allowed.down > 0)
    is_still = np.zeros(problem.table.n_cells, dtype=bool)
    is_still[moved] = columns_at_zero(csr_array(csr_array(whole[~real, :])[:, moved]))
    still: Integers = np.flatnonzero(is_still & problem.sensitive)
    return still


def _is_refuted(state: DirectionState, allowed: Room) -> bool:
    """Whether branch and bound has proved that no choice of directions is possible."""
    if state.bound < np.inf or state.tree is None:
        return False
    # Infeasibility of the loosened program proves that of the exact one.
    certain = opened(state.proved, loosened(state.proved), allowed)
    return state.tree.verify(certain) == np.inf


def _are_all_refuted(form: TightForm, program: Program, certain: Program, budget: Budget) -> bool:
    """Whether no directions of a few sensitive cells are possible, each proved on its own.

    In infinite rooms the rows that join directions to moves say nothing, so that only programs with
    given directions prove anything.

    Parameters
    ----------
    form : TightForm
    program, certain : Program
        That of the form in the rooms that are allowed, and with every number loosened.
    budget : Budget
    """
    columns = form.direction_columns
    # A cell with one level goes one way only.
    given = (program.lower[columns] + program.upper[columns]) / 2
    if np.sum(given == FREE) > ENUMERATED_SIGNS:
        return False
    waiting = [given]
    while waiting:
        directions = waiting.pop()
        if budget.is_over:
            return False
        directed = form.directed(directions, program)
        try:
            duals = find_infeasibility(directed, time_limit=budget.left).duals
        except SolverError:
            return False
        if proves_infeasible(form.directed(directions, certain), duals):
            continue
        free = np.flatnonzero(directions == FREE)
        if not len(free):
            return False
        for way in (0.0, 1.0):
            waiting.append(np.where(np.arange(len(columns)) == free[0], way, directions))
    return True


def _not_found() -> SolverError:
    return SolverError(
        "No adjustment was found, and none was proved to be impossible. Raise `time_limit`, "
        "or relax `preserve`, capacities or levels."
    )


ROUNDING = float(np.finfo(np.float64).eps)
"""Relative error of one sum or product."""

EPSILON = 8 * ROUNDING
"""Largest relative error of sums and differences of a few numbers, with a margin."""


def loosened(form: TightForm) -> Program:
    """Return the program of a form with every number loosened by its rounding."""
    model, program = form.model, form.program
    n = model.n_groups
    upper = program.upper.copy()
    rooms = np.concatenate([model.moves.up, model.moves.down])
    upper[: 2 * n] += EPSILON * rooms / form.scaling.column[: 2 * n]
    error = _row_errors(form)
    low, high = program.row_lower, program.row_upper
    members = 4 + float(np.bincount(_members(model), minlength=1).max())
    return replace(
        program,
        cost=program.cost - ROUNDING * members * np.abs(program.cost),
        row_lower=low - error - EPSILON * np.abs(low),
        row_upper=high + error + EPSILON * np.abs(high),
        upper=upper,
    )


def opened(form: TightForm, program: Program, allowed: Room) -> Program:
    """Return a variant of the form's program without the limits that the search set to rooms.

    What is proved of it holds for the rooms that bounds, capacities and limits allow, although the
    search looked at smaller ones.

    Parameters
    ----------
    form : TightForm
    program : Program
        With the columns and rows of `form.program`.
    allowed : Room
        Of cells.
    """
    model, n, k = form.model, form.model.n_groups, len(form.model.sensitive)
    up, down = model.coupled.least(allowed.up, allowed.down)
    far = np.concatenate([up > model.moves.up, down > model.moves.down])
    if not np.any(far):
        return program
    upper, row_upper = program.upper.copy(), program.row_upper.copy()
    upper[: 2 * n][far] = np.inf
    if form.is_maximum:
        upper[2 * n + k] = np.inf
    if form.is_free:
        first = len(model.independent) + len(model.preserved)
        at = np.concatenate([model.sensitive, n + model.sensitive])
        row_upper[first : first + 2 * k][far[at]] = np.inf
    return replace(program, upper=upper, row_upper=row_upper)


def _members(model: AdjustmentModel) -> Integers:
    """Groups of all cells that can move."""
    members: Integers = model.coupled.group[model.coupled.group >= 0]
    return members


def _row_errors(form: TightForm) -> Floats:
    """Largest rounding error of each row, for the largest values of its columns."""
    model, program, at = form.model, form.program, form.model.sensitive
    is_direction = np.zeros(program.n_columns)
    is_direction[form.direction_columns] = 1.0
    terms = np.diff(program.matrix.indptr)
    error = (EPSILON + ROUNDING * terms) * (abs(program.matrix) @ is_direction)
    raw = np.zeros(len(form.scaling.row))
    sums = _sums_of_cells(model)
    first = len(sums)
    raw[:first] = sums
    if form.is_free:
        both = np.concatenate([model.moves.up[at], model.moves.down[at]])
        raw[first : first + 2 * len(at)] += EPSILON * both
    if form.is_maximum:
        both = np.zeros(model.n_groups)
        both[at] = model.up_level + model.down_level
        raw[-model.n_groups :] += EPSILON * model.largest_cost * both
    error[: len(raw)] += raw * form.scaling.row
    errors: Floats = error
    return errors


def _sums_of_cells(model: AdjustmentModel) -> Floats:
    """Rounding of coefficients of groups of several cells, which are sums; of whole numbers 0."""
    group = model.coupled.group
    merged = (group >= 0) & (np.bincount(_members(model), minlength=1)[group] > 1)
    rooms = np.append(model.moves.up + model.moves.down, 0.0)[group]
    reach = np.where(merged, rooms + model.room.up_level + model.room.down_level, 0.0)
    rows = [abs(model.problem.table.relations[model.independent, :])]
    rows += [csr_array(np.abs(row.coefficients)[None, :]) for row in model.preserved]
    cells = csr_array(vstack(rows, format="csr"))
    whole = np.asarray(abs(cells - cells.rint()).sum(axis=1)).reshape(-1) == 0
    sums = (EPSILON + ROUNDING * np.diff(cells.indptr)) * (cells @ reach)
    return np.where(whole, 0.0, sums)
