"""What a user of the page has done so far; one user, one folder, one job at a time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from tablecloak.app.choices import Choices
from tablecloak.errors import InputError, TablecloakError
from tablecloak.job import JobResult, load_problem, read_job, run_job
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
        self.result: JobResult | None = None
        self.error = ""
        self.stage = ""
        self.started = 0.0
        self.thread: threading.Thread | None = None
        self.stopping = threading.Event()

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
        return time.monotonic() - self.started

    def open(self, file: Path) -> None:
        """Begin with another file."""
        if self.is_running:
            raise InputError("A job is still running; wait for its end, or stop it.")
        self.file, self.choices, self.problem, self.result = file, None, None, None

    def choose(self, choices: Choices) -> None:
        """Write the job file and tabulate."""
        self.job_file.write_text(choices.job(), encoding="utf-8")
        self.choices, self.result = choices, None
        self.problem = load_problem(read_job(self.job_file))

    def start(self) -> None:
        """Do the job in the background."""
        if self.problem is None:
            raise InputError("Nothing has been tabulated yet. Choose dimensions and rules first.")
        if self.is_running:
            return
        self.error, self.stage, self.result = "", "tabulating", None
        self.stopping.clear()
        self.started = time.monotonic()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """End the search soon, with the best that is proved."""
        self.stopping.set()

    def _run(self) -> None:
        try:
            self.result = run_job(self.job_file, self.results, progress=self._note)
        except TablecloakError as error:
            self.error = str(error)
        except KeyboardInterrupt:
            self.error = "Stopped before anything was proved; nothing was written."

    def _note(self, stage: str, loss: float, bound: float, left: int) -> None:
        found = f", loss {loss:,.6g}" if abs(loss) < float("inf") else ""
        known = f", bound {bound:,.6g}" if abs(bound) < float("inf") else ""
        self.stage = f"{stage}{found}{known}, {left} open"
        if self.stopping.is_set():
            # An interruption, as from the keyboard: searches then return what they have.
            self.stopping.clear()
            raise KeyboardInterrupt
