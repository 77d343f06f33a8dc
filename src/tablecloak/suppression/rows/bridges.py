"""Bridges: suppressed cells that no other suppressed cell can compensate.

A bridge cannot move, so it protects nothing and could as well be published. Rows that rule out
bridges hold for a protected pattern of least loss, and cut off many fractional patterns that
satisfy all capacity rows.

References
----------
.. [1] Fischetti, Salazar: Solving the cell suppression problem on tabular data with linear
   constraints, Management Science 47 (2001), section 4 (bridgeless inequalities).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.system.system import System

VIOLATION = 1e-4
"""Smallest violation, in shares of a cell, at which a bridge row is added. Chosen by trial; not
measured."""

DENOMINATOR = 12
"""Multipliers are rounded to whole numbers after this scaling, so that sums are exact."""


@dataclass(frozen=True, eq=False)
class BridgeRow:
    """One bridge row, given by the multipliers that prove it.

    Parameters
    ----------
    cell : int
        The cell that needs another one to move with it, by its number in the table.
    relations : numpy.ndarray of int
    multipliers : numpy.ndarray of float
        Multipliers gamma of the relations.
    """

    cell: int
    relations: Integers
    multipliers: Floats


class BridgeFinder:
    """Seeks bridges in patterns, whole ones and the fractional ones of a relaxation.

    Parameters
    ----------
    system : System
        The system of all cells that may be suppressed.
    fixed : numpy.ndarray of bool, shape (n_unknown,)
        Cells that are suppressed in every pattern; they count as compensation.
    """

    def __init__(self, system: System, fixed: Flags) -> None:
        self.system = system
        self.fixed = fixed
        mobile = system.high > system.low
        movable = replace(
            system,
            low=np.where(mobile, -system.unit, 0.0),
            high=np.where(mobile, system.unit, 0.0),
        )
        self._attack = Attack(movable)
        touched = abs(system.matrix).astype(bool)
        open_rows = touched @ (fixed & mobile).astype(float) == 0
        self._rows = np.flatnonzero(open_rows)
        of_rows = system.matrix[self._rows]
        entries = np.repeat(np.arange(len(self._rows)), np.diff(of_rows.indptr))
        kept = mobile[of_rows.indices]
        self._entry_row, self._entry_cell = entries[kept], of_rows.indices[kept].astype(np.int64)

    def in_relations(self, share: Floats) -> list[BridgeRow]:
        """Return a row for each bridge that a single relation shows, at most one per relation."""
        inside = share[self._entry_cell]
        total = np.bincount(self._entry_row, inside, minlength=len(self._rows))
        lone = np.flatnonzero(inside > total[self._entry_row] - inside + VIOLATION)
        return [
            BridgeRow(
                int(self.system.cells[self._entry_cell[entry]]),
                self.system.rows[self._rows[self._entry_row[entry]]][None],
                np.ones(1),
            )
            for entry in lone.tolist()
        ]

    def in_combinations(
        self, share: Floats, budget: Budget, among: Flags | None = None
    ) -> list[BridgeRow]:
        """Return rows for cells that linear programs cannot move as far as their share.

        A choice of cells may be given; by default all are looked at.
        """
        found: list[BridgeRow] = []
        self._attack.hide(share)
        doubtful = ~self.fixed & (share > VIOLATION)
        candidates = np.flatnonzero(doubtful if among is None else doubtful & among)
        for cell in candidates.tolist():
            if budget.is_over:
                break
            extreme = self._attack.extreme(cell, 1, time_limit=budget.left)
            if extreme.reach >= (share[cell] - VIOLATION) * self.system.unit:
                continue
            row = self._row(cell, extreme.duals)
            if row is not None:
                found.append(row)
        return found

    def _row(self, cell: int, duals: Floats) -> BridgeRow | None:
        entry = float((self.system.matrix[:, [cell]].T @ duals)[0])
        if abs(entry) < 1e-6:
            return None
        multipliers = np.rint(duals * (DENOMINATOR / entry))
        used = np.flatnonzero(multipliers)
        return BridgeRow(int(self.system.cells[cell]), self.system.rows[used], multipliers[used])
