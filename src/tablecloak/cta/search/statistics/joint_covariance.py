"""The covariance of two variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tablecloak.cta.search.statistics.association import OfTwoVariables
from tablecloak.cta.statistics.statistic import STATISTICS


@STATISTICS.register
@dataclass(frozen=True)
class JointCovariance(OfTwoVariables):
    """The covariance of two adjusted variables stays: Cov(x_u, x_v) = Cov(a_u, a_v).

    Parameters
    ----------
    subset, tolerance, first, second
        See `OfTwoVariables`.
    """

    name: ClassVar[str] = "joint-covariance"
    kind: ClassVar[str] = "covariance"
