"""A cell of a rounded table: whether it went to its nearest multiple, and what kept it from there.

The sum is made of everything that a rounding with the same base and steps must satisfy: each cell
is one of the multiples around its value, and the relations hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.cta.rounding.rounded_table import RoundedTable
from tablecloak.explaining.derivation import CellRanges, Derivation, derived
from tablecloak.explaining.explanation import Explanation, shown
from tablecloak.explaining.pattern_question import Interval, PatternQuestion
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False, repr=False)
class RoundedCell(Explanation):
    """Why a cell was rounded to this multiple, and what can be computed of it. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
    cell : int
    rounded, nearest : float
        The released value, and the nearest multiple of the base.
    base : int
    excluded : Derivation or None
        The sum that excludes the nearest multiple; None if the cell went there, or no sum does.
    interval : Interval or None
        What everybody can compute of a sensitive cell from the release.
    """

    problem: ProtectionProblem
    cell: int
    rounded: float
    nearest: float
    base: int
    excluded: Derivation | None
    interval: Interval | None

    @property
    def kind(self) -> str:
        """Return where it was rounded to."""
        return f"rounded to {shown(self.rounded)}, a multiple of {self.base}"

    @property
    def is_nearest(self) -> bool:
        """Whether no multiple is nearer."""
        return abs(self.rounded - self.value) <= abs(self.nearest - self.value)

    def lines(self) -> list[str]:
        """Return why this multiple was taken, and what can be computed of a sensitive cell."""
        if self.is_nearest:
            lines = ["It went to its nearest multiple."]
        elif self.excluded is not None:
            head = f"Its nearest multiple, {shown(self.nearest)}, is excluded: it must be"
            lines = [head, *self.excluded.lines()]
        else:
            lines = [
                f"Its nearest multiple is {shown(self.nearest)}. No sum of relations excludes it: "
                f"the search gave it up because the table as a whole moves less so."
            ]
        if self.interval is not None:
            lines += self.interval.lines("Of this sensitive cell everybody")
        return lines

    def facts(self) -> dict[str, Any]:
        """Return the same as plain numbers."""
        return {
            "rounded": self.rounded,
            "nearest": self.nearest,
            "base": self.base,
            "excluded": None if self.excluded is None else self.excluded.to_dict(),
            "interval": None if self.interval is None else self.interval.facts(),
        }


def explain_rounded(question: PatternQuestion, rounded: RoundedTable, cell: int) -> RoundedCell:
    """Explain a cell of a rounded table."""
    value, released = float(question.problem.table.values[cell]), float(rounded.values[cell])
    nearest = rounded.base * float(np.rint(value / rounded.base))
    excluded = None
    if abs(nearest - value) < abs(released - value):
        sign = 1 if nearest > released else -1
        bound = derived(_roundings(rounded), cell, sign, question.budget.left)
        if sign * (nearest - float(bound.limit)) > 0:
            excluded = bound
    is_sensitive = bool(question.problem.sensitive[cell])
    return RoundedCell(
        problem=question.problem,
        cell=cell,
        rounded=released,
        nearest=nearest,
        base=rounded.base,
        excluded=excluded,
        interval=question.interval(cell) if is_sensitive else None,
    )


def _roundings(rounded: RoundedTable) -> CellRanges:
    """Return what holds for every rounding with the same base and steps."""
    base, steps, true = rounded.base, rounded.steps, rounded.problem.table.values
    lower = base * (np.floor(true / base) - (steps - 1))
    upper = base * (np.ceil(true / base) + (steps - 1))
    lower = np.where(true >= 0, np.maximum(lower, 0.0), lower)
    upper = np.where(true <= 0, np.minimum(upper, 0.0), upper)
    frozen = rounded.problem.frozen
    return CellRanges(
        rounded.problem.table,
        np.where(frozen, true, lower),
        np.where(frozen, true, upper),
        rounded.values.astype(np.float64),
        float(base),
    )
