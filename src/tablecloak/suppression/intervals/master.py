"""The program of least loss over widths, with the rows found so far."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Floats
from tablecloak.solve.program import Program
from tablecloak.suppression.rows.master import CapacityRow
from tablecloak.suppression.system.system import System

__all__ = ["IntervalMaster"]


class IntervalMaster:
    """min w.(v+ + v-) over the rows found so far, in median protection levels."""

    def __init__(self, system: System, weights: Floats) -> None:
        self.system = system
        positive = weights[weights > 0]
        self.scale = float(np.median(positive)) if len(positive) else 1.0
        n = system.n_unknown
        room = np.concatenate([system.high, -system.low]) / system.unit
        self.program = Program(
            np.tile(weights / self.scale, 2),
            csr_array((0, 2 * n)),
            np.zeros(0),
            np.zeros(0),
            np.zeros(2 * n),
            room,
        )

    def loss_of(self, value: float) -> float:
        """Loss in the problem's own units."""
        return value * self.scale * self.system.unit

    def row(self, proof: CapacityRow) -> csr_array:
        """Coefficients of v+ and v-, scaled to a right-hand side of 1."""
        needs, system = self.system.needs, self.system
        at = int(np.searchsorted(needs.index, proof.index))
        up, down = np.zeros(system.n_unknown), np.zeros(system.n_unknown)
        sides = ((1.0, proof.up), (-1.0, proof.down))
        for sign, side in sides:
            if side is None:
                continue
            gamma = np.zeros(len(system.rows))
            gamma[np.searchsorted(system.rows, side[0])] = side[1]
            reduced = -(system.matrix.T @ gamma)
            reduced[needs.cells[at]] += sign
            up += np.maximum(reduced, 0.0)
            down += np.maximum(-reduced, 0.0)
        return csr_array(np.concatenate([up, down])[None, :] / self.need(proof))

    def need(self, proof: CapacityRow) -> float:
        """Return what a row asks for, in median protection levels."""
        needs = self.system.needs
        at = int(np.searchsorted(needs.index, proof.index))
        both = proof.up is not None and proof.down is not None
        one = needs.upper[at] if proof.up is not None else needs.lower[at]
        return float(needs.width[at] if both else one) / self.system.unit

    def with_rows(self, proofs: list[CapacityRow]) -> Program:
        """Return the program with some rows."""
        if not proofs:
            return self.program
        matrix = vstack([self.row(proof) for proof in proofs], format="csr")
        ones = np.ones(len(proofs))
        return self.program.with_rows(matrix, ones, np.full(len(proofs), np.inf))
