"""Classes of equal records as a mixed-integer program, for files with few patterns.

    min   sum over S of w(S) sum of x(p,S) over p
    with  sum over S of x(p,S) = f(p),   x(p,S) <= f(p) y(g),
          sum of x(p,S) over p in g >= k y(g),   y(g) 0 or 1

x(p,S) of the f(p) records of pattern p lose the keys S, g is their group by the other keys, and
y(g) says whether it is a class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.question import SuppressionQuestion
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program

__all__ = ["ClassProgram"]

Integers = npt.NDArray[np.int64]

FEW_COLUMNS = 2_000
"""Most pairs of a pattern and a set of keys; with 32,000, 30 s gave nothing better."""


@dataclass(frozen=True, eq=False)
class ClassProgram:
    """The program and what its columns stand for.

    Parameters
    ----------
    program : Program
    at, lost : numpy.ndarray of int, shape (n_x,)
        Pattern and set of lost keys of each x.
    """

    program: Program
    at: Integers
    lost: Integers

    @classmethod
    def of(cls, question: SuppressionQuestion, k: int) -> ClassProgram | None:
        """Build the program; None if it is too large, or nobody is in need."""
        base = question.patterns
        absent = base.missing & question.asked
        if (
            not np.any(base.frequency < k)
            or len(absent) << question.asked.bit_count() > FEW_COLUMNS
        ):
            return None
        at, lost, group, cost = [], [], [], []
        n_y = 0
        for _, keys in question.sets_by_cost():
            label, n_groups = base.groups(question.asked & ~keys)
            may = (absent & ~keys) == 0
            size = np.bincount(label, weights=base.frequency * may, minlength=n_groups)
            good = np.flatnonzero(may & (size[label] >= k))
            present, which = np.unique(label[good], return_inverse=True)
            at.append(good)
            lost.append(np.full(len(good), keys))
            group.append(n_y + which.ravel())
            cost.append(np.array([question.cost(keys & ~int(each)) for each in absent[good]]))
            n_y += len(present)
        row, of_class = np.concatenate(at), np.concatenate(group)
        n_x, n_p = len(row), base.n_patterns
        frequency = base.frequency.astype(np.float64)
        x, y = np.arange(n_x), n_x + np.arange(n_y)
        entries = [
            (np.ones(n_x), row, x),
            (np.ones(n_x), n_p + of_class, x),
            (np.full(n_y, -float(k)), n_p + np.arange(n_y), y),
            (-np.ones(n_x), n_p + n_y + x, x),
            (frequency[row], n_p + n_y + x, n_x + of_class),
        ]
        data, rows, columns = (np.concatenate(each) for each in zip(*entries, strict=True))
        n_columns = n_x + n_y
        program = Program(
            cost=np.concatenate([*cost, np.zeros(n_y)]),
            matrix=csr_array(
                coo_array((data, (rows, columns)), shape=(n_p + n_y + n_x, n_columns))
            ),
            row_lower=np.concatenate([frequency, np.zeros(n_y + n_x)]),
            row_upper=np.concatenate([frequency, np.full(n_y + n_x, np.inf)]),
            lower=np.zeros(n_columns),
            upper=np.concatenate([frequency[row], np.ones(n_y)]),
            integral=np.ones(n_columns, dtype=bool),
        )
        return cls(program, row, np.concatenate(lost))

    def chosen(self, n_patterns: int, budget: Budget) -> dict[int, Integers]:
        """Return how many records of each pattern lose each set; empty without an answer."""
        answer = solve(self.program, time_limit=budget.left)
        counts: dict[int, Integers] = {}
        taken = np.rint(answer.x[: len(self.at)]).astype(np.int64)
        for at, lost, count in zip(self.at, self.lost.tolist(), taken, strict=len(taken) > 0):
            if count:
                counts.setdefault(lost, np.zeros(n_patterns, dtype=np.int64))
                counts[lost][at] += count
        return counts
