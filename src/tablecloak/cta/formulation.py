"""The mixed-integer program of controlled tabular adjustment, in its tight form.

For a sensitive cell p with direction y_p (1 up, 0 down) the change is::

    z_p = UPL_p y_p - LPL_p (1 - y_p) + s+_p - s-_p
    0 <= s+_p <= (U_p - UPL_p) y_p,      0 <= s-_p <= (D_p - LPL_p) (1 - y_p)

where U_p, D_p is how far the cell may move at all; for all others z_i = s+_i - s-_i. The
program minimises sum w_i |z_i| over A z = 0. Two variable upper bounds for each sensitive
cell replace the four rows of the published form with the same relaxation.

Discrepancy rows: the levels alone of the sensitive cells in a relation seldom cancel, so that
something else in it must move. With delta the smallest absolute sum of c_p (+UPL_p or -LPL_p)
over all choices of directions::

    sum over others |c_i| (s+_i + s-_i) + sum over sensitive |c_p| (s+_p + s-_p) >= delta

What moves in one relation must move on in the others: see `balance`.

References
----------
.. [1] Dandekar, Cox: Synthetic tabular data: an alternative to complementary cell
   suppression, 2002.
.. [2] Castro: Minimum-distance controlled perturbation methods for large-scale tabular data
   protection, European Journal of Operational Research 171 (2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.cta.balance import BalanceRows
from tablecloak.cta.coupled import CoupledCells
from tablecloak.cta.preserve import PreservedRow
from tablecloak.errors import ModelError, listed
from tablecloak.solve.independent import independent_rows
from tablecloak.solve.program import Program, Scaling
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["AdjustmentModel", "Room", "coupled_room", "room_of", "sensitive_groups"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MISSED = 1000.0
"""Price of missing a statistic by one unit, in median weights."""

ROUNDING = 1e-8
"""By how much a level may exceed what a group of cells can move, in median levels."""

ENUMERATED_SIGNS = 14
"""Sensitive cells in a relation up to which all directions are enumerated (2^14 sums)."""


@dataclass(frozen=True, eq=False)
class Room:
    """How far each cell may move, and how far sensitive cells must.

    Parameters
    ----------
    up, down : numpy.ndarray of float, shape (n_cells,)
        Largest change in each direction; 0 for frozen cells.
    up_level, down_level : numpy.ndarray of float, shape (n_cells,)
        UPL and LPL of sensitive cells, 0 for others.
    """

    up: Floats
    down: Floats
    up_level: Floats
    down_level: Floats


def room_of(
    problem: ProtectionProblem, *, limit: float | None, integer: bool, strict: bool = True
) -> Room:
    """Combine bounds, capacities and limits.

    Parameters
    ----------
    problem : ProtectionProblem
    limit : float or None
        Largest change of a sensitive cell as a multiple of its level, at least 1; None leaves
        it to the external bounds.
    integer : bool
        Whether changes must be whole numbers: levels are rounded up, rooms down.
    strict : bool, default=True
        Whether every sensitive cell must be able to move far enough one way.

    Raises
    ------
    ModelError
        If a sensitive cell can move neither up nor down far enough; names the cells.
    """
    values, sensitive = problem.table.values, problem.sensitive
    up, down = problem.upper_bound - values, values - problem.lower_bound
    up = np.where(sensitive, up, np.minimum(up, problem.capacity_up))
    down = np.where(sensitive, down, np.minimum(down, problem.capacity_down))
    up_level = np.where(sensitive, problem.upper_protection, 0.0)
    down_level = np.where(sensitive, problem.lower_protection, 0.0)
    if integer:
        up_level, down_level = np.ceil(up_level - 1e-9), np.ceil(down_level - 1e-9)
    if limit is not None:
        up = np.where(sensitive, np.minimum(up, limit * up_level), up)
        down = np.where(sensitive, np.minimum(down, limit * down_level), down)
    if integer:
        up, down = np.floor(up + 1e-9), np.floor(down + 1e-9)
    up, down = np.where(problem.frozen, 0.0, up), np.where(problem.frozen, 0.0, down)
    stuck = np.flatnonzero(sensitive & (up < up_level) & (down < down_level))
    if strict and len(stuck):
        raise ModelError(
            f"{len(stuck)} sensitive cells can move neither up nor down as far as their protection "
            f"levels ask: {listed(problem.table.labels(stuck[:5]))}. Widen their external bounds "
            f"or lower their levels.",
            cells=stuck,
        )
    return Room(up, down, up_level, down_level)


def coupled_room(problem: ProtectionProblem, room: Room) -> tuple[CoupledCells, Room]:
    """Find cells that can only move together, and how far they can and must.

    Raises
    ------
    ModelError
        If a sensitive cell is coupled with others in such a way that it cannot move as far as its
        levels ask.
    """
    movable = (room.up > 0) | (room.down > 0) | problem.sensitive
    coupled = CoupledCells.find(problem.table.relations, movable, problem.sensitive)
    up, down = coupled.least(room.up, room.down)
    up_level, down_level = coupled.largest(room.up_level, room.down_level)
    # Levels that were lowered to what is possible may lie a rounding error above it.
    near = ROUNDING * problem.unit
    up = np.where((up < up_level) & (up >= up_level - near), up_level, up)
    down = np.where((down < down_level) & (down >= down_level - near), down_level, down)
    stuck = np.append((up < up_level) & (down < down_level), True)[coupled.group]
    stuck &= problem.sensitive & (room.up_level > 0) & (room.down_level > 0)
    if np.any(stuck):
        cells = np.flatnonzero(stuck)
        raise ModelError(
            f"{len(cells)} sensitive cells cannot move as far as their protection levels ask. "
            f"Where nothing else in a relation can change, they are coupled with cells that "
            f"cannot: {listed(problem.table.labels(cells[:5]))}. Lower their levels, or widen "
            f"bounds or capacities in their relations.",
            cells=cells,
        )
    return coupled, Room(up, down, up_level, down_level)


def sensitive_groups(problem: ProtectionProblem, coupled: CoupledCells) -> Integers:
    """Return the groups with sensitive cells."""
    groups = np.unique(coupled.group[problem.sensitive])
    return groups[groups >= 0]


class AdjustmentModel:
    """The program, its scaling, and the way back from columns to cells.

    Parameters
    ----------
    problem : ProtectionProblem
    weights : numpy.ndarray of float, shape (n_cells,)
        Cost of changing each cell by one unit.
    room : Room
    rows : sequence of PreservedRow, default=()
        Statistics to preserve.
    cap : float, default=inf
        A known objective value: no cell needs to move farther than cap / weight.
    elastic : bool, default=False
        Let statistics be missed at a high price, so that a start is easy to find.
    free : bool, default=True
        Whether directions are free. Else rows that say nothing once they are given are left out.
    maximum : bool, default=False
        Minimise max w_i |z_i| instead of the sum.
    like : AdjustmentModel, optional
        One with the same problem and room, which saves finding out again what follows from them.

    Attributes
    ----------
    program : Program
        Scaled. Columns: s+ of all groups of coupled cells (see `coupled`), s- of them, then y of
        those with sensitive cells, then by how much each statistic is missed upwards and
        downwards, if it may be.
    coupled : CoupledCells
    relations : scipy.sparse.csr_array, shape (n_relations, n_groups)
        Between groups; those that say nothing are empty.
    independent : numpy.ndarray of int
        Relations from which all others follow.
    cost : numpy.ndarray of float, shape (n_groups,)
        Cost of changing each group by one unit.
    moves : Room
        Of groups.
    sensitive : numpy.ndarray of int
        Groups with sensitive cells.
    up_level, down_level : numpy.ndarray of float
        Their levels.
    """

    def __init__(
        self,
        problem: ProtectionProblem,
        weights: Floats,
        room: Room,
        rows: Sequence[PreservedRow] = (),
        cap: float = np.inf,
        *,
        elastic: bool = False,
        free: bool = True,
        maximum: bool = False,
        like: AdjustmentModel | None = None,
    ) -> None:
        self.problem = problem
        self.weights = weights
        self.room = room
        self.preserved = list(rows)
        self.free = free
        self.maximum = maximum
        if like is None:
            self.coupled, self.moves = coupled_room(problem, room)
            self.relations = self.coupled.relations(problem.table.relations)
            self.independent = independent_rows(self.relations)
        else:
            self.coupled, self.moves = like.coupled, like.moves
            self.relations, self.independent = like.relations, like.independent
        self.n_groups = self.coupled.n_groups
        spread = abs(self.coupled.spread)
        self.cost = self.coupled.largest(weights, weights)[0] if maximum else spread.T @ weights
        self.sensitive = sensitive_groups(problem, self.coupled)
        self.up_level = self.moves.up_level[self.sensitive]
        self.down_level = self.moves.down_level[self.sensitive]
        levels = float(np.dot(self.cost[self.sensitive], self.down_level))
        self.offset = 0.0 if maximum else levels
        raw = self._raw(cap)
        self.direction_columns = 2 * self.n_groups + np.arange(len(self.sensitive))
        if maximum:
            raw = self._largest(raw)
        if elastic:
            raw = self._elastic(raw)
        lengths = np.ones(raw.n_columns, dtype=bool)
        lengths[self.direction_columns] = False
        self.scaling = Scaling.by_unit(raw, problem.unit, lengths)
        self.program = self.scaling.apply(raw)

    def with_balance(self, rows: Integers) -> AdjustmentModel:
        """Return the model with some of its balance rows after all others.

        Parameters
        ----------
        rows : numpy.ndarray of int
            Their numbers, as `BalanceRows.violated` returns them.
        """
        more = copy(self)
        more.program = self.program.with_rows(*BalanceRows(self).rows(rows))
        return more

    # -- there and back -------------------------------------------------------------------

    def changes(self, x: Floats) -> Floats:
        """Return z for all cells from a point of the scaled program."""
        raw = self.scaling.point(x)
        n = self.n_groups
        moved = raw[:n] - raw[n : 2 * n]
        y = np.rint(raw[self.direction_columns])
        moved[self.sensitive] += np.where(y > 0, self.up_level, -self.down_level)
        z: Floats = self.coupled.spread @ moved
        return z

    def directions(self, x: Floats) -> Floats:
        """Return y of a point, rounded."""
        return np.rint(x[self.direction_columns])

    def directions_of(self, z: Floats) -> Floats:
        """Return y of a table's changes."""
        cells = np.flatnonzero(self.problem.sensitive & (self.coupled.group >= 0))
        _, first = np.unique(self.coupled.group[cells], return_index=True)
        # The first sensitive cell of a group moves as the group does.
        return (z[cells[first]] > 0).astype(np.float64)

    def loss(self, scaled_value: float) -> float:
        """Return sum (or maximum) of w |z| from an objective or bound of the scaled program."""
        return scaled_value * self.scaling.objective + self.offset

    def allowed(self) -> tuple[Floats, Floats]:
        """Smallest and largest direction of each group with sensitive cells."""
        down_possible = self.moves.down[self.sensitive] >= self.down_level
        up_possible = self.moves.up[self.sensitive] >= self.up_level
        return np.where(down_possible, 0.0, 1.0), np.where(up_possible, 1.0, 0.0)

    def directed(self, directions: Floats) -> Program:
        """Return the program with given directions."""
        columns, low, high = self.direction_bounds(directions)
        lower, upper = self.program.lower.copy(), self.program.upper.copy()
        lower[columns], upper[columns] = low, high
        return self.program.with_bounds(lower, upper)

    def direction_bounds(self, directions: Floats) -> tuple[Integers, Floats, Floats]:
        """Return columns with the bounds that given directions mean for them.

        Besides y those of s+ and s-: that one of them is 0 must not depend on the tolerance with
        which a solver keeps rows of large numbers.
        """
        up, down = self.sensitive, self.n_groups + self.sensitive
        program, none = self.program, np.zeros(len(directions))
        high = (program.upper[up] * directions, program.upper[down] * (1 - directions))
        columns = np.concatenate([up, down, self.direction_columns])
        lower = np.concatenate([none, none, directions])
        return columns, lower, np.concatenate([*high, directions])

    # -- the program ----------------------------------------------------------------------

    def _raw(self, cap: float) -> Program:
        n, k = self.n_groups, len(self.sensitive)
        limit = np.full(n, np.inf)
        weight = self.cost
        limit[weight > 0] = cap / weight[weight > 0]
        up, down = np.minimum(self.moves.up, limit), np.minimum(self.moves.down, limit)
        # What is left above the level; a cap below the level only says "not this way".
        up[self.sensitive] = np.maximum(up[self.sensitive] - self.up_level, 0)
        down[self.sensitive] = np.maximum(down[self.sensitive] - self.down_level, 0)
        y_low, y_high = self.allowed()
        blocks = [self._relation_rows(), self._preserved_rows()]
        if self.free:
            blocks += [self._direction_rows(up, down), self._discrepancy_rows()]
        swing = weight[self.sensitive] * (self.up_level - self.down_level)
        return Program(
            cost=np.concatenate([weight, weight, swing]),
            matrix=csr_array(vstack([block[0] for block in blocks], format="csr")),
            row_lower=np.concatenate([block[1] for block in blocks]),
            row_upper=np.concatenate([block[2] for block in blocks]),
            lower=np.concatenate([np.zeros(2 * n), y_low]),
            upper=np.concatenate([up, down, y_high]),
            integral=np.arange(2 * n + k) >= 2 * n,
        )

    def _largest(self, raw: Program) -> Program:
        """Add a column for the largest w |z|, in median weights, and a row for each cell."""
        n, k = self.n_groups, len(self.sensitive)
        weight = self.cost
        positive = weight[weight > 0]
        middle = float(np.median(positive)) if len(positive) else 1.0
        size = np.maximum(weight, middle)
        own = diags_array(weight / size)
        at = self.sensitive
        share = weight[at] / size[at]
        swing = csr_array((share * (self.up_level - self.down_level), (at, np.arange(k))), (n, k))
        bound = csr_array((-middle / size)[:, None])
        rows = hstack([own, own, swing, bound], format="csr")
        most = np.zeros(n)
        most[at] = -share * self.down_level
        reach = np.maximum(self.moves.up, self.moves.down)
        above = csr_array(hstack([raw.matrix, csr_array((raw.n_rows, 1))], format="csr"))
        return Program(
            cost=np.append(np.zeros(raw.n_columns), middle),
            matrix=csr_array(vstack([above, rows], format="csr")),
            row_lower=np.concatenate([raw.row_lower, np.full(n, -np.inf)]),
            row_upper=np.concatenate([raw.row_upper, most]),
            lower=np.append(raw.lower, 0.0),
            upper=np.append(raw.upper, 1.01 * float(np.max(weight * reach, initial=0.0)) / middle),
            integral=np.append(raw.integral, False),
        )

    def _elastic(self, raw: Program) -> Program:
        """Add columns that make up for what a statistic is off."""
        first = len(self.independent)
        count = len(self.preserved)
        rows, columns = first + np.arange(count), np.arange(count)
        shape = (raw.n_rows, count)
        miss = csr_array((np.ones(count), (rows, columns)), shape=shape)
        reach = np.maximum(self.room.up, self.room.down)
        most = np.array([float(np.abs(row.coefficients) @ reach) for row in self.preserved])
        price = MISSED * float(np.median(self.cost))
        return Program(
            cost=np.concatenate([raw.cost, np.full(2 * count, price)]),
            matrix=csr_array(hstack([raw.matrix, miss, -miss], format="csr")),
            row_lower=raw.row_lower,
            row_upper=raw.row_upper,
            lower=np.concatenate([raw.lower, np.zeros(2 * count)]),
            upper=np.concatenate([raw.upper, most, most]),
            integral=np.concatenate([raw.integral, np.zeros(2 * count, dtype=bool)]),
        )

    def _on_changes(self, coefficients: csr_array) -> tuple[csr_array, Floats]:
        """Rows on groups as rows on columns, and the constant that -LPL leaves on the left."""
        swing = csr_array(coefficients[:, self.sensitive])
        levels = self.up_level + self.down_level
        matrix = hstack([coefficients, -coefficients, swing @ diags_array(levels)], format="csr")
        return csr_array(matrix), -(swing @ self.down_level)

    def _relation_rows(self) -> tuple[csr_array, Floats, Floats]:
        matrix, constant = self._on_changes(csr_array(self.relations[self.independent, :]))
        return matrix, -constant, -constant

    def _direction_rows(self, up: Floats, down: Floats) -> tuple[csr_array, Floats, Floats]:
        """s+ <= room * y, s- <= room * (1 - y); rooms must be finite for that."""
        n, k = self.n_groups, len(self.sensitive)
        at = self.sensitive
        select = csr_array((np.ones(k), (np.arange(k), at)), shape=(k, n))
        none = csr_array((k, n))
        above = csr_array(hstack([select, none, diags_array(-_finite(up[at]))]))
        below = csr_array(hstack([none, select, diags_array(_finite(down[at]))]))
        low = np.full(2 * k, -np.inf)
        high = np.concatenate([np.zeros(k), _finite(down[at])])
        return csr_array(vstack([above, below], format="csr")), low, high

    def _preserved_rows(self) -> tuple[csr_array, Floats, Floats]:
        if not self.preserved:
            return csr_array((0, 2 * self.n_groups + len(self.sensitive))), _NONE, _NONE
        rows = csr_array([row.coefficients for row in self.preserved]) @ self.coupled.spread
        matrix, constant = self._on_changes(rows)
        slack = np.array([row.slack for row in self.preserved])
        middle = np.array([row.target for row in self.preserved]) - constant
        return matrix, middle - slack, middle + slack

    def _discrepancy_rows(self) -> tuple[csr_array, Floats, Floats]:
        n, k = self.n_groups, len(self.sensitive)
        relations = self.relations
        position = np.full(n, -1, dtype=np.int64)
        position[self.sensitive] = np.arange(k)
        low, high = self.allowed()
        rows, deltas = [], []
        count = np.diff(csr_array(relations[:, self.sensitive]).indptr)
        for row in np.flatnonzero((count > 0) & (count <= ENUMERATED_SIGNS)).tolist():
            part = slice(relations.indptr[row], relations.indptr[row + 1])
            cells, signs = relations.indices[part], relations.data[part]
            inside = position[cells] >= 0
            at = position[cells[inside]]
            delta = _discrepancy(
                signs[inside], self.up_level[at], self.down_level[at], low[at], high[at]
            )
            if delta > 1e-9 * self.problem.unit:
                rows.append(row)
                deltas.append(delta)
        if not rows:
            return csr_array((0, 2 * n + k)), _NONE, _NONE
        part = abs(csr_array(relations[np.array(rows), :]))
        matrix = csr_array(hstack([part, part, csr_array((len(rows), k))], format="csr"))
        # Rounding must not make a valid row cut anything off.
        return matrix, np.array(deltas) * (1 - 1e-9), np.full(len(rows), np.inf)


_NONE = np.zeros(0)


def _finite(room: Floats) -> Floats:
    if np.any(np.isinf(room)):
        raise ModelError(
            "A sensitive cell has no finite room to move. Give finite external bounds, a "
            "`sensitive_limit`, or positive weights."
        )
    return room


def _discrepancy(signs: Floats, up: Floats, down: Floats, low: Floats, high: Floats) -> float:
    """Smallest |sum of signs * (up or -down)| over all allowed directions."""
    sums = np.zeros(1)
    for sign, u, d, can_down, can_up in zip(signs, up, down, low == 0, high == 1, strict=True):
        options = [sign * u] * bool(can_up) + [-sign * d] * bool(can_down)
        sums = (sums[:, None] + np.array(options)[None, :]).reshape(-1)
    return float(np.min(np.abs(sums)))
