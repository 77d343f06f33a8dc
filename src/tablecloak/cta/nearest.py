"""The nearest table of a task, verified: in its last digit, farther away or repaired if need be.

And one whose sensitive cells move by random distances beyond their levels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.repair import Repair, find_repair
from tablecloak.cta.model.room import first_reach, room_of
from tablecloak.cta.model.spread import RandomDistances
from tablecloak.cta.result.adjusted_table import check_adjusted
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.search.answers import answer_in, wants_programs
from tablecloak.cta.search.infeasibility import NAMING_SECONDS
from tablecloak.cta.search.task import AdjustmentTask
from tablecloak.errors import ModelError, SolverError, TablecloakError

NAMED_CELLS = 5000
"""Most cells of an infeasible problem for which the error names the fewest levels and capacities
to change. Chosen by trial; not measured."""

MOST_SEARCHES = 4
"""Most searches of one problem, each in larger rooms than the one before."""

FARTHER = 1000.0
"""Factor of the rooms of a search where nothing else says how far a table may lie."""

REACH_SLACK = 1e-8
"""Share added to what the loss of a known table allows, against rounding."""


def nearest_table(task: AdjustmentTask, budget: Budget) -> Adjustment:
    """Return the nearest table that is found.

    Its values are multiples of the last digit or, if there is no such table, any numbers. If there
    is none either, levels and capacities give way if the task says so.

    Raises
    ------
    ModelError
        If it is proved that there is no table.
    SolverError
        If none was found.
    """
    given = task
    if task.has_two_values:
        budget = budget.strict()
    while True:
        try:
            return _nearest(task, budget)
        except ModelError as error:
            if task.may_need_real_numbers:
                task = task.in_real_numbers()
            else:
                task = given = _repaired(given, error, budget)
                budget = budget.at_least(1.0)


def _nearest(task: AdjustmentTask, budget: Budget) -> Adjustment:
    """Search the rooms that are near, and others if a better table, or the only one, may lie there.

    The rooms of a search are finite, and smaller ones make it better. What is proved holds for all
    that is allowed, so that a gap is left where the rooms of the search decided something.
    """
    space, best, start = task.space(), None, None
    for attempt in range(MOST_SEARCHES):
        try:
            answer = answer_in(space, task, budget, start)
            if not answer.is_whole and not task.holds_in_real_numbers:
                unit, task = task.digits.unit, task.in_real_numbers()
                space = task.space().farther(space.reach * unit)
                answer = answer_in(space, task, budget)
            adjusted = Adjustment.of(task, space, answer)
        except SolverError:
            is_last = attempt + 1 == MOST_SEARCHES or not space.is_cut or budget.is_over
            if best is None and is_last:
                raise
            reach = FARTHER * space.reach
        else:
            best = adjusted if best is None else best.or_better(adjusted)
            if best.is_optimal or budget.is_over:
                break
            if start is None and wants_programs(space, task):
                start = answer.changes.astype(np.int64)
                continue
            if not space.is_cut:
                break
            # No table of less loss lies farther away.
            lost = best.loss / task.digits.unit**task.distance.power
            reach = task.distance.reach(task.weights, lost) * (1 + REACH_SLACK)
            reach = np.where(np.isfinite(reach), reach, FARTHER * space.reach)
        wider = space.farther(reach)
        if best is not None and not np.any(wider.room.is_wider(space.room)):
            break
        space = wider
    assert best is not None
    return best


def _repaired(task: AdjustmentTask, error: ModelError, budget: Budget) -> AdjustmentTask:
    """Return the task with the fewest levels and capacities changed, if that is asked for.

    The error says what a search of the task has proved.

    Raises
    ------
    ModelError
        If no repair is asked for; names the levels and capacities to change if they are found
        quickly. Or if nothing helps.
    SolverError
        If a repair is asked for, and none was found in time.
    """
    is_small = task.problem.table.n_cells <= NAMED_CELLS
    is_named = task.repair is not None and is_small and task.is_free
    if not task.repair and not is_named:
        raise error
    left = budget.past(1.0)
    seconds = left / 2 if task.repair else min(left, NAMING_SECONDS)
    try:
        repair = _repair(task, budget.at_least(seconds).within(seconds))
    except TablecloakError as other:
        raise (other if task.repair else error) from None
    if task.repair:
        return task.of_problem(repair, repair=None, notes=(*task.notes, repair.summary()))
    raise ModelError(
        f"{error} An adjustment exists after these changes: {repair.summary()}. "
        f"Set repair=True to make them.",
        cells=error.cells,
    ) from None


def _repair(task: AdjustmentTask, budget: Budget) -> Repair:
    problem = task.problem
    room = room_of(problem, limit=task.sensitive_limit, strict=False)
    near = room.within(first_reach(problem, room))
    whole = task.integer is not False and bool(problem.table.integer)
    model = AdjustmentModel.apart(problem, near, task.rows(problem, whole=whole))
    return find_repair(model, room, budget)


def left_to_chance(
    task: AdjustmentTask, draws: Iterable[RandomDistances], plain: Adjustment, budget: Budget
) -> Adjustment:
    """Return an adjustment for the first draw of distances for which there is one.

    Parameters
    ----------
    task : AdjustmentTask
    draws : iterable of RandomDistances
        Of the problem of the task.
    plain : Adjustment
        The least adjustment, whose bound holds for any draw.
    budget : Budget

    Raises
    ------
    ModelError
        If relations leave no room for any draw.
    """
    reason = ModelError("No draw was made.")
    for draw in draws:
        try:
            drawn = nearest_table(
                task.of_problem(draw, directions=draw.directions, repair=None), budget.at_least(1.0)
            )
        except ModelError as error:
            reason = error
            continue
        if drawn.decimals != plain.decimals:
            plain = nearest_table(task.in_real_numbers(), budget.at_least(1.0))
        times = drawn.loss / plain.loss if plain.loss else 1.0
        note = (
            f"distances are left to chance: who knows all but the seed guesses a sensitive cell "
            f"with probability {100 * draw.chance.recovery:.3g} % at most, relations apart; the "
            f"loss is {times:.3g} times that of the least adjustment found"
        )
        adjusted = replace(
            plain, values=drawn.values, chance=draw.chance, notes=(*drawn.notes, note)
        )
        check_adjusted(adjusted, adjusted.bound)
        return adjusted
    raise ModelError(
        f"Relations and bounds leave no room for random distances: {reason} Without `recovery` "
        f"there is an adjustment.",
        cells=reason.cells,
    )
