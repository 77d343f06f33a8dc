"""Unfinished patterns: the cells suppressed and the witnesses found so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.proof.witness import WitnessPool


@dataclass(frozen=True, eq=False)
class Candidate:
    """A pattern with its proof, which may still be incomplete.

    Parameters
    ----------
    hidden : numpy.ndarray of bool, shape (n_unknown,)
        Which cells of the pool's system (all that may be suppressed) are suppressed.
    pool : WitnessPool
    weights : numpy.ndarray of float, shape (n_unknown,)
        Weights of these cells.
    """

    hidden: Flags
    pool: WitnessPool
    weights: Floats

    @property
    def is_proved(self) -> bool:
        """Whether all sensitive cells are proved to be protected."""
        return not np.any(self.pool.open)

    @property
    def loss(self) -> float:
        """Weight of all suppressed cells."""
        return float(self.weights[self.hidden].sum())


def costliest_first(cells: Flags, weights: Floats) -> Integers:
    """Return the cells with a positive weight, the largest weight first."""
    some = np.flatnonzero(cells & (weights > 0))
    ordered: Integers = some[np.argsort(-weights[some], kind="stable")]
    return ordered


def completed(partial: Candidate, given: Candidate, must: Flags) -> Candidate:
    """Return a pattern whose open needs are met by the witnesses of the given one."""
    pool = partial.pool
    if not partial.is_proved:
        pool = pool.copy()
        pool.take(given.pool.proof(pool.open).witnesses)
    return Candidate(must | pool.moved(), pool, partial.weights)


def cheaper(best: Candidate, other: Candidate) -> Candidate:
    """Return the other pattern if it is proved and loses less."""
    return other if other.is_proved and other.loss < best.loss else best
