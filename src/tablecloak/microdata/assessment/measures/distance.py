"""Risk by distance: records whose released numbers resemble the true ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from tablecloak.errors import InputError
from tablecloak.microdata.assessment.measure import MEASURES, SAMPLE, Case, Figure, Measure
from tablecloak.microdata.columns import numbers_of, some_rows
from tablecloak.microdata.risk.linkage import (
    interval_disclosure,
    mixed_linkage,
    rank_intervals,
    record_linkage,
)
from tablecloak.microdata.risk.probabilistic_linkage import MANY_COLUMNS, probabilistic_linkage

PAIRED = 1000
"""Records all pairs of which are compared."""


def usable_numbers(case: Case) -> list[str]:
    """Return the columns of numbers that differ between records of the original.

    Raises
    ------
    InputError
        If there is none.
    """
    usable = []
    for name in case.numbers:
        values = numbers_of(case.original, name, refuse_missing=False)
        numbers_of(case.released, name, refuse_missing=False)
        known = values[~np.isnan(values)]
        if len(known) > 1 and known.min() < known.max():
            usable.append(name)
    if not usable:
        raise InputError("All columns of numbers are constant or missing in the original.")
    return usable


@MEASURES.register
class Linkage(Measure):
    """Distance-based record linkage."""

    name: ClassVar[str] = "nearest record is the right one"
    place: ClassVar[int] = 30
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("numbers", "pairs")

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the share of released records that are linked rightly."""
        names = usable_numbers(case)
        part = f", in {SAMPLE:,} random ones" if len(case.original) > SAMPLE else ""
        yield Figure(
            self.name,
            record_linkage(case.original, case.original, names, most=SAMPLE),
            record_linkage(case.original, case.released, names, most=SAMPLE),
            f"Share of released records whose nearest original by numbers is their own{part}.",
        )


@MEASURES.register
class Intervals(Measure):
    """Interval disclosure."""

    name: ClassVar[str] = "all numbers within 5 % of a deviation"
    place: ClassVar[int] = 31
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("numbers", "pairs")

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the share of records that are disclosed."""
        names = usable_numbers(case)
        yield Figure(
            self.name,
            1.0,
            interval_disclosure(case.original, case.released, names),
            "Share of records whose true numbers all lie within a twentieth of a standard "
            "deviation of the released ones.",
        )


@MEASURES.register
class RankedIntervals(Measure):
    """Interval disclosure by ranks."""

    name: ClassVar[str] = "numbers within 5 % of ranks"
    place: ClassVar[int] = 32
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("numbers", "pairs")

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the mean share over the columns, and that of the worst column."""
        found = rank_intervals(case.original, case.released, usable_numbers(case)).per_column()
        yield Figure(
            self.name,
            1.0,
            float(found.mean()),
            "Share of the true numbers between the released numbers that are 5 % of all ranks "
            "below and above their own.",
        )
        yield Figure(
            "the same for the worst column",
            1.0,
            float(found.max()),
            f"This share for {found.idxmax()}, the column in which it is largest."
            if found.notna().any()
            else "This share for the column in which it is largest.",
        )


@MEASURES.register
class MixedLinkages(Measure):
    """Linkage by keys and numbers together."""

    name: ClassVar[str] = "linked by keys and numbers"
    place: ClassVar[int] = 33
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("keys", "pairs")

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the shares of right links by distance, by assignment and by probabilities."""
        rows = some_rows(len(case.original), PAIRED)
        part = ""
        if len(case.original) > PAIRED:
            part = f", among {PAIRED:,} random records, which is easier than among all"
        names = list(dict.fromkeys([*case.keys, *case.numbers]))
        # Keys as text, since their numbers are codes.
        one, other = (
            frame[names].iloc[rows].astype(dict.fromkeys(case.keys, object)) for frame in case.files
        )
        for measure, assign, said in (
            (self.name, False, "is nearest by keys and numbers"),
            ("assigned by keys and numbers", True, "fits best where each original is linked once"),
        ):
            yield Figure(
                measure,
                mixed_linkage(one, one, names, assign=assign).share,
                mixed_linkage(one, other, names, assign=assign).share,
                f"Share of released records whose own original {said}{part}.",
            )
        known = names[:MANY_COLUMNS]
        yield Figure(
            "linked by agreeing columns",
            probabilistic_linkage(one, one, known).share,
            probabilistic_linkage(one, other, known).share,
            "Share of released records whose own original agrees most by the weights of Fellegi "
            f"and Sunter{part}.",
        )
