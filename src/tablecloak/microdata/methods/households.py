"""Households: their members, and pairs of similar households in different areas."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords

__all__ = ["HouseholdPairs", "Households", "joined"]

ROUNDS = 200
"""Most rounds of pairing at one level with one profile. Each pairs those without a partner again.

See docs/decisions.md, "Swapping".
"""


class Households:
    """The households of records, and their members."""

    def __init__(self, frame: pd.DataFrame, name: str) -> None:
        coded = CodedRecords.of(frame, [name], refuse_missing=True)
        self.of_record: Integers = coded.codes[0].astype(np.int64)
        self.names = coded.categories[0]
        self.count = len(self.names)
        self.first: Integers = np.unique(self.of_record, return_index=True)[1]
        self.size: Integers = np.bincount(self.of_record)

    def require_one(self, area: Integers, name: str) -> None:
        """Refuse households whose members live in different areas.

        Raises
        ------
        InputError
            Names the household and the column.
        """
        other = np.flatnonzero(area != area[self.first][self.of_record])
        if len(other):
            home = self.names[self.of_record[other[0]]]
            raise InputError(
                f"Members of household {home!r} have different values in {name!r}. A household "
                f"must live in one area: split it, or give all members the same value."
            )

    def least(self, count: Floats) -> Floats:
        """Return the smallest count of any member, shape (n_households,)."""
        smallest = np.full(self.count, np.inf)
        np.minimum.at(smallest, self.of_record, count)
        return smallest


class HouseholdPairs:
    """The pairs of households found so far.

    Parameters
    ----------
    count : int
        Number of households.
    chance : numpy.ndarray of float, shape (n_households,)
        The higher, the earlier a household tends to be chosen.
    random : numpy.random.Generator
    """

    def __init__(self, count: int, chance: Floats, random: np.random.Generator) -> None:
        self.used = np.zeros(count, dtype=bool)
        self.chance = chance
        self.random = random
        self._found: list[tuple[Integers, int, bool]] = []

    @property
    def pairs(self) -> Integers:
        """Positions of the two households of each pair, shape (m, 2)."""
        empty = np.empty((0, 2), dtype=np.int64)
        return np.concatenate([empty, *(pairs for pairs, _, _ in self._found)])

    @property
    def levels(self) -> Integers:
        """Level of the geography at which each pair was made."""
        return np.repeat(
            np.array([level for _, level, _ in self._found], dtype=np.int64),
            [len(pairs) for pairs, _, _ in self._found],
        )

    @property
    def forced(self) -> Flags:
        """Whether each pair was made because a household was risky."""
        return np.repeat(
            np.array([forced for _, _, forced in self._found], dtype=bool),
            [len(pairs) for pairs, _, _ in self._found],
        )

    def draw(self, homes: Integers) -> Floats:
        """Return random numbers whose order tends to have households with high chances first."""
        return self.random.exponential(size=len(homes)) / self.chance[homes]

    def swap(
        self,
        wanted: Flags,
        areas: list[Integers],
        level: int,
        profiles: list[Integers],
        *,
        forced: bool = False,
    ) -> None:
        """Pair some households with others in a different area, within the same area above.

        Parameters
        ----------
        wanted : numpy.ndarray of bool, shape (n_households,)
            Households that need a partner.
        areas : list of numpy.ndarray of int
            Area of each household at each level.
        level : int
            Level at which partners live in different areas.
        profiles : list of numpy.ndarray of int
            Partners agree in the first profile; in the next one if none was found, and so on.
        forced : bool, default=False
            Whether the pairs are made because households are risky.
        """
        above = areas[level - 1] if level else np.zeros(len(wanted), dtype=np.int64)
        for profile in profiles:
            stratum = joined(above, profile)
            for _ in range(ROUNDS):
                seekers = np.flatnonzero(wanted & ~self.used)
                if not len(seekers):
                    return
                pairs = self._matched(seekers, stratum, areas[level])
                if not len(pairs):
                    break
                self.used[pairs.ravel()] = True
                self._found.append((pairs, level, forced))

    def _matched(self, seekers: Integers, stratum: Integers, area: Integers) -> Integers:
        """Pair seekers and donors of equal random rank in a stratum, if their areas differ.

        Three shifts of the donors are tried, and the one with most pairs is taken.
        """
        donors = np.flatnonzero(~self.used & np.isin(stratum, stratum[seekers]))
        # Seekers are donors too, so that two of them may become a pair.
        seekers = seekers[self.random.permutation(len(seekers))]
        donors = donors[np.argsort(self.draw(donors), kind="stable")]
        best = np.empty((0, 2), dtype=np.int64)
        for turn in (1, 2, 3):
            shifted = np.roll(donors, turn * len(donors) // 4) if turn > 1 else donors
            pairs = _by_rank(seekers, shifted, stratum)
            good = pairs[area[pairs[:, 0]] != area[pairs[:, 1]]]
            good = _disjoint(good)
            if len(good) > len(best):
                best = good
        if len(best):
            return best
        return self._one_each(seekers, donors, stratum, area)

    def _one_each(
        self, seekers: Integers, donors: Integers, stratum: Integers, area: Integers
    ) -> Integers:
        """Return one pair in each stratum that has any, where pairing by rank found none."""
        place = joined(stratum, area)
        everywhere, here = np.bincount(stratum[donors]), np.bincount(place[donors])
        # Donors include the seekers, so both counts exist for each seeker.
        elsewhere = everywhere[stratum[seekers]] > here[place[seekers]]
        lucky = seekers[elsewhere]
        lucky = lucky[np.unique(stratum[lucky], return_index=True)[1]]
        home = np.full(int(stratum.max(initial=0)) + 1, -1)
        home[stratum[lucky]] = lucky
        fit = donors[home[stratum[donors]] >= 0]
        fit = fit[area[fit] != area[home[stratum[fit]]]]
        chosen = fit[np.unique(stratum[fit], return_index=True)[1]]
        return _disjoint(np.column_stack([home[stratum[chosen]], chosen]))


def _by_rank(seekers: Integers, donors: Integers, stratum: Integers) -> Integers:
    """Pair the first seeker of each stratum with its first donor, the second with its second."""

    def ranked(homes: Integers) -> tuple[Integers, Integers]:
        order = homes[np.argsort(stratum[homes], kind="stable")]
        label = stratum[order]
        rank = np.arange(len(order)) - np.searchsorted(label, label)
        return order, label * (len(stratum) + 1) + rank

    one, one_key = ranked(seekers)
    other, other_key = ranked(donors)
    _, at, there = np.intersect1d(one_key, other_key, assume_unique=True, return_indices=True)
    return np.column_stack([one[at], other[there]])


def _disjoint(pairs: Integers) -> Integers:
    """Return the pairs, in order, of which neither household is in an earlier pair."""
    count = int(pairs.max(initial=-1)) + 1
    earliest = np.full(count, len(pairs))
    at = np.arange(len(pairs))
    np.minimum.at(earliest, pairs[:, 0], at)
    np.minimum.at(earliest, pairs[:, 1], at)
    kept: Integers = pairs[(earliest[pairs[:, 0]] == at) & (earliest[pairs[:, 1]] == at)]
    return kept


def joined(one: Integers, other: Integers) -> Integers:
    """Return combinations of two labels, numbered from 0 in sorted order."""
    label = one * (int(other.max(initial=0)) + 1) + other
    found: Integers = np.unique(label, return_inverse=True)[1].ravel().astype(np.int64)
    return found
