"""Classes of equal records as a mixed-integer program, for files with few patterns.

    min   sum over S of w(S) sum of x(p,S) over p
    with  sum over S of x(p,S) = f(p),   x(p,S) <= f(p) y(g),
          sum of x(p,S) over p in g >= k y(g),   y(g) 0 or 1

x(p,S) of the f(p) records of pattern p are changed in the way S, such as losing some keys, g is
their group by what is released, and y(g) says whether it is a class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.class_pairs import Way
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program

FEW_COLUMNS = 2_000
"""Most pairs of a pattern and a set of keys; with 32,000, 30 s gave nothing better."""


@dataclass(frozen=True, eq=False)
class ClassProgram:
    """The program and what its columns stand for.

    Parameters
    ----------
    program : Program
    at, way : numpy.ndarray of int, shape (n_x,)
        Pattern and way of each x.
    """

    program: Program
    at: Integers
    way: Integers

    @classmethod
    def of(
        cls, frequency: Integers, k: int, ways: Iterable[Way], n_ways: int
    ) -> ClassProgram | None:
        """Build the program; None if it is too large, or nobody is in need.

        Parameters
        ----------
        frequency : numpy.ndarray of int, shape (n_patterns,)
        k : int
        ways : iterable of Way
        n_ways : int
            Their number, before they are made.
        """
        if not np.any(frequency < k) or len(frequency) * n_ways > FEW_COLUMNS:
            return None
        at, number, group, cost = [], [], [], []
        n_y = 0
        for way in ways:
            label, n_groups = way.groups()
            may = np.isfinite(way.cost)
            size = np.bincount(label, weights=frequency * may, minlength=n_groups)
            good = np.flatnonzero(may & (size[label] >= k))
            present, which = np.unique(label[good], return_inverse=True)
            at.append(good)
            number.append(np.full(len(good), way.number))
            group.append(n_y + which.ravel())
            cost.append(way.cost[good])
            n_y += len(present)
        row, of_class = np.concatenate(at), np.concatenate(group)
        n_x, n_p = len(row), len(frequency)
        there = frequency.astype(np.float64)
        x, y = np.arange(n_x), n_x + np.arange(n_y)
        entries = [
            (np.ones(n_x), row, x),
            (np.ones(n_x), n_p + of_class, x),
            (np.full(n_y, -float(k)), n_p + np.arange(n_y), y),
            (-np.ones(n_x), n_p + n_y + x, x),
            (there[row], n_p + n_y + x, n_x + of_class),
        ]
        data, rows, columns = (np.concatenate(each) for each in zip(*entries, strict=True))
        n_columns = n_x + n_y
        program = Program(
            cost=np.concatenate([*cost, np.zeros(n_y)]),
            matrix=csr_array(
                coo_array((data, (rows, columns)), shape=(n_p + n_y + n_x, n_columns))
            ),
            row_lower=np.concatenate([there, np.zeros(n_y + n_x)]),
            row_upper=np.concatenate([there, np.full(n_y + n_x, np.inf)]),
            lower=np.zeros(n_columns),
            upper=np.concatenate([there[row], np.ones(n_y)]),
            integral=np.ones(n_columns, dtype=bool),
        )
        return cls(program, row, np.concatenate(number))

    def chosen(self, n_patterns: int, budget: Budget) -> dict[int, Integers]:
        """Return how many records of each pattern take each way; empty without an answer."""
        answer = solve(self.program, time_limit=budget.left)
        counts: dict[int, Integers] = {}
        taken = np.rint(answer.x[: len(self.at)]).astype(np.int64)
        for at, way, count in zip(self.at, self.way.tolist(), taken, strict=len(taken) > 0):
            if count:
                counts.setdefault(way, np.zeros(n_patterns, dtype=np.int64))
                counts[way][at] += count
        return counts
