"""What a user of the page has done so far; one user, one folder, one job at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablecloak.app.choices import Choices
from tablecloak.budget import StopButton, Stopwatch
from tablecloak.errors import InputError, TablecloakError
from tablecloak.jobs.load import load_problem, read_job
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.run import run_job
from tablecloak.jobs.schema import Job
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Session"]


class Session:
    """State of the page.

    Parameters
    ----------
    folder : Path
        For uploaded data, the job file and the results; private.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file: Path | None = None
        self.choices: Choices | None = None
        self.problem: ProtectionProblem | None = None
        self.job: Job | None = None
        self.result: JobResult | None = None
        self.error = ""
        self.stage = ""
        self.watch = Stopwatch()
        self.thread: threading.Thread | None = None
        self.button = StopButton(self._note)
        self.lock = threading.Lock()

    @property
    def job_file(self) -> Path:
        """Where the job file lies."""
        return self.folder / "job.toml"

    @property
    def results(self) -> Path:
        """Where results are written."""
        return self.folder / "results"

    @property
    def is_running(self) -> bool:
        """Whether a job is being done."""
        return self.thread is not None and self.thread.is_alive()

    @property
    def seconds(self) -> float:
        """How long the job has been running."""
        return self.watch.seconds

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change file, choices or job: one request at a time, and none while a job runs.

        A job works on what was chosen when it began; with anything else beside it, choices and
        results on the page would belong to two jobs.

        Raises
        ------
        InputError
            If a job is running, or another request is changing something.
        """
        if not self.lock.acquire(blocking=False):
            raise InputError("Another page is changing the choices; wait for its end.")
        try:
            if self.is_running:
                raise InputError("A job is still running; wait for its end, or stop it.")
            yield
        finally:
            self.lock.release()

    def open(self, file: Path) -> None:
        """Begin with another file; within `changing`."""
        self.file, self.choices, self.problem, self.job, self.result = file, None, None, None, None

    def choose(self, choices: Choices) -> None:
        """Tabulate and write the job file; what cannot be tabulated changes nothing."""
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

    def start(self) -> None:
        """Do the job in the background."""
        with self.changing():
            if self.job is None:
                raise InputError(
                    "Nothing has been tabulated yet. Choose dimensions and rules first."
                )
            self.error, self.stage, self.result = "", "tabulating", None
            self.button.release()
            self.watch = Stopwatch()
            self.thread = threading.Thread(target=self._run, args=(self.job,), daemon=True)
            self.thread.start()

    def stop(self) -> None:
        """End the search soon, with the best that is proved."""
        self.button.press()

    def _run(self, job: Job) -> None:
        try:
            found = run_job(job, self.results, progress=self.button)
            # The forms of the app ask for no perturbation.
            assert isinstance(found, JobResult)
            self.result = found
        except TablecloakError as error:
            self.error = str(error)
        except Exception as error:
            # A thread that ends without a word looks like a job without results.
            self.error = f"The job ended with an error of the program ({type(error).__name__})."

    def _note(self, stage: str, loss: float, bound: float, left: int) -> None:
        found = f", loss {loss:,.6g}" if abs(loss) < float("inf") else ""
        known = f", bound {bound:,.6g}" if abs(bound) < float("inf") else ""
        self.stage = f"{stage}{found}{known}, {left} open"
