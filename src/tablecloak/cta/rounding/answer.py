"""The answer of a search for a rounding: values, with a proof of how near to the truth they are."""

from __future__ import annotations

from dataclasses import dataclass

from tablecloak.arrays import Floats, Integers
from tablecloak.solve.branch import BranchTree


@dataclass(frozen=True, eq=False)
class RoundingBound:
    """Proof of the bound on the loss of any rounding, as a search keeps it.

    Parameters
    ----------
    tree : BranchTree or None
        None if multipliers of the relaxation suffice.
    duals : numpy.ndarray of float
        Multipliers of the relations.
    """

    tree: BranchTree | None
    duals: Floats


@dataclass(frozen=True, eq=False)
class Rounding:
    """A rounded table, and the proof of how near to the truth it is.

    Parameters
    ----------
    values : numpy.ndarray of int, shape (n_cells,)
    proof : RoundingBound
    steps : int
        Every value is less than so many times the base away from the truth.
    notes : tuple of str, default=()
    """

    values: Integers
    proof: RoundingBound
    steps: int
    notes: tuple[str, ...] = ()
