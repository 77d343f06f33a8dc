"""External bounds that searches can use: finite ones, and those of published intervals."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.errors import InputError, InterruptedSearch, ModelError, SolverError
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.impossible import WHATEVER_IS_HIDDEN, unprotected
from tablecloak.suppression.attack.moves_program import Units
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.system.details import Details
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System
from tablecloak.tables.changes.change import Change
from tablecloak.tables.problem import ProtectionProblem

NAMING_SECONDS = 10.0
"""Least time in seconds for finding out which cells of a group cannot be protected."""

SPACIOUS = 100.0
"""Multiple of the levels, and of the moves of witnesses, that a search may use where a room is
infinite. Chosen by trial; not measured."""


def with_finite_bounds(
    problem: ProtectionProblem, requirement: Requirement, budget: Budget
) -> Change:
    """Return the change to a problem with distant finite external bounds in place of infinite ones.

    Only a search may use them. They make the intruder stronger, so that every proof of protection
    holds for the given bounds as well; but a bound on the loss, or that something is impossible,
    must be proved for the given bounds. Every need that can be met within the given bounds can be
    met within these, as they hold a witness for each.

    Parameters
    ----------
    problem : ProtectionProblem
    requirement : Requirement
    budget : Budget
        Only its stop ends the search for witnesses.

    Raises
    ------
    ModelError
        If a cell cannot be protected at all; names the cells.
    SolverError
        If it is not settled whether it can, or if the search was stopped.
    """
    values, lower, upper = problem.table.values, problem.lower_bound, problem.upper_bound
    if np.all(np.isfinite(lower)) and np.all(np.isfinite(upper)):
        return Change.within(problem, problem)
    levels = np.max(
        [problem.lower_protection, problem.upper_protection, problem.sliding_protection], axis=0
    )
    unit = Units.of(problem.table.relations).column
    most = 10 * np.max(np.abs(values / unit), initial=0)
    far = unit * (most + SPACIOUS * np.max(levels / unit, initial=1))
    pool = _wide_open(problem, requirement, budget.at_least(np.inf))
    cells = pool.system.cells
    for positions, moves in pool.whole_proof().witnesses:
        moved = cells[positions]
        far[moved] = np.maximum(far[moved], SPACIOUS * np.abs(moves))
    finite = problem.with_changes(
        lower_bound=np.where(np.isinf(lower), values - far, lower),
        upper_bound=np.where(np.isinf(upper), values + far, upper),
    )
    return Change.within(problem, finite, relations=None)


@contextlib.contextmanager
def each_unprotected_named(
    problem: ProtectionProblem,
    requirement: Requirement,
    budget: Budget,
    how: str = WHATEVER_IS_HIDDEN,
) -> Iterator[None]:
    """Let a search with equal cells as one name the single cells that no pattern protects.

    Such a search knows that a group cannot be protected, which needs the largest level of its
    cells; the cells of lower levels may be protected.

    Parameters
    ----------
    problem : ProtectionProblem
        Before equal cells were merged.
    requirement : Requirement
    budget : Budget
    how : str, optional
        In what way they cannot be protected.

    Raises
    ------
    ModelError
        With the cells of which that is proved; else with those that the search named.
    """
    try:
        yield
    except ModelError:
        # The search that failed has stopped its own budget.
        naming = Budget.of(max(budget.left, NAMING_SECONDS), threads=budget.threads)
        with contextlib.suppress(SolverError):
            _wide_open(problem, requirement, naming, how)
        raise


def _wide_open(
    problem: ProtectionProblem,
    requirement: Requirement,
    budget: Budget,
    how: str = WHATEVER_IS_HIDDEN,
) -> WitnessPool:
    """Return witnesses for all needs if everything is hidden that may be hidden."""
    system = System.of(problem, needs_of(problem, requirement), ~problem.frozen)
    pool = WitnessPool(system)
    # Programs over the whole table would take most of the time of a search.
    pool.take_exact(Details.of(system).witnesses(system))
    failures = prove(Attack(system), pool, budget)
    if budget.is_stopped and np.any(pool.open):
        raise InterruptedSearch("Interrupted before anything was proved.")
    if np.any(pool.open):
        raise unprotected(problem.table, pool, failures, how)
    return pool


def with_intervals(problem: ProtectionProblem, lower: Floats, upper: Floats) -> ProtectionProblem:
    """Return the problem of an intruder who knows published intervals.

    Parameters
    ----------
    problem : ProtectionProblem
    lower, upper : numpy.ndarray of float, shape (n_cells,)

    Raises
    ------
    InputError
        If an interval does not contain the true value; names the first cell.
    """
    values = problem.table.values
    wrong = np.flatnonzero((lower > values) | (upper < values))
    if len(wrong):
        raise InputError(
            f"{len(wrong)} intervals do not hold the true value, the first is that of "
            f"{problem.table.label(int(wrong[0]))}. Widen them, or check that they belong to this "
            f"table."
        )
    return problem.with_changes(
        lower_bound=np.maximum(problem.lower_bound, lower),
        upper_bound=np.minimum(problem.upper_bound, upper),
    )
