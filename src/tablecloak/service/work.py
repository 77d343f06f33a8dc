"""Questions that wait, run and end, with their answers until they are fetched."""

from __future__ import annotations

import math
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tablecloak.budget import Progress as SearchProgress
from tablecloak.service.call import Call
from tablecloak.service.faults import Fault, fault_of
from tablecloak.service.request import asked
from tablecloak.web.tasks import QueuedTask, TaskQueue


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


class Work:
    """All questions that were asked and not forgotten, in a queue of tasks.

    Parameters
    ----------
    folder : Path
        Private folder for the files of requests; those of a question are removed with its end.
    at_once : int
        How many questions are answered at a time; others wait.
    """

    def __init__(self, folder: Path, at_once: int = 2) -> None:
        self.folder = folder
        self.queue = TaskQueue(at_once)

    def ask(self, kind: type[Call], body: Mapping[str, Any]) -> str:
        """Check a request and let its question wait for its turn; return the name of the job.

        Raises
        ------
        InputError
            If the request is faulty, or too many are waiting.
        """
        folder = self.folder / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        remove = partial(shutil.rmtree, folder, ignore_errors=True)
        explain = partial(fault_of, folder=folder)
        try:
            call, question = asked(kind, body, folder)

            def answer(progress: SearchProgress) -> dict[str, Any]:
                return dict(call.answer(replace(question, progress=progress)))

            task = QueuedTask(answer, explain, kind.name, name=folder.name, after=remove)
            return self.queue.add(task).name
        except BaseException:
            remove()
            raise

    def state(self, name: str, wait: float = 0.0) -> JobState:
        """Return the state of a job, after waiting up to so many seconds for its end."""
        task = self.queue[name]
        task.wait(wait)
        return _state(task)

    def all(self) -> list[JobState]:
        """Return the states of all jobs, without their answers."""
        return [_state(task).model_copy(update={"answer": None}) for task in self.queue.all()]


def _state(task: QueuedTask) -> JobState:
    loss, bound = (value if math.isfinite(value) else None for value in (task.loss, task.bound))
    return JobState(
        id=task.name,
        call=task.label,
        state=task.state,
        seconds=round(task.seconds, 3),
        progress=Progress(stage=task.stage, loss=loss, bound=bound, open=task.open),
        warnings=task.warnings,
        answer=task.result,
        error=task.error,
    )
