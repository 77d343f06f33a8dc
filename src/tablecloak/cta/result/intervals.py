"""Intervals that hold both the true and the adjusted value of every cell.

Instead of adjusted values an office may publish intervals: in steps of 1, 2, 5, 10 and so on,
each cell in the narrowest step that holds the true value, the adjusted one and, for a sensitive
cell, both levels, with room besides. Steps start at multiples of their width, so that their ends
do not tell where in them the truth lies. The intervals are true, if coarse. The audit decides
whether they protect; where they do not, the cells around are made coarser until they do.

References
----------
.. [1] Giessing, Hundepool, Castro: Rounding methods for protecting EU-aggregates, Joint
   UNECE/Eurostat work session on statistical data confidentiality, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats
from tablecloak.cta.model.room import near_bound
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.errors import CHANGED, VerificationError, listed
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_intervals

ROOM = 2.0
"""Width of a step, as a multiple of what it must hold. An intruder who knows that it holds both
levels can cut them off at the ends; with twice the width at least both levels are left."""

STEPS = (1.0, 2.0, 5.0)
"""Widths, times powers of ten."""


@dataclass(frozen=True, eq=False)
class CoveringIntervals:
    """Published intervals, one for each cell; equal ends where nothing was changed.

    Parameters
    ----------
    adjustment : Adjustment
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Of a cell that must be suppressed without being sensitive, its external bounds.
    """

    adjustment: Adjustment
    lower: Floats
    upper: Floats

    def verify(self) -> None:
        """Check that every interval holds the true and the adjusted value, and both levels.

        Raises
        ------
        VerificationError
            Names the cells.
        """
        problem, a = self.adjustment.problem, self.adjustment.problem.table.values
        below, above = _to_hold(self.adjustment)
        tolerance = near_bound(below, above)
        allowed = np.maximum(below, np.minimum(problem.lower_bound, a))
        bad = np.flatnonzero(
            (self.lower > allowed + tolerance)
            | (self.upper < np.minimum(above, np.maximum(problem.upper_bound, a)) - tolerance)
        )
        if len(bad):
            raise VerificationError(
                f"{len(bad)} intervals do not hold what they must: "
                f"{listed(problem.table.labels(bad[:5]))}. {CHANGED}",
                cells=bad,
            )

    @property
    def problem(self) -> ProtectionProblem:
        """The problem of the adjusted table."""
        return self.adjustment.problem

    def told(self) -> tuple[Floats, Floats]:
        """Return the ends of what the release tells of each cell."""
        return self.lower, self.upper

    def widen(self, cells: Flags) -> CoveringIntervals:
        """Return intervals of which some are one step wider and contain the old ones."""
        low, high = self.lower.copy(), self.upper.copy()
        problem = self.adjustment.problem
        at = np.flatnonzero(cells & ~problem.frozen & ~problem.forced)
        width = np.maximum(high[at] - low[at], self.adjustment.problem.unit / 10)
        low[at], high[at] = _steps(low[at], high[at], 1.5 * width)
        return CoveringIntervals(self.adjustment, low, high)

    def hold(self, lower: Floats, upper: Floats) -> CoveringIntervals:
        """Return intervals that also contain given ones; frozen cells stay exact."""
        low, high = self.lower.copy(), self.upper.copy()
        wider = (lower < low) | (upper > high)
        at = np.flatnonzero(wider & ~self.adjustment.problem.frozen)
        first, last = np.minimum(lower, low)[at], np.maximum(upper, high)[at]
        low[at], high[at] = _steps(first, last, last - first)
        return CoveringIntervals(self.adjustment, low, high)

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and the ends of the intervals."""
        return published_intervals(self.adjustment.problem.table, self.lower, self.upper)

    def summary(self) -> str:
        """Say in one line how much is published exactly, and how wide the rest is."""
        width = self.upper - self.lower
        wide = width > 0
        a = np.abs(self.adjustment.problem.table.values)
        relative = width[wide & (a > 0)] / a[wide & (a > 0)]
        middle = f"{100 * float(np.median(relative)):.3g} %" if len(relative) else "-"
        return (
            f"intervals around true and adjusted values: {int(np.sum(~wide))} of {len(width)} "
            f"cells exact, median width of the others {middle} of the value"
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def covering_intervals(adjustment: Adjustment) -> CoveringIntervals:
    """Return the narrowest steps that hold true and adjusted values.

    Parameters
    ----------
    adjustment : Adjustment

    Returns
    -------
    CoveringIntervals
        Verified. Whether they protect is for ``tablecloak.audit(problem, intervals)``, and
        `tablecloak.protected_intervals` widens them until they do.

    Notes
    -----
    The audit takes the intervals for all that is known. One who knows the method as well can cut
    off a level at both ends; what is left is at least as wide as both levels together, but may
    have the truth at its end.
    """
    problem, a = adjustment.problem, adjustment.problem.table.values
    low, high = _to_hold(adjustment)
    moved = adjustment.is_changed | problem.sensitive
    lower, upper = a.copy(), a.copy()
    lower[moved], upper[moved] = _steps(low[moved], high[moved], ROOM * (high - low)[moved])
    lower = np.where(problem.forced, problem.lower_bound, lower)
    upper = np.where(problem.forced, problem.upper_bound, upper)
    intervals = CoveringIntervals(adjustment, lower, upper)
    intervals.verify()
    return intervals


def _to_hold(adjustment: Adjustment) -> tuple[Floats, Floats]:
    """Least and greatest of true and adjusted value and, for a sensitive cell, its levels."""
    problem, x = adjustment.problem, adjustment.values
    a, sensitive = problem.table.values, problem.sensitive
    low: Floats = np.minimum(a - np.where(sensitive, problem.lower_protection, 0.0), x)
    high: Floats = np.maximum(a + np.where(sensitive, problem.upper_protection, 0.0), x)
    return low, high


def _steps(low: Floats, high: Floats, least: Floats) -> tuple[Floats, Floats]:
    """Narrowest steps of at least some width that hold given intervals."""
    least = np.maximum(least, np.maximum(high - low, 1e-12))
    decade = np.floor(np.log10(least))
    start, end = np.full_like(low, np.nan), np.full_like(low, np.nan)
    for power in range(18):
        for step in STEPS:
            open_ = np.isnan(start)
            if not np.any(open_):
                return start, end
            exponent = decade[open_] + power
            number = np.floor(_times(low[open_] / step, -exponent))
            first = _times(number * step, exponent)
            last = _times((number + 1) * step, exponent)
            wide = step * 10.0**exponent >= least[open_]
            fits = wide & (first <= low[open_]) & (last >= high[open_])
            at = np.flatnonzero(open_)[fits]
            start[at], end[at] = first[fits], last[fits]
    # No single step contains both signs, so that two steps meet at 0.
    open_ = np.flatnonzero(np.isnan(start))
    end[open_] = _steps(np.zeros(len(open_)), np.maximum(-low, high)[open_], least[open_] / 2)[1]
    start[open_] = -end[open_]
    return start, end


def _times(values: Floats, exponent: Floats) -> Floats:
    """Multiply by powers of ten, by division where that is exact and a product is not."""
    power = 10.0 ** np.abs(exponent)
    product: Floats = np.where(exponent >= 0, values * power, values / power)
    return product
