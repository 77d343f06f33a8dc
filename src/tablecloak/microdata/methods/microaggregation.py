"""Microaggregation: records in groups of at least k, each value replaced by the group's mean.

Groups of numbers in one column have the least loss: a shortest path over the sorted values.

References
----------
.. [1] Domingo-Ferrer, Mateo-Sanz: Practical data-oriented microaggregation for statistical
   disclosure control, 2002; Domingo-Ferrer, Torra 2005 (MDAV).
.. [2] Hansen, Mukherjee: A polynomial algorithm for optimal univariate microaggregation, 2003.
.. [3] Maleki, Musuvathi, Mytkowicz: Parallelizing dynamic programming through rank convergence,
   2014.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view
from pydantic import Field
from scipy.spatial import cKDTree

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.columns import like, numbers_of
from tablecloak.microdata.methods.mdav import leaf_groups, mdav
from tablecloak.microdata.methods.method import METHODS, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.methods.partition_bound import microaggregation_bound

SAME = 1e-12
"""Relative difference of path lengths that counts as rounding."""


LONG = 60
"""Least length of a stretch in largest groups: shorter ones have to be repeated too often."""

MANY = 50_000
"""Records above which several columns are grouped in leaves: MDAV of more takes above 5 seconds."""


def optimal_groups(values: Floats, k: int) -> Integers:
    """Return the groups of at least k numbers with the least sum of squares within groups.

    Optimal groups are runs of k to 2k - 1 sorted values [2]_. The shortest path over all places is
    found for all stretches of the values at once: each starts from guessed distances of the places
    before it, and stretches are repeated with the distances of their predecessors until these no
    longer change. Shortest paths soon forget where they began [3]_, so that a few rounds do; at the
    latest after as many rounds as there are stretches the result is exact.

    Parameters
    ----------
    values : numpy.ndarray of float, shape (n,)
    k : int
        At most n.

    Returns
    -------
    numpy.ndarray of int, shape (n,)
        Groups in the order of their values, numbered from 0.
    """
    order = np.argsort(values, kind="stable")
    sizes = _last_sizes(values[order], k)
    ends, place = [], len(values)
    while place:
        ends.append(place)
        place -= sizes[place - 1]
    number = np.zeros(len(values), dtype=np.int64)
    number[ends[1:]] = 1
    groups = np.empty(len(values), dtype=np.int64)
    groups[order] = np.cumsum(number)
    return groups


def _last_sizes(ordered: Floats, k: int) -> list[int]:
    """Return the size of the last group in the best groups of the first i values, i = 1 .. n."""
    most, count = 2 * k - 1, len(ordered)
    length = min(max(LONG * most, int(np.ceil(np.sqrt(count)))), count)
    stretches = -(-count // length)
    surplus = np.full(stretches * length - count, ordered[-1])
    before = np.concatenate([np.full(most, np.nan), ordered, surplus])
    # Row i holds the values before place i, the last of them last.
    windows = sliding_window_view(before, most)
    start = np.zeros((stretches, most))
    start[0] = np.inf
    start[0, -1] = 0.0
    sizes = np.empty((stretches, length), dtype=np.int64)
    ends = np.empty((stretches, most))
    changed: Integers = np.arange(stretches)
    while len(changed):
        distance = np.concatenate([start[changed], np.empty((len(changed), length))], axis=1)
        for step in range(1, length + 1):
            loss = _losses(windows[step + length * changed], k)
            total = distance[:, step - 1 : step - 1 + k] + loss
            best = np.argmin(total, axis=1)
            distance[:, most - 1 + step] = np.take_along_axis(total, best[:, None], axis=1)[:, 0]
            sizes[changed, step - 1] = most - best
        ends[changed] = distance[:, length:]
        distances = np.concatenate([start[:1], ends[:-1] - ends[:-1].min(axis=1, keepdims=True)])
        # In the units of each row; numpy 1 takes no tolerances of rows.
        largest = np.max(
            distances, axis=1, keepdims=True, where=np.isfinite(distances), initial=0.0
        )
        unit = np.maximum(largest, np.finfo(float).tiny)
        is_same = np.isclose(distances / unit, start / unit, rtol=SAME, atol=SAME).all(axis=1)
        changed = np.flatnonzero(~is_same)
        start[changed] = distances[changed]
    found_sizes: list[int] = sizes.ravel()[:count].tolist()
    return found_sizes


def _losses(windows: Floats, k: int) -> Floats:
    """Return the sums of squares of the last 2k - 1, 2k - 2, .. k values of each row.

    Values are taken from the last one, so that no digits are lost far from 0. Groups that would
    begin before the first value have an infinite loss.
    """
    away = windows[:, -1:] - windows[:, ::-1]
    size = np.arange(k, windows.shape[1] + 1)
    sums, squares = (np.cumsum(part, axis=1)[:, k - 1 :] for part in (away, away**2))
    loss = np.maximum(squares - sums**2 / size, 0.0)[:, ::-1]
    return np.asarray(np.where(np.isnan(loss), np.inf, loss))


@dataclass(frozen=True, eq=False)
class MicroaggregationRelease:
    """Records whose values are the means of their groups.

    Parameters
    ----------
    frame : pandas.DataFrame
    groups : numpy.ndarray of int, shape (n_records,)
        -1 for records without any value.
    loss : float
        SSE / SST: lost share of the variance of the standardised columns.
    grouping : {"optimal", "mdav", "leaves", "search"}
        How groups were made.
    bound : float, optional
        Proved: no groups of these records lose a smaller share. None if nothing was proved.
    k, n_few : int
        Smallest size of a group, and number of records that share all columns, missing values
        included, with fewer than k - 1 others.
    """

    frame: pd.DataFrame
    groups: Integers
    loss: float
    grouping: str = "mdav"
    bound: float | None = None
    k: int = 3
    n_few: int = 0

    def summary(self) -> str:
        """Return number of records and groups, and the lost variance, in one line."""
        n_groups = int(self.groups.max(initial=-1)) + 1
        proof = ", the least possible" if self.grouping == "optimal" else ""
        if self.bound is not None and not proof:
            proof = f", and at least {100 * self.bound:.4g} % in any groups"
        few = (
            f"; groups of {self.k} hold for each column by itself: {self.n_few:,} records with "
            f"missing values, or beside them, share all columns with fewer than {self.k - 1} others"
            if self.n_few
            else ""
        )
        return (
            f"microaggregation: {len(self.frame)} records in {n_groups} groups, "
            f"{100 * self.loss:.4g} % of the variance lost{proof}{few}"
        )


@METHODS.register
@dataclass(frozen=True)
class Microaggregation(Method[MicroaggregationRelease]):
    """Replace numbers by the means of groups of at least k similar records (microaggregation).

    Columns are standardised. Means of whole numbers are floating-point numbers; other columns keep
    their types.

    Parameters
    ----------
    columns : sequence of str
    k : int, default=3
        Smallest size of a group.
    grouping : {"auto", "optimal", "mdav", "leaves", "search"}, default="auto"
        "optimal" groups one column with the least possible loss, by a shortest path [2]_. "mdav"
        groups several, in a time that grows with the square of the number of records [1]_. "leaves"
        applies MDAV to parts of 256 records, and once more to the 10,000 records of the groups that
        lose most. "search" looks for better groups, and a bound, by `microaggregation_bound`, in
        files of up to 3,000 records: normal values lose some 20 % less than by MDAV. "auto" is
        "optimal" for one column, "mdav" for several up to 50,000 records and "leaves" for more.
    time_limit : float, default=60.0
        Seconds of "search".

    Notes
    -----
    A million records take 0.7 s for one column with k = 3 (7 s with k = 100), and 5 s for four
    columns by leaves. On 50,000 records leaves lose as much as MDAV where values are skewed
    (lognormal: 1.00 times), and up to 1.18 times as much where they are normal in four columns.

    Missing values stay missing. Groups are made of the records with all values; each of the others
    joins the group whose means are nearest in the values that it has. Then k records share each
    released value of a column, but not all columns together; the summary counts who does not.
    """

    name: ClassVar[str] = "microaggregate"
    guide: ClassVar[str] = (
        "Example: tablecloak records microaggregate people.csv -o means.csv --column wage "
        "--column hours"
    )

    columns: Annotated[Sequence[str], option("column", "Numeric column.", min_length=1)]
    k: Annotated[int, Field(ge=2, description="Smallest size of a group.")] = 3
    grouping: Annotated[
        Literal["auto", "optimal", "mdav", "leaves", "search"],
        Field(description="How groups are made: auto decides by columns and records."),
    ] = "auto"
    time_limit: Annotated[float, Field(ge=0, description="Seconds of grouping by search.")] = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grouping == "optimal" and len(self.columns) > 1:
            raise InputError(
                "Optimal groups are found for one column only: for several this is a hard problem. "
                "Take grouping='auto', or grouping='search' for a small file."
            )

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> MicroaggregationRelease:
        """Replace values by the means of their groups.

        Raises
        ------
        InputError
            If a column does not exist, is not numeric, is constant or has infinite values, or fewer
            than k records have all values.
        """
        del random
        values = np.column_stack(
            [numbers_of(frame, name, refuse_missing=False) for name in self.columns]
        )
        points = standardised(values, self.columns, self.k)
        complete = ~np.isnan(points).any(axis=1)
        grouping = self._grouping(len(points))
        groups = np.full(len(points), -1, dtype=np.int64)
        bound = None
        if grouping == "search":
            partition = microaggregation_bound(points[complete], self.k, time_limit=self.time_limit)
            groups[complete] = partition.groups
            bound = partition.bound / float(np.sum(points**2)) if complete.all() else None
        else:
            groups[complete] = _GROUPINGS[grouping](points[complete], self.k)
        if not complete.all():
            _join(points, groups)
        released = frame.copy()
        lost = total = 0.0
        for at, name in enumerate(self.columns):
            known = np.flatnonzero(~np.isnan(values[:, at]))
            own = groups[known]
            released_values = np.full(len(values), np.nan)
            released_values[known] = _means(values[known, at], own)
            released[name] = like(frame[name], released_values)
            lost += float(np.sum((points[known, at] - _means(points[known, at], own)) ** 2))
            total += float(np.sum(points[known, at] ** 2))
        if grouping == "optimal" and complete.all():
            bound = lost / total
        size = released.groupby(list(self.columns), dropna=False)[self.columns[0]].transform("size")
        n_few = (
            0
            if complete.all()
            else int(np.sum(size.to_numpy()[~np.isnan(values).all(axis=1)] < self.k))
        )
        return MicroaggregationRelease(
            released, groups, lost / total, grouping, bound, self.k, n_few
        )

    def _grouping(self, count: int) -> str:
        if self.grouping != "auto":
            return self.grouping
        if len(self.columns) == 1:
            return "optimal"
        return "leaves" if count > MANY else "mdav"


_GROUPINGS: dict[str, Callable[[Floats, int], Integers]] = {
    "optimal": lambda points, k: optimal_groups(points[:, 0], k),
    "mdav": mdav,
    "leaves": leaf_groups,
}


def standardised(values: Floats, names: Sequence[str], k: int) -> Floats:
    """Return columns with mean 0 and variance 1, missing values apart.

    Raises
    ------
    InputError
        If a column is constant, or fewer than k records have all values.
    """
    lacking = np.isnan(values)
    complete = int(np.sum(~lacking.any(axis=1)))
    if complete < k:
        of_all, remedy = "", "Lower `k`, or give more records."
        if complete < len(values):
            most = int(np.argmax(lacking.sum(axis=0)))
            of_all = " with all values"
            remedy = (
                f"Column {names[most]!r} lacks its value in {lacking[:, most].sum()} of "
                f"{len(values)} records: leave it out of `columns`, or lower `k`."
            )
        raise InputError(
            f"{complete} records{of_all} are fewer than k = {k}, the smallest size of a group. "
            f"{remedy}"
        )
    constant = [
        name
        for name, least, most in zip(
            names, np.nanmin(values, axis=0), np.nanmax(values, axis=0), strict=True
        )
        if least == most
    ]
    if constant:
        raise InputError(
            f"Column {constant[0]!r} is constant, so that it cannot be standardised. Leave it out "
            "of `columns`."
        )
    mean, std = (np.mean, np.std) if complete == len(values) else (np.nanmean, np.nanstd)
    return np.asarray((values - mean(values, axis=0)) / std(values, axis=0, ddof=1))


def _join(points: Floats, groups: Integers) -> None:
    """Add records with some missing values to the groups with the nearest means, in place."""
    grouped = groups >= 0
    size = np.bincount(groups[grouped])
    centres = np.column_stack(
        [np.bincount(groups[grouped], weights=column) / size for column in points[grouped].T]
    )
    known = ~np.isnan(points)
    kinds, kind_of = np.unique(known, axis=0, return_inverse=True)
    for number, kind in enumerate(kinds):
        if kind.any() and not kind.all():
            members = np.flatnonzero(kind_of.ravel() == number)
            near = cKDTree(centres[:, kind]).query(points[np.ix_(members, kind)])[1]
            groups[members] = near


def _means(values: Floats, groups: Integers) -> Floats:
    """Return the mean of the group of each value."""
    size = np.bincount(groups)
    total = np.bincount(groups, weights=values)
    return np.asarray(total[groups] / size[groups])
