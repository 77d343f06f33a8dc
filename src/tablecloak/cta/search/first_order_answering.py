"""Large tables: answered by first-order methods alone, where their relations have single totals."""

from __future__ import annotations

import contextvars
from dataclasses import replace

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.cta.first_order.layout import Layout
from tablecloak.cta.first_order.packing import Charges, Packing, packed
from tablecloak.cta.first_order.prices import price_multipliers
from tablecloak.cta.first_order.primal_dual import PrimalDual
from tablecloak.cta.first_order.proof import FirstOrderBound
from tablecloak.cta.first_order.schedule import (
    BOUND_SHARE,
    FINE,
    FIRST_ORDER_CELLS,
    MOST_SETTLING_STEPS,
    VERIFICATION,
)
from tablecloak.cta.first_order.search import Found, Rounding, searched, settled
from tablecloak.cta.first_order.totals import Totals
from tablecloak.cta.model.answer import INTERRUPTED, LATE, Answer
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.question import Question
from tablecloak.cta.search.asked import Asked
from tablecloak.cta.search.distances.l1 import L1
from tablecloak.executors import Executor, SerialExecutor, ThreadExecutor
from tablecloak.solve.program import power_of_two

__all__ = ["answer_large", "is_large"]


def is_large(question: Question, asked: Asked) -> bool:
    """Whether a question is one for first-order methods: a large table, its sum of changes alone.

    Values must be whole in the unit of the question, so that additive changes leave no error.
    """
    table = question.problem.table
    is_plain = type(asked.distance) is L1 and not asked.statistics and not question.preserved
    return is_plain and table.n_cells >= FIRST_ORDER_CELLS and bool(table.integer)


def answer_large(question: Question, asked: Asked, budget: Budget) -> Answer | None:
    """Answer a question about a large table; None if no table was found this way.

    Raises
    ------
    ModelError
        If a sensitive cell cannot move as far as it must, or not in its given direction.
    """
    watch = Stopwatch()
    totals = Totals.of(question.problem.table.relations)
    if totals is None:
        return None
    # All relations are used: multipliers of redundant ones do no harm.
    every = np.arange(question.problem.table.n_relations)
    model = question.model(every)
    fixed = model.fixed_directions(asked.directions)
    layout = Layout.of(model)
    unit = float(power_of_two(np.array([question.problem.unit]))[0])
    rounding = Rounding(layout, totals, 1.0 if asked.may_be_whole else FINE * unit)
    own = budget.within(max(budget.left - VERIFICATION * watch.seconds, 0.0))
    if fixed is None:
        answer = _answer_free(rounding, own)
    else:
        answer = _answer_directed(rounding, fixed, own)
    if answer is None:
        return None
    notes = list(answer.notes)
    if budget.is_stopped:
        notes.append(INTERRUPTED)
    elif budget.is_over:
        notes.append(LATE)
    return replace(answer, is_whole=asked.may_be_whole, notes=tuple(notes))


def _answer_directed(rounding: Rounding, fixed: Floats, budget: Budget) -> Answer | None:
    """Answer with given directions."""
    layout, is_up = rounding.layout, fixed > 0
    found = settled(PrimalDual(layout), is_up, rounding, budget, MOST_SETTLING_STEPS)
    if found is None:
        return None
    direction = _one_of_each(layout.model, np.where(is_up, 1, -1))
    return _answer(found, FirstOrderBound(price_multipliers(layout, found.prices), direction))


def _answer_free(rounding: Rounding, budget: Budget) -> Answer | None:
    """Search directions, and prove a bound for all directions beside it."""
    layout, is_together = rounding.layout, budget.threads > 1
    own = budget if is_together else budget.share(BOUND_SHARE)
    context = contextvars.copy_context()

    def run(task: int) -> Found | Charges | None:
        if task:
            return context.copy().run(packed, Packing(layout), own)
        return context.copy().run(searched, rounding, budget if is_together else own)

    executor: Executor = ThreadExecutor(2) if is_together else SerialExecutor()
    outcomes = dict(executor.run(run, range(2)))
    found, charges = outcomes[0], outcomes[1]
    if not isinstance(found, Found) or not isinstance(charges, Charges):
        return None
    none = np.zeros(layout.model.problem.table.n_cells, dtype=np.int64)
    budget.report("proof", found.loss, charges.bound())
    return _answer(found, FirstOrderBound(charges.multipliers(), none))


def _answer(found: Found, certificate: FirstOrderBound) -> Answer:
    notes = ("first-order methods",)
    return Answer(found.changes.astype(np.longdouble), False, certificate, notes)


def _one_of_each(model: AdjustmentModel, signs: Integers) -> Integers:
    """Give the first sensitive cell of each group the direction of the group; 0 for others."""
    cells = np.flatnonzero(model.problem.sensitive & (model.coupled.group >= 0))
    _, first = np.unique(model.coupled.group[cells], return_index=True)
    direction = np.zeros(model.problem.table.n_cells, dtype=np.int64)
    direction[cells[first]] = signs
    return direction
