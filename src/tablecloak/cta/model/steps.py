"""Whole steps from a starting point, as a program: small numbers however large the point is.

A point is start + sum of steps, where each block of columns moves some places up or down by whole
numbers. The search for whole numbers next to a fractional table, rounding to the last digit, and
controlled rounding are programs of this form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Floats, Integers
from tablecloak.solve.program import Program


@dataclass(frozen=True, eq=False)
class StepBlock:
    """Columns that move places in one direction.

    Parameters
    ----------
    places : numpy.ndarray of int
        Columns of the matrix of the rows.
    sign : int
        1 up, -1 down.
    cost : numpy.ndarray of float, shape (len(places),)
        Of each step.
    most : numpy.ndarray of float, shape (len(places),)
        Largest number of steps.
    """

    places: Integers
    sign: int
    cost: Floats
    most: Floats


@dataclass(frozen=True, eq=False)
class StepProgram:
    """low <= matrix @ moves <= high with moves in whole steps, and the way back to moves.

    Parameters
    ----------
    program : Program
    blocks : tuple of StepBlock
    n_places : int
    """

    program: Program
    blocks: tuple[StepBlock, ...]
    n_places: int

    @classmethod
    def of(
        cls, matrix: csr_array, low: Floats, high: Floats, blocks: Sequence[StepBlock]
    ) -> StepProgram:
        """Write rows on moves as a program in steps.

        Parameters
        ----------
        matrix : scipy.sparse.csr_array, shape (n_rows, n_places)
        low, high : numpy.ndarray of float, shape (n_rows,)
            What the moves have to make up for: sides less the activity of the starting point.
        blocks : sequence of StepBlock
        """
        parts = [block.sign * matrix[:, block.places] for block in blocks]
        n = sum(len(block.places) for block in blocks)
        program = Program(
            cost=np.concatenate([block.cost for block in blocks]),
            matrix=csr_array(hstack(parts, format="csr")),
            row_lower=low,
            row_upper=high,
            lower=np.zeros(n),
            upper=np.concatenate([block.most for block in blocks]),
            integral=np.ones(n, dtype=bool),
        )
        return cls(program, tuple(blocks), matrix.shape[1])

    def moves(self, x: Floats) -> Integers:
        """Return how far each place moves, in whole steps."""
        moved = np.zeros(self.n_places, dtype=np.int64)
        ends = np.cumsum([len(block.places) for block in self.blocks])
        for block, steps in zip(self.blocks, np.split(np.rint(x), ends[:-1]), strict=True):
            moved[block.places] += block.sign * steps.astype(np.int64)
        return moved
