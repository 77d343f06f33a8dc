"""Parts of a table that no relation connects: each is adjusted apart, and all at the same time.

What can move in one part has no influence on the others, so that losses and bounds of the parts
add up. A hierarchy is connected through its total unless that is frozen; tables published side by
side, or with frozen margins, fall apart.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tablecloak.budget import Budget
from tablecloak.cta.answer import Answer
from tablecloak.cta.question import Question
from tablecloak.cta.room import Room
from tablecloak.errors import TablecloakError
from tablecloak.executors import Executor, SerialExecutor, ThreadExecutor
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["answer_parts", "parts_of"]

Integers = npt.NDArray[np.int64]


def parts_of(problem: ProtectionProblem, room: Room) -> Integers:
    """Return the number of the part of each cell; -1 for cells that cannot move.

    Parameters
    ----------
    problem : ProtectionProblem
    room : Room
    """
    movable = np.flatnonzero((room.up > 0) | (room.down > 0))
    relations = csr_array(problem.table.relations[:, movable]).tocoo()
    relations.eliminate_zeros()
    n, m = relations.shape[1], relations.shape[0]
    edges = csr_array(
        (np.ones(relations.nnz), (relations.col, n + relations.row)), shape=(n + m, n + m)
    )
    _, label = connected_components(edges, directed=False)
    part = np.full(problem.table.n_cells, -1, dtype=np.int64)
    part[movable] = np.unique(label[:n], return_inverse=True)[1]
    return part


def answer_parts(
    question: Question,
    part: Integers,
    answer: Callable[[Question, Budget], Answer],
    budget: Budget,
) -> list[tuple[int, Answer]]:
    """Answer for all parts with sensitive cells, in threads.

    Parameters
    ----------
    question : Question
    part : numpy.ndarray of int, shape (n_cells,)
        As `parts_of` returns it.
    answer : callable
        Answers the question of one part.
    budget : Budget
        For all together. Each part gets a share by its number of sensitive cells.

    Returns
    -------
    list of tuple of int and Answer
        Number of each part, and what became of it with all other cells frozen; in an order that
        does not depend on the number of threads.

    Raises
    ------
    TablecloakError
        The first that a part raised, in that order.
    """
    counts = np.bincount(part[question.problem.sensitive & (part >= 0)])
    # The parts that take longest come first, so that none is left over at the end.
    numbers = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    workers = min(budget.threads, len(numbers))
    share = np.minimum(workers * counts[numbers] / counts.sum(), 1.0)
    seconds = (budget.left * share).tolist()
    context = contextvars.copy_context()

    def answer_one(place: int) -> Answer | TablecloakError:
        alone = question.part(part == numbers[place])
        try:
            return context.copy().run(answer, alone, budget.within(seconds[place]))
        except TablecloakError as error:
            return error

    executor: Executor = ThreadExecutor(workers) if workers > 1 else SerialExecutor()
    outcomes = dict(executor.run(answer_one, range(len(numbers))))
    answers = []
    for place, number in enumerate(numbers.tolist()):
        outcome = outcomes[place]
        if isinstance(outcome, TablecloakError):
            raise outcome
        answers.append((int(number), outcome))
    return answers
