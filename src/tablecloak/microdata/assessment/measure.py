"""A measure of an assessment: a class with a name, what it needs, and its figures.

A new one is one class in a file of `tablecloak.microdata.assessment.measures`::

    @MEASURES.register
    class Records(Measure):
        "Numbers of records."

        name: ClassVar[str] = "records"
        place: ClassVar[int] = 1
        kind: ClassVar[str] = "utility"

        def figures(self, case):
            yield Figure("records", len(case.original), len(case.released), "Number of records.")
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from tablecloak.microdata.assessment.case import Case
from tablecloak.registry import Registry

__all__ = ["MEASURES", "SAMPLE", "Figure", "Measure"]

SAMPLE = 10_000
"""Most records for which measures are made whose work grows faster than the number of records."""


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    Parameters
    ----------
    measure : str
    before, after : float
        The measure of the original, and of the release.
    meaning : str
        One sentence.
    """

    measure: str
    before: float
    after: float
    meaning: str


class Measure(ABC):
    """Some figures on the risk or the utility of a release."""

    name: ClassVar[str]
    place: ClassVar[int]
    """Order in the table."""

    kind: ClassVar[Literal["risk", "utility"]]

    needs: ClassVar[tuple[str, ...]] = ()
    """What must be known: ``keys``, ``numbers``, ``sensitive``, ``household``, ``pairs``."""

    @abstractmethod
    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield the figures.

        Raises
        ------
        InputError
            If the measure makes no sense for these records, with the reason.
        """


MEASURES: Registry[Measure] = Registry(
    "measure of an assessment",
    "tablecloak.microdata.assessment.measures",
    order=lambda measure: measure.place,
)
"""All measures of an assessment, in the order of the table."""
