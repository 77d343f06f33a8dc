"""Cells that follow from single relations, and are disclosed although they are suppressed."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.suppression.attack.moves_program import Extreme
from tablecloak.suppression.system.system import System

__all__ = ["disclosures"]


def disclosures(system: System) -> dict[tuple[int, int], Extreme]:
    """Return a proof for each need whose cell follows from single relations.

    No program is solved: such a cell cannot move, whatever the scale of the values.

    Returns
    -------
    dict of (int, int) to Extreme
        For each such need, by its position, and each direction: the proof that the cell is fixed.
    """
    order = system.determined()
    cells = {cell for cell, _ in order}
    disclosed: dict[tuple[int, int], Extreme] = {}
    for index, cell in enumerate(system.needs.cells.tolist()):
        if cell in cells:
            duals = _substituted(system, order, cell)
            for sign in (1, -1):
                disclosed[index, sign] = Extreme(np.zeros(0), 0.0, 0.0, sign * duals)
    return disclosed


def _substituted(system: System, order: list[tuple[int, int]], cell: int) -> Floats:
    """Return multipliers of rows whose sum contains only one cell, a determined one."""
    matrix, duals = system.matrix, np.zeros(len(system.rows))
    reduced = {cell: 1.0}
    for known, row in reversed(order):
        left = reduced.get(known, 0.0)
        if not left:
            continue
        taken = slice(matrix.indptr[row], matrix.indptr[row + 1])
        entries = dict(
            zip(matrix.indices[taken].tolist(), matrix.data[taken].tolist(), strict=True)
        )
        duals[row] = left / entries[known]
        for other, entry in entries.items():
            reduced[other] = reduced.get(other, 0.0) - duals[row] * entry
    return duals
