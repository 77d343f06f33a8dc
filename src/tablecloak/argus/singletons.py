"""Sums of primaries in a row that must not be disclosed either, as virtual cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Integers
from tablecloak.tables.changes.change import Change
from tablecloak.tables.changes.sums import with_further_cells
from tablecloak.tables.problem import ProtectionProblem

SHARE = 0.0001
"""Upper protection level of a virtual cell, as a share of its value; as in tau-ARGUS."""


def with_virtual_cells(
    problem: ProtectionProblem,
    *,
    single: bool,
    multiple: bool,
    minimum: int,
    decimals: int,
) -> Change:
    """Add a cell for the sum of the primaries of a row wherever that sum would tell too much.

    Parameters
    ----------
    problem : ProtectionProblem
        With the number of contributors of each cell.
    single : bool
        For two primaries with one contributor each.
    multiple : bool
        For two primaries of which one has one contributor.
    minimum : int
        For two or more primaries with fewer contributors together; 0 for none.
    decimals : int
        Of the published values: the smallest level is one unit of the last digit.

    Returns
    -------
    Change
        To a problem whose first cells are those of the given one.
    """
    contributions = problem.table.contributions
    assert contributions is not None
    rows: list[Integers] = []
    relations = problem.table.relations
    for row in range(problem.table.n_relations):
        inside = slice(relations.indptr[row], relations.indptr[row + 1])
        parts = relations.indices[inside][relations.data[inside] > 0]
        parts = parts[problem.sensitive[parts]].astype(np.int64)
        count = contributions.count[parts]
        alone = int(np.sum(count == 1))
        is_meant = len(parts) == 2 and (
            (single and alone == 2) or (multiple and alone == 1)
        )  # fmt: skip
        if is_meant or (len(parts) > 1 and 0 < int(count.sum()) < minimum):
            rows.append(parts)
    rows = list({tuple(parts.tolist()): parts for parts in rows}.values())
    return _extended(problem, rows, decimals) if rows else Change.within(problem, problem)


def _extended(problem: ProtectionProblem, rows: list[Integers], decimals: int) -> Change:
    """Return the change to a problem with one sensitive cell and one relation for each set."""
    table, size = problem.table, [len(row) for row in rows]
    entries = (np.ones(sum(size)), np.concatenate(rows), np.cumsum([0, *size]))
    sums = csr_array(entries, shape=(len(rows), table.n_cells))
    names = [f"virtual {number}" for number in range(1, len(rows) + 1)]
    keys = pd.DataFrame(dict.fromkeys(table.keys.columns, names))
    upper = np.maximum(SHARE * np.abs(sums @ table.values), 10.0**-decimals)
    change = with_further_cells(
        problem, keys, sums, upper_protection=upper, reasons="virtual",
        capacity_down=np.inf, capacity_up=np.inf,
    )  # fmt: skip
    # Virtual cells have no place in a hierarchy, and no holdings are known of them.
    bare = replace(change.problem.table, hierarchies={}, holdings=None)
    return replace(change, problem=change.problem.with_changes(table=bare))
