"""Groups of suppressed cells whose sum everybody knows, and whose sum is itself sensitive.

If all suppressed cells of a relation stand on the same side of it, the published ones tell their
sum. Two cells with one contributor each may both be protected; yet each of the two contributors
can subtract its own value from the sum and so compute the other's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Integers
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import Rule
from tablecloak.tables.sums import as_table


@dataclass(frozen=True, eq=False)
class SensitiveGroup:
    """Suppressed cells of one relation whose sum a rule finds unsafe.

    Parameters
    ----------
    relation : int
    cells : numpy.ndarray of int
    rule : str
        Name of the rule.
    """

    relation: int
    cells: Integers
    rule: str


def sensitive_groups(
    problem: ProtectionProblem, suppressed: Flags, rules: Sequence[Rule]
) -> list[SensitiveGroup]:
    """Return the groups of at least two suppressed cells whose known sum is unsafe.

    Parameters
    ----------
    problem : ProtectionProblem
        Its table must hold contributions.
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    rules : sequence of Rule
        The rules to apply to the sums, as if each were a cell.

    Notes
    -----
    Contributions of one contributor to several cells of a group are added up, see
    `tablecloak.tables.sums.joined_contributions`.
    """
    if not rules:
        return []
    relation, cell = _groups(problem, suppressed)
    if not len(relation):
        return []
    numbers, group = np.unique(relation, return_inverse=True)
    shape = len(numbers), problem.table.n_cells
    table = as_table(problem, csr_array((np.ones(len(cell)), (group, cell)), shape=shape))
    found: dict[int, str] = {}
    for rule in rules:
        for number in np.flatnonzero(rule.unsafe(table)).tolist():
            found.setdefault(number, rule.name)
    return [
        SensitiveGroup(int(numbers[number]), np.sort(cell[group == number]), found[number])
        for number in sorted(found)
    ]


def named_groups(problem: ProtectionProblem, groups: Sequence[SensitiveGroup]) -> pd.DataFrame:
    """Return one row for each group: its rule, its cells, and their sum. Secret."""
    table = problem.table
    return pd.DataFrame(
        {
            "rule": [group.rule for group in groups],
            "hidden cells": [" + ".join(table.labels(group.cells)) for group in groups],
            "sum": [float(table.values[group.cells].sum()) for group in groups],
        }
    )


def _groups(problem: ProtectionProblem, suppressed: Flags) -> tuple[Integers, Integers]:
    """Return relation and cell of every member of a group; each set of cells occurs once."""
    relations = problem.table.relations
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    hidden = suppressed[relations.indices]
    row, cell, sign = row[hidden], relations.indices[hidden], relations.data[hidden]
    count = np.bincount(row, minlength=relations.shape[0])
    total = np.bincount(row, sign, minlength=relations.shape[0])
    known = (np.abs(total) == count) & (count >= 2)
    # Sums of random numbers, one for each cell, tell sets of cells apart.
    mark = np.random.default_rng(7).random(problem.table.n_cells)
    marks = np.bincount(row, mark[cell], minlength=relations.shape[0])
    _, first = np.unique(np.round(marks, 9), return_index=True)
    once = np.zeros(len(count), dtype=bool)
    once[first] = True
    chosen = (known & once)[row]
    return row[chosen].astype(np.int64), cell[chosen].astype(np.int64)
