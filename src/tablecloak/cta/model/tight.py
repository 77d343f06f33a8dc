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
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.arrays import Floats, Integers, median_of_positive
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.errors import ModelError
from tablecloak.solve.program import Program, Scaling

INTERIOR_ROWS = 3000
"""Number of rows above which a program is solved from scratch by the interior point method. Chosen
by trial; not measured."""

_NO_ROWS = np.empty(0, dtype=np.int64)

MISSED = 1000.0
"""Price of missing a statistic by one unit, in median weights. Chosen by trial; not measured."""

SMALL, LARGE = 1e-3, 1e4
"""Smallest size of a cell, and largest level, in the units in which cells are measured. See
docs/decisions, "Units of cells"."""

LARGEST_REACH = 1e10
"""Largest change of a cell in a unit of its own; its unit is enlarged until this holds."""

SHARE_OF_VALUE = 0.1
"""Size of a cell that is not sensitive, as a share of its value. It decides the cell's unit."""

ENUMERATED_SIGNS = 14
"""Sensitive cells in a relation up to which all directions are enumerated (2^14 sums)."""

LOOSENED = 1e-9
"""Share by which discrepancy rows are loosened, so that rounding cannot make them cut too much."""

SPARE = 1.01
"""Upper bound of the largest weighted change, as a multiple of what rooms allow."""

_NONE = np.zeros(0)


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
        free: bool = True,
        maximum: bool = False,
        elastic: bool = False,
    ) -> TightForm:
        """Write a model as a program.

        Parameters
        ----------
        model : AdjustmentModel
        free, maximum, elastic : bool
            As `is_free`, `is_maximum` and `is_elastic`.
        """
        cost = model.largest_cost if maximum else model.cost
        discrepancies = discrepancies_of(model) if free else None
        raw = plain_program(model, cost, discrepancies)
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
        """Return the program, or a variant of it, with given directions; 0.5 leaves one free."""
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
        lower = np.concatenate([none, none, np.floor(directions)])
        return columns, lower, np.concatenate([*high, np.ceil(directions)])


Block = tuple[csr_array, Floats, Floats]
"""Matrix on the columns s+, s-, y; lower and upper sides."""
Discrepancies = tuple[Integers, Floats]
"""Row numbers of relations, and the least amount by which the levels in each fail to cancel."""


def plain_program(
    model: AdjustmentModel, cost: Floats, discrepancies: Discrepancies | None
) -> Program:
    """Return the program of the sum, with columns s+, s- and y.

    Parameters
    ----------
    model : AdjustmentModel
    cost : numpy.ndarray of float, shape (n_groups,)
    discrepancies : tuple of arrays or None
        As `discrepancies_of` returns them. None if directions are given: the rows of
        discrepancies and directions are then redundant, and left out.
    """
    n, at = model.n_groups, model.sensitive
    up, down = model.moves.up.copy(), model.moves.down.copy()
    # Room beyond the level.
    up[at] = np.maximum(up[at] - model.up_level, 0)
    down[at] = np.maximum(down[at] - model.down_level, 0)
    y_low, y_high = model.allowed
    blocks = [_relation_rows(model), _statistic_rows(model)]
    if discrepancies is not None:
        blocks += [_direction_rows(model, up, down), _discrepancy_rows(model, *discrepancies)]
    swing = cost[at] * (model.up_level - model.down_level)
    return Program(
        cost=np.concatenate([cost, cost, swing]),
        matrix=csr_array(vstack([block[0] for block in blocks], format="csr")),
        row_lower=np.concatenate([block[1] for block in blocks]),
        row_upper=np.concatenate([block[2] for block in blocks]),
        lower=np.concatenate([np.zeros(2 * n), y_low]),
        upper=np.concatenate([up, down, y_high]),
        integral=np.arange(2 * n + len(at)) >= 2 * n,
    )


def with_largest(raw: Program, model: AdjustmentModel, cost: Floats) -> Program:
    """Add a column for the largest w |z|, in median weights, and a row for each group."""
    n, at = model.n_groups, model.sensitive
    middle = median_of_positive(cost)
    costs = diags_array(cost, shape=(n, n))
    swing = csr_array(
        (cost[at] * (model.up_level - model.down_level), (at, np.arange(len(at)))),
        shape=(n, len(at)),
    )
    bound = csr_array(np.full((n, 1), -middle))
    rows = hstack([costs, costs, swing, bound], format="csr")
    most = np.zeros(n)
    most[at] = -cost[at] * model.down_level
    reach = np.maximum(model.moves.up, model.moves.down)
    above = csr_array(hstack([raw.matrix, csr_array((raw.n_rows, 1))], format="csr"))
    largest = SPARE * float(np.max(cost * reach, initial=0.0)) / middle
    return Program(
        cost=np.append(np.zeros(raw.n_columns), middle),
        matrix=csr_array(vstack([above, rows], format="csr")),
        row_lower=np.concatenate([raw.row_lower, np.full(n, -np.inf)]),
        row_upper=np.concatenate([raw.row_upper, most]),
        lower=np.append(raw.lower, 0.0),
        upper=np.append(raw.upper, largest),
        integral=np.append(raw.integral, False),
    )


def with_misses(raw: Program, model: AdjustmentModel, cost: Floats) -> Program:
    """Add two columns per statistic for how far it is missed above or below, at a high price."""
    first, count = len(model.independent), len(model.preserved)
    rows, columns = first + np.arange(count), np.arange(count)
    miss = csr_array((np.ones(count), (rows, columns)), shape=(raw.n_rows, count))
    reach = np.maximum(model.room.up, model.room.down)
    most = np.array([float(np.abs(row.coefficients) @ reach) for row in model.preserved])
    price = MISSED * float(np.median(cost)) if len(cost) else 1.0
    return Program(
        cost=np.concatenate([raw.cost, np.full(2 * count, price)]),
        matrix=csr_array(hstack([raw.matrix, miss, -miss], format="csr")),
        row_lower=raw.row_lower,
        row_upper=raw.row_upper,
        lower=np.concatenate([raw.lower, np.zeros(2 * count)]),
        upper=np.concatenate([raw.upper, most, most]),
        integral=np.concatenate([raw.integral, np.zeros(2 * count, dtype=bool)]),
    )


def units_of(model: AdjustmentModel) -> Floats:
    """Return the unit of each group: about the median level, smaller for groups of small size.

    A solver accepts violations of rows and bounds up to 1e-9 of a unit. In one common unit, a
    cell whose level is smaller than that would not be protected at all.
    """
    levels = np.maximum(model.up_level, model.down_level)
    unit = max(model.problem.unit, float(levels.max(initial=0.0)) / LARGE)
    values = np.abs(model.problem.table.values)
    size = SHARE_OF_VALUE * model.coupled.least(values, values)[0]
    size[model.sensitive] = levels
    units = np.minimum(np.where(size > 0, size / SMALL, unit), unit)
    reach = np.maximum(model.moves.up, model.moves.down)
    lengths: Floats = np.minimum(np.maximum(units, reach / LARGEST_REACH), unit)
    return lengths


def _on_changes(model: AdjustmentModel, coefficients: csr_array) -> tuple[csr_array, Floats]:
    """Turn rows on groups into rows on columns, and the constant that the terms -LPL add up to."""
    swing = csr_array(coefficients[:, model.sensitive])
    levels = model.up_level + model.down_level
    matrix = hstack([coefficients, -coefficients, swing @ diags_array(levels)], format="csr")
    return csr_array(matrix), -(swing @ model.down_level)


def _relation_rows(model: AdjustmentModel) -> Block:
    matrix, constant = _on_changes(model, csr_array(model.relations[model.independent, :]))
    return matrix, -constant, -constant


def _statistic_rows(model: AdjustmentModel) -> Block:
    if not model.preserved:
        return csr_array((0, 2 * model.n_groups + len(model.sensitive))), _NONE, _NONE
    matrix, constant = _on_changes(model, model.statistics)
    slack = np.array([row.slack for row in model.preserved])
    middle = np.array([row.target for row in model.preserved]) - constant
    return matrix, middle - slack, middle + slack


def _direction_rows(model: AdjustmentModel, up: Floats, down: Floats) -> Block:
    """Return the rows s+ <= room * y and s- <= room * (1 - y), which need finite rooms."""
    at = model.sensitive
    n, k = model.n_groups, len(at)
    select = csr_array((np.ones(k), (np.arange(k), at)), shape=(k, n))
    none = csr_array((k, n))
    above = csr_array(hstack([select, none, diags_array(-_finite(up[at]))]))
    below = csr_array(hstack([none, select, diags_array(_finite(down[at]))]))
    low = np.full(2 * k, -np.inf)
    high = np.concatenate([np.zeros(k), _finite(down[at])])
    return csr_array(vstack([above, below], format="csr")), low, high


def _finite(room: Floats) -> Floats:
    if np.any(np.isinf(room)):
        raise ModelError(
            "A sensitive cell has no finite room to move. Give finite external bounds, a "
            "`sensitive_limit`, or positive weights."
        )
    return room


def discrepancies_of(model: AdjustmentModel) -> Discrepancies:
    """Return the relations whose levels cannot cancel, and the least amount that remains."""
    relations = model.relations
    position = np.full(model.n_groups, -1, dtype=np.int64)
    position[model.sensitive] = np.arange(len(model.sensitive))
    low, high = model.allowed
    rows, deltas = [], []
    count = np.diff(csr_array(relations[:, model.sensitive]).indptr)
    for row in np.flatnonzero((count > 0) & (count <= ENUMERATED_SIGNS)).tolist():
        terms = slice(relations.indptr[row], relations.indptr[row + 1])
        places, signs = position[relations.indices[terms]], relations.data[terms]
        signs, at = signs[places >= 0], places[places >= 0]
        levels = model.up_level[at], model.down_level[at]
        delta = _discrepancy(signs, *levels, low[at], high[at])
        if delta > LOOSENED * model.problem.unit:
            rows.append(row)
            deltas.append(delta)
    return np.array(rows, dtype=np.int64), np.array(deltas, dtype=np.float64)


def _discrepancy_rows(model: AdjustmentModel, rows: Integers, deltas: Floats) -> Block:
    n, k = model.n_groups, len(model.sensitive)
    if not len(rows):
        return csr_array((0, 2 * n + k)), _NONE, _NONE
    part = abs(csr_array(model.relations[rows, :]))
    matrix = csr_array(hstack([part, part, csr_array((len(rows), k))], format="csr"))
    return matrix, deltas * (1 - LOOSENED), np.full(len(rows), np.inf)


def _discrepancy(signs: Floats, up: Floats, down: Floats, low: Floats, high: Floats) -> float:
    """Return the smallest |sum of signs * (up or -down)| over all allowed directions."""
    sums = np.zeros(1)
    for sign, u, d, can_down, can_up in zip(signs, up, down, low == 0, high == 1, strict=True):
        options = [sign * u] * bool(can_up) + [-sign * d] * bool(can_down)
        sums = (sums[:, None] + np.array(options)[None, :]).reshape(-1)
    return float(np.min(np.abs(sums)))
