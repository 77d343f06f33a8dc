"""Regressions: linear, logit and others, as statsmodels fits them.

The columns of a regression may single out small groups, whose sum of y follows from the
coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.linalg import qr

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, listed
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.other.kind import KINDS, Checked, Counts, Kind, OutputRecords
from tablecloak.safe.output import Reason

EXACT = 1e-8
"""Share of a group's indicator that may be left outside of the column space: rounding alone."""

MOST_RANK = 14
"""Rank of the columns of 0 and 1 up to which all their combinations are searched."""

MOST_TRIED = 20_000_000
"""Numbers that this search may compute, else it is left out."""

NEAR = 1e-6
"""Distance from 0 or 1 up to which a combination has that value."""

MOST_PAIRS = 300
"""Columns of 0 and 1 up to which each two of them are looked at together."""

BY_SUMS = ("ols", "wls", "gls", "glsar", "logit", "probit", "poisson", "glm", "mnlogit")
"""Models whose coefficients solve equations of sums over records, whatever residuals they show."""

SOLVED = 1e-5
"""Share of X'y that X'(y - fitted) may be where coefficients solve normal equations."""

PERFECT = 1e-12
"""Share of the variation left over up to which a fit is perfect: rounding alone."""

MOST_LISTED = 5
"""Most groups that a reason names."""

COLUMNS = {
    "params": "coefficient",
    "bse": "standard error",
    "tvalues": "t",
    "pvalues": "p",
}
"""What is shown of each coefficient, by the attribute of a fitted model that has it."""

NUMBERS = (
    "nobs",
    "df_resid",
    "rsquared",
    "rsquared_adj",
    "prsquared",
    "fvalue",
    "llf",
    "aic",
    "bic",
)
"""What is shown of the fit as a whole, if the model has it."""


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

    Of the columns of 0 and 1, with the constant, all combinations are searched while their rank is
    at most `MOST_RANK`: a combination that is 0 or 1 everywhere is told by its values at as many
    records as the rank, so that all of these can be tried. Beyond, looked at are groups that agree
    in all such columns, those that one of them singles out or leaves, those of each two, and what
    is left of columns that exclude each other (the category without a column of its own). Single
    records are found all, by their leverage.
    """

    matrix: Floats
    names: tuple[str, ...]
    contributor: Integers
    weights: Floats

    @cached_property
    def basis(self) -> Floats:
        """Orthonormal columns that span those of the matrix."""
        matrix = self.matrix * np.sqrt(self.weights)[:, None]
        norms = np.linalg.norm(matrix, axis=0)
        scaled = matrix[:, norms > 0] / norms[norms > 0]
        left, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
        tolerance = max(scaled.shape, default=0) * np.finfo(np.float64).eps
        return np.asarray(left[:, sizes > tolerance * sizes.max(initial=0.0)], dtype=np.float64)

    @property
    def rank(self) -> int:
        """How many parameters are estimated."""
        return int(self.basis.shape[1])

    @cached_property
    def n_contributors(self) -> int:
        """How many contributors stand behind all rows."""
        return len(np.unique(self.contributor))

    def _n_behind(self, group: Flags) -> int:
        if self.n_contributors == len(self.contributor):
            return int(np.count_nonzero(group))
        return len(np.unique(self.contributor[group]))

    @property
    def is_binary(self) -> bool:
        """Whether all columns are 0 and 1: fitted values are then told by the coefficients."""
        return bool(((self.matrix == 0) | (self.matrix == 1)).all())

    @cached_property
    def leverage(self) -> Floats:
        """Leverage of each record: 1 if the fit goes through it whatever its value."""
        return np.asarray((self.basis**2).sum(axis=1), dtype=np.float64)

    @cached_property
    def binary(self) -> list[int]:
        """Columns of 0 and 1 that have both."""
        is_binary = ((self.matrix == 0) | (self.matrix == 1)).all(axis=0)
        varies = self.matrix.min(axis=0) < self.matrix.max(axis=0)
        return [int(column) for column in np.flatnonzero(is_binary & varies)]

    def singled_out(self, group: Flags) -> bool:
        """Whether the sum of y over a group of records follows from the coefficients."""
        roots = np.sqrt(self.weights[group])
        size = float(self.weights[group].sum())
        if not size:
            return False
        inside = float(((roots @ self.basis[group]) ** 2).sum())
        return size - inside <= EXACT * size

    def small_groups(self, threshold: int) -> list[tuple[str, int]]:
        """Return groups of too few contributors that are singled out: what they are, how many."""
        # Those with a name of their own first: one group is told once.
        named = self._candidates(threshold)
        others = zip(
            repeat("a combination of the columns of 0 and 1"), self._combinations(threshold)
        )
        groups: dict[bytes, tuple[str, int]] = {}
        for label, group in chain(named, others):
            n_behind = self._n_behind(group)
            if 0 < n_behind < threshold:
                key = np.packbits(group).tobytes()
                if key not in groups and self.singled_out(group):
                    groups[key] = (label, n_behind)
        return list(groups.values())

    @property
    def is_searched(self) -> bool:
        """Whether all combinations of the columns of 0 and 1 are searched."""
        patterns, _, pivots = self._patterns_of_all
        return len(pivots) <= MOST_RANK and len(patterns) << len(pivots) <= MOST_TRIED

    @cached_property
    def _patterns_of_all(self) -> tuple[Floats, Integers, Integers]:
        """Return the rows that occur in columns of 0 and 1, which each record has, and a basis."""
        flat = (self.matrix == self.matrix[:1]).all(axis=0) & (self.matrix[:1] != 0).any(axis=0)
        columns = self.matrix[:, self.binary]
        if flat.any():
            columns = np.column_stack([np.ones(len(columns)), columns])
        if not columns.shape[1]:
            none = np.zeros(0, dtype=np.int64)
            return np.zeros((0, 0)), none, none
        patterns, at = np.unique(columns, axis=0, return_inverse=True)
        _, R, order = qr(patterns.T, mode="economic", pivoting=True)
        rank = int((np.abs(np.diag(R)) > NEAR * abs(R[0, 0])).sum())
        return patterns, at.ravel().astype(np.int64), order[:rank].astype(np.int64)

    def _combinations(self, threshold: int) -> Iterator[Flags]:
        """Yield small groups whose indicator is any combination of the columns of 0 and 1."""
        if not self.is_searched:
            return
        patterns, at, pivots = self._patterns_of_all
        rank = len(pivots)
        # Each row of patterns as a combination of the rows of the basis.
        weights = np.linalg.lstsq(patterns[pivots].T, patterns.T, rcond=None)[0].T
        tried = (np.arange(1, 1 << rank)[None, :] >> np.arange(rank)[:, None]) & 1
        values = weights @ tried
        rounded = np.rint(values)
        fits = (np.abs(values - rounded) < NEAR) & (rounded >= 0) & (rounded <= 1)
        pairs = np.unique(np.stack([at, self.contributor]), axis=1)
        behind = np.bincount(pairs[0], minlength=len(patterns))
        # Each contributor of a group stands behind one of its patterns at least.
        whole = rounded.T * behind
        least = whole.max(axis=1) if len(pairs[0]) > self.n_contributors else whole.sum(axis=1)
        small = fits.all(axis=0) & (least < threshold)
        for number in np.flatnonzero(small)[:MOST_PAIRS].tolist():
            yield np.asarray(rounded[at, number] == 1)

    def _candidates(self, threshold: int) -> list[tuple[str, Flags]]:
        ones = {column: self.matrix[:, column] == 1 for column in self.binary}
        named = {column: self.names[column] for column in self.binary}
        groups: list[tuple[str, Flags]] = []
        for column, group in ones.items():
            groups += [(f"{named[column]} = 1", group), (f"{named[column]} = 0", ~group)]
        for block in self._blocks(ones):
            if len(block) > 1:
                rest = ~np.logical_or.reduce([ones[column] for column in block])
                label = f"none of {named[block[0]]} to {named[block[-1]]}"
                groups.append((label, rest))
        if len(self.binary) <= MOST_PAIRS:
            groups += self._pairs(ones, threshold)
        if self.binary:
            groups += self._patterns(threshold)
        return groups

    def _blocks(self, ones: dict[int, Flags]) -> list[list[int]]:
        """Return runs of columns that exclude each other, as the categories of a variable do."""
        blocks: list[list[int]] = []
        taken = np.zeros(len(self.matrix), dtype=np.bool_)
        for column, group in ones.items():
            if blocks and not (taken & group).any():
                blocks[-1].append(column)
                taken = taken | group
            else:
                blocks.append([column])
                taken = group
        return blocks

    def _pairs(self, ones: dict[int, Flags], threshold: int) -> list[tuple[str, Flags]]:
        """Return small groups of each two columns: both 1, or one of them alone."""
        dummies = self.matrix[:, self.binary]
        both = dummies.T @ dummies
        alone = np.diag(both)[:, None] - both
        # A contributor may have several records, so that counts of records bound nothing then.
        most = threshold if self.n_contributors == len(self.contributor) else np.inf
        groups = []
        for one, other in np.argwhere((both > 0) & (both < most)).tolist():
            if one < other:
                a, b = self.binary[one], self.binary[other]
                label = f"{self.names[a]} = 1 and {self.names[b]} = 1"
                groups.append((label, ones[a] & ones[b]))
        for one, other in np.argwhere((alone > 0) & (alone < most)).tolist():
            a, b = self.binary[one], self.binary[other]
            label = f"{self.names[a]} = 1 and {self.names[b]} = 0"
            groups.append((label, ones[a] & ~ones[b]))
        return groups

    def _patterns(self, threshold: int) -> list[tuple[str, Flags]]:
        """Return groups of records that agree in all columns of 0 and 1, if they are small."""
        dummies = self.matrix[:, self.binary].astype(np.bool_)
        _, first, pattern, counts = np.unique(
            np.packbits(dummies, axis=1), axis=0, return_index=True, return_inverse=True,
            return_counts=True,
        )  # fmt: skip
        if self.n_contributors == len(self.contributor):
            chosen = np.flatnonzero(counts < threshold)
        else:
            chosen = np.arange(len(counts))
        groups = []
        for number in chosen.tolist():
            set_ones = np.flatnonzero(dummies[first[number]])
            names = [self.names[self.binary[at]] for at in set_ones]
            label = " and ".join(f"{name} = 1" for name in names) or "all columns of 0 and 1 are 0"
            groups.append((label, np.asarray(pattern.ravel() == number)))
        return groups


@dataclass(frozen=True)
class Fit:
    """What is read of a fitted model, of statsmodels or of another library.

    Parameters
    ----------
    exog : (n, k) array of float
        Columns of the regression, the constant included.
    endog : (n,) array of float
    names : tuple of str
        Of the columns.
    index : pandas.Index or None
        Of the records; None if the model does not know them.
    result : object
    method : str
        Name of the model, such as "ols".
    weights : (n,) array of float
        By what each record counts; records that count nothing are left out.
    """

    exog: Floats
    endog: Floats
    names: tuple[str, ...]
    index: pd.Index | None
    result: Any
    method: str
    weights: Floats

    @classmethod
    def of(cls, result: Any) -> Fit:
        """Read a fitted model.

        Raises
        ------
        InputError
            If it has no ``model.exog``, ``model.endog`` and ``params``, or is not finite.
        """
        model: Any = getattr(result, "model", None)
        missing = [
            f"{where}.{name}" if where else name
            for owner, where, name in (
                (model, "model", "exog"),
                (model, "model", "endog"),
                (result, "", "params"),
            )
            if getattr(owner, name, None) is None
        ]
        if missing:
            raise InputError(
                f"a regression is given as a fitted model, as .fit() of statsmodels returns it; "
                f"{type(result).__name__} has no {', '.join(missing)}"
            )
        exog = np.asarray(model.exog, dtype=np.float64)
        endog = np.asarray(model.endog, dtype=np.float64)
        if exog.ndim != 2 or endog.shape != exog.shape[:1] or not exog.size:
            raise InputError(
                f"a regression needs a column y and a matrix X of as many rows; found y with shape "
                f"{endog.shape} and X with shape {exog.shape}"
            )
        if not np.isfinite(exog).all() or not np.isfinite(endog).all():
            raise InputError("a regression needs finite numbers: drop missing values first")
        names = [str(name) for name in getattr(model, "exog_names", None) or []]
        if len(names) != exog.shape[1]:
            names = [f"x{number}" for number in range(exog.shape[1])]
        labels = getattr(getattr(model, "data", None), "row_labels", None)
        index = None if labels is None else pd.Index(labels)
        weights = _weights(model, len(endog))
        counts = weights > 0
        return cls(
            exog[counts], endog[counts], tuple(names), None if index is None else index[counts],
            result, type(model).__name__.lower(), weights[counts],
        )  # fmt: skip

    @property
    def values(self) -> pd.DataFrame:
        """What the model knows of its records: y, and the columns that vary."""
        varies = (self.exog != self.exog[:1]).any(axis=0)
        chosen = np.flatnonzero(varies)
        columns = pd.DataFrame(
            self.exog[:, chosen], index=self.index, columns=[self.names[k] for k in chosen]
        )
        return columns.assign(**{f"{getattr(self.result.model, 'endog_names', 'y')}": self.endog})

    @property
    def is_by_sums(self) -> bool:
        """Whether coefficients solve equations of sums over records, as far as is known."""
        residuals: Any = getattr(self.result, "resid", None)
        if self.method in BY_SUMS or np.shape(residuals) != self.endog.shape:
            return True
        weighted = self.exog * self.weights[:, None]
        left = np.abs(weighted.T @ np.asarray(residuals, dtype=np.float64))
        return bool((left <= SOLVED * (np.abs(weighted).T @ np.abs(self.endog) + 1)).all())

    @property
    def left_over(self) -> float:
        """Share of the variation of y that the fit leaves over; NaN if the model does not say."""
        spread = float(((self.endog - self.endog.mean()) ** 2).sum())
        if not spread:
            return 0.0
        for name in ("resid_response", "resid"):
            found = getattr(self.result, name, None)
            if found is not None and np.shape(found) == self.endog.shape:
                return float((np.asarray(found, dtype=np.float64) ** 2).sum()) / spread
        return float("nan")


def _weights(model: Any, n: int) -> Floats:
    """Return by what a model multiplies the square of each residual."""
    weights = np.ones(n)
    for name in ("weights", "freq_weights", "var_weights"):
        found = getattr(model, name, None)
        if found is not None and np.shape(found) == (n,):
            weights = weights * np.asarray(found, dtype=np.float64)
    return weights


@KINDS.register
@dataclass(frozen=True)
class RegressionOutput(Kind):
    """Regression: degrees of freedom, and groups of few records that its columns single out.

    Source: F. Ritchie, *Disclosure control for regression outputs* (2019), for degrees of freedom
    and saturated models; D. A. Belsley, E. Kuh, R. E. Welsch, *Regression diagnostics* (1980),
    section 2.1, for leverage.
    """

    name: ClassVar[str] = "regression"
    label: ClassVar[str] = "regression"

    fit: Annotated[Any, Field(description="Fitted model, a `Fit`.")]

    def check(self, records: OutputRecords) -> Checked:
        """Check the columns of the regression, and its fit."""
        fit: Fit = self.fit
        design = DesignMatrix(fit.exog, fit.names, records.contributor, fit.weights)
        limits = records.appetite
        free = design.n_contributors - design.rank
        given = getattr(fit.result, "df_resid", None)
        if given is not None and np.isfinite(given):
            free = min(free, int(given))
        reasons = _singled_out(design, limits)
        least = limits.safe_dof_threshold
        if free < least:
            text = f"{free} residual degrees of freedom; at least {least} are needed"
            reasons.insert(0, Reason("fail", "degrees of freedom", text))
        if fit.left_over <= PERFECT:
            text = "the fit is perfect: every value of y follows from the coefficients (R2 is 1)"
            reasons.append(Reason("fail", "perfect fit", text))
        if not fit.is_by_sums:
            text = (
                f"coefficients of {fit.method} solve no equations of sums: as those of a quantile "
                "regression they may be told by single records"
            )
            reasons.append(Reason("review", "method", text))
        notes = [
            f"{free} residual degrees of freedom; largest leverage {design.leverage.max():.3g}",
            "single records and all combinations of the columns of 0 and 1 were searched"
            if design.is_searched
            else "single records, columns of 0 and 1, each two of them, their reference "
            "categories, and records that agree in all of them were searched; other combinations "
            "of columns were not",
        ]
        counts: tuple[Counts, ...] = ()
        if fit.index is None:
            notes.append(
                "the model does not know its records, which are compared with no other output: "
                "fit it on columns of pandas"
            )
        else:
            whole = np.zeros(len(records.positions), dtype=np.int64)
            one = np.ones((1, 1), dtype=np.int64)
            counts = (Counts(records.positions, whole, one, ("observations",), (None,)),)
            # Nobody dominates a sum of positive and negative values, nor does one bound another.
            if (fit.endog >= 0).all():
                counts = (*counts, *_sums(records, design, fit))
        return Checked(
            _frames(fit), tuple(reasons), tuple(notes), counts=counts,
            properties={"method": fit.method, "dof": free}, base=_common_base(fit),
        )  # fmt: skip


def _sums(records: OutputRecords, design: DesignMatrix, fit: Fit) -> list[Counts]:
    """Return the sums of y that the coefficients tell.

    X'y = X' fitted, and whoever knows how many records there are of each kind knows the right side.
    A regression on the categories of a variable is a table of means. With other columns the sum
    over all records is told, since their means are in most papers.
    """
    is_flag = ((design.matrix == 0) | (design.matrix == 1)).all(axis=0)
    if not design.is_binary:
        is_flag = (design.matrix == 1).all(axis=0)
    flags = design.matrix[:, is_flag]
    if not flags.any():
        return []
    patterns, group = np.unique(flags, axis=0, return_inverse=True)
    used = np.flatnonzero(patterns.any(axis=0))
    names = [name for name, flag in zip(fit.names, is_flag, strict=True) if flag]
    name = str(getattr(fit.result.model, "endog_names", None) or "y")
    return [
        Counts(
            records.positions,
            group.ravel().astype(np.int64),
            patterns[:, used].T.astype(np.int64),
            tuple(f"sum of {name} where {names[column]} = 1" for column in used),
            (None,) * len(used),
            fit.endog * fit.weights,
            name,
        )
    ]


def _singled_out(design: DesignMatrix, limits: Appetite) -> list[Reason]:
    """Return reasons for records and groups whose sum of y follows from the coefficients."""
    reasons = []
    threshold = limits.safe_threshold
    alone = int((design.leverage > limits.safe_leverage).sum())
    if alone:
        reasons.append(
            Reason(
                "fail",
                "leverage",
                f"{alone} records have a leverage above {limits.safe_leverage:g} (largest "
                f"{design.leverage.max():.3g}): the fit goes through them or nearly so, and their "
                "values follow from the coefficients",
            )
        )
    groups = design.small_groups(threshold)
    if groups:
        fewest = min(n for _, n in groups)
        known = "" if design.is_binary else " for whoever knows the other columns of these records"
        reasons.append(
            Reason(
                "fail" if design.is_binary else "review",
                "saturated",
                f"the columns single out {len(groups)} groups of fewer than {threshold} "
                f"contributors (the smallest has {fewest}), whose sum of y follows from the "
                f"coefficients{known}: join categories, or leave these records out",
                tuple(label for label, _ in groups[:MOST_LISTED]),
            )
        )
    return reasons


def _common_base(fit: Fit) -> str:
    """Return how other outputs get the records of a regression, which leaves out missing values."""
    columns = [str(getattr(fit.result.model, "endog_names", None) or "y"), *fit.names]
    names = [name for name in columns if name not in ("const", "Intercept")]
    return (
        f"Or make all outputs from the same {len(fit.endog)} records, those without missing values "
        f"in {listed(names, limit=20)}: filter the frame once, with dropna"
    )


def _frames(fit: Fit) -> tuple[pd.DataFrame, ...]:
    """Return coefficients, and figures of the fit as a whole."""
    columns = {}
    for name, label in COLUMNS.items():
        found = getattr(fit.result, name, None)
        if found is not None and np.size(found) == len(fit.names):
            columns[label] = np.asarray(found, dtype=np.float64).ravel()
    if not columns:
        columns["coefficient"] = np.asarray(fit.result.params, dtype=np.float64).ravel()
    rows = fit.names if len(columns["coefficient"]) == len(fit.names) else None
    coefficients = pd.DataFrame(columns, index=None if rows is None else pd.Index(rows))
    numbers: dict[str, float] = {"observations": float(len(fit.endog))}
    for name in NUMBERS:
        found = getattr(fit.result, name, None)
        if name != "nobs" and found is not None and np.ndim(found) == 0:
            numbers[name] = float(found)
    return coefficients, pd.DataFrame({"value": pd.Series(numbers)})
