"""Arrays of an adjustment as first-order methods use them, in typical sizes of their own.

A primal-dual method converges quickly where every column and every row is measured in the size
that its values have at the optimum. For changes these are the levels nearby; for the multiplier of
a relation it is the least cost of its cells: a change that costs more elsewhere in the relation is
made in that cell. See docs/decisions, "First-order methods".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Flags, Floats, Integers, median_of_positive
from tablecloak.cta.model.model import AdjustmentModel

CHARGED_ROUNDS = 200
"""Rounds in which relations charge less until no cell is charged too much."""

NEARLY = 1 - 1e-7
"""Share of its charge that each cell can pay at least before all charges are lowered alike."""

SPREAD = 8
"""Rounds in which relations without sensitive cells take the typical change of their neighbours.
Chosen by trial; a hierarchy has fewer levels."""

LEAST_COST = 1e-12
"""Smallest typical multiplier, as a share of the median cost: a relation in which a cell moves
freely still needs a step."""


@dataclass(frozen=True, eq=False)
class FirstOrderLayout:
    """Groups, relations that say something, and typical sizes.

    Parameters
    ----------
    model : AdjustmentModel
    rows : numpy.ndarray of int, shape (n_rows,)
        Relations with at least two groups.
    matrix : scipy.sparse.csr_array, shape (n_rows, n_groups)
        Their coefficients.
    change : numpy.ndarray of float, shape (n_groups,)
        Typical absolute change, > 0.
    price : numpy.ndarray of float, shape (n_rows,)
        Typical multiplier, > 0.
    combined : scipy.sparse.csr_array, shape (n_combined, n_relations)
        Whole multipliers of relations whose sums are the last rows, numbered after all relations.
    """

    model: AdjustmentModel
    rows: Integers
    matrix: csr_array
    change: Floats
    price: Floats
    combined: csr_array

    @classmethod
    def of(cls, model: AdjustmentModel) -> FirstOrderLayout:
        """Lay out the groups of a model."""
        rows = np.flatnonzero(np.diff(model.relations.indptr) > 1)
        matrix = csr_array(model.relations[rows, :])
        size = csr_array(abs(matrix))
        change, price = _typical_changes(model, size), _typical_prices(model.cost, size)
        none = csr_array((0, model.relations.shape[0]))
        return cls(model, rows, matrix, change, price, none)

    @cached_property
    def transposed(self) -> csr_array:
        """Coefficients by groups, shape (n_groups, n_rows)."""
        return csr_array(self.matrix.T)

    @cached_property
    def size(self) -> csr_array:
        """Absolute coefficients."""
        return csr_array(abs(self.matrix))

    @cached_property
    def size_transposed(self) -> csr_array:
        """Absolute coefficients by groups."""
        return csr_array(abs(self.transposed))

    def combining(self, multipliers: csr_array) -> FirstOrderLayout:
        """Return a layout with further sums of relations as its last rows.

        Parameters
        ----------
        multipliers : scipy.sparse.csr_array, shape (n_sums, n_relations)
            Whole numbers.
        """
        further = csr_array(multipliers @ self.model.relations)
        further.eliminate_zeros()
        kept = np.diff(further.indptr) > 1
        further, multipliers = csr_array(further[kept]), csr_array(multipliers[kept])
        first = self.model.relations.shape[0] + self.combined.shape[0]
        return replace(
            self,
            rows=np.concatenate([self.rows, first + np.arange(further.shape[0])]),
            matrix=csr_array(vstack([self.matrix, further])),
            price=np.concatenate([self.price, _typical_prices(self.model.cost, abs(further))]),
            combined=csr_array(vstack([self.combined, multipliers])),
        )

    def affordable(self, prices: Floats, is_up: Flags) -> Floats:
        """Return smaller prices, at which moving farther pays for no group.

        For multipliers y of the relations, sum W_i |g_i| >= sum min over the box of
        (W_i |g_i| - r_i g_i) with r = A' y. A group whose |r_i| exceeds W_i would go to the end of
        its room, however far that is; so relations lower their multipliers until no group gains
        more than it costs.

        Parameters
        ----------
        prices : numpy.ndarray of float, shape (n_rows,)
            Multipliers of relations.
        is_up : numpy.ndarray of bool
            Direction of each sensitive group.
        """
        for _ in range(CHARGED_ROUNDS):
            share = self._unpaid(prices, is_up)
            if np.all(share >= NEARLY):
                break
            prices = prices * row_least(self.matrix, share[self.matrix.indices])
        scaled: Floats = prices * np.min(self._unpaid(prices, is_up), initial=1.0)
        return scaled

    def _unpaid(self, prices: Floats, is_up: Flags) -> Floats:
        """Return the share of what prices pay for each group at which no farther move pays."""
        cost, at, paid = self.model.cost, self.model.sensitive, self.transposed @ prices
        gain = np.abs(paid)
        gain[at] = np.where(is_up, paid[at], -paid[at])
        share: Floats = np.where(gain > cost, cost / np.where(gain > 0, gain, 1.0), 1.0)
        return share

    def bound(self, prices: Floats, is_up: Flags) -> float:
        """Return the bound that affordable prices prove for given directions."""
        model, at = self.model, self.model.sensitive
        paid = (self.transposed @ prices)[at]
        level = np.where(is_up, model.up_level, model.down_level)
        return float(np.sum((model.cost[at] - np.where(is_up, paid, -paid)) * level))

    @property
    def level(self) -> Floats:
        """How far each group must move at least, on the side on which that is less; 0 for others.

        Of shape (n_groups,).
        """
        model, (low, high) = self.model, self.model.allowed
        up = np.where(high > 0, model.up_level, np.inf)
        down = np.where(low < 1, model.down_level, np.inf)
        level = np.zeros(model.n_groups)
        level[model.sensitive] = np.minimum(up, down)
        return level


def row_sums(matrix: csr_array, entries: Floats) -> Floats:
    """Return the sum of numbers over the entries of each row; no row is empty."""
    sums: Floats = np.add.reduceat(entries, matrix.indptr[:-1]) if len(entries) else np.zeros(0)
    return sums


def row_least(matrix: csr_array, entries: Floats) -> Floats:
    """Return the least of numbers over the entries of each row; no row is empty."""
    least: Floats = np.minimum.reduceat(entries, matrix.indptr[:-1]) if len(entries) else entries
    return least


def column_sums(matrix: csr_array, entries: Floats) -> Floats:
    """Return the sum of numbers over the entries of each column."""
    # The arrays of a matrix by rows are those of its transpose by columns.
    weighted = csr_array((entries, matrix.indices, matrix.indptr), shape=matrix.shape)
    sums: Floats = weighted.T @ np.ones(matrix.shape[0])
    return sums


def _typical_changes(model: AdjustmentModel, size: csr_array) -> Floats:
    """Levels of sensitive groups; of others the mean level of relations, near or less near."""
    back = csr_array(size.T)
    level = np.zeros(model.n_groups)
    level[model.sensitive] = np.maximum(model.up_level, model.down_level)
    middle = median_of_positive(level)
    of_rows = _means(size, level)
    for _ in range(SPREAD):
        if np.all(of_rows > 0):
            break
        of_rows = np.where(of_rows > 0, of_rows, _means(size, _means(back, of_rows)))
    near = _means(back, np.where(of_rows > 0, of_rows, middle))
    change: Floats = np.where(level > 0, level, np.where(near > 0, near, middle))
    return change


def _means(matrix: csr_array, values: Floats) -> Floats:
    """Return for each row the mean of the positive values that it names; 0 if it names none."""
    pattern = csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    total, count = pattern @ values, pattern @ (values > 0).astype(np.float64)
    means: Floats = np.where(count > 0, total / np.maximum(count, 1.0), 0.0)
    return means


def _typical_prices(cost: Floats, size: csr_array) -> Floats:
    """Least cost of a change of one unit in each relation."""
    least = row_least(size, cost[size.indices] / size.data)
    price: Floats = np.maximum(least, LEAST_COST * median_of_positive(cost))
    return price
