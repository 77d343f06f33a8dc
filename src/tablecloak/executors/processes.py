"""Tasks in processes of their own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from tablecloak.errors import SolverError
from tablecloak.executors.executor import EXECUTORS, WorkersExecutor, gathered

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS = 3
"""Number of pools that may break down in a row, without a finished task, before the run fails."""


@EXECUTORS.register
class ProcessExecutor(WorkersExecutor):
    """Tasks in processes of this machine; a task whose process died is repeated.

    Parameters
    ----------
    workers : int
    """

    name = "processes"
    forms = ("processes", "processes:2")

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result; a task whose process died is repeated."""
        left, deaths = dict(enumerate(tasks)), 0
        context = multiprocessing.get_context("spawn")
        while left:
            try:
                with ProcessPoolExecutor(self.workers, mp_context=context) as pool:
                    for number, result in gathered(pool, function, left):
                        deaths = 0
                        del left[number]
                        yield number, result
            except BrokenProcessPool:
                deaths += 1
                if deaths == ATTEMPTS:
                    raise SolverError(
                        f"Processes died {deaths} times in a row with {len(left)} tasks left. A "
                        "common reason is too little memory: use fewer workers."
                    ) from None
