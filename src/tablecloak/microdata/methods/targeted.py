"""Targeted swapping: risky households exchange their place of residence.

A household is risky at a level of the geography if one of its members is among fewer than k
people with the same characteristics in its area. It exchanges its geography with a similar
household of another area of that level, within the same area of the level above, so that counts
above that level do not change. Households that are not risky are swapped too, up to a rate in each
area of the lowest level, so that a wrong place does not reveal a risky household.

References
----------
.. [1] Shlomo, Tudor, Groom: Data swapping for protecting census tables, Privacy in Statistical
   Databases 2010.
.. [2] De Vries et al.: Overview and further development of the record swapping method, Statistics
   Netherlands 2023 (as in sdcMicro's ``recordSwap``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import names_of, numbers_of, row_label, taken_from
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order

ROUNDS = 200
"""Most rounds of pairing at one level with one profile. Each pairs those without a partner again.

See docs/decisions, "Swapping".
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
    return np.asarray(pairs[(earliest[pairs[:, 0]] == at) & (earliest[pairs[:, 1]] == at)])


def joined(one: Integers, other: Integers) -> Integers:
    """Return combinations of two labels, numbered from 0 in sorted order."""
    label = one * (int(other.max(initial=0)) + 1) + other
    return np.asarray(np.unique(label, return_inverse=True)[1].ravel().astype(np.int64))


@dataclass(frozen=True, eq=False)
class TargetedSwapRelease:
    """Swapped records with their report. The pairs are secret.

    Parameters
    ----------
    frame : pandas.DataFrame
        All records in their original order, with exchanged geography and columns carried along.
    pairs : numpy.ndarray of int, shape (m, 2)
        Positions in `households` of the two households of each pair.
    households : numpy.ndarray, shape (n_households,)
        Sorted names of all households.
    level : numpy.ndarray of int, shape (m,)
        Level of the geography at which each pair was swapped, 0 the highest.
    forced : numpy.ndarray of bool, shape (m,)
        Whether each pair was made because a household was risky, not for the rate.
    risky : numpy.ndarray of int, shape (n_households,)
        Highest level at which each household was risky; number of levels if at none.
    alone : numpy.ndarray of int
        Risky households that found no partner and keep their place.
    risk_before, risk : float
        Share of records that are risky at the lowest level before the swap, and of records that
        are risky after it and were not swapped.
    asked : float
        Required rate.
    risk_unweighted : float, optional
        With weights, the share of records that would be risky if records were counted.
    """

    frame: pd.DataFrame
    pairs: Integers
    households: npt.NDArray[np.object_]
    level: Integers
    forced: Flags
    risky: Integers
    alone: Integers
    risk_before: float
    risk: float
    asked: float = 0.0
    risk_unweighted: float | None = None

    @property
    def rate(self) -> float:
        """Share of the households that were swapped."""
        return 2 * len(self.pairs) / len(self.households)

    def summary(self) -> str:
        """Say in one line what the swap did."""
        n_levels = int(self.risky.max(initial=0))
        n_risky = int(np.sum(self.risky < n_levels)) if n_levels else len(self.risky)
        text = (
            f"targeted swapping: {2 * len(self.pairs)} of {len(self.households)} households in "
            f"pairs ({100 * self.rate:.3g} %), {int(self.forced.sum())} pairs for {n_risky} risky "
            f"ones; risk {self.risk:.6g} ({self.risk_before:.6g} before)"
        )
        if len(self.alone):
            text += f"; {len(self.alone)} risky households found no partner and keep their place"
        if self.risk_unweighted is not None:
            text += (
                f"; weights make each record count as many people: of the records themselves, a "
                f"share of {self.risk_unweighted:.6g} is risky"
            )
        if 2 * int(self.forced.sum()) > (self.asked + 0.005) * len(self.households):
            text += (
                f"; a rate of {100 * self.asked:.3g} % was asked for, and risky households are "
                f"swapped beyond it"
            )
        # Of the households of an area a whole number is swapped.
        if self.rate < self.asked - 0.005:
            text += (
                f"; a rate of {100 * self.asked:.3g} % was asked for, but no more households have "
                f"a partner like them in another area"
            )
        return text

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


@METHODS.register
@dataclass(frozen=True)
class TargetedSwapping(Method[TargetedSwapRelease]):
    """Exchange the places of risky households with those of similar ones (targeted swapping).

    Some other households exchange theirs too, so that a wrong place does not reveal a risky one.

    Parameters
    ----------
    hierarchy : sequence of str
        Columns of the geography, the highest level first. An area is known by its codes at all
        levels, so that codes of lower levels may repeat in other areas above.
    household : str
        Column with the name of the household; each member is a record.
    risk_variables : sequence of str
        Characteristics by which an intruder may know a member.
    k : float, default=3
        A member is risky if fewer than k people in its area share its characteristics.
    rate : float, default=0.05
        Share of the households to swap in each area of the lowest level, partners included. It is
        exceeded if more households are risky, and not reached if no partners are left; the release
        reports both.
    similar : sequence of sequences of str, default=((),)
        Profiles, each a list of columns in which the first members of partners agree. Households
        without a partner by one profile try the next. Partners always have equally many members.
    carry_along : sequence of str, default=()
        Columns that are swapped with the geography, such as a district code.
    weight : str, optional
        Column of sampling weights: people are counted by their sum, an estimate of the
        population.

    Examples
    --------
    >>> frame = pd.DataFrame(
    ...     {"county": list("AAAABBBB"), "home": range(8), "job": list("xxxyxxxx")}
    ... )
    >>> release = TargetedSwapping(["county"], "home", ["job"], k=2, rate=0).protect(frame, seed=1)
    >>> int(release.forced.sum()), release.risk
    (1, 0.0)
    """

    name: ClassVar[str] = "swap-households"
    guide: ClassVar[str] = (
        "Example: tablecloak records swap-households census.csv -o swapped.csv --hierarchy state "
        "--hierarchy county --household home --risk job --risk age"
    )

    hierarchy: Annotated[
        Sequence[str],
        Field(min_length=1, description="Column of the geography, the highest level first."),
    ]
    household: Annotated[str, Field(description="Column with the name of the household.")]
    risk_variables: Annotated[
        Sequence[str],
        option("risk", "Characteristic by which members may be known.", min_length=1),
    ]
    k: Annotated[
        float, Field(ge=0, description="Members are risky if fewer people than this are alike.")
    ] = 3
    rate: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="Least share of households of each area to swap; risky ones all are.",
        ),
    ] = 0.05
    similar: Annotated[
        Sequence[Sequence[str]],
        Field(
            description="Columns in which partners agree, such as tenure,age; further lists are "
            "for households without a partner."
        ),
    ] = ((),)
    carry_along: Annotated[
        Sequence[str], Field(description="Column that is swapped with the geography.")
    ] = ()
    weight: Annotated[
        str | None,
        Field(description="Column of sampling weights; `k` then counts people of the population."),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(isinstance(profile, str) for profile in self.similar) or not len(self.similar):
            raise InputError(
                f"`similar` must be a list of lists of columns, such as [['tenure', 'age'], []]. "
                f"Got {self.similar!r}; [[]] requires no agreement."
            )
        names_of([*self.hierarchy, *self.carry_along], "hierarchy and carry_along")
        moved = {*self.hierarchy, *self.carry_along}
        both = moved & {name for profile in self.similar for name in profile}
        if both:
            raise InputError(f"{sorted(both)} are swapped, so that they cannot be in `similar`.")

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the columns of geography, household, risk and similarity."""
        profiles = [name for profile in self.similar for name in profile]
        moved = [*self.hierarchy, *self.carry_along]
        return Columns(
            changed=moved,
            categories=[self.household, *moved, *self.risk_variables, *profiles],
            numbers=[] if self.weight is None else [self.weight],
            keys=[*self.hierarchy, *self.risk_variables],
            unit=self.household,
            weight=self.weight,
        )

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> TargetedSwapRelease:
        """Draw pairs of households and swap.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row for each person.

        Raises
        ------
        InputError
            If a column does not exist or has missing values, or if members of one household live
            in different areas.
        """
        records, homes = self._coded(frame), Households(frame, self.household)
        areas = [records.combined(self.hierarchy[: d + 1]) for d in range(len(self.hierarchy))]
        for name, area in zip(self.hierarchy, areas, strict=True):
            homes.require_one(area, name)
        warn_of_order(frame.iloc[np.sort(homes.first)], [*self.hierarchy, *self.carry_along])
        weights = self._weights(frame)
        traits = records.combined(self.risk_variables)
        counts = [_counts(area, traits, weights) for area in areas]
        fewest = np.array([homes.least(count) for count in counts])
        below = fewest < self.k
        risky = np.where(below.any(axis=0), below.argmax(axis=0), len(areas)).astype(np.int64)
        of_home = [area[homes.first] for area in areas]
        profiles = [
            joined(homes.size, records.combined(profile)[homes.first]) for profile in self.similar
        ]
        pairing = HouseholdPairs(homes.count, 1.0 / np.maximum(fewest.min(axis=0), 1e-9), random)
        for level in range(len(areas)):
            pairing.swap(risky == level, of_home, level, profiles, forced=True)
        self._fill_up(pairing, of_home, profiles, random)
        pairs = pairing.pairs
        frame_after = self._moved(frame, homes, pairs, [*self.hierarchy, *self.carry_along])
        left, swapped = self._still_risky(frame_after, weights), pairing.used
        return TargetedSwapRelease(
            frame_after,
            pairs,
            homes.names,
            pairing.levels,
            pairing.forced,
            risky,
            np.flatnonzero((risky < len(areas)) & ~swapped),
            float(np.mean(counts[-1] < self.k)),
            float(np.mean(left & ~swapped[homes.of_record])),
            self.rate,
            self._alike_in_file(areas[-1], traits) if self.weight else None,
        )

    def _alike_in_file(self, area: Integers, traits: Integers) -> float:
        """Return the share of records that would be risky if records were counted, not people."""
        return float(np.mean(_counts(area, traits, np.ones(len(area))) < self.k))

    def _coded(self, frame: pd.DataFrame) -> CodedRecords:
        names = [*self.hierarchy, *self.risk_variables, *(n for p in self.similar for n in p)]
        return CodedRecords.of(frame, list(dict.fromkeys([*names, *self.carry_along])))

    def _still_risky(self, frame: pd.DataFrame, weights: Floats) -> Flags:
        """Whether each record of a release is risky in its new place."""
        after = CodedRecords.of(frame, [*self.hierarchy, *self.risk_variables])
        lowest = after.combined(self.hierarchy)
        return _counts(lowest, after.combined(self.risk_variables), weights) < self.k

    def _weights(self, frame: pd.DataFrame) -> Floats:
        if self.weight is None:
            return np.ones(len(frame))
        weights = numbers_of(frame, self.weight)
        odd = np.flatnonzero(weights <= 0)
        if len(odd):
            raise InputError(
                f"The weight in row {row_label(frame, odd[0])} is {weights[odd[0]]:g} (column "
                f"{self.weight!r}). Sampling weights must be above 0: correct it, or drop the "
                "record."
            )
        return weights

    def _fill_up(
        self,
        pairing: HouseholdPairs,
        areas: list[Integers],
        profiles: list[Integers],
        random: np.random.Generator,
    ) -> None:
        """Swap more households until each area reaches the rate, or none finds a partner.

        Several rounds are needed for high rates: partners come from areas that need pairs
        themselves, and two chosen households may become one pair.
        """
        area = areas[-1]
        n_areas = int(area.max(initial=0)) + 1
        share = self.rate * np.bincount(area, minlength=n_areas)
        wanted: Floats = np.floor(share + random.random(n_areas)).astype(np.float64)
        for _ in range(ROUNDS):
            before = len(pairing.pairs)
            pairing.swap(self._extra(pairing, area, wanted), areas, len(areas) - 1, profiles)
            if len(pairing.pairs) == before:
                return

    def _extra(self, pairing: HouseholdPairs, area: Integers, wanted: Floats) -> Flags:
        """Choose households to swap for the rate, at random, riskier ones with a higher chance."""
        # A pair counts twice towards the rate.
        left = wanted - np.bincount(area[pairing.used], minlength=len(wanted))
        missing = np.maximum(np.ceil(left / 2), 0).astype(np.int64)
        free = np.flatnonzero(~pairing.used)
        order = free[np.lexsort((pairing.draw(free), area[free]))]
        label = area[order]
        start = np.searchsorted(label, label)
        chosen = np.zeros(len(area), dtype=bool)
        chosen[order[np.arange(len(order)) - start < missing[label]]] = True
        return chosen

    def _moved(
        self, frame: pd.DataFrame, homes: Households, pairs: Integers, names: list[str]
    ) -> pd.DataFrame:
        """Give all members of swapped households the values of their partner's first member."""
        partner = np.full(homes.count, -1)
        partner[pairs[:, 0]], partner[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
        records = np.flatnonzero(partner[homes.of_record] >= 0)
        donors = homes.first[partner[homes.of_record[records]]]
        return taken_from(frame, names, records, donors)


def _counts(area: Integers, traits: Integers, weights: Floats) -> Floats:
    """Return, for each record, the weight of all records with its traits in its area."""
    label = joined(area, traits)
    totals: Floats = np.bincount(label, weights=weights).astype(np.float64)
    return totals[label]
