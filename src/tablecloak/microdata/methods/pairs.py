"""Random pairs of records, under constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Flags, Integers
from tablecloak.errors import ModelError
from tablecloak.microdata.coding import CodedRecords

__all__ = ["Change", "PairConstraint", "draw_pairs"]

Change = Literal["none", "some", "all"]

ROUNDS = 500
"""Most rounds of pairing. Each pairs the records without a partner again.

See docs/decisions.md, "Swapping".
"""

PARTED = 100_000
"""Most new pairs that are examined in one round when existing pairs are separated.

See docs/decisions.md, "Swapping".
"""


@dataclass(frozen=True)
class PairConstraint:
    """Conditions on the two records of a pair.

    Parameters
    ----------
    attributes : sequence of str
        Attributes that a pair exchanges.
    must_change : {"none", "some", "all"}
        Whether the records must differ in none, some or all of these.
    equal_on, differ_on : sequence of str
        Attributes in which the records must agree, and in which they must differ.
    """

    attributes: Sequence[str]
    must_change: Change = "none"
    equal_on: Sequence[str] = ()
    differ_on: Sequence[str] = ()

    @property
    def is_free(self) -> bool:
        """Whether any two records may be a pair."""
        return self.must_change == "none" and not self.differ_on and not self.equal_on

    def strata(self, records: CodedRecords) -> Integers:
        """Return the combination of `equal_on` of each record, numbered from 0."""
        found = _codes(records, self.equal_on)
        return np.zeros(records.n_records, dtype=np.int64) if found is None else found

    def admits(self, records: CodedRecords, pairs: Integers) -> Flags:
        """Whether each pair of positions differs where it must; `equal_on` is not checked."""
        differs = [_differ(records, name, pairs) for name in self.attributes]
        good = np.ones(len(pairs), dtype=bool)
        if self.must_change == "all":
            good &= np.logical_and.reduce(differs)
        elif self.must_change == "some":
            good &= np.logical_or.reduce(differs)
        for name in self.differ_on:
            good &= _differ(records, name, pairs)
        return good

    def most_pairs(self, records: CodedRecords) -> tuple[int, str]:
        """Return an upper limit on the number of pairs, and its reason in words.

        If more than half of the records agree where a pair must differ, each of them needs a
        partner among the others.
        """
        stratum = self.strata(records).astype(np.int64)
        sizes = np.bincount(stratum)
        limit = int(np.sum(sizes // 2)), "records agree in `equal_on`"
        if self.must_change == "some":
            together = records.combined(self.attributes)
            limit = _lower(limit, stratum, together, sizes, "swap attributes")
        changing = [*self.differ_on, *(self.attributes if self.must_change == "all" else ())]
        for name in changing:
            codes = records.codes[records.position(name)].astype(np.int64)
            limit = _lower(limit, stratum, codes, sizes, repr(name))
        return limit


def draw_pairs(
    records: CodedRecords,
    constraint: PairConstraint,
    wanted: int,
    random: np.random.Generator,
) -> Integers:
    """Return random pairs of positions that satisfy a constraint, shape (wanted, 2).

    Raises
    ------
    ModelError
        If fewer are found in `ROUNDS` rounds of pairing.
    """
    if constraint.is_free:
        chosen = random.choice(records.n_records, 2 * wanted, replace=False)
        return chosen.reshape(-1, 2).astype(np.int64)
    draw = _Draw(records, constraint, random)
    for turn in range(ROUNDS):
        missing = wanted - len(draw.pairs)
        if missing <= 0:
            return draw.pairs
        # The first round pairs only as many records as are wanted; later ones all that are left,
        # since those are harder to pair.
        fitting = draw.fitting(records.n_records if turn else missing)[:missing]
        if len(fitting) or not turn:
            draw.take(np.concatenate([draw.pairs, fitting]))
        else:
            draw.part(missing)
    if len(draw.pairs) < wanted:
        raise ModelError(
            f"Only {len(draw.pairs)} of {wanted} pairs were found that satisfy the "
            f"constraints. Lower `rate`, or relax `must_change`, `equal_on` or `differ_on`."
        )
    return draw.pairs


class _Draw:
    """The pairs that were drawn so far, and the records in none of them."""

    def __init__(
        self, records: CodedRecords, constraint: PairConstraint, random: np.random.Generator
    ) -> None:
        self.records = records
        self.constraint = constraint
        self.random = random
        self.stratum = _codes(records, constraint.equal_on)
        self.pairs: Integers = np.empty((0, 2), dtype=np.int64)
        self.unused: Flags = np.ones(records.n_records, dtype=bool)

    def take(self, pairs: Integers) -> None:
        """Replace all pairs."""
        self.pairs = pairs
        self.unused[:] = True
        self.unused[pairs.ravel()] = False

    def fitting(self, most: int) -> Integers:
        """Pair unused records at random, and return the pairs that satisfy the constraint."""
        candidates = self._paired(np.flatnonzero(self.unused), most)
        return candidates[self.constraint.admits(self.records, candidates)]

    def _paired(self, unused: Integers, most: int) -> Integers:
        """Pair unused records at random, within strata if there are any."""
        if self.stratum is None:
            size = min(len(unused) // 2, most)
            return self.random.choice(unused, 2 * size, replace=False).reshape(-1, 2)
        # Two in each stratum more than wanted, since one of each may stay alone.
        size = min(len(unused), 2 * most + 2 * int(self.stratum.max(initial=0)) + 2)
        shuffled = self.random.choice(unused, size, replace=False)
        ordered = shuffled[np.argsort(self.stratum[shuffled], kind="stable")]
        label = self.stratum[ordered]
        start = np.flatnonzero(np.concatenate([[True], label[1:] != label[:-1]]))
        within = np.arange(len(label)) - np.repeat(
            start, np.diff(np.concatenate([start, [len(label)]]))
        )
        first = np.flatnonzero((within[:-1] % 2 == 0) & (label[:-1] == label[1:]))
        pairs: Integers = self.random.permutation(
            np.column_stack([ordered[first], ordered[first + 1]])
        )
        return pairs

    def part(self, missing: int) -> None:
        """Separate pairs whose two records can each be paired with an unused record.

        Unused records that fit with no other unused record are paired in this way.
        """
        pairs = self.pairs
        left = self.random.permutation(np.flatnonzero(self.unused))
        size = min(len(left) // 2, len(pairs))
        # Each two unused records are tried with many pairs.
        repeated = max(1, min(PARTED // max(size, 1), len(pairs) // max(size, 1)))
        at = self.random.permutation(len(pairs))[: size * repeated]
        one, other = np.tile(left[:size], repeated), np.tile(left[size : 2 * size], repeated)
        first = np.column_stack([one, pairs[at, 0]])
        second = np.column_stack([other, pairs[at, 1]])
        admits = self.constraint.admits
        good = admits(self.records, first) & admits(self.records, second)
        if self.stratum is not None:
            stratum = self.stratum
            good &= (stratum[pairs[at, 0]] == stratum[one]) & (stratum[one] == stratum[other])
        hits = np.flatnonzero(good)
        # Use each unused record once.
        hits = hits[np.unique(one[hits], return_index=True)[1]][:missing]
        if len(hits):
            kept = np.delete(pairs, at[hits], axis=0)
            self.take(np.concatenate([kept, first[hits], second[hits]]))


def _differ(records: CodedRecords, name: str, pairs: Integers) -> Flags:
    codes = records.codes[records.position(name)]
    return np.asarray(codes[pairs[:, 0]] != codes[pairs[:, 1]])


def _lower(
    limit: tuple[int, str], stratum: Integers, codes: Integers, sizes: Integers, name: str
) -> tuple[int, str]:
    """Lower a limit on pairs whose records must differ in some codes.

    A stratum has at most as many pairs as half of its records, and as its records without the most
    frequent code.
    """
    width = int(codes.max(initial=0)) + 1
    count = np.bincount(stratum * width + codes)
    largest = np.zeros(len(sizes), dtype=np.int64)
    np.maximum.at(largest, np.arange(len(count)) // width, count)
    possible = int(np.sum(np.minimum(sizes // 2, sizes - largest)))
    return (possible, f"records agree in {name}") if possible < limit[0] else limit


def _codes(records: CodedRecords, names: Sequence[str]) -> Integers | None:
    """Return each record's combination of some attributes, numbered from 0; None without any."""
    if not len(names):
        return None
    found = records.combined(names)
    # Small types are sorted without comparisons.
    return found.astype(np.min_scalar_type(int(found.max(initial=0))))
