"""A bound for free directions at any size: a packing program, by the primal-dual method.

With free directions, multipliers of relations prove nothing beyond the levels alone, since each
sensitive cell may go the other way. What proves more are rows on absolute changes t: of balance
(no cell of a relation moves farther than all others together) and of discrepancy (levels that
cannot cancel leave an imbalance); see `search.balance` and `tight`. All of them at once are::

    min sum W_i t_i,   |c_i| t_i <= m_r,   2 m_r <= sum over r |c_i| t_i,
                       sum over r |c_i| (t_i - level_i) >= delta_r,   t >= level

with half the sum of each relation as a column m_r of its own, so that each row has few entries.
A relation may be a sum of others: see `search.charges`.
Multipliers of all rows are a point of its dual, a packing program: W bounds what the relations of a
cell may charge it together. Found approximately, they charge some cells a little too much; these
relations then charge less, until no cell is charged more than it costs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.certificates.tree import BALANCE, DISCREPANCY, Multipliers
from tablecloak.cta.first_order.layout import (
    CHARGED_ROUNDS,
    NEARLY,
    FirstOrderLayout,
    column_sums,
    row_least,
    row_sums,
)
from tablecloak.cta.model.tight import discrepancies_of

BOUND_RATIO = 3.0
"""Ratio of the steps of the packing program."""

BOUND_STEPS = 100
"""Steps of the packing program between two proofs."""

MOST_BOUND_STEPS = 5000
"""Most steps of the packing program."""

BOUND_GAIN = 1e-4
"""Relative gain between two proofs below which the bound counts as found."""

SAFE_STEP = 0.98
"""Share of the longest steps for which convergence is proved."""


@dataclass(frozen=True, eq=False)
class Charges:
    """Multipliers >= 0 of balance rows, one for each entry of a relation, and of discrepancy rows.

    Parameters
    ----------
    layout : FirstOrderLayout
    balance : numpy.ndarray of float, shape (number of entries,)
    discrepancy : numpy.ndarray of float, shape (n_rows,)
    delta : numpy.ndarray of float, shape (n_rows,)
        Least imbalance of the levels in each relation.
    """

    layout: FirstOrderLayout
    balance: Floats
    discrepancy: Floats
    delta: Floats

    def charged(self) -> tuple[Floats, Floats]:
        """Return by how much rows relieve groups, and by how much they charge them."""
        size = self.layout.size
        relief = column_sums(size, 2 * size.data * self.balance)
        by_row = row_sums(size, self.balance) + self.discrepancy
        return relief, self.layout.size_transposed @ by_row

    def affordable(self) -> Charges:
        """Return smaller charges, such that no group is charged more than it costs."""
        layout, charges = self.layout, self
        cost, indices = layout.model.cost, layout.size.indices
        for _ in range(CHARGED_ROUNDS):
            relief, charge = charges.charged()
            paid = cost + relief
            share = np.where(charge > paid, paid / np.where(charge > 0, charge, 1.0), 1.0)
            if np.all(share >= NEARLY):
                break
            charges = charges.scaled(row_least(layout.size, share[indices]))
        relief, charge = charges.charged()
        over = charge - relief
        worst = np.min(np.where(over > cost, cost / np.where(over > 0, over, 1.0), 1.0), initial=1)
        return charges.scaled(np.full(len(layout.rows), worst))

    def scaled(self, by_row: Floats) -> Charges:
        """Return charges in which those of each relation are multiplied by a number."""
        repeated = np.repeat(by_row, np.diff(self.layout.size.indptr))
        return replace(self, balance=self.balance * repeated, discrepancy=self.discrepancy * by_row)

    def bound(self) -> float:
        """Return the bound that affordable charges prove."""
        layout = self.layout
        relief, charge = self.charged()
        # Discrepancy rows charge what lies beyond the levels only.
        levels = charge - layout.size_transposed @ self.discrepancy
        own = (layout.model.cost + relief - levels) * layout.level
        return float(np.sum(own) + np.dot(self.discrepancy, self.delta))

    def multipliers(self) -> Multipliers:
        """Return the multipliers as a certificate keeps them."""
        layout, member = self.layout, self.layout.model.members
        at, used = np.flatnonzero(self.balance > 0), np.flatnonzero(self.discrepancy > 0)
        row = np.repeat(layout.rows, np.diff(layout.size.indptr))
        return Multipliers.of(
            [
                (DISCREPANCY, layout.rows[used], -1, self.discrepancy[used]),
                (BALANCE, row[at], member[layout.size.indices[at]], self.balance[at]),
            ]
        )


class Packing:
    """Absolute changes and multipliers of the packing program, improved step by step.

    Parameters
    ----------
    layout : FirstOrderLayout

    Attributes
    ----------
    moved : numpy.ndarray of float, shape (n_groups,)
        Absolute changes.
    """

    def __init__(self, layout: FirstOrderLayout) -> None:
        self.layout, size = layout, layout.size
        self.level = layout.level
        self.most = np.maximum(
            np.maximum(layout.model.moves.up, layout.model.moves.down), self.level
        )
        self.delta = np.zeros(len(layout.rows))
        numbers, deltas = discrepancies_of(layout.model)
        self.delta[np.searchsorted(layout.rows, numbers)] = deltas
        self.need = np.where(self.delta > 0, self.delta + size @ self.level, 0.0)
        self.moved, self.half = self.level.copy(), 0.5 * (size @ self.level)
        self.balance, self.sums = np.zeros(size.nnz), np.zeros(len(layout.rows))
        self.lacking = np.zeros(len(layout.rows))
        self._set_steps()

    def combining(self, multipliers: csr_array) -> Packing:
        """Return the program with further sums of relations, from the present point.

        Parameters
        ----------
        multipliers : scipy.sparse.csr_array, shape (n_sums, n_relations)
            Whole numbers.
        """
        new = Packing(self.layout.combining(multipliers))
        new.moved = self.moved.copy()
        new.half = 0.5 * (new.layout.size @ new.moved)
        for name in ("half", "balance", "sums", "lacking"):
            kept = getattr(self, name)
            getattr(new, name)[: len(kept)] = kept
        return new

    def _set_steps(self) -> None:
        layout, size = self.layout, self.layout.size
        counts = np.diff(size.indptr)
        typical = layout.change[size.indices] * size.data
        half = row_sums(size, typical) / counts
        price = np.repeat(layout.price, counts)
        reach = column_sums(size, price * size.data) + 2 * (layout.size_transposed @ layout.price)
        safe, ratio = SAFE_STEP * BOUND_RATIO, SAFE_STEP / BOUND_RATIO
        self.moved_step = safe * layout.change / np.where(reach > 0, reach, 1.0)
        self.half_step = safe * half / (layout.price * (counts + 2))
        self.balance_step = ratio * price / (typical + np.repeat(half, counts))
        self.sums_step = ratio * layout.price / (counts * half + 2 * half)
        self.lacking_step = ratio * layout.price / (counts * half)

    def step(self) -> None:
        """Make one step."""
        layout, size = self.layout, self.layout.size
        counts = np.diff(size.indptr)
        charge = layout.size_transposed @ (self.sums + self.lacking)
        slope = layout.model.cost + column_sums(size, self.balance * size.data) - charge
        moved = np.clip(self.moved - self.moved_step * slope, self.level, self.most)
        half = self.half - self.half_step * (2 * self.sums - row_sums(size, self.balance))
        ahead, ahead_half = 2 * moved - self.moved, 2 * half - self.half
        self.moved, self.half = moved, half
        total = size @ ahead
        excess = size.data * ahead[size.indices] - np.repeat(ahead_half, counts)
        self.balance = np.maximum(self.balance + self.balance_step * excess, 0.0)
        self.sums = np.maximum(self.sums + self.sums_step * (2 * ahead_half - total), 0.0)
        short = np.where(self.delta > 0, self.lacking_step * (self.need - total), 0.0)
        self.lacking = np.maximum(self.lacking + short, 0.0)

    def charges(self) -> Charges:
        """Return affordable charges next to the multipliers; half a sum counts twice."""
        return Charges(self.layout, self.balance / 2, self.lacking, self.delta).affordable()


def packed(
    packing: Packing,
    budget: Budget,
    *,
    gain: float = BOUND_GAIN,
    most: int = MOST_BOUND_STEPS,
    in_vain: int = 1,
) -> Charges:
    """Improve a packing program, and return the best charges that prove a bound on the way.

    Parameters
    ----------
    packing : Packing
        Left where the steps end.
    budget : Budget
        A first proof is found in any case.
    gain : float, default=1e-4
        Relative gain between two proofs below which the bound counts as found.
    most : int, default=5000
        Most steps.
    in_vain : int, default=1
        Proofs in a row that must gain less until it counts as found.
    """
    none = 0 * packing.balance, 0 * packing.lacking
    best = Charges(packing.layout, *none, packing.delta)
    value, steps, small = best.bound(), 0, 0
    while steps < most:
        for _ in range(BOUND_STEPS):
            packing.step()
            if budget.is_over and steps:
                break
        steps += BOUND_STEPS
        charges = packing.charges()
        bound, before = charges.bound(), value
        if bound > value:
            best, value = charges, bound
        is_small = bound >= before and bound - before < gain * abs(bound)
        small = small + 1 if is_small or bound < before else 0
        if budget.is_over or (is_small and small >= in_vain):
            break
    return best
