"""A table on the bench: decisions about cells, methods side by side, one search at a time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tablecloak.app.grid import Grid
from tablecloak.app.marks import Mark, marked
from tablecloak.arrays import Floats
from tablecloak.budget import StopButton, Stopwatch
from tablecloak.errors import InputError, TablecloakError
from tablecloak.executors import BackgroundCall
from tablecloak.protection import PROTECTIONS, Protection
from tablecloak.suppression.attack.audit import Audit, audit_pattern
from tablecloak.tables.problem import ProtectionProblem

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
    running: str = ""
    stage: str = ""
    loss: float = np.inf
    bound: float = -np.inf
    error: str = ""
    watch: Stopwatch = field(default_factory=Stopwatch)
    call: BackgroundCall | None = None

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.button = StopButton(self._note)
        self.grid = Grid(self.given.table, self.labels)
        self.problem = self.given

    @property
    def is_running(self) -> bool:
        """Whether a search is running."""
        return self.call is not None and self.call.is_running

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
            self.error, self.stage, self.running = "", "preparing", method
            self.loss, self.bound = np.inf, -np.inf
            self.button.release()
            self.watch = Stopwatch()
            self.call = BackgroundCall(self._run, method, limit)

    def stop(self) -> None:
        """End the search; the best that is proved is kept."""
        self.button.press()

    def wait(self, seconds: float = 600.0) -> None:
        """Wait until the search has ended."""
        if self.call is not None:
            self.call.wait(seconds)

    def progress(self) -> Mapping[str, Any]:
        """Return what is known of the search, with numbers as text."""
        return {
            "running": self.running if self.is_running else "",
            "stage": self.stage,
            "seconds": round(self.watch.seconds, 1),
            "loss": f"{self.loss:,.6g}" if np.isfinite(self.loss) else "",
            "bound": f"{self.bound:,.6g}" if np.isfinite(self.bound) else "",
            "error": self.error,
            "version": self.version,
            "solved": {name: each.version for name, each in self.solved.items()},
        }

    def _require_rest(self) -> None:
        if self.is_running:
            raise InputError("A search is still running. Wait for its end, or stop it.")

    def _run(self, method: str, limit: float) -> None:
        problem, version = self.problem, self.version
        try:
            way, before = methods()[method], self.solved.get(method)
            result = way.on_bench(
                problem, None if before is None else before.result, limit, self.button
            )
            audit, hidden = None, way.hidden(result)
            if hidden is not None:
                self.stage = "computing intervals"
                audit = audit_pattern(
                    result.problem, hidden, detail="intervals",
                    time_limit=max(AUDIT_SHARE * limit, 1.0),
                )  # fmt: skip
            is_near = hidden is not None and before is not None
            weights = problem.weights if is_near else None
            self.solved[method] = Solved(result, version, audit, weights)
        except TablecloakError as error:
            self.error = str(error)
        except Exception as error:
            # If the thread ended without a message, the search would seem to have found nothing.
            self.error = f"This is an error of the program ({type(error).__name__}): report it."
        finally:
            self.stage = ""

    def _note(self, stage: str, loss: float, bound: float, left: int) -> None:
        del left
        self.stage, self.loss, self.bound = stage, loss, bound
