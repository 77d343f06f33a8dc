"""A bound at the root by charges of relations, found by a first-order method.

With free directions the relaxation says hardly more than the balance and discrepancy rows of all
relations over absolute changes do. The packing program of these rows takes seconds where the
relaxation with balance rows takes minutes: see `first_order.packing`.

Sums of relations add rows of their own. If a sum says c z = 0, no cell of it moves farther than all
others together: |c_j| |z_j| <= sum of |c_i| |z_i|. Balance rows of single relations do not imply
these: a change that one relation passes on to two cells may come back to the first through another
relation, with the opposite sign. Let t be absolute changes. How far a cell j can move if no cell
moves farther,

    max z_j   subject to   A z = 0,  |z| <= t,

is a linear program; if the answer is less than t_j, its multipliers of relations are such a sum.
Relations near the cell suffice: fewer of them only let it move farther.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.certificates.verifier import MOST_TERMS, MOST_WHOLE
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.packing import Packing, packed
from tablecloak.cta.model.answer import LossProof
from tablecloak.cta.search.state import DirectionState
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program

SHORT_BY = 1e-4
"""Share of its change by which a cell must fall short."""

DENOMINATORS = (1, 2, 3, 4, 6, 12, 1000)
"""Multipliers are shares of the largest one, with the first of these denominators that fits; most
are 1 or -1. The last one is taken in any case."""

WHOLE = 1e-6
"""Largest distance of a multiplier from the whole number that it is taken for."""

CHARGED_GAIN = 1e-5
"""Relative gain between two proofs by charges below which the bound counts as found."""

CHARGED_IN_VAIN = 10
"""Proofs in a row that must gain less. See docs/decisions, "Bounds without directions"."""

MOST_CHARGED_STEPS = 20_000
"""Most steps of the packing program of charges."""

NEAREST = (300, 1000)
"""Relations around a cell among which a sum is looked for. See docs/decisions, "Balance rows of
sums of relations"."""

CLOSED_BY_ROUND = 0.02
"""Share of the gap that a round of such sums must close for another one to follow."""

TOWARDS_KNOWN = 0.4
"""Share of a known table in the point whose violated rows are looked for. See docs/decisions,
"Balance rows of sums of relations"."""


def charge(state: DirectionState, budget: Budget) -> DirectionState:
    """Prove a bound by charges of relations, and keep it if it is the best so far."""
    if not state.form.is_maximum and not budget.is_over:
        state.packing = Packing(FirstOrderLayout.of(state.form.model))
        _improve(state, state.packing, budget)
    return state


def combine(state: DirectionState, budget: Budget) -> DirectionState:
    """Add sums of relations that the charges so far violate, round by round.

    Rows are looked for between the packing program's point and the best table known: those that
    cut off the point alone are many and weak. Sums of few relations are found sooner, so that sums
    of more are looked for only where those have closed some of the gap.
    """
    table = state.form.model.problem.table
    # The verifier adds up relations with whole coefficients only: not too many, nor too large ones.
    is_whole = bool(np.all(table.relations.data == np.rint(table.relations.data)))
    if state.packing is None or state.best is None or not is_whole:
        return state
    model, packing = state.form.model, state.packing
    moved = np.abs(model.groups(state.form.changes(state.best.x)))
    lengths, n_terms = np.diff(table.relations.indptr), 0
    size = abs(table.relations) @ np.ones(table.n_cells)
    for nearest in NEAREST:
        combining, rounds, is_worth_more = Combining(model.relations, nearest), 0, True
        while is_worth_more and not budget.is_over:
            between = TOWARDS_KNOWN * moved + (1 - TOWARDS_KNOWN) * packing.moved
            sums = combining.violated(between, model.sensitive, budget.share(0.5))
            sums = csr_array(sums[abs(sums) @ size < MOST_WHOLE])
            n_terms += int(np.sum(lengths[sums.indices]))
            if not sums.shape[0] or n_terms > MOST_TERMS:
                break
            packing, before = packing.combining(sums), state.bound
            _improve(state, packing, budget)
            gap = state.best.value - before
            is_worth_more = state.bound - before >= CLOSED_BY_ROUND * gap
            rounds += is_worth_more
        if not rounds:
            break
    if packing.layout.combined.shape[0]:
        state.notes.append(f"{packing.layout.combined.shape[0]} sums of relations")
    return state


def _improve(state: DirectionState, packing: Packing, budget: Budget) -> None:
    """Improve charges, and keep their bound if it is the best so far."""
    form = state.form
    charges = packed(
        packing, budget, gain=CHARGED_GAIN, most=MOST_CHARGED_STEPS, in_vain=CHARGED_IN_VAIN
    )
    bound = (charges.bound() - form.offset) / form.scaling.objective
    if bound > state.bound:
        combined = packing.layout.combined if packing.layout.combined.shape[0] else None
        state.bound = bound
        state.charged = LossProof.of_root(
            charges.multipliers(), form.model.signs_of(None), combined
        )
        state.tree = None
        state.report("charges of relations")


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
        sums: dict[bytes, tuple[Integers, Floats]] = {}
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
                sums.setdefault(rows.tobytes() + whole.tobytes(), (rows, whole))
        starts = np.cumsum([0, *(len(rows) for rows, _ in sums.values())])
        rows = np.concatenate([np.zeros(0, dtype=np.int64), *(one for one, _ in sums.values())])
        data = np.concatenate([np.zeros(0), *(one for _, one in sums.values())])
        return csr_array((data, rows, starts), shape=(len(sums), m))

    def _multipliers(self, group: int, near: Integers, moved: Floats) -> Floats:
        """Return whole multipliers of the relations nearby; 0 if the group moves far enough."""
        rows = csr_array(self._relations[near, :])
        columns, place = np.unique(rows.indices, return_inverse=True)
        matrix = csr_array((rows.data, place, rows.indptr), shape=(len(near), len(columns)))
        place_of_group = int(np.searchsorted(columns, group))
        cost, most = np.zeros(len(columns)), moved[columns] / moved[group]
        cost[place_of_group] = -1.0
        zero = np.zeros(len(near))
        solver = LinearSolver(Program(cost, matrix, zero, zero, -most, most), checked=False)
        solution = solver.solve()
        # The sum is checked as it is, so that wrong multipliers do no harm.
        if not len(solution.x) or solution.x[place_of_group] > 1 - SHORT_BY:
            return zero
        return _whole(solution.duals)

    def _nearest(self, group: int) -> Integers:
        """Return relations around a group, in the order of their numbers."""
        if group in self._near:
            return self._near[group]
        is_near = np.zeros(self._relations.shape[0], dtype=bool)
        front = self._by_group[[group], :].indices
        while len(front):
            room = self._most - np.count_nonzero(is_near)
            is_near[front[:room]] = True
            if len(front) >= room:
                break
            around = np.unique(
                self._by_group[np.unique(self._relations[front, :].indices), :].indices
            )
            front = around[~is_near[around]]
        self._near[group] = np.flatnonzero(is_near)
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
