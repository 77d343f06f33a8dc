"""Regressions: linear, logit and others, as statsmodels fits them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.safe.other.design import Design
from tablecloak.safe.other.kind import KINDS, Asked, Checked, Counts, Kind
from tablecloak.safe.outcome import Reason

__all__ = ["Fit", "Regression"]

LEVERAGE = 1e-8
"""Distance of a leverage from 1 up to which a record is fitted whatever its value."""

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
    """

    exog: Floats
    endog: Floats
    names: tuple[str, ...]
    index: pd.Index | None
    result: Any
    method: str

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
        return cls(exog, endog, tuple(names), index, result, type(model).__name__.lower())

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
class Regression(Kind):
    """Regression: degrees of freedom, and groups of few records that its columns single out.

    Source: F. Ritchie, *Disclosure control for regression outputs* (2019), for degrees of freedom
    and saturated models; D. A. Belsley, E. Kuh, R. E. Welsch, *Regression diagnostics* (1980),
    section 2.1, for leverage.
    """

    name: ClassVar[str] = "regression"
    label: ClassVar[str] = "regression"

    fit: Annotated[Any, Field(description="Fitted model, a `Fit`.")]

    def check(self, asked: Asked) -> Checked:
        """Check the columns of the regression, and its fit."""
        fit: Fit = self.fit
        design = Design(fit.exog, fit.names, asked.contributor)
        limits = asked.appetite
        free = design.n_contributors - design.rank
        given = getattr(fit.result, "df_resid", None)
        if given is not None and np.isfinite(given):
            free = min(free, int(given))
        reasons = [
            *_freedom(free, limits.safe_dof_threshold),
            *_singled_out(design, limits.safe_threshold),
            *_perfect(fit),
        ]
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
            whole = np.zeros(len(asked.positions), dtype=np.int64)
            one = np.ones((1, 1), dtype=np.int64)
            counts = (Counts(asked.positions, whole, one, ("observations",), (None,)),)
            if design.is_binary and _is_amount(fit.endog):
                counts = (*counts, _sums(asked, design, fit))
        return Checked(
            _frames(fit), tuple(reasons), tuple(notes), counts=counts,
            properties={"method": fit.method, "dof": free},
        )  # fmt: skip


def _is_amount(values: Floats) -> bool:
    """Whether values are amounts, of which sums of few can be dominated; 0 and 1 are none."""
    return bool((values >= 0).all() and len(np.unique(values)) > 2)


def _sums(asked: Asked, design: Design, fit: Fit) -> Counts:
    """Return the sums of y that the coefficients of columns of 0 and 1 tell.

    X'y = X' fitted, and whoever knows how many records there are of each kind knows the right side.
    A regression on the categories of a variable is a table of means.
    """
    patterns, group = np.unique(design.matrix, axis=0, return_inverse=True)
    used = np.flatnonzero(patterns.any(axis=0))
    name = str(getattr(fit.result.model, "endog_names", None) or "y")
    labels = tuple(f"sum of {name} where {fit.names[column]} = 1" for column in used)
    return Counts(
        asked.positions,
        group.ravel().astype(np.int64),
        patterns[:, used].T.astype(np.int64),
        labels,
        (None,) * len(used),
        fit.endog,
        name,
    )


def _freedom(free: int, least: int) -> list[Reason]:
    if free >= least:
        return []
    text = f"{free} residual degrees of freedom; at least {least} are needed"
    return [Reason("fail", "degrees of freedom", text)]


def _singled_out(design: Design, threshold: int) -> list[Reason]:
    """Return reasons for records and groups whose sum of y follows from the coefficients."""
    reasons = []
    alone = int((design.leverage > 1 - LEVERAGE).sum())
    if alone:
        reasons.append(
            Reason(
                "fail",
                "leverage",
                f"{alone} records have leverage 1: the fit goes through them, and their values "
                "follow from the coefficients",
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


def _perfect(fit: Fit) -> list[Reason]:
    if not fit.left_over <= PERFECT:
        return []
    text = "the fit is perfect: every value of y follows from the coefficients (R2 is 1)"
    return [Reason("fail", "perfect fit", text)]


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
