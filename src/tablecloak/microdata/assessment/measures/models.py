"""Utility of models: whether the files can be told apart, and whether analyses agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from tablecloak.errors import InputError
from tablecloak.microdata.assessment.measure import MEASURES, SAMPLE, Case, Figure, Measure
from tablecloak.microdata.assessment.measures.distance import usable_numbers
from tablecloak.microdata.columns import some_rows
from tablecloak.microdata.utility.comparison import regression_compared
from tablecloak.microdata.utility.propensity import propensity_score

MANY_CATEGORIES = 20
"""Categories up to which an attribute is a predictor."""


@MEASURES.register
class Propensity(Measure):
    """Propensity scores."""

    name: ClassVar[str] = "propensity ratio"
    place: ClassVar[int] = 50
    kind: ClassVar[Literal["risk", "utility"]] = "utility"

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the mean squared deviation, and its ratio to the expected one."""
        names = [*case.categories, *case.numbers] or None
        # Categories as text: their numbers have no meaning.
        one, other = (frame.astype(dict.fromkeys(case.categories, object)) for frame in case.files)
        found = propensity_score(one, other, names, most=SAMPLE)
        part = f", in {SAMPLE:,} random records" if len(case.original) > SAMPLE else ""
        yield Figure(
            "propensity pMSE",
            0.0,
            found.pmse,
            f"How well a logistic model tells released from original records{part}; 1/4: always.",
        )
        yield Figure(
            self.name,
            0.0,
            found.ratio,
            f"The same as a multiple of what records drawn from the original would give{part}.",
        )


@MEASURES.register
class Regressions(Measure):
    """Confidence intervals of regressions."""

    name: ClassVar[str] = "overlap of confidence intervals"
    place: ClassVar[int] = 51
    kind: ClassVar[Literal["risk", "utility"]] = "utility"
    needs: ClassVar[tuple[str, ...]] = ("numbers",)

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the mean overlap over regressions of each number on the other columns."""
        numbers = usable_numbers(case)
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
            found = regression_compared(
                one.astype(texts), other.astype(texts), response, predictors
            )
            # A coefficient that the release cannot give is lost.
            there = found["coefficient_original"].notna()
            overlaps.append(float(found.loc[there, "overlap"].fillna(0.0).mean()))
        part = f", in {SAMPLE:,} random records" if len(case.original) > SAMPLE else ""
        yield Figure(
            self.name,
            1.0,
            float(np.mean(overlaps)),
            "Mean overlap of the confidence intervals of coefficients, over regressions of each "
            f"number on the other columns{part}.",
        )
