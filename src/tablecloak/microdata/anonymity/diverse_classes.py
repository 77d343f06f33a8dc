"""Classes of equal records whose sensitive values are diverse as well: classes are merged until so.

All requirements are closed under union: two classes that are diverse, or close to the file, are so
together [1]_ [2]_. The file as a whole is, so that merging ends. A class that fails joins another
one, or calls a record from a class that can spare it, whichever loses least.

References
----------
.. [1] Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: l-diversity, 2007 (monotonicity).
.. [2] Li, Li, Venkatasubramanian: t-closeness, 2007 (generalisation property).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.patterns import KeyPatterns, bits_of
from tablecloak.microdata.risk.groups import Histograms

NEAREST = 16
"""Classes that are tried as partners of one that fails, those that lose least."""


@dataclass(frozen=True, eq=False)
class SensitiveRecords:
    """The sensitive value of each record, and what is asked of a class.

    Parameters
    ----------
    value : numpy.ndarray of int, shape (n_records,)
    n_values : int
    k : int
    conditions : sequence of callable
    """

    value: Integers
    n_values: int
    k: int
    conditions: Sequence[Callable[[Histograms], Flags]]

    def hold(self, counts: Floats) -> Flags:
        """Return which classes satisfy what is asked.

        Parameters
        ----------
        counts : numpy.ndarray of float, shape (n_classes, n_values)
            How often each value occurs; no class is empty.
        """
        whole = np.bincount(self.value, minlength=self.n_values).astype(np.float64)
        group, value = np.nonzero(counts)
        groups = Histograms(group, value, counts[group, value], len(counts), self.n_values, whole)
        good: Flags = counts.sum(axis=1) >= self.k
        for condition in self.conditions:
            good &= condition(groups)
        return good


def diverse_classes(
    released: KeyPatterns, records: SensitiveRecords, keys: int, costs: Floats, budget: Budget
) -> Integers:
    """Merge classes of equal records until all satisfy what is asked.

    Parameters
    ----------
    released : KeyPatterns
        The patterns of the release so far; a missing value is a value of its own.
    records : SensitiveRecords
    keys : int
        Set of keys by which records are equal.
    costs : numpy.ndarray of float, shape (n_keys,)
    budget : Budget
        When it is over, all classes that fail become one in each stratum.

    Returns
    -------
    numpy.ndarray of int, shape (n_records,)
        Set of missing keys of each record.
    """
    state = _Merging.begun(released, records, list(bits_of(keys)), costs)
    stratum = released.stratum
    for number in np.unique(stratum).tolist():
        while True:
            inside = np.flatnonzero((stratum == number) & state.alive)
            failing = inside[~records.hold(state.counts[inside])]
            if not len(failing):
                break
            if budget.is_over:
                rest = np.setdiff1d(inside, failing)
                for other in failing[1:].tolist():
                    state.join(int(failing[0]), other)
                if len(failing) == 1:
                    state.join(int(failing[0]), int(state.nearest(int(failing[0]), rest)[0]))
                continue
            for one in failing[np.argsort(state.size[failing], kind="stable")].tolist():
                if state.alive[one] and not records.hold(state.counts[[one]])[0]:
                    state.mend(one, inside[state.alive[inside] & (inside != one)])
    return state.lost_of_records()


@dataclass(eq=False)
class _Merging:
    """Classes, which lose keys and members as they merge."""

    records: SensitiveRecords
    positions: list[int]
    weights: Floats
    codes: Integers
    counts: Floats
    alive: Flags
    members: list[Integers]

    @classmethod
    def begun(
        cls, released: KeyPatterns, records: SensitiveRecords, positions: list[int], costs: Floats
    ) -> _Merging:
        """Begin with the classes of a release; the code of a missing value is -1."""
        n = released.n_patterns
        codes = released.matrix[:, positions].copy()
        codes[(released.missing[:, None] >> np.array(positions)) & 1 == 1] = -1
        counts = np.zeros((n, records.n_values))
        np.add.at(counts, (released.of_record, records.value), 1.0)
        order = np.argsort(released.of_record, kind="stable")
        members = np.split(order, np.cumsum(released.frequency)[:-1])
        return cls(
            records, positions, costs[positions], codes, counts, np.ones(n, dtype=bool), members
        )

    @property
    def size(self) -> Floats:
        """Number of records of each class."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64)

    def _losses(self, one: int, others: Integers) -> tuple[Floats, Floats]:
        """Return what a record of a class, and one of each of the others, loses in their union."""
        mine, theirs = self.codes[one], self.codes[others]
        differs = mine != theirs
        return (differs & (mine >= 0)) @ self.weights, (differs & (theirs >= 0)) @ self.weights

    def nearest(self, one: int, others: Integers) -> Integers:
        """Return the other classes in the order of what merging with them loses."""
        mine, theirs = self._losses(one, others)
        cost = mine * len(self.members[one]) + theirs * self.counts[others].sum(axis=1)
        return others[np.argsort(cost, kind="stable")]

    def mend(self, one: int, others: Integers) -> None:
        """Let a class that fails join another one, or call a record from it."""
        mine, theirs = self._losses(one, others)
        n = len(self.members[one])
        size = self.counts[others].sum(axis=1)
        merging, calling = mine * n + theirs * size, mine * n + theirs
        near = np.argsort(merging, kind="stable")[:NEAREST]
        good = near[self.records.hold(self.counts[one] + self.counts[others[near]])]
        best = float(merging[good[0]]) if len(good) else np.inf
        lender, value = self._call(one, others, calling, best)
        if lender >= 0:
            member = self.members[lender]
            called = member[self.records.value[member] == value][:1]
            self.members[lender] = np.setdiff1d(member, called)
            self.counts[lender, value] -= 1
            self._add(one, self.codes[lender], called)
        else:
            self.join(one, int(others[good[0] if len(good) else near[0]]))

    def _call(self, one: int, others: Integers, calling: Floats, best: float) -> tuple[int, int]:
        """Return the class and value of a record that makes a class good for less; -1 if none."""
        for at in np.argsort(calling, kind="stable")[:NEAREST].tolist():
            if calling[at] >= best:
                break
            theirs = self.counts[others[at]]
            values = np.flatnonzero(theirs)
            if len(values) and theirs.sum() > self.records.k:
                taken = np.eye(self.records.n_values)[values]
                good = self.records.hold(theirs - taken)
                good &= self.records.hold(self.counts[one] + taken)
                if good.any():
                    return int(others[at]), int(values[np.argmax(good)])
        return -1, -1

    def join(self, one: int, other: int) -> None:
        """Merge two classes into the first one."""
        self.alive[other] = False
        self._add(one, self.codes[other], self.members[other])

    def _add(self, one: int, codes: Integers, members: Integers) -> None:
        self.codes[one] = np.where(self.codes[one] == codes, codes, -1)
        self.members[one] = np.concatenate([self.members[one], members])
        values = self.records.value[members]
        self.counts[one] += np.bincount(values, minlength=self.records.n_values)

    def lost_of_records(self) -> Integers:
        """Return the missing keys of each record."""
        lost = np.zeros(len(self.records.value), dtype=np.int64)
        for one in np.flatnonzero(self.alive).tolist():
            gone = self.codes[one] < 0
            lost[self.members[one]] = sum(
                1 << key for key, is_gone in zip(self.positions, gone, strict=True) if is_gone
            )
        return lost
