"""Tasks in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from tablecloak.executors.executor import EXECUTORS, WorkersExecutor, gathered

T = TypeVar("T")
R = TypeVar("R")


@EXECUTORS.register
class ThreadExecutor(WorkersExecutor):
    """Tasks in threads of this process, each in a copy of the caller's context.

    Parameters
    ----------
    workers : int
    """

    name = "threads"
    forms = ("threads", "threads:2")

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result."""
        with ThreadPoolExecutor(self.workers) as pool:
            yield from gathered(pool, in_context(function), dict(enumerate(tasks)))


def in_context(function: Callable[[T], R]) -> Callable[[T], R]:
    """Return a function for other threads that sees the caller's context variables.

    One of these variables is the solver that was chosen around a computation.
    """
    context = copy_context()
    # Only one thread at a time can enter a context, so each task gets a copy.
    return lambda task: context.copy().run(function, task)
