"""The nearest table of a space that is found, with its proof.

A space is searched as one piece. Parts that no relation connects are searched apart, in threads;
large tables by first-order methods alone, where their relations have single totals. Where sensitive
cells have two values each, in whole numbers, smaller tables are as well.
"""

from __future__ import annotations

import contextvars
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tablecloak.arrays import Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.certificates.tree import Multipliers
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.packing import Charges, Packing, packed
from tablecloak.cta.first_order.relaxation import has_two_values
from tablecloak.cta.first_order.search import (
    DRIVES,
    FEW_DRIVES,
    BestTable,
    best_table,
    directed_table,
    driven_table,
)
from tablecloak.cta.first_order.totals import AdditiveGrid, Totals
from tablecloak.cta.model.answer import LATE, AdjustmentAnswer, LossBound, LossProof
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.bounds import PartsBound
from tablecloak.cta.search.directions import search
from tablecloak.cta.search.distance import DirectionSearch
from tablecloak.cta.search.distances.l1 import L1
from tablecloak.cta.search.infeasibility import reason
from tablecloak.cta.search.state import DirectionState, Reserve, with_directions
from tablecloak.cta.search.task import AdjustmentTask
from tablecloak.errors import TablecloakError
from tablecloak.executors import Executor, SerialExecutor, ThreadExecutor


def answer_in(
    space: AdjustmentSpace, task: AdjustmentTask, budget: Budget, start: Integers | None = None
) -> AdjustmentAnswer:
    """Search a space as its size, its distance and its parts allow.

    Parameters
    ----------
    space : AdjustmentSpace
    task : AdjustmentTask
    budget : Budget
    start : numpy.ndarray of int, shape (n_cells,), optional
        Changes of a table in whole numbers that programs are to make better.

    Raises
    ------
    ModelError
        If it is proved that there is no table.
    SolverError
        If none was found.
    """
    problem = space.problem
    is_kept = all(abs(row.target) <= row.slack for row in space.preserved)
    if not problem.n_sensitive and is_kept:
        nothing = np.zeros(problem.table.n_cells, dtype=np.longdouble)
        return AdjustmentAnswer(nothing, task.decimals is not None, None)
    if start is None and is_large(space, task):
        large = answer_at_large(space, task, budget)
        if large is not None:
            return large
    if task.is_free and task.distance.adds_up and not task.statistics:
        part = space.parts
        counts = np.bincount(part[problem.sensitive & (part >= 0)])
        if np.count_nonzero(counts) > 1:
            return answer_in_parts(space, task, counts, budget, start)
    return answer_in_one_piece(space, task, budget, start)


WHOLE_SHARE = 0.15
"""Share of the time kept back for finding whole numbers, if they are wanted."""

REQUIRED_SHARE = 0.5
"""The same where nothing else is an answer, and none comes after the limit."""


def answer_in_one_piece(
    space: AdjustmentSpace, task: AdjustmentTask, budget: Budget, start: Integers | None = None
) -> AdjustmentAnswer:
    """Return the nearest table of a space, searched as one piece even if it has several parts.

    Parameters
    ----------
    space : AdjustmentSpace
    task : AdjustmentTask
    budget : Budget
    start : numpy.ndarray of int, shape (n_cells,), optional
        As for `answer_in`; of other parts, nothing is looked at.

    Raises
    ------
    ModelError
        If it is proved that there is no answer.
    SolverError
        If none was found.
    """
    whole = task.may_be_whole and bool(space.problem.table.integer)
    watch = Stopwatch()
    model = space.model
    choice = Stopwatch()
    # The independent relations are stored with the proof, so that a check need not find them.
    model = replace(model, selected=model.independent)
    choosing = choice.seconds
    form = TightForm.of(model, free=task.is_free, maximum=task.distance.is_maximum)
    reserve = Reserve(layout=watch.seconds - choosing, limit=budget.left)
    fixed = model.fixed_directions(task.directions)
    whole_share = REQUIRED_SHARE if budget.is_strict and start is None else WHOLE_SHARE
    part = budget.share(1 - whole_share if whole else task.distance.share)
    reserve.kept = max(budget.left - part.left, 0.0) if np.isfinite(budget.left) else 0.0
    state = DirectionState(form, part, reserve, is_first=True)
    if start is not None:
        with_directions(state, model.directions_of(start.astype(np.float64)))
    search(state, fixed, budget, for_proof=task.distance.is_proved_by_search)
    if state.best is None:
        raise reason(space, state, fixed, budget)
    if budget.is_stopped:
        budget = Budget.of(reserve.needed, threads=budget.threads)
    searched = DirectionSearch(
        state,
        fixed,
        budget.within(max(budget.left - reserve.verification - reserve.correction, 0.0)),
        wants_whole=whole,
        must_be_whole=bool(task.integer),
        conditions=tuple(task.searched),
        start=start,
    )
    answer = task.distance.settle(searched)
    return replace(answer, notes=tuple(state.notes))


def answer_in_parts(
    space: AdjustmentSpace,
    task: AdjustmentTask,
    counts: Integers,
    budget: Budget,
    start: Integers | None = None,
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
        alone, part = space.part(space.parts == numbers[place]), budget.within(seconds[place])
        try:
            return context.copy().run(answer_in_one_piece, alone, task, part, start)
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
    return answers_together(answers, space.parts, bound)


def answers_together(
    answers: Mapping[int, AdjustmentAnswer], part: Integers, certificate: LossBound
) -> AdjustmentAnswer:
    """Return the answer for the whole table.

    Parameters
    ----------
    answers : mapping of int to AdjustmentAnswer
        By the number of the part.
    part : numpy.ndarray of int, shape (n_cells,)
        Number of the part of each cell.
    certificate : LossBound
        Of all of them.
    """
    changes = np.zeros(len(part), dtype=np.longdouble)
    for number, answer in answers.items():
        changes[part == number] = answer.changes[part == number]
    notes = [f"{len(answers)} parts that no relation connects were adjusted apart"]
    notes += [LATE] * any(LATE in answer.notes for answer in answers.values())
    is_whole = all(answer.is_whole for answer in answers.values())
    return AdjustmentAnswer(changes, is_whole, certificate, tuple(notes))


FIRST_ORDER_CELLS = 100_000
"""Cells from which a table is adjusted by first-order methods."""

DRIVEN_CELLS = 500
"""The same where sensitive cells have two values each, in whole numbers."""

PROGRAM_CELLS = 8000
"""Cells up to which programs make such a table better in the time that is left, and its bound."""

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
    least = DRIVEN_CELLS if task.has_two_values else FIRST_ORDER_CELLS
    return is_plain and table.n_cells >= least and bool(table.integer)


def wants_programs(space: AdjustmentSpace, task: AdjustmentTask) -> bool:
    """Whether programs may make the table of first-order methods better in little time."""
    n_cells = space.problem.table.n_cells
    return is_large(space, task) and task.has_two_values and n_cells <= PROGRAM_CELLS


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
    if fixed is not None:
        best = directed_table(grid, fixed, part)
    else:
        is_driven = task.has_two_values and has_two_values(model)
        drives = FEW_DRIVES if wants_programs(space, task) else DRIVES
        best = driven_table(grid, part, drives) if is_driven else None
        best = best or _free_table(grid, part)
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
