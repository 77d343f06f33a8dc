"""Multipliers that first-order methods found, as a certificate keeps them."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.certificates.tree import Multipliers
from tablecloak.cta.model.answer import LossProof
from tablecloak.cta.model.space import AdjustmentSpace


@dataclass(frozen=True, eq=False)
class FirstOrderBound:
    """One set of multipliers for the whole table, in rows and cells of the table.

    Parameters
    ----------
    multipliers : Multipliers
    direction : numpy.ndarray of int, shape (n_cells,)
        1 or -1 for one cell of each group whose direction was given, to which the bound refers.
    combined : scipy.sparse.csr_array, shape (n_combined, n_relations), optional
        Sums of relations whose balance rows have multipliers, numbered after all relations.
    """

    multipliers: Multipliers
    direction: Integers
    combined: csr_array | None = None

    def loss_proof(self, space: AdjustmentSpace, changes: Floats) -> LossProof:
        """Return a tree of its root alone; see `LossBound.loss_proof`."""
        del space, changes
        return LossProof.of_root(self.multipliers, self.direction, self.combined)
