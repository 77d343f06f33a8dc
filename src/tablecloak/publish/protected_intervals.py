"""Intervals around true and adjusted values that are wide enough to protect."""

from __future__ import annotations

from functools import partial

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.budget import Budget, Progress
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.result.intervals import CoveringIntervals, covering_intervals
from tablecloak.errors import SolverError
from tablecloak.publish.audit import audit
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.attack.finding import Verdict
from tablecloak.suppression.intervals.intervals import protecting_room
from tablecloak.tables.problem import ProtectionProblem

TURNS = 12
"""Most rounds in which intervals around true and adjusted values are widened."""


@on_chosen_solver
def protected_intervals(
    adjustment: Adjustment,
    *,
    time_limit: float = 60.0,
    threads: int | None = None,
    progress: Progress | None = None,
    solver: str | None = None,
) -> CoveringIntervals:
    """Publish intervals that hold true and adjusted values, wide enough to protect.

    Parameters
    ----------
    adjustment : Adjustment
    time_limit : float, default=60
        Seconds after which no finer intervals are tried; coarse ones are always completed.
    threads, progress, solver
        As for `audit`.

    Returns
    -------
    CoveringIntervals
        The audit finds every sensitive cell protected on both sides.

    Raises
    ------
    ModelError
        If a cell cannot be protected however coarse the intervals are; names the cells.
    SolverError
        If even the coarsest intervals could not be proved.

    Examples
    --------
    >>> import tablecloak as tc
    >>> adjusted = tc.adjust(tc.examples.cox())
    >>> intervals = tc.protected_intervals(adjusted)
    >>> tc.audit(adjusted.problem, intervals).is_safe
    True
    """
    del solver
    budget = Budget.begun(time_limit, threads=threads, progress=progress)
    problem = adjustment.problem
    attacked = partial(audit, problem, threads=threads, progress=progress)
    intervals = covering_intervals(adjustment)
    with budget.interruptible():
        for _ in range(TURNS):
            if budget.is_over:
                break
            audited = attacked(intervals, time_limit=budget.left)
            assert isinstance(audited, Audit)
            if audited.is_safe:
                intervals.verify()
                return intervals
            intervals = intervals.widen(_around(problem, audited))
    # Intervals that contain a witness for every level protect by construction.
    intervals = covering_intervals(adjustment).hold(*protecting_room(problem))
    intervals.verify()
    if not attacked(intervals).is_safe:
        raise SolverError(
            "No intervals around true and adjusted values were proved to protect every sensitive "
            "cell. Publish what `tablecloak.publish_intervals` finds."
        )
    return intervals


def _around(problem: ProtectionProblem, audited: Audit) -> Flags:
    """Cells that share a relation with one that is not protected; all of them become coarser."""
    failed = np.array([verdict is not Verdict.PROTECTED for verdict in audited.verdicts])
    weak = np.zeros(problem.table.n_cells)
    weak[np.flatnonzero(problem.sensitive)[failed]] = 1.0
    relations = abs(problem.table.relations).astype(bool).astype(np.float64)
    flags: Flags = relations.T @ (relations @ weak) > 0
    return flags
