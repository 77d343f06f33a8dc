"""Risk and utility of any release of a table, by the same definitions for every method.

Risk: an intruder guesses each sensitive cell. From a suppressed table the guess is the midpoint of
the interval that follows from what is published; from an adjusted one the table found by running
the method backwards (`attack_adjustment`); from a rounded one the rounded value. A guess is right
if it lies within the protection level of the truth.

Utility: the analyst uses published values as they are, and the midpoints in place of suppressed
ones.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tablecloak.cta.adjustment import Adjustment
from tablecloak.cta.moments import moments
from tablecloak.cta.risk import Guesses, Knowledge, attack_adjustment
from tablecloak.cta.rounding.rounded_table import RoundedTable
from tablecloak.errors import InputError
from tablecloak.suppression.audit.attack import Attack
from tablecloak.suppression.audit.audit import audit_pattern
from tablecloak.suppression.external_bounds import with_finite_bounds
from tablecloak.suppression.needs import needs_of
from tablecloak.suppression.pattern import SuppressionPattern
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.system import System
from tablecloak.tables.problem import ProtectionProblem

__all__ = [
    "Release",
    "ends",
    "guesses",
    "hidden_intervals",
    "is_safe",
    "method_of",
    "risk",
    "seen",
    "utility",
]

Floats = npt.NDArray[np.float64]

Release: TypeAlias = SuppressionPattern | Adjustment | RoundedTable

UNCHANGED = 1e-9
"""Change, as a share of the median level, below which a value counts as published exactly."""


def risk(found: Guesses) -> dict[str, float]:
    """Return the share of right guesses, and the errors as multiples of the level.

    Returns
    -------
    dict of str to float
        ``guessed``, ``worst_error``, ``mean_error``; the errors are NaN if no cell has a level.
    """
    levels = np.where(found.levels > 0, found.levels, np.nan)
    relative = np.abs(found.errors) / levels
    known = relative[np.isfinite(relative)]
    return {
        "guessed": found.share_recovered,
        "worst_error": float(known.min()) if len(known) else np.nan,
        "mean_error": float(known.mean()) if len(known) else np.nan,
    }


def hidden_intervals(pattern: SuppressionPattern) -> tuple[Floats, Floats]:
    """Return the interval of each cell that follows from what a pattern publishes.

    Published cells have intervals of width 0. Two linear programs for each suppressed cell.

    Returns
    -------
    lower, upper : numpy.ndarray of float, shape (n_cells,)
    """
    problem = with_finite_bounds(pattern.problem)
    lower, upper = problem.table.values.copy(), problem.table.values.copy()
    needs = needs_of(problem, Requirement.TWO_SIDED)
    system = System.of(problem, needs, pattern.suppressed & ~problem.frozen)
    attack = Attack(system)
    attack.hide(np.ones(system.n_unknown, dtype=bool))
    for at, cell in enumerate(system.cells.tolist()):
        # The limit is proved, so that the interval is never too narrow by the solver's fault.
        upper[cell] += attack.extreme(at, 1).limit
        lower[cell] -= attack.extreme(at, -1).limit
    return (
        np.maximum(lower, pattern.problem.lower_bound),
        np.minimum(upper, pattern.problem.upper_bound),
    )


def ends(release: Release) -> tuple[Floats, Floats]:
    """Return between which values each cell lies for a reader, shape (n_cells,) each.

    Adjusted and rounded tables are read as they stand.
    """
    if isinstance(release, SuppressionPattern):
        return hidden_intervals(release)
    values = np.asarray(release.values, dtype=np.float64)
    return values, values


def seen(release: Release) -> Floats:
    """Return the values that an analyst uses, shape (n_cells,): midpoints of suppressed cells."""
    lower, upper = ends(release)
    return (lower + upper) / 2


def is_safe(problem: ProtectionProblem, release: Release, lower: Floats, upper: Floats) -> bool:
    """Tell whether a release protects every sensitive cell as a problem asks.

    Parameters
    ----------
    problem : ProtectionProblem
        Its levels count, also if the release was made for others.
    release : SuppressionPattern, Adjustment or RoundedTable
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        What `ends` returns; a rounded table is audited with its intervals instead.
    """
    if isinstance(release, RoundedTable):
        intervals = release.intervals()
        wide = np.asarray(intervals[1] > intervals[0])
        return audit_pattern(problem, wide, intervals=intervals).is_safe
    cells, slack = problem.sensitive, UNCHANGED * problem.unit
    truth, levels = problem.table.values[cells], (
        problem.lower_protection[cells] - slack,
        problem.upper_protection[cells] - slack,
    )  # fmt: skip
    below, above = truth - lower[cells], upper[cells] - truth
    if isinstance(release, Adjustment):
        return bool(np.all((below >= levels[0]) | (above >= levels[1])))
    wide = above + below >= problem.sliding_protection[cells] - slack
    # What everybody knows beforehand cannot be protected.
    known_low, known_high = problem.lower_bound[cells], problem.upper_bound[cells]
    down = below >= np.minimum(levels[0], truth - known_low - slack)
    up = above >= np.minimum(levels[1], known_high - truth - slack)
    return bool(np.all(wide & down & up))


def guesses(
    release: Release,
    *,
    knows: Knowledge = "levels",
    time_limit: float = 60.0,
    values: Floats | None = None,
) -> Guesses:
    """Attack a release.

    Parameters
    ----------
    release : SuppressionPattern, Adjustment or RoundedTable
    knows : {"method", "levels", "directions"}, default="levels"
        What the intruder knows of an adjustment besides the relations.
    time_limit : float, default=60
        Seconds for running an adjustment backwards.
    values : numpy.ndarray of float, shape (n_cells,), optional
        What the analyst sees, if it is known already.
    """
    if isinstance(release, Adjustment):
        return attack_adjustment(release, knows=knows, time_limit=time_limit)
    shown = seen(release) if values is None else values
    return Guesses(release.problem, shown[release.problem.sensitive])


def utility(release: Release, values: Floats | None = None) -> dict[str, float]:
    """Return what is left for the analyst.

    Parameters
    ----------
    release : SuppressionPattern, Adjustment or RoundedTable
    values : numpy.ndarray of float, shape (n_cells,), optional
        What the analyst sees, if it is known already.

    Returns
    -------
    dict of str to float
        - ``exact``: share of the cells that are published exactly;
        - ``value_lost``: sum of |a| over suppressed cells, or of |x - a|, over the sum of |a|;
        - ``mean_change``, ``median_change``: of |x - a| / |a| over the cells with a != 0, with
          midpoints for suppressed cells;
        - ``correlation``, ``slope``, ``variance_ratio``, ``distance``: of x with a over all
          cells, the last one by Kolmogorov and Smirnov; ``sensitive_slope`` and
          ``sensitive_correlation`` over the sensitive ones.
    """
    problem = release.problem
    truth = problem.table.values
    shown = seen(release) if values is None else values
    change = np.abs(shown - truth)
    if isinstance(release, SuppressionPattern):
        exact, lost = ~release.suppressed, np.where(release.suppressed, np.abs(truth), 0.0)
    else:
        exact, lost = change <= UNCHANGED * problem.unit, change
    total = float(np.abs(truth).sum())
    some = truth != 0
    relative = change[some] / np.abs(truth[some])
    every = moments(truth, shown)
    part = moments(truth[problem.sensitive], shown[problem.sensitive])
    return {
        "exact": float(np.mean(exact)),
        "value_lost": float(lost.sum()) / total if total else 0.0,
        "mean_change": float(relative.mean()) if len(relative) else 0.0,
        "median_change": float(np.median(relative)) if len(relative) else 0.0,
        "correlation": every.correlation,
        "slope": every.slope,
        "variance_ratio": every.variance_ratio,
        "distance": every.distribution_distance,
        "sensitive_slope": part.slope,
        "sensitive_correlation": part.correlation,
    }


def method_of(release: object) -> str:
    """Name the kind of a release.

    Raises
    ------
    InputError
        If it cannot be compared.
    """
    names: dict[type, str] = {
        SuppressionPattern: "suppression",
        Adjustment: "adjustment",
        RoundedTable: "rounding",
    }
    for kind, name in names.items():
        if isinstance(release, kind):
            return name
    raise InputError(
        f"A {type(release).__name__} cannot be compared; give patterns of `suppress`, "
        f"adjustments of `adjust`, or tables of `controlled_rounding`."
    )
