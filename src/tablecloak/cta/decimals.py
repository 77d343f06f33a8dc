"""Adjusted values with the digits of the true table, so that digits do not mark changed cells.

A table of two decimals in which some cells have three tells which cells were changed. Adjusted
values are therefore rounded to multiples of the last digit, each to a neighbour of the value that
was found (or a few steps further), so that relations, bounds and protection levels hold exactly: a
program in whole numbers over the changes that lie between two multiples.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, vstack

from tablecloak.cta.adjustment import Adjustment
from tablecloak.cta.statistics.statistic import Condition, PreservedRow
from tablecloak.errors import SolverError, VerificationError
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.tables.published import common_decimals, published_decimals

__all__ = ["decimals_of", "in_decimals", "marks_changes"]

Floats = npt.NDArray[np.float64]

STEPS = (0, 1, 3, 10)
"""Multiples by which a value may move beyond its two neighbours, tried one after the other."""

WHOLE = 1e-6
"""Largest distance from a whole number at which a point of the relaxation counts as whole."""


def decimals_of(found: Adjustment) -> int | None:
    """Digits behind the decimal point with which an adjusted table is published.

    Those declared for the table, or else those of its true values; None for a table of
    measurements, in which all values have as many digits as a number can hold.
    """
    table = found.problem.table
    return table.decimals if table.decimals is not None else common_decimals(table.values)


def marks_changes(found: Adjustment) -> bool:
    """Whether some adjusted values have more digits than the true ones."""
    decimals = decimals_of(found)
    return decimals is not None and not np.array_equal(
        found.values, np.round(found.values, decimals)
    )


def in_decimals(found: Adjustment, *, time_limit: float = 60.0) -> Adjustment:
    """Round an adjusted table to the digits of the true one, within relations and levels.

    Parameters
    ----------
    found : Adjustment
    time_limit : float, default=60
        Seconds.

    Returns
    -------
    Adjustment
        Verified; the same object if its values have these digits already. Preserved statistics
        hold within half of the last digit, as for whole numbers; the bound is that of the table
        before it was rounded.

    Raises
    ------
    SolverError
        If no such table is found. Nothing may be published then.
    """
    decimals = decimals_of(found)
    if decimals is None:
        return _without_dust(found)
    if not marks_changes(found):
        return found
    last = 10.0**-decimals
    deadline = time.monotonic() + time_limit
    grid = _Grid(found, decimals)
    for steps in STEPS:
        changes = grid.changes(steps, max(deadline - time.monotonic(), 0.1))
        if changes is None:
            continue
        values = np.round(found.problem.table.values + last * changes, decimals)
        rounded = replace(
            found,
            values=values,
            preserved=tuple(_within(kept, last / found.unit / 2) for kept in found.preserved),
            notes=(f"rounded to {decimals} decimals, as the true values have", *found.notes),
        )
        rounded = replace(rounded, bound=min(rounded.bound, rounded.loss))
        try:
            rounded.verify()
        except VerificationError:
            continue
        return rounded
    raise SolverError(
        f"The adjusted values have more than the {decimals} decimals of the true ones, which would "
        f"mark the changed cells, and no table in {decimals} decimals that adds up and protects "
        f"was found near them. Raise `time_limit`, preserve fewer statistics, or take the distance "
        f"L1; for values that stay inside, read `values`."
    )


def _without_dust(found: Adjustment) -> Adjustment:
    """Round a table of measurements to the digits that binary sums leave, if it then holds."""
    rounded = replace(found, values=np.round(found.values, published_decimals(found.values)))
    try:
        rounded.verify()
    except VerificationError:
        return found
    return rounded


def _within(kept: PreservedRow | Condition, half: float) -> PreservedRow | Condition:
    return replace(kept, slack=max(kept.slack, half)) if isinstance(kept, PreservedRow) else kept


class _Grid:
    """Changes near given ones as a program in whole numbers, in units of the last digit."""

    def __init__(self, found: Adjustment, decimals: int) -> None:
        problem, room = found.problem, found.room
        self.last = 10.0**-decimals
        self.found = found
        near = found.changes * 10.0**decimals
        whole = np.rint(near)
        self.near = np.where(np.abs(near - whole) <= WHOLE, whole, near)
        # Levels and room as whole multiples: a level is rounded up, room down.
        raised = problem.sensitive & (found.changes > 0)
        lowered = problem.sensitive & ~raised
        up, down = np.floor(room.up / self.last + WHOLE), np.floor(room.down / self.last + WHOLE)
        up_level = np.ceil(room.up_level / self.last - WHOLE)
        down_level = np.ceil(room.down_level / self.last - WHOLE)
        self.lower = np.where(raised, up_level, -down)
        self.upper = np.where(lowered, -down_level, up)
        positive = found.weights[found.weights > 0]
        unit = float(np.median(positive)) if len(positive) else 1.0
        self.weights = np.clip(found.weights / unit, 1e-4, 1e4)

    def changes(self, steps: int, time_limit: float) -> Floats | None:
        """Changes in units of the last digit, within some steps of the neighbours; None if none.

        From the lower neighbour t a change is t + g + p - m: g of at most 1 costs what the upper
        neighbour is farther away, every further step up (p) or down (m) costs 1.
        """
        table = self.found.problem.table
        start = np.clip(np.floor(self.near), self.lower, self.upper)
        first = np.minimum(np.ceil(self.near) - start, 1.0).clip(0.0)
        further = np.minimum(self.upper - start - first, steps).clip(0.0)
        back = np.minimum(start - self.lower, steps).clip(0.0)
        farther = np.abs(start + 1 - self.near) - np.abs(start - self.near)
        cost = np.concatenate([farther, np.ones(2 * len(start))])
        most = np.concatenate([np.minimum(first, self.upper - start), further, back])
        columns = np.flatnonzero(most > 0)
        sides: list[tuple[Any, Floats, Floats]] = []
        side = -(table.relations @ start)
        sides.append((table.relations, side, side))
        for kept in self.found.preserved:
            if isinstance(kept, PreservedRow):
                unit = self.found.unit / self.last
                slack = max(kept.slack * unit, 0.5)
                middle = kept.target * unit - float(kept.coefficients @ start)
                ends = np.array([middle - slack]), np.array([middle + slack])
                sides.append((csr_array(kept.coefficients[None, :]), *ends))
        rows = csr_array(vstack([part for part, _, _ in sides], format="csr"))
        matrix = csr_array(hstack([rows, rows, -rows], format="csr")[:, columns])
        program = Program(
            cost=(cost * np.tile(self.weights, 3))[columns],
            matrix=matrix,
            row_lower=np.concatenate([low for _, low, _ in sides]),
            row_upper=np.concatenate([high for _, _, high in sides]),
            lower=np.zeros(len(columns)),
            upper=most[columns],
            integral=np.ones(len(columns), dtype=bool),
        )
        x = _solved(program, time_limit)
        if x is None:
            return None
        chosen = np.zeros(3 * len(start))
        chosen[columns] = x
        up, more, less = np.split(chosen, 3)
        result: Floats = start + up + more - less
        return result


def _solved(program: Program, time_limit: float) -> Floats | None:
    """A point in whole numbers: of the relaxation where it is one, else of a search."""
    if not program.n_columns:
        fits = (program.row_lower <= 0) & (program.row_upper >= 0)
        return np.zeros(0) if fits.all() else None
    deadline = time.monotonic() + time_limit
    relaxed = LinearSolver(program).solve(time_limit)
    if not len(relaxed.x):
        return None
    if np.all(np.abs(relaxed.x - np.rint(relaxed.x)) <= WHOLE):
        return np.rint(relaxed.x)
    try:
        found = solve(program, time_limit=max(deadline - time.monotonic(), 0.1), gap=1e-3)
    except SolverError:
        return None
    return np.rint(found.x) if len(found.x) else None
