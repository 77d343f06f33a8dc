"""Regression over the records of several agencies, none of which reveals its own.

A regression needs the sums X'X, X'y, y'y and n only. Each agency holds its own part of them; all
agencies learn the sums, and none the part of another (`tablecloak.microdata.agencies.agency`).

Limits: of two agencies, each would learn the other's number. Two neighbours who collude learn the
number of the agency between them, unless numbers are split into shares that travel around the ring
in different orders. The results themselves need disclosure control: a regression over few records
may reveal some of them.

References
----------
.. [1] Karr, Sanil: Secure regression over distributed data, 2004; Benaloh: Secret sharing
   homomorphisms, 1987 (secure summation).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from scipy.stats import t as student_t

from tablecloak.arrays import Floats
from tablecloak.errors import ModelError
from tablecloak.microdata.agencies.agency import FixedPoint, Listener, Ring, records

if TYPE_CHECKING:
    import pandas as pd

Result = TypeVar("Result")

Rounds: TypeAlias = Generator[tuple[str, Floats | None], Floats, Result]
"""Generator that yields questions with their arguments, receives sums, and returns a result."""

MOST_STEPS = 50
"""Most Newton steps of a logistic regression."""

ILL_CONDITIONED = 1e6
"""Condition number of X'X above which columns are centred and scaled first."""

DEPENDENT = 1e-9
"""Centred and scaled columns count as linearly dependent if an eigenvalue of X'X / n is below this.
Sums of numbers with 32 binary digits after the point have errors of about 1e-10 themselves."""


@dataclass(frozen=True, eq=False)
class SecureRegression:
    """Result of a regression over the records of all agencies.

    Parameters
    ----------
    names : tuple of str
        Names of the coefficients; the intercept is the first.
    coefficients, standard_errors : numpy.ndarray of float
    n : int
        Number of records of all agencies.
    sigma : float
        Standard error of the regression; NaN for a logistic regression.
    r2, adjusted_r2 : float
        R^2 and adjusted R^2; NaN for a logistic regression.
    f_statistic : float
        Statistic of the hypothesis that all coefficients except the intercept are 0; NaN for a
        logistic regression.
    deviance : float
        -2 log likelihood at the coefficients; for least squares with sigma^2 = residuals / n.
    iterations : int
        Number of Newton steps; 1 for least squares.
    """

    names: tuple[str, ...]
    coefficients: Floats
    standard_errors: Floats
    n: int
    sigma: float
    r2: float
    adjusted_r2: float
    f_statistic: float
    deviance: float
    iterations: int = 1

    @property
    def p_values(self) -> Floats:
        """Two-sided p-values, by the t distribution; by the normal for a logistic regression."""
        ratio = np.abs(self.coefficients / self.standard_errors)
        is_linear = np.isfinite(self.sigma)
        tail = student_t.sf(ratio, self.n - len(self.names)) if is_linear else norm.sf(ratio)
        return np.asarray(2.0 * tail)

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return self.deviance + 2 * (len(self.names) + bool(np.isfinite(self.sigma)))

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row for each coefficient."""
        import pandas as pd

        columns = {
            "coefficient": self.coefficients,
            "standard_error": self.standard_errors,
            "p_value": self.p_values,
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name="name"))

    def summary(self) -> str:
        """Return the figures of the regression in one line."""
        fit = f", R^2 {self.r2:.4f}, F {self.f_statistic:.4g}" if np.isfinite(self.sigma) else ""
        return f"{self.n} records{fit}, AIC {self.aic:.6g}, rounds of sums: {self.iterations}"

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name} {value:.6g} ({error:.3g})"
            for name, value, error in zip(
                self.names, self.coefficients, self.standard_errors, strict=True
            )
        )
        return f"<secure regression, {self.n} records: {parts}; R^2 {self.r2:.4f}>"


def secure_regression(
    data: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    names: Sequence[str],
    *,
    logistic: bool = False,
    arithmetic: FixedPoint | None = None,
    shares: int = 1,
    listener: Listener | None = None,
) -> SecureRegression:
    """Fit a regression from sums alone.

    Parameters
    ----------
    data : sequence of (X, y)
        One entry for each agency: predictors without the intercept, shape (n_k, p), and
        response, shape (n_k,).
    names : sequence of str
        Names of the predictors.
    logistic : bool, default=False
        Whether to fit a logistic regression of a 0/1 response, by Newton steps with a round of
        sums each.
    arithmetic : FixedPoint, optional
    shares : int, default=1
        Number of shares of each number, against neighbours who collude; see `Ring`.
    listener : callable, optional

    Returns
    -------
    SecureRegression

    Raises
    ------
    InputError
        If there are fewer than three agencies, or numbers do not fit the modulus.
    ModelError
        If predictors are linearly dependent, or a logistic fit does not converge.
    """
    agencies = [records(f"agency {k + 1}", x, y) for k, (x, y) in enumerate(data)]
    ring = Ring(agencies, arithmetic or FixedPoint(), shares=shares, listener=listener)
    rounds = regression_rounds(names, logistic=logistic)
    try:
        asked = next(rounds)
        while True:
            asked = rounds.send(ring.sums(*asked))
    except StopIteration as end:
        result: SecureRegression = end.value
        return result


def regression_rounds(names: Sequence[str], *, logistic: bool) -> Rounds[SecureRegression]:
    """Ask for the sums that a regression needs, one question after another, and return its result.

    Each agency runs this generator too, and so knows which question may come next.

    Yields
    ------
    (question, argument)
        The sums of all agencies' answers are to be sent to the generator.
    """
    labels = ("(intercept)", *names)
    return _logistic_rounds(labels) if logistic else _linear_rounds(labels)


def _linear_rounds(labels: tuple[str, ...]) -> Rounds[SecureRegression]:
    p = len(labels)
    xx, xy, yy, sum_y, n = _moments((yield "moments", None), p)
    shift, scale = np.zeros(p - 1), np.ones(p - 1)
    dependent = False
    if np.linalg.cond(xx) > ILL_CONDITIONED:
        # The error of normal equations grows with the square of the condition number.
        shift = xx[0, 1:] / n
        spread = np.diag(xx)[1:] / n - shift**2
        scale = np.where(spread > 0, np.sqrt(np.maximum(spread, 1e-300)), 1.0)
        centred = yield "moments", np.concatenate([shift, scale])
        xx, xy, yy, sum_y, n = _moments(centred, p)
        dependent = np.linalg.eigvalsh(xx / n)[0] < DEPENDENT
    if n <= p or dependent or np.linalg.matrix_rank(xx) < p:
        raise ModelError(
            f"The predictors are linearly dependent, or there are too few records: {n} for {p} "
            "coefficients. Leave out predictors that follow from others."
        )
    inverse = np.linalg.inv(xx)
    beta = np.linalg.solve(xx, xy)
    residual = yy - float(beta @ xy)
    sigma2 = residual / (n - p)
    back = np.eye(p)
    back[1:, 1:] = np.diag(1 / scale)
    back[0, 1:] = -shift / scale
    explained = yy - sum_y**2 / n - residual
    r2 = explained / (explained + residual)
    return SecureRegression(
        labels,
        back @ beta,
        np.sqrt(sigma2 * np.diag(back @ inverse @ back.T)),
        n,
        float(np.sqrt(sigma2)),
        float(r2),
        float(1 - (1 - r2) * (n - 1) / (n - p)),
        float(explained / (p - 1) / sigma2) if p > 1 else np.nan,
        float(n * (np.log(2 * np.pi * residual / n) + 1)),
    )


def _moments(sums: Floats, p: int) -> tuple[Floats, Floats, float, float, int]:
    xx, rest = _symmetric(sums, p)
    return xx, rest[:p], float(rest[p]), float(rest[p + 1]), round(float(xx[0, 0]))


def _symmetric(sums: Floats, p: int) -> tuple[Floats, Floats]:
    """Return the symmetric matrix whose upper triangle comes first, and the other sums."""
    matrix = np.zeros((p, p))
    upper = np.triu_indices(p)
    matrix[upper] = sums[: len(upper[0])]
    return matrix + matrix.T - np.diag(np.diag(matrix)), sums[len(upper[0]) :]


def _logistic_rounds(labels: tuple[str, ...]) -> Rounds[SecureRegression]:
    beta = np.zeros(len(labels))
    nan = np.nan
    for turn in range(1, MOST_STEPS + 1):
        information, rest = _symmetric((yield "newton", beta), len(labels))
        gradient, deviance, n = rest[:-2], float(rest[-2]), round(float(rest[-1]))
        if np.linalg.matrix_rank(information) < len(labels):
            raise ModelError(
                "The predictors are linearly dependent, or separate the response: some combination "
                "of them tells all 1s from all 0s. Leave out predictors."
            )
        step = np.linalg.solve(information, gradient)
        beta = beta + step
        if np.max(np.abs(step)) <= 1e-9 * max(1.0, float(np.max(np.abs(beta)))):
            errors = np.sqrt(np.diag(np.linalg.inv(information)))
            return SecureRegression(labels, beta, errors, n, nan, nan, nan, nan, deviance, turn)
    raise ModelError(
        f"The logistic regression did not converge in {MOST_STEPS} steps: predictors separate the "
        "response, so that some combination of them tells all 1s from all 0s. Leave out predictors."
    )
