"""Sums of cells as further cells of a problem, each with a relation of its own.

A further cell is never published, weighs nothing, and may be anything that its cells may be. So it
tells nothing new of these: what is proved of them beside it holds without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.tables.changes.change import Change
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table


def with_further_cells(
    problem: ProtectionProblem, keys: pd.DataFrame, cells: csr_array, **arrays: Any
) -> Change:
    """Return the change to a problem with sums of its cells as further cells, the last ones.

    Parameters
    ----------
    problem : ProtectionProblem
    keys : pandas.DataFrame of str, shape (n_new, n_dimensions)
    cells : scipy.sparse.csr_array, shape (n_new, n_cells)
        1 for each cell of a sum.
    **arrays : numpy.ndarray, shape (n_new,)
        Levels and reasons of the sums; see `CellArrays.extended`.
    """
    table = _extended(problem.table, keys, cells)
    larger = ProtectionProblem.of(table, problem.extended(cells, **arrays))
    return Change.within(problem, larger)


def _extended(table: Table, keys: pd.DataFrame, cells: csr_array) -> Table:
    """Return a table with sums of its cells as further cells, each with its relation."""
    n, values = len(keys), cells @ table.values
    more = hstack([cells, diags_array(-np.ones(n))], format="csr")
    old = hstack([table.relations, csr_array((table.n_relations, n))], format="csr")
    contributions, holdings = (
        Contributions.concatenate([each, _of_nobody(each, cells)]) if each else None
        for each in (table.contributions, table.holdings)
    )
    return replace(
        table,
        keys=pd.concat([table.keys, keys], ignore_index=True),
        values=np.concatenate([table.values, values]),
        relations=csr_array(vstack([old, more], format="csr")),
        right_hand_side=np.concatenate([table.right_hand_side, np.zeros(n)]),
        contributions=contributions,
        holdings=holdings,
    )


def _of_nobody(like: Contributions, cells: csr_array) -> Contributions:
    """Return the contributions to sums of cells, of which it is known only how many there are.

    What a contributor knows of a sum follows from what it knows of the cells in it.
    """
    n, k = cells.shape[0], like.largest.shape[1]
    return replace(
        Contributions.unknown(cells @ like.total),
        count=np.rint(cells @ like.count).astype(np.int64),
        weighted_count=cells @ like.weighted_count,
        largest=np.zeros((n, k)),
        largest_weight=np.zeros((n, k)),
        largest_contributor=np.full((n, k), -1, dtype=np.int64),
        names=like.names,
    )
