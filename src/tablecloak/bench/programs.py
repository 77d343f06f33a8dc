"""What is asked of a solver: the programs behind auditing, adjustment and suppression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array

from tablecloak.cta.model import AdjustmentModel
from tablecloak.cta.room import room_of
from tablecloak.cta.tight import TightForm
from tablecloak.solve.program import Program
from tablecloak.suppression.external_bounds import with_finite_bounds
from tablecloak.suppression.search.master import Master, joined
from tablecloak.suppression.suppress import suppress
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights.rule import WeightRule

__all__ = ["METHODS", "PROGRAMS"]

MOST_COLUMNS = 20_000
"""Columns up to which the complete formulation of suppression is built."""

SECONDS = 5.0
"""For the pattern or the rows that a program starts from."""


def audit_program(problem: ProtectionProblem) -> Program:
    """Return the intruder's program: the largest value of the largest sensitive cell."""
    problem = with_finite_bounds(problem)
    pattern = suppress(problem, method="sequential", time_limit=SECONDS)
    hidden = np.flatnonzero(pattern.suppressed)
    sensitive = np.flatnonzero(problem.sensitive)
    cell = sensitive[np.argmax(problem.table.values[sensitive])]
    a, unit = problem.table.values[hidden], problem.unit
    matrix = csr_array(problem.table.relations[:, hidden])
    return Program(
        cost=np.where(hidden == cell, -1.0, 0.0),
        matrix=matrix,
        row_lower=np.zeros(matrix.shape[0]),
        row_upper=np.zeros(matrix.shape[0]),
        lower=(problem.lower_bound[hidden] - a) / unit,
        upper=(problem.upper_bound[hidden] - a) / unit,
    )


def adjustment_linear(problem: ProtectionProblem) -> Program:
    """Return the adjustment with all sensitive cells moved up where they can be."""
    form = _adjustment(problem)
    _, most = form.model.allowed()
    return form.directed(most).relaxed()


def adjustment_mixed(problem: ProtectionProblem) -> Program:
    """Return the adjustment with free directions."""
    return _adjustment(problem).program


def suppression_master(problem: ProtectionProblem) -> Program | None:
    """Return the master problem of suppression with the rows that a search has found."""
    problem = with_finite_bounds(problem)
    found = suppress(problem, method="exact", time_limit=SECONDS).bound_certificate
    if found is None:
        return None
    master = Master(problem, found.requirement)
    built = [master.row(master.needs, row) for row in found.rows]
    return master.program.with_rows(*joined(built, found.rows)) if built else None


def suppression_complete(problem: ProtectionProblem) -> Program | None:
    """Return suppression as one program: a table for each sensitive cell and side.

    Kelly, Golden and Assad: Cell suppression: disclosure protection for sensitive tabular data,
    Networks 22 (1992). None if it is too large, or asks for a width.
    """
    problem = with_finite_bounds(problem)
    movable = np.flatnonzero(~problem.frozen)
    needs = [
        (int(cell), sign, level[cell])
        for cell in np.flatnonzero(problem.sensitive)
        for sign, level in ((1, problem.upper_protection), (-1, problem.lower_protection))
        if level[cell] > 0
    ]
    n = len(movable)
    if np.any(problem.sliding_protection > 0) or n * (len(needs) + 1) > MOST_COLUMNS or not needs:
        return None
    unit, values = problem.unit, problem.table.values[movable]
    high = (problem.upper_bound[movable] - values) / unit
    low = (values - problem.lower_bound[movable]) / unit
    one = diags_array(np.ones(n))
    relations = csr_array(problem.table.relations[:, movable])
    m, k = relations.shape[0], len(needs)
    rows: list[list[object]] = []
    sides: list[tuple[np.ndarray, np.ndarray]] = []
    lower, upper = [np.zeros(n)], [np.ones(n)]
    lower[0][problem.sensitive[movable] | problem.forced[movable]] = 1.0
    for number, (cell, sign, level) in enumerate(needs):
        for block, first, side in (
            (relations, None, (np.zeros(m), np.zeros(m))),
            (one, diags_array(-high), (np.full(n, -np.inf), np.zeros(n))),
            (one, diags_array(low), (np.zeros(n), np.full(n, np.inf))),
        ):
            line: list[object] = [None] * (k + 1)
            line[0], line[number + 1] = first, block
            rows.append(line)
            sides.append(side)
        least, most = -low.copy(), high.copy()
        at = int(np.searchsorted(movable, cell))
        if sign > 0:
            least[at] = level / unit
        else:
            most[at] = -level / unit
        lower.append(least)
        upper.append(most)
    weights = problem.weights[movable]
    scale = float(np.median(weights[weights > 0])) if np.any(weights > 0) else 1.0
    return Program(
        cost=np.concatenate([weights / scale, np.zeros(n * k)]),
        matrix=csr_array(block_array(rows, format="csr")),
        row_lower=np.concatenate([side[0] for side in sides]),
        row_upper=np.concatenate([side[1] for side in sides]),
        lower=np.concatenate(lower),
        upper=np.concatenate(upper),
        integral=np.arange(n * (k + 1)) < n,
    )


def _adjustment(problem: ProtectionProblem) -> TightForm:
    problem = with_finite_bounds(problem)
    room = room_of(problem, limit=None)
    return TightForm.of(AdjustmentModel.of(problem, WeightRule.RELATIVE.of(problem), room))


PROGRAMS: dict[str, Callable[[ProtectionProblem], Program | None]] = {
    "audit": audit_program,
    "adjustment-linear": adjustment_linear,
    "adjustment-mixed": adjustment_mixed,
    "suppression-master": suppression_master,
    "suppression-complete": suppression_complete,
}
"""Programs that any solver can be asked to solve."""

METHODS = ("suppress", "adjust")
"""Whole problems, for tools."""
