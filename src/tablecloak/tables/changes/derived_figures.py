"""Derived figures as cells: what a printed ratio tells of its two cells, and what hiding it costs.

A figure R, in units of its last digit 10^-k, of the quotient c x / y + o tells everybody two rows,
with A = 2 * 10^k c and B = 2 * 10^k o:

    A x + (B - 2R + 1) y >= 0    and    -A x + (2R + 1 - B) y >= 0.

Each row gets a cell of its own, its room s >= 0, which nobody sees. The figure itself is a third
cell u of value 0, which stands in both rows,

    A x + (B - 2R + 1) y + u = s,    -A x + (2R + 1 - B) y + u = s'.

If the figure is published, u is known to be 0, and both rows hold. If it is hidden, u may be so
large that neither says anything. So a figure is published, hidden or frozen like any other cell,
and all that protects, attacks and proves needs to know nothing of quotients.

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
from tablecloak.errors import InputError
from tablecloak.tables.cell_arrays import CellArrays, CellStatus
from tablecloak.tables.changes.change import Change
from tablecloak.tables.changes.earlier_releases import Published
from tablecloak.tables.contributions import LEVELS, Contributions
from tablecloak.tables.figures.figure import (
    MOST_DIGITS,
    DerivedFigure,
    Quotients,
    marked_dimension,
)
from tablecloak.tables.keys import DERIVED, LIMIT
from tablecloak.tables.problem import ProtectionProblem


def with_derived(
    problem: ProtectionProblem,
    derived: Sequence[DerivedFigure],
    *,
    published: object = (),
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

    Returns
    -------
    ProtectionProblem
        With the cells of earlier releases, and three further cells for each figure: the figure, and
        what its digits leave of room on both sides. `tablecloak.released_figures` prints them.

    Raises
    ------
    InputError
        If a figure names something unknown, or has a denominator that is 0, negative, or not known
        to be positive; names the cell. A denominator that everybody knows to be 0 has no figure.

    Notes
    -----
    A figure is taken to be rounded to its last digit from the values of the table, halves either
    way. That it is printed at all tells that its denominator is not 0.

    Examples
    --------
    >>> import tablecloak as tc
    >>> both = tc.join({"turnover": tc.examples.cox_rounded(), "staff": tc.examples.cox_rounded()})
    >>> problem = tc.with_derived(both, [tc.Ratio("turnover / staff", decimals=1)])
    >>> problem.table.n_cells - both.table.n_cells
    150
    """
    earlier = Published.parse(published)
    given = problem if earlier is None else earlier.beside(problem).problem
    return derived_cells(given, derived).problem


def derived_cells(problem: ProtectionProblem, derived: Sequence[DerivedFigure]) -> Change:
    """Return the change to a problem with figures and their rooms as further cells, the last."""
    change = Change.within(problem, problem)
    for figure in derived:
        change = change.then(_with_figure(change.problem, figure))
    return change


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a figure before rooms: numerators, denominators, and known denominators.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (2 * n_figures, n_cells)
        First the rows that bound the numerators from below, then those from above.
    side : numpy.ndarray of float, shape (2 * n_figures,)
        Right-hand sides, from denominators that are numbers.
    """

    matrix: csr_array
    side: Floats

    @classmethod
    def of(cls, figure: DerivedFigure, quotients: Quotients, table_values: Floats) -> _Rows:
        """Return the rows that follow from the printed digits."""
        n = len(quotients)
        digits: Floats = np.array(figure.printed(quotients, table_values), dtype=np.float64)
        double = 2 * 10**figure.decimals
        most = max(double * figure.scale, float(np.abs(2 * digits).max(initial=0)) + 1)
        if most + double * abs(figure.offset) > 4 * MOST_DIGITS:
            worst = int(quotients.numerator[np.argmax(np.abs(digits))])
            raise InputError(
                f"{figure.label}: with {figure.decimals} decimals a figure has too many digits. "
                f"Print fewer, or take another unit.",
                cells=[worst],
            )
        plus = double * figure.offset
        lower, upper = plus - 2 * digits + 1, 2 * digits + 1 - plus
        factors = np.concatenate([lower, upper])
        number = np.arange(2 * n)
        above = np.tile(quotients.numerator, 2)
        below = np.tile(quotients.denominator, 2)
        sizes = np.repeat([1.0, -1.0], n) * double * figure.scale
        of_cell = np.flatnonzero(below >= 0)
        entries = np.concatenate([sizes, factors[of_cell]])
        row, cell = np.append(number, number[of_cell]), np.append(above, below[of_cell])
        matrix = csr_array((entries, (row, cell)), shape=(2 * n, len(table_values)))
        numbers = np.where(below >= 0, 0.0, np.tile(quotients.number, 2))
        return cls(matrix, -factors * numbers)

    def least(self, problem: ProtectionProblem) -> Floats:
        """Return the least that each row can be within the external bounds, at most 0."""
        return np.minimum(_extreme(self.matrix, problem, -1) - self.side, 0.0)

    def most(self, problem: ProtectionProblem) -> Floats:
        """Return the most that each row can be within the external bounds."""
        return _extreme(self.matrix, problem, 1) - self.side


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
    twice = csr_array(
        (np.ones(2 * n), (np.arange(2 * n), np.tile(np.arange(n), 2))), shape=(2 * n, n)
    )
    new = hstack([rows.matrix, twice, -csr_array(eye_array(2 * n))], format="csr")
    old = hstack([table.relations, csr_array((table.n_relations, 3 * n))], format="csr")
    # The exact value of a row of decimal numbers is not negative; binary dust may be.
    room = np.maximum(rows.matrix @ table.values - rows.side, 0.0)
    values = np.concatenate([np.zeros(n), room])
    larger = replace(
        table,
        keys=_keys(problem, figure, quotients.numerator),
        values=np.concatenate([table.values, values]),
        relations=csr_array(vstack([old, new], format="csr")),
        right_hand_side=np.concatenate([table.right_hand_side, rows.side]),
        integer=None if table.integer else False,
        **_contributions(problem, values),
    )
    arrays = problem.stacked([_arrays(problem, figure, quotients, rows)])
    return Change.within(problem, ProtectionProblem.of(larger, arrays), relations=None)


def _defined(problem: ProtectionProblem, figure: DerivedFigure) -> Quotients:
    """Return the quotients of a figure, all with denominators that are positive.

    Raises
    ------
    InputError
        If a denominator is not known to be positive.
    """
    table, quotients = problem.table, figure.quotients(problem.table)
    below = quotients.denominators(table.values)
    of_cell = quotients.denominator >= 0
    nothing = of_cell & (below == 0) & problem.frozen[quotients.denominator]
    signed = of_cell & (problem.lower_bound[quotients.denominator] < 0)
    signed &= ~problem.frozen[quotients.denominator]
    for odd, what, remedy in (
        (~(below > 0) & ~nothing, "is {value:g}", "Leave it out with `where`."),
        (signed, "may be negative", "Say that it is not, with a lower external bound of 0."),
    ):
        if odd.any():
            worst = int(np.flatnonzero(odd)[0])
            cell = int(quotients.denominator[worst])
            raise InputError(
                f"{figure.label}: the denominator {table.label(cell)} "
                f"{what.format(value=below[worst])} ({int(odd.sum())} such cells), so that the "
                f"figure tells nobody what its digits say. {remedy}",
                cells=quotients.denominator[odd],
            )
    return quotients.chosen(~nothing)


def _keys(problem: ProtectionProblem, figure: DerivedFigure, cells: Integers) -> pd.DataFrame:
    """Return the keys with those of figures and of their rooms, named after the numerators."""
    table = problem.table
    codes_of = table.keys.iloc[cells]
    parts = [table.keys]
    for mark in (DERIVED, f"{LIMIT}below ", f"{LIMIT}above "):
        if table.variables is None:
            column = marked_dimension(table)
            codes: Any = mark + figure.label + ": " + codes_of[column].astype(str)
        else:
            column, codes = table.variables.dimension, mark + figure.label
        parts.append(codes_of.assign(**{column: codes}))
    return pd.concat(parts, ignore_index=True)


def _arrays(
    problem: ProtectionProblem, figure: DerivedFigure, quotients: Quotients, rows: _Rows
) -> CellArrays:
    """Return what is asked of figures, which may be hidden, and of rooms, which always are."""
    n = len(quotients)
    least = rows.least(problem)
    free = np.maximum(-least[:n], -least[n:])
    shown = CellStatus.FROZEN if figure.frozen else CellStatus.SAFE
    nothing = np.zeros(3 * n)
    return CellArrays(
        status=np.repeat([shown.value, CellStatus.FORCED.value], [n, 2 * n]),
        lower_protection=nothing,
        upper_protection=nothing,
        lower_bound=nothing,
        upper_bound=np.concatenate([free, rows.most(problem) + np.tile(free, 2)]),
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
