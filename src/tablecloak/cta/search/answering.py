"""From a question to an answer; parts that no relation connects are answered in parallel."""

from __future__ import annotations

import contextvars

import numpy as np

from tablecloak.arrays import Integers
from tablecloak.budget import Budget
from tablecloak.cta.model.answer import Answer, LossBound
from tablecloak.cta.model.question import Question
from tablecloak.cta.search.asked import Asked
from tablecloak.cta.search.bounds import PartsBound
from tablecloak.cta.search.first_order_answering import answer_large, is_large
from tablecloak.cta.search.one_part import answer_one_part
from tablecloak.errors import TablecloakError
from tablecloak.executors import Executor, SerialExecutor, ThreadExecutor

__all__ = ["answered"]


def answered(question: Question, asked: Asked, budget: Budget) -> Answer:
    """Answer a question, in parts if there are any.

    Raises
    ------
    ModelError
        If it is proved that there is no answer.
    SolverError
        If none was found.
    """
    problem = question.problem
    is_kept = all(abs(row.target) <= row.slack for row in question.preserved)
    if not problem.n_sensitive and is_kept:
        nothing = np.zeros(problem.table.n_cells, dtype=np.longdouble)
        return Answer(nothing, asked.decimals is not None, None)
    if is_large(question, asked):
        large = answer_large(question, asked, budget)
        if large is not None:
            return large
    if asked.is_free and asked.distance.adds_up and not asked.statistics:
        part = question.parts
        counts = np.bincount(part[problem.sensitive & (part >= 0)])
        if np.count_nonzero(counts) > 1:
            return _answer_in_parts(question, asked, counts, budget)
    return answer_one_part(question, asked, budget)


def _answer_in_parts(question: Question, asked: Asked, counts: Integers, budget: Budget) -> Answer:
    """Answer for all parts with sensitive cells, in threads, and put the answers together.

    Each gets a share of the time by its number of sensitive cells. The answers come in an order
    that does not depend on the number of threads; so does the error that is raised.
    """
    # The longest parts start first, so that no thread is left with a long one at the end.
    numbers = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    workers = min(budget.threads, len(numbers))
    share = np.minimum(workers * counts[numbers] / counts.sum(), 1.0)
    seconds = (budget.left * share).tolist()
    context = contextvars.copy_context()

    def answer_one(place: int) -> Answer | TablecloakError:
        alone = question.part(question.parts == numbers[place])
        try:
            return context.copy().run(answer_one_part, alone, asked, budget.within(seconds[place]))
        except TablecloakError as error:
            return error

    executor: Executor = ThreadExecutor(workers) if workers > 1 else SerialExecutor()
    outcomes = dict(executor.run(answer_one, range(len(numbers))))
    answers: dict[int, Answer] = {}
    proofs: list[LossBound] = []
    for place, number in enumerate(numbers.tolist()):
        outcome = outcomes[place]
        if isinstance(outcome, TablecloakError):
            raise outcome
        assert outcome.certificate is not None
        answers[int(number)] = outcome
        proofs.append(outcome.certificate)
    bound = PartsBound(tuple(answers), tuple(proofs))
    return Answer.joined(answers, question.parts, bound)
