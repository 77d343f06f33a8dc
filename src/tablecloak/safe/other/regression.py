"""Regressions: linear, logit and others, as statsmodels fits them.

The columns of a regression may single out small groups, whose sum of y follows from the
coefficients.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, listed
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.joint.disclosure import same_records, unsearched
from tablecloak.safe.joint.leverage import combinations_within, is_low
from tablecloak.safe.joint.question import MOST_PROGRAMS
from tablecloak.safe.joint.search_work import SearchWork
from tablecloak.safe.joint.small_groups import SmallGroups
from tablecloak.safe.other.fitted_model import (
    LIKELIHOODS,
    is_of_categories,
    is_robust,
    tells_values,
    unchecked,
    weights_of,
)
from tablecloak.safe.other.kind import KINDS, Checked, Counts, Kind, OutputRecords
from tablecloak.safe.output import Reason, Status
from tablecloak.safe.squares import column_is_told
from tablecloak.safe.tables.level_counts import ALL_DIGITS, rounded
from tablecloak.safe.tables.measures import CellMeasure, broken_rules
from tablecloak.safe.tables.request import TableAxis, TableGrid
from tablecloak.safe.values import MOST_LEVELS, ValueLevels

EXACT = 1e-8
"""Share of a group's indicator that may be left outside of the column space: rounding alone."""

PERFECT = 1e-12
"""Share of the variation left over up to which a fit is perfect: rounding alone."""

LEAST_LEVERAGE = 0.3
"""Leverage from which it is looked at whether a fitted value is nearly that of its record: beside
a leverage of 0.3 all others have 0.7 of a mean, and hide seven times as much as it within 10 %."""

MOST_KINDS = 2**62
"""Combinations of codes that are numbered without a look at which there are."""

MOST_LISTED = 5
"""Most groups that a reason names."""

COLUMNS = {
    "params": "coefficient",
    "bse": "standard error",
    "tvalues": "t",
    "pvalues": "p",
}
"""What is shown of each coefficient, by the attribute of a fitted model that has it."""

CODED = re.compile(r"^(?:C\((\w+).*\)|(\w+))\[.*\]$")
"""Name of a column that stands for one category of a factor."""

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


WEIGHTS = "weights of the regression"
"""Name under which weights stand beside the columns of a fit."""


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
    index : pandas.Index
        Of the records; numbered from 0 if the model does not know them.
    result : object
    method : str
        Name of the model, such as "ols".
    weights : (n,) array of float
        By what each record counts; records to which somebody gave no weight are left out.
    n_left_out : int, default=0
        How many these are.
    """

    exog: Floats
    endog: Floats
    names: tuple[str, ...]
    index: pd.Index
    result: Any
    method: str
    weights: Floats
    n_left_out: int = 0

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
        if np.shape(result.params) == exog.shape:
            raise InputError(
                f"{type(result).__name__} has coefficients of each record, as rolling regressions "
                "do: ask for a regression of each period that you show"
            )
        if not np.isfinite(exog).all() or not np.isfinite(endog).all():
            raise InputError("a regression needs finite numbers: drop missing values first")
        names = [str(name) for name in getattr(model, "exog_names", None) or []]
        if len(names) != exog.shape[1]:
            names = [f"x{number}" for number in range(exog.shape[1])]
        labels = getattr(getattr(model, "data", None), "row_labels", None)
        index = pd.RangeIndex(len(endog)) if labels is None else pd.Index(labels)
        frame = getattr(getattr(model, "data", None), "frame", None)
        if isinstance(frame, pd.DataFrame) and frame.index.equals(index):
            # The index of the frame itself says that its records were not numbered anew.
            index = frame.index
        weights = weights_of(model, len(endog))
        # How many records a robust fit leaves out is theirs alone.
        counts = (weights > 0) | is_robust(model)
        return cls(
            exog[counts], endog[counts], tuple(names), index if counts.all() else index[counts],
            result, type(model).__name__.lower(), weights[counts], int((~counts).sum()),
        )  # fmt: skip

    @property
    def values(self) -> pd.DataFrame:
        """What the model knows of its records: y, and the columns and weights that vary."""
        varies = (self.exog != self.exog[:1]).any(axis=0)
        chosen = np.flatnonzero(varies)
        columns = pd.DataFrame(
            self.exog[:, chosen], index=self.index, columns=[self.names[k] for k in chosen]
        )
        weighted = {WEIGHTS: self.weights} if self.is_weighted else {}
        return columns.assign(**{self.y: self.endog}, **weighted)

    @property
    def tells_squares(self) -> bool:
        """Whether anything is shown beside coefficients: a fit as a whole, or standard errors."""
        return any(_figure(self.result, name) is not None for name in ("bse", "rsquared", "llf"))

    @property
    def has_amounts(self) -> bool:
        """Whether y is an amount whose residuals the fit tells of: no code, and no robust scale."""
        model = self.result.model
        is_other = is_of_categories(model) or is_robust(model)
        return not is_other and not ValueLevels.of(self.endog).is_code

    @property
    def is_weighted(self) -> bool:
        """Whether weights are a column of somebody: those of a robust fit are its own."""
        return bool(np.ptp(self.weights)) and not is_robust(self.result.model)

    @property
    def is_of_flag(self) -> bool:
        """Whether y is 0 or 1."""
        return bool(np.isin(self.endog, (0, 1)).all())

    @property
    def y(self) -> str:
        """Name of what the model explains."""
        return str(getattr(self.result.model, "endog_names", None) or "y")

    @property
    def columns(self) -> list[str]:
        """What the columns are called in the frame, as far as their names say."""
        parts = [part for name in (self.y, *self.names) for part in name.split(":")]
        names = [CODED.sub(r"\1\2", part) for part in parts if part not in ("const", "Intercept")]
        return list(dict.fromkeys(names))

    @property
    def leaves_out(self) -> bool:
        """Whether the model left out records for their missing values."""
        data = getattr(self.result.model, "data", None)
        missing: Any = getattr(data, "missing_row_idx", None)
        return missing is not None and np.size(missing) > 0

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
        of_tables, digits = _as_tables(design, fit, limits)
        reasons = [*_singled_out(design, limits), *of_tables]
        reasons += [
            *_nearly_told(design, fit, limits),
            *_crossed(design, limits),
            *_squares(design, fit, limits),
        ]
        least = limits.safe_dof_threshold
        if free < least:
            text = f"{free} residual degrees of freedom; at least {least} are needed"
            reasons.insert(0, Reason("fail", "degrees of freedom", text))
        if fit.n_left_out:
            text = (
                f"{fit.n_left_out} records have weight 0: degrees of freedom count them, and "
                "`observations` does not. Leave them out of the data of the fit"
            )
            reasons.append(Reason("review", "weights", text))
        if fit.left_over <= PERFECT:
            text = "the fit is perfect: every value of y follows from the coefficients (R2 is 1)"
            reasons.append(Reason("fail", "perfect fit", text))
        reasons += [
            Reason("review", "method", text)
            for text in unchecked(fit.result, (*list(COLUMNS)[1:], *NUMBERS))
        ]
        notes = [
            f"{free} residual degrees of freedom; largest leverage {design.leverage.max():.3g}"
        ]
        if digits < ALL_DIGITS:
            notes.append(
                f"figures are shown with {digits} digits: from all digits would follow how many "
                f"records have which value of {fit.y}"
            )
        if tells_values(fit.result.model):
            notes.append(
                f"{', '.join(LIKELIHOODS)} are left out: a likelihood holds sums of functions of "
                f"{fit.y}, which tell how many records have which value"
            )
        counts, conditional = _counts(records, design, fit)
        return Checked(
            _frames(fit, digits), tuple(reasons), tuple(notes),
            counts=counts, conditional=conditional,
            properties={"method": fit.method, "dof": free},
            base=same_records(len(fit.endog), fit.columns) if fit.leaves_out else "",
        )  # fmt: skip


def _counts(
    records: OutputRecords, design: DesignMatrix, fit: Fit
) -> tuple[tuple[Counts, ...], tuple[Counts, ...]]:
    """Return the counts, and the sums of y, that coefficients and their errors tell.

    X'y = X' fitted, and whoever knows how many records there are of each kind knows the right side.
    A regression on the categories of a variable is a table of means, and standard errors tell the
    counts of it. With other columns the sum over all records is told, since their means are in most
    papers; the rest of X'y, sums of y times a column, follows for whoever knows X. Where y is a
    category, the sums are counts of each. Standard errors are those of X'X: they tell how many have
    each flag, and the sum of each other column; with weights, the sum of these.
    """
    y = fit.y
    of_flags, amounts = design.matrix == 1, fit.endog * fit.weights
    is_told = of_flags.any(axis=0) & ((design.matrix == 0) | of_flags).all(axis=0)
    # The number of all records is always told.
    flags = np.column_stack([np.ones(len(of_flags)), design.matrix[:, is_told]])
    names = ["all", *(name for name, told in zip(fit.names, is_told, strict=True) if told)]
    patterns, group = np.unique(flags, axis=0, return_inverse=True)
    group, sums = group.ravel().astype(np.int64), patterns.T.astype(np.int64)
    labels = ["observations", *(f"observations where {name} = 1" for name in names[1:])]

    def of_sums(chosen: list[int]) -> tuple[Counts, ...]:
        said = tuple(
            f"sum of {y}" + f" where {names[number]} = 1" * (number > 0) for number in chosen
        )
        places = (None,) * len(said)
        return (Counts(records.positions, group, sums[chosen], said, places, amounts, y),)[
            : len(said)
        ]

    every = list(range(1, len(sums)))
    free = every if design.is_binary else [number for number in every if sums[number].all()]
    # Standard errors tell how many have a flag, whatever the other columns are.
    counted = [0, *every]
    counts = Counts(
        records.positions, group, sums[counted], tuple(labels[number] for number in counted),
        (None,) * len(counted),
    )  # fmt: skip
    # Errors are those of X'WX, and degrees of freedom count `freq_weights`.
    weighted = (
        replace(
            counts, labels=tuple(f"weights of {label}" for label in counts.labels),
            amounts=fit.weights, variable=WEIGHTS,
        ),
    ) if fit.is_weighted else ()  # fmt: skip
    # Then X'y is the sum of each column where y is 1.
    adds_up_columns = fit.is_of_flag and not fit.is_weighted
    products = tuple(
        Counts(
            records.positions, np.zeros_like(group), np.ones((1, 1), dtype=np.int64),
            (f"sum of {y} x {name}",), (None,), amounts * column, f"{y} x {name}",
        )
        for name, column, is_counted in zip(fit.names, design.matrix.T, is_told, strict=True)
        if not is_counted and not adds_up_columns
    )  # fmt: skip
    of_columns = _crossed_columns(records, design, fit, is_told, group, sums, names)
    left = [number for number in every if number not in free]
    if is_of_categories(fit.result.model):
        return (counts, *weighted, *(replace(
            counts, labels=tuple(f"{label} with {y} = {code:g}" for label in counts.labels),
            amounts=(fit.endog == code).astype(np.float64), variable=f"{y} = {code:g}",
        ) for code in np.unique(fit.endog))), ()  # fmt: skip
    # Of 0 and 1 papers tell the mean also where there is no constant.
    has_all = any(sums[number].all() for number in free)
    free = [0, *free] if fit.is_of_flag and not has_all else free
    return (counts, *weighted, *of_sums(free)), (*of_sums(left), *products, *of_columns)


def _crossed_columns(
    records: OutputRecords,
    design: DesignMatrix,
    fit: Fit,
    is_told: Flags,
    group: Integers,
    sums: Integers,
    names: list[str],
) -> tuple[Counts, ...]:
    """Return what standard errors, which are those of X'X, tell of columns and each two of them.

    How many have both of two flags, the sum of a column for each flag, and that of the product of
    two others. Nested models tell the same of the columns that they differ by. Where y is 0 or 1,
    X'y is the sum of each column for y = 1.

    Parameters
    ----------
    group : (n,) array of int
        Pattern of flags of each record.
    sums : (flags, patterns) array of 0 and 1
    names : list of str
        Of the flags; the first one is of all records.
    """
    # Constants say of no part.
    kept = [0, *(number for number in range(1, len(sums)) if not sums[number].all())]
    sums, names, n_flags = sums[kept], [names[number] for number in kept], len(kept)
    counts: list[Counts] = []
    pairs = [
        (one, other)
        for one, other in combinations(range(1, n_flags), 2)
        if (sums[one] & sums[other]).any()
        and not any((sums[one] & sums[other] == sums[k]).all() for k in (one, other))
    ]
    if pairs:
        both = np.array([sums[one] & sums[other] for one, other in pairs])
        said = tuple(
            f"observations where {names[one]} = 1 and {names[other]} = 1" for one, other in pairs
        )
        counts.append(Counts(records.positions, group, both, said, (None,) * len(said)))
    varies = [
        (name, column)
        for name, column, is_counted in zip(fit.names, design.matrix.T, is_told, strict=True)
        if not is_counted and np.ptp(column)
    ]
    for name, column in varies:
        said = tuple(
            f"sum of {name}" + f" where {names[number]} = 1" * (number > 0)
            for number in range(n_flags)
        )
        counts.append(Counts(records.positions, group, sums, said, (None,) * n_flags, column, name))
    alone, every = np.zeros_like(group), np.ones((1, 1), dtype=np.int64)
    for (one, column), (other, beside) in combinations(varies, 2):
        counts.append(
            Counts(
                records.positions, alone, every, (f"sum of {one} x {other}",), (None,),
                column * beside, f"{one} x {other}",
            )
        )  # fmt: skip
    if fit.is_of_flag and not fit.is_weighted:
        of_y = np.array([[0, 1]], dtype=np.int64)
        counts += [
            Counts(
                records.positions, fit.endog.astype(np.int64), of_y,
                (f"sum of {name} where {fit.y} = 1",), (None,), column, name,
            )
            for name, column in varies
        ]  # fmt: skip
    return tuple(counts)


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
    groups, is_complete = design.small_groups(threshold)
    for some, what in ((groups, "groups"), (design.slopes_of_few(threshold), "slopes")):
        if some:
            status: Status = "fail" if design.is_binary else "review"
            fewest = min(n for _, n in some)
            known = "" if status == "fail" else " for whoever knows the other columns of these"
            text = (
                f"the columns single out {len(some)} {what} of fewer than {threshold} "
                f"contributors (the smallest has {fewest}), whose sum of y follows from the "
                f"coefficients{known}: join categories, or leave these records out"
            )
            labels = tuple(label for label, _ in some[:MOST_LISTED])
            reasons.append(Reason(status, "saturated", text, labels))
    if not is_complete:
        reasons += unsearched(["the search for groups that the columns single out was cut off"])
    return reasons


def _nearly_told(design: DesignMatrix, fit: Fit, limits: Appetite) -> list[Reason]:
    """Return a reason for records whose y the fit tells within p per cent, though not exactly."""
    if not fit.has_amounts or fit.left_over <= PERFECT:
        return []
    records = design.nearly_told(fit.endog, limits.safe_pratio_p, fit.tells_squares)
    # Above the limit they are told altogether.
    records = records[design.leverage[records] <= limits.safe_leverage]
    if not records.size:
        return []
    most = design.leverage[records].max()
    text = (
        f"whoever knows the columns is told {fit.y} of {len(records)} records within "
        f"{limits.safe_pratio_p:.0%}: their leverage is up to {most:.3g}, and the fit "
        f"leaves over {fit.left_over:.3g} of the variation"
    )
    return [Reason("review", "leverage", text)]


def _crossed(design: DesignMatrix, limits: Appetite) -> list[Reason]:
    """Return a reason for few contributors with a value, or with values of two columns.

    Standard errors are those of X'X with all digits: of columns of few values they tell how many
    records have each, and how many have both of two.
    """
    threshold, few = limits.safe_threshold, design.crossings()
    small = [n for n in few if 0 < n < threshold]
    if not small:
        return []
    text = (
        f"standard errors tell how many have values of two columns of the regression: "
        f"{len(small)} such groups have fewer than {threshold} contributors (the smallest "
        f"{min(small)}): join categories, or leave one of the columns out"
    )
    return [Reason("review", "threshold", text)]


def _squares(design: DesignMatrix, fit: Fit, limits: Appetite) -> list[Reason]:
    """Return a reason for columns one amount of which is nearly told by their sum of squares.

    Residuals tell that of y, and standard errors, which are those of X'X, that of each column:
    of the only one beside a constant without any other knowledge.
    """
    if not fit.tells_squares:
        return []
    p = limits.safe_pratio_p
    names = [name for name, column in zip(fit.names, design.matrix.T, strict=True)
            if column_is_told(column, design.contributor, p)]  # fmt: skip
    of_y = fit.has_amounts and column_is_told(fit.endog, design.contributor, p)
    if not names and not of_y:
        return []
    named = listed([*[fit.y] * of_y, *names], limit=MOST_LISTED)
    text = (
        f"residuals and standard errors tell sums of squares, of which one contributor has nearly "
        f"all of {named}: that amount follows within {p:.0%}. Clip it, or take logarithms"
    )
    return [Reason("fail" if of_y or design.rank <= 2 else "review", "p-ratio", text)]


def _as_tables(design: DesignMatrix, fit: Fit, limits: Appetite) -> tuple[list[Reason], int]:
    """Return reasons for categories whose sum of y is told, and would be hidden in a table.

    With them come the digits with which figures may be shown. Several figures tell a mean, and more
    of its digits than each: they have one less than the mean would have.
    """
    y, digits = fit.y, ALL_DIGITS
    alike: dict[str, bool] = {}
    unsafe: dict[str, str] = {}
    for codes in design.partitions():
        counts, order = np.bincount(codes), np.argsort(codes, kind="stable")
        starts = np.cumsum(counts) - counts
        sorted_y = fit.endog[order]
        is_one = np.maximum.reduceat(sorted_y, starts) == np.minimum.reduceat(sorted_y, starts)
        measure = _measure(y, codes, fit.endog, design.contributor, limits)
        broken = broken_rules(measure, limits)
        tells = [number for number in range(len(counts))
                 if measure.n[measure.grid.places[number, 0]] >= limits.safe_threshold
                 and design.singled_out(order[starts[number] :][: counts[number]])]  # fmt: skip
        cells = measure.grid.places[tells, 0]
        fewest, _, few = measure.by_level.digits(cells, with_squares=False)
        digits = min(digits, fewest - (fewest < ALL_DIGITS))
        few[cells] |= measure.by_level.few_beyond_a_gap(with_squares=False)[cells]
        broken["threshold"] = broken["threshold"] | few
        for number, cell in enumerate(measure.grid.places[:, 0]):
            if measure.n[cell] < limits.safe_threshold:
                continue
            group = order[starts[number] :][: counts[number]]
            rules = [rule for rule, cells in broken.items() if cells[cell]]
            is_zeros = "zeros" in rules
            is_alike = is_one[number] and (is_zeros or fit.endog[group[0]] not in (0, 1))
            if (is_alike or rules) and design.singled_out(group):
                if is_alike:
                    alike[design.said(group)] = is_zeros
                else:
                    unsafe[design.said(group)] = rules[0]
    reasons = []
    remedy = "leave the category out, or join it with another"
    is_told = design.is_binary or design.is_of_means
    if alike:
        is_fact = is_told and any(alike.values())
        status: Status = "fail" if is_fact else "review"
        known = "" if is_fact else " whoever knows the other columns of these"
        text = f"{y} is the same for everybody where {next(iter(alike))}, which the coefficients "
        text += f"tell{known}: {remedy}"
        reasons.append(Reason(status, "zeros", text, tuple(alike)[:MOST_LISTED]))
    if unsafe:
        label, rule = next(iter(unsafe.items()))
        condition = "" if is_told else " whoever knows the other columns of these records"
        text = f"the coefficients tell{condition} the sum of {y} where {label}, which a table "
        text += f"would hide ({rule}): {remedy}"
        status = "fail" if is_told else "review"
        reasons.append(Reason(status, rule, text, tuple(unsafe)[:MOST_LISTED]))
    return reasons, digits


def _measure(
    y: str, codes: Integers, values: Floats, contributor: Integers, limits: Appetite
) -> CellMeasure:
    """Return the sums of y by category, as a table of one column has them."""
    size = int(codes.max()) + 1
    grid = TableGrid(
        TableAxis(codes, np.arange(size), size),
        TableAxis(np.zeros_like(codes), np.zeros(1, dtype=np.int64), 1),
    )
    return CellMeasure(
        "sum", y, grid, codes, values, contributor, None, limits.safe_nk_n, limits.safe_threshold
    )


def _figure(result: Any, name: str) -> Any:
    """Return a figure of a fitted model; None where its kind of model has none, as RLM no `llf`."""
    try:
        return getattr(result, name, None)
    except NotImplementedError:
        return None


def _frames(fit: Fit, digits: int) -> tuple[pd.DataFrame, ...]:
    """Return coefficients, and figures of the fit as a whole, with so many digits."""
    columns = {}
    for name, label in COLUMNS.items():
        figure = _figure(fit.result, name)
        if figure is not None and np.size(figure) == len(fit.names):
            columns[label] = rounded(np.asarray(figure, dtype=np.float64).ravel(), digits)
    if not columns:
        params = np.asarray(fit.result.params, dtype=np.float64).ravel()
        columns["coefficient"] = rounded(params, digits)
    rows = fit.names if len(columns["coefficient"]) == len(fit.names) else None
    coefficients = pd.DataFrame(columns, index=None if rows is None else pd.Index(rows))
    numbers: dict[str, float] = {"observations": float(len(fit.endog))}
    for name in NUMBERS:
        if name in LIKELIHOODS and tells_values(fit.result.model):
            continue
        found = _figure(fit.result, name)
        if name != "nobs" and found is not None and np.ndim(found) == 0:
            # Degrees of freedom are no function of y.
            is_whole = float(found).is_integer()
            numbers[name] = float(found if is_whole else rounded(np.array([found]), digits)[0])
    return coefficients, pd.DataFrame({"value": pd.Series(numbers)})
