"""Chooses how many classes a deletion publishes at once: as many as the needs can do without.

Beyond a rank of some hundreds a check takes up to a second, and the heaviest classes together
mostly fail it. Let M be as in module `capacity`. The capacity of a need with row q is q'M^-1 q, the
square of how far it can move for a given weighted length. If a class with row c is published, the
capacity falls by the share

    (q'M^-1 c)^2 / (q'M^-1 q  c'M^-1 c),

the strain of the class on the need. The shares of several classes are added up, as if they did not
depend on each other. A need whose best point stays far within all rooms can lose more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as dense

from tablecloak.arrays import Floats, Integers
from tablecloak.suppression.search.nullspace.capacity import EACH_RANK, Capacity
from tablecloak.suppression.search.nullspace.space import Space

__all__ = ["LEAST_BLOCK", "Blocks", "Strain"]

BLOCK, LEAST_BLOCK = 1 / 3, 8
"""Share of the rank, and least number, of the classes published at once. docs/decisions, "Null
space"."""

REFUSED = 1 / 3
"""Factor on what is published at once after a refusal."""

FIRST_SHARE, RISE = 0.5, 1.5
"""Share of the spare capacity of needs that the first block may take, and factor on it after each
success. docs/decisions, "Null space"."""

CAREFUL_RANK = 400
"""Rank above which a refusal makes all later blocks careful. Below it checks are quick, and trying
the heaviest classes one by one ends in lighter patterns. docs/decisions, "Null space"."""

LEAST_SPARE = 0.1
"""Spare capacity of a need that least squares barely prove or leave open; other weights may prove
it. docs/decisions, "Null space"."""


@dataclass(frozen=True, eq=False)
class Strain:
    """Expected loss of capacity of each need if a class is published.

    Parameters
    ----------
    shares : numpy.ndarray of float, shape (n_needed, n_classes)
        Share of the capacity of a need that is lost with a class, from 0 to 1.
    spare : numpy.ndarray of float, shape (n_needed,)
        Share of its capacity that each need can lose.
    """

    shares: Floats
    spare: Floats

    @classmethod
    def of(cls, space: Space) -> Strain | None:
        """Return the strain of all classes on all needs; None if M has no factor."""
        capacity, needed = Capacity(space), space.needed
        factor = capacity.factor(np.ones(len(space.rows)))
        if factor is None:
            return None
        turned = dense.solve_triangular(factor[0], space.rows.T, lower=True, check_finite=False)
        length = np.sqrt(np.einsum("ij,ij->j", turned, turned))
        turned /= np.maximum(length, np.finfo(float).tiny)
        points = dense.cho_solve(factor, space.rows[needed].T, check_finite=False)
        _, excess = capacity.excess(points, needed)
        spare = np.maximum(1 - np.minimum(excess, 1.0) ** 2, LEAST_SPARE)
        return cls((turned[:, needed].T @ turned) ** 2, spare)

    def block(self, order: Integers, share: float, most: int) -> Integers:
        """Return classes that together take at most a share of what each need can lose.

        Parameters
        ----------
        order : numpy.ndarray of int
            Classes, the most wanted first.
        share : float
        most : int
            Most classes to return.
        """
        used, spare = np.zeros(len(self.spare)), share * self.spare
        chosen: list[int] = []
        # Classes that take too much alone are left out at once; few of the others are looked at.
        possible = np.all(self.shares[:, order] <= spare[:, None], axis=0)
        for each in order[possible].tolist():
            if len(chosen) == most:
                break
            more = used + self.shares[:, each]
            if np.all(more <= spare):
                used = more
                chosen.append(each)
        return np.array(chosen, dtype=np.int64)


class Blocks:
    """Chooses the classes that a deletion tries to publish next.

    These are the heaviest ones. After a first refusal at a high rank they are the heaviest of
    those that strain no need too much; where there are no two of them, the heaviest one alone.

    Parameters
    ----------
    rank : int
        Rank of the null space at the start.
    """

    def __init__(self, rank: int) -> None:
        self.size = _most(rank)
        self.share = FIRST_SHARE
        self.is_careful = self.is_single = False
        self.strain: Strain | None = None

    def next(self, space: Space, order: Integers) -> Integers:
        """Return the classes to publish.

        Parameters
        ----------
        space : Space
        order : numpy.ndarray of int
            Classes that may be published, the heaviest first.
        """
        if not self.is_careful or space.rank <= EACH_RANK:
            return order[: min(self.size, space.rank - 1)]
        if self.strain is None:
            self.strain = Strain.of(space)
        if self.strain is not None and not self.is_single:
            block = self.strain.block(order, self.share, _most(space.rank))
            if len(block) > 1:
                return block
        self.is_single = True
        return order[:1]

    def accept(self, rank: int) -> None:
        """Publish more at once next time; `rank` is what is left."""
        self.size = max(LEAST_BLOCK, min(2 * self.size, int(rank * BLOCK)))
        self.share = FIRST_SHARE if self.is_single else min(RISE * self.share, 1.0)
        self.strain, self.is_single = None, False

    def refuse(self, n_classes: int, rank: int) -> None:
        """Publish fewer at once next time; classes refused together may be possible alone."""
        self.size = max(1, int(n_classes * REFUSED))
        if self.strain is not None:
            self.share *= REFUSED
        self.is_careful = self.is_careful or rank > CAREFUL_RANK


def _most(rank: int) -> int:
    return max(LEAST_BLOCK, int(rank * BLOCK))
