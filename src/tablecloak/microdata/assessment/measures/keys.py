"""Risk by keys: records that few others resemble."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from tablecloak.errors import InputError
from tablecloak.microdata.assessment.measure import MEASURES, Case, Figure, Measure
from tablecloak.microdata.risk.keys import risk_by_household
from tablecloak.microdata.risk.population import population_risk
from tablecloak.microdata.risk.special_uniques import MANY_KEYS, special_unique_risk

MANY_CELLS = 100_000
"""Combinations of keys up to which the model of the population has interactions of pairs."""


@MEASURES.register
class Frequencies(Measure):
    """Numbers of records that fewer than k records resemble."""

    name: ClassVar[str] = "sample uniques"
    place: ClassVar[int] = 10
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("keys",)

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield uniques, and the records that violate 3- and 5-anonymity."""
        try:
            one, other = case.risks
        except InputError:  # Counts need no weights, which may be wrong.
            one, other = case.risks_by(None)
        meanings = {
            2: ("sample uniques", "Records whose keys no other record has."),
            3: ("records below k = 3", "Records whose keys fewer than three records have."),
            5: ("records below k = 5", "Records whose keys fewer than five records have."),
        }
        for k, (measure, meaning) in meanings.items():
            yield Figure(measure, one.violations(k), other.violations(k), meaning)


@MEASURES.register
class Reidentifications(Measure):
    """Expected re-identifications in the population."""

    name: ClassVar[str] = "expected re-identifications"
    place: ClassVar[int] = 11
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("keys",)

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the number and the share, and the largest risk of a record."""
        one, other = case.risks
        told = "by the weights" if case.weight else "if the file is the whole population"
        yield Figure(
            self.name,
            one.expected,
            other.expected,
            f"Expected number of right matches by the keys, {told}.",
        )
        yield Figure(
            "re-identification rate",
            one.share,
            other.share,
            f"Share of the records that are matched rightly, {told}.",
        )
        yield Figure(
            "largest individual risk",
            float(one.individual.max()),
            float(other.individual.max()),
            "Probability of a right match for the record that is most at risk.",
        )


@MEASURES.register
class Households(Measure):
    """Risk of households."""

    name: ClassVar[str] = "households with a re-identified member"
    place: ClassVar[int] = 12
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("keys", "household")

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the number of households and of records in them."""
        assert case.household is not None
        one, other = (
            risk_by_household(frame[case.household], risk.individual)
            for frame, risk in zip(case.files, case.risks, strict=True)
        )
        yield Figure(
            self.name,
            one.expected_households,
            other.expected_households,
            "Expected number of households of which at least one member is matched rightly.",
        )
        yield Figure(
            "records in such households",
            one.expected,
            other.expected,
            "Expected number of records that whoever finds one member of their household finds.",
        )


@MEASURES.register
class SpecialUniques(Measure):
    """Records that are unique by few keys."""

    name: ClassVar[str] = "special uniques"
    place: ClassVar[int] = 13
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("keys",)

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield their number, the largest score, and the matches by DIS-SUDA."""
        # All subsets of the keys are examined; those of three show the records most at risk.
        largest = None if len(case.keys) <= MANY_KEYS // 2 else 3
        told = "" if largest is None else f", of at most {largest} keys"
        one, other = (
            special_unique_risk(frame, case.keys, largest=largest) for frame in case.files
        )
        yield Figure(
            self.name,
            int((one.score > 0).sum()),
            int((other.score > 0).sum()),
            f"Records that a set of known keys makes unique{told}.",
        )
        yield Figure(
            "largest SUDA2 score",
            int(one.score.max()),
            int(other.score.max()),
            f"Score of the record that the smallest and most sets of keys make unique{told}.",
        )
        yield Figure(
            "DIS-SUDA matches",
            float(one.disclosure.sum()),
            float(other.disclosure.sum()),
            "Expected number of right matches of unique records, if one in a hundred persons is in "
            "the file.",
        )


@MEASURES.register
class Population(Measure):
    """Sample uniques that are unique in the population."""

    name: ClassVar[str] = "population uniques (tau 1)"
    place: ClassVar[int] = 14
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("keys", "weight")

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield tau 1 and tau 2 of a log-linear model."""
        sizes = [np.prod([frame[key].nunique() + 1.0 for key in case.keys]) for frame in case.files]
        interactions: Literal["all", "none"] = "all" if max(sizes) <= MANY_CELLS else "none"
        told = "all pairs of keys" if interactions == "all" else "independent keys"
        one, other = (
            population_risk(
                frame, case.keys, weight=case.weight, interactions=interactions, missing="open"
            )
            for frame in case.files
        )
        yield Figure(
            self.name,
            one.tau1,
            other.tau1,
            f"Sample uniques that are unique in the population, by a log-linear model of {told}.",
        )
        yield Figure(
            "right matches of uniques (tau 2)",
            one.tau2,
            other.tau2,
            f"Expected number of right matches of sample uniques, by a log-linear model of {told}.",
        )
