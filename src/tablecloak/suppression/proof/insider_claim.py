"""The claim that a pattern also holds against one insider."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Integers
from tablecloak.suppression.proof.knowledge import Knowledge

__all__ = ["InsiderClaim"]


@dataclass(frozen=True, eq=False)
class InsiderClaim:
    """The claim that a pattern also holds against one insider.

    Parameters
    ----------
    knowledge : Knowledge
    index : numpy.ndarray of int
        Positions, among all sensitive cells, of those whose common witnesses this insider can rule
        out.
    upper_witness, lower_witness : numpy.ndarray of int
        Witnesses that replace the common ones for these cells.
    open : numpy.ndarray of int
        Positions of sensitive cells for which nothing is claimed against this insider.
    """

    knowledge: Knowledge
    index: Integers
    upper_witness: Integers
    lower_witness: Integers
    open: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
