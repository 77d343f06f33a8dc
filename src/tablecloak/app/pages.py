"""The pages of the app."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from flask import Flask, abort, redirect, render_template, request, send_file

from tablecloak.app.bench_pages import zipped
from tablecloak.app.choices import ROLES, ways
from tablecloak.app.fields import Filled, choices_of, fields_of, options_of
from tablecloak.app.finished import (
    lacks_total,
    offered_rules,
    offered_ways,
    outline,
    unsafe_words,
)
from tablecloak.app.given_away import NEVER_TWO, OLD_JOB, beside
from tablecloak.app.given_file import given_file
from tablecloak.app.open_tables import OpenTables, TablePages
from tablecloak.app.own_words import FIELDS
from tablecloak.app.reading import told_file
from tablecloak.data_file import DataFile
from tablecloak.errors import InputError
from tablecloak.jobs.beginning import MOST_CODES
from tablecloak.protection import PROTECTIONS
from tablecloak.render.heat_map import SENSITIVITY, add_heat_map, sensitivity_squares
from tablecloak.render.page import Page
from tablecloak.storage import existing_file
from tablecloak.tables.formats import RecordFormat, format_of
from tablecloak.tables.formats.format import reading
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import RULES

SHOWN_RECORDS = 5
"""Number of records that the page of choices shows."""

FIRST_ROUTES = (("GET", "/", "start"), ("POST", "/open", "open_file"))
"""Method, address, and the function of `FirstPages` that answers."""

ROUTES = (
    ("GET", "/", "furthest"),
    ("POST", "/kind", "other_kind"),
    ("GET", "/shape", "shape"),
    ("POST", "/shape", "fill"),
    ("GET", "/choose", "choose"),
    ("POST", "/choose", "fill"),
    ("GET", "/look", "look"),
    ("POST", "/protect", "protect"),
    ("POST", "/stop", "stop"),
    ("GET", "/progress", "progress"),
    ("GET", "/results", "results"),
    ("GET", "/report", "report"),
    ("GET", "/job.toml", "job_file"),
    ("POST", "/release/<method>.zip", "release"),
)
"""Method, address below that of a table, and the function of `Pages` that answers."""

NO_REPORT = "The grid makes one of what was found since."
"""What follows `OLD_JOB` on the report of a job."""


class FirstPages:
    """Answers of the app before a table is open.

    Parameters
    ----------
    tables : OpenTables
    """

    def __init__(self, tables: OpenTables) -> None:
        self.tables = tables

    def add_to(self, app: Flask) -> None:
        """Register all addresses of `FIRST_ROUTES`."""
        for method, address, name in FIRST_ROUTES:
            app.add_url_rule(address, name, getattr(self, name), methods=[method])

    def start(self) -> Any:
        """Show the form for the file, and what was opened before."""
        return render_template(
            "start.html", was=Filled({"path": self.tables.typed}), tables=self.tables
        )

    def open_file(self) -> Any:
        """Open the file that a user chose, under an address of its own.

        Nothing but a path that was typed is kept for the next one.
        """
        form = request.form
        self.tables.typed = form.get("path", "")
        refused = self.tables.tried(form.get("again", ""))
        path = Path(refused) if refused else given_file(self.tables.home)
        return redirect(self.tables.try_out(told_file(path, form), form.get("kind", "")))


class Pages(TablePages):
    """The pages about one table but for its grid."""

    @classmethod
    def add_to(cls, app: Flask, tables: OpenTables) -> None:
        """Register all addresses of `ROUTES`."""
        for method, address, name in ROUTES:
            answer = tables.answered(cls, name)
            place = f"/table/<table>{address}"
            app.add_url_rule(place, f"{method} {address}", answer, methods=[method])

    def to(self, page: str) -> Any:
        """Lead to another page of the table."""
        return redirect(f"{self.session.address}/{page}")

    def page(self, template: str, **values: Any) -> Any:
        """Return a page: a template with its values."""
        values = {"was": Filled(self.session.sent)} | values
        return render_template(template, **values)

    def furthest(self) -> Any:
        """Lead to the page on which the table is worked on."""
        return self.to(self.session.steps[-1][0])

    def other_kind(self) -> Any:
        """Open the same file as another kind, or read otherwise, as another table."""
        file, form = self.session.file, request.form
        if file is None:
            return redirect("/")
        file = told_file(Path(file), form) if "encoding" in form else file
        if "encoding" not in form and form.get("sheet"):
            file = replace(file, sheet=form["sheet"])
        return redirect(self.tables.try_out(file, form.get("kind", "")))

    def shape(self) -> Any:
        """Show how a finished table was read, to be confirmed."""
        sheet = request.args.get("sheet", "")
        found = self.session.proposal(sheet)
        if found is None:
            return redirect("/")
        texts = [name for name in found.frame.columns if name not in found.figures]
        is_sent = self.session.sent.get("sheet", "") == sheet
        return self.page(
            "shape.html",
            was=Filled(self.session.sent if is_sent else {}),
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

    def choose(self) -> Any:
        """Show the form for dimensions, rules and methods."""
        if self.session.file is None or self.session.guess is None:
            return redirect("/")
        head = _head(self.session.file)
        guess = self.session.guess
        numeric = [name for name in head.columns if pd.api.types.is_numeric_dtype(head[name])]
        numeric += [name for name in (guess.mistyped,) if name and name not in numeric]
        return self.page(
            "choose.html",
            columns=list(head.columns),
            numeric=numeric,
            head=head,
            guess=guess,
            rules=choices_of(RULES),
            ways=[
                (way, PROTECTIONS.summary(way.name), options_of(way.name), fields_of(way.name))
                for way in ways()
            ],
            roles=ROLES,
            most_codes=MOST_CODES,
            fields=FIELDS,
        )

    def fill(self) -> Any:
        """Make a table, with an address of its own, as the form of choices or layout says."""
        made = self.session.filled(request.form.to_dict())
        self.tables.add(made)
        return redirect(f"{made.address}/{'look' if made.choices else 'grid'}")

    def look(self) -> Any:
        """Show the table before it is protected."""
        if self.session.choices is None or self.session.bench is None:
            return self.to("choose")
        problem = self.session.bench.given
        return self.page("table.html", map=_sensitive_map(problem), problem=problem)

    def protect(self) -> Any:
        """Start the job."""
        self.session.start()
        return self.to("progress")

    def stop(self) -> Any:
        """Stop the search that is running."""
        self.session.stop()
        return self.to("progress")

    def progress(self) -> Any:
        """Show the progress of the job, its error, or its results."""
        if self.session.is_running:
            return self.page("progress.html")
        if self.session.error:
            return self.page("error.html", message=self.session.error), 400
        return self.to("results")

    def results(self) -> Any:
        """Show the results of the job."""
        if self.session.result is None:
            return self.to("")
        result = self.session.result
        refused = {name: self.session.job_refusal(name) for name in result.products}
        return self.page(
            "results.html", result=result, refused=refused, never_two=NEVER_TWO, beside=beside
        )

    def report(self) -> Any:
        """Send the internal report."""
        if self.session.result is None:
            raise InputError("There are no results yet. Tabulate and protect a table first.")
        path = self.session.results / "internal" / "report.html"
        text, bench = path.read_text(encoding="utf-8"), self.session.bench
        if bench is not None and bench.marks:
            text = text.replace("<body>", f"<body><p><b>{OLD_JOB} {NO_REPORT}</b></p>", 1)
        return send_file(io.BytesIO(text.encode()), mimetype="text/html")

    def job_file(self) -> Any:
        """Send the job file."""
        text = existing_file(self.session.job_file).read_text(encoding="utf-8")
        content = io.BytesIO(self.session.without_folder(text).encode())
        return send_file(content, as_attachment=True, download_name="job.toml")

    def release(self, method: str) -> Any:
        """Give away the files of one method that may be published."""
        if method not in PROTECTIONS:
            abort(404)
        refusal, result = self.session.job_refusal(method), self.session.result
        if refusal or result is None:
            return {"error": self.session.plain(refusal)}, 400
        self.session.give(result.products[method].release)
        return zipped(self.session.results / "release" / method, f"{method}.zip")


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
