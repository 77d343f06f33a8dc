"""Propensity scores: how well a model tells released records from original ones.

References
----------
.. [1] Woo, Reiter, Oganian, Karr: Global measures of data utility for microdata masked for
   disclosure limitation, 2009.
.. [2] Snoke, Raab, Nowok, Dibben, Slavkovic: General and specific utility measures for synthetic
   data, Journal of the Royal Statistical Society A 181, 2018 (expected value, theorem 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.microdata.columns import (
    columns_of,
    is_number,
    names_of,
    numbers_of,
    require_column,
    some_rows,
)
from tablecloak.microdata.utility.comparison import independent_columns

STEPS = 50
"""Most Newton steps of the propensity model."""

MOST_DUMMIES = 30
"""Categories of a column that have a dummy variable; the others are one group."""


@dataclass(frozen=True)
class PropensityScore:
    """How well a logistic model tells released records from original ones.

    Parameters
    ----------
    pmse : float
        Mean of (p - c)^2 over the records of both files [1]_, where p is the fitted probability of
        being a released record and c the share of released records.
    expected : float
        What this would be if the released records were drawn from the distribution of the
        original file, as by a right synthesis: (k - 1) (1 - c)^2 c / N for k parameters and N
        records in both files [2]_. Two independent samples of one population have 1 / (1 - c)
        times as much, which is twice for files of equal size.
    n_parameters : int
        k, with the constant.
    n_records : int
        N.
    """

    pmse: float
    expected: float
    n_parameters: int
    n_records: int

    @property
    def ratio(self) -> float:
        """The mean over its expected value: 1 on average for a right synthesis, 0 for a copy."""
        return self.pmse / self.expected if self.expected > 0 else float("nan")

    @property
    def standardised(self) -> float:
        """Deviation from the expected value in standard deviations."""
        deviation = self.expected * np.sqrt(2 / max(self.n_parameters - 1, 1))
        return float((self.pmse - self.expected) / deviation) if deviation > 0 else float("nan")

    def summary(self) -> str:
        """Return the measure in one line."""
        return (
            f"propensity: mean squared deviation {self.pmse:.4g}, {self.ratio:.4g} times what a "
            f"right synthesis gives ({self.n_parameters} parameters, {self.n_records} records)"
        )


def propensity_score(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str] | None = None,
    *,
    most: int | None = None,
) -> PropensityScore:
    """Fit a logistic model that tells released records from original ones.

    The model has each column of numbers and its square, and a dummy variable for each category of
    other columns. A missing number is replaced by the mean and has a dummy variable; a missing
    category is a category.

    Parameters
    ----------
    original, released : pandas.DataFrame
        They may have different records.
    columns : sequence of str, optional
        By default all columns that both have.
    most : int, optional
        Largest number of records of each file that are used, drawn at random but always the same;
        by default all.

    Raises
    ------
    InputError
        If a column does not exist, or there are no records.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": list("mffm") * 50, "wage": [9.0, 5, 7, 2] * 50})
    >>> propensity_score(people, people).pmse
    0.0
    """
    known = [name for name in columns_of(original) if name in columns_of(released)]
    names = known if columns is None else names_of(columns, "columns")
    if not len(original) or not len(released) or not names:
        raise InputError(
            "There is nothing to compare: both files need records, and at least one column."
        )
    one, other = (frame.iloc[some_rows(len(frame), most)] for frame in (original, released))
    parts = [_variables(one, other, name) for name in names]
    design = _independent(np.column_stack([np.ones(len(one) + len(other)), *parts]))
    label = np.repeat([0.0, 1.0], [len(one), len(other)])
    chance = _fitted(design, label)
    share, n = float(label.mean()), len(label)
    pmse = float(np.mean((chance - share) ** 2))
    expected = (design.shape[1] - 1) * (1 - share) ** 2 * share / n
    # What is left of rounding errors is no difference.
    return PropensityScore(pmse if pmse > 1e-20 else 0.0, expected, design.shape[1], n)


def _variables(one: pd.DataFrame, other: pd.DataFrame, name: str) -> Floats:
    """Return the variables of a column for the records of both files."""
    for frame in (one, other):
        require_column(frame, name)
    if is_number(one[name]) and is_number(other[name]):
        both = np.concatenate(
            [numbers_of(frame, name, refuse_missing=False) for frame in (one, other)]
        )
        missing = np.isnan(both)
        if missing.all():
            return np.empty((len(both), 0))
        both = np.where(missing, np.mean(both[~missing]), both)
        spread = both.std()
        scaled = (both - both.mean()) / spread if spread > 0 else np.zeros(len(both))
        return np.column_stack([scaled, scaled**2, missing.astype(np.float64)])
    both_texts = pd.concat([one[name].astype(object), other[name].astype(object)])
    codes = pd.factorize(both_texts.where(both_texts.notna(), None), use_na_sentinel=False)[0]
    frequent = np.argsort(-np.bincount(codes), kind="stable")[:MOST_DUMMIES]
    return np.asarray((codes[:, None] == frequent[None, :]).astype(np.float64))


def _independent(design: Floats) -> Floats:
    """Leave out variables that depend linearly on those before them."""
    scale = np.sqrt(np.mean(design**2, axis=0))
    scaled: Floats = design[:, scale > 0] / scale[scale > 0]
    return scaled[:, independent_columns(scaled)]


def _fitted(design: Floats, label: Floats) -> Floats:
    """Return the fitted probabilities of a logistic regression, by Newton's method.

    A slight ridge keeps the coefficients finite where the files can be told apart for sure.
    """
    share = float(label.mean())
    beta = np.zeros(design.shape[1])
    ridge = 1e-8 * len(design) * np.eye(len(beta))
    chance = np.full(len(label), 0.5)
    for _ in range(STEPS):
        information = design.T @ (design * (chance * (1 - chance))[:, None]) + ridge
        step = np.linalg.solve(information, design.T @ (label - chance) - ridge @ beta)
        beta = beta + step
        chance = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        if np.max(np.abs(step)) < 1e-8:
            break
    return chance if len(beta) > 1 else np.full(len(label), share)
