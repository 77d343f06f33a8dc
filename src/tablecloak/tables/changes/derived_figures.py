"""Derived figures as cells: what a printed ratio tells of its two cells, and what hiding it costs.

A figure R, in units of its last digit 10^-k, of the quotient c x / y + o tells everybody that

    0 <= A x - (2R - 1 - B) y <= 2 y    with A = 2 * 10^k c and B = 2 * 10^k o.

What lies between gets a cell of its own, the room s, and what is left up to 2 y another one, s'.
Neither is ever seen, and neither is negative. The figure is a third cell u of value 0: by how much
the numerator differs from one that fits.

    A (x - u) - (2R - 1 - B) y = s    and    s + s' = 2 y.

If it is published, u is known to be 0, and the rows above hold. If it is hidden, u may be anything,
and they say nothing. So a figure is published, hidden or frozen like any other cell, and all that
protects, attacks and proves needs to know nothing of quotients.

All coefficients are whole and follow from the printed digits, so that certificates are checked in
exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, eye_array, hstack, vstack

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import InputError
from tablecloak.tables.cell_arrays import CellArrays, CellStatus
from tablecloak.tables.changes.change import Change
from tablecloak.tables.changes.earlier_releases import Published
from tablecloak.tables.changes.order_statistics import with_order_statistics
from tablecloak.tables.contributions import LEVELS, Contributions
from tablecloak.tables.figures.figure import (
    MOST_DIGITS,
    DerivedFigure,
    Quotients,
    marked_keys,
)
from tablecloak.tables.figures.order_statistics import statistics_among
from tablecloak.tables.keys import DERIVED, LIMIT, are_derived
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.tabulation.contributed import Contributed

BEYOND = 1e-6
"""Share by which the bounds of a hidden figure lie beyond what it can be, whatever is rounded."""


def with_derived(
    problem: ProtectionProblem,
    derived: Sequence[DerivedFigure],
    *,
    published: object = (),
    contributions: Contributed | None = None,
) -> ProtectionProblem:
    """Return the problem of a table together with figures that are published beside it.

    Every search, audit and certificate of this problem counts the figures: a search chooses which
    totals and which figures to hide together, and an intruder uses what the digits of all published
    figures tell.

    Parameters
    ----------
    problem : ProtectionProblem
        Weight of its cells: the weight of a figure is a multiple of that of its numerator.
    derived : sequence of DerivedFigure
        Such as ``[tc.Ratio("turnover / employees", decimals=1)]``.
    published : Published, release, or sequence or mapping of releases, default=()
        Earlier releases, as for `tablecloak.suppress`, to which growth rates and indices refer by
        their names. Do not give them to `suppress` again.
    contributions : Contributed, optional
        What each contributor gives to each cell, for quantiles, minima and maxima. These are hidden
        by rule, and what the others tell becomes part of the external bounds of the totals.

    Returns
    -------
    ProtectionProblem
        With the cells of earlier releases, and three further cells for each figure: the figure, and
        what its digits leave of room on both sides. `tablecloak.released_figures` prints them.

    Raises
    ------
    InputError
        If a figure names something unknown, or has a denominator that is negative or might be for
        all that everybody knows; names the cell. With a denominator of 0 there is no figure, which
        is refused only for figures that must be published and denominators that may be hidden.

    Notes
    -----
    A figure is taken to be rounded to its last digit from the values of the table, halves either
    way. That it is printed at all tells that its denominator is not 0.

    Examples
    --------
    >>> import tablecloak as tc
    >>> both = tc.join({"turnover": tc.examples.cox_rounded(), "staff": tc.examples.cox_rounded()})
    >>> problem = tc.with_derived(both, [tc.Ratio("turnover / staff", decimals=1)])
    >>> problem.table.n_cells - both.table.n_cells  # 45 figures: 5 denominators are 0
    135
    """
    earlier = Published.parse(published)
    statistics = statistics_among(derived)
    if statistics:
        problem = with_order_statistics(problem, statistics, contributions)
    given = problem
    if earlier is not None:
        given = of_other_periods(earlier, derived).beside(problem).problem
    return derived_cells(given, [figure for figure in derived if figure not in statistics]).problem


def of_other_periods(earlier: Published, derived: Sequence[DerivedFigure]) -> Published:
    """Return earlier releases, of which those with which figures compare have their own periods."""
    named = [getattr(figure, figure.compared_with, "") for figure in derived]
    return replace(earlier, periods={**{name: name for name in named}, **earlier.periods})


class FigureCells:
    """The change to a problem whose table names figures that are no cells yet, such as a job's.

    It comes after the cells of earlier releases, to which growth rates refer.
    """

    def change(self, problem: ProtectionProblem, budget: Budget) -> Change:
        """Return the change to a problem with these figures as cells."""
        del budget
        table, every = problem.table, pd.MultiIndex.from_frame(problem.table.keys)
        pending = []
        for figure in table.figures:
            if not figure.needs_contributions:
                numerators = figure.quotients(table).numerator
                marked = pd.MultiIndex.from_frame(marked_keys(table, figure, numerators, DERIVED))
                pending += [] if marked.isin(every).any() else [figure]
        return derived_cells(problem, pending)


def require_no_figures(problem: ProtectionProblem, what: str) -> None:
    """Refuse a problem with figures as cells for a method that publishes other values.

    Raises
    ------
    InputError
        Says what to do instead.
    """
    judged = [figure for figure in problem.table.figures if figure.needs_contributions]
    if judged:
        raise InputError(
            f"{judged[0].label}: it is not known what an order statistic of true contributions "
            f"tells beside other values. {what} takes a problem without; suppress its cells "
            f"instead."
        )
    if np.any(are_derived(problem.table.keys)):
        raise InputError(
            f"{what} takes a problem without derived figures. Those of changed values are computed "
            f"from these: give the figures to `tablecloak.released_figures` afterwards."
        )


def derived_cells(problem: ProtectionProblem, derived: Sequence[DerivedFigure]) -> Change:
    """Return the change to a problem with figures and their rooms as further cells, the last."""
    change = Change.within(problem, problem)
    for figure in derived:
        change = change.then(_with_figure(change.problem, figure))
    return change


@dataclass(frozen=True, eq=False)
class _Rows:
    """What the printed digits of figures tell.

    Parameters
    ----------
    room : scipy.sparse.csr_array, shape (n_figures, n_cells)
        A x - (2R - 1 - B) y.
    width : scipy.sparse.csr_array, shape (n_figures, n_cells)
        2 y.
    size : float
        A.
    room_known, width_known : numpy.ndarray of float, shape (n_figures,)
        The parts of both that stand for denominators that are numbers.
    """

    room: csr_array
    width: csr_array
    size: float
    room_known: Floats
    width_known: Floats

    @classmethod
    def of(cls, figure: DerivedFigure, quotients: Quotients, values: Floats) -> _Rows:
        """Return the rows of quotients in a table with these values.

        Raises
        ------
        InputError
            If a figure has more digits than can be computed with.
        """
        n, shape = len(quotients), (len(quotients), len(values))
        digits: Floats = np.array(figure.printed(quotients, values), dtype=np.float64)
        double = 2 * 10**figure.decimals
        factors = 2 * digits - 1 - double * figure.offset
        size = float(double * figure.scale)
        most = max(size, float(np.abs(factors).max(initial=0.0)))
        if most > MOST_DIGITS:
            worst = int(np.argmax(np.abs(digits)))
            raise InputError(
                f"{figure.label}: with {figure.decimals} decimals a figure has too many digits. "
                f"Print fewer, or take another unit.",
                cells=[int(quotients.numerator[worst])],
            )
        of_cell = np.flatnonzero(quotients.denominator >= 0)
        below = quotients.denominator[of_cell]
        row = np.append(np.arange(n), of_cell)
        cell = np.append(quotients.numerator, below)
        entries = np.append(np.full(n, size), -factors[of_cell])
        number = np.where(quotients.denominator < 0, quotients.number, 0.0)
        return cls(
            room=csr_array((entries, (row, cell)), shape=shape),
            width=csr_array((np.full(len(of_cell), 2.0), (of_cell, below)), shape=shape),
            size=size,
            room_known=-factors * number,
            width_known=2 * number,
        )


def _extreme(matrix: csr_array, problem: ProtectionProblem, sign: int) -> Floats:
    """Return the least or most that rows can be within the external bounds."""
    entries = matrix.tocoo()
    row, cell = entries.coords
    up = sign * entries.data > 0
    ends = np.where(up, problem.upper_bound[cell], problem.lower_bound[cell])
    return np.bincount(row, entries.data * ends, minlength=matrix.shape[0]).astype(np.float64)


def _with_figure(problem: ProtectionProblem, figure: DerivedFigure) -> Change:
    """Return the change to a problem with one kind of figure."""
    quotients = _defined(problem, figure)
    n, table = len(quotients), problem.table
    rows = _Rows.of(figure, quotients, table.values)
    one, nothing = csr_array(eye_array(n)), csr_array((n, n))
    old = hstack([table.relations, csr_array((table.n_relations, 3 * n))], format="csr")
    rooms = hstack([rows.room, -rows.size * one, -one, nothing], format="csr")
    widths = hstack([rows.width, nothing, -one, -one], format="csr")
    # The exact room of decimal numbers is not negative; binary dust may be.
    room = np.maximum(rows.room @ table.values + rows.room_known, 0.0)
    rest = np.maximum(rows.width @ table.values + rows.width_known - room, 0.0)
    values = np.concatenate([np.zeros(n), room, rest])
    larger = replace(
        table,
        keys=_keys(problem, figure, quotients.numerator),
        values=np.concatenate([table.values, values]),
        relations=csr_array(vstack([old, rooms, widths], format="csr")),
        right_hand_side=np.concatenate(
            [table.right_hand_side, -rows.room_known, -rows.width_known]
        ),
        integer=None if table.integer else False,
        figures=(*(other for other in table.figures if other != figure), figure),
        **_contributions(problem, values),
    )
    arrays = problem.stacked([_arrays(problem, figure, quotients, rows)])
    return Change.within(problem, ProtectionProblem.of(larger, arrays), relations=None)


def _defined(problem: ProtectionProblem, figure: DerivedFigure) -> Quotients:
    """Return the quotients of a figure, all with denominators that are positive.

    Raises
    ------
    InputError
        If a denominator may be negative, or is 0, may be hidden, and the figure may not: that one
        alone is not printed would tell the 0.
    """
    table, quotients = problem.table, figure.quotients(problem.table)
    below = quotients.denominators(table.values)
    of_cell = quotients.denominator >= 0
    nothing = of_cell & (below == 0)
    if figure.frozen:
        nothing &= problem.frozen[quotients.denominator]
    signed = of_cell & (problem.lower_bound[quotients.denominator] < 0)
    signed &= ~problem.frozen[quotients.denominator]
    for odd, what, remedy in (
        (~(below > 0) & ~nothing, "is {value:g}", "Leave it out: `without = {codes}`."),
        (signed, "may be negative", "Say that it is not, with a lower external bound of 0."),
    ):
        if odd.any():
            worst = int(np.flatnonzero(odd)[0])
            cell = int(quotients.denominator[worst])
            given = table.keys.iloc[int(quotients.numerator[worst])].drop(
                [] if table.variables is None else [table.variables.dimension]
            )
            codes = ", ".join(f'{name} = "{code}"' for name, code in given.items())
            raise InputError(
                f"{figure.label}: the denominator {table.label(cell)} "
                f"{what.format(value=below[worst])} ({int(odd.sum())} such cells), so that the "
                f"figure tells nobody what its digits say. "
                f"{remedy.format(codes='{' + codes + '}')}",
                cells=quotients.denominator[odd],
            )
    return quotients.chosen(~nothing)


def _keys(problem: ProtectionProblem, figure: DerivedFigure, cells: Integers) -> pd.DataFrame:
    """Return the keys with those of figures and of their rooms, named after the numerators."""
    marks = (DERIVED, f"{LIMIT}below ", f"{LIMIT}above ")
    further = (marked_keys(problem.table, figure, cells, mark) for mark in marks)
    return pd.concat([problem.table.keys, *further], ignore_index=True)


def _arrays(
    problem: ProtectionProblem, figure: DerivedFigure, quotients: Quotients, rows: _Rows
) -> CellArrays:
    """Return what is asked of figures, which may be hidden, and of rooms, which always are."""
    n = len(quotients)
    shown = CellStatus.FROZEN if figure.frozen else CellStatus.SAFE
    nothing = np.zeros(3 * n)
    widest = _extreme(rows.width, problem, 1) + rows.width_known
    far = (1 + BEYOND) / rows.size
    least, most = (_extreme(rows.room, problem, sign) + rows.room_known for sign in (-1, 1))
    return CellArrays(
        status=np.repeat([shown.value, CellStatus.FORCED.value], [n, 2 * n]),
        lower_protection=nothing,
        upper_protection=nothing,
        # A hidden figure makes up for whatever its cells may be, and for any room.
        lower_bound=np.append(np.minimum(least - widest, 0.0) * far, nothing[: 2 * n]),
        upper_bound=np.concatenate([np.maximum(most, 0.0) * far, widest, widest]),
        weights=np.append(figure.weight * problem.weights[quotients.numerator], nothing[: 2 * n]),
    )


def _contributions(problem: ProtectionProblem, values: Floats) -> dict[str, Any]:
    """Return the contributions with further cells, to which nobody contributes."""
    extended = {}
    for level in LEVELS.values():
        given = getattr(problem.table, level)
        if given is not None:
            nobody = Contributions.unknown(values).padded(given.largest.shape[1])
            extended[level] = Contributions.concatenate([given, replace(nobody, names=given.names)])
    return extended
