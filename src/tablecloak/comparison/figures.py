"""Figures of any release of a table, by the same definitions for every method.

The analyst uses published values as they are, and the midpoints in place of suppressed ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tablecloak.arrays import Floats
from tablecloak.comparison.intervals import COUNTED
from tablecloak.comparison.measures import RISKS, UTILITIES, AnalystView
from tablecloak.cta.risk.risk import TruthGuesses
from tablecloak.protection import PROTECTIONS, Protection, required_way

SAFE = (
    "safe: whether every sensitive cell is protected by the levels that are required, whatever "
    "the levels the release was made with."
)


LOSSES = (
    "loss, bound: what each search minimised, and the least that is proved possible, each in the "
    "unit of its own search: losses of two methods cannot be compared. seconds: time of the "
    "search. kind: the way to protect. level_factor: by what the protection levels were multiplied."
)


def notes(figures: Iterable[str] | None = None) -> list[str]:
    """Say what figures mean, one line for each measure; by default of all."""
    ways = (way.note for way in PROTECTIONS if way.note)
    risks, utilities = ([measure.note for measure in kind] for kind in (RISKS, UTILITIES))
    lines = [SAFE, *risks, COUNTED, *utilities, LOSSES, *ways]
    if figures is None:
        return lines
    shown = set(figures)
    return [line for line in lines if re.split("[,:]", line)[0] in shown]


def compared(release: object) -> type[Protection]:
    """Return the way to protect that made a release.

    Raises
    ------
    InputError
        If it cannot be compared.
    """
    return required_way(release, "compared")


def analyst_values(release: Any) -> Floats:
    """Return the values that an analyst uses, shape (n_cells,): midpoints of suppressed cells."""
    lower, upper = compared(release).ends(release)
    return (lower + upper) / 2


def guesses(
    release: Any,
    *,
    knows: str = "levels",
    time_limit: float = 60.0,
    values: Floats | None = None,
) -> TruthGuesses:
    """Attack a release.

    Parameters
    ----------
    release : SuppressionPattern, Adjustment or RoundedTable
    knows : str, default="levels"
        What the intruder knows of an adjustment besides the relations: "method", "levels" or
        "directions"; see `tablecloak.attack_adjustment`.
    time_limit : float, default=60
        Time limit in seconds for running an adjustment backwards.
    values : numpy.ndarray of float, shape (n_cells,), optional
        What the analyst sees, if computed before.
    """
    shown = analyst_values(release) if values is None else values
    return compared(release).guesses(release, shown, knows=knows, time_limit=time_limit)


def risk(guessed: TruthGuesses) -> dict[str, float]:
    """Return all measures of risk of what an intruder guesses.

    Returns
    -------
    dict of str to float
        ``guessed``, the share of right guesses; ``worst_error`` and ``mean_error`` as multiples of
        the level, NaN if no cell has one.
    """
    figures: dict[str, float] = {}
    for measure in RISKS:
        figures |= measure().figures(guessed)
    return figures


def utility(
    release: Any, values: Floats | None = None, *, n_cells: int | None = None
) -> dict[str, float]:
    """Return what is left for the analyst.

    Parameters
    ----------
    release : SuppressionPattern, Adjustment or RoundedTable
    values : numpy.ndarray of float, shape (n_cells,), optional
        What the analyst sees, if computed before.
    n_cells : int, optional
        Number of cells that count, the first ones; by default all.

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
    shown = analyst_values(release) if values is None else values
    exact, lost = compared(release).lost(release, shown)
    counted = slice(n_cells)
    view = AnalystView(
        problem.table.values[counted],
        shown[counted],
        problem.sensitive[counted],
        exact[counted],
        lost[counted],
    )
    figures: dict[str, float] = {}
    for measure in UTILITIES:
        figures |= measure().figures(view)
    return figures
