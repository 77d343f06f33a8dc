"""What an executor is, and how one is found by its name.

Tasks are functions of one argument without side effects but for files that appear whole, so that a
task whose worker died is simply done again: that costs time, never a result.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor as Pool
from concurrent.futures import as_completed
from typing import ClassVar, TypeVar

from tablecloak.errors import InputError
from tablecloak.registry import Registry

__all__ = [
    "EXECUTORS",
    "Executor",
    "WorkersExecutor",
    "executor_named",
    "gathered",
    "workers_of",
]

T = TypeVar("T")
R = TypeVar("R")


class Executor(ABC):
    """Does tasks and yields their results as they come; siblings are registered in `EXECUTORS`."""

    name: ClassVar[str]
    forms: ClassVar[tuple[str, ...]]
    """How it is written, with an example of its argument."""

    @classmethod
    def of(cls, argument: str) -> Executor:
        """Make one from what stands behind the colon in ``name:argument``.

        Raises
        ------
        InputError
            If the argument means nothing.
        """
        del argument
        return cls()

    @abstractmethod
    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result.

        Raises
        ------
        Exception
            What a task raises.
        SolverError
            If workers die again and again.
        """


class WorkersExecutor(Executor):
    """An executor with a number of workers on this machine.

    Parameters
    ----------
    workers : int
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    @classmethod
    def of(cls, argument: str) -> Executor:
        """Make one from the number of workers."""
        return cls(workers_of(cls.name, argument))


EXECUTORS: Registry[Executor] = Registry("executor", "tablecloak.executors")
"""All executors."""


def executor_named(name: str) -> Executor:
    """Return an executor by its name.

    Parameters
    ----------
    name : str
        "serial", "threads", "threads:4", "processes", "processes:4", "dask", or
        "dask:tcp://scheduler:8786". Without a number as many as there are processors.

    Raises
    ------
    InputError
        If there is none.
    """
    kind, _, argument = name.partition(":")
    return EXECUTORS[kind].of(argument)


def workers_of(name: str, argument: str) -> int:
    """Read a number of workers; without one as many as there are processors.

    Raises
    ------
    InputError
        If it is none.
    """
    if not argument:
        return os.cpu_count() or 1
    if not argument.isdigit() or int(argument) < 1:
        raise InputError(f"Executor '{name}:{argument}': the number of workers must be 1 or more.")
    return int(argument)


def gathered(
    pool: Pool, function: Callable[[T], R], tasks: dict[int, T]
) -> Iterator[tuple[int, R]]:
    """Yield the number and the result of each task of a pool; what is left over is cancelled."""
    futures = {pool.submit(function, task): number for number, task in tasks.items()}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()
