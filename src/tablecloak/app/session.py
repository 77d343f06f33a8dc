"""One table of the app, under an address of its own: its file, choices, job, results and grid."""

from __future__ import annotations

import json
import math
import re
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tablecloak.app.choices import Choices
from tablecloak.app.decisions import Mark
from tablecloak.app.finished import Finished
from tablecloak.app.given_away import OLD_JOB, GivenAway, fingerprint_of_release
from tablecloak.app.given_file import FileKind, bench_of, kind_named
from tablecloak.app.own_words import in_own_words, of_form
from tablecloak.app.reading import doubtful_points
from tablecloak.app.workbench import Workbench, explained
from tablecloak.budget import Progress
from tablecloak.data_file import DataFile
from tablecloak.errors import InputError
from tablecloak.jobs.beginning import Guess, first_records, guess
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.run import run_job
from tablecloak.jobs.schema import Job
from tablecloak.protection import required_way
from tablecloak.render.page import as_number
from tablecloak.storage import existing_file, private_folder, write_text
from tablecloak.tables.formats import column_names
from tablecloak.tables.formats.format import reading
from tablecloak.tables.proposal import Proposal, propose
from tablecloak.web.tasks import QueuedTask, TaskQueue, noting

TABLES, OPENED = "tables", "opened.json"
"""Folder of all tables, and the file of each that says how it is opened again."""

SAVED = ("title", "file", "how", "kind", "form")
"""What that file says of each; of a table also its fingerprint and the decisions."""


class Session:
    """One table. Choices that are changed make another one, under another address.

    Parameters
    ----------
    home : Path
        Private folder of the app.
    given : GivenAway
    name : str, optional
        Of its address and folder; by default one that no other table has, also none of an earlier
        start of the app.
    """

    def __init__(self, home: Path, given: GivenAway, name: str = "") -> None:
        self.home, self.given = home, given
        self.name = name or secrets.token_hex(4)
        self.file: DataFile | None = None
        self.kind: FileKind | None = None
        self.choices: Choices | None = None
        self.job: Job | None = None
        self.result: JobResult | None = None
        self.guess: Guess | None = None
        self.bench: Workbench | None = None
        self.program = ""
        self.form: dict[str, str] = {}
        """What the form held of which the table was made."""
        self.sent: Mapping[str, str] = {}
        """What was sent last from the form of its page."""
        self.unsaid: list[str] = []
        """Warnings of requests, until a page shows them."""
        self.queue = TaskQueue()
        self.task: QueuedTask | None = None
        self.lock = threading.Lock()
        self._proposals: dict[str, Proposal] = {}

    def said(self) -> list[str]:
        """Return the warnings that no page has shown; they count as shown then."""
        notes, self.unsaid[:] = [*self.unsaid], []
        return notes

    @property
    def address(self) -> str:
        """Address of its pages, to which the name of one is added."""
        return f"/table/{self.name}"

    @property
    def folder(self) -> Path:
        """Its folder: how it is opened again, the job file and the results."""
        return self.home / TABLES / self.name

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
        return self.file is not None and Path(self.file).is_relative_to(self.home)

    @property
    def doubtful(self) -> list[str]:
        """Columns whose points may be no decimal signs."""
        return [] if self.file is None else doubtful_points(self.file)

    @property
    def title(self) -> str:
        """What people call the table."""
        title = "" if self.bench is None else self.bench.title
        return title or ("" if self.file is None else self.file.name)

    @property
    def steps(self) -> list[tuple[str, str]]:
        """Names of the pages that have something to show, in the address and for people."""
        pages = [
            ("shape", "Layout", self._proposals),
            ("choose", "Choose", self.guess),
            ("look", "Look", self.choices),
            ("grid", "Grid", self.bench),
            ("results", "Results", self.result),
        ]
        return [(address, name) for address, name, shown in pages if shown]

    @property
    def is_running(self) -> bool:
        """Whether a job is running."""
        return self.task is not None and not self.task.has_ended

    @property
    def is_busy(self) -> bool:
        """Whether a job or a search of the grid is running."""
        return self.is_running or (self.bench is not None and self.bench.is_running)

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
        """Return a message in the words of the pages, without the private folder."""
        return in_own_words(self.without_folder(message), has_fields=self.guess is not None)

    def without_folder(self, text: str) -> str:
        """Return a text in which files of the private folder are called by their names."""
        return without_folder(text, self.home)

    @property
    def stage(self) -> str:
        """How far the job is."""
        task = self.task
        if task is None or not task.stage:
            return "tabulating"
        loss = f", loss {as_number(task.loss)}" if math.isfinite(task.loss) else ""
        bound = f", bound {as_number(task.bound)}" if math.isfinite(task.bound) else ""
        left = f", {task.open} open" if loss or bound or task.open else ""
        return f"{task.stage}{loss}{bound}{left}"

    # -- how it is opened ---------------------------------------------------------------------

    def open(self, file: DataFile, kind: FileKind) -> None:
        """Begin with a file."""
        self.kind = kind
        if kind.name == "records":
            self.guess = _guess(file)
            file = self.guess.file
        elif kind.name == "table":
            self._proposals[""] = _proposed(file)
        else:
            self.bench = bench_of(Path(file))
        self.file = file

    def proposal(self, sheet: str = "") -> Proposal | None:
        """Return how a sheet of a finished table was read; None for another file."""
        if self._proposals and self.file is not None and sheet not in self._proposals:
            self._proposals[sheet] = _proposed(replace(self.file, sheet=sheet))
        return self._proposals.get(sheet)

    def filled(self, form: Mapping[str, str]) -> Session:
        """Return the table that a form makes of the file; this one stays as it is."""
        self.sent = dict(form)
        made = Session(self.home, self.given)
        made.file, made.kind, made.guess = self.file, self.kind, self.guess
        made._proposals = dict(self._proposals)
        with noting(made.unsaid):
            made.fill(form)
        return made

    def fill(self, form: Mapping[str, str]) -> None:
        """Make the table as the form of its page says.

        Raises
        ------
        InputError
            If a choice is wrong, or there is no file for such a form.
        """
        self.sent = dict(form)
        proposal = self.proposal(form.get("sheet", ""))
        if self.file is None or (self.guess is None and proposal is None):
            raise InputError("This table has no such form. Open a file first.")
        if proposal is None:
            choices = Choices.of_form(self.file, form, column_names(self.file))
            if not form.get("any_number"):
                choices.check_codes()
            self.choose(choices)
        else:
            if form.get("sheet"):
                self.file = replace(self.file, sheet=form["sheet"])
            finished, notes = Finished.of_form(proposal, form), list[str]()
            with noting(notes):
                problem = finished.problem()
            title, labels, ways = proposal.title, proposal.labels, finished.ways
            self.bench = Workbench(problem, title, labels, ways, notes=notes, rules=finished.rules)
            self.program = finished.python(self.file)
        self.form = dict(form)

    def choose(self, choices: Choices) -> None:
        """Tabulate and write the job file."""
        tried = self.home / f"{self.name}.toml"
        try:
            write_text(tried, choices.job(), secret=True)
            job = read_job(tried)
            bench = Workbench.of_job(job, choices.title or Path(choices.file).stem)
            for way in job.ways.values():
                if objection := way.unfit(bench.given):
                    raise InputError(f"{way.noun.capitalize()} does not fit. {objection}")
            private_folder(self.folder)
            tried.replace(self.job_file)
        except InputError as error:
            raise InputError(of_form(str(error), tried)) from None
        finally:
            tried.unlink(missing_ok=True)
        self.choices, self.job, self.bench = choices, job, bench

    def save(self) -> None:
        """Write down how the table is opened again, with the decisions about its cells."""
        if self.file is None or self.kind is None:
            return
        values = (self.title, str(self.file), self.file.signs, self.kind.name, self.form)
        kept: dict[str, Any] = dict(zip(SAVED, values, strict=True))
        if self.bench is not None:
            marks = {str(cell): vars(mark) for cell, mark in self.bench.marks.items()}
            kept |= {"table": self.bench.fingerprint, "marks": marks}
        write_text(private_folder(self.folder) / OPENED, json.dumps(kept), secret=True)

    def open_again(self) -> None:
        """Open what `save` wrote down; searches are not kept."""
        kept = kept_in(self.folder)
        self.open(DataFile(existing_file(kept["file"]), **kept["how"]), kind_named(kept["kind"]))
        if kept["form"]:
            self.fill(kept["form"])
        if self.bench is None:
            return
        again = "This table was opened again. What was searched is not kept: protect it anew."
        if self.bench.fingerprint == kept["table"]:
            self.bench.return_to({int(cell): Mark(**mark) for cell, mark in kept["marks"].items()})
        else:
            again += " Its file has changed, so that decisions about its cells are not kept either."
        self.unsaid.append(again)

    # -- what it does -------------------------------------------------------------------------

    def start(self) -> None:
        """Run the job in the background.

        Raises
        ------
        InputError
            If there is none, or something is running.
        """
        with self.lock:
            if self.job is None:
                raise InputError(
                    "Nothing has been tabulated yet. Choose dimensions and rules first."
                )
            if self.is_busy:
                raise InputError("A job is still running. Wait for its end, or stop it.")
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

    # -- what may leave -----------------------------------------------------------------------

    def job_refusal(self, method: str) -> str:
        """Return why the release of a method of the job may not be given away, or nothing."""
        if self.bench is None or self.result is None:
            return "There are no results yet. Tabulate and protect a table first."
        if method in self.result.withheld or method not in self.result.products:
            return (
                "The release was withheld, or its method was not chosen. The page of results says "
                "which."
            )
        if self.bench.marks:
            return f"{OLD_JOB} Protect there, and download there what was found for them."
        release = self.result.products[method].release
        return self._refusal(release, partial(fingerprint_of_release, release))

    def grid_refusal(self, method: str) -> str:
        """Return why what the grid shows of a method may not be given away, or nothing."""
        bench = self.bench
        solved = None if bench is None else bench.solved.get(method)
        if bench is None or solved is None:
            return "Nothing was found yet: protect the table first."
        if solved.version != bench.version:
            return "What was found is of before the last decision: protect again."
        insiders = getattr(solved.result, "insiders", None)
        if insiders is not None and insiders.unsettled:
            return (
                f"Whether {insiders.unsettled:,} contributors find out a hidden value was not "
                f"settled, because the search was stopped or its time was over. Protect again "
                f"with more seconds, and let it end."
            )
        return self._refusal(solved.result, lambda: solved.fingerprint)

    def _refusal(self, release: Any, fingerprint: Callable[[], str]) -> str:
        """Return why a release may not be given away: it is not safe, or another one was."""
        if not getattr(release, "is_safe", True):
            first, *_, advice = release.verdict().splitlines()
            return f"{first} {advice}"
        if self.bench is None or not self.given.of(self.bench.fingerprint):
            return ""
        return self.given.objection(self.bench.fingerprint, fingerprint())

    def give(self, release: Any) -> None:
        """Note that a release is given away."""
        if self.bench is not None:
            what = f"{required_way(release).noun} of {self.title}"
            self.given.give(self.bench.fingerprint, fingerprint_of_release(release), what)


def kept_in(folder: Path) -> dict[str, Any]:
    """Return what `Session.save` wrote down in the folder of a table.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    path = folder / OPENED
    try:
        kept = {"table": "", "marks": {}} | json.loads(path.read_text(encoding="utf-8"))
        return {key: kept[key] for key in (*SAVED, "table", "marks")}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}: cannot be read ({error}). It says how a table is opened again. Open its file "
            f"on the first page."
        ) from None


def without_folder(text: str, home: Path) -> str:
    """Return a text in which files of a private folder are called by their names."""
    return re.sub(rf"{re.escape(str(home))}/((uploads|{TABLES})/[^/]+/)?", "", text)


def _guess(file: DataFile) -> Guess:
    """Return what the columns of records may be; nothing where they have no codes."""
    file, head = first_records(file)
    try:
        return guess(file)
    except InputError:
        return Guess(file, others=dict.fromkeys(head.columns, ""))


def _proposed(file: DataFile) -> Proposal:
    with reading(Path(file)):
        return propose(file)
