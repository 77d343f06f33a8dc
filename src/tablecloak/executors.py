"""Where independent tasks are done: here, in threads, in processes, or on a dask cluster.

Tasks are functions of one argument without side effects but for files that appear whole, so that a
task whose worker died is simply done again: that costs time, never a result.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor as Pool
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextvars import copy_context
from typing import Any, Protocol, TypeVar

from tablecloak.errors import InputError, SolverError, suggestion

__all__ = [
    "DaskExecutor",
    "Executor",
    "ProcessExecutor",
    "SerialExecutor",
    "ThreadExecutor",
    "executor_named",
    "in_context",
]

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS = 3
"""Deaths of workers without any task done in between, after which the rest is given up."""


class Executor(Protocol):
    """Does tasks and yields their results as they come."""

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result.

        Raises
        ------
        Exception
            What a task raises.
        SolverError
            If workers die again and again.
        """


class SerialExecutor:
    """One task after the other, in this process."""

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result."""
        for number, task in enumerate(tasks):
            yield number, function(task)


class ThreadExecutor:
    """Tasks in threads.

    Parameters
    ----------
    workers : int
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result."""
        with ThreadPoolExecutor(self.workers) as pool:
            yield from _gathered(pool, in_context(function), dict(enumerate(tasks)))


class ProcessExecutor:
    """Tasks in processes of their own.

    Parameters
    ----------
    workers : int
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result; a task whose process died is repeated."""
        left, deaths = dict(enumerate(tasks)), 0
        context = multiprocessing.get_context("spawn")
        while left:
            try:
                with ProcessPoolExecutor(self.workers, mp_context=context) as pool:
                    for number, result in _gathered(pool, function, left):
                        deaths = 0
                        del left[number]
                        yield number, result
            except BrokenProcessPool:
                deaths += 1
                if deaths == ATTEMPTS:
                    raise SolverError(
                        f"Processes died {deaths} times in a row with {len(left)} tasks left; "
                        f"perhaps there is too little memory. Use fewer workers."
                    ) from None


class DaskExecutor:
    """Tasks on a cluster of dask.distributed.

    Parameters
    ----------
    address : str, optional
        Of the scheduler; by default a cluster of processes on this machine is started.
    workers : int, default=2
        Of the cluster that is started.
    """

    def __init__(self, address: str = "", workers: int = 2) -> None:
        self.address, self.workers = address, workers

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the number of each task, and its result; dask repeats tasks of dead workers."""
        try:
            from distributed import Client, LocalCluster
            from distributed import as_completed as completed
        except ImportError:
            raise InputError(
                "dask.distributed is not installed: install tablecloak with its extra `dask`."
            ) from None
        cluster: Any = None
        if not self.address:
            cluster = LocalCluster(
                n_workers=self.workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=None,
            )
        try:
            with Client(cluster or self.address) as client:
                futures = client.map(function, list(tasks), pure=False)
                number = {future.key: at for at, future in enumerate(futures)}
                for future in completed(futures):
                    yield number[future.key], future.result()
        finally:
            if cluster is not None:
                cluster.close()


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
    kind, _, rest = name.partition(":")
    workers = os.cpu_count() or 1
    if kind in ("threads", "processes") and rest:
        if not rest.isdigit() or int(rest) < 1:
            raise InputError(f"Executor {name!r}: the number of workers must be 1 or more.")
        workers = int(rest)
    match kind:
        case "serial":
            return SerialExecutor()
        case "threads":
            return ThreadExecutor(workers)
        case "processes":
            return ProcessExecutor(workers)
        case "dask":
            return DaskExecutor(rest, workers)
    known = ["serial", "threads", "processes", "dask"]
    raise InputError(f"There is no executor {name!r}.{suggestion(kind, known)}")


def in_context(function: Callable[[T], R]) -> Callable[[T], R]:
    """Return a function for other threads that sees the caller's context variables.

    Such as the solver that was chosen around a computation.
    """
    context = copy_context()
    return lambda task: context.copy().run(function, task)


def _gathered(
    pool: Pool, function: Callable[[T], R], tasks: dict[int, T]
) -> Iterator[tuple[int, R]]:
    futures = {pool.submit(function, task): number for number, task in tasks.items()}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()
