"""Utility of models: whether the files can be told apart, and whether analyses agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from tablecloak.microdata.assessment.case import Case
from tablecloak.microdata.assessment.measure import MEASURES, SAMPLE, Figure, Measure
from tablecloak.microdata.utility.propensity import propensity_score

__all__ = ["Propensity"]


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
