"""Work that waits, runs in the background and ends: progress, stopping, results and errors.

The app has one such queue for a table that a person works on, the service one for all questions.
"""

from __future__ import annotations

import math
import secrets
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from tablecloak.budget import Progress, StopButton, Stopwatch
from tablecloak.errors import InputError, SolverError, TablecloakWarning
from tablecloak.executors import BackgroundCall

MOST_KEPT = 100
"""Most tasks that are kept, with their results. The oldest that has ended makes room."""

NOTES: ContextVar[list[str] | None] = ContextVar("notes", default=None)
"""Where warnings of the task that this thread runs are kept; None outside of all."""


class QueuedTask:
    """One piece of work from the request to its end.

    Parameters
    ----------
    work : callable
        Is given a progress callback, and returns the result.
    explain : callable
        Returns what is told of an error.
    label : str
        What the task is about.
    name : str, optional
        By which it is asked for; by default one that nobody can guess.
    after : callable, optional
        Cleans up when the task has run, or has been passed over.
    """

    def __init__(
        self,
        work: Callable[[Progress], Any],
        explain: Callable[[Exception], Any],
        label: str = "",
        *,
        name: str = "",
        after: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = name or secrets.token_hex(8)
        self.label = label
        self.state: Literal["waiting", "running", "done", "failed", "stopped"] = "waiting"
        self.stage = ""
        self.loss, self.bound, self.open = math.inf, -math.inf, 0
        self.warnings: list[str] = []
        self.result: Any = None
        self.error: Any = None
        self.is_forgotten = False
        self._work, self._explain, self._after = work, explain, after
        self._button = StopButton(self.note)
        self._is_stopped = False
        self._end = threading.Event()
        self._watch = Stopwatch()
        self._seconds = math.nan

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens."""
        return self._end.is_set()

    @property
    def seconds(self) -> float:
        """Seconds since it was asked for, or until it ended."""
        return self._seconds if self.has_ended else self._watch.seconds

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, at most so many seconds; return whether it has come."""
        return self._end.wait(seconds)

    def stop(self) -> None:
        """End the search with its best answer; what has not begun never begins."""
        self._is_stopped = True
        if self.state == "waiting":
            self._finish("stopped")
        self._button.press()

    def note(self, stage: str, loss: float, bound: float, left: int) -> None:
        """Keep a report of the search."""
        if self.is_forgotten:
            # Work may consist of several searches, and one press ends one of them.
            self._button.press()
        self.stage, self.loss, self.bound, self.open = stage, loss, bound, left

    def run(self) -> None:
        """Do the work, unless it was stopped before; an error is told, and never raised."""
        if not self.has_ended:
            self.state = "running"
            is_unproved = False
            try:
                with noting(self.warnings):
                    self.result = self._work(self._button)
            except Exception as error:
                # A thread that ended here would leave all later tasks waiting.
                self.error = self._explain(error)
                is_unproved = isinstance(error, SolverError)
            is_cut_short = is_unproved and self._is_stopped
            has_failed = self.error is not None
            self._finish("stopped" if is_cut_short else "failed" if has_failed else "done")
        self._after()

    def _finish(self, state: Literal["done", "failed", "stopped"]) -> None:
        self._seconds, self.state = self._watch.seconds, state
        self._end.set()


class TaskQueue:
    """All tasks that were asked for and not forgotten.

    Parameters
    ----------
    at_once : int, default=1
        How many tasks run at a time; others wait.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._at_once, self._n_running = at_once, 0
        self._tasks: dict[str, QueuedTask] = {}
        self._waiting: deque[QueuedTask] = deque()
        self._lock = threading.Lock()

    def add(self, task: QueuedTask) -> QueuedTask:
        """Let a task wait for its turn.

        Raises
        ------
        BusyError
            If too many are waiting.
        """
        with self._lock:
            self._make_room()
            self._tasks[task.name] = task
            self._waiting.append(task)
            if self._n_running < self._at_once:
                self._n_running += 1
                BackgroundCall(self._run_all)
        return task

    def all(self) -> list[QueuedTask]:
        """Return all tasks, the oldest first."""
        with self._lock:
            return list(self._tasks.values())

    def __getitem__(self, name: str) -> QueuedTask:
        """Return a task by its name."""
        with self._lock:
            task = self._tasks.get(name)
        if task is None:
            raise UnknownJobError(
                f"There is no job {name!r}. It was deleted, or {MOST_KEPT} others have ended since."
            )
        return task

    def forget(self, name: str) -> None:
        """Stop a task and drop its result."""
        task = self[name]
        task.is_forgotten = True
        task.stop()
        with self._lock:
            self._tasks.pop(name, None)

    def close(self) -> None:
        """End all searches and forget all tasks."""
        for task in self.all():
            self.forget(task.name)

    def _make_room(self) -> None:
        """Forget the oldest task that has ended where too many are kept."""
        if len(self._tasks) < MOST_KEPT:
            return
        oldest = next((task for task in self._tasks.values() if task.has_ended), None)
        if oldest is None:
            raise BusyError(
                f"{MOST_KEPT} jobs are waiting or running. Ask again when one has ended, or "
                f"delete one."
            )
        del self._tasks[oldest.name]

    def _run_all(self) -> None:
        """Run one task after the other until none waits."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._n_running -= 1
                    return
                task = self._waiting.popleft()
            task.run()


class UnknownJobError(InputError):
    """There is no such job."""


class BusyError(InputError):
    """Too many jobs are waiting."""


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Collect each warning of this thread once, while `hearing_warnings`."""
    token = NOTES.set(notes)
    try:
        yield
    finally:
        NOTES.reset(token)


@contextmanager
def hearing_warnings() -> Iterator[None]:
    """Keep warnings with the task that they are about, and print none of them: they are secret."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TablecloakWarning)
        usual = warnings.showwarning

        def keep(message: Any, category: Any, *place: Any, **options: Any) -> None:
            notes = NOTES.get()
            if notes is None or not issubclass(category, UserWarning):
                usual(message, category, *place, **options)
            elif str(message) not in notes:
                notes.append(str(message))

        warnings.showwarning = keep
        yield
