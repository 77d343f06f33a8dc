"""From a space to an answer; parts that no relation connects are answered in parallel."""

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
from tablecloak.cta.first_order.search import BestTable, Rounding, searched, settled
from tablecloak.cta.first_order.totals import Totals
from tablecloak.cta.model.answer import INTERRUPTED, LATE, AdjustmentAnswer, LossBound
from tablecloak.cta.model.limits import WHOLE_SHARE
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.bounds import PartsBound
from tablecloak.cta.search.directions import search
from tablecloak.cta.search.distance import DirectionSearch
from tablecloak.cta.search.distances.l1 import L1
from tablecloak.cta.search.infeasibility import reason
from tablecloak.cta.search.reserve import Reserve
from tablecloak.cta.search.state import SearchState
from tablecloak.cta.search.task import AdjustmentTask
from tablecloak.errors import TablecloakError
from tablecloak.executors import Executor, SerialExecutor, ThreadExecutor
from tablecloak.solve.program import power_of_two

__all__ = ["answer_in", "answer_large", "answer_one_part", "is_large"]


def answer_in(space: AdjustmentSpace, task: AdjustmentTask, budget: Budget) -> AdjustmentAnswer:
    """Return the nearest table of a space, in parts if there are any.

    Raises
    ------
    ModelError
        If it is proved that there is no answer.
    SolverError
        If none was found.
    """
    problem = space.problem
    is_kept = all(abs(row.target) <= row.slack for row in space.preserved)
    if not problem.n_sensitive and is_kept:
        nothing = np.zeros(problem.table.n_cells, dtype=np.longdouble)
        return AdjustmentAnswer(nothing, task.decimals is not None, None)
    if is_large(space, task):
        large = answer_large(space, task, budget)
        if large is not None:
            return large
    if task.is_free and task.distance.adds_up and not task.statistics:
        part = space.parts
        counts = np.bincount(part[problem.sensitive & (part >= 0)])
        if np.count_nonzero(counts) > 1:
            return _answer_in_parts(space, task, counts, budget)
    return answer_one_part(space, task, budget)


def _answer_in_parts(
    space: AdjustmentSpace, task: AdjustmentTask, counts: Integers, budget: Budget
) -> AdjustmentAnswer:
    """Search all parts with sensitive cells, in threads, and put the answers together.

    Each gets a share of the time by its number of sensitive cells. The answers come in an order
    that does not depend on the number of threads; so does the error that is raised.
    """
    # The longest parts start first, so that no thread is left with a long one at the end.
    numbers = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    workers = min(budget.threads, len(numbers))
    share = np.minimum(workers * counts[numbers] / counts.sum(), 1.0)
    seconds = (budget.left * share).tolist()
    context = contextvars.copy_context()

    def answer_one(place: int) -> AdjustmentAnswer | TablecloakError:
        alone = space.part(space.parts == numbers[place])
        try:
            return context.copy().run(answer_one_part, alone, task, budget.within(seconds[place]))
        except TablecloakError as error:
            return error

    executor: Executor = ThreadExecutor(workers) if workers > 1 else SerialExecutor()
    outcomes = dict(executor.run(answer_one, range(len(numbers))))
    answers: dict[int, AdjustmentAnswer] = {}
    proofs: list[LossBound] = []
    for place, number in enumerate(numbers.tolist()):
        outcome = outcomes[place]
        if isinstance(outcome, TablecloakError):
            raise outcome
        assert outcome.certificate is not None
        answers[int(number)] = outcome
        proofs.append(outcome.certificate)
    bound = PartsBound(tuple(answers), tuple(proofs))
    return AdjustmentAnswer.joined(answers, space.parts, bound)


def answer_one_part(
    space: AdjustmentSpace, task: AdjustmentTask, budget: Budget
) -> AdjustmentAnswer:
    """Search a space as one part, even if the table has several.

    Raises
    ------
    ModelError
        If it is proved that there is no answer.
    SolverError
        If none was found.
    """
    whole = task.may_be_whole and bool(space.problem.table.integer)
    watch = Stopwatch()
    model = space.model()
    choice = Stopwatch()
    # The independent relations are stored with the proof, so that a check need not find them.
    model = replace(model, selected=model.independent)
    choosing = choice.seconds
    form = TightForm.of(model, free=task.is_free, maximum=task.distance.is_maximum)
    reserve = Reserve(layout=watch.seconds - choosing, limit=budget.left)
    fixed = model.fixed_directions(task.directions)
    own = budget.share(1 - WHOLE_SHARE if whole else task.distance.share)
    reserve.kept = max(budget.left - own.left, 0.0) if np.isfinite(budget.left) else 0.0
    state = SearchState(form, own, reserve, is_first=True)
    search(state, fixed, budget, for_proof=task.distance.is_proved_by_search)
    if state.best is None:
        raise reason(space, state, fixed, budget)
    if budget.is_stopped:
        state.notes.append(INTERRUPTED)
        budget = Budget.of(reserve.needed, threads=budget.threads)
    searched = DirectionSearch(
        state,
        fixed,
        budget.within(max(budget.left - reserve.verification - reserve.correction, 0.0)),
        wants_whole=whole,
        must_be_whole=bool(task.integer),
        conditions=tuple(task.searched),
    )
    answer = task.distance.settle(searched)
    return replace(answer, notes=tuple(state.notes))


def is_large(space: AdjustmentSpace, task: AdjustmentTask) -> bool:
    """Whether first-order methods search a space: a large table, its sum of changes alone.

    Values must be whole in the unit of the space, so that additive changes leave no error.
    """
    table = space.problem.table
    is_plain = type(task.distance) is L1 and not task.statistics and not space.preserved
    return is_plain and table.n_cells >= FIRST_ORDER_CELLS and bool(table.integer)


def answer_large(
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
    every = np.arange(space.problem.table.n_relations)
    model = space.model(every)
    fixed = model.fixed_directions(task.directions)
    layout = Layout.of(model)
    unit = float(power_of_two(np.array([space.problem.unit]))[0])
    rounding = Rounding(layout, totals, 1.0 if task.may_be_whole else FINE * unit)
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
    return replace(answer, is_whole=task.may_be_whole, notes=tuple(notes))


def _answer_directed(rounding: Rounding, fixed: Floats, budget: Budget) -> AdjustmentAnswer | None:
    """Search with given directions."""
    layout, is_up = rounding.layout, fixed > 0
    found = settled(PrimalDual(layout), is_up, rounding, budget, MOST_SETTLING_STEPS)
    if found is None:
        return None
    direction = _one_of_each(layout.model, np.where(is_up, 1, -1))
    return _answer(found, FirstOrderBound(price_multipliers(layout, found.prices), direction))


def _answer_free(rounding: Rounding, budget: Budget) -> AdjustmentAnswer | None:
    """Search directions, and prove a bound for all directions beside it."""
    layout, is_together = rounding.layout, budget.threads > 1
    own = budget if is_together else budget.share(BOUND_SHARE)
    context = contextvars.copy_context()

    def run(task: int) -> BestTable | Charges | None:
        if task:
            return context.copy().run(packed, Packing(layout), own)
        return context.copy().run(searched, rounding, budget if is_together else own)

    executor: Executor = ThreadExecutor(2) if is_together else SerialExecutor()
    outcomes = dict(executor.run(run, range(2)))
    found, charges = outcomes[0], outcomes[1]
    if not isinstance(found, BestTable) or not isinstance(charges, Charges):
        return None
    none = np.zeros(layout.model.problem.table.n_cells, dtype=np.int64)
    budget.report("proof", found.loss, charges.bound())
    return _answer(found, FirstOrderBound(charges.multipliers(), none))


def _answer(found: BestTable, certificate: FirstOrderBound) -> AdjustmentAnswer:
    notes = ("first-order methods",)
    return AdjustmentAnswer(found.changes.astype(np.longdouble), False, certificate, notes)


def _one_of_each(model: AdjustmentModel, signs: Integers) -> Integers:
    """Give the first sensitive cell of each group the direction of the group; 0 for others."""
    cells = np.flatnonzero(model.problem.sensitive & (model.coupled.group >= 0))
    _, first = np.unique(model.coupled.group[cells], return_index=True)
    direction = np.zeros(model.problem.table.n_cells, dtype=np.int64)
    direction[cells[first]] = signs
    return direction
