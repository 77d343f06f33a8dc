"""Parts of a table that no relation connects: each is adjusted apart, and all at the same time.

What can move in one part has no influence on the others, so that losses and bounds of the parts
add up. A hierarchy is connected through its total unless that is frozen; tables published side by
side, or with frozen margins, fall apart.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tablecloak.cta.formulation import Room
from tablecloak.cta.question import Question
from tablecloak.errors import VerificationError
from tablecloak.tables.problem import ProtectionProblem

if TYPE_CHECKING:
    from tablecloak.cta.adjust import Answer
    from tablecloak.cta.adjustment import DistanceBound
    from tablecloak.cta.squares import SquaresBound

__all__ = ["PartsBound", "adjust_parts", "parts_of"]

Floats = npt.NDArray[np.float64]
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


@dataclass(frozen=True, eq=False)
class PartsBound:
    """Proof that no adjustment costs less than the bounds of its parts together.

    Parameters
    ----------
    numbers : tuple of int
        Parts with sensitive cells.
    certificates : tuple of DistanceBound or SquaresBound
        One for each of them.
    """

    numbers: tuple[int, ...]
    certificates: tuple[DistanceBound | SquaresBound, ...]

    def verify(self, question: Question, changes: Floats) -> float:
        """Return the sum of what the parts prove, each for its own cells.

        Raises
        ------
        VerificationError
            If a part was proved twice, or there is none of that number.
        """
        part = parts_of(question.problem, question.room)
        known = len(set(self.numbers)) == len(self.numbers) == len(self.certificates)
        if not known or not set(self.numbers) <= set(part[part >= 0].tolist()):
            raise VerificationError("The parts of the table are not those that were proved.")
        return float(
            sum(
                certificate.verify(
                    question.part(part == number), np.where(part == number, changes, 0)
                )
                for number, certificate in zip(self.numbers, self.certificates, strict=True)
            )
        )


def adjust_parts(
    question: Question,
    part: Integers,
    answered: Callable[[Question, float], Answer],
    time_limit: float,
    stop: Callable[[], None],
) -> list[tuple[int, Answer]]:
    """Adjust all parts with sensitive cells, in threads.

    Parameters
    ----------
    question : Question
    part : numpy.ndarray of int, shape (n_cells,)
        As `parts_of` returns it.
    answered : callable
        Answers a question within some seconds.
    time_limit : float
        Seconds for all together. Each part gets a share by its number of sensitive cells.
    stop : callable
        Called upon an interruption from the keyboard, so that all parts end with the best they
        have.

    Returns
    -------
    list of tuple of int and Answer
        Number of each part, and what became of it with all other cells frozen.
    """
    counts = np.bincount(part[question.problem.sensitive & (part >= 0)])
    # The parts that take longest come first, so that none is left over at the end.
    numbers = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    workers = min(os.cpu_count() or 1, len(numbers))
    share = np.minimum(workers * counts[numbers] / counts.sum(), 1.0)

    def answer_one(number: int, seconds: float) -> Answer:
        return answered(question.part(part == number), seconds)

    with ThreadPoolExecutor(workers) as pool:
        tasks = [
            pool.submit(copy_context().run, answer_one, number, seconds)
            for number, seconds in zip(numbers.tolist(), time_limit * share, strict=True)
        ]
        try:
            wait(tasks)
        except KeyboardInterrupt:
            stop()
            wait(tasks)
        return [(int(number), task.result()) for number, task in zip(numbers, tasks, strict=True)]
