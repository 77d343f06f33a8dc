"""Utility: how much of the table is published as it is, and how far the rest is off."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.comparison.measure import UTILITIES, Seen, UtilityMeasure


@UTILITIES.register
class Lost(UtilityMeasure):
    """Share of the cells that are exact, and of the total value that is lost."""

    name: ClassVar[str] = "lost"
    place: ClassVar[int] = 1
    note: ClassVar[str] = (
        "exact: share of the cells that are published exactly. value_lost: share of the total "
        "value that is suppressed, or changed."
    )

    def figures(self, seen: Seen) -> dict[str, float]:
        """Return ``exact`` and ``value_lost``."""
        total = float(np.abs(seen.truth).sum())
        return {
            "exact": float(np.mean(seen.exact)),
            "value_lost": float(seen.lost.sum()) / total if total else 0.0,
        }


@UTILITIES.register
class Changes(UtilityMeasure):
    """Relative changes of the cells that are not 0."""

    name: ClassVar[str] = "changes"
    place: ClassVar[int] = 2
    note: ClassVar[str] = (
        "mean_change, median_change: of published against true values, relative to the true ones; "
        "suppressed ones as the midpoint."
    )

    def figures(self, seen: Seen) -> dict[str, float]:
        """Return ``mean_change`` and ``median_change``."""
        some = seen.truth != 0
        relative = np.abs(seen.shown - seen.truth)[some] / np.abs(seen.truth[some])
        return {
            "mean_change": float(relative.mean()) if len(relative) else 0.0,
            "median_change": float(np.median(relative)) if len(relative) else 0.0,
        }
