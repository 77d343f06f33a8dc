"""Adjusted values with the digits of the true table, so that digits do not mark changed cells.

A table of two decimals in which some cells have three tells which cells were changed. AdjustedTable
values are therefore rounded to multiples of the last digit, each to a neighbour of the value that
was found (or a few steps further), so that relations, bounds and protection levels hold exactly: a
program in whole numbers over the changes that lie between two multiples.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Floats, median_of_positive
from tablecloak.budget import Budget
from tablecloak.cta.model.steps import StepBlock, StepProgram
from tablecloak.cta.result.adjusted_table import AdjustedTable, check_adjusted
from tablecloak.cta.result.claims import proved_bound
from tablecloak.cta.statistics.statistic import Condition, PreservedRow, SmoothCondition
from tablecloak.errors import SolverError, VerificationError
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.tables.published import common_decimals, published_decimals

STEPS = (0, 1, 3, 10)
"""Numbers of steps by which a value may move beyond its two neighbours, tried in this order."""

WHOLE = 1e-6
"""Largest distance from a whole number at which a point of the relaxation counts as whole."""

SMOOTH_SHARE = 0.9
"""Share of the tolerance of a statistic of two variables that its row may use in last digits: what
is not linear takes little, since values move by few digits."""

LEAST_WEIGHT = 1e-4
"""Smallest weight of a cell in the search for digits, as a share of the median; the inverse is the
largest."""

SEARCH_GAP = 1e-3
"""Relative gap at which the search for digits may stop."""


AdjustedT = TypeVar("AdjustedT", bound=AdjustedTable)


def decimals_of(adjusted: AdjustedTable) -> int | None:
    """Digits behind the decimal point with which an adjusted table is published.

    Those declared for the table, or else those of its true values; None for a table of
    measurements, in which all values have as many digits as a number can hold.
    """
    table = adjusted.problem.table
    return table.decimals if table.decimals is not None else common_decimals(table.values)


def marks_changes(adjusted: AdjustedTable) -> bool:
    """Whether some adjusted values have more digits than the true ones."""
    decimals = decimals_of(adjusted)
    return decimals is not None and not np.array_equal(
        adjusted.values, np.round(adjusted.values, decimals)
    )


def in_decimals(adjusted: AdjustedT, *, time_limit: float = 60.0) -> AdjustedT:
    """Round an adjusted table to the digits of the true one, within relations and levels.

    Parameters
    ----------
    adjusted : Adjustment
    time_limit : float, default=60
        Seconds.

    Returns
    -------
    Adjustment
        Verified; the same object if its values have these digits already. Preserved statistics
        hold within half of the last digit, as for whole numbers, and those of two variables
        within their tolerance; the bound is what is proved of that.

    Raises
    ------
    SolverError
        If no such table is found. Nothing may be published then.
    """
    decimals = decimals_of(adjusted)
    if decimals is None:
        return _without_dust(adjusted)
    if not marks_changes(adjusted):
        return adjusted
    grid, budget = _DigitGrid(adjusted, decimals), Budget.of(time_limit)
    for steps in STEPS:
        changes = grid.changes(steps, budget)
        rounded = None if changes is None else _rounded(adjusted, changes, decimals)
        if rounded is not None:
            return rounded
    raise SolverError(
        f"The adjusted values have more than the {decimals} decimals of the true ones, which would "
        f"mark the changed cells, and no table in {decimals} decimals that adds up and protects "
        f"was found near them. Raise `time_limit`, preserve fewer statistics, raise their "
        f"`tolerance`, or take the distance L1; for values that stay inside, read `values`."
    )


def _rounded(adjusted: AdjustedT, changes: Floats, decimals: int) -> AdjustedT | None:
    """Return the table with changes in units of the last digit, if it is valid."""
    last = 10.0**-decimals
    half = last / adjusted.unit / 2
    rounded = replace(
        adjusted,
        values=np.round(adjusted.problem.table.values + last * changes, decimals),
        preserved=tuple(_within(kept, half) for kept in adjusted.preserved),
        notes=(f"rounded to {decimals} decimals, as the true values have", *adjusted.notes),
    )
    # Rows with more slack prove less of what was proved of the table before it was rounded.
    proved = min(rounded.bound, proved_bound(rounded))
    return _verified(replace(rounded, bound=min(proved, rounded.loss)))


def _verified(adjusted: AdjustedT) -> AdjustedT | None:
    try:
        check_adjusted(adjusted, proved_bound(adjusted))
    except VerificationError:
        return None
    return adjusted


def _without_dust(adjusted: AdjustedT) -> AdjustedT:
    """Round a table of measurements to digits that binary sums keep, if it stays valid."""
    digits = published_decimals(adjusted.values)
    return _verified(replace(adjusted, values=np.round(adjusted.values, digits))) or adjusted


def _within(kept: PreservedRow | Condition, half: float) -> PreservedRow | Condition:
    return replace(kept, slack=max(kept.slack, half)) if isinstance(kept, PreservedRow) else kept


class _DigitGrid:
    """Changes near given ones as a program in whole numbers, in units of the last digit."""

    def __init__(self, adjusted: AdjustedTable, decimals: int) -> None:
        problem, room = adjusted.problem, adjusted.room
        self.last = 10.0**-decimals
        self.adjusted = adjusted
        near = adjusted.changes * 10.0**decimals
        whole = np.rint(near)
        self.near = np.where(np.abs(near - whole) <= WHOLE, whole, near)
        # Levels and room as whole multiples: a level is rounded up, room down.
        raised = problem.sensitive & (adjusted.changes > 0)
        lowered = problem.sensitive & ~raised
        up, down = np.floor(room.up / self.last + WHOLE), np.floor(room.down / self.last + WHOLE)
        up_level = np.ceil(room.up_level / self.last - WHOLE)
        down_level = np.ceil(room.down_level / self.last - WHOLE)
        self.lower = np.where(raised, up_level, -down)
        self.upper = np.where(lowered, -down_level, up)
        weights = adjusted.weights / median_of_positive(adjusted.weights)
        self.weights = np.clip(weights, LEAST_WEIGHT, 1 / LEAST_WEIGHT)

    def changes(self, steps: int, budget: Budget) -> Floats | None:
        """Changes in units of the last digit, within some steps of the neighbours; None if none."""
        start = np.clip(np.floor(self.near), self.lower, self.upper)
        program = StepProgram.of(*self._rows(start), self._blocks(start, steps))
        x = _solved(program.program, budget)
        return None if x is None else start + program.moves(x)

    def _blocks(self, start: Floats, steps: int) -> list[StepBlock]:
        """From the lower neighbour t a change is t + g + p - m.

        A g of at most 1 costs what the upper neighbour is farther away, every further step up (p)
        or down (m) costs 1.
        """
        first = np.minimum(np.ceil(self.near) - start, 1.0).clip(0.0)
        further = np.minimum(self.upper - start - first, steps).clip(0.0)
        back = np.minimum(start - self.lower, steps).clip(0.0)
        farther = np.abs(start + 1 - self.near) - np.abs(start - self.near)
        kinds = (
            (1, farther, np.minimum(first, self.upper - start)),
            (1, np.ones(len(start)), further),
            (-1, np.ones(len(start)), back),
        )
        blocks = []
        for sign, cost, most in kinds:
            places = np.flatnonzero(most > 0)
            blocks.append(StepBlock(places, sign, (cost * self.weights)[places], most[places]))
        return blocks

    def _rows(self, start: Floats) -> tuple[csr_array, Floats, Floats]:
        """Relations and statistics on moves from a start."""
        relations = self.adjusted.problem.table.relations
        side = -(relations @ start)
        sides: list[tuple[Any, Floats, Floats]] = [(relations, side, side)]
        unit = self.adjusted.unit / self.last
        for kept in self.adjusted.preserved:
            if isinstance(kept, PreservedRow):
                sides.append(_side(kept, start, unit, 0.5))
            elif isinstance(kept, SmoothCondition):
                row = kept.row(self.adjusted.problem, self.adjusted.changes, slack=SMOOTH_SHARE)
                sides.append(_side(row, start, 1 / self.last, 0.0))
        return (
            csr_array(vstack([part for part, _, _ in sides], format="csr")),
            np.concatenate([low for _, low, _ in sides]),
            np.concatenate([high for _, _, high in sides]),
        )


def _side(
    row: PreservedRow, start: Floats, unit: float, least: float
) -> tuple[csr_array, Floats, Floats]:
    """Return a row on moves from a start and its sides, with a least slack, all in last digits."""
    slack = max(row.slack * unit, least)
    middle = row.target * unit - float(row.coefficients @ start)
    return csr_array(row.coefficients[None, :]), *(np.array([middle + s]) for s in (-slack, slack))


def _solved(program: Program, budget: Budget) -> Floats | None:
    """A point in whole numbers: of the relaxation where it is one, else of a search."""
    if not program.n_columns:
        fits = (program.row_lower <= 0) & (program.row_upper >= 0)
        return np.zeros(0) if fits.all() else None
    relaxed = LinearSolver(program).solve(max(budget.left, 0.1))
    if not len(relaxed.x):
        return None
    if np.all(np.abs(relaxed.x - np.rint(relaxed.x)) <= WHOLE):
        return np.rint(relaxed.x)
    try:
        solution = solve(program, time_limit=max(budget.left, 0.1), gap=SEARCH_GAP)
    except SolverError:
        return None
    return np.rint(solution.x) if len(solution.x) else None
