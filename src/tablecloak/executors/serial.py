"""One task after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tablecloak.executors.executor import EXECUTORS, Executor

T = TypeVar("T")
R = TypeVar("R")


@EXECUTORS.register
class SerialExecutor(Executor):
    """One task after the other, in this process."""

    name = "serial"
    forms = ("serial",)

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result."""
        for number, task in enumerate(tasks):
            yield number, function(task)
