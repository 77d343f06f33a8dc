"""Protection levels that are within reach of intruders who know each value up to some per cent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.suppression.attack.audit import audit_pattern
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.problem import ProtectionProblem

ROUNDING = 1e-6
"""Share of the reach of a cell that is given up, since the ends of intervals are rounded."""


def within_percent(problem: ProtectionProblem, percent: float) -> ProtectionProblem:
    """Return the problem in which everybody knows each value up to a share of it."""
    room, values = percent / 100 * np.abs(problem.table.values), problem.table.values
    return problem.with_changes(
        lower_bound=np.maximum(problem.lower_bound, values - room),
        upper_bound=np.minimum(problem.upper_bound, values + room),
    )


def within_bounds(problem: ProtectionProblem) -> ProtectionProblem:
    """Return the problem with no level beyond the external bounds of its cell."""
    values, low, high = problem.table.values, problem.lower_bound, problem.upper_bound
    if problem.table.is_count:
        low, high = np.ceil(low), np.floor(high)
    return _capped(problem, values - low, high - values)


def within_reach(problem: ProtectionProblem, cells: Sequence[int]) -> ProtectionProblem | None:
    """Return the problem with levels that some cells reach if every cell is suppressed.

    Parameters
    ----------
    problem : ProtectionProblem
    cells : sequence of int
        Cells that no pattern protects. Those of which no level becomes smaller, since another
        intruder than the external one is in the way, keep none.

    Returns
    -------
    ProtectionProblem or None
        None if these cells have no levels already, so that something else is in the way.
    """
    status = np.where(problem.sensitive, CellStatus.FORCED.value, problem.status)
    status[list(cells)] = CellStatus.SENSITIVE.value
    alone = problem.with_changes(status=status)
    audited = audit_pattern(alone, ~problem.frozen, detail="intervals")
    attacked, n = np.flatnonzero(alone.sensitive), problem.table.n_cells
    down, up = np.full(n, np.inf), np.full(n, np.inf)
    down[attacked], up[attacked] = audited.below * (1 - ROUNDING), audited.above * (1 - ROUNDING)
    lowered = _capped(problem, down, up)
    kept = np.setdiff1d(attacked, lowered_cells(problem, lowered))
    down[kept] = up[kept] = 0.0
    lowered = _capped(problem, down, up)
    return lowered if len(lowered_cells(problem, lowered)) else None


def _capped(problem: ProtectionProblem, down: Floats, up: Floats) -> ProtectionProblem:
    """Return the problem with no level beyond given distances below and above each value.

    Cells without any room must be suppressed all the same.
    """
    status = np.where(problem.sensitive & (down + up <= 0), CellStatus.FORCED.value, problem.status)
    return problem.with_changes(
        status=status,
        lower_protection=np.minimum(problem.lower_protection, down),
        upper_protection=np.minimum(problem.upper_protection, up),
        sliding_protection=np.minimum(problem.sliding_protection, down + up),
    )


def lowered_cells(asked: ProtectionProblem, given: ProtectionProblem) -> Integers:
    """Return the sensitive cells whose levels are lower in a problem that has more cells behind."""
    lower = ~given.sensitive[: asked.table.n_cells]
    for name in ("lower_protection", "upper_protection", "sliding_protection"):
        level = getattr(asked, name)
        lower |= level - getattr(given, name)[: len(level)] > ROUNDING * level
    return np.flatnonzero(asked.sensitive & lower)
