"""The answer of a search: changes of a table, with a proof of how good they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers, LongFloats
from tablecloak.certificates.claim import rows_of
from tablecloak.certificates.tree import ROOT, Multipliers, Tree, tree_arrays
from tablecloak.cta.model.space import AdjustmentSpace

LATE = "the first table with its proof took longer than the time limit"
"""Note of a search that exceeded its time limit."""


@dataclass(frozen=True, eq=False)
class LossProof:
    """The proof of a bound on the loss, as a certificate keeps it.

    Parameters
    ----------
    trees : tuple of Tree
        Each proves a bound for the cells of one part.
    part : numpy.ndarray of int, shape (n_cells,)
        Number of the tree that counts the cost of a cell, or -1.
    direction : numpy.ndarray of int, shape (n_cells,)
        1 or -1 where a direction was given, to which the bound refers.
    combined : scipy.sparse.csr_array, shape (n_combined, n_relations), optional
        Sums of relations whose balance rows have multipliers, numbered after all relations.
    """

    trees: tuple[Tree, ...]
    part: Integers
    direction: Integers
    combined: csr_array | None = None

    @classmethod
    def of_root(
        cls, multipliers: Multipliers, direction: Integers, combined: csr_array | None = None
    ) -> LossProof:
        """Return a proof by one set of multipliers for the whole table."""
        return cls((([ROOT], {0: multipliers}),), np.zeros_like(direction), direction, combined)

    def loss_proof(self, space: AdjustmentSpace, changes: Floats) -> LossProof:
        """Return the proof itself, which holds for every space; see `LossBound`."""
        del space, changes
        return self

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of a certificate."""
        arrays = {**tree_arrays(self.trees), "part": self.part, "direction": self.direction}
        if self.combined is None:
            return arrays
        rows = rows_of("combined", self.combined)
        rows["combined_relations"] = rows.pop("combined_cells")
        return arrays | rows


class LossBound(Protocol):
    """Multipliers that a search found; the bound that they prove is computed by the claim."""

    def loss_proof(self, space: AdjustmentSpace, changes: Floats) -> LossProof:
        """Return the multipliers as a certificate keeps them, rebuilt from the space.

        Parameters
        ----------
        space : AdjustmentSpace
            Source of rows and rooms.
        changes : numpy.ndarray of float, shape (n_cells,)
            Of the released table, in the unit of the space.
        """


@dataclass(frozen=True, eq=False)
class AdjustmentAnswer:
    """Changes that a search found in a space, with a proof.

    Parameters
    ----------
    changes : numpy.ndarray of longdouble, shape (n_cells,)
        In the unit of the space.
    is_whole : bool
        Whether they are whole numbers.
    certificate : LossBound or None
        None if nothing has to change.
    notes : tuple of str, default=()
    """

    changes: LongFloats
    is_whole: bool
    certificate: LossBound | None
    notes: tuple[str, ...] = ()
