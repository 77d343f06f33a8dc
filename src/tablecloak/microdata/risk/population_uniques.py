"""Number of population uniques from the sizes of groups of a sample, without a model of keys.

References
----------
.. [1] Hoshino: Applying Pitman's sampling formula to microdata disclosure risk assessment, Journal
   of Official Statistics 17, 2001, equations 4 to 8.
.. [2] Zayatz: Estimation of the percent of unique population elements on a microdata file using
   the sample, Bureau of the Census, Statistical Research Division report 91/08, 1991.
.. [3] Chen, Keller-McNulty: Estimation of identification disclosure risk in microdata, Journal of
   Official Statistics 14, 1998 (slide negative binomial).
.. [4] Haas, Stokes: Estimating the number of classes in a finite population, Journal of the
   American Statistical Association 93, 1998 (number of classes, after Shlosser).
.. [5] Dankar, El Emam, Neisa, Roffey: Estimating the re-identification risk of clinical data sets,
   BMC Medical Informatics and Decision Making 12:66, 2012 (which estimator to take).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.optimize import least_squares, minimize
from scipy.special import expit, gammaln
from scipy.stats import hypergeom

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import names_of
from tablecloak.microdata.library_frames import of_any_library

SMALL_FRACTION = 0.1
"""Sampling fraction up to which Pitman's estimate is the best one, by the simulations of [5]_."""


@dataclass(frozen=True, eq=False)
class UniqueEstimates:
    """Estimates of the number of persons who are unique in the population.

    Parameters
    ----------
    size, number : numpy.ndarray of int, shape (n_sizes,)
        Sizes of groups of the sample in rising order, and how many groups have them.
    fraction : float
        Share of the population that is in the sample.
    """

    size: Integers
    number: Integers
    fraction: float

    @property
    def n_uniques(self) -> int:
        """Number of uniques of the sample."""
        return int(self.number[self.size == 1].sum())

    @property
    def n_persons(self) -> float:
        """Number of persons of the population."""
        return float(self.size @ self.number) / self.fraction

    @cached_property
    def pitman(self) -> float:
        """Estimate by Pitman's formula, Gamma(theta + 1) / Gamma(theta + alpha) N^alpha [1]_."""
        theta, alpha = self.pitman_parameters
        logarithm = gammaln(theta + 1) - gammaln(theta + alpha) + alpha * np.log(self.n_persons)
        return self._limited(float(np.exp(logarithm)))

    @cached_property
    def pitman_parameters(self) -> tuple[float, float]:
        """Theta and alpha of most likelihood, 0 < alpha < 1, theta > -alpha [1]_."""
        groups, records = float(self.number.sum()), float(self.size @ self.number)

        def unlikely(point: Floats) -> float:
            alpha = float(np.clip(expit(point[0]), 1e-9, 1 - 1e-9))
            theta = float(np.exp(np.clip(point[1], -30, 30))) - alpha
            grown = gammaln(theta / alpha + groups) - gammaln(theta / alpha + 1)
            likelihood = (groups - 1) * np.log(alpha) + grown
            likelihood -= gammaln(theta + records) - gammaln(theta + 1)
            likelihood += self.number @ (gammaln(self.size - alpha) - gammaln(1 - alpha))
            return -float(likelihood)

        starts = [np.array([0.0, np.log(groups)]), np.array([1.0, 0.0])]
        answers = [
            minimize(unlikely, start, method="Nelder-Mead", options={"maxiter": 4000})
            for start in starts
        ]
        best = min(answers, key=lambda answer: answer.fun).x
        alpha = float(expit(best[0]))
        return float(np.exp(best[1])) - alpha, alpha

    @cached_property
    def zayatz(self) -> float:
        """Sample uniques times the probability that one is unique in the population, / pi [2]_.

        The population is taken to have groups of the sizes of the sample, in the same shares.
        """
        persons, records = round(self.n_persons), int(self.size @ self.number)
        # How probable it is that exactly one member of a group is drawn.
        drawn = self.number * hypergeom.pmf(1, persons, self.size, records)
        return self._limited(float(self.n_uniques * drawn[self.size == 1].sum() / drawn.sum())
                             / self.fraction)  # fmt: skip

    @cached_property
    def slide(self) -> float:
        """Estimate by the slide negative binomial; NaN if no parameters give the sample [3]_."""
        pi, size, number = self.fraction, self.size.astype(float), self.number.astype(float)
        if pi == 1:
            return float(self.n_uniques)
        left = number * (1 - pi) ** size
        drawn = (size * pi**2 * (1 - pi**2) ** (size - 1)) @ number
        ratio = drawn / (left @ ((1 + pi) ** size - 1))
        once = (size * pi * (1 - pi) ** (size - 1)) @ number
        # The number of classes of the population [4]_.
        classes = number.sum() + self.n_uniques * ratio * (left.sum() / once) ** 2
        wanted = np.array([self.n_uniques, number[self.size == 2].sum()], dtype=np.float64)

        def off(point: Floats) -> Floats:
            alpha, beta = np.exp(point[0]), expit(point[1])
            return (slide_moments(classes, alpha, beta, pi) - wanted) / np.maximum(wanted, 1.0)

        answers = [least_squares(off, start) for start in ([0.0, 0.0], [-2.0, -3.0], [1.0, 2.0])]
        best = min(answers, key=lambda answer: answer.cost)
        if best.cost > 1e-8:
            return float("nan")
        return self._limited(float(classes * expit(best.x[1]) ** np.exp(best.x[0])))

    @property
    def rule(self) -> str:
        """Estimator that the rule of Dankar and others takes: pitman, zayatz or slide [5]_.

        Pitman for small samples; else the smaller one of the other two.
        """
        if self.fraction <= SMALL_FRACTION:
            return "pitman"
        return "slide" if self.slide < self.zayatz else "zayatz"

    @property
    def dankar(self) -> float:
        """Estimate of the estimator that the rule takes."""
        return float(getattr(self, self.rule))

    def _limited(self, estimate: float) -> float:
        """Return an estimate between 0 and the number of persons; 0 without sample uniques."""
        return min(estimate, self.n_persons) if self.n_uniques else 0.0

    def summary(self) -> str:
        """Return the estimates in one line."""
        return (
            f"population uniques: {self.dankar:.6g} of {self.n_persons:.6g} persons ({self.rule}); "
            f"Pitman {self.pitman:.6g}, Zayatz {self.zayatz:.6g}, slide negative binomial "
            f"{self.slide:.6g}; {self.n_uniques} sample uniques"
        )


def slide_moments(classes: float, alpha: float, beta: float, pi: float) -> Floats:
    """Return the expected numbers of groups of one and of two records in a sample [3]_.

    Sizes of the population are 1 plus a negative binomial number with parameters alpha and beta.
    """
    kept = (1 - pi) * (1 - beta)
    once = classes * pi * (beta / (1 - kept)) ** alpha * (alpha * kept / (1 - kept) + 1)
    twice = (
        classes * alpha * beta**alpha * pi**2 * (1 - beta) / (2 * (1 - kept) ** (alpha + 2))
        * (2 - (1 - alpha) * kept)
    )  # fmt: skip
    return np.array([once, twice])


@of_any_library
def population_uniques(
    frame: pd.DataFrame, keys: Sequence[str], *, fraction: float
) -> UniqueEstimates:
    """Estimate how many persons of the population are unique by keys, from a sample of it.

    Parameters
    ----------
    frame : pandas.DataFrame
        A random sample; a missing key is a value of its own.
    keys : sequence of str
    fraction : float
        Share of the population that is in the file, 0 < fraction <= 1.

    Raises
    ------
    InputError
        If a column does not exist, or the fraction is out of range.
    """
    if not 0 < fraction <= 1:
        raise InputError(f"`fraction` must be above 0 and at most 1. Got {fraction!r}.")
    records = CodedRecords.of(frame, names_of(keys, "keys"))
    size, number = np.unique(np.bincount(records.combined(records.names)), return_counts=True)
    return UniqueEstimates(size, number, float(fraction))
