"""Several tables as one problem, and where the cells of each lie in it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.tables.link import link
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import not_zero
from tablecloak.tables.table import Table

_STRENGTH = {"s": 0, "z": 1, "m": 2, "u": 3}
"""Of two statuses of a cell the stronger one counts."""


def linked(problems: list[ProtectionProblem]) -> ProtectionProblem:
    """Join tables into one problem; a cell that is unsafe in one is unsafe."""
    table = link(*(problem.table for problem in problems))
    n = table.n_cells
    arrays = {
        "lower_protection": np.zeros(n),
        "upper_protection": np.zeros(n),
        "weights": np.zeros(n),
    }
    letters = np.array(list(_STRENGTH))
    strength = np.zeros(n, dtype=np.int64)
    reasons = np.full(n, "", dtype="U20")
    given = np.full(n, min(float(problem.lower_bound.min()) for problem in problems))
    high = max(float(problem.upper_bound.max()) for problem in problems)
    for problem in problems:
        at = positions(table, problem.table)
        for name, array in arrays.items():
            array[at] = np.maximum(array[at], getattr(problem, name))
        own = np.array([_STRENGTH[letter] for letter in problem.status.tolist()])
        strength[at] = np.maximum(strength[at], own)
        reasons[at] = np.where(reasons[at] == "", problem.reasons, reasons[at])
    low = not_zero(table, given)
    room = np.where(low > given, table.values - low, np.inf)
    arrays["lower_protection"] = np.minimum(arrays["lower_protection"], room)
    return ProtectionProblem(
        table=table,
        status=letters[strength],
        lower_bound=low,
        upper_bound=np.full(n, high),
        reasons=reasons,
        **arrays,
    )


def positions(whole: Table, part: Table) -> Integers:
    """Where the cells of a table lie in the linked one, or in one with further cells behind."""
    if whole is part:
        return np.arange(part.n_cells)
    keys = part.keys.assign(
        **{
            name: whole.hierarchies[name].total
            for name in whole.keys.columns
            if name not in part.keys.columns
        }
    )
    index = pd.MultiIndex.from_frame(whole.keys)
    wanted = pd.MultiIndex.from_frame(keys[list(whole.keys.columns)])
    return index.get_indexer(wanted).astype(np.int64)
