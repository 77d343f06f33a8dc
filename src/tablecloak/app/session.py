"""The state of the app: one user, one folder, and at most one running job."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any

from tablecloak.app.choices import Choices
from tablecloak.app.workbench import Workbench, explained
from tablecloak.budget import Progress
from tablecloak.data_file import DataFile
from tablecloak.errors import InputError
from tablecloak.jobs.beginning import Guess
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.run import run_job
from tablecloak.jobs.schema import Job
from tablecloak.tables.proposal import Proposal
from tablecloak.web.tasks import QueuedTask, TaskQueue, noting


class Session:
    """State of the app.

    Parameters
    ----------
    folder : Path
        Private folder for uploaded data, the job file and the results.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file: DataFile | None = None
        self.choices: Choices | None = None
        self.job: Job | None = None
        self.result: JobResult | None = None
        self.proposal: Proposal | None = None
        self.guess: Guess | None = None
        self.bench: Workbench | None = None
        self.program = ""
        self.forms: dict[str, dict[str, str]] = {}
        """What was sent last from the form at each address."""
        self.unsaid: list[str] = []
        """Warnings of requests, until a page shows them."""
        self.queue = TaskQueue()
        self.task: QueuedTask | None = None
        self.lock = threading.Lock()

    def heard(self, view: Callable[..., Any]) -> Callable[..., Any]:
        """Return a view whose warnings the next page shows."""

        @wraps(view)
        def answer(**given: Any) -> Any:
            with noting(self.unsaid):
                return view(**given)

        return answer

    def said(self) -> list[str]:
        """Return the warnings that no page has shown; they count as shown then."""
        notes, self.unsaid[:] = [*self.unsaid], []
        return notes

    @property
    def job_file(self) -> Path:
        """Path of the job file."""
        return self.folder / "job.toml"

    @property
    def results(self) -> Path:
        """Folder of the results."""
        return self.folder / "results"

    @property
    def is_uploaded(self) -> bool:
        """Whether the file lies in the private folder, so that its path says nothing to anybody."""
        return self.file is not None and Path(self.file).is_relative_to(self.folder)

    @property
    def steps(self) -> list[tuple[str, str]]:
        """Addresses and names of the pages that have something to show."""
        pages = [
            ("/", "File", self),
            ("/shape", "Layout", self.proposal),
            ("/choose", "Choose", self.guess),
            ("/table", "Look", self.choices),
            ("/grid", "Grid", self.bench),
            ("/results", "Results", self.result),
        ]
        return [(address, name) for address, name, shown in pages if shown is not None]

    @property
    def is_running(self) -> bool:
        """Whether a job is running."""
        return self.task is not None and not self.task.has_ended

    @property
    def protects_nothing(self) -> bool:
        """Whether the rules of a job find nothing that the ways chosen could protect."""
        if self.job is None or self.bench is None:
            return False
        needs_rules = all(way.needs_rules for way in self.job.ways.values())
        return needs_rules and not self.bench.given.n_sensitive

    @property
    def error(self) -> str:
        """What went wrong with the last job; empty if nothing did."""
        return "" if self.task is None else self.plain(self.task.error or "")

    @property
    def notes(self) -> list[str]:
        """Warnings of the last job."""
        return [] if self.task is None else self.task.warnings

    def plain(self, message: str) -> str:
        """Return a message in which files of the private folder are called by their names."""
        return re.sub(rf"{re.escape(str(self.folder))}/(uploads/[^/]+/)?", "", message)

    @property
    def stage(self) -> str:
        """How far the job is."""
        task = self.task
        if task is None or not task.stage:
            return "tabulating"
        loss = f", loss {task.loss:,.6g}" if math.isfinite(task.loss) else ""
        bound = f", bound {task.bound:,.6g}" if math.isfinite(task.bound) else ""
        left = f", {task.open} open" if loss or bound or task.open else ""
        return f"{task.stage}{loss}{bound}{left}"

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Allow changes of file, choices or job: by one request at a time, and not during a job.

        If choices changed while a job runs, the page would show them beside the results of other
        choices.

        Raises
        ------
        InputError
            If a job is running, or another request is changing something.
        """
        if not self.lock.acquire(blocking=False):
            raise InputError(
                "Another page is changing the choices. Wait until it has loaded, then try again."
            )
        try:
            if self.is_running or (self.bench is not None and self.bench.is_running):
                raise InputError("A job is still running. Wait for its end, or stop it.")
            yield
        finally:
            self.lock.release()

    def open(self, file: DataFile) -> None:
        """Begin with another file; to be called within `changing`."""
        self.file, self.choices, self.job, self.result = file, None, None, None
        self.proposal, self.guess, self.bench, self.program = None, None, None, ""
        self.forms.clear()

    def choose(self, choices: Choices) -> None:
        """Tabulate and write the job file; after an error the former choices still hold."""
        with self.changing():
            tried = self.folder / "tried.toml"
            try:
                tried.write_text(choices.job(), encoding="utf-8")
                job = read_job(tried)
                bench = Workbench.of_job(job, choices.title or Path(choices.file).stem)
                for way in job.ways.values():
                    if objection := way.unfit(bench.given):
                        raise InputError(f"{way.noun.capitalize()} does not fit. {objection}")
                tried.replace(self.job_file)
            finally:
                tried.unlink(missing_ok=True)
            self.choices, self.job, self.result, self.bench = choices, job, None, bench

    def start(self) -> None:
        """Run the job in the background."""
        with self.changing():
            if self.job is None:
                raise InputError(
                    "Nothing has been tabulated yet. Choose dimensions and rules first."
                )
            self.result = None
            if self.task is not None:
                self.queue.forget(self.task.name)
            self.task = self.queue.add(QueuedTask(partial(self._run, self.job), explained))

    def stop(self) -> None:
        """Stop the search and keep its best proved result."""
        if self.task is not None:
            self.task.stop()

    def _run(self, job: Job, progress: Progress) -> None:
        self.result = run_job(job, self.results, progress=progress)
        if self.bench is not None:
            self.bench.take(self.result)
