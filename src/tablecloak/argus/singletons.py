"""Sums of primaries in a row that must not be disclosed either, as virtual cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array, hstack, vstack

from tablecloak.arrays import Integers
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.problem import CellStatus, ProtectionProblem

__all__ = ["with_virtual_cells"]

SHARE = 0.0001
"""Upper protection level of a virtual cell, as a share of its value; as in tau-ARGUS."""


def with_virtual_cells(
    problem: ProtectionProblem,
    *,
    single: bool,
    multiple: bool,
    minimum: int,
    decimals: int,
) -> ProtectionProblem:
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
    ProtectionProblem
        The cells of the problem come first. The same problem if nothing is to be added.
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
    return _extended(problem, rows, decimals) if rows else problem


def _extended(problem: ProtectionProblem, rows: list[Integers], decimals: int) -> ProtectionProblem:
    """Add one sensitive cell and one relation for each set of cells."""
    table, n_new = problem.table, len(rows)
    sums = csr_array(
        (
            np.ones(sum(map(len, rows))),
            np.concatenate(rows),
            np.cumsum([0, *map(len, rows)]),
        ),
        shape=(n_new, table.n_cells),
    )
    above = hstack([table.relations, csr_array((table.n_relations, n_new))])
    below = hstack([sums, csr_array((np.full(n_new, -1.0), (range(n_new), range(n_new))))])
    names = [f"virtual {number}" for number in range(1, n_new + 1)]
    keys = pd.concat(
        [table.keys, pd.DataFrame(dict.fromkeys(table.keys.columns, names))],
        ignore_index=True,
    )
    values = sums @ table.values
    contributions = table.contributions
    extended = replace(
        table,
        keys=keys,
        values=np.concatenate([table.values, values]),
        relations=csr_array(vstack([above, below])),
        right_hand_side=np.concatenate([table.right_hand_side, np.zeros(n_new)]),
        hierarchies={},
        contributions=None if contributions is None else _with_sums(contributions, sums),
        holdings=None,
    )

    def joined(name: str, new: npt.ArrayLike) -> Any:
        new = np.broadcast_to(np.asarray(new), (n_new,))
        return np.concatenate([getattr(problem, name), new])

    upper = np.maximum(SHARE * np.abs(values), 10.0**-decimals)
    return ProtectionProblem(
        table=extended,
        status=joined("status", CellStatus.SENSITIVE.value),
        lower_protection=joined("lower_protection", 0.0),
        upper_protection=joined("upper_protection", upper),
        sliding_protection=joined("sliding_protection", 0.0),
        lower_bound=joined("lower_bound", sums @ problem.lower_bound),
        upper_bound=joined("upper_bound", sums @ problem.upper_bound),
        weights=joined("weights", 0.0),
        capacity_down=joined("capacity_down", np.inf),
        capacity_up=joined("capacity_up", np.inf),
        reasons=joined("reasons", "virtual"),
    )


def _with_sums(contributions: Contributions, sums: csr_array) -> Contributions:
    """Add cells of whose contributors only the number is known.

    What an insider knows of a sum follows from what it knows of its parts.
    """
    n_new = sums.shape[0]
    cells = np.concatenate([np.arange(len(contributions.count)), np.zeros(n_new, dtype=np.int64)])
    taken = contributions.take(cells)

    def ending(name: str, last: npt.ArrayLike) -> Any:
        array = getattr(taken, name).copy()
        array[len(array) - n_new :] = last
        return array

    return replace(
        taken,
        count=ending("count", np.rint(sums @ contributions.count)),
        weighted_count=ending("weighted_count", sums @ contributions.weighted_count),
        total=ending("total", sums @ contributions.total),
        largest=ending("largest", 0.0),
        largest_weight=ending("largest_weight", 0.0),
        largest_contributor=ending("largest_contributor", -1),
        largest_request=ending("largest_request", 0.0),
    )
