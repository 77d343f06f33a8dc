"""The intruder who knows that all values are whole numbers."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.arrays import Flags
from tablecloak.suppression.attack.intruder import INTRUDERS, Intruder
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.tables.problem import ProtectionProblem


@INTRUDERS.register
class WholeNumbers(Intruder):
    """The intruder who knows that all values are whole numbers; attacks with integer programs."""

    name: ClassVar[str] = "integers"
    knows_by_cell: ClassVar[bool] = True
    knows_whole_numbers: ClassVar[bool] = True

    def lacking(self, problem: ProtectionProblem) -> str:
        """Return a message if the values of the table are not whole numbers."""
        if problem.table.integer:
            return ""
        return "The intruder 'integers' needs a table of whole numbers."

    def knowledge(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return nothing, since this intruder's knowledge is no bound on a cell."""
        del problem, suppressed
        return []


def with_whole_numbers(kinds: list[Intruder], problem: ProtectionProblem) -> list[Intruder]:
    """Return the intruders, with 'integers' among them if everybody knows that values are whole."""
    if not problem.table.is_count or any(kind.knows_whole_numbers for kind in kinds):
        return kinds
    return [*kinds, WholeNumbers()]
