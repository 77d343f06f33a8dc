"""Large tables: searched by first-order methods alone, where their relations have single totals."""

from __future__ import annotations

import contextvars
from dataclasses import replace

import numpy as np

from tablecloak.budget import Budget, Stopwatch
from tablecloak.certificates.tree import Multipliers
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.packing import Charges, Packing, packed
from tablecloak.cta.first_order.search import BestTable, best_table, directed_table
from tablecloak.cta.first_order.totals import AdditiveGrid, Totals
from tablecloak.cta.model.answer import LATE, AdjustmentAnswer, LossProof
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.search.distances.l1 import L1
from tablecloak.cta.search.task import AdjustmentTask
from tablecloak.executors import Executor, SerialExecutor, ThreadExecutor

FIRST_ORDER_CELLS = 100_000
"""Cells from which a table is adjusted by first-order methods."""

BOUND_SHARE = 0.5
"""Share of the time for the bound where bound and search follow one another in one thread."""

VERIFICATION = 3.0
"""Time kept back for the proof and the check of the table, as a multiple of laying it out."""


def is_large(space: AdjustmentSpace, task: AdjustmentTask) -> bool:
    """Whether first-order methods search a space: a large table, its sum of changes alone.

    Values must be whole in the unit of the space, so that additive changes leave no error.
    """
    table = space.problem.table
    is_plain = type(task.distance) is L1 and not task.statistics and not space.preserved
    return is_plain and table.n_cells >= FIRST_ORDER_CELLS and bool(table.integer)


def answer_at_large(
    space: AdjustmentSpace, task: AdjustmentTask, budget: Budget
) -> AdjustmentAnswer | None:
    """Search the space of a large table; None if no table was found this way.

    Raises
    ------
    ModelError
        If a sensitive cell cannot move as far as it must, or not in its given direction.
    """
    watch = Stopwatch()
    totals = Totals.of(space.problem.table.relations)
    if totals is None:
        return None
    # All relations are used: multipliers of redundant ones do no harm.
    model = replace(space.model, selected=np.arange(space.problem.table.n_relations))
    fixed = model.fixed_directions(task.directions)
    grid = AdditiveGrid.of(FirstOrderLayout.of(model), totals, whole=task.may_be_whole)
    part = budget.within(max(budget.left - VERIFICATION * watch.seconds, 0.0))
    best = _free_table(grid, part) if fixed is None else directed_table(grid, fixed, part)
    if best is None:
        return None
    table, multipliers = best
    proof = LossProof.of_root(multipliers, model.signs_of(fixed))
    notes = ["first-order methods"]
    if budget.is_over and not budget.is_stopped:
        notes.append(LATE)
    return AdjustmentAnswer(
        table.changes.astype(np.longdouble), task.may_be_whole, proof, tuple(notes)
    )


def _free_table(grid: AdditiveGrid, budget: Budget) -> tuple[BestTable, Multipliers] | None:
    """Search directions, and prove a bound for all directions beside it."""
    layout, is_together = grid.layout, budget.threads > 1
    part = budget if is_together else budget.share(BOUND_SHARE)
    context = contextvars.copy_context()

    def run(task: int) -> BestTable | Charges | None:
        if task:
            return context.copy().run(packed, Packing(layout), part)
        return context.copy().run(best_table, grid, budget if is_together else part)

    executor: Executor = ThreadExecutor(2) if is_together else SerialExecutor()
    outcomes = dict(executor.run(run, range(2)))
    best, charges = outcomes[0], outcomes[1]
    if not isinstance(best, BestTable) or not isinstance(charges, Charges):
        return None
    budget.report("proof", best.loss, charges.bound())
    return best, charges.multipliers()
