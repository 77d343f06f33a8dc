"""The proof of a branch and bound: a tree of column bounds with multipliers at its leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import VerificationError
from tablecloak.solve.bounds import dual_bound, proves_infeasible
from tablecloak.solve.program import Program

__all__ = ["BranchTree", "Node"]


@dataclass(frozen=True, eq=False)
class Node:
    """One bound on one integral column, added to those of the parent.

    Parameters
    ----------
    parent : int
        Number of the parent; -1 for the root.
    column : int
    is_lower : bool
        Whether `limit` is a lower bound.
    limit : float
    bound : float
        Proved bound of the parent when it was split.
    depth : int
    """

    parent: int
    column: int
    is_lower: bool
    limit: float
    bound: float
    depth: int

    @classmethod
    def root(cls) -> Node:
        """Return the node without any bound."""
        return cls(-1, -1, False, 0.0, -np.inf, 0)


@dataclass(eq=False)
class BranchTree:
    """The proof: a binary tree of column bounds with row multipliers at its leaves.

    Parameters
    ----------
    nodes : list
        Each node adds one bound on one integral column to its parent's; node 0 is the root.
    multipliers : dict of int to numpy.ndarray
        For each leaf the multipliers of the first k rows.
    """

    nodes: list[Node] = field(default_factory=list)
    multipliers: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of_root(cls, multipliers: Floats) -> BranchTree:
        """Return the tree that consists of its root, with multipliers of the first rows."""
        return cls([Node.root()], {0: multipliers})

    def split(self, node: int, column: int, below: float, bound: float) -> tuple[int, int]:
        """Split a node at column <= below and column >= below + 1; return the two numbers."""
        depth = self.nodes[node].depth + 1
        self.nodes.append(Node(node, column, False, below, bound, depth))
        self.nodes.append(Node(node, column, True, below + 1, bound, depth))
        return len(self.nodes) - 2, len(self.nodes) - 1

    def inherit(self, node: int) -> None:
        """Give a node the multipliers of its nearest ancestor that has any."""
        source = node
        while source not in self.multipliers and source > 0:
            source = self.nodes[source].parent
        if source in self.multipliers:
            self.multipliers[node] = self.multipliers[source]

    def box(self, program: Program, node: int) -> tuple[Floats, Floats]:
        """Return the column bounds that hold in a node."""
        lower, upper = program.lower.copy(), program.upper.copy()
        while node > 0:
            entry = self.nodes[node]
            if entry.is_lower:
                lower[entry.column] = max(lower[entry.column], entry.limit)
            else:
                upper[entry.column] = min(upper[entry.column], entry.limit)
            node = entry.parent
        return lower, upper

    def verify(self, program: Program) -> float:
        """Return the lower bound that the tree proves, by sparse products alone.

        Parameters
        ----------
        program : Program
            The program with all rows that the multipliers refer to.

        Raises
        ------
        VerificationError
            If the leaves do not cover all integral points.
        """
        children: dict[int, list[Node]] = {}
        for entry in self.nodes[1:]:
            children.setdefault(entry.parent, []).append(entry)
        for pair in children.values():
            _check_split(program, pair)
        bounds = [
            self._leaf_bound(program, node)
            for node in range(len(self.nodes))
            if node not in children
        ]
        return min(bounds)

    def _leaf_bound(self, program: Program, node: int) -> float:
        lower, upper = self.box(program, node)
        if np.any(lower > upper):
            return np.inf
        duals = self.multipliers.get(node)
        if duals is None:
            return -np.inf
        if proves_infeasible(program, duals, lower=lower, upper=upper):
            return np.inf
        return dual_bound(program, duals, lower=lower, upper=upper)


def _check_split(program: Program, pair: list[Node]) -> None:
    lows = [entry for entry in pair if entry.is_lower]
    highs = [entry for entry in pair if not entry.is_lower]
    fits = (
        len(lows) == len(highs) == 1
        and lows[0].column == highs[0].column
        and lows[0].limit == highs[0].limit + 1
        and bool(program.integral[lows[0].column])
    )
    if not fits:
        raise VerificationError(
            f"The search tree does not cover all integral points: the split of node "
            f"{pair[0].parent} is not into column <= n and column >= n + 1 of one integral "
            "column. Check that the certificate was not changed."
        )
