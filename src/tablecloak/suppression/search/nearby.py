"""Searches near the best pattern: only a part of the table may change.

The master problem with most of its cells fixed as in the best pattern is small. It is solved, its
solution is attacked, and the rows found are added, until the problem has no better solution or a
protected one. The parts grow while searches end quickly. Besides better patterns this finds rows
that good patterns violate.

References
----------
.. [1] Fischetti, Lodi: Local branching, Mathematical Programming 98 (2003).
.. [2] Danna, Rothberg, Le Pape: Exploring relaxation induced neighborhoods to improve MIP
   solutions, Mathematical Programming 102 (2005).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget
from tablecloak.errors import SolverError
from tablecloak.solve.branch import Rows
from tablecloak.solve.mixed import solve
from tablecloak.solve.solver import SolveStatus
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.rows.master import Master

FIRST_SIZE = 60
"""Number of cells that may change in the first part. Chosen by trial; not measured."""

GROWTH, SHRINKAGE = 1.2, 0.8
"""Factors on the size of the next part after a search that ended, and after one that did not.
Chosen by trial; not measured."""

TURNS = 20
"""Solutions of the master problem that are attacked in one part before it is given up. Chosen by
trial; not measured."""

SHARE_OF_ONE = 0.1
"""Share of the remaining time that one program may take. Chosen by trial; not measured."""

LEAST_SECONDS = 0.5
"""Least time limit of a program over a part, in seconds, even if it ends after the deadline."""

INDUCED_EVERY = 4
"""Of so many parts, one consists of cells in which the relaxation and the best pattern differ; the
others are regions around a sensitive cell. Chosen by trial; not measured."""


class Separator(Protocol):
    """The part of the exact method's separator that this search calls."""

    best: Candidate
    fractional: Floats

    def __call__(self, y: Floats, integral: bool) -> Rows | None:
        """Rows that the point ``y`` violates."""
        ...

    def every_row(self) -> Rows:
        """All rows separated so far."""
        ...


def search_nearby(
    master: Master,
    separator: Separator,
    budget: Budget,
    *,
    step: float,
    progress: Callable[[], None],
) -> None:
    """Improve the best pattern of a separator, and its pool of rows, until the budget ends.

    Ends early if a search with all cells free found nothing better. That proves no bound.

    Parameters
    ----------
    master : Master
    separator : Separator
        Attacks solutions, keeps the best pattern and all rows.
    budget : Budget
        Its seed determines the choice of parts.
    step : float
        Loss of every pattern is a multiple of it, or 0.
    progress : callable
        Called after each search.
    """
    random = np.random.default_rng(budget.seed)
    touched = abs(master.problem.table.relations).astype(bool).astype(np.float64)
    n = len(master.free)
    if not n or not len(master.needs.cells):
        return
    size = min(FIRST_SIZE, n)
    turn = 0
    while not budget.is_over:
        turn += 1
        best = _pattern(master, separator.best)
        induced = turn % INDUCED_EVERY == 0
        part = (
            np.abs(separator.fractional - best) > random.uniform(0.02, 0.5)
            if induced
            else _region(master, touched, size, random)
        )
        ended = _search(master, separator, best, part, step, budget)
        progress()
        if induced:
            continue
        if ended and size == n:
            return
        size = min(int(size * GROWTH) + 1 if ended else max(int(size * SHRINKAGE), 10), n)


def _search(
    master: Master, separator: Separator, best: Floats, part: Flags, step: float, budget: Budget
) -> bool:
    """Search one part; return whether the search ended, or found a better pattern."""
    known = separator.best.loss
    most = master.objective(known - step) if step else master.objective(known * (1 - 1e-6))
    lower, upper = np.where(part, 0.0, best), np.where(part, 1.0, best)
    cost = csr_array(master.program.cost[None, :])
    for _ in range(TURNS):
        if budget.is_over:
            return False
        program = master.program.with_bounds(lower, upper).with_rows(*separator.every_row())
        program = program.with_rows(cost, np.array([-np.inf]), np.array([most]))
        try:
            solution = solve(
                program, time_limit=max(SHARE_OF_ONE * budget.left, LEAST_SECONDS), gap=2e-3
            )
        except SolverError:
            return False
        if not len(solution.x):
            return solution.status is SolveStatus.INFEASIBLE
        if separator(solution.x, True) is None:
            return True
    return False


def _pattern(master: Master, candidate: Candidate) -> Floats:
    """Return the pattern of a candidate over the free cells, as 0 and 1."""
    hidden = np.zeros(master.problem.table.n_cells)
    hidden[candidate.pool.system.cells[candidate.hidden]] = 1.0
    pattern: Floats = hidden[master.free]
    return pattern


def _region(master: Master, touched: csr_array, size: int, random: np.random.Generator) -> Flags:
    """Return cells around a sensitive one, a random choice among those equally far from it."""
    part = np.zeros(len(master.free), dtype=bool)
    near = np.zeros(master.problem.table.n_cells)
    near[random.choice(master.needs.cells)] = 1.0
    while int(part.sum()) < size:
        near = touched.T @ (touched @ near)
        new = np.flatnonzero((near[master.free] > 0) & ~part)
        if not len(new):
            new = np.flatnonzero(~part)
        left = size - int(part.sum())
        part[random.permutation(new)[:left]] = True
    return part
