"""What an executor is, how one is found by its name, and those that run tasks on this machine.

A task is a function of one argument. Its only side effects may be files that appear complete in one
step, so that a task whose worker died can be repeated.
"""

from __future__ import annotations

import multiprocessing
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor as Pool
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import ClassVar, TypeVar

from tablecloak.budget import MOST_THREADS, Budget, running, usable_cores
from tablecloak.errors import InputError, SolverError
from tablecloak.registry import Registry

T = TypeVar("T")
R = TypeVar("R")


class Executor(ABC):
    """Runs tasks and yields their results as they end; registered in `EXECUTORS`."""

    name: ClassVar[str]
    forms: ClassVar[tuple[str, ...]]
    """Ways to write it on the command line, with an example of its argument."""

    @classmethod
    def of(cls, argument: str) -> Executor:
        """Return an executor for the argument in ``name:argument``.

        Raises
        ------
        InputError
            If the argument is not valid.
        """
        del argument
        return cls()

    workers: int = 1
    """How many tasks run at once."""

    @abstractmethod
    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result.

        Workers in other processes do not hear that the search they work for is stopped: what they
        have not ended by then is missing.

        Raises
        ------
        Exception
            Any exception that a task raises.
        SolverError
            If workers die repeatedly.
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
        """Return an executor with a number of workers."""
        return cls(workers_of(cls.name, argument))


EXECUTORS: Registry[Executor] = Registry("executor", "tablecloak.executors")
"""All executors."""


def executor_named(name: str) -> Executor:
    """Return an executor by its name.

    Parameters
    ----------
    name : str
        "serial", "threads", "threads:4", "processes", "processes:4", "dask", "dask:4",
        or "dask:tcp://scheduler:8786". Without a number there is one worker for each processor.

    Raises
    ------
    InputError
        If no executor has this name.
    """
    kind, _, argument = name.partition(":")
    return EXECUTORS[kind].of(argument)


_CHOSEN: ContextVar[Executor | None] = ContextVar("executor", default=None)


def chosen_executor() -> Executor | None:
    """Return where `using_executor` wants the parts of a search; None for threads."""
    return _CHOSEN.get()


@contextmanager
def using_executor(executor: str | Executor | None) -> Iterator[Executor | None]:
    """Search the parts of all tables inside the block in one place, such as a cluster of dask.

    Parameters
    ----------
    executor : str, Executor or None
        A name as `executor_named` takes; None keeps the present choice.

    Notes
    -----
    The choice is a context variable, as that of `tablecloak.solve.solver.using_solver`.

    Examples
    --------
    >>> import tablecloak as tc
    >>> from tablecloak.executors import using_executor
    >>> with using_executor("processes:2"):
    ...     tc.suppress(tc.examples.cox_rounded()).loss
    3076.0
    """
    choice = executor_named(executor) if isinstance(executor, str) else executor
    token = _CHOSEN.set(choice or chosen_executor())
    try:
        yield chosen_executor()
    finally:
        _CHOSEN.reset(token)


def workers_of(name: str, argument: str) -> int:
    """Return the number of workers in an argument; if it is empty, one for each processor.

    Raises
    ------
    InputError
        If the argument is not a whole number of at least 1.
    """
    if not argument:
        return usable_cores()
    is_number = argument.isascii() and argument.isdigit() and len(argument) < 10
    if not is_number or not 1 <= int(argument) <= MOST_THREADS:
        raise InputError(
            f"Executor '{name}:{argument[:40]}': the number of workers must be 1 or more, and at "
            f"most {MOST_THREADS}. Write '{name}:4' for four, or '{name}' for one worker on each "
            f"processor."
        )
    return int(argument)


def gathered(
    pool: Pool, function: Callable[[T], R], tasks: dict[int, T], budget: Budget | None = None
) -> Iterator[tuple[int, R]]:
    """Yield the number and the result of each task of a pool; cancel the others at the end.

    Tasks that have not begun when a budget is stopped are left out.
    """
    futures = {pool.submit(function, task): number for number, task in tasks.items()}
    try:
        for future in as_completed(futures):
            if budget is not None and budget.is_stopped:
                for other in futures:
                    other.cancel()
            if not future.cancelled():
                yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


@EXECUTORS.register
class SerialExecutor(Executor):
    """One task after the other, in this process."""

    name = "serial"
    forms = ("serial",)

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result."""
        for number, task in enumerate(tasks):
            yield number, function(task)


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
        budget = running()
        context = multiprocessing.get_context("spawn")
        while left:
            try:
                with ProcessPoolExecutor(self.workers, mp_context=context) as pool:
                    for number, result in gathered(pool, function, left, budget):
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
            # Ctrl-C reaches idle workers as well, and ends them.
            if budget is not None and budget.is_stopped:
                return
