"""Frozen cells to unfreeze, and whether fewer would do."""

from __future__ import annotations

from dataclasses import dataclass

from tablecloak.arrays import Integers
from tablecloak.errors import listed
from tablecloak.tables.problem import CellStatus, ProtectionProblem

__all__ = ["Unfrozen"]

NAMED = 10
"""Most cells that a message names."""


@dataclass(frozen=True, eq=False)
class Unfrozen:
    """Frozen cells to unfreeze so that every sensitive cell can be protected.

    Parameters
    ----------
    problem : ProtectionProblem
        With the frozen cells.
    cells : numpy.ndarray of int
        Cells that suffice.
    fewest : int
        Proved: no fewer suffice.
    """

    problem: ProtectionProblem
    cells: Integers
    fewest: int

    @property
    def is_optimal(self) -> bool:
        """Whether no fewer cells suffice, proved."""
        return len(self.cells) <= self.fewest

    @property
    def labels(self) -> list[str]:
        """Names of the cells."""
        return self.problem.table.labels(self.cells)

    def unfrozen(self) -> ProtectionProblem:
        """Return the problem in which these cells may be suppressed."""
        status = self.problem.status.copy()
        status[self.cells] = CellStatus.SAFE.value
        return self.problem.with_changes(status=status)

    def summary(self) -> str:
        """Say in one line which cells to unfreeze, and whether fewer might do."""
        n = len(self.cells)
        if not n:
            return "no frozen cell need be unfrozen"
        more = f" and {n - NAMED} more" * (n > NAMED)
        proved = "no fewer suffice" if self.is_optimal else f"at least {self.fewest} are needed"
        cells = "frozen cell" if n == 1 else "frozen cells"
        return f"{n} {cells} to unfreeze ({proved}): {listed(self.labels[:NAMED])}{more}"

    def __repr__(self) -> str:
        return f"<{self.summary()}>"
