"""The state of the app: one user, one folder, and at most one running job."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablecloak.app.choices import Choices
from tablecloak.app.workbench import Workbench
from tablecloak.budget import StopButton, Stopwatch
from tablecloak.errors import InputError, TablecloakError
from tablecloak.executors import BackgroundCall
from tablecloak.jobs.load import load_problem, read_job
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.run import run_job
from tablecloak.jobs.schema import Job
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.proposal import Proposal


class Session:
    """State of the app.

    Parameters
    ----------
    folder : Path
        Private folder for uploaded data, the job file and the results.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file: Path | None = None
        self.choices: Choices | None = None
        self.problem: ProtectionProblem | None = None
        self.job: Job | None = None
        self.result: JobResult | None = None
        self.proposal: Proposal | None = None
        self.bench: Workbench | None = None
        self.program = ""
        self.error = ""
        self.stage = ""
        self.watch = Stopwatch()
        self.call: BackgroundCall | None = None
        self.button = StopButton(self._note)
        self.lock = threading.Lock()

    @property
    def job_file(self) -> Path:
        """Path of the job file."""
        return self.folder / "job.toml"

    @property
    def results(self) -> Path:
        """Folder of the results."""
        return self.folder / "results"

    @property
    def is_running(self) -> bool:
        """Whether a job is running."""
        return self.call is not None and self.call.is_running

    @property
    def seconds(self) -> float:
        """Seconds since the job was started."""
        return self.watch.seconds

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

    def open(self, file: Path) -> None:
        """Begin with another file; to be called within `changing`."""
        self.file, self.choices, self.problem, self.job, self.result = file, None, None, None, None
        self.proposal, self.bench, self.program = None, None, ""

    def choose(self, choices: Choices) -> None:
        """Tabulate and write the job file; after an error the former choices still hold."""
        with self.changing():
            tried = self.folder / "tried.toml"
            try:
                tried.write_text(choices.job(), encoding="utf-8")
                job = read_job(tried)
                problem = load_problem(job)
                tried.replace(self.job_file)
            finally:
                tried.unlink(missing_ok=True)
            self.choices, self.problem, self.job, self.result = choices, problem, job, None
            self.bench = Workbench(problem, title=choices.title)

    def start(self) -> None:
        """Run the job in the background."""
        with self.changing():
            if self.job is None:
                raise InputError(
                    "Nothing has been tabulated yet. Choose dimensions and rules first."
                )
            self.error, self.stage, self.result = "", "tabulating", None
            self.button.release()
            self.watch = Stopwatch()
            self.call = BackgroundCall(self._run, self.job)

    def stop(self) -> None:
        """Stop the search and keep its best proved result."""
        self.button.press()

    def _run(self, job: Job) -> None:
        try:
            self.result = run_job(job, self.results, progress=self.button)
        except TablecloakError as error:
            self.error = str(error)
        except Exception as error:
            # If the thread ended without a message, the job would seem to have no results.
            self.error = (
                f"The job ended with an error of the program ({type(error).__name__}). Download "
                "job.toml and run tablecloak protect job.toml to see its details."
            )

    def _note(self, stage: str, loss: float, bound: float, left: int) -> None:
        found = f", loss {loss:,.6g}" if abs(loss) < float("inf") else ""
        known = f", bound {bound:,.6g}" if abs(bound) < float("inf") else ""
        self.stage = f"{stage}{found}{known}, {left} open"
