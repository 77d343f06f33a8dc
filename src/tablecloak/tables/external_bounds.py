"""What everybody knows of each cell beforehand."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.tables.table import Table


def default_bounds(table: Table) -> tuple[float, float]:
    """Return one interval for the whole table, as tau-ARGUS assumes it."""
    lowest, highest = float(table.values.min(initial=0)), float(table.values.max(initial=0))
    return 1.5 * min(lowest, 0.0), 1.5 * max(highest, 0.0)


def not_zero(table: Table, low: Floats) -> Floats:
    """Raise lower bounds of a table whose zeros are published: a hidden cell is then not 0.

    A whole number is then at least 1, and a total at least the sum of the bounds of its parts.

    Parameters
    ----------
    table : Table
        If its values are not whole, or some are negative, nothing is raised.
    low : numpy.ndarray of float, shape (n_cells,)
        Lower bounds given so far; bounds below 0 are kept.

    Returns
    -------
    numpy.ndarray of float, shape (n_cells,)
    """
    if not table.integer or bool(np.any(table.values < 0)):
        return low
    low = np.where((table.values >= 1) & (low >= 0), np.maximum(low, 1.0), low)
    relations = table.relations
    row = np.repeat(np.arange(table.n_relations), np.diff(relations.indptr))
    negative = relations.data < 0
    summed = np.bincount(row[negative], -relations.data[negative], table.n_relations) == 1
    summed &= np.bincount(row[negative], minlength=table.n_relations) == 1
    is_total = negative & summed[row]
    total, parts = relations.indices[is_total], relations[row[is_total], :]
    parts.data = np.maximum(parts.data, 0.0)
    for _ in range(table.n_relations):
        implied = low.copy()
        np.maximum.at(implied, total, parts @ low - table.right_hand_side[row[is_total]])
        implied = np.minimum(implied, table.values)
        if np.array_equal(implied, low):
            break
        low = implied
    return low
