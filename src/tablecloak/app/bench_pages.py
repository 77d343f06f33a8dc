"""Pages of the workbench, and what its script asks for."""

from __future__ import annotations

import contextlib
import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from flask import Flask, jsonify, redirect, render_template, request, send_file

from tablecloak.app.decisions import DECISIONS, Mark, cells_of, described
from tablecloak.app.given_away import beside
from tablecloak.app.grid import Look, Sum
from tablecloak.app.open_tables import OpenTables, TablePages
from tablecloak.app.workbench import Solved, Workbench, methods
from tablecloak.arrays import Flags, Floats
from tablecloak.certificates.file import write_certificate
from tablecloak.errors import InputError, TablecloakError
from tablecloak.protection import required_way
from tablecloak.publish.explain import explain
from tablecloak.publish.publication import write_release
from tablecloak.render.page import as_number
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.formats import OfficeWorkbook, write_problem
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.proposal import WORKBOOKS
from tablecloak.tables.published import published_decimals
from tablecloak.tables.rules.rule import levels_asked
from tablecloak.web.tasks import noting

ROUTES = (
    ("GET", "/grid", "page"),
    ("POST", "/grid/view", "view"),
    ("GET", "/grid/cell/<int:cell>", "cell"),
    ("GET", "/grid/why/<int:cell>", "why"),
    ("POST", "/grid/decide", "decide"),
    ("POST", "/grid/undo", "undo"),
    ("POST", "/grid/run", "run"),
    ("POST", "/grid/solve", "solve"),
    ("POST", "/grid/stop", "stop"),
    ("GET", "/grid/progress", "progress"),
    ("POST", "/grid/release/<method>.zip", "release"),
    ("POST", "/grid/unsent", "unsent"),
    ("GET", "/grid/problem.zip", "problem"),
    ("GET", "/grid/report", "report"),
)
"""Method, address below that of a table, and the function of `BenchPages` that answers."""

WHY_SECONDS = 10.0
"""Most seconds for explaining a cell; what was cut short says so."""

WORDS = {
    CellStatus.SENSITIVE.value: "sensitive",
    CellStatus.FORCED.value: "must be hidden",
    CellStatus.FROZEN.value: "must stay published",
    CellStatus.SAFE.value: "not sensitive",
}


class BenchPages(TablePages):
    """Answers of the workbench about one table; JSON but for the page itself and files."""

    @classmethod
    def add_to(cls, app: Flask, tables: OpenTables) -> None:
        """Register all addresses of `ROUTES`."""
        for method, address, name in ROUTES:
            answer = _as_json(tables, tables.answered(cls, name))
            app.add_url_rule(f"/table/<table>{address}", f"grid_{name}", answer, methods=[method])

    @property
    def bench(self) -> Workbench:
        """The table that is open."""
        if self.session.bench is None:
            raise InputError("This table has no grid yet. Choose its columns or layout first.")
        return self.session.bench

    def page(self) -> Any:
        """Show the page; its script fills the grid."""
        if self.session.bench is None:
            return redirect(f"{self.session.address}/")
        bench = self.bench
        return render_template(
            "grid.html",
            bench=bench,
            methods={
                name: (way.noun.capitalize(), self.session.plain(way.unfit(bench.problem)))
                for name, way in methods().items()
            },
            decisions=DECISIONS,
            legend=LEGEND,
        )

    def view(self) -> Any:
        """Return the grid as it is looked at: codes, squares, and what may be chosen."""
        asked = request.get_json(force=True, silent=True) or {}
        bench = self.bench
        look = bench.grid.look(asked)
        shown = bench.grid.shown(look)
        method = asked.get("method", "")
        squares = _Squares(bench, bench.solved.get(method))
        given = self.session.given.of(bench.fingerprint)
        sent = {release.release for release in given if release.has_left}
        return {
            "dimensions": bench.grid.dimensions,
            "look": _told(look),
            "codes": {name: list(bench.grid.trees[name].codes) for name in look.at},
            "rows": bench.grid.with_insides(look, look.rows, shown["rows"], squares.marked()),
            "columns": bench.grid.with_insides(
                look, look.columns, shown["columns"], squares.marked()
            ),
            "squares": [[squares.of(cell) for cell in line] for line in shown["cells"]],
            "summary": self.session.plain(
                beside(squares.summary(), self.session.grid_refusal(method))
            ),
            "is_old": squares.is_old,
            "can_be_near": bench.before(method) is not None,
            "changed": CHANGED,
            "decisions": described(bench.marks, bench.given),
            "can_undo": bool(bench.undone),
            "runs": [
                {
                    "method": methods()[run.method].noun,
                    "summary": run.summary(),
                    "seconds": f"{run.seconds:.1f}",
                    "decisions": len(run.marks),
                    "is_given": bool(sent) and run.fingerprint in sent,
                    "is_shown": run is bench.solved.get(method) and not squares.is_old,
                }
                for run in bench.runs
            ],
            "said": [self.session.plain(text) for text in bench.said_of_release],
            "given": [{"what": str(release), "has_left": release.has_left} for release in given],
        }

    def cell(self, cell: int) -> Any:
        """Return all that is known of a cell. Secret, as the whole page is."""
        bench = self.bench
        self._require_cell(cell)
        solved = bench.solved.get(request.args.get("method", ""))
        squares = _Squares(bench, solved)
        return {
            "place": bench.grid.place(cell),
            **squares.of(cell),
            "facts": squares.facts(cell),
            "can_explain": solved is not None and not squares.is_old,
            "sums": [squares.sum_of(each) for each in bench.grid.sums(cell)],
            "mark": vars(bench.marks.get(cell, Mark())),
        }

    def why(self, cell: int) -> Any:
        """Explain a cell: who attacks it, who needs it, what the cheapest other release costs."""
        solved = self._current(request.args.get("method", ""))
        self._require_cell(cell)
        hidden = required_way(solved.result).hidden(solved.result)
        # A pattern found near another one counts costs otherwise.
        result = solved.result if hidden is None else hidden
        found = explain(
            self.bench.problem, result, cell, rules=self.bench.rules, time_limit=WHY_SECONDS
        )
        return {"text": found.text(self.bench.labels)}

    def decide(self) -> Any:
        """Note a decision about cells."""
        given = request.get_json(force=True, silent=True) or {}
        cells = cells_of(given.get("cells"), self.bench.given.table.n_cells)
        self.bench.decide(cells, Mark.read(given))
        return self._decided()

    def undo(self) -> Any:
        """Take back the last decision."""
        self.bench.undo()
        return self._decided()

    def run(self) -> Any:
        """Return to what an earlier run found."""
        given = request.get_json(force=True, silent=True) or {}
        number = given.get("run")
        if not isinstance(number, int):
            raise InputError("`run` must be the number of a run, counted from 0.")
        self.bench.show_run(number)
        return {**self._decided(), "method": self.bench.runs[number].method}

    def solve(self) -> Any:
        """Start a search."""
        given = request.get_json(force=True, silent=True) or {}
        limit = given.get("seconds", 5)
        if not isinstance(limit, int | float) or not 0 < limit <= 86_400:
            raise InputError(f"seconds: {limit!r} is no number above 0 and at most 86,400.")
        near = given.get("near", True) is True
        self.bench.start(str(given.get("method", "")), float(limit), near=near)
        return self.progress()

    def stop(self) -> Any:
        """End the search; the best that is proved is kept."""
        self.bench.stop()
        return self.progress()

    def progress(self) -> Any:
        """Return what is known of the search, and why each release may not be given away."""
        search = self.bench.progress()
        refused = {name: self.session.plain(self.session.grid_refusal(name)) for name in methods()}
        return {**search, "error": self.session.plain(search["error"]), "refused": refused}

    def _decided(self) -> Any:
        self.session.save()
        return self.progress()

    def unsent(self) -> Any:
        """Note that nobody received the release that was given away."""
        self.session.given.unsent(self.bench.fingerprint)
        return self.progress()

    def release(self, method: str) -> Any:
        """Give away the files that may be published."""
        refusal = self.session.grid_refusal(method)
        if refusal:
            raise InputError(refusal)
        release = self.bench.solved[method].result
        with tempfile.TemporaryDirectory(prefix="tablecloak-") as folder:
            said: list[str] = []
            with noting(said):
                is_filled = self._write(release, Path(folder))
            self.session.give(release)
            self.bench.said_of_release = [FILLED] * is_filled + said
            return zipped(Path(folder), f"{method}.zip")

    def _write(self, release: Any, folder: Path) -> bool:
        """Write what may be published; return whether the workbook of the table was filled too."""
        formats = ("csv", "excel")
        file, title = self.session.file, self.bench.title
        if self.session.proposal() and file and Path(file).suffix.lower() in WORKBOOKS:
            office = OfficeWorkbook(Path(file), file.sheet)
            # Records, or figures in an order that is not seen, make no table to fill.
            with contextlib.suppress(InputError):
                write_release(release, folder, title=title, formats=[*formats, office])
                return True
        write_release(release, folder, title=title, formats=formats)
        return False

    def problem(self) -> Any:
        """Send the problem and the certificates, which stay inside."""
        with tempfile.TemporaryDirectory(prefix="tablecloak-") as folder:
            write_problem(self.bench.problem, Path(folder) / "problem.csv")
            for name, solved in self.bench.solved.items():
                if solved.version == self.bench.version:
                    write_certificate(solved.result, Path(folder) / f"{name}_certificate.npz")
            return zipped(Path(folder), "internal.zip")

    def report(self) -> Any:
        """Send the internal report on what was found."""
        return self.bench.report().html()

    def _require_cell(self, cell: int) -> None:
        n_cells = self.bench.given.table.n_cells
        if cell >= n_cells:
            raise InputError(f"There is no cell {cell}; the table has {n_cells}, counted from 0.")

    def _current(self, method: str) -> Solved:
        solved = self.bench.solved.get(method)
        if solved is None or solved.version != self.bench.version:
            raise InputError(
                "Nothing was found since the last decision. Protect the table, then download."
            )
        return solved


class _Squares:
    """What stands in the squares of a grid.

    Parameters
    ----------
    bench : Workbench
    solved : Solved or None
    """

    def __init__(self, bench: Workbench, solved: Solved | None) -> None:
        self.problem: ProtectionProblem = bench.problem
        digits = published_decimals(bench.problem.table.values)
        self.digits = digits if digits <= MOST_DIGITS else None
        self.marks, self.grid, self.rules = bench.marks, bench.grid, bench.rules
        self.solved = solved
        self.is_old = solved is not None and solved.version != bench.version
        self.values: Floats | None = None
        self.ends: tuple[Floats, Floats] | None = None
        self.changed: Flags | None = None
        self.change = ""
        if solved is not None:
            self._read(solved.result, bench.given.table.n_cells)
        self.row_of = {} if solved is None or solved.audit is None else _rows(solved.audit)

    def _read(self, release: Any, n_cells: int) -> None:
        """Note which cells readers see otherwise than they are, and how such squares are called."""
        way = required_way(release)
        hidden, values, ends = way.hidden(release), way.values(release), way.intervals(release)
        if hidden is not None:
            self.changed, self.change = hidden[:n_cells], "secondary"
        elif values is not None:
            self.values = values[:n_cells]
            moves = np.abs(self.values - self.problem.table.values)
            self.changed, self.change = moves > 1e-9, "moved"
            self.raised = self.values > self.problem.table.values
        elif ends is not None:
            self.ends = ends[0][:n_cells], ends[1][:n_cells]
            self.changed, self.change = self.ends[1] > self.ends[0], "wide"

    def of(self, cell: int) -> dict[str, Any]:
        """Return the square of a cell; for no cell an empty one."""
        if cell < 0:
            return {"cell": -1, "value": "", "kind": "none", "word": "no such cell"}
        kind = self.kind(cell)
        return {
            "cell": cell,
            "value": _number(self.problem.table.values[cell], self.digits),
            "shown": self.shown(cell),
            "kind": kind,
            "word": KINDS[kind],
            "decided": self.marks[cell].decision if cell in self.marks else "",
        }

    def kind(self, cell: int) -> str:
        """Return the kind of a square: a key of `KINDS`."""
        is_sensitive = bool(self.problem.sensitive[cell])
        if self.changed is not None:
            if self.changed[cell] and self.change == "moved":
                return ("up" if self.raised[cell] else "down") + " sensitive" * is_sensitive
            if self.changed[cell]:
                return "primary" if is_sensitive else self.change
            return "open" if is_sensitive and self.change != "moved" else "plain"
        if is_sensitive:
            return "sensitive"
        return {"m": "forced", "z": "frozen"}.get(str(self.problem.status[cell]), "plain")

    def marked(self) -> tuple[Flags, Flags]:
        """Return which cells are sensitive, and which others readers see otherwise."""
        sensitive = self.problem.sensitive
        changed = np.zeros_like(sensitive) if self.changed is None else self.changed
        return sensitive, changed & ~sensitive

    def shown(self, cell: int) -> str:
        """Return what readers of the release see."""
        if self.change == "secondary" and self.changed is not None and self.changed[cell]:
            return "x"
        if self.values is not None:
            return _number(self.values[cell], self.digits)
        if self.ends is not None and self.ends[1][cell] > self.ends[0][cell]:
            return f"{_number(self.ends[0][cell])} to {_number(self.ends[1][cell])}"
        return _number(self.problem.table.values[cell], self.digits)

    def summary(self) -> str:
        """Return what is said above the grid: the verdict on what was found."""
        if self.solved is None:
            return self.problem.summary()
        return self.solved.verdict()

    def facts(self, cell: int) -> list[tuple[str, str]]:
        """Return rows of a table about a cell."""
        problem, unit = self.problem, self.problem.table.unit
        rows = [("value", f"{as_number(problem.table.values[cell])} {unit}".strip())]
        rows.append(("status", WORDS[str(problem.status[cell])]))
        asked = [rule.name for rule, _ in levels_asked(problem, cell, self.rules)]
        if len(asked) > 1:
            rows.append(("because of", f"{asked[0]}, for the level; also {', '.join(asked[1:])}"))
        elif problem.reasons[cell]:
            rows.append(("because of", str(problem.reasons[cell])))
        if problem.sensitive[cell]:
            down, up = problem.lower_protection[cell], problem.upper_protection[cell]
            rows.append(("must reach", f"{as_number(down)} below, {as_number(up)} above"))
        rows.append(("cost of hiding", as_number(problem.weights[cell])))
        row = self.row_of.get(cell)
        if row is not None:
            low, high, verdict = row
            before = ", before the last decisions" if self.is_old else ""
            interval = f"{as_number(low)} to {as_number(high)}: {verdict}"
            rows.append((f"an outsider's interval{before}", interval))
        if self.values is not None:
            change = self.values[cell] - problem.table.values[cell]
            rows.append(("moved by", f"{'+' * bool(change > 0)}{as_number(change)}"))
        return rows

    def sum_of(self, relation: Sum) -> dict[str, Any]:
        """Return a relation as a total and its parts, as readers see them."""

        def part(cell: int) -> dict[str, Any]:
            name = self.grid.name(cell, relation.along)
            return {"cell": cell, "name": name, "shown": self.shown(cell)}

        return {"total": part(relation.total), "parts": [part(cell) for cell in relation.parts]}


FILLED = (
    "The filled workbook keeps titles, notes beside the table and sheets of text as they are. Read "
    "them before you send it: they may name a hidden value."
)
"""What is said of a release with the workbook that its table came from."""

CHANGED = (
    "Decisions have changed since the search, and nothing is proved for them: protect again. What "
    "follows is of before them."
)
"""What stands above a verdict whose decisions do not hold any more."""

MOST_DIGITS = 4
"""Most digits after the point to which all squares are aligned."""


KINDS = {
    "none": "no such cell",
    "plain": "published",
    "sensitive": "sensitive",
    "open": "SENSITIVE AND PUBLISHED",
    "primary": "primary: sensitive",
    "secondary": "secondary: hidden to protect others",
    "up": "raised to protect others",
    "down": "lowered to protect others",
    "up sensitive": "sensitive, raised",
    "down sensitive": "sensitive, lowered",
    "wide": "an interval to protect others",
    "forced": "must be hidden",
    "frozen": "must stay published",
}
"""Kinds of squares, and what they are called in words."""


LEGEND = {
    "primary": "sensitive",
    "secondary": "hidden for others",
    "up": "raised",
    "down": "lowered",
    "forced": "must be hidden",
    "frozen": "must stay",
}
"""Styles of squares that the page explains; styles and colours are those of reports."""


def _rows(audit: Any) -> dict[int, tuple[float, float, str]]:
    """Return interval and verdict of each sensitive cell, against an outsider."""
    values = audit.problem.table.values[audit.needs.cells]
    return {
        int(cell): (float(value - below), float(value + above), verdict.value)
        for cell, value, below, above, verdict in zip(
            audit.needs.cells, values, audit.below, audit.above, audit.verdicts, strict=True
        )
    }


def _number(value: float, digits: int | None = None) -> str:
    """Return a number as text, by default with the digits that it has."""
    return as_number(value) if digits is None else f"{value:,.{digits}f}"


def _told(look: Look) -> dict[str, Any]:
    opened = {name: sorted(codes) for name, codes in look.opened.items()}
    return {"rows": look.rows, "columns": look.columns, "at": look.at, "opened": opened}


def zipped(folder: Path, name: str) -> Any:
    """Send all files of a folder as one archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    buffer.seek(0)
    return send_file(buffer, as_attachment=True, download_name=name)


def _as_json(tables: OpenTables, answer: Callable[..., Any]) -> Callable[..., Any]:
    """Return an answer whose errors are JSON where it is JSON."""

    def answered(**given: Any) -> Any:
        try:
            found = answer(**given)
        except TablecloakError as error:
            if request.method == "GET" and request.path.endswith(("/grid", ".zip")):
                raise
            message, status = tables.told(error)
            return jsonify({"error": message}), status
        return jsonify(found) if isinstance(found, dict) else found

    return answered
