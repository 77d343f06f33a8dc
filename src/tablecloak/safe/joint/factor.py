"""A Cholesky factor that grows by blocks of rows, one block for each output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from tablecloak.arrays import Floats, Integers

DEPENDENT = 1e-7
"""Squared distance, in records, up to which a figure follows from those before it. Figures count
whole records; the rounding errors of 10^4 figures of 10^6 records stay below 1e-8."""


@dataclass(frozen=True)
class Block:
    """Rows of the factor that one output added: left of the diagonal, and on it."""

    left: Floats
    diagonal: Floats


@dataclass(frozen=True)
class Factor:
    """The factor L of G = L L', where G says how many records two figures share.

    A factor is never changed: `extended` returns a new one that shares the blocks so far, so that
    what an output would add can be looked at and thrown away.

    Parameters
    ----------
    blocks : tuple of Block
    """

    blocks: tuple[Block, ...] = ()

    @property
    def size(self) -> int:
        """Number of independent figures."""
        return sum(len(block.diagonal) for block in self.blocks)

    def forward(self, right: Floats) -> Floats:
        """Solve L y = right."""
        solved = np.empty_like(right)
        start = 0
        for block in self.blocks:
            end = start + len(block.diagonal)
            rest = right[start:end] - block.left @ solved[:start]
            solved[start:end] = solve_triangular(block.diagonal, rest, lower=True)
            start = end
        return solved

    def backward(self, right: Floats) -> Floats:
        """Solve L' x = right."""
        rest = right.copy()
        end = len(rest)
        for block in reversed(self.blocks):
            start = end - len(block.diagonal)
            part = solve_triangular(block.diagonal, rest[start:end], lower=True, trans=1)
            rest[start:end] = part
            rest[:start] -= block.left.T @ part
            end = start
        return rest

    def solve(self, right: Floats) -> Floats:
        """Solve G x = right."""
        return self.backward(self.forward(right))

    def extended(self, beside: Floats, within: Floats) -> tuple[Factor, Integers]:
        """Add the figures of one output, but those that follow from others.

        Parameters
        ----------
        beside : (f, size) array
            Records that each new figure shares with each figure of the factor.
        within : (f, f) array
            Records that new figures share with each other.

        Returns
        -------
        factor : Factor
        kept : array of int
            Which of the new figures were added.
        """
        left = self.forward(np.ascontiguousarray(beside.T)).T
        rest = within - left @ left.T
        lower = np.zeros_like(rest)
        kept: list[int] = []
        room = np.diag(rest).copy()
        for step in range(len(rest)):
            chosen = int(np.argmax(room))
            if room[chosen] <= DEPENDENT:
                break
            column = rest[:, chosen] - lower[:, :step] @ lower[chosen, :step]
            lower[:, step] = column / np.sqrt(column[chosen])
            room -= lower[:, step] ** 2
            room[chosen] = -np.inf
            kept.append(chosen)
        order = np.array(kept, dtype=np.int64)
        diagonal = np.tril(lower[order, : len(order)])
        block = Block(np.ascontiguousarray(left[order]), diagonal)
        return Factor((*self.blocks, block)), order
