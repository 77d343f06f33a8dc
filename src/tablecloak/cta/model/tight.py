"""The mixed-integer program of controlled tabular adjustment, in its tight form.

For a sensitive cell p with direction y_p (1 up, 0 down) the change is::

    z_p = UPL_p y_p - LPL_p (1 - y_p) + s+_p - s-_p
    0 <= s+_p <= (U_p - UPL_p) y_p,      0 <= s-_p <= (D_p - LPL_p) (1 - y_p)

where U_p, D_p is how far the cell may move at all; for all others z_i = s+_i - s-_i. The
program minimises sum w_i |z_i| over A z = 0. Two variable upper bounds for each sensitive
cell replace the four rows of the published form with the same relaxation.

Discrepancy rows: the levels alone of the sensitive cells in a relation seldom cancel, so that
another cell in it must move. With delta the smallest absolute sum of c_p (+UPL_p or -LPL_p)
over all choices of directions::

    sum over others |c_i| (s+_i + s-_i) + sum over sensitive |c_p| (s+_p + s-_p) >= delta

A change in one relation must be balanced in the others of the cell: see `search.balance`.

References
----------
.. [1] Dandekar, Cox: Synthetic tabular data: an alternative to complementary cell
   suppression, 2002.
.. [2] Castro: Minimum-distance controlled perturbation methods for large-scale tabular data
   protection, European Journal of Operational Research 171 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.tight_rows import (
    discrepancies_of,
    plain_program,
    units_of,
    with_largest,
    with_misses,
)
from tablecloak.solve.program import Program, Scaling

_NO_ROWS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TightForm:
    """The program, its scaling, and the way back from its columns to cells.

    Parameters
    ----------
    model : AdjustmentModel
    program : Program
        Scaled. Columns: s+ of all groups of coupled cells (see `coupled`), s- of them, then y of
        those with sensitive cells, then by how much each statistic is missed upwards and
        downwards, if it may be.
    scaling : Scaling
    is_free : bool
        Whether directions are free. Else rows that say nothing once they are given are left out.
    is_maximum : bool
        Whether max w_i |z_i| is minimised instead of the sum.
    is_elastic : bool
        Whether statistics may be missed at a high price, so that a start is easy to find.
    discrepancy : numpy.ndarray of int
        Relations of the discrepancy rows, which come before the balance rows.
    balance : numpy.ndarray of int
        Balance rows at the end of the program.
    """

    model: AdjustmentModel
    program: Program
    scaling: Scaling
    is_free: bool = True
    is_maximum: bool = False
    is_elastic: bool = False
    discrepancy: Integers = field(default_factory=lambda: _NO_ROWS)
    balance: Integers = field(default_factory=lambda: _NO_ROWS)

    @classmethod
    def of(
        cls,
        model: AdjustmentModel,
        *,
        cap: float = np.inf,
        free: bool = True,
        maximum: bool = False,
        elastic: bool = False,
    ) -> TightForm:
        """Write a model as a program.

        Parameters
        ----------
        model : AdjustmentModel
        cap : float, default=inf
            A known objective value: no cell needs to move farther than cap / weight.
        free, maximum, elastic : bool
            As `is_free`, `is_maximum` and `is_elastic`.
        """
        cost = model.largest_cost if maximum else model.cost
        discrepancies = discrepancies_of(model) if free else None
        raw = plain_program(model, cost, cap, discrepancies)
        if maximum:
            raw = with_largest(raw, model, cost)
        if elastic:
            raw = with_misses(raw, model, cost)
        n, k = model.n_groups, len(model.sensitive)
        units = np.full(raw.n_columns, model.problem.unit)
        units[: 2 * n] = np.tile(units_of(model), 2)
        units[2 * n : 2 * n + k] = 1.0
        scaling = Scaling.by_units(raw, units)
        form = cls(model, scaling.apply(raw), scaling, free, maximum, elastic)
        return form if discrepancies is None else replace(form, discrepancy=discrepancies[0])

    def directed_only(self) -> TightForm:
        """Return the form without rows that are redundant once directions are given."""
        if not self.is_free:
            return self
        return TightForm.of(self.model, free=False, maximum=self.is_maximum)

    def elastic(self) -> TightForm:
        """Return the form in which statistics may be missed."""
        return TightForm.of(self.model, elastic=True)

    def with_rows(self, block: tuple[object, Floats, Floats], numbers: Integers) -> TightForm:
        """Return the form with balance rows after all others."""
        program = self.program.with_rows(*block)
        return replace(self, program=program, balance=np.concatenate([self.balance, numbers]))

    @property
    def direction_columns(self) -> Integers:
        """Columns of the directions y."""
        return 2 * self.model.n_groups + np.arange(len(self.model.sensitive))

    @property
    def offset(self) -> float:
        """Loss where the objective is 0: what all sensitive cells cost at their lower levels."""
        model = self.model
        if self.is_maximum:
            return 0.0
        return float(np.dot(model.cost[model.sensitive], model.down_level))

    # -- there and back -------------------------------------------------------------------

    def changes(self, x: Floats) -> Floats:
        """Return z for all cells from a point of the scaled program."""
        model, raw = self.model, self.scaling.point(x)
        n = model.n_groups
        moved = raw[:n] - raw[n : 2 * n]
        y = np.rint(raw[self.direction_columns])
        moved[model.sensitive] += np.where(y > 0, model.up_level, -model.down_level)
        z: Floats = model.coupled.spread @ moved
        return z

    def cells_of(self, columns: Integers) -> Integers:
        """Return the sensitive cells that some columns move; all cells of these if none is."""
        n, model = self.model.n_groups, self.model
        groups = columns[columns < 2 * n] % n
        cells = np.flatnonzero(np.isin(model.coupled.group, groups))
        sensitive = model.problem.sensitive[cells]
        return cells[sensitive] if np.any(sensitive) else cells

    def directions(self, x: Floats) -> Floats:
        """Return y of a point, rounded."""
        return np.rint(x[self.direction_columns])

    def loss(self, scaled_value: float) -> float:
        """Return sum (or maximum) of w |z| from an objective or bound of the scaled program."""
        return scaled_value * self.scaling.objective + self.offset

    def directed(self, directions: Floats, program: Program | None = None) -> Program:
        """Return the program, or a variant of it, with given directions."""
        program = self.program if program is None else program
        columns, low, high = self.direction_bounds(directions, program)
        lower, upper = program.lower.copy(), program.upper.copy()
        lower[columns], upper[columns] = low, high
        return program.with_bounds(lower, upper)

    def direction_bounds(
        self, directions: Floats, program: Program | None = None
    ) -> tuple[Integers, Floats, Floats]:
        """Return columns with the bounds that given directions mean for them.

        Besides y those of s+ and s-: that one of them is 0 must not depend on the tolerance with
        which a solver keeps rows of large numbers.
        """
        up, down = self.model.sensitive, self.model.n_groups + self.model.sensitive
        program = self.program if program is None else program
        none = np.zeros(len(directions))
        high = (
            np.where(directions > 0, program.upper[up], 0.0),
            np.where(directions < 1, program.upper[down], 0.0),
        )
        columns = np.concatenate([up, down, self.direction_columns])
        lower = np.concatenate([none, none, directions])
        return columns, lower, np.concatenate([*high, directions])
