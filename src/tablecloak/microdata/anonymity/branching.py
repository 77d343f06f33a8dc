"""The best classes of small files, proved by branching over which classes exist.

The mixed-integer program is::

    min   sum over S of w(S) sum of x(p,S) over p
    with  sum over S of x(p,S) = f(p),   x(p,S) <= f(p) y(g),
          sum of x(p,S) over p in g >= k y(g),   y(g) 0 or 1

x(p,S) of the f(p) records of pattern p are changed in the way S, such as losing some keys, g is
their group by what is released, and y(g) says whether it is a class. Its relaxation is as strong
as prices are. Pairs of a pattern and a class with which every release would be as dear as a known
one are dropped first, most of them; see `tablecloak.microdata.anonymity.class_tree`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.class_tree import ClassSplit, ClassTree
from tablecloak.microdata.anonymity.classes import Collected, Way
from tablecloak.microdata.anonymity.verification import rounded_up
from tablecloak.solve.branch import BranchTree, branch_and_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program

MANY_PLACES = 500_000
"""Most pairs of a pattern and a way of a file that is searched like this."""

FEW_PLACES = 8_000
"""Most of them that a program is made of, after those that are too dear are dropped."""

FINE_BITS = 36
"""Binary digits of prices below the largest cost, so that sums of them are exact."""

STEEP = 1e3
"""Factor by which multipliers that prove a case empty are raised to prices that reach any bound."""


@dataclass(frozen=True, eq=False)
class Places:
    """Patterns and the classes that their records may be in.

    Parameters
    ----------
    k : int
    frequency : numpy.ndarray of int, shape (n_patterns,)
    pattern, group : numpy.ndarray of int, shape (n_places,)
        Pattern and class.
    cost : numpy.ndarray of float, shape (n_places,)
        What the class costs a record of the pattern.
    way : numpy.ndarray of int, shape (n_classes,)
        Number of the way of each class.
    """

    k: int
    frequency: Integers
    pattern: Integers
    group: Integers
    cost: Floats
    way: Integers

    @classmethod
    def of(cls, frequency: Integers, k: int, ways: Iterable[Way]) -> Places:
        """List all places in classes that k records can form."""
        parts: list[tuple[npt.NDArray[np.generic], ...]] = []
        n_classes = 0
        for way in ways:
            label, n_groups = way.groups()
            may = np.isfinite(way.cost)
            size = np.bincount(label, weights=frequency * may, minlength=n_groups)
            good = np.flatnonzero(may & (size[label] >= k))
            present, which = np.unique(label[good], return_inverse=True)
            numbers = np.full(len(present), way.number)
            parts.append((good, n_classes + which.ravel(), way.cost[good], numbers))
            n_classes += len(present)
        return cls(k, frequency, *(np.concatenate(part) for part in zip(*parts, strict=True)))

    def kept(self, is_kept: Flags) -> Places:
        """Return some places, those in classes that cannot be formed any more left out."""
        number, count = self.group, self.frequency[self.pattern] * is_kept
        size = np.bincount(number, weights=count, minlength=len(self.way))
        is_kept = is_kept & (size[number] >= self.k)
        present, group = np.unique(number[is_kept], return_inverse=True)
        return replace(
            self,
            pattern=self.pattern[is_kept],
            group=group.ravel(),
            cost=self.cost[is_kept],
            way=self.way[present],
        )

    def on_grid(self, price: Floats) -> Floats:
        """Return prices as whole multiples of a power of two."""
        grid = 2.0 ** (np.ceil(np.log2(self.cost.max())) - FINE_BITS)
        return np.asarray(np.rint(price / grid) * grid)

    def lonely(self) -> Flags:
        """Return the patterns that have no place, shape (n_patterns,)."""
        return np.asarray(np.bincount(self.pattern, minlength=len(self.frequency)) == 0)

    def _collected(self, price: Floats) -> Collected:
        over = price[self.pattern] - self.cost
        least = np.full(len(self.way), self.k)
        return Collected.of(self.group, over, self.frequency[self.pattern], least)

    def least_loss(self, price: Floats) -> tuple[float, Floats]:
        """Return what prices prove, for all releases and for those with a record in each place."""
        part = self._collected(price)
        bound = float(price @ self.frequency - np.maximum(part.gain, 0).sum())
        return bound, bound + np.maximum(-part.gain, 0)[self.group] + part.more

    def in_case(self, price: Floats, exists: Flags, may_exist: Flags) -> float:
        """Return what prices prove where some classes exist and others do not."""
        gain = self._collected(price).gain
        gain = np.where(exists, gain, np.where(may_exist, np.maximum(gain, 0.0), 0.0))
        return float(price @ self.frequency - gain.sum())

    def program(self) -> Program:
        """Return the program over these places."""
        n_x, n_y, n_p = len(self.pattern), len(self.way), len(self.frequency)
        there = self.frequency.astype(np.float64)
        x, y = np.arange(n_x), n_x + np.arange(n_y)
        entries = [
            (np.ones(n_x), self.pattern, x),
            (np.ones(n_x), n_p + self.group, x),
            (np.full(n_y, -float(self.k)), n_p + np.arange(n_y), y),
            (-np.ones(n_x), n_p + n_y + x, x),
            (there[self.pattern], n_p + n_y + x, n_x + self.group),
        ]
        data, rows, columns = (np.concatenate(each) for each in zip(*entries, strict=True))
        shape = (n_p + n_y + n_x, n_x + n_y)
        return Program(
            cost=np.concatenate([self.cost, np.zeros(n_y)]),
            matrix=csr_array(coo_array((data, (rows, columns)), shape=shape)),
            row_lower=np.concatenate([there, np.zeros(n_y + n_x)]),
            row_upper=np.concatenate([there, np.full(n_y + n_x, np.inf)]),
            lower=np.zeros(n_x + n_y),
            upper=np.concatenate([there[self.pattern], np.ones(n_y)]),
            # Where classes are given, the best numbers are whole.
            integral=np.arange(n_x + n_y) >= n_x,
        )

    def placed(self, x: Floats) -> tuple[Integers, Integers, Integers] | None:
        """Return how many records of a pattern are changed in which way; None if not allowed."""
        taken = np.rint(x[: len(self.pattern)]).astype(np.int64)
        size = np.bincount(self.group, weights=taken, minlength=len(self.way))
        there = np.bincount(self.pattern, weights=taken, minlength=len(self.frequency))
        if not np.array_equal(there, self.frequency) or np.any((size > 0) & (size < self.k)):
            return None
        return self.pattern, self.way[self.group], taken


Placed = tuple[Integers, Integers, Integers]
"""Patterns, ways, and how many records of a pattern are changed in this way."""


@dataclass(frozen=True, eq=False)
class BranchedClasses:
    """What branching over classes found.

    Parameters
    ----------
    placed : tuple of numpy.ndarray of int, optional
        Patterns, ways and numbers of records, if they cost less than what was known.
    bound : float
    rounds : list of numpy.ndarray of float, each of shape (n_patterns,)
        Prices by which places were dropped.
    places : Places
        Those that are left.
    tree : BranchTree, optional
        Proves the bound; None if the prices of the last round do.
    """

    placed: Placed | None
    bound: float
    rounds: list[Floats]
    places: Places
    tree: BranchTree | None

    def proof(
        self, of_record: Integers, node_of: Callable[[int], Sequence[int]], *, is_whole: bool
    ) -> ClassTree:
        """Return the proof by records.

        Parameters
        ----------
        of_record : numpy.ndarray of int, shape (n_records,)
            Pattern of each record.
        node_of : callable
            Returns the levels of the keys in a way.
        is_whole : bool
            Whether all losses are whole numbers.
        """
        rounds = [price[of_record] for price in self.rounds]
        places = self.places
        n_patterns, n_x = len(places.frequency), len(places.pattern)
        if self.tree is None:
            return ClassTree(rounds, [ClassSplit(-1, (), 0, True)], {0: rounds[-1]}, self.bound)
        first = np.zeros(n_patterns, dtype=np.int64)
        first[of_record[::-1]] = np.arange(len(of_record))[::-1]
        some = np.zeros(len(places.way), dtype=np.int64)
        some[places.group] = first[places.pattern]
        nodes, parents = [ClassSplit(-1, (), 0, True)], {-1}
        for node in self.tree.nodes[1:]:
            group = node.column - n_x
            levels = node_of(int(places.way[group]))
            nodes.append(ClassSplit(node.parent, levels, int(some[group]), node.is_lower))
            parents.add(node.parent)
        program = places.program()
        prices, bound = {}, self.bound
        for leaf in set(range(len(nodes))) - parents:
            duals = self.tree.multipliers.get(leaf, np.zeros(n_patterns))[:n_patterns]
            lower, upper = self.tree.box(program, leaf)
            case = lower[n_x:] > 0, upper[n_x:] > 0
            tried = [places.on_grid(price) for price in (duals, STEEP * duals)]
            proved = [places.in_case(price, *case) for price in tried]
            prices[leaf], bound = tried[int(np.argmax(proved))], min(bound, max(proved))
        bound = rounded_up((1 - 1e-9) * bound, is_whole=is_whole)
        by_record = {leaf: price[of_record] for leaf, price in prices.items()}
        return ClassTree(rounds, nodes, by_record, bound)


def branched_classes(
    frequency: Integers,
    k: int,
    ways: Iterable[Way],
    price: Floats,
    loss: float,
    step: float,
    budget: Budget,
) -> BranchedClasses | None:
    """Search for the best classes, and prove that no others cost less.

    Parameters
    ----------
    frequency : numpy.ndarray of int, shape (n_patterns,)
    k : int
    ways : iterable of Way
    price : numpy.ndarray of float, shape (n_patterns,)
        Prices that prove much.
    loss : float
        That of a known release.
    step : float
        Of which all losses are multiples; 0 if there is none.
    budget : Budget

    Returns
    -------
    BranchedClasses or None
        None for files that are too large, or without time.
    """
    if budget.is_over or not np.any(frequency < k):
        return None
    places = Places.of(frequency, k, ways)
    rounds = [places.on_grid(price)]
    least = places.least_loss(rounds[0])[1]

    def cutoff() -> float:
        # A little above, so that whoever checks drops no fewer places.
        return loss - step + 1e-6 * max(step, loss)

    places = places.kept(least < cutoff())
    if len(places.pattern) > FEW_PLACES:
        return None
    placed = None
    bound, lonely = 0.0, places.lonely()
    if not lonely.any():
        relaxed = LinearSolver(places.program()).solve(budget.at_least(1.0).left)
        if not len(relaxed.duals):
            return None
        rounds.append(places.on_grid(relaxed.duals[: len(frequency)]))
        bound, least = places.least_loss(rounds[1])
        places = places.kept(least < cutoff())
        lonely = places.lonely()
        if bound > cutoff():
            return BranchedClasses(None, loss, rounds, places, None)
    if not lonely.any():
        answer = solve(places.program(), time_limit=budget.share(0.4).left, gap=0.0)
        if len(answer.x) and answer.value < loss * (1 - 1e-9):
            placed, loss = places.placed(answer.x), answer.value
            rounds.append(rounds[1])
            places = places.kept(places.least_loss(rounds[1])[1] < cutoff())
            lonely = places.lonely()
    if lonely.any():
        # Whoever has no place left can pay any price: no release is cheaper than the known one.
        rounds, bound = [*rounds, rounds[-1] + loss * lonely], loss
    else:
        result = branch_and_bound(places.program(), value=loss, step=step, budget=budget)
        placed = places.placed(result.x) if len(result.x) else placed
        return BranchedClasses(placed, result.bound, rounds, places, result.tree)
    return BranchedClasses(placed, bound, rounds, places, None)
