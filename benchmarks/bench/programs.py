"""The questions to solvers: the programs behind auditing, adjustment and suppression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.room import room_of
from tablecloak.cta.model.tight import TightForm
from tablecloak.solve.program import Program
from tablecloak.suppression.attack.external_bounds import with_finite_bounds
from tablecloak.suppression.rows.master import Master, joined
from tablecloak.suppression.suppress import suppress
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights import WeightRule

__all__ = ["METHODS", "PROGRAMS"]

MOST_COLUMNS = 20_000
"""Number of columns up to which the complete formulation of suppression is built."""

SECONDS = 5.0
"""Time limit in seconds for the pattern or the rows that a program starts from."""


def audit_program(problem: ProtectionProblem) -> Program:
    """Return the intruder's program: the largest value of the largest sensitive cell."""
    problem = with_finite_bounds(problem, Requirement.TWO_SIDED, Budget.of()).problem
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
    """Return the adjustment with all sensitive cells moved up, if their bounds allow it."""
    form = _adjustment(problem)
    _, most = form.model.allowed
    return form.directed(most).relaxed()


def adjustment_mixed(problem: ProtectionProblem) -> Program:
    """Return the adjustment with free directions."""
    return _adjustment(problem).program


def suppression_master(problem: ProtectionProblem) -> Program | None:
    """Return the master problem of suppression with the rows that a search has found."""
    problem = with_finite_bounds(problem, Requirement.TWO_SIDED, Budget.of()).problem
    proof = suppress(problem, method="exact", time_limit=SECONDS).bound_certificate
    if proof is None:
        return None
    master = Master(problem, proof.requirement)
    rows = [row for tree in proof.trees for row in tree.rows]
    built = [master.row(master.needs, row) for row in rows]
    return master.program.with_rows(*joined(built, rows)) if built else None


def suppression_complete(problem: ProtectionProblem) -> Program | None:
    """Return suppression as one program, with a copy of the table for each sensitive cell and side.

    Kelly, Golden and Assad: Cell suppression: disclosure protection for sensitive tabular data,
    Networks 22 (1992). None if it is too large, or asks for a width.
    """
    problem = with_finite_bounds(problem, Requirement.TWO_SIDED, Budget.of()).problem
    movable = np.flatnonzero(~problem.frozen)
    needs = [
        (int(cell), sign, level[cell])
        for cell in np.flatnonzero(problem.sensitive)
        for sign, level in ((1, problem.upper_protection), (-1, problem.lower_protection))
        if level[cell] > 0
    ]
    columns = len(movable) * (len(needs) + 1)
    if np.any(problem.sliding_protection > 0) or columns > MOST_COLUMNS or not needs:
        return None
    matrix, row_lower, row_upper = _copies(problem, movable, len(needs))
    lower, upper = _column_bounds(problem, movable, needs)
    weights = problem.weights[movable]
    scale = float(np.median(weights[weights > 0])) if np.any(weights > 0) else 1.0
    return Program(
        cost=np.concatenate([weights / scale, np.zeros(columns - len(movable))]),
        matrix=matrix,
        row_lower=row_lower,
        row_upper=row_upper,
        lower=lower,
        upper=upper,
        integral=np.arange(columns) < len(movable),
    )


def _rooms(problem: ProtectionProblem, movable: Integers) -> tuple[Floats, Floats]:
    """How far each cell may move down and up, in units of the program."""
    values = problem.table.values[movable]
    low = (values - problem.lower_bound[movable]) / problem.unit
    return low, (problem.upper_bound[movable] - values) / problem.unit


def _copies(
    problem: ProtectionProblem, movable: Integers, copies: int
) -> tuple[csr_array, Floats, Floats]:
    """Return the rows of all copies: each is additive, and only suppressed cells move in it."""
    low, high = _rooms(problem, movable)
    relations = csr_array(problem.table.relations[:, movable])
    n, zero = len(movable), np.zeros(relations.shape[0])
    one = diags_array(np.ones(n))
    blocks = (
        (relations, None, zero, zero),
        (one, diags_array(-high), np.full(n, -np.inf), np.zeros(n)),
        (one, diags_array(low), np.zeros(n), np.full(n, np.inf)),
    )
    rows: list[list[object]] = []
    for number in range(copies):
        for block, first, _, _ in blocks:
            line: list[object] = [None] * (copies + 1)
            line[0], line[number + 1] = first, block
            rows.append(line)
    lower = np.tile(np.concatenate([block[2] for block in blocks]), copies)
    upper = np.tile(np.concatenate([block[3] for block in blocks]), copies)
    return csr_array(block_array(rows, format="csr")), lower, upper


def _column_bounds(
    problem: ProtectionProblem, movable: Integers, needs: list[tuple[int, int, float]]
) -> tuple[Floats, Floats]:
    """Return bounds: primaries are suppressed, and in its copy a sensitive cell moves its level."""
    low, high = _rooms(problem, movable)
    primary = problem.sensitive[movable] | problem.forced[movable]
    lower, upper = [primary.astype(np.float64)], [np.ones(len(movable))]
    for cell, sign, level in needs:
        least, most = -low.copy(), high.copy()
        position = int(np.searchsorted(movable, cell))
        if sign > 0:
            least[position] = level / problem.unit
        else:
            most[position] = -level / problem.unit
        lower.append(least)
        upper.append(most)
    return np.concatenate(lower), np.concatenate(upper)


def _adjustment(problem: ProtectionProblem) -> TightForm:
    problem = with_finite_bounds(problem, Requirement.TWO_SIDED, Budget.of()).problem
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
"""Questions that pose the whole problem; only tools for protection answer them."""
