"""Makes solutions exact: close deviations for which all relations hold without rounding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.solve.exact import NullSpace, products_vanish, snapped
from tablecloak.suppression.proof.proof import REAL_SHARE, is_outside, least_asked
from tablecloak.suppression.system.exact_span import ExactSpan
from tablecloak.suppression.system.needs import Needs
from tablecloak.suppression.system.system import System, entries_of

__all__ = ["Exactness"]

KEPT_CELLS = 50_000
"""Most cells, over all eliminations together, that are kept; each takes about a kilobyte."""

FEWEST_SPANNED = 200
"""Least number of moved cells for which a basis of free cells is used instead of an elimination."""

LARGEST_SPANNED = 10_000_000
"""Largest product of moved and free cells for which a basis is used, since all its coefficients are
stored. Chosen by trial; not measured."""

MOST_SHRUNK = 1e-6
"""Largest share by which a deviation is shrunk if rounding moved cells beyond their bounds."""

HELD_SHARE = 1e-7
"""Cells within this distance of a bound, as a share of the largest move, count as lying at it."""


@dataclass(frozen=True, eq=False)
class Exactness:
    """Makes deviations of one system exact.

    Parameters
    ----------
    system : System
    needs : Needs
        Needs in that system, perhaps capped by the bounds that an intruder knows.
    whole_only : bool
        Whether deviations must be whole numbers.
    is_thorough : bool, default=True
        Whether a deviation of many cells may take an elimination of its own.
    """

    system: System
    needs: Needs
    whole_only: bool
    is_thorough: bool = True

    def near(self, cells: Integers, d: Floats, budget: Budget) -> Iterator[Floats]:
        """Yield deviations close to a solver's, for which all relations hold exactly."""
        if self.whole_only and not np.all(d == np.rint(d)):
            return
        entries = self._whole_entries(cells)
        for exact in chain(snapped(*entries, d), self._repaired(entries, cells, d, budget)):
            if self._adds_up(cells, exact):
                yield exact

    def is_exact(self, cells: Integers, d: Floats) -> bool:
        """Whether all relations hold for a deviation as it is."""
        if self.whole_only and not np.all(d == np.rint(d)):
            return False
        row, column, coefficient = self._whole_entries(cells)
        n_rows = int(row.max(initial=-1)) + 1
        matrix = csr_array((coefficient, (row, column)), shape=(n_rows, len(cells)))
        return bool(products_vanish(matrix, csr_array(d[None, :]))[0]) and self._adds_up(cells, d)

    def _whole_entries(self, cells: Integers) -> tuple[Integers, Integers, Floats]:
        """Return row, column and coefficient of all entries in rows of whole numbers."""
        system, by_cell = self.system, self.system.by_cell
        taken = entries_of(by_cell, cells)
        column = np.repeat(np.arange(len(cells)), np.diff(by_cell.indptr)[cells])
        factor = system.factor[by_cell.indices[taken]]
        whole = factor > 0
        row = np.unique(by_cell.indices[taken][whole], return_inverse=True)[1]
        coefficient = np.rint(by_cell.data[taken] * factor)[whole]
        return row, column[whole], coefficient

    def _repaired(
        self,
        entries: tuple[Integers, Integers, Floats],
        cells: Integers,
        d: Floats,
        budget: Budget,
    ) -> Iterator[Floats]:
        """Yield deviations in which some cells absorb the rounding errors; eliminates only once."""
        yield from self._spanned(cells, d, budget)
        if not self.is_thorough and len(cells) >= FEWEST_SPANNED:
            return
        spaces, key = self.system.null_spaces, cells.tobytes()
        held = self._held(cells, d)
        space = spaces.get(key)
        if space is not None and (exact := space.near(d)) is not None:
            yield exact
        if space is None or not np.array_equal(space.held, held):
            # Other threads add to it and clear it meanwhile; a list is copied in one step.
            if sum(len(each.held) for each in list(spaces.values())) > KEPT_CELLS:
                spaces.clear()
            space = NullSpace(*entries, held, lambda: budget.is_over)
            if not space.is_cut_short:
                spaces[key] = space
            if (exact := space.near(d)) is not None:
                yield exact

    def _spanned(self, cells: Integers, d: Floats, budget: Budget) -> Iterator[Floats]:
        """Yield deviations by one elimination, which does not depend on the cells at bounds."""
        if len(cells) < FEWEST_SPANNED:
            return
        spans, key = self.system.spans, cells.tobytes()
        try:
            found = spans[key]
        except KeyError:
            # Other threads add to it and clear it meanwhile; a list is copied in one step.
            if sum(span.n_cells for span in list(spans.values()) if span) > KEPT_CELLS:
                spans.clear()
            relations = self.system.part(cells).matrix
            found = ExactSpan.of(relations, budget, LARGEST_SPANNED / len(cells))
            if budget.is_over:
                return
            spans[key] = found
        if found is None:
            return
        shrunk = 1.0
        for _ in range(2):
            exact = found.near(d * shrunk)
            if exact is None or not self.is_exact(cells, exact):
                return
            yield exact
            beyond = self.beyond(cells, exact)
            if not 0 < beyond <= MOST_SHRUNK:
                return
            # Shrinking repairs rounding at a bound, since the true table keeps all bounds.
            shrunk = 1 - 2 * beyond

    def _held(self, cells: Integers, d: Floats) -> Flags:
        """Flag the cells that lie at a bound, or move exactly as far as required."""
        system, needs = self.system, self.needs
        near = HELD_SHARE * float(np.max(np.abs(d)))
        held = (d - system.low[cells] <= near) | (system.high[cells] - d <= near)
        index = self.system.need_of[cells]
        asked = np.where(d > 0, needs.upper[index], needs.lower[index])
        held |= (index >= 0) & (np.abs(np.abs(d) - asked) <= near)
        return held

    def beyond(self, cells: Integers, d: Floats) -> float:
        """Return the share by which a deviation must shrink to use half the tolerance of bounds."""
        system = self.system
        low, high = system.low[cells], system.high[cells]
        slack = system.slack[cells] / 2
        passed = is_outside(d, low, high, (slack, slack))
        beyond = np.maximum(np.minimum(low, 0.0) - d, d - np.maximum(high, 0.0))
        return float(np.max(beyond[passed] / np.abs(d[passed]), initial=0.0))

    def _adds_up(self, cells: Integers, d: Floats) -> bool:
        """Whether a deviation keeps relations with real coefficients, judged by its least need."""
        if np.all(self.system.factor > 0):
            return True
        by_cell = self.system.by_cell
        taken = entries_of(by_cell, cells)
        moved = np.repeat(d, np.diff(by_cell.indptr)[cells])
        rows = by_cell.indices[taken]
        real = self.system.factor[rows] == 0
        terms = (by_cell.data[taken] * moved)[real]
        if not np.any(real):
            return True
        real_rows, row = np.unique(rows[real], return_inverse=True)
        residual = np.bincount(row, weights=terms)
        smallest, scale = np.full(len(real_rows), np.inf), np.zeros(len(real_rows))
        np.minimum.at(smallest, row, np.where(terms != 0, np.abs(terms), np.inf))
        np.maximum.at(scale, row, np.abs(by_cell.data[taken][real]))
        index = self.system.need_of[cells]
        level = least_asked(self.needs)[index[index >= 0]]
        least = np.min(level, initial=np.inf) * np.minimum(scale, 1.0)
        return bool(np.all(np.abs(residual) <= REAL_SHARE / 2 * np.minimum(least, smallest)))
