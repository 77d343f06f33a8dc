"""Executors run independent tasks: one by one, in threads, in processes or on a dask cluster."""

from tablecloak.executors.dask import DaskExecutor
from tablecloak.executors.executor import EXECUTORS, Executor, executor_named
from tablecloak.executors.processes import ProcessExecutor
from tablecloak.executors.serial import SerialExecutor
from tablecloak.executors.threads import ThreadExecutor, in_context

__all__ = [
    "EXECUTORS",
    "DaskExecutor",
    "Executor",
    "ProcessExecutor",
    "SerialExecutor",
    "ThreadExecutor",
    "executor_named",
    "in_context",
]
