"""The pages of the app."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
from flask import Flask, abort, g, redirect, render_template, request, send_file

from tablecloak.app.bench_pages import zipped
from tablecloak.app.choices import ROLES, Choices, ways
from tablecloak.app.fields import Filled, choices_of, fields_of, options_of
from tablecloak.app.finished import (
    Finished,
    lacks_total,
    offered_rules,
    offered_ways,
    outline,
    unsafe_words,
)
from tablecloak.app.given_file import (
    KINDS,
    bench_of,
    given_file,
    in_the_app,
    kind_named,
    kind_of,
    told_file,
)
from tablecloak.app.session import Session
from tablecloak.app.workbench import Workbench
from tablecloak.data_file import DataFile, how_read
from tablecloak.errors import InputError
from tablecloak.jobs.beginning import MOST_CODES, Guess, first_records, guess
from tablecloak.protection import PROTECTIONS
from tablecloak.render.heat_map import SENSITIVITY, add_heat_map, sensitivity_squares
from tablecloak.render.page import Page
from tablecloak.storage import existing_file
from tablecloak.tables.formats import RecordFormat, column_names, format_of
from tablecloak.tables.formats.format import reading
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.proposal import propose
from tablecloak.tables.rules.rule import RULES
from tablecloak.web.tasks import noting

SHOWN_RECORDS = 5
"""Number of records that the page of choices shows."""

ROUTES = (
    ("GET", "/", "start"),
    ("POST", "/open", "open_file"),
    ("GET", "/shape", "shape"),
    ("POST", "/shape", "confirm"),
    ("GET", "/choose", "choose"),
    ("POST", "/table", "table"),
    ("GET", "/table", "look"),
    ("POST", "/protect", "protect"),
    ("POST", "/stop", "stop"),
    ("GET", "/progress", "progress"),
    ("GET", "/results", "results"),
    ("GET", "/report", "report"),
    ("GET", "/job.toml", "job_file"),
    ("GET", "/release/<method>.zip", "release"),
)
"""Method, address, and the function of `Pages` that answers."""


class Pages:
    """Answers of the app to its one user.

    Parameters
    ----------
    session : Session
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.tried: DataFile | None = None
        """The file that was to be opened last, whether it could be or not."""

    def add_to(self, app: Flask) -> None:
        """Register all addresses of `ROUTES`."""
        for method, address, name in ROUTES:
            answer = self.session.heard(getattr(self, name))
            app.add_url_rule(address, name, answer, methods=[method])

    def page(self, template: str, status: int = 200, **values: Any) -> Any:
        """Return a page: a template with its values, and the status."""
        was = Filled(self.session.forms.get(request.path, {}))
        shared = {"session": self.session, "was": was, "kinds": KINDS, "how_read": how_read()}
        return render_template(template, **shared, **values), status

    def refused(self, error: Exception) -> Any:
        """Show an error; for a file that was not opened, with how else it could be read."""
        message = self.session.plain(in_the_app(error))
        return self.page("error.html", 400, message=message, refused=g.get("tried"))

    def sent(self, address: str) -> dict[str, str]:
        """Return what was sent from the form at an address, and keep it for the next look."""
        self.session.forms[address] = request.form.to_dict()
        return self.session.forms[address]

    def start(self) -> Any:
        """Show the form for the file."""
        return self.page("start.html")

    def open_file(self) -> Any:
        """Open the file that a user chose, or that was chosen last and is read otherwise.

        Nothing that was said of one file is kept for the next one.
        """
        form = request.form
        last = self.tried if form.get("again") else self.session.file
        asked = form.get("kind", "")
        self.session.forms["/"] = {"path": form.get("path", "")}
        with self.session.changing():
            if last is None or request.files or "path" in form or "example" in form:
                file = told_file(given_file(self.session.folder), form)
            else:
                file = told_file(Path(last), form) if "encoding" in form else last
            self.tried = g.tried = file
            kind = kind_named(asked) if asked else kind_of(file)
            if kind.name == "records":
                guessed = _guess(file)
                self.session.open(guessed.file)
                self.session.guess = guessed
            elif kind.name == "table":
                with reading(Path(file)):
                    proposal = propose(file)
                self.session.open(file)
                self.session.proposal = proposal
            else:
                bench = bench_of(Path(file))
                self.session.open(file)
                self.session.bench = bench
        return redirect(kind.next)

    def shape(self) -> Any:
        """Show how a finished table was read, to be confirmed."""
        file, sheet = self.session.file, request.args.get("sheet", "")
        if file is None or self.session.proposal is None:
            return redirect("/")
        if sheet:
            with self.session.changing():
                self.session.proposal = propose(file, sheet=sheet)
                self.session.forms.clear()
        found = self.session.proposal
        texts = [name for name in found.frame.columns if name not in found.figures]
        return self.page(
            "shape.html",
            found=found,
            sheet=sheet,
            head=found.frame.head(SHOWN_RECORDS),
            outlines={name: outline(tree) for name, tree in found.trees.items()},
            texts=[name for name in (*texts, *found.figures) if name not in found.trees],
            made=[name for name, tree in found.trees.items() if lacks_total(tree)],
            unsafe=unsafe_words(found),
            rules=offered_rules(found),
            ways=offered_ways(),
        )

    def confirm(self) -> Any:
        """Read how a finished table is to be understood, and open its grid."""
        with self.session.changing():
            if self.session.file is None or self.session.proposal is None:
                return redirect("/")
            finished = Finished.of_form(self.session.proposal, self.sent("/shape"))
            notes: list[str] = []
            with noting(notes):
                problem = finished.problem()
            told = finished.proposal
            self.session.bench = Workbench(
                problem, told.title, told.labels, finished.ways, notes=notes, rules=finished.rules
            )
            self.session.program = finished.python(self.session.file)
        return redirect("/grid")

    def choose(self) -> Any:
        """Show the form for dimensions, rules and methods."""
        if self.session.file is None:
            return redirect("/")
        head = _head(self.session.file)
        numeric = [name for name in head.columns if pd.api.types.is_numeric_dtype(head[name])]
        guessed = self.session.guess or Guess(self.session.file)
        numeric += [name for name in (guessed.mistyped,) if name and name not in numeric]
        return self.page(
            "choose.html",
            columns=list(head.columns),
            numeric=numeric,
            head=head,
            guess=guessed,
            rules=choices_of(RULES),
            ways=[
                (way, PROTECTIONS.summary(way.name), options_of(way.name), fields_of(way.name))
                for way in ways()
            ],
            roles=ROLES,
            most_codes=MOST_CODES,
        )

    def table(self) -> Any:
        """Read the choices, and tabulate."""
        file = self.session.file
        if file is None:
            return redirect("/")
        form = self.sent("/choose")
        choices = Choices.of_form(file, form, column_names(file))
        if not form.get("any_number"):
            choices.check_codes()
        self.session.choose(choices)
        return redirect("/table")

    def look(self) -> Any:
        """Show the table before it is protected."""
        if self.session.choices is None or self.session.bench is None:
            return redirect("/choose")
        problem = self.session.bench.given
        return self.page("table.html", map=_sensitive_map(problem), problem=problem)

    def protect(self) -> Any:
        """Start the job."""
        self.session.start()
        return redirect("/progress")

    def stop(self) -> Any:
        """Stop the search that is running."""
        self.session.stop()
        return redirect("/progress")

    def progress(self) -> Any:
        """Show the progress of the job, its error, or its results."""
        if self.session.is_running:
            return self.page("progress.html")
        if self.session.error:
            return self.page("error.html", 400, message=self.session.error)
        return redirect("/results")

    def results(self) -> Any:
        """Show the results of the job."""
        if self.session.result is None:
            return redirect("/")
        return self.page("results.html", result=self.session.result)

    def report(self) -> Any:
        """Send the internal report."""
        path = self._written(self.session.results / "internal" / "report.html")
        return send_file(io.BytesIO(path.read_bytes()), mimetype="text/html")

    def job_file(self) -> Any:
        """Send the job file."""
        text = self.session.plain(existing_file(self.session.job_file).read_text(encoding="utf-8"))
        content = io.BytesIO(text.encode())
        return send_file(content, as_attachment=True, download_name="job.toml")

    def release(self, method: str) -> Any:
        """Send the files of one method that may be published."""
        if method not in PROTECTIONS:
            abort(404)
        folder = self._written(self.session.results / "release" / method)
        return zipped(folder, f"{method}.zip")

    def _written(self, path: Path) -> Path:
        """Return the path of a file or folder of the last job, if it exists."""
        if self.session.result is None:
            raise InputError("There are no results yet. Tabulate and protect a table first.")
        if not path.exists():
            raise InputError(
                f"There is no {path.name}: the release was withheld, or its method was not chosen. "
                "The page of results says which."
            )
        return path


def _guess(file: DataFile) -> Guess:
    """Return what the columns of records may be; nothing where they have no codes."""
    file, head = first_records(file)
    try:
        return guess(file)
    except InputError:
        return Guess(file, others=dict.fromkeys(head.columns, ""))


def _head(file: DataFile) -> pd.DataFrame:
    """Return the first records of a file."""
    with reading(Path(file.name)):
        return format_of(file, RecordFormat, otherwise="csv").head(Path(file), SHOWN_RECORDS)


def _sensitive_map(problem: ProtectionProblem) -> str:
    """Return a heat map of the table, with its sensitive cells marked, as HTML."""
    drawing = Page("")
    drawing.legend(SENSITIVITY)
    table = problem.table
    add_heat_map(drawing, table.keys, table.hierarchies, sensitivity_squares(problem))
    return "\n".join(drawing.parts)
