"""The needs of sensitive cells: distances to move, from protection levels and a requirement."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import ModelError, listed
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import common_decimals

REAL_DIGIT = 1e-6
"""Unit of the last digit assumed for values that are no decimal numbers, as a share of their
median."""

LEAST_SHARE = 1e-8
"""Least width of the interval of any sensitive cell, as a share of its value, since an interval as
narrow as a few rounding errors discloses the value."""

LEAST_PRECISION = 1e-6
"""Largest rounding error of a value, as a share of its protection level, for which the level can be
proved."""


@dataclass(frozen=True, eq=False)
class Needs:
    """Distances to which each sensitive cell must be able to move.

    Parameters
    ----------
    cells : numpy.ndarray of int, shape (n_sensitive,)
        Numbers of the sensitive cells.
    upper, lower, width : numpy.ndarray of float, shape (n_sensitive,)
        Required distance above and below the true value, and between both ends.
    index : numpy.ndarray of int, shape (n_sensitive,)
        Position of each among all sensitive cells of the table.
    """

    cells: Integers
    upper: Floats
    lower: Floats
    width: Floats
    index: Integers

    def among(self, position: Integers) -> Needs:
        """Return the needs of some cells under new numbers, -1 for cells left out."""
        kept = np.flatnonzero(position[self.cells] >= 0)
        return self.chosen(kept, position[self.cells[kept]])

    def chosen(self, kept: Integers, cells: Integers) -> Needs:
        """Return some of the needs under new cell numbers."""
        return Needs(cells, self.upper[kept], self.lower[kept], self.width[kept], self.index[kept])

    def cut(self, low: Floats, high: Floats) -> Needs:
        """Return the needs, capped by the bounds low <= d <= high that everybody already knows."""
        above, below = high[self.cells], -low[self.cells]
        return Needs(
            self.cells,
            np.minimum(self.upper, above),
            np.minimum(self.lower, below),
            np.minimum(self.width, above + below),
            self.index,
        )

    def sides(self, low: Floats, high: Floats) -> Floats:
        """Return how far the cell of each need must move up, and down, within low <= d <= high."""
        half = self.width / 2
        upper = np.maximum(self.upper, np.minimum(half, high[self.cells]))
        lower = np.maximum(self.lower, np.minimum(half, -low[self.cells]))
        # The side with more room takes the part of the width that is still missing.
        return np.stack(
            [np.maximum(upper, self.width - lower), np.maximum(lower, self.width - upper)]
        )

    def met(self, above: Floats, below: Floats) -> Flags:
        """Flag the needs that are met if the cells can move by `above` and by `below`.

        A need counts as met within 1e-9 of itself, which allows for binary rounding.
        """
        share = 1 - 1e-9
        return (
            (above >= share * self.upper)
            & (below >= share * self.lower)
            & (above + below >= share * self.width)
        )


def asked_of(problem: ProtectionProblem, requirement: Requirement) -> Needs:
    """Return the needs that the levels demand, whether or not the external bounds admit them."""
    cells = np.flatnonzero(problem.sensitive)
    distances = requirement.distances(problem, cells)
    return _with_least_widths(problem, Needs(cells, *distances, np.arange(len(cells))))


def needs_of(problem: ProtectionProblem, requirement: Requirement | str) -> Needs:
    """Translate protection levels into needs.

    A cell whose levels are 0 needs a least width: see `Requirement`.

    Raises
    ------
    ModelError
        If the external bounds alone already break a need; names the cells.
    """
    requirement = Requirement.parse(requirement)
    needs = asked_of(problem, requirement)
    lower, upper = np.zeros(problem.table.n_cells), np.zeros(problem.table.n_cells)
    lower[needs.cells], upper[needs.cells] = needs.lower, needs.upper
    problem.check_levels(lower, upper)
    _check_room(problem, needs)
    _check_precision(problem, needs)
    return needs


def _check_precision(problem: ProtectionProblem, needs: Needs) -> None:
    """Refuse a level that is smaller than the rounding error of its own value.

    The least of what a cell needs decides, since each need has a witness of its own.
    """
    asked = np.array([needs.upper, needs.lower, needs.width])
    least = np.where(asked > 0, asked, np.inf).min(axis=0)
    precision = problem.table.precision[needs.cells]
    blurred = needs.cells[precision > LEAST_PRECISION * least]
    if len(blurred):
        raise ModelError(
            f"{len(blurred)} sensitive cells have protection levels below the precision of their "
            f"values, which are stored with 15 to 17 digits: "
            f"{listed(problem.table.labels(blurred[:5]))}. Raise these levels, or give the values "
            f"in a larger unit.",
            cells=blurred,
        )


def decimals_of(problem: ProtectionProblem) -> int | None:
    """Return how many decimals the values of a table have; None if they are no decimal numbers."""
    table = problem.table
    return common_decimals(table.values) if table.decimals is None else table.decimals


def _with_least_widths(problem: ProtectionProblem, needs: Needs) -> Needs:
    """Return the needs with a least width for every cell that has no other need."""
    nothing = (needs.upper <= 0) & (needs.lower <= 0) & (needs.width <= 0)
    if not np.any(nothing):
        return needs
    decimals, size = decimals_of(problem), np.abs(problem.table.values)
    if decimals is None:
        digit = REAL_DIGIT * float(np.median(size[size > 0]))
    else:
        digit = 10.0**-decimals
    least = np.maximum(digit, LEAST_SHARE * size[needs.cells])
    return replace(needs, width=np.where(nothing, least, needs.width))


def _check_room(problem: ProtectionProblem, needs: Needs) -> None:
    room = (problem.upper_bound - problem.lower_bound)[needs.cells]
    narrow = needs.cells[room < needs.width * (1 - 1e-9)]
    if len(narrow):
        raise ModelError(
            f"{len(narrow)} sensitive cells have external bounds closer together than the width "
            f"they need: {listed(problem.table.labels(narrow))}. Widen these bounds or lower the "
            f"levels.",
            cells=narrow,
        )
