"""A table on the bench: decisions about cells, methods side by side, one search at a time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tablecloak.app.grid import Grid
from tablecloak.app.marks import Mark, marked
from tablecloak.arrays import Floats
from tablecloak.budget import Progress
from tablecloak.errors import InputError, TablecloakError
from tablecloak.protection import PROTECTIONS, Protection
from tablecloak.suppression.attack.audit import Audit, audit_pattern
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.web.tasks import QueuedTask, TaskQueue

AUDIT_SHARE = 0.5
"""Seconds for the exact intervals of sensitive cells, as a share of those of the search."""


@dataclass(frozen=True, eq=False)
class Solved:
    """What a method found.

    Parameters
    ----------
    result : release
        Verified, of any way to protect.
    version : int
        The decisions that it was found for; see `Workbench.version`.
    audit : Audit, optional
        Of a pattern: the external intruder's exact intervals.
    weights : numpy.ndarray of float, shape (n_cells,), optional
        Costs of hiding cells, of a pattern that was searched near another one: its own loss then
        counts cells that were hidden before for less.
    """

    result: Any
    version: int
    audit: Audit | None = None
    weights: Floats | None = None

    def summary(self) -> str:
        """Return what was found in one line."""
        if self.weights is None:
            return str(self.result.summary())
        hidden = self.result.suppressed[: len(self.weights)]
        return (
            f"suppression near the pattern before: {hidden.sum()} cells suppressed "
            f"({self.result.secondary.sum()} secondary), loss {self.weights[hidden].sum():,.6g}, "
            f"{self.result.problem.n_sensitive} sensitive cells proved, {self.result.seconds:.1f} s"
        )


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
    """

    given: ProtectionProblem
    title: str = ""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    marks: dict[int, Mark] = field(default_factory=dict)
    version: int = 0
    solved: dict[str, Solved] = field(default_factory=dict)
    queue: TaskQueue = field(default_factory=TaskQueue)
    task: QueuedTask | None = None

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.grid = Grid(self.given.table, self.labels)
        self.problem = self.given

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
            self.problem = marked(self.given, marks)
            self.marks, self.version = marks, self.version + 1

    def start(self, method: str, limit: float) -> None:
        """Search in the background.

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
            search = partial(self._search, method, limit, self.problem, self.version)
            self.task = self.queue.add(QueuedTask(search, _explained, method))

    def stop(self) -> None:
        """End the search; the best that is proved is kept."""
        if self.task is not None:
            self.task.stop()

    def wait(self, seconds: float = 600.0) -> None:
        """Wait until the search has ended."""
        if self.task is not None:
            self.task.wait(seconds)

    def progress(self) -> Mapping[str, Any]:
        """Return what is known of the search, with numbers as text."""
        task = self.task
        running = task if task is not None and not task.has_ended else None
        return {
            "running": running.label if running else "",
            "stage": (running.stage or "preparing") if running else "",
            "seconds": round(task.seconds, 1) if task else 0.0,
            "loss": f"{task.loss:,.6g}" if task and np.isfinite(task.loss) else "",
            "bound": f"{task.bound:,.6g}" if task and np.isfinite(task.bound) else "",
            "error": (task.error or "") if task else "",
            "version": self.version,
            "solved": {name: each.version for name, each in self.solved.items()},
        }

    def _require_rest(self) -> None:
        if self.is_running:
            raise InputError("A search is still running. Wait for its end, or stop it.")

    def _search(
        self,
        method: str,
        limit: float,
        problem: ProtectionProblem,
        version: int,
        progress: Progress,
    ) -> None:
        way, before = methods()[method], self.solved.get(method)
        result = way.on_bench(problem, None if before is None else before.result, limit, progress)
        audit, hidden = None, way.hidden(result)
        if hidden is not None:
            if self.task is not None:
                self.task.stage = "computing intervals"
            audit = audit_pattern(
                result.problem,
                hidden,
                detail="intervals",
                time_limit=max(AUDIT_SHARE * limit, 1.0),
            )
        weights = problem.weights if hidden is not None and before is not None else None
        self.solved[method] = Solved(result, version, audit, weights)


def _explained(error: Exception) -> str:
    if isinstance(error, TablecloakError):
        return str(error)
    return f"This is an error of the program ({type(error).__name__}): report it."
