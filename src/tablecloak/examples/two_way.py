"""Small tables from the literature, ready to try.

References
----------
.. [1] Cox: Preserving confidentiality and quality of tabular data: are safe data necessarily
   inferior data?, Bureau of Transportation Statistics confidentiality seminar, 2003.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table

_COX = """
167500 317501 1283751 587501 4490751 3981001 2442001 1150000 70000
56250 1487000 172500 667503 1006253 327500 1683000 1138250 46000
616752 202750 1899502 1098751 2172251 3825251 4372753 300000 787500
0 35000 0 16250 0 0 65000 0 140000
"""
_COX_LEVELS = {(0, 8): 21000, (1, 0): 625, (1, 8): 7800, (2, 7): 40000, (3, 1): 10500, (3, 3): 4875,
               (3, 8): 42000}  # fmt: skip

_COX_ROUNDED = """
167 317 1284 587 4490 3981 2442 1150 70
57 1487 172 667 1006 327 1683 1138 46
616 202 1899 1098 2172 3825 4372 300 787
0 36 0 16 0 0 65 0 140
"""
_COX_ROUNDED_LEVELS = {(0, 8): 21, (1, 0): 1, (1, 8): 7, (2, 7): 40, (3, 1): 10, (3, 3): 4,
                       (3, 8): 40}  # fmt: skip


def cox() -> ProtectionProblem:
    """Return Cox's 4 x 9 table with totals, not rounded, and its seven sensitive cells.

    50 cells; zeros are free to change, and nothing is known beforehand but that values are
    not negative. Source: [1]_, Table 1.
    """
    return _two_way(_COX, _COX_LEVELS, zeros_known=False)


def cox_rounded() -> ProtectionProblem:
    """Return Cox's 4 x 9 table rounded to thousands; the zeros are known to everybody.

    Source: [1]_, Example 1.
    """
    return _two_way(_COX_ROUNDED, _COX_ROUNDED_LEVELS, zeros_known=True)


def _two_way(
    text: str, levels: dict[tuple[int, int], int], *, zeros_known: bool
) -> ProtectionProblem:
    inner = np.array([line.split() for line in text.strip().splitlines()], dtype=np.float64)
    rows = [*(f"r{i + 1}" for i in range(inner.shape[0])), "Total"]
    columns = [*(f"c{j + 1}" for j in range(inner.shape[1])), "Total"]
    full = np.vstack([inner, inner.sum(axis=0)])
    full = np.column_stack([full, full.sum(axis=1)])
    frame = pd.DataFrame(
        [(r, c, full[i, j]) for i, r in enumerate(rows) for j, c in enumerate(columns)],
        columns=["row", "column", "value"],
    )
    table = Table.from_frame(frame, ["row", "column"])
    by_cell = np.zeros(full.shape)
    for cell, size in levels.items():
        by_cell[cell] = size
    level = by_cell.reshape(-1)
    status = np.where(level > 0, CellStatus.SENSITIVE.value, CellStatus.SAFE.value)
    if zeros_known:
        status[table.values == 0] = CellStatus.FROZEN.value
    return ProtectionProblem(
        table=table,
        status=status,
        lower_protection=level,
        upper_protection=level,
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, full[-1, -1]),
        weights=table.values,
    )
