"""A space whose parts no relation connects: they are searched apart, in threads."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping

import numpy as np

from tablecloak.arrays import Integers
from tablecloak.budget import Budget
from tablecloak.cta.model.answer import LATE, AdjustmentAnswer, LossBound
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.search.bounds import PartsBound
from tablecloak.cta.search.one_piece import answer_in_one_piece
from tablecloak.cta.search.task import AdjustmentTask
from tablecloak.errors import TablecloakError
from tablecloak.executors import Executor, SerialExecutor, ThreadExecutor


def answer_in_parts(
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
        alone, part = space.part(space.parts == numbers[place]), budget.within(seconds[place])
        try:
            return context.copy().run(answer_in_one_piece, alone, task, part)
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
