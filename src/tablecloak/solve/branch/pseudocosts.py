"""Choice of the column to branch on: by pseudocosts, and by probes where these rest on few splits.

References
----------
.. [1] Achterberg, Koch, Martin: Branching rules revisited, Operations Research Letters 33 (2005)
   (reliability branching).
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.solve.branch.tree import Node
from tablecloak.solve.linear import LinearSolver

__all__ = ["Pseudocosts", "chosen_column"]

CANDIDATES = 8
"""Number of columns that are compared before a split."""

RELIABLE = 4
"""Observations in each direction after which a column is no longer probed."""

PROBED_ITERATIONS = 50
"""Simplex iterations of a probe."""

LEAST_GAIN = 1e-9
"""Least expected gain of a side. Without it a side without gain would make the product of both
gains 0, and columns could no longer be compared by their other side."""


class Pseudocosts:
    """Mean gain of the bound by branching on each column, per unit of its move.

    Parameters
    ----------
    n_columns : int
    """

    def __init__(self, n_columns: int) -> None:
        self.total = np.zeros((2, n_columns))
        self.count = np.zeros((2, n_columns), dtype=np.int64)
        self.moved: dict[int, float] = {}

    def learn(self, node: int, entry: Node, bound: float) -> None:
        """Record the gain of a node's bound over its parent's, per unit of the column's move."""
        distance = self.moved.pop(node, None)
        if distance and np.isfinite(bound) and np.isfinite(entry.bound):
            self.note(entry.column, entry.is_lower, max(bound - entry.bound, 0.0) / distance)

    def note(self, column: int, is_lower: bool, gain: float) -> None:
        """Record one observation."""
        if np.isfinite(gain):
            self.total[int(is_lower), column] += gain
            self.count[int(is_lower), column] += 1

    def is_reliable(self, column: int) -> bool:
        """Whether each direction has enough observations."""
        return bool(np.min(self.count[:, column]) >= RELIABLE)

    def scores(self, columns: Integers, part: Floats, guess: Floats) -> Floats:
        """Product of the expected gains of both sides; scaled guesses for columns never seen."""
        seen = np.min(self.count[:, columns], axis=0) > 0
        mean = self.total[:, columns] / np.maximum(self.count[:, columns], 1)
        below, above = mean[0] * part, mean[1] * (1 - part)
        product = np.maximum(below, LEAST_GAIN) * np.maximum(above, LEAST_GAIN)
        if not np.any(seen):
            return guess
        level = np.mean(product[seen]) / max(float(np.mean(guess)), 1e-300)
        scores: Floats = np.where(seen, product, guess * level)
        return scores


def chosen_column(
    solver: LinearSolver,
    costs: Pseudocosts,
    x: Floats,
    fractional: Integers,
    *,
    bound: float,
    cutoff: float,
    budget: Budget,
) -> int:
    """Return the column with the largest product of gains, after probes of unreliable columns.

    Parameters
    ----------
    solver : LinearSolver
        Its last solve was that of the node to be split.
    costs : Pseudocosts
        Records the results of the probes.
    x : numpy.ndarray of float
        Optimum of the node.
    fractional : numpy.ndarray of int
        Integral columns that are fractional at this optimum.
    bound, cutoff : float
        Proved bound of the node, and the bound at which a node can be closed.
    budget : Budget
        No column is probed once the budget is over.
    """
    part = x[fractional] - np.floor(x[fractional])
    cost = np.abs(solver.program.cost[fractional])
    # Before any split, columns near a half and of high cost are expected to gain most.
    guess = np.minimum(part, 1 - part) * (cost + np.mean(cost) + 1e-12)
    score = costs.scores(fractional, part, guess)
    order = np.argsort(-score, kind="stable")[:CANDIDATES]
    for place in order.tolist():
        column = int(fractional[place])
        if not costs.is_reliable(column) and not budget.is_over:
            _probe(solver, costs, column, float(x[column]), bound, cutoff - bound)
    score = costs.scores(fractional, part, guess)
    return int(fractional[order[np.argmax(score[order])]])


def _probe(
    solver: LinearSolver, costs: Pseudocosts, column: int, x: float, bound: float, most: float
) -> None:
    """Record the gain of rounding a column down and up, estimated by a few iterations each."""
    below = float(np.floor(x))
    ends = float(solver.lower[column]), float(solver.upper[column])
    for is_lower, low, high, distance in (
        (False, ends[0], below, x - below),
        (True, below + 1, ends[1], 1 - (x - below)),
    ):
        gain = solver.probe(column, low, high, PROBED_ITERATIONS) - bound
        costs.note(column, is_lower, max(min(gain, most), 0.0) / distance)
