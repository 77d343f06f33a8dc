"""Decisions of a person about cells: which are sensitive, must be hidden or stay, or cost more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.errors import InputError
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.problem import ProtectionProblem

DECISIONS = {
    "sensitive": "Sensitive: must be protected",
    "safe": "Safe, whatever the rules say",
    "stay": "Must stay published",
    "go": "Must be hidden",
    "": "As the rules say",
}
"""Decisions, and what the page calls them."""

LETTERS = {
    "sensitive": CellStatus.SENSITIVE,
    "safe": CellStatus.SAFE,
    "stay": CellStatus.FROZEN,
    "go": CellStatus.FORCED,
}

MOST_COST = 1e6
"""Largest factor of a cell's cost: larger ones make programs inexact."""


@dataclass(frozen=True)
class Mark:
    """A decision about one cell.

    Parameters
    ----------
    decision : str
        A key of `DECISIONS`.
    level : float
        Protection level of a cell marked as sensitive, in per cent of its value.
    cost : float
        Factor of the cost of hiding or moving the cell.
    """

    decision: str = ""
    level: float = 15.0
    cost: float = 1.0

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Mark:
        """Read what the page sends.

        Raises
        ------
        InputError
            If the decision is unknown, or a number is not one or out of range.
        """
        decision = given.get("decision", "")
        if decision not in DECISIONS:
            raise InputError(
                f"There is no decision {decision!r}. Choose one of "
                f"{', '.join(filter(None, DECISIONS))}."
            )
        level = _number(given, "level", cls.level, 1000.0)
        return cls(decision, level, _number(given, "cost", cls.cost, MOST_COST))

    @property
    def is_nothing(self) -> bool:
        """Whether it leaves the cell as it was."""
        return not self.decision and self.cost == 1.0


def marked(problem: ProtectionProblem, marks: Mapping[int, Mark]) -> ProtectionProblem:
    """Return a problem with the decisions of a person.

    Raises
    ------
    InputError
        If a sensitive cell is to stay published.
    """
    if not marks:
        return problem
    status, weights = problem.status.copy(), problem.weights.copy()
    lower, upper = problem.lower_protection.copy(), problem.upper_protection.copy()
    sliding, reasons = problem.sliding_protection.copy(), problem.reasons.astype(object)
    for cell, mark in marks.items():
        weights[cell] *= mark.cost
        if not mark.decision:
            continue
        if mark.decision == "stay" and problem.sensitive[cell]:
            raise InputError(
                f"Cell {problem.table.labels([cell])[0]} is sensitive ({problem.reasons[cell]}) "
                f"and cannot stay published. Declare it safe first, if you may."
            )
        status[cell], reasons[cell] = LETTERS[mark.decision].value, "decided by hand"
        lower[cell] = upper[cell] = sliding[cell] = 0.0
        if mark.decision == "sensitive":
            lower[cell], upper[cell] = _levels(problem, cell, mark.level)
    return problem.with_changes(
        status=status, weights=weights, lower_protection=lower, upper_protection=upper,
        sliding_protection=sliding, reasons=reasons.astype(str),
    )  # fmt: skip


def described(marks: Mapping[int, Mark], problem: ProtectionProblem) -> list[dict[str, Any]]:
    """Return decisions as rows for the page, in the order of the cells."""
    names = problem.table.labels(sorted(marks))
    return [
        {"cell": cell, "name": name, "decision": marks[cell].decision, "cost": marks[cell].cost}
        for cell, name in zip(sorted(marks), names, strict=True)
    ]


def cells_of(given: Any, n_cells: int) -> list[int]:
    """Read a list of cells by their numbers."""
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        raise InputError("`cells` must be a list of numbers of cells.")
    cells = list(given)
    if any(not isinstance(each, int) or not 0 <= each < n_cells for each in cells):
        raise InputError(f"`cells` must be numbers from 0 to {n_cells - 1}.")
    return cells


def _levels(problem: ProtectionProblem, cell: int, percent: float) -> tuple[float, float]:
    """Return levels in per cent of a value, at least one unit, as far as its bounds allow."""
    value = float(problem.table.values[cell])
    level = max(abs(value) * percent / 100, 1.0)
    low, high = problem.lower_bound[cell], problem.upper_bound[cell]
    return float(min(level, value - low)), float(min(level, high - value))


def _number(given: Mapping[str, Any], name: str, otherwise: float, most: float) -> float:
    try:
        found = float(given.get(name, otherwise))
    except (TypeError, ValueError):
        found = np.nan
    if not 0 <= found <= most:
        raise InputError(f"{name}: {given.get(name)!r} is no number from 0 to {most:g}.")
    return found
