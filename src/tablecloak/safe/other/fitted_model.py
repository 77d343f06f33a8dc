"""What of a fitted model is checked: the one list of it. All else goes to a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tablecloak.arrays import Floats

CHECKED = ("OLS", "WLS", "GLS", "Logit", "Probit", "Poisson", "GLM")
"""Models of statsmodels whose equations are checked."""

LINEAR = ("OLS", "WLS", "GLS")
"""Those that are solved at once, up to rounding."""

USUAL = "nonrobust"
"""The covariance of statsmodels without options: its errors tell sums of squares of all records."""

LIKELIHOODS = ("prsquared", "llf", "aic", "bic")
"""Figures of a fit that tell its likelihood."""

ROUNDED = 1e-8
"""Share of the terms of an equation that rounding may leave over."""

CONVERGED = 1e-5
"""The same where coefficients are searched step by step."""


def weights_of(model: Any, n: int) -> Floats:
    """Return by what a model multiplies the square of each residual."""
    weights = np.ones(n)
    # What a GLM calls weights are those of its last step.
    names = ("freq_weights", "var_weights") if hasattr(model, "family") else ("weights",)
    for name in names:
        values = getattr(model, name, None)
        if values is not None and np.shape(values) == (n,):
            weights = weights * np.asarray(values, dtype=np.float64)
    variances = getattr(model, "sigma", None)
    if variances is not None and np.shape(variances) == (n,):
        weights = weights / np.asarray(variances, dtype=np.float64)
    return weights


def tells_values(model: Any) -> bool:
    """Whether a likelihood holds sums of logarithms, factorials or reciprocals of y."""
    family = getattr(model, "family", None)
    if family is not None:
        return type(family).__name__ not in ("Gaussian", "Binomial")
    return _is_of_statsmodels(model) and type(model).__name__ == "Poisson"


def is_robust(model: Any) -> bool:
    """Whether weights are those of the last step, by residuals: no column of anybody."""
    return _is_of_statsmodels(model) and type(model).__name__ == "RLM"


def is_of_categories(model: Any) -> bool:
    """Whether a model estimates the share of each category of y, as multinomial and ordered do."""
    sizes = (getattr(model, name, None) for name in ("J", "k_levels", "k_cat"))
    return any(isinstance(size, int | np.integer) for size in sizes)


def unchecked(result: Any, figures: tuple[str, ...]) -> Iterator[str]:
    """Return what of a fitted model no rule looks at.

    A model is checked as a whole if it is one of `CHECKED`, without offset or exposure, with the
    usual covariance and a scale that the data give, and if its coefficients solve
    X'W(y - fitted) = 0, or for a probit the equations of its likelihood. Of a result of another
    library that is least squares, and nothing but coefficients and residual degrees of freedom.

    Parameters
    ----------
    result : object
    figures : tuple of str
        Attributes that are shown beside coefficients.
    """
    model = result.model
    name = type(model).__name__
    is_known = _is_of_statsmodels(model) and _is_of_statsmodels(result)
    if not is_known:
        free = len(model.endog) - np.linalg.matrix_rank(np.asarray(model.exog, dtype=np.float64))
        more = [figure for figure in figures if getattr(result, figure, None) is not None
                and not (figure == "df_resid" and result.df_resid == free)]  # fmt: skip
        if more:
            yield (
                f"{type(result).__name__} is no result of statsmodels: nobody knows how its "
                f"{', '.join(more)} come about"
            )
    elif is_robust(model):
        yield (
            "a robust model (RLM) is judged by its columns and weights alone: its scale, and so "
            "its errors, tell the residual of one or two records, a median, and its coefficients "
            "who is an outlier. OLS is checked as a whole"
        )
        return
    elif name not in CHECKED:
        yield (
            f"a model {name} is not checked, only {', '.join(CHECKED)}: its coefficients may "
            "tell of single records, or of categories of y with few"
        )
        return
    variances: Any = getattr(model, "sigma", None)
    if np.ndim(variances) == 2:
        yield "`sigma` of the model is a matrix: only variances, one for each record, are checked"
        return
    for option in ("offset", "exposure"):
        values = getattr(model, option, None)
        if values is not None and np.any(np.asarray(values, dtype=np.float64)):
            yield f"the model has an `{option}`, whose values the coefficients tell"
    family = type(getattr(model, "family", None)).__name__
    if family == "Binomial" and np.ptp(weights_of(model, len(model.endog))):
        yield (
            "weights of a binomial GLM are not checked: beside the same fit with others, "
            "coefficients tell of a record whose weight is small"
        )
    covariance = getattr(result, "cov_type", USUAL)
    if covariance != USUAL:
        yield (
            f"standard errors are those of cov_type={covariance!r}, which may tell of few records "
            "or of one small cluster: fit with the usual covariance"
        )
    if getattr(model, "scaletype", None) is not None:
        yield "the `scale` of the fit is given, and standard errors tell it"
    if not _solves(result, is_known):
        yield (
            f"the coefficients of {name} do not solve X'(y - fitted) = 0, as those of a canonical "
            "link do that has converged, without penalty or constraint: they may tell of single "
            "records"
        )


def _is_of_statsmodels(thing: Any) -> bool:
    return type(thing).__module__.partition(".")[0] == "statsmodels"


def _solves(result: Any, is_known: bool) -> bool:
    """Whether coefficients solve the equations of their model."""
    model = result.model
    X, y = np.asarray(model.exog, dtype=np.float64), np.asarray(model.endog, dtype=np.float64)
    params = np.asarray(result.params, dtype=np.float64)
    if params.shape != X.shape[1:]:
        return False
    name = type(model).__name__ if is_known else "OLS"
    if name == "Probit":
        terms = np.asarray(model.score_obs(params), dtype=np.float64)
        sizes = np.abs(terms)
    else:
        fitted = X @ params if name in LINEAR else np.asarray(model.predict(params))
        weighted = X * weights_of(model, len(y))[:, None]
        terms = weighted * (y - fitted)[:, None]
        sizes = np.abs(weighted) * (np.abs(y) + np.abs(fitted))[:, None]
    limit = ROUNDED if name in LINEAR else CONVERGED
    return bool((np.abs(terms.sum(axis=0)) <= limit * sizes.sum(axis=0)).all())
