"""Utility: what analyses of all cells find."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.comparison.measure import UTILITIES, Seen, UtilityMeasure
from tablecloak.cta.statistics.moments import moments


@UTILITIES.register
class Moments(UtilityMeasure):
    """Moments of published and true values, over all and over the sensitive cells."""

    name: ClassVar[str] = "moments"
    place: ClassVar[int] = 3
    note: ClassVar[str] = (
        "correlation, slope, variance_ratio, distance (Kolmogorov-Smirnov): published against "
        "true values over all cells; suppressed ones as the midpoint."
    )

    def figures(self, seen: Seen) -> dict[str, float]:
        """Return the moments by their names."""
        every = moments(seen.truth, seen.shown)
        part = moments(seen.truth[seen.sensitive], seen.shown[seen.sensitive])
        return {
            "correlation": every.correlation,
            "slope": every.slope,
            "variance_ratio": every.variance_ratio,
            "distance": every.distribution_distance,
            "sensitive_slope": part.slope,
            "sensitive_correlation": part.correlation,
        }
