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


def group_sizes(released: pd.DataFrame, keys: Sequence[str]) -> Integers:
    """Return how many records are equal to each one, a missing value being a value of its own."""
    grouped = released.groupby(list(keys), dropna=False, observed=True, sort=False)
    return np.asarray(grouped[keys[0]].transform("size"), dtype=np.int64)


def check_classes(released: pd.DataFrame, keys: Sequence[str], k: int) -> None:
    """Check that k records are equal in some keys, a missing value being a value of its own.

    Raises
    ------
    VerificationError
        With the number of the first record.
    """
    size = group_sizes(released, keys)
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


NodeClasses = tuple[tuple[int, ...], Integers, npt.NDArray[np.integer], Integers]
"""A level of each key, and the records that may have them, with their groups and losses."""

NEVER = 1 << 50
"""Loss, in units, of a level that a record cannot have; far more than all losses together."""


@dataclass(frozen=True, eq=False)
class LevelClasses:
    """All classes that records of a file can be in: those with equal values at a node.

    Sums are exact: losses are whole multiples of a unit, rounded down, which only lowers a bound.

    Parameters
    ----------
    values : sequence of sequence of numpy.ndarray of int, each of shape (n_records,)
        For each key and level, what is released, as numbers.
    losses : sequence of sequence of numpy.ndarray of float, each of shape (n_records,)
        What is lost; `inf` where a record cannot have the level. All have the last one.
    stratum : numpy.ndarray of int, shape (n_records,)
    k : int
    """

    values: Sequence[Sequence[npt.NDArray[np.integer]]]
    losses: Sequence[Sequence[Floats]]
    stratum: npt.NDArray[np.integer]
    k: int

    @classmethod
    def of_missing(
        cls,
        original: pd.DataFrame,
        keys: Sequence[str],
        costs: Mapping[str, float],
        k: int,
        strata: Sequence[str] = (),
    ) -> LevelClasses:
        """Return the classes of local suppression: values are as they were, or missing.

        Parameters
        ----------
        original : pandas.DataFrame
        keys : sequence of str
        costs : mapping of str to float
            Cost of a missing value of each key.
        k : int
        strata : sequence of str
        """
        n = len(original)
        nothing = np.zeros(n, dtype=np.int64)
        values, losses = [], []
        for name in keys:
            absent = original[name].isna().to_numpy()
            values.append((pd.factorize(original[name])[0], nothing))
            losses.append((np.where(absent, np.inf, 0.0), np.where(absent, 0.0, costs[name])))
        stratum: npt.NDArray[np.integer] = nothing
        if strata:
            grouped = original.groupby(list(strata), observed=True, sort=False, dropna=False)
            stratum = grouped.ngroup().to_numpy()
        return cls(values, losses, stratum, k)

    @cached_property
    def unit(self) -> float:
        """A power of two, so small that the largest losses of all keys are 2^35 to 2^36 of it."""
        most = sum(float(of_key[-1].max(initial=0.0)) for of_key in self.losses)
        return float(2.0 ** (np.ceil(np.log2(most)) - 36)) if most else 1.0

    @cached_property
    def is_whole(self) -> bool:
        """Whether all losses are whole numbers."""
        finite = (loss[np.isfinite(loss)] for of_key in self.losses for loss in of_key)
        return all(bool(np.all(loss == np.floor(loss))) for loss in finite)

    def in_units(self, prices: Floats) -> Integers:
        """Return prices in units."""
        return np.asarray(np.rint(prices / self.unit), dtype=np.int64)

    def by_node(self, most: Integers) -> Iterator[NodeClasses]:
        """Yield nodes with their classes.

        Parameters
        ----------
        most : numpy.ndarray of int, shape (n_records,)
            In units. Nodes at which every record loses as much as this are left out.
        """
        losses, least = [], []
        given = np.zeros(len(most), dtype=np.int64)
        for of_key in self.losses:
            there = np.isfinite(of_key[0])
            units = [
                np.where(np.isfinite(loss), np.floor(loss / self.unit), NEVER).astype(np.int64)
                for loss in of_key
            ]
            losses.append(units)
            least.append([int(loss[there].min()) if there.any() else 0 for loss in units])
            # Who lacks a value loses nothing where others lose this.
            given += np.where(there, 0, max(least[-1]))
        highest = int((most + given).max(initial=0))

        def nodes(node: tuple[int, ...], lost: int) -> Iterator[tuple[int, ...]]:
            if lost >= highest:
                return
            if len(node) == len(least):
                yield node
                return
            for level, more in enumerate(least[len(node)]):
                yield from nodes((*node, level), lost + more)

        for node in nodes((), 0):
            cost = np.sum(
                [of_key[level] for of_key, level in zip(losses, node, strict=True)], axis=0
            )
            here = np.flatnonzero(cost < NEVER)
            if np.any(cost[here] < most[here]):
                rows = {"": self.stratum[here]}
                for key, level in enumerate(node):
                    rows[str(key)] = self.values[key][level][here]
                by = pd.DataFrame(rows).groupby(list(rows), sort=False)
                yield node, here, by.ngroup().to_numpy(), cost[here]

    def proved(self, prices: Floats) -> float:
        """Return the bound of prices: see `tablecloak.microdata.anonymity.classes`.

        Each record pays its price in its class. What a class can collect beyond the cost of its
        records, from the best k or more of those that may be in it, is taken from the sum of
        prices.
        """
        price = self.in_units(prices)
        proved = int(price.sum())
        for _, here, group, cost in self.by_node(price):
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


def rounded_up(bound: float, *, is_whole: bool) -> float:
    """Return the next loss that a release can have: a whole number where all losses are."""
    return float(np.ceil(bound)) if is_whole else bound
