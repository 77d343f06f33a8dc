"""Records in need are placed in classes by prices.

What a release costs above the bound is the sum of what its classes collect too little. Classes that
lack least for each record in need are therefore formed first, all that do not compete at once, with
prices that stay as they are: a Lagrangian heuristic as for set covering [1]_.

References
----------
.. [1] Caprara, Fischetti, Toth: A heuristic method for the set covering problem, Operations
   Research 47, 1999.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.class_pairs import ClassPairs, before

LACKING = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, np.inf)
"""What classes may lack for each record in need, in turns, as a share of the mean price."""

MANY_ROUNDS = 400
"""Most rounds of one turn."""


@dataclass(eq=False)
class Placing:
    """Where records are: how many of each pair, and of each lender in each class.

    Parameters
    ----------
    pairs : ClassPairs
    left : numpy.ndarray of int, shape (n_need,)
        Records that are in no class yet.
    spare : numpy.ndarray of int, shape (n_patterns,)
        Records that each pattern can still lend.
    taken : numpy.ndarray of int, shape (n_pairs,)
    lent : numpy.ndarray of int, shape (n_lenders,)
    is_open : numpy.ndarray of bool, shape (n_classes,)
        Classes that have k records.
    """

    pairs: ClassPairs
    left: Integers
    spare: Integers
    taken: Integers
    lent: Integers
    is_open: Flags

    @classmethod
    def empty(cls, pairs: ClassPairs, frequency: Integers) -> Placing:
        """Return the state in which all records in need are left.

        Parameters
        ----------
        pairs : ClassPairs
        frequency : numpy.ndarray of int, shape (n_patterns,)
        """
        return cls(
            pairs=pairs,
            left=pairs.frequency.copy(),
            spare=np.maximum(frequency - pairs.k, 0),
            taken=np.zeros(len(pairs.pattern), dtype=np.int64),
            lent=np.zeros(len(pairs.lender), dtype=np.int64),
            is_open=pairs.is_open.copy(),
        )

    @property
    def cost(self) -> float:
        """Cost of all records that are placed."""
        return float(self.taken @ self.pairs.cost + self.lent @ self.pairs.lender_cost)

    def fill(
        self,
        price: Floats,
        random: np.random.Generator,
        budget: Budget,
        lacking: tuple[float, ...] = LACKING,
    ) -> None:
        """Place the records that are left, as far as classes can be formed.

        Parameters
        ----------
        price : numpy.ndarray of float, shape (n_need,)
        random : numpy.random.Generator
            Decides between equal classes.
        budget : Budget
        """
        unit = float(np.mean(price)) if len(price) else 0.0
        for limit in lacking:
            for _ in range(MANY_ROUNDS):
                if (
                    budget.is_over
                    or not self.left.any()
                    or not self._round(price, limit * unit, random)
                ):
                    break

    def _round(self, price: Floats, limit: float, random: np.random.Generator) -> bool:
        """Form all classes that lack little and less than those that compete with them."""
        pairs = self.pairs
        at = np.flatnonzero(self.left[pairs.pattern] > 0)
        classes, group = np.unique(pairs.group[at], return_inverse=True)
        over = price[pairs.pattern[at]] - pairs.cost[at]
        order = np.lexsort((-over, group))
        at, group, over = at[order], group[order], over[order]
        there = self.left[pairs.pattern[at]]
        # A class that exists takes anybody, and one record at least to be of use.
        least = np.where(self.is_open[classes], 1, pairs.k)
        forced = np.clip(least[group] - before(group, there), 0, there)
        wanted = np.where(over >= 0, there, forced)
        size = np.bincount(group, weights=wanted, minlength=len(classes))
        gain = np.bincount(group, weights=wanted * over, minlength=len(classes))
        lacking = np.asarray(-gain, dtype=np.float64)
        recruits = np.maximum(least - size, 0).astype(np.int64)
        calling = recruits > 0
        lacking[calling] += recruits[calling] * pairs.recruit_cost[classes[calling]]
        score = lacking / np.maximum(size, 1) * (1 + 1e-6 * random.random(len(classes)))
        score += 1e-9 * random.random(len(classes))
        score[calling & (self._supply(classes) < recruits)] = np.inf
        score[score > limit] = np.inf
        joining = (wanted > 0) & np.isfinite(score[group])
        at, group, wanted = at[joining], group[joining], wanted[joining]
        best = np.full(len(self.left), np.inf)
        np.minimum.at(best, pairs.pattern[at], score[group])
        beaten = score[group] > best[pairs.pattern[at]]
        formed = np.isfinite(score)
        formed[group[beaten]] = False
        for each in np.flatnonzero(formed & calling)[np.argsort(score[formed & calling])]:
            formed[each] = self._recruit(int(classes[each]), int(recruits[each]))
        inside = formed[group]
        self.taken[at[inside]] += wanted[inside]
        np.subtract.at(self.left, pairs.pattern[at[inside]], wanted[inside])
        self.is_open[classes[formed]] = True
        return bool(inside.any())

    def _supply(self, classes: Integers) -> Integers:
        """Return how many recruits some classes can call."""
        pairs = self.pairs
        supply = np.bincount(
            pairs.lender_group, weights=self.spare[pairs.lender], minlength=pairs.n_classes
        )
        return supply[classes].astype(np.int64)

    def _recruit(self, group: int, number: int) -> bool:
        """Call recruits to a class, the cheapest first; return whether there were enough."""
        pairs = self.pairs
        begin, end = np.searchsorted(pairs.lender_group, [group, group + 1])
        spare = self.spare[pairs.lender[begin:end]]
        if int(spare.sum()) < number:
            return False
        order = np.lexsort((-spare, pairs.lender_cost[begin:end]))
        called = np.clip(number - (np.cumsum(spare[order]) - spare[order]), 0, spare[order])
        self.lent[begin + order] += called
        self.spare[pairs.lender[begin + order]] -= called
        return True
