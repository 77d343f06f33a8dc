"""A cell that a pattern publishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tablecloak.explaining.explanation import Explanation, shown
from tablecloak.explaining.pattern_question import PatternQuestion
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False, repr=False)
class PublishedCell(Explanation):
    """A cell that is not sensitive and is published as it is. Secret like all explanations.

    Parameters
    ----------
    problem : ProtectionProblem
    cell : int
    """

    problem: ProtectionProblem
    cell: int

    @property
    def kind(self) -> str:
        """Return that it is published."""
        return "published"

    def lines(self) -> list[str]:
        """Say that it is neither sensitive nor hidden, and what hiding it would cost."""
        if self.problem.frozen[self.cell]:
            return ["Not sensitive, and declared to stay: no pattern may hide it."]
        weight = shown(float(self.problem.weights[self.cell]))
        return [f"Not sensitive, and this pattern does not hide it. Hiding it would cost {weight}."]

    def facts(self) -> dict[str, Any]:
        """Return the same as plain numbers."""
        return {
            "is_frozen": bool(self.problem.frozen[self.cell]),
            "weight": float(self.problem.weights[self.cell]),
        }


def explain_published(asked: PatternQuestion, cell: int) -> PublishedCell:
    """Explain a published cell."""
    return PublishedCell(asked.problem, cell)
