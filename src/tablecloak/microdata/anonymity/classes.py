"""Classes of equal records as a mixed-integer program, for files with few records in need.

    min   sum over S of w(S) (sum of x(p,S) over p + sum of d(g) over the groups g of S)
    with  sum over S of x(p,S) = f(p),   x(p,S) <= f(p) y(g),
          sum of x(p,S) over p in g + d(g) >= k y(g),   0 <= y <= 1

x(p,S) records of pattern p, which is in need, lose the keys S; g is their group by the other keys,
y(g) says whether it is a class, and d(g) are its recruits. The multipliers of the first rows are
prices of records: see `tablecloak.microdata.anonymity.strict.record_prices`.
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

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MANY_COLUMNS = 40_000
"""Most pairs of a pattern in need and a set of keys for which the relaxation is solved."""

FEW_COLUMNS = 2_000
"""The same for the program in whole numbers: it found nothing better in 30 s with 32,000."""


@dataclass(frozen=True, eq=False)
class ClassProgram:
    """The program and what its columns stand for.

    Parameters
    ----------
    program : Program
    patterns : numpy.ndarray of int, shape (n_rows,)
        Pattern in need of each of the first rows.
    at, lost : numpy.ndarray of int, shape (n_x,)
        Row and set of lost keys of each x.
    """

    program: Program
    patterns: Integers
    at: Integers
    lost: Integers

    @classmethod
    def of(cls, question: SuppressionQuestion, k: int, *, is_exact: bool) -> ClassProgram | None:
        """Build the program; None if it is too large, or nobody is in need.

        Parameters
        ----------
        question : SuppressionQuestion
        k : int
        is_exact : bool
            Whether p goes over all patterns and S also over the empty set, without recruits.
            If not, recruits are unlimited, so that the program bounds the cost from below.
        """
        base = question.patterns
        everybody = np.arange(base.n_patterns)
        need = everybody if is_exact else np.flatnonzero(base.frequency < k)
        sets = [(cost, keys) for cost, keys in question.sets_by_cost() if keys or is_exact]
        limit = FEW_COLUMNS if is_exact else MANY_COLUMNS
        if not np.any(base.frequency < k) or len(need) * len(sets) > limit:
            return None
        at, lost, group, cost_x = [], [], [], []
        cost_d: list[float] = []
        for cost, keys in sets:
            label, n_groups = base.groups(question.asked & ~keys)
            size = np.bincount(label, weights=base.frequency, minlength=n_groups)
            good = size[label[need]] >= k
            found, which = np.unique(label[need[good]], return_inverse=True)
            at.append(np.flatnonzero(good))
            lost.append(np.full(int(good.sum()), keys))
            group.append(len(cost_d) + which.ravel())
            cost_x.append(np.full(int(good.sum()), cost))
            cost_d += [cost] * len(found)
        row, of_class = np.concatenate(at), np.concatenate(group)
        n_x, n_y, n_p = len(row), len(cost_d), len(need)
        frequency = base.frequency[need].astype(np.float64)
        x, y = np.arange(n_x), n_x + np.arange(n_y)
        d = y + n_y
        entries = [
            (np.ones(n_x), row, x),
            (np.ones(n_x), n_p + of_class, x),
            (np.ones(n_y), n_p + np.arange(n_y), d),
            (np.full(n_y, -float(k)), n_p + np.arange(n_y), y),
            (-np.ones(n_x), n_p + n_y + x, x),
            (frequency[row], n_p + n_y + x, n_x + of_class),
        ]
        data, rows, columns = (np.concatenate(each) for each in zip(*entries, strict=True))
        n_rows, n_columns = n_p + n_y + n_x, n_x + 2 * n_y
        program = Program(
            cost=np.concatenate([np.concatenate(cost_x), np.zeros(n_y), np.array(cost_d)]),
            matrix=csr_array(coo_array((data, (rows, columns)), shape=(n_rows, n_columns))),
            row_lower=np.concatenate([frequency, np.zeros(n_y + n_x)]),
            row_upper=np.concatenate([frequency, np.full(n_y + n_x, np.inf)]),
            lower=np.zeros(n_columns),
            upper=np.concatenate(
                [frequency[row], np.ones(n_y), np.full(n_y, 0.0 if is_exact else k)]
            ),
            integral=np.ones(n_columns, dtype=bool),
        )
        return cls(program, need, row, np.concatenate(lost))

    def prices(self, n_patterns: int, budget: Budget) -> Floats:
        """Return the multipliers of the relaxation, one for each pattern; 0 without an answer."""
        price = np.zeros(n_patterns)
        answer = solve(self.program.relaxed(), time_limit=budget.left)
        if len(answer.duals):
            price[self.patterns] = np.maximum(answer.duals[: len(self.patterns)], 0.0)
        return price

    def chosen(self, n_patterns: int, budget: Budget) -> dict[int, Integers]:
        """Return how many records of each pattern lose each set; empty without an answer."""
        answer = solve(self.program, time_limit=budget.left)
        counts: dict[int, Integers] = {}
        taken = np.rint(answer.x[: len(self.at)]).astype(np.int64)
        for at, lost, count in zip(self.at, self.lost.tolist(), taken, strict=len(taken) > 0):
            if count:
                counts.setdefault(lost, np.zeros(n_patterns, dtype=np.int64))
                counts[lost][self.patterns[at]] += count
        return counts
