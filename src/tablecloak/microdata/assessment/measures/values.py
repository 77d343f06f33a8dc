"""Utility of single columns: how far values, means, deviations and margins have moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from tablecloak.microdata.assessment.measure import MEASURES, Case, Figure, Measure
from tablecloak.microdata.assessment.measures.distance import usable_numbers
from tablecloak.microdata.columns import numbers_of
from tablecloak.microdata.utility.comparison import eigenvalue_loss, information_loss


@MEASURES.register
class Shifts(Measure):
    """Changes of single numbers."""

    name: ClassVar[str] = "mean absolute change (IL1s)"
    place: ClassVar[int] = 40
    kind: ClassVar[Literal["risk", "utility"]] = "utility"
    needs: ClassVar[tuple[str, ...]] = ("numbers", "pairs")

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the information loss for each number."""
        names = usable_numbers(case)
        yield Figure(
            self.name,
            0.0,
            information_loss(case.original, case.released, names, average=True),
            "Mean change of a number, in standard deviations times the square root of 2.",
        )


@MEASURES.register
class Moments(Measure):
    """Changes of means and deviations."""

    name: ClassVar[str] = "largest change of a mean"
    place: ClassVar[int] = 41
    kind: ClassVar[Literal["risk", "utility"]] = "utility"
    needs: ClassVar[tuple[str, ...]] = ("numbers",)

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the largest changes over all columns."""
        shifts, ratios, missing = [], [], []
        for name in usable_numbers(case):
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
            self.name,
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


@MEASURES.register
class Eigenvalues(Measure):
    """Changes of correlations."""

    name: ClassVar[str] = "largest change of a correlation"
    place: ClassVar[int] = 42
    kind: ClassVar[Literal["risk", "utility"]] = "utility"
    needs: ClassVar[tuple[str, ...]] = ("numbers",)

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the largest change, and the change of the eigenvalues."""
        names = usable_numbers(case)
        one, other = (
            pd.DataFrame({name: numbers_of(frame, name, refuse_missing=False) for name in names})
            for frame in (case.original, case.released)
        )
        change = np.abs(one.corr().to_numpy() - other.corr().to_numpy())
        yield Figure(
            self.name,
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


@MEASURES.register
class Categories(Measure):
    """Changes of the distributions of categories."""

    name: ClassVar[str] = "largest change of a margin"
    place: ClassVar[int] = 43
    kind: ClassVar[Literal["risk", "utility"]] = "utility"

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield distances of margins, and the shares of values changed and missing."""
        if not case.categories:
            yield Figure(
                self.name,
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
            self.name,
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
