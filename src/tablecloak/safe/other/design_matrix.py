"""The columns of a regression, and which groups of records they single out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.joint.leverage import combinations_within, is_low
from tablecloak.safe.joint.question import MOST_PROGRAMS
from tablecloak.safe.joint.search_work import SearchWork
from tablecloak.safe.joint.small_groups import SmallGroups
from tablecloak.safe.values import MOST_LEVELS

EXACT = 1e-8
"""Share of a group's indicator that may be left outside of the column space: rounding alone."""

LEAST_LEVERAGE = 0.3
"""Leverage from which it is looked at whether a fitted value is nearly that of its record: beside
a leverage of 0.3 all others have 0.7 of a mean, and hide seven times as much as it within 10 %."""

MOST_KINDS = 2**62
"""Combinations of codes that are numbered without a look at which there are."""


@dataclass(frozen=True)
class DesignMatrix:
    """The matrix of a regression, and who stands behind its rows.

    Parameters
    ----------
    matrix : (n, k) array of float
    names : tuple of str
        Of the columns.
    contributor : (n,) array of int
    weights : (n,) array of float
        By what each record counts in the fit.

    Notes
    -----
    Coefficients of least squares, of a logit and of every model with a canonical link solve
    X'(y - fitted) = 0. If the indicator of a group of records is a combination of the columns of
    X, the residuals of the group add up to 0: who knows the coefficients and the columns of these
    records knows the sum of y over the group. For a group of one record that is leverage 1.

    Any columns may single out a group: flags, the codes 1 and 2, or a code and its square. All
    groups are searched as in the joint audit, among records of a leverage that allows it.
    """

    matrix: Floats
    names: tuple[str, ...]
    contributor: Integers
    weights: Floats

    @cached_property
    def basis(self) -> Floats:
        """Orthonormal columns that span those of the matrix, weights included."""
        return _orthonormal(self.matrix * np.sqrt(self.weights)[:, None])

    @property
    def rank(self) -> int:
        """How many parameters are estimated."""
        return int(self.basis.shape[1])

    @cached_property
    def n_contributors(self) -> int:
        """How many contributors stand behind all rows."""
        return len(np.unique(self.contributor))

    @property
    def is_binary(self) -> bool:
        """Whether all columns are 0 and 1: fitted values are then told by the coefficients."""
        return bool(((self.matrix == 0) | (self.matrix == 1)).all())

    @cached_property
    def leverage(self) -> Floats:
        """Leverage of each record: 1 if the fit goes through it whatever its value."""
        return np.asarray((self.basis**2).sum(axis=1), dtype=np.float64)

    def nearly_told(self, y: Floats, ratio: float, tells_squares: bool) -> Integers:
        """Return the records of which the fit tells y within the p% rule, for who knows X.

        Over its leverage h, a fitted value is y plus the sum of all others times h_ij / h, which
        must hide it from the contributor with the largest of these. The residuals of all others
        are part of the residual sum of squares as well, so that y lies no further from the fitted
        value than the root of 1 - h times that sum: without the record it is less by the square of
        its residual over 1 - h (Cook and Weisberg, 1982, *Residuals and influence in regression*).
        """
        roots = np.sqrt(self.weights)
        amounts = np.abs(y - max(float(y.min()), 0.0)) * roots
        apart = y * roots
        apart = apart - self.basis @ (self.basis.T @ apart)
        largest = np.sort(apart**2)[-2:]
        beside = np.where(apart**2 == largest[-1], largest[0], largest[-1])
        room = np.sqrt(np.maximum((1 - self.leverage) * ((apart**2).sum() - beside), 0.0))
        is_bounded = tells_squares & (room - apart < ratio * amounts)
        _, who = np.unique(self.contributor, return_inverse=True)
        for record in np.flatnonzero(self.leverage > LEAST_LEVERAGE):
            others = np.bincount(who, np.abs(self.basis @ self.basis[record]) * amounts)
            others[who[record]] = 0.0
            hidden_by = others.sum() - others.max()
            is_bounded[record] |= hidden_by < ratio * self.leverage[record] * amounts[record]
        return np.flatnonzero(is_bounded)

    @property
    def is_of_means(self) -> bool:
        """Whether it has a parameter for each kind of record: coefficients are then means of y."""
        n_varying = np.count_nonzero((self.matrix != self.matrix[:1]).any(axis=0))
        return n_varying == len(self._few) and self.rank == int(self._kind.max()) + 1

    def partitions(self) -> list[Integers]:
        """Return the category of each record, for each factor, and for all of them together.

        Columns of two values that exclude each other and follow each other are categories of a
        factor; the base category is none of them.
        """
        factors: list[list[Integers]] = []
        for codes, n_values in self._few:
            if n_values == 2:
                if not factors or (codes & sum(factors[-1])).any():
                    factors.append([])
                factors[-1].append(codes)
        parts = [
            np.asarray(sum(number * codes for number, codes in enumerate(flags, 1)))
            for flags in factors
        ]
        is_factor = len(factors) == 1 and len(factors[0]) == len(self._few)
        return parts if is_factor or not self._few else [*parts, self._kind]

    @cached_property
    def _few(self) -> list[tuple[Integers, int]]:
        """Columns of few values: a code for each record, and the number of codes."""
        pairs = ((np.unique(column), column) for column in self.matrix.T)
        return [
            (np.searchsorted(values, column), len(values))
            for values, column in pairs
            if 1 < len(values) <= MOST_LEVELS
        ]

    @cached_property
    def _kind(self) -> Integers:
        """Which values each record has in all columns of few values."""
        kind, size = np.zeros(len(self.matrix), dtype=np.int64), 1
        for codes, n_values in self._few:
            if size > MOST_KINDS // n_values:
                kind = np.unique(kind, return_inverse=True)[1]
                size = int(kind.max()) + 1
            kind, size = kind * n_values + codes, size * n_values
        return np.unique(kind, return_inverse=True)[1]

    def crossings(self) -> Integers:
        """Return how many contributors have each value, and each pair of values of two columns."""
        _, who = np.unique(self.contributor, return_inverse=True)
        counts = [np.zeros(0, dtype=np.int64)]
        for number, (codes, _) in enumerate(self._few):
            for other, n_values in self._few[number:]:
                pair = codes * n_values + other
                if self.n_contributors < len(who):
                    # Contributors with several records count once.
                    pair = np.unique(pair * self.n_contributors + who) // self.n_contributors
                counts.append(np.bincount(pair))
        return np.concatenate(counts)

    def singled_out(self, group: Flags | Integers) -> bool:
        """Whether the sum of y over a group of records follows from the coefficients."""
        roots = np.sqrt(self.weights[group])
        size = float(self.weights[group].sum())
        if not size:
            return False
        inside = float(((roots @ self.basis[group]) ** 2).sum())
        return size - inside <= EXACT * size

    def small_groups(self, threshold: int) -> tuple[list[tuple[str, int]], bool]:
        """Return the groups of too few contributors that are singled out, none within another.

        Returns
        -------
        groups : list of (str, int)
            What the records of each have in common, and how many contributors it has.
        is_complete : bool
            Whether all groups were searched.
        """
        _, who, often = np.unique(self.contributor, return_inverse=True, return_counts=True)
        share = 1.0 / often[who]
        spanned = _orthonormal(self.matrix * np.sqrt(share)[:, None]) / np.sqrt(share)[:, None]
        high = np.flatnonzero(~is_low((spanned**2).sum(axis=1), threshold - 1))
        if not high.size:
            return [], True
        _, first, kind = np.unique(
            self.matrix[high], axis=0, return_index=True, return_inverse=True
        )
        kind, n = kind.ravel(), len(first)
        pairs = np.unique(np.stack([kind, who[high]]), axis=1)
        counted = np.bincount(pairs[0], minlength=n)
        members = None
        if len(often) < len(who):
            members = tuple(np.split(pairs[1], np.cumsum(counted)[:-1]))
        small = np.flatnonzero(counted < threshold)
        weights = np.bincount(kind, share[high])[small]
        small, given = combinations_within(
            small, spanned[high[first[small]]].T, np.sqrt(weights), threshold - 1
        )
        search = SmallGroups(
            counted, members, threshold, lambda _: False, SearchWork(MOST_PROGRAMS)
        )
        chosen, is_complete = search.of_combinations(small, given)
        groups = []
        for numbers in chosen:
            group = np.zeros(len(self.matrix), dtype=np.bool_)
            group[high[np.isin(kind, numbers)]] = True
            if self.singled_out(group):
                groups.append((self.said(group), len(np.unique(who[group]))))
        return groups, is_complete

    def slopes_of_few(self, threshold: int) -> list[tuple[str, int]]:
        """Return columns that vary for few contributors alone, and tell a weighted sum of these."""
        groups = []
        for name, column in zip(self.names, self.matrix.T, strict=True):
            values, counts = np.unique(column, return_counts=True)
            n = len(np.unique(self.contributor[column != values[np.argmax(counts)]]))
            if 0 < n < threshold and len(values) > 2:
                groups.append((f"{name}, the same for all others", n))
        return groups

    def said(self, group: Flags | Integers) -> str:
        """Return the flags that all records of a group have: none of them names a person."""
        is_flag = ((self.matrix == 0) | (self.matrix == 1)).all(axis=0) & (self.matrix == 0).any(
            axis=0
        )
        names = [name for name, flag in zip(self.names, is_flag, strict=True) if flag]
        has = self.matrix[np.ix_(group, is_flag)].all(axis=0)
        if not names:
            return "a combination of the columns"
        return " and ".join(f"{name} = 1" for name, one in zip(names, has, strict=True) if one) or (
            f"none of {names[0]} to {names[-1]}" if len(names) > 1 else f"{names[0]} = 0"
        )


def _orthonormal(matrix: Floats) -> Floats:
    """Return orthonormal columns that span those of a matrix."""
    norms = np.linalg.norm(matrix, axis=0)
    scaled = matrix[:, norms > 0] / norms[norms > 0]
    left, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    tolerance = max(scaled.shape, default=0) * np.finfo(np.float64).eps
    return np.asarray(left[:, sizes > tolerance * sizes.max(initial=0.0)], dtype=np.float64)
