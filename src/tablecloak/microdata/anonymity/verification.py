"""An independent check of a release with suppressed values, from the files alone.

Nothing of the search is used: groups are counted by pandas from the values themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import linprog

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import VerificationError
from tablecloak.microdata.columns import row_label

Fails = Callable[[Sequence[str]], Flags]
"""Returns for some keys which records of the original are in a group by them that fails."""


def check_left_alone(original: pd.DataFrame, released: pd.DataFrame, keys: Sequence[str]) -> Flags:
    """Check that values are missing or as they were, and return which ones are missing.

    Returns
    -------
    numpy.ndarray of bool, shape (n_records, n_keys)

    Raises
    ------
    VerificationError
        Names column and row of the first value that differs.
    """
    if len(original) != len(released) or list(original.columns) != list(released.columns):
        raise VerificationError("The release has other rows or columns than the original.")
    missing = np.zeros((len(original), len(keys)), dtype=bool)
    for name in original.columns:
        absent = released[name].isna().to_numpy()
        was_absent = original[name].isna().to_numpy()
        both = np.flatnonzero(~absent & ~was_absent)
        one, other = released[name], original[name]
        if one.dtype != other.dtype:
            one, other = one.astype(object), other.astype(object)
        # Object by object only where types differ.
        same = np.asarray(one.iloc[both].array == other.iloc[both].array, dtype=bool)
        # Only keys may lose values, and nothing may be filled in.
        strange = was_absent & ~absent if name in keys else was_absent != absent
        wrong = np.union1d(both[~same], np.flatnonzero(strange))
        if len(wrong):
            raise VerificationError(
                f"Column {name!r}, row {row_label(original, wrong[0])}: the release has another "
                "value than the original."
            )
        if name in keys:
            missing[:, list(keys).index(name)] = absent
    return missing


def groups_counted(
    original: pd.DataFrame,
    holds: Callable[[Floats], bool],
    sensitive: str | None,
    k: int,
    strata: Sequence[str] = (),
) -> Fails:
    """Return the function that finds records in groups that fail, counted by pandas.

    Parameters
    ----------
    original : pandas.DataFrame
    holds : callable
        Returns whether a group with these counts of sensitive values satisfies what is required,
        besides having k records; counts are in the order of the values.
    sensitive : str, optional
        Without it, only records are counted.
    k : int
    strata : sequence of str
        Records of one group agree in these as well.
    """
    known: dict[tuple[str, ...], Flags] = {}
    n = len(original)
    values = None if sensitive is None else pd.factorize(original[sensitive], sort=True)[0]

    def fails(names: Sequence[str]) -> Flags:
        if tuple(names) not in known:
            known[tuple(names)] = found(names)
        return known[tuple(names)]

    def found(names: Sequence[str]) -> Flags:
        label = np.zeros(n, dtype=np.int64)
        if names or strata:
            by = [original[name].to_numpy() for name in (*strata, *names)]
            grouped = pd.Series(0, index=range(n)).groupby(by, sort=False, dropna=False)
            label[:] = grouped.ngroup().to_numpy()
        bad: Flags = np.asarray(np.bincount(label) < k, dtype=bool)
        if values is not None:
            n_values = int(values.max()) + 1
            order = np.argsort(label, kind="stable")
            ends = np.cumsum(np.bincount(label))
            for group, members in enumerate(np.split(order, ends[:-1])):
                if not bad[group]:
                    counts = np.bincount(values[members], minlength=n_values)
                    bad[group] = not holds(counts.astype(np.float64))
        return np.asarray(bad[label])

    return fails


def check_own(
    fails: Fails, missing: Flags, keys: Sequence[str], combinations: Sequence[Sequence[str]]
) -> None:
    """Check that each record is safe by what is left of it, counted among true records.

    Raises
    ------
    VerificationError
        Names the combination and the number of the first record.
    """
    for lost in np.unique(missing, axis=0):
        here = np.flatnonzero((missing == lost).all(axis=1))
        gone = {name for name, is_gone in zip(keys, lost, strict=True) if is_gone}
        for combination in combinations:
            left = [name for name in combination if name not in gone]
            bad = here[fails(left)[here]]
            if len(bad):
                raise VerificationError(
                    f"Record {bad[0] + 1}: the group by {left} does not satisfy what is required, "
                    f"so that the combination {list(combination)} is not safe."
                )


def proved_floor(
    fails: Fails,
    floor: Floats,
    combinations: Sequence[Sequence[str]],
    costs: Mapping[str, float],
    original: pd.DataFrame,
) -> float:
    """Check that no record becomes safe for less than its floor, and return the sum of floors.

    Values that were missing before cost nothing.

    Raises
    ------
    VerificationError
        Names the record and the set of keys that is cheaper.
    """
    asked = sorted({name for combination in combinations for name in combination})
    highest = float(floor.max(initial=0.0))
    absent = original[asked].isna().to_numpy()
    kinds, kind = np.unique(absent, axis=0, return_inverse=True)
    lacking = [{name for name, gone in zip(asked, row, strict=True) if gone} for row in kinds]
    for size in range(len(asked) + 1):
        for chosen in itertools.combinations(asked, size):
            # Costs are added in the order of the file, as floors were.
            cost = float(sum(costs[name] for name in costs if name in chosen))
            if cost >= highest:
                continue
            for number, before in enumerate(lacking):
                if before & set(chosen):
                    continue
                open_ = np.flatnonzero((floor > cost) & (kind.ravel() == number))
                good = np.ones(len(open_), dtype=bool)
                for combination in combinations:
                    left = [name for name in combination if name not in {*chosen, *before}]
                    good &= ~fails(left)[open_]
                if good.any():
                    raise VerificationError(
                        f"Record {open_[good][0] + 1} is safe already without {list(chosen)}, "
                        f"which costs {cost:g}: its bound {floor[open_[good][0]]:g} is not proved."
                    )
    return float(floor.sum())


def check_classes(released: pd.DataFrame, keys: Sequence[str], k: int) -> None:
    """Check that k records are equal in some keys, a missing value being a value of its own.

    Raises
    ------
    VerificationError
        With the number of the first record.
    """
    grouped = released.groupby(list(keys), dropna=False, observed=True, sort=False)
    size = grouped[keys[0]].transform("size").to_numpy()
    bad = np.flatnonzero(size < k)
    if len(bad):
        raise VerificationError(
            f"Record {bad[0] + 1} is equal to {size[bad[0]]} records in {list(keys)}, fewer than "
            f"{k}."
        )


def check_diverse(fails: Fails, combinations: Sequence[Sequence[str]]) -> None:
    """Check that the groups of a released file are as diverse as asked.

    Raises
    ------
    VerificationError
        Names the combination and the number of the first record.
    """
    for combination in combinations:
        bad = np.flatnonzero(fails(combination))
        if len(bad):
            raise VerificationError(
                f"Record {bad[0] + 1}: its group of equal released records by {list(combination)} "
                "does not satisfy what is required."
            )


KeyClass = tuple[tuple[str, ...], Integers, npt.NDArray[np.integer], Integers]
"""Keys that are lost, and the records that may lose them, with their groups and costs."""


@dataclass(frozen=True, eq=False)
class KeyClasses:
    """All classes that records of a file can be in: each loses some keys and shares the others.

    Sums are exact: costs are whole multiples of a unit, rounded down, which only lowers a bound.

    Parameters
    ----------
    original : pandas.DataFrame
    keys : sequence of str
    costs : mapping of str to float
        Cost of a missing value of each key.
    k : int
    strata : sequence of str
    """

    original: pd.DataFrame
    keys: Sequence[str]
    costs: Mapping[str, float]
    k: int
    strata: Sequence[str] = ()

    @cached_property
    def unit(self) -> float:
        """A power of two, so small that the costs of all keys are 2^35 to 2^36 of it."""
        return float(2.0 ** (np.ceil(np.log2(sum(self.costs[name] for name in self.keys))) - 36))

    def in_units(self, prices: Floats) -> Integers:
        """Return prices in units."""
        return np.asarray(np.rint(prices / self.unit), dtype=np.int64)

    def by_set(self, most: Integers) -> Iterator[KeyClass]:
        """Yield sets of lost keys with their classes.

        Parameters
        ----------
        most : numpy.ndarray of int, shape (n_records,)
            In units. Sets that cost every record as much as this are left out.
        """
        absent = self.original[list(self.keys)].isna().to_numpy()
        weight = np.array([np.floor(self.costs[name] / self.unit) for name in self.keys], np.int64)
        highest = int((most + absent @ weight).max(initial=0))
        for size in range(len(self.keys) + 1):
            for lost in itertools.combinations(range(len(self.keys)), size):
                chosen = np.isin(np.arange(len(self.keys)), lost)
                if int(weight[chosen].sum()) >= highest:
                    continue
                cost = (~absent & chosen) @ weight
                here = np.flatnonzero(~(absent & ~chosen).any(axis=1))
                if not np.any(cost[here] < most[here]):
                    continue
                group: npt.NDArray[np.integer] = np.zeros(len(here), dtype=np.int64)
                names = tuple(self.keys[position] for position in lost)
                kept = [*self.strata, *(name for name in self.keys if name not in names)]
                if kept:
                    part = self.original[kept].iloc[here]
                    by = part.groupby(kept, observed=True, sort=False, dropna=False)
                    group = by.ngroup().to_numpy()
                yield names, here, group, cost[here]

    def proved(self, prices: Floats) -> float:
        """Return the bound of prices: see `tablecloak.microdata.anonymity.classes`.

        Each record pays its price in its class. What a class can collect beyond the cost of its
        records, from the best k or more of those that may be in it, is taken from the sum of
        prices.
        """
        price = self.in_units(prices)
        proved = int(price.sum())
        for _, here, group, cost in self.by_set(price):
            proved -= int(collected_in_groups(group, price[here] - cost, self.k))
        return proved * self.unit


def collected_in_groups(
    group: npt.NDArray[np.integer], over: Floats | npt.NDArray[np.integer], k: int
) -> float:
    """Return what groups collect from what their records pay beyond their cost.

    Each collects from the best k of its records and from all that pay more than they cost; groups
    of fewer records, and those that would lose, collect nothing. Sums of whole numbers are exact.
    """
    rows = pd.DataFrame({"group": group, "over": over})
    rows = rows.sort_values("over", ascending=False, kind="stable")
    rank = rows.groupby("group").cumcount()
    rows["paid"] = rows["over"].where(rank < k, rows["over"].clip(lower=0))
    sums = rows.groupby("group")["paid"].agg(["sum", "size"])
    total: float = sums.loc[sums["size"] >= k, "sum"].clip(lower=0).to_numpy().sum().item()
    return total


def packed(bounds: Mapping[tuple[str, ...], float]) -> float:
    """Return the largest sum of shares of bounds in which no key is counted more than once.

    A release costs each key once. Shares of combinations that add up to at most 1 for each key are
    therefore a bound; the best ones are found by a linear program, and made feasible.
    """
    if not bounds:
        return 0.0
    asked = sorted({name for combination in bounds for name in combination})
    inside = np.array([[name in combination for combination in bounds] for name in asked], float)
    worth = np.array(list(bounds.values()))
    answer = linprog(-worth, A_ub=inside, b_ub=np.ones(len(asked)), bounds=(0, 1), method="highs")
    shares = np.zeros(len(worth))
    shares[int(np.argmax(worth))] = 1.0
    if answer.x is not None:
        other = np.maximum(answer.x, 0.0)
        other /= max(float((inside @ other).max()), 1.0)
        shares = max((shares, other), key=lambda each: float(worth @ each))
    return float(worth @ shares)


def rounded_up(bound: float, costs: Sequence[float]) -> float:
    """Return the next loss that a release can have: a whole number where all costs are whole."""
    if all(float(cost).is_integer() for cost in costs):
        return float(np.ceil(bound))
    return bound
