"""Distances between records with numbers and categories, and linkage by them.

References
----------
.. [1] Gower: A general coefficient of similarity and some of its properties, Biometrics 27, 1971.
.. [2] Kuhn: The Hungarian method for the assignment problem, Naval Research Logistics 2, 1955;
   Herranz, Nin, Rodriguez, Tassa: Revisiting distance-based record linkage for
   privacy-preserving release of statistical datasets, Data and Knowledge Engineering 100, 2015
   (global assignment).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import names_of, numbers_of, require_same_records, some_rows

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
                if name not in frame.columns:
                    numbers_of(frame, name)  # Names the column and what it may have meant.
            is_number = all(_is_number(frame[name]) for frame in (original, released))
            if is_number:
                x, y = (
                    numbers_of(frame, name, refuse_missing=False) for frame in (original, released)
                )
                known = x[~np.isnan(x)]
                extent = float(np.ptp(known)) if len(known) else 0.0
                # A constant column of the original tells two records apart only in the release.
                scale = extent if extent > 0 else 1.0
                x, y = x / scale, y / scale
            else:
                x, y = _coded(original[name], released[name])
            before.append(x)
            after.append(y)
            kinds.append(is_number)
        return cls(tuple(before), tuple(after), tuple(kinds))

    def distances(self, released: Integers, original: Integers | None = None) -> Floats:
        """Return Gower's distance of some released from some original records, by default all.

        The mean over the columns known in both of |x - y| / range for numbers, at most 1, and of
        0 or 1 for equal and different categories; 1 if no column is known in both.
        """
        chosen = slice(None) if original is None else original
        shape = (len(released), len(self.before[0][chosen]))
        total, known = np.zeros(shape), np.zeros(shape)
        for x, y, is_number in zip(self.before, self.after, self.is_number, strict=True):
            gap = np.abs(y[released][:, None] - x[chosen][None, :])
            there = ~np.isnan(gap)
            part = np.minimum(gap, 1.0) if is_number else (gap > 0).astype(np.float64)
            total += np.where(there, part, 0.0)
            known += there
        return np.where(known > 0, total / np.maximum(known, 1), 1.0)


def _is_number(column: pd.Series) -> bool:
    kind = column.dtype
    return bool(pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind))


def _coded(before: pd.Series, after: pd.Series) -> tuple[Floats, Floats]:
    both = pd.concat([before.astype(object), after.astype(object)], ignore_index=True)
    codes = pd.factorize(both)[0].astype(np.float64)
    codes[codes < 0] = np.nan
    return codes[: len(before)], codes[len(before) :]


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
        Whether each original is linked once, so that the sum of all distances is least [2]_.
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
