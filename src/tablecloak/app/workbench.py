"""A table on the bench: decisions about it, and ways to protect side by side."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from tablecloak.app.decisions import Mark, described, marked
from tablecloak.app.given_away import fingerprint_of_release, fingerprint_of_table
from tablecloak.app.grid import TableGrid
from tablecloak.arrays import Floats
from tablecloak.budget import Budget, Progress
from tablecloak.errors import InputError, TablecloakError, listed
from tablecloak.jobs.load import load_data
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.schema import Job
from tablecloak.protection import PROTECTIONS, Material, Product, Protection, required_way
from tablecloak.render.page import Page, as_number
from tablecloak.render.report import internal_report
from tablecloak.results import Result
from tablecloak.suppression.attack.audit import Audit, audit_pattern
from tablecloak.suppression.attack.finding import Verdict
from tablecloak.suppression.attack.intruder import INTRUDERS
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import Rule
from tablecloak.web.tasks import NOTES, QueuedTask, TaskQueue, noting

FEW_SECONDS = 5.0
"""Limit of a search that the grid proposes where no job says another one. Chosen."""

MOST_NAMED = 3
"""Most cells that a verdict names."""

INTERVALS = "computing intervals"
"""What the page says of a search that has ended, and whose release is attacked."""

AUDIT_SHARE = 0.2
"""Share of the time limit for the exact intervals of sensitive cells."""


@dataclass(frozen=True, eq=False)
class Solved:
    """What a method found.

    Parameters
    ----------
    result : release
        Verified, of any way to protect.
    version : int
        The decisions that it was found for; see `Workbench.version`.
    method : str
    marks : mapping of int to Mark
        These decisions.
    seconds : float
        That it took, intervals included.
    audit : Audit, optional
        Of a pattern: the external intruder's exact intervals.
    weights : numpy.ndarray of float, shape (n_cells,), optional
        Costs of hiding cells, of a pattern that was searched near another one: its own loss then
        counts cells that were hidden before for less.
    notes : tuple of str
        Warnings of the search.
    """

    result: Any
    version: int
    method: str
    marks: Mapping[int, Mark]
    seconds: float
    audit: Audit | None = None
    weights: Floats | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        """What tells the release from others."""
        return fingerprint_of_release(self.result)

    def summary(self) -> str:
        """Return what was found in one line."""
        if self.weights is None:
            return str(self.result.summary())
        hidden = self.result.suppressed[: len(self.weights)]
        loss = as_number(self.weights[hidden].sum())
        return (
            f"suppression near the pattern before: {hidden.sum()} cells suppressed "
            f"({self.result.secondary.sum()} secondary), loss {loss}, "
            f"{self.result.problem.n_sensitive} sensitive cells proved, {self.result.seconds:.1f} s"
        )

    def verdict(self) -> str:
        """Return what the terminal says of it: is it safe, its cost, how good, and what next."""
        said = self.result.verdict() if isinstance(self.result, Result) else self.summary()
        lines = [said] if self.weights is None else [*said.splitlines()[:2], NEAR]
        return "\n".join([*lines, *self._said_of_hidden(), *self.notes])

    @property
    def only_hidden(self) -> list[str]:
        """Cells that must be hidden, and that readers may compute all the same."""
        if self.audit is None:
            return []
        problem, cells = self.result.problem, self.audit.needs.cells
        told = [verdict is not Verdict.PROTECTED for verdict in self.audit.verdicts]
        return list(problem.table.labels(cells[problem.forced[cells] & told]))

    def _said_of_hidden(self) -> list[str]:
        names = self.only_hidden
        if not names:
            return []
        more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
        return [
            f"NOT PROTECTED, only hidden: readers may compute {listed(names[:MOST_NAMED] + more)} "
            f"to within {Mark.level:g} %. Decide that such a cell is sensitive: others are then "
            f"hidden for it."
        ]


NEAR = (
    "How good: searched near the pattern before, so that few cells change; its loss can be larger "
    "than needed."
)
"""What takes the place of a bound, which counts cells that were hidden before for less."""


def methods() -> dict[str, type[Protection]]:
    """Return the ways to protect that stand beside each other, by their names in addresses."""
    return {way.name: way for way in PROTECTIONS if way.is_on_bench}


@dataclass
class Workbench:
    """A table that a person works on.

    Parameters
    ----------
    given : ProtectionProblem
        As the rules left it.
    title : str
    labels : mapping of str to mapping of str to str
        For a dimension what its codes are called.
    ways : mapping of str to Protection
        Ways to protect as a job asks for them; all others protect as they do by default.
    material : Material, optional
        What else the data tell, such as who contributes; by default only what the table tells.
    notes : list of str
        Warnings about the table, from tabulating it.
    rules : sequence of Rule
        Those that found the sensitive cells, where they are known.
    """

    given: ProtectionProblem
    title: str = ""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ways: Mapping[str, Protection] = field(default_factory=dict)
    material: Material | None = None
    notes: list[str] = field(default_factory=list)
    rules: Sequence[Rule] = ()
    marks: dict[int, Mark] = field(default_factory=dict)
    version: int = 0
    limit: float = 0.0
    undone: list[dict[int, Mark]] = field(default_factory=list)
    runs: list[Solved] = field(default_factory=list)
    solved: dict[str, Solved] = field(default_factory=dict)
    queue: TaskQueue = field(default_factory=TaskQueue)
    task: QueuedTask | None = None
    said_of_release: list[str] = field(default_factory=list)
    """What is to be known of the files that were downloaded last."""

    @classmethod
    def of_job(cls, job: Job, title: str) -> Workbench:
        """Return the table of a job, to be protected as firmly as the job asks."""
        notes: list[str] = []
        with noting(notes):
            material = load_data(job)
            problem = material.problem
        return cls(problem, title, {}, job.ways, material, notes, job.rules)

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.grid = TableGrid(self.given.table, self.labels)
        self.problem, self.n_versions = self.given, 0

    @cached_property
    def fingerprint(self) -> str:
        """What tells the table from others."""
        return fingerprint_of_table(self.given.table)

    @property
    def seconds(self) -> float:
        """The longest limit of a search that its job asks for, or a few seconds to begin with."""
        limits = [getattr(way, "time_limit", 0.0) for way in self.ways.values()]
        return max(limits, default=0.0) or FEW_SECONDS

    @property
    def method(self) -> str:
        """The way to protect that is looked at first: that of the last run, or one that fits."""
        fit = (name for name, way in methods().items() if not way.unfit(self.problem))
        return self.runs[-1].method if self.runs else next(fit, "")

    @property
    def is_running(self) -> bool:
        """Whether a search is running."""
        return self.task is not None and not self.task.has_ended

    def decide(self, cells: list[int], mark: Mark) -> None:
        """Note a decision about cells.

        Raises
        ------
        InputError
            If a search is running, or the decision cannot be.
        """
        with self.lock:
            self._require_rest()
            marks = {cell: old for cell, old in self.marks.items() if cell not in cells}
            if not mark.is_nothing:
                marks |= dict.fromkeys(cells, mark)
            before = self.marks
            self._take(marks)
            self.undone.append(before)

    def undo(self) -> None:
        """Return to the decisions before the last change of them."""
        with self.lock:
            self._require_rest()
            if self.undone:
                self._take(self.undone.pop())

    def show_run(self, number: int) -> None:
        """Return to what a run found, and to the decisions that it was found for.

        Raises
        ------
        InputError
            If a search is running, or there is no such run.
        """
        with self.lock:
            self._require_rest()
            if not 0 <= number < len(self.runs):
                raise InputError(f"There is no run {number + 1}; there are {len(self.runs)}.")
            run = self.runs[number]
            self.return_to(run.marks)
            self.solved[run.method] = run

    def return_to(self, marks: Mapping[int, Mark]) -> None:
        """Return to decisions of before; those that hold now can be brought back by `undo`."""
        if marks != self.marks:
            self.undone.append(self.marks)
            self._take(dict(marks))

    def _take(self, marks: dict[int, Mark]) -> None:
        """Take decisions; those that a run was found for bring back its version."""
        self.problem = marked(self.given, marks)
        self.marks = marks
        versions = [run.version for run in self.runs if run.marks == marks]
        self.n_versions += 1
        self.version = versions[-1] if versions else self.n_versions

    def start(self, method: str, limit: float, *, near: bool = True) -> None:
        """Search in the background.

        Parameters
        ----------
        method : str
        limit : float
            Seconds.
        near : bool, default=True
            Whether to keep to the pattern before, so that few cells change.

        Raises
        ------
        InputError
            If a search is running, or the method does not fit the table.
        """
        with self.lock:
            self._require_rest()
            if method not in methods():
                raise InputError(
                    f"There is no method {method!r}. Choose one of {', '.join(methods())}."
                )
            objection = methods()[method].unfit(self.problem)
            if objection:
                raise InputError(objection)
            if self.task is not None:
                self.queue.forget(self.task.name)
            self.limit = limit
            before = self.before(method) if near else None
            search = partial(
                self._search, method, limit, before, self.problem, self.version, self.marks
            )
            self.task = self.queue.add(QueuedTask(search, explained, method))

    def stop(self) -> None:
        """End the search; the best that is proved is kept."""
        if self.task is not None:
            self.task.stop()

    def progress(self) -> Mapping[str, Any]:
        """Return what is known of the search, with numbers as text."""
        task = self.task
        running = task if task is not None and not task.has_ended else None
        gap = (task.loss - task.bound) / task.loss if task and task.loss > 0 else np.nan
        return {
            "running": running.label if running else "",
            "stage": (running.stage or "preparing") if running else "",
            "seconds": round(task.seconds, 1) if task else 0.0,
            "loss": as_number(task.loss) if task and np.isfinite(task.loss) else "",
            "bound": as_number(task.bound) if task and np.isfinite(task.bound) else "",
            "gap": f"{gap:.1%}" if np.isfinite(gap) else "",
            "limit": self.limit,
            "error": (task.error or "") if task else "",
        }

    def take(self, result: JobResult) -> None:
        """Show what the job of the table gave, which knows of no decision."""
        kept = methods().keys() - result.withheld.keys()
        releases = {name: one.release for name, one in result.products.items() if name in kept}
        limit = AUDIT_SHARE * self.seconds
        audits = {name: self._audited(release, limit) for name, release in releases.items()}
        with self.lock:
            self.return_to({})
            for name, release in releases.items():
                seconds = getattr(release, "seconds", 0.0)
                self._note(Solved(release, self.version, name, {}, seconds, audits[name]))

    def report(self) -> Page:
        """Describe what was found since the last decision. Secret.

        Raises
        ------
        InputError
            If nothing was.
        """
        current = [one for one in self.solved.values() if one.version == self.version]
        if not current:
            raise InputError("Nothing was found since the last decision. Protect the table first.")
        settings = {
            f"decided by hand: {row['name']}": row["decision"] or f"cost times {row['cost']:g}"
            for row in described(self.marks, self.given)
        }
        # An audit in which cells that must be hidden count as sensitive would say too much of it.
        products = [Product(one.result, None if one.only_hidden else one.audit) for one in current]
        settings |= {
            f"{one.method}, not protected": name for one in current for name in one.only_hidden
        }
        title = self.title or self.given.table.name
        return internal_report(title, self.problem, products, settings=settings)

    def before(self, method: str) -> Any:
        """Return the last pattern of a method; none where nothing was to be protected."""
        solved = self.solved.get(method)
        if solved is None or methods()[method].hidden(solved.result) is None:
            return None
        return solved.result if solved.result.problem.n_sensitive else None

    @staticmethod
    def _audited(release: Any, seconds: float) -> Audit | None:
        """Attack a pattern from outside; cells that must be hidden count as sensitive ones."""
        hidden = required_way(release).hidden(release)
        if hidden is None:
            return None
        problem = release.problem
        forced = np.flatnonzero(problem.forced).tolist()
        problem = marked(problem, dict.fromkeys(forced, Mark("sensitive")))
        return audit_pattern(problem, hidden, detail="intervals", time_limit=seconds)

    def _note(self, found: Solved) -> None:
        self.runs.append(found)
        self.solved[found.method] = found

    def _require_rest(self) -> None:
        if self.is_running:
            raise InputError("A search is still running. Wait for its end, or stop it.")

    def _search(
        self,
        method: str,
        limit: float,
        before: Any,
        problem: ProtectionProblem,
        version: int,
        marks: Mapping[int, Mark],
        progress: Progress,
    ) -> None:
        way, budget = methods()[method], Budget.of(limit)
        asked = self.ways.get(method) or way()
        if "time_limit" in way.model_fields:
            asked = asked.model_copy(update={"time_limit": (1 - AUDIT_SHARE) * limit})
        told = [kind.usual_with for kind in INTRUDERS if not kind().lacking(problem)]
        given = self.material or Material.of(problem, roles=told)
        result = asked.on_bench(replace(given, tabulated=lambda: problem), before, progress)
        if self.task is not None:
            self.task.stage = INTERVALS
        audit = self._audited(result, budget.at_least(AUDIT_SHARE * limit / 2).left)
        weights = None if before is None else problem.weights
        notes, seconds = tuple(NOTES.get() or ()), budget.elapsed
        self._note(Solved(result, version, method, marks, seconds, audit, weights, notes))


def explained(error: Exception) -> str:
    """Return the message about an error; one of the program may quote records, and is left out."""
    if isinstance(error, TablecloakError):
        return str(error)
    return (
        f"This is an error of the program ({type(error).__name__}). Download job.toml, or the "
        "problem, and run it on the command line to see its details."
    )
