"""Executors run independent tasks: one by one, in threads, in processes or on a dask cluster.

Nothing else in the package starts a thread or a process.
"""

from tablecloak.executors.background import BackgroundCall, DelayedCall, in_thread
from tablecloak.executors.dask import DaskExecutor
from tablecloak.executors.executor import (
    EXECUTORS,
    Executor,
    ProcessExecutor,
    SerialExecutor,
    ThreadExecutor,
    chosen_executor,
    executor_named,
    in_context,
    using_executor,
)

__all__ = [
    "EXECUTORS",
    "BackgroundCall",
    "DaskExecutor",
    "DelayedCall",
    "Executor",
    "ProcessExecutor",
    "SerialExecutor",
    "ThreadExecutor",
    "chosen_executor",
    "executor_named",
    "in_context",
    "in_thread",
    "using_executor",
]
