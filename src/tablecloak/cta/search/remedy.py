"""What helps where there is no adjustment: a repair if it is asked for, or else its name."""

from __future__ import annotations

from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.repair import Repair, find_repair
from tablecloak.cta.model.room import first_reach, room_of
from tablecloak.cta.search.infeasibility import NAMING_SECONDS
from tablecloak.cta.search.task import AdjustmentTask
from tablecloak.errors import ModelError, TablecloakError

NAMED_CELLS = 5000
"""Most cells of an infeasible problem for which the error names the fewest levels and capacities
to change. Chosen by trial; not measured."""


def repaired_task(task: AdjustmentTask, error: ModelError, budget: Budget) -> AdjustmentTask:
    """Return the task with the fewest levels and capacities changed, if that is asked for.

    Parameters
    ----------
    task : AdjustmentTask
    error : ModelError
        What a search of the task has proved.
    budget : Budget

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
    left = max(budget.left, 1.0)
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
