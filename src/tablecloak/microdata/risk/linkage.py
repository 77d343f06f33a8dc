"""Risk by linkage: records that released values identify, or reveal within a small interval.

By ranks, an interval reaches over true values near the released one in the order of the column.
Probabilistic linkage weighs agreements of columns by how telling they are.

References
----------
.. [1] Mateo-Sanz, Sebe, Domingo-Ferrer: Outlier protection in continuous microdata masking,
   2004 (interval disclosure).
.. [2] Domingo-Ferrer, Torra: Disclosure control methods and information loss for microdata, in
   Doyle et al.: Confidentiality, disclosure, and data access, 2001 (rank-based intervals).
.. [3] Gower: A general coefficient of similarity and some of its properties, Biometrics 27, 1971.
.. [4] Kuhn: The Hungarian method for the assignment problem, Naval Research Logistics 2, 1955;
   Herranz, Nin, Rodriguez, Tassa: Revisiting distance-based record linkage for
   privacy-preserving release of statistical datasets, Data and Knowledge Engineering 100, 2015
   (global assignment).
.. [5] Fellegi, Sunter: A theory for record linkage, Journal of the American Statistical Association
   64, 1969.
.. [6] Jaro: Advances in record-linkage methodology as applied to matching the 1985 census of Tampa,
   Journal of the American Statistical Association 84, 1989 (estimation by EM).
.. [7] Winkler: Methods for record linkage and Bayesian networks, 2002 (missing comparisons).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import (
    codes_of_both,
    is_number,
    names_of,
    numbers_of,
    paired_numbers,
    require_column,
    require_same_records,
    some_rows,
)


@dataclass(frozen=True, eq=False)
class RankIntervals:
    """Which true values lie within the intervals of ranks of their released values.

    Parameters
    ----------
    inside : pandas.DataFrame
        One column of truth values for each column; `pandas.NA` where a value is missing.
    """

    inside: pd.DataFrame

    def per_column(self) -> pd.Series:
        """Return the share of the known values of each column that lie within their intervals."""
        share = self.inside.mean(axis=0).astype(np.float64)
        return share.rename("inside").rename_axis("column")

    @property
    def all_columns(self) -> float:
        """Share of the records with all values known whose values all lie within."""
        complete = self.inside.dropna()
        return float(complete.all(axis=1).mean()) if len(complete) else float("nan")

    def summary(self) -> str:
        """Return the shares in one line."""
        shares = ", ".join(
            f"{name} {100 * share:.3g} %" for name, share in self.per_column().items()
        )
        return f"within intervals of ranks: {shares}; all columns {100 * self.all_columns:.3g} %"


def rank_intervals(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    width: float = 0.05,
) -> RankIntervals:
    """Find the records whose true values have nearly the ranks of their released values.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The same records in the same order. A value that is missing before or after is left out.
    columns : sequence of str
    width : float, default=0.05
        Half width of the interval as a share of the number of values, at least 0 and below 1.

    Returns
    -------
    RankIntervals
        The interval of a released value goes from the released value `width` of the ranks below
        it to that as far above; equal values have one rank interval, from the lowest to the
        highest [2]_.

    Raises
    ------
    InputError
        If a column is not numeric, the numbers of records differ, or the width is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"wage": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10]})
    >>> after = pd.DataFrame({"wage": [2.0, 1, 3, 4, 5, 6, 7, 8, 10, 3.5]})
    >>> rank_intervals(before, after, ["wage"], width=0.1).per_column().round(2).tolist()
    [0.9]
    """
    require_same_records(original, released)
    if not 0 <= width < 1:
        raise InputError(f"`width` must be a share from 0 to below 1. Got {width!r}.")
    inside = {}
    for name in names_of(columns, "columns"):
        x, y = (numbers_of(frame, name, refuse_missing=False) for frame in (original, released))
        known = ~(np.isnan(x) | np.isnan(y))
        flags = pd.array(np.zeros(len(x), dtype=bool), dtype="boolean")
        flags[known] = _within(x[known], y[known], width)
        flags[~known] = pd.NA
        inside[name] = flags
    return RankIntervals(pd.DataFrame(inside, index=original.index))


def _within(x: Floats, y: Floats, width: float) -> Flags:
    if not len(y):
        return np.zeros(0, dtype=bool)
    order = np.argsort(y, kind="stable")
    ordered = y[order]
    # Where a run of equal values begins and ends, for each place of the order.
    begins = np.append(True, ordered[1:] != ordered[:-1])
    first = np.flatnonzero(begins)
    run = np.cumsum(begins) - 1
    last = np.append(first[1:], len(y)) - 1
    # A rounding error must not lose a rank: 0.29 * 100 is below 29.
    reach = int(np.floor(width * len(y) * (1 + 1e-12)))
    low = ordered[np.maximum(first - reach, 0)][run]
    high = ordered[np.minimum(last + reach, len(y) - 1)][run]
    within = np.empty(len(y), dtype=bool)
    within[order] = (low <= x[order]) & (x[order] <= high)
    return within


def interval_disclosure(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    width: float = 0.05,
) -> float:
    """Return the share of records for which all true values lie near the released ones.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The same records in the same order; those with a missing value are left out.
    columns : sequence of str
    width : float, default=0.05
        Half width of the interval, in standard deviations of the *released* column.
    """
    x, y = paired_numbers(original, released, columns)
    reach = width * y.std(axis=0, ddof=1)
    return float(np.mean(np.all(np.abs(x - y) <= reach, axis=1)))


def record_linkage(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    most: int | None = None,
) -> float:
    """Return the share of released records whose nearest original record is their own.

    Distances are Euclidean, in standard deviations of the original columns. If m originals have
    the same smallest distance and the record's own is one of them, it counts 1/m.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The same records in the same order; those with a missing value are left out.
    columns : sequence of str
    most : int, optional
        Largest number of released records that are linked, drawn at random but always the same;
        by default all. Each is compared with all originals.
    """
    from scipy.spatial import KDTree

    x, y = paired_numbers(original, released, columns)
    spread = x.std(axis=0, ddof=1)
    # Sliding midpoints, since medians of many equal values would not split them.
    tree = KDTree(x / spread, balanced_tree=False, compact_nodes=False)
    rows = some_rows(len(x), most)
    targets = y[rows] / spread
    nearest = tree.query(targets)[0]
    own = np.sqrt(np.sum((x[rows] / spread - targets) ** 2, axis=1))
    right = np.flatnonzero(own <= nearest * (1 + 1e-12))
    ties = tree.query_ball_point(targets[right], nearest[right] * (1 + 1e-12), return_length=True)
    return float(np.sum(1 / np.maximum(ties, 1)) / len(rows))


CHUNK = 4_000_000
"""Distances that are computed at once."""

TIE = 1e-12
"""Distances that differ by no more are equal: sums of the same terms may round differently."""

MANY_ASSIGNED = 5000
"""Largest number of records that are assigned together: the work grows with its third power."""


@dataclass(frozen=True, eq=False)
class GowerColumns:
    """Columns of two files, coded so that distances are quick.

    Parameters
    ----------
    before, after : tuple of numpy.ndarray of float, each of shape (n_records,)
        Numbers as shares of the range of the original, categories as whole numbers; NaN where a
        value is missing.
    is_number : tuple of bool
    """

    before: tuple[Floats, ...]
    after: tuple[Floats, ...]
    is_number: tuple[bool, ...]

    @classmethod
    def of(
        cls, original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str]
    ) -> GowerColumns:
        """Code the columns: those that are numeric in both files are numbers.

        Raises
        ------
        InputError
            If a column does not exist.
        """
        before, after, kinds = [], [], []
        for name in names_of(columns, "columns"):
            for frame in (original, released):
                require_column(frame, name)
            is_numeric = all(is_number(frame[name]) for frame in (original, released))
            if is_numeric:
                x, y = (
                    numbers_of(frame, name, refuse_missing=False) for frame in (original, released)
                )
                known = x[~np.isnan(x)]
                extent = float(np.ptp(known)) if len(known) else 0.0
                # A constant column of the original tells two records apart only in the release.
                scale = extent if extent > 0 else 1.0
                x, y = x / scale, y / scale
            else:
                codes = codes_of_both(original[name], released[name])
                x, y = (np.where(code < 0, np.nan, code) for code in codes)
            before.append(x)
            after.append(y)
            kinds.append(is_numeric)
        return cls(tuple(before), tuple(after), tuple(kinds))

    def distances(self, released: Integers, original: Integers | None = None) -> Floats:
        """Return Gower's distance of some released from some original records, by default all.

        The mean over the columns known in both of |x - y| / range for numbers, at most 1, and of
        0 or 1 for equal and different categories; 1 if no column is known in both.
        """
        chosen = slice(None) if original is None else original
        shape = (len(released), len(self.before[0][chosen]))
        total, known = np.zeros(shape), np.zeros(shape)
        for x, y, is_numeric in zip(self.before, self.after, self.is_number, strict=True):
            gap = np.abs(y[released][:, None] - x[chosen][None, :])
            there = ~np.isnan(gap)
            part = np.minimum(gap, 1.0) if is_numeric else (gap > 0).astype(np.float64)
            total += np.where(there, part, 0.0)
            known += there
        return np.where(known > 0, total / np.maximum(known, 1), 1.0)


@dataclass(frozen=True, eq=False)
class MixedLinkage:
    """Links of released to original records.

    Parameters
    ----------
    records : numpy.ndarray of int, shape (n_linked,)
        Positions of the released records that were linked.
    right : numpy.ndarray of float, shape (n_linked,)
        Probability that the link of each is right: 1/m if m originals are equally good and its
        own is one of them.
    distance : numpy.ndarray of float, shape (n_linked,)
        Distance of each to its link.
    """

    records: Integers
    right: Floats
    distance: Floats

    @property
    def share(self) -> float:
        """Share of the links that are right."""
        return float(self.right.mean())

    def summary(self) -> str:
        """Return the links in one line."""
        return (
            f"linkage: {100 * self.share:.4g} % of {len(self.records)} released records are linked "
            f"to their own original; mean distance {float(self.distance.mean()):.4g}"
        )


def mixed_linkage(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    assign: bool = False,
    most: int | None = None,
) -> MixedLinkage:
    """Link released to original records by Gower's distance of numbers and categories.

    Parameters
    ----------
    original, released : pandas.DataFrame
        The same records in the same order. Missing values are left out of a distance.
    columns : sequence of str
        Columns that an intruder knows; those that are numeric in both files are numbers.
    assign : bool, default=False
        Whether each original is linked once, so that the sum of all distances is least [4]_.
        Otherwise each released record is linked to the nearest original.
    most : int, optional
        Largest number of released records that are linked, drawn at random but always the same;
        by default all, or 5,000 where they are assigned. The nearest of *all* originals is sought;
        but records are assigned to the originals of these records only, which is easier than among
        all.

    Raises
    ------
    InputError
        If a column does not exist, the numbers of records differ, or more than 5,000 records are
        to be assigned.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"job": list("aab"), "age": [20, 40, 30]})
    >>> mixed_linkage(people, people.assign(age=[25, 45, 30]), ["job", "age"]).share
    1.0
    """
    require_same_records(original, released)
    if assign and most is not None and most > MANY_ASSIGNED:
        raise InputError(
            f"At most {MANY_ASSIGNED:,} records are assigned, since the work grows with the third "
            f"power of their number. Got `most` = {most!r}."
        )
    limit = most if most is not None else (MANY_ASSIGNED if assign else len(original))
    records = some_rows(len(original), limit)
    coded = GowerColumns.of(original, released, columns)
    if assign:
        right, distance = _assigned(coded, records, original[list(columns)])
    else:
        right, distance = _nearest(coded, records)
    return MixedLinkage(records, right, distance)


def _nearest(coded: GowerColumns, records: Integers) -> tuple[Floats, Floats]:
    right, distance = np.zeros(len(records)), np.zeros(len(records))
    step = max(1, CHUNK // len(coded.before[0]))
    for start in range(0, len(records), step):
        part = records[start : start + step]
        far = coded.distances(part)
        least = far.min(axis=1)
        near = far <= least[:, None] + TIE
        own = near[np.arange(len(part)), part]
        right[start : start + step] = own / near.sum(axis=1)
        distance[start : start + step] = least
    return right, distance


def _assigned(
    coded: GowerColumns, records: Integers, original: pd.DataFrame
) -> tuple[Floats, Floats]:
    from scipy.optimize import linear_sum_assignment

    far = coded.distances(records, records)
    rows, columns = linear_sum_assignment(far)
    # Equal originals can be exchanged in every assignment.
    kind = CodedRecords.of(original.iloc[records]).combined(list(original.columns))
    same = kind[columns] == kind[rows]
    number = np.bincount(kind)[kind[rows]]
    return np.where(same, 1 / number, 0.0), np.asarray(far[rows, columns], dtype=np.float64)


STEPS = 2000
"""Most steps of the EM algorithm."""

CONVERGED = 1e-9
"""It ends when no probability changes by more."""

MANY_COLUMNS = 12
"""Largest number of columns: there are 3^12 patterns of agreeing, differing and missing."""

LIMIT = 3000
"""Default number of records, all pairs of which are compared."""

INSIDE = 1e-6
"""Probabilities stay this far from 0 and 1, so that no single agreement is proof."""


@dataclass(frozen=True, eq=False)
class ProbabilisticLinkage:
    """The model of agreements, and the links that it gives.

    Parameters
    ----------
    columns : pandas.DataFrame
        Indexed by column: ``m``, the probability that it agrees in a pair of the same person;
        ``u``, that it does in other pairs; ``agrees`` and ``differs``, the weights log2(m / u) and
        log2((1 - m) / (1 - u)).
    matches : float
        Estimated share of pairs of the same person among all pairs.
    records : numpy.ndarray of int, shape (n_linked,)
        Positions of the released records that were linked.
    right : numpy.ndarray of float, shape (n_linked,)
        1/n if n originals have the largest weight and the record's own is one of them, else 0.
    """

    columns: pd.DataFrame
    matches: float
    records: Integers
    right: Floats

    @property
    def share(self) -> float:
        """Share of the released records that are linked to their own original."""
        return float(self.right.mean())

    def summary(self) -> str:
        """Return the links in one line."""
        telling = str(self.columns["agrees"].idxmax())
        return (
            f"probabilistic linkage: {100 * self.share:.4g} % of {len(self.records)} released "
            f"records are linked to their own original; {telling} tells most"
        )


def probabilistic_linkage(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    width: float = 0.01,
    most: int = LIMIT,
) -> ProbabilisticLinkage:
    """Link released to original records by the agreement of columns (Fellegi and Sunter).

    Parameters
    ----------
    original, released : pandas.DataFrame
        The same records in the same order; the model does not use that. A column that is missing in
        one of two records says nothing about the pair [7]_.
    columns : sequence of str
        At most 12 columns that an intruder knows.
    width : float, default=0.01
        Numbers agree if they differ by at most this share of the range of the original. Categories
        agree if they are equal.
    most : int, default=3000
        Largest number of records, drawn at random but always the same, all pairs of which are
        compared. Fewer originals are easier to link to.

    Returns
    -------
    ProbabilisticLinkage
        Each released record is linked to the original of the largest sum of weights [5]_. The
        probabilities are those of largest likelihood if columns agree independently of each other
        in pairs of the same person and in other pairs, found by EM [6]_.

    Raises
    ------
    InputError
        If a column does not exist, there are too many, the numbers of records differ, or a
        parameter is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"job": list("abcd"), "age": [20, 40, 30, 50]})
    >>> probabilistic_linkage(people, people, ["job", "age"]).share
    1.0
    """
    require_same_records(original, released)
    names = names_of(columns, "columns")
    if len(names) > MANY_COLUMNS:
        raise InputError(f"At most {MANY_COLUMNS} columns are compared. Got {len(names)}.")
    if width < 0 or most < 1:
        raise InputError(
            f"`width` must be at least 0 and `most` at least 1. Got {width!r} and {most!r}."
        )
    records = some_rows(len(original), most)
    coded = GowerColumns.of(original, released, names)
    patterns = _patterns(coded, records, width)
    counts = np.bincount(patterns.ravel(), minlength=3 ** len(names)).astype(np.float64)
    present = np.flatnonzero(counts)
    states = present[:, None] // 3 ** np.arange(len(names)) % 3
    matches, m, u = agreement_model(states, counts[present], len(records))
    agrees, differs = np.log2(m / u), np.log2((1 - m) / (1 - u))
    weights = np.zeros(len(counts))
    weights[present] = np.sum(
        np.where(states == 1, agrees, np.where(states == 0, differs, 0.0)), axis=1
    )
    # Patterns of equal weight tie, whichever columns agree.
    weight = np.round(weights, 9)[patterns]
    best = weight >= weight.max(axis=1, keepdims=True)
    right = best.diagonal() / best.sum(axis=1)
    table = pd.DataFrame(
        {"m": m, "u": u, "agrees": agrees, "differs": differs},
        index=pd.Index(names, name="column"),
    )
    return ProbabilisticLinkage(table, matches, records, right)


def _patterns(coded: GowerColumns, records: Integers, width: float) -> Integers:
    """Return the pattern of each pair: a digit for each column, 0 differs, 1 agrees, 2 missing."""
    patterns = np.zeros((len(records), len(records)), dtype=np.int32)
    reach = width * (1 + 1e-12)
    for at, (x, y) in enumerate(zip(coded.before, coded.after, strict=True)):
        gap = np.abs(y[records][:, None] - x[records][None, :])
        limit = reach if coded.is_number[at] else 0.0
        state = np.where(np.isnan(gap), 2, gap <= limit)
        patterns += (state * 3**at).astype(np.int32)
    return patterns.astype(np.int64)


def agreement_model(
    states: Integers, counts: Floats, n_records: int
) -> tuple[float, Floats, Floats]:
    """Estimate the probabilities of agreement in pairs of the same person, and in other pairs.

    Parameters
    ----------
    states : numpy.ndarray of int, shape (n_patterns, n_columns)
        0 differs, 1 agrees, 2 missing.
    counts : numpy.ndarray of float, shape (n_patterns,)
        Number of pairs with each pattern.
    n_records : int
        The search begins at one pair in so many of the same person.

    Returns
    -------
    matches : float
    m, u : numpy.ndarray of float, shape (n_columns,)
    """
    agree, known = states == 1, states != 2
    total = counts.sum()
    matches = 1 / max(n_records, 2)
    compared = np.maximum(counts @ known, 1.0)
    m = np.full(states.shape[1], 0.9)
    u = np.clip(counts @ agree / compared, INSIDE, 1 - INSIDE)
    for _ in range(STEPS):
        one, other = (
            np.prod(np.where(agree, p, np.where(known, 1 - p, 1.0)), axis=1) for p in (m, u)
        )
        same = matches * one / (matches * one + (1 - matches) * other)
        before = np.concatenate([m, u, [matches]])
        matches = float(counts @ same / total)
        m, u = (
            np.clip((weight @ agree) / np.maximum(weight @ known, 1e-300), INSIDE, 1 - INSIDE)
            for weight in (counts * same, counts * (1 - same))
        )
        matches = float(np.clip(matches, INSIDE / max(n_records, 2), 1 - INSIDE))
        if np.max(np.abs(np.concatenate([m, u, [matches]]) - before)) < CONVERGED:
            break
    return matches, m, u
