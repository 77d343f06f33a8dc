"""Questions that wait, run and end: progress, stopping, and answers until they are fetched."""

from __future__ import annotations

import math
import queue
import secrets
import shutil
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tablecloak.budget import StopButton, Stopwatch
from tablecloak.errors import InputError, TablecloakWarning
from tablecloak.executors import BackgroundCall
from tablecloak.service.call import Call, Question
from tablecloak.service.faults import Fault, fault_of
from tablecloak.service.request import asked

MOST_KEPT = 100
"""Most jobs that are kept, with their answers. Of those that have ended the oldest is forgotten."""

NOTES: ContextVar[list[str] | None] = ContextVar("notes", default=None)
"""Where warnings of the question that this thread answers are kept; None outside of all."""


class Progress(BaseModel):
    """How far a search is."""

    model_config = ConfigDict(frozen=True)

    stage: Annotated[str, Field(description="What is being done.")] = ""
    loss: Annotated[
        float | None, Field(description="Loss of what the search looks at. Secret.")
    ] = None
    bound: Annotated[float | None, Field(description="Proved lower bound on the loss. Secret.")] = (
        None
    )
    open: Annotated[int, Field(description="Cells, parts or nodes that are still open.")] = 0


class JobState(BaseModel):
    """A question that was asked, and its answer once there is one."""

    id: str
    call: str
    state: Literal["waiting", "running", "done", "failed", "stopped"] = Field(
        description="A search that is stopped is done if something was proved by then: that is its "
        "answer. Stopped is what ended before."
    )
    seconds: float = Field(description="Since it was asked, or until it ended.")
    progress: Progress
    warnings: list[str] = Field(description="What the reader of the answer must know.")
    answer: Annotated[dict[str, Any] | None, Field(description="Secret, except `release`.")] = None
    error: Fault | None = None


class _Task:
    """One question from the request to the end."""

    def __init__(self, call: Call, question: Question) -> None:
        self.id = question.folder.name
        self.call = call
        self.question = question
        self.state: Literal["waiting", "running", "done", "failed", "stopped"] = "waiting"
        self.progress = Progress()
        self.warnings: list[str] = []
        self.answer: dict[str, Any] | None = None
        self.error: Fault | None = None
        self.button = StopButton(self._note)
        self.is_stopped = self.is_forgotten = False
        self.ended = threading.Event()
        self._watch = Stopwatch()
        self._seconds = math.nan

    def stop(self) -> None:
        """End the search with its best answer; what has not begun never begins."""
        self.is_stopped = True
        if self.state == "waiting":
            self.end("stopped")
        self.button.press()

    def end(self, state: Literal["done", "failed", "stopped"]) -> None:
        """Say that nothing more happens."""
        self._seconds, self.state = self._watch.seconds, state
        self.ended.set()

    def told(self) -> JobState:
        """Return what the asker is told."""
        seconds = self._seconds if self.ended.is_set() else self._watch.seconds
        return JobState(
            id=self.id, call=self.call.name, state=self.state, seconds=round(seconds, 3),
            progress=self.progress, warnings=self.warnings, answer=self.answer, error=self.error,
        )  # fmt: skip

    def _note(self, stage: str, loss: float, bound: float, left: int) -> None:
        if self.is_forgotten:
            # A job may consist of several searches, and one press ends one of them.
            self.button.press()
        known = [value if math.isfinite(value) else None for value in (loss, bound)]
        self.progress = Progress(stage=stage, loss=known[0], bound=known[1], open=left)


class Work:
    """All questions that were asked and not forgotten.

    Parameters
    ----------
    folder : Path
        Private folder for the files of requests; those of a question are removed with its end.
    at_once : int
        How many questions are answered at a time; others wait.
    """

    def __init__(self, folder: Path, at_once: int = 2) -> None:
        self.folder = folder
        self._tasks: dict[str, _Task] = {}
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        for _ in range(at_once):
            BackgroundCall(self._answer_all)

    def ask(self, kind: type[Call], body: Mapping[str, Any]) -> str:
        """Check a request and let its question wait for its turn; return the name of the job.

        Raises
        ------
        InputError
            If the request is faulty, or too many are waiting.
        """
        self._make_room()
        folder = self.folder / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        try:
            call, question = asked(kind, body, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        task = _Task(call, question)
        with self._lock:
            self._tasks[task.id] = task
        self._waiting.put(task)
        return task.id

    def told(self, name: str, wait: float = 0.0) -> JobState:
        """Return the state of a job, after waiting up to so many seconds for its end."""
        task = self._task(name)
        task.ended.wait(wait)
        return task.told()

    def all(self) -> list[JobState]:
        """Return the states of all jobs, without their answers."""
        with self._lock:
            tasks = list(self._tasks.values())
        return [task.told().model_copy(update={"answer": None}) for task in tasks]

    def stop(self, name: str) -> None:
        """End the search of a job; its answer is then the best that is proved."""
        self._task(name).stop()

    def forget(self, name: str) -> None:
        """Stop a job and drop its answer."""
        task = self._task(name)
        task.is_forgotten = True
        task.stop()
        with self._lock:
            self._tasks.pop(name, None)

    def close(self) -> None:
        """End all searches and forget all questions; their files go with the folder."""
        for job in self.all():
            self.forget(job.id)

    def _task(self, name: str) -> _Task:
        with self._lock:
            task = self._tasks.get(name)
        if task is None:
            raise UnknownJobError(
                f"There is no job {name!r}. It was deleted, or {MOST_KEPT} others have ended since."
            )
        return task

    def _make_room(self) -> None:
        with self._lock:
            if len(self._tasks) < MOST_KEPT:
                return
            oldest = next((each for each in self._tasks.values() if each.ended.is_set()), None)
            if oldest is None:
                raise BusyError(
                    f"{MOST_KEPT} jobs are waiting or running. Ask again when one has ended, or "
                    f"delete one."
                )
            del self._tasks[oldest.id]

    def _answer_all(self) -> None:
        while True:
            task = self._waiting.get()
            if not task.ended.is_set():
                self._answer(task)
            shutil.rmtree(task.question.folder, ignore_errors=True)

    def _answer(self, task: _Task) -> None:
        task.state = "running"
        token = NOTES.set(task.warnings)
        given = task.question
        try:
            question = Question(given.folder, given.given, task.button)
            task.answer = dict(task.call.answer(question))
        except Exception as error:
            # A thread that ended here would leave all later questions waiting.
            task.error = fault_of(error, given.folder)
        finally:
            NOTES.reset(token)
        is_stopped = task.error is not None and task.error.kind == "solver" and task.is_stopped
        task.end("stopped" if is_stopped else "failed" if task.error else "done")


class UnknownJobError(InputError):
    """There is no such job."""


class BusyError(InputError):
    """Too many jobs are waiting."""


@contextmanager
def hearing_warnings() -> Iterator[None]:
    """Keep warnings with the job that they are about, instead of printing them: they are secret."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TablecloakWarning)
        usual = warnings.showwarning

        def keep(message: Any, category: Any, *place: Any, **options: Any) -> None:
            notes = NOTES.get()
            if notes is None or not issubclass(category, TablecloakWarning):
                usual(message, category, *place, **options)
            else:
                notes.append(str(message))

        warnings.showwarning = keep
        yield
