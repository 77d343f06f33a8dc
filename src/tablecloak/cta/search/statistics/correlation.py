"""The correlation of two variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tablecloak.cta.search.statistics.association import OfTwoVariables
from tablecloak.cta.statistics.statistic import STATISTICS


@STATISTICS.register
@dataclass(frozen=True)
class Correlation(OfTwoVariables):
    """The correlation of two adjusted variables stays.

    Parameters
    ----------
    subset, tolerance, first, second
        See `OfTwoVariables`.
    """

    name: ClassVar[str] = "correlation"
    kind: ClassVar[str] = "correlation"
