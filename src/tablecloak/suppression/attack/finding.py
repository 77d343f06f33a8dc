"""The verdict of an audit on one sensitive cell, and its proof."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tablecloak.arrays import Floats, Integers
from tablecloak.suppression.proof.knowledge import Knowledge


class Verdict(Enum):
    """The result of the audit for a sensitive cell."""

    PROTECTED = "protected"
    """Witnesses prove that the intruder's interval is wide enough."""
    ATTACKABLE = "attackable"
    """Multipliers of the relations prove that it is too narrow, or the cell is published."""
    UNDECIDED = "undecided"
    """Neither was proved; treat it as attackable."""


@dataclass(frozen=True, eq=False)
class DisclosureProof:
    """Multipliers of relations that bound how far a cell can move.

    For every table x that the intruder must consider, s (x_p - a_p) <= sum over unknown cells
    of the larger of r_i low_i and r_i high_i, with r = s e_p - A^T gamma.

    Parameters
    ----------
    cell : int
    sign : {1, -1}
        Upwards or downwards.
    limit : float
        The bound that follows.
    relations : numpy.ndarray of int
    multipliers : numpy.ndarray of float
        gamma on these relations.
    """

    cell: int
    sign: int
    limit: float
    relations: Integers
    multipliers: Floats


@dataclass(frozen=True, eq=False)
class Finding:
    """A sensitive cell that an insider can attack, or that is not decided.

    Parameters
    ----------
    intruder : str
        Name of the insider. Secret.
    cell : int
    verdict : Verdict
    limit_above, limit_below : float
        Proved upper bounds on how far the cell can move for this intruder; inf if unknown.
    proofs : tuple of DisclosureProof
        Multipliers that prove these bounds, with the intruder's own bounds as low and high; empty
        for whole numbers, where the proof is a search.
    knowledge : Knowledge or None
        What the intruder knows beyond everybody; None if its knowledge is no bound.
    """

    intruder: str
    cell: int
    verdict: Verdict
    limit_above: float
    limit_below: float
    proofs: tuple[DisclosureProof, ...] = ()
    knowledge: Knowledge | None = None
