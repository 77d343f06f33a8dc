"""The intervals of cells that follow from a release, and whether they are as wide as required."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.comparison.possible_counts import CountGuesses, possible_counts
from tablecloak.protection import UNCHANGED
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System
from tablecloak.tables.problem import ProtectionProblem

MOST_COUNTS = 100_000
"""Largest number of whole numbers of one cell that are listed; wider intervals are left as they
are, since counts that large are not determined by their being whole."""

COUNTED = (
    "determined, mean_width: of tables of counts, the share of sensitive counts that follow "
    "exactly, and the mean width of their intervals in counts, for one who knows that true counts "
    "are whole and add up, and how far a method may change them. An adjustment promises no largest "
    "change."
)


def hidden_intervals(pattern: SuppressionPattern) -> tuple[Floats, Floats]:
    """Return the interval of each cell that follows from what a pattern publishes.

    Published cells have intervals of width 0. Two linear programs for each suppressed cell. An end
    that nothing limits is infinite.

    Returns
    -------
    lower, upper : numpy.ndarray of float, shape (n_cells,)
    """
    problem = pattern.problem
    lower, upper = problem.table.values.copy(), problem.table.values.copy()
    needs = needs_of(problem, Requirement.TWO_SIDED)
    system = System.of(problem, needs, pattern.suppressed & ~problem.frozen)
    attack = Attack(system)
    attack.hide(np.ones(system.n_unknown, dtype=bool))
    for place, cell in enumerate(system.cells.tolist()):
        # The end is a proved bound: an error of the solver never makes the interval too narrow.
        upper[cell] += attack.extreme(place, 1).limit
        lower[cell] -= attack.extreme(place, -1).limit
    return np.maximum(lower, problem.lower_bound), np.minimum(upper, problem.upper_bound)


def counts_within(
    problem: ProtectionProblem, lower: Floats, upper: Floats, time_limit: float
) -> tuple[Floats, Floats]:
    """Narrow intervals of counts to whole numbers that fit all relations.

    Parameters
    ----------
    problem : ProtectionProblem
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        What is known of each count by itself.
    time_limit : float
        Seconds; ends that are not settled by then are outer bounds.

    Returns
    -------
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Whole numbers; an upper end that nothing limits is infinite.
    """
    low, high = np.maximum(np.ceil(lower - UNCHANGED), 0), np.floor(upper + UNCHANGED)
    if np.max(high - low, initial=0) > MOST_COUNTS:
        return low, high
    ends = np.column_stack([low, high]).astype(np.int64)
    pairs, case = np.unique(ends, axis=0, return_inverse=True)
    counts = [np.arange(first, last + 1) for first, last in pairs]
    chances = [np.full(len(each), 1 / max(len(each), 1)) for each in counts]
    table = problem.table
    found = possible_counts(
        CountGuesses(case.reshape(-1).astype(np.int64), counts, chances),
        table.relations,
        Budget.begun(time_limit),
        sides=table.right_hand_side,
        wanted=problem.sensitive,
    )
    return found[0].astype(np.float64), found[1].astype(np.float64)


def inferred(
    problem: ProtectionProblem, lower: Integers | Floats, upper: Integers | Floats
) -> dict[str, float]:
    """Return the share of sensitive counts that are determined, and the mean width of intervals."""
    width = (upper - lower)[problem.sensitive]
    if not len(width):
        return {"determined": np.nan, "mean_width": np.nan}
    return {"determined": float(np.mean(width == 0)), "mean_width": float(width.mean())}


def protects(problem: ProtectionProblem, lower: Floats, upper: Floats) -> bool:
    """Whether intervals of cells are as wide as the protection levels of a problem ask.

    Parameters
    ----------
    problem : ProtectionProblem
    lower, upper : numpy.ndarray of float, shape (n_cells,)
    """
    cells = np.flatnonzero(problem.sensitive)
    return bool(np.all(are_wide(problem, cells, lower[cells], upper[cells])))


def are_wide(problem: ProtectionProblem, cells: Integers, lower: Floats, upper: Floats) -> Flags:
    """Return which intervals are as wide as the protection levels of their cells ask.

    Parameters
    ----------
    problem : ProtectionProblem
    cells : numpy.ndarray of int, shape (n,)
        Sensitive cells.
    lower, upper : numpy.ndarray of float, shape (n,)
    """
    slack = UNCHANGED * problem.unit
    truth = problem.table.values[cells]
    below, above = truth - lower, upper - truth
    wide = above + below >= problem.sliding_protection[cells] - slack
    # A level beyond the external bounds cannot be met, so that it is cut there.
    known_low, known_high = problem.lower_bound[cells], problem.upper_bound[cells]
    least = problem.lower_protection[cells] - slack
    most = problem.upper_protection[cells] - slack
    down = below >= np.minimum(least, truth - known_low - slack)
    up = above >= np.minimum(most, known_high - truth - slack)
    found: Flags = wide & down & up
    return found
