"""Measures of utility: how far values, means, margins, models and analyses have moved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.microdata.columns import numbers_of, some_rows
from tablecloak.microdata.measures.measure import SAMPLE, Case, Figure, Measures
from tablecloak.microdata.utility.comparison import (
    eigenvalue_loss,
    information_loss,
    regression_compared,
)
from tablecloak.microdata.utility.propensity import propensity_score

UTILITIES = Measures("utility")
"""All measures of utility."""


@UTILITIES.measure("mean absolute change (IL1s)", "numbers", "pairs")
def shifts(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the information loss for each number."""
    names = case.varying_numbers()
    yield Figure(
        measure,
        0.0,
        information_loss(case.original, case.released, names, average=True),
        "Mean change of a number, in standard deviations times the square root of 2.",
    )


@UTILITIES.measure("largest change of a mean", "numbers")
def moment_shifts(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the largest changes over all columns."""
    shifts, ratios, missing = [], [], []
    for name in case.varying_numbers():
        x, y = (
            numbers_of(frame, name, refuse_missing=False)
            for frame in (case.original, case.released)
        )
        missing.append((float(np.isnan(x).mean()), float(np.isnan(y).mean())))
        if not np.isnan(y).all():
            spread = np.nanstd(x)
            shifts.append(abs(np.nanmean(y) - np.nanmean(x)) / spread)
            ratios.append(abs(np.nanstd(y) / spread - 1))
    lost = np.array(missing).mean(axis=0)
    yield Figure(
        measure,
        0.0,
        float(max(shifts, default=np.nan)),
        "Largest change of the mean of a column, in standard deviations of the original.",
    )
    yield Figure(
        "largest change of a deviation",
        0.0,
        float(max(ratios, default=np.nan)),
        "Largest relative change of the standard deviation of a column.",
    )
    yield Figure("missing numbers", lost[0], lost[1], "Share of the numbers that are missing.")


@UTILITIES.measure("largest change of a correlation", "numbers")
def eigenvalues(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the largest change, and the change of the eigenvalues."""
    names = case.varying_numbers()
    one, other = (
        pd.DataFrame({name: numbers_of(frame, name, refuse_missing=False) for name in names})
        for frame in (case.original, case.released)
    )
    change = np.abs(one.corr().to_numpy() - other.corr().to_numpy())
    yield Figure(
        measure,
        0.0,
        float(np.nanmax(change)) if len(names) > 1 else 0.0,
        "Largest change of the correlation of two columns of numbers.",
    )
    yield Figure(
        "eigenvalue loss",
        0.0,
        eigenvalue_loss(one, other, names),
        "Sum of the relative changes of the eigenvalues of the correlations.",
    )


@UTILITIES.measure("largest change of a margin")
def categories(measure: str, case: Case) -> Iterator[Figure]:
    """Yield distances of margins, and the shares of values changed and missing."""
    if not case.categories:
        yield Figure(
            measure,
            np.nan,
            np.nan,
            "Not measured: no keys or sensitive attributes are named.",
        )
        return
    variations, hellinger, changed, missing = [], [], [], []
    before, after = case.files
    for name in case.categories:
        x, y = (frame[name].to_numpy(dtype=np.float64) for frame in (before, after))
        # Missing values are a category, the first one.
        one, other = (np.where(np.isnan(v), 0, v + 1).astype(np.int64) for v in (x, y))
        width = int(max(one.max(), other.max())) + 1
        p, q = (np.bincount(v, minlength=width) / len(v) for v in (one, other))
        variations.append(0.5 * float(np.abs(p - q).sum()))
        hellinger.append(float(np.sqrt(0.5 * np.sum((np.sqrt(p) - np.sqrt(q)) ** 2))))
        missing.append((p[0], q[0]))
        if case.is_paired:
            changed.append(float(np.mean(one != other)))
    lost = np.array(missing).mean(axis=0)
    yield Figure(
        measure,
        0.0,
        max(variations),
        "Largest share of records that would have to move to restore the distribution of a key "
        "or sensitive attribute (total variation).",
    )
    yield Figure(
        "largest Hellinger distance",
        0.0,
        max(hellinger),
        "Largest Hellinger distance of the distributions of a key or sensitive attribute.",
    )
    if changed:
        yield Figure(
            "changed categories",
            0.0,
            float(np.mean(changed)),
            "Share of the values of keys and sensitive attributes that are not the true ones.",
        )
    yield Figure(
        "missing categories",
        lost[0],
        lost[1],
        "Share of the values of keys and sensitive attributes that are missing.",
    )


MANY_CATEGORIES = 20
"""Categories up to which an attribute is a predictor."""


@UTILITIES.measure("propensity ratio")
def propensity(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the mean squared deviation, and its ratio to the expected one."""
    names = [*case.categories, *case.numbers] or None
    # Categories as text: their numbers have no meaning.
    one, other = (frame.astype(dict.fromkeys(case.categories, object)) for frame in case.files)
    result = propensity_score(one, other, names, most=SAMPLE)
    part = f", in {SAMPLE:,} random records" if len(case.original) > SAMPLE else ""
    yield Figure(
        "propensity pMSE",
        0.0,
        result.pmse,
        f"How well a logistic model tells released from original records{part}; 1/4: always.",
    )
    yield Figure(
        measure,
        0.0,
        result.ratio,
        f"The same as a multiple of what records drawn from the original would give{part}.",
    )


@UTILITIES.measure("overlap of confidence intervals", "numbers")
def regressions(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the mean overlap over regressions of each number on the other columns."""
    numbers = case.varying_numbers()
    categories = [
        name
        for name in case.categories
        if max(frame[name].nunique() for frame in case.files) <= MANY_CATEGORIES
    ]
    if len(numbers) + len(categories) < 2:
        raise InputError("A regression needs two columns, one of them of numbers.")
    one, other = (frame.iloc[some_rows(len(frame), SAMPLE)] for frame in case.files)
    texts = dict.fromkeys(categories, object)
    overlaps = []
    for response in numbers:
        predictors = [name for name in [*numbers, *categories] if name != response]
        result = regression_compared(one.astype(texts), other.astype(texts), response, predictors)
        # A coefficient that the release cannot give is lost.
        there = result["coefficient_original"].notna()
        overlaps.append(float(result.loc[there, "overlap"].fillna(0.0).mean()))
    part = f", in {SAMPLE:,} random records" if len(case.original) > SAMPLE else ""
    yield Figure(
        measure,
        1.0,
        float(np.mean(overlaps)),
        "Mean overlap of the confidence intervals of coefficients, over regressions of each "
        f"number on the other columns{part}.",
    )
