"""Sums of relations whose balance rows absolute changes violate.

If a sum of relations says c z = 0, no cell of it moves farther than all others together:
|c_j| |z_j| <= sum of |c_i| |z_i|. Balance rows of single relations do not imply these: a change
that one relation passes on to two cells may come back to the first through another relation, with
the opposite sign. Let t be absolute changes. How far a cell j can move if no cell moves farther,

    max z_j   subject to   A z = 0,  |z| <= t,

is a linear program; if the answer is less than t_j, its multipliers of relations are such a sum.
Relations near the cell suffice: fewer of them only let it move farther.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.first_order.schedule import DENOMINATORS, SHORT_BY, WHOLE
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program


class Combining:
    """Finds sums of relations near some cells.

    Parameters
    ----------
    relations : scipy.sparse.csr_array, shape (n_relations, n_groups)
    nearest : int
        Relations around a cell among which a sum is looked for.
    """

    def __init__(self, relations: csr_array, nearest: int) -> None:
        self._relations, self._by_group = relations, csr_array(relations.T)
        self._most = nearest
        self._near: dict[int, Integers] = {}

    def violated(self, moved: Floats, groups: Integers, budget: Budget) -> csr_array:
        """Return sums of relations with a balance row that a point violates.

        Parameters
        ----------
        moved : numpy.ndarray of float, shape (n_groups,)
            Absolute changes, as long as the groups may move.
        groups : numpy.ndarray of int
            Groups whose balance rows are looked for, the most wanted ones first.
        budget : Budget

        Returns
        -------
        scipy.sparse.csr_array, shape (n_sums, n_relations)
            Whole multipliers, each sum once.
        """
        m = self._relations.shape[0]
        found: dict[bytes, tuple[Integers, Floats]] = {}
        for group in groups.tolist():
            if budget.is_over:
                break
            near = self._nearest(group)
            multipliers = self._multipliers(group, near, moved)
            used = np.flatnonzero(multipliers)
            if len(used) < 2:  # Balance rows of single relations are all there.
                continue
            multipliers *= np.sign(multipliers[used[0]])
            rows, whole = near[used], multipliers[used]
            terms = np.abs(whole @ self._relations[rows, :])
            if 2 * terms[group] * moved[group] > float(np.dot(terms, moved)):
                found.setdefault(rows.tobytes() + whole.tobytes(), (rows, whole))
        starts = np.cumsum([0, *(len(rows) for rows, _ in found.values())])
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(one for one, _ in found.values())])
        data = np.concatenate([np.zeros(0), *(one for _, one in found.values())])
        return csr_array((data, rows, starts), shape=(len(found), m))

    def _multipliers(self, group: int, near: Integers, moved: Floats) -> Floats:
        """Return whole multipliers of the relations nearby; 0 if the group moves far enough."""
        rows = csr_array(self._relations[near, :])
        columns, place = np.unique(rows.indices, return_inverse=True)
        matrix = csr_array((rows.data, place, rows.indptr), shape=(len(near), len(columns)))
        own = int(np.searchsorted(columns, group))
        cost, most = np.zeros(len(columns)), moved[columns] / moved[group]
        cost[own] = -1.0
        zero = np.zeros(len(near))
        solver = LinearSolver(Program(cost, matrix, zero, zero, -most, most), checked=False)
        solution = solver.solve()
        # The sum is checked as it is, so that wrong multipliers do no harm.
        if not len(solution.x) or solution.x[own] > 1 - SHORT_BY:
            return zero
        return _whole(solution.duals)

    def _nearest(self, group: int) -> Integers:
        """Return relations around a group, in the order of their numbers."""
        if group in self._near:
            return self._near[group]
        known = np.zeros(self._relations.shape[0], dtype=bool)
        front = self._by_group[[group], :].indices
        while len(front):
            room = self._most - np.count_nonzero(known)
            known[front[:room]] = True
            if len(front) >= room:
                break
            around = np.unique(
                self._by_group[np.unique(self._relations[front, :].indices), :].indices
            )
            front = around[~known[around]]
        self._near[group] = np.flatnonzero(known)
        return self._near[group]


def _whole(multipliers: Floats) -> Floats:
    """Return whole multipliers: small ones if there are any, otherwise rounded ones."""
    largest = float(np.max(np.abs(multipliers), initial=0.0))
    if largest == 0:
        return multipliers
    shares = multipliers / largest
    for denominator in DENOMINATORS:
        rounded = np.rint(denominator * shares)
        if np.all(np.abs(denominator * shares - rounded) < WHOLE):
            return rounded
    return np.asarray(rounded, dtype=np.float64)
