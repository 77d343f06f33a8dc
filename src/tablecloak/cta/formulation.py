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
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.cta.coupled import CoupledCells
from tablecloak.cta.precision import near_bound
from tablecloak.cta.search.balance import BalanceRows
from tablecloak.cta.statistics.statistic import PreservedRow
from tablecloak.errors import ModelError, listed
from tablecloak.solve.independent import independent_rows
from tablecloak.solve.program import Program, Scaling
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["AdjustmentModel", "Room", "coupled_room", "room_of", "sensitive_groups"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

MISSED = 1000.0
"""Price of missing a statistic by one unit, in median weights."""

ROUNDING = float(np.finfo(np.float64).eps)
"""Relative error of one sum or product."""

EPSILON = 8 * float(np.finfo(np.float64).eps)
"""Relative error that sums and differences of a few numbers may have, with some to spare."""

SMALL, LARGE = 1e-3, 1e4
"""Smallest size of a cell, and largest level, in the units in which they are measured."""

LARGEST_REACH = 1e10
"""Largest change of a cell in the unit in which it is measured, unless that is the common one."""

SHARE_OF_VALUE = 0.1
"""Change of a cell that is not sensitive, as a share of its value, that counts as its size."""

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
    may_rise, may_fall : numpy.ndarray of bool, shape (n_cells,), optional
        Whether a sensitive cell is safe above and below: where its level is not 0. By default
        both for all cells.
    """

    up: Floats
    down: Floats
    up_level: Floats
    down_level: Floats
    may_rise: Flags = None  # type: ignore[assignment]
    may_fall: Flags = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("may_rise", "may_fall"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.ones(len(self.up), dtype=bool))

    @property
    def is_stuck(self) -> Flags:
        """Which cells can move neither up nor down as far as they must."""
        can_rise = self.may_rise & (self.up >= self.up_level)
        can_fall = self.may_fall & (self.down >= self.down_level)
        stuck: Flags = ~can_rise & ~can_fall
        return stuck

    def of_part(self, own: Flags) -> Room:
        """Return the room if all other cells are frozen."""
        return replace(
            self,
            up=np.where(own, self.up, 0.0),
            down=np.where(own, self.down, 0.0),
            up_level=np.where(own, self.up_level, 0.0),
            down_level=np.where(own, self.down_level, 0.0),
        )


def room_of(
    problem: ProtectionProblem, *, limit: float | None, whole: bool = False, strict: bool = True
) -> Room:
    """Combine bounds, capacities and limits.

    Parameters
    ----------
    problem : ProtectionProblem
    limit : float or None
        Largest change of a sensitive cell as a multiple of its level, at least 1; None leaves
        it to the external bounds.
    whole : bool, default=False
        Whether changes are whole numbers, so that limits are rounded down.
    strict : bool, default=True
        Whether every sensitive cell must be able to move far enough one way.

    Raises
    ------
    ModelError
        If a sensitive cell can move neither up nor down far enough; names the cells.
    """
    values, sensitive = problem.table.values, problem.sensitive
    up_level = np.where(sensitive, problem.upper_protection, 0.0)
    down_level = np.where(sensitive, problem.lower_protection, 0.0)
    up = _distance(problem.upper_bound, values, up_level)
    down = _distance(problem.lower_bound, values, down_level)
    up = np.where(sensitive, up, np.minimum(up, problem.capacity_up))
    down = np.where(sensitive, down, np.minimum(down, problem.capacity_down))
    if limit is not None:
        up = np.where(sensitive, np.minimum(up, limit * up_level), up)
        down = np.where(sensitive, np.minimum(down, limit * down_level), down)
        if whole:
            up, down = np.floor(up), np.floor(down)
    up, down = np.where(problem.frozen, 0.0, up), np.where(problem.frozen, 0.0, down)
    may_rise, may_fall = ~sensitive | (up_level > 0), ~sensitive | (down_level > 0)
    room = Room(up, down, up_level, down_level, may_rise, may_fall)
    stuck = np.flatnonzero(sensitive & room.is_stuck)
    if strict and len(stuck):
        raise ModelError(
            f"{len(stuck)} sensitive cells can move neither up nor down as far as their protection "
            f"levels ask (a side with the level 0 is no way out): "
            f"{listed(problem.table.labels(stuck[:5]))}. Widen their external bounds or lower "
            f"their levels.",
            cells=stuck,
        )
    return room


def _distance(bound: Floats, values: Floats, level: Floats) -> Floats:
    """Distance to a bound; a level beyond it by no more than their rounding is within reach."""
    distance = np.abs(bound - values)
    near = (distance < level) & (distance >= level - near_bound(bound, values))
    found: Floats = np.where(near, level, distance)
    return found


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
    may_rise, may_fall = coupled.everywhere(room.may_rise, room.may_fall)
    # A side on which one of them is not safe is no way out for any.
    up_level, down_level = np.where(may_rise, up_level, 0.0), np.where(may_fall, down_level, 0.0)
    together = Room(up, down, up_level, down_level, may_rise, may_fall)
    stuck = np.append(together.is_stuck, True)[coupled.group] & problem.sensitive
    if np.any(stuck):
        cells = np.flatnonzero(stuck)
        raise ModelError(
            f"{len(cells)} sensitive cells cannot move as far as their protection levels ask. "
            f"Where nothing else in a relation can change, they are coupled with cells that "
            f"cannot: {listed(problem.table.labels(cells[:5]))}. Lower their levels, or widen "
            f"bounds or capacities in their relations.",
            cells=cells,
        )
    return coupled, together


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
    independent : numpy.ndarray of int, optional
        Relations to use; any selection gives a valid bound. By default found out.

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
    discrepancy : numpy.ndarray of int
        Relations of the discrepancy rows, which come before the balance rows.
    balance : numpy.ndarray of int
        Balance rows at the end of the program.
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
        independent: Integers | None = None,
    ) -> None:
        self.problem = problem
        self.weights = weights
        self.room = room
        self.preserved = list(rows)
        self.free = free
        self.maximum = maximum
        self.elastic = elastic
        self.balance: Integers = np.empty(0, dtype=np.int64)
        self.discrepancy: Integers = np.empty(0, dtype=np.int64)
        if like is None:
            self.coupled, self.moves = coupled_room(problem, room)
            self.relations = self.coupled.relations(problem.table.relations)
            used = independent_rows(self.relations) if independent is None else independent
            self.independent = used
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
        units = np.full(raw.n_columns, problem.unit)
        units[: 2 * self.n_groups] = np.tile(self._units(), 2)
        units[self.direction_columns] = 1.0
        self.scaling = Scaling.by_units(raw, units)
        self.program = self.scaling.apply(raw)

    def _units(self) -> Floats:
        """Lengths in which the groups are measured: about the median level, less for small ones.

        A solver keeps rows and bounds up to 1e-9 of what counts as 1, so that cells with levels
        below that of the others would not count at all.
        """
        levels = np.maximum(self.up_level, self.down_level)
        unit = max(self.problem.unit, float(levels.max(initial=0.0)) / LARGE)
        values = np.abs(self.problem.table.values)
        size = SHARE_OF_VALUE * self.coupled.least(values, values)[0]
        size[self.sensitive] = levels
        units = np.minimum(np.where(size > 0, size / SMALL, unit), unit)
        reach = np.maximum(self.moves.up, self.moves.down)
        found: Floats = np.minimum(np.maximum(units, reach / LARGEST_REACH), unit)
        return found

    def with_balance(self, rows: Integers) -> AdjustmentModel:
        """Return the model with some of its balance rows after all others.

        Parameters
        ----------
        rows : numpy.ndarray of int
            Their numbers, as `BalanceRows.violated` returns them.
        """
        more = copy(self)
        more.program = self.program.with_rows(*BalanceRows(self).rows(rows))
        more.balance = np.concatenate([self.balance, rows])
        return more

    def loosened(self) -> Program:
        """Return the program with every number loosened by what it may have been rounded.

        What holds for all its points holds for all adjustments in exact arithmetic: a bound, or
        that there are none. Scaling is by powers of two, so that only sums and differences of
        levels, rooms and coefficients are rounded.
        """
        program, n = self.program, self.n_groups
        upper = program.upper.copy()
        rooms = np.concatenate([self.moves.up, self.moves.down])
        upper[: 2 * n] += EPSILON * rooms / self.scaling.column[: 2 * n]
        error = self._row_errors()
        low, high = program.row_lower, program.row_upper
        members = 4 + float(np.bincount(self._members, minlength=1).max())
        return replace(
            program,
            cost=program.cost - ROUNDING * members * np.abs(program.cost),
            row_lower=low - error - EPSILON * np.abs(low),
            row_upper=high + error + EPSILON * np.abs(high),
            upper=upper,
        )

    def proved(self, scaled_bound: float) -> float:
        """Return the loss that a bound of the loosened program proves."""
        if self.maximum:
            return self.loss(scaled_bound)
        both = float(np.dot(self.cost[self.sensitive], self.up_level + self.down_level))
        return self.loss(scaled_bound) - (EPSILON + ROUNDING * len(self.sensitive)) * both

    @property
    def _members(self) -> Integers:
        """Groups of all cells that can move."""
        members: Integers = self.coupled.group[self.coupled.group >= 0]
        return members

    def _row_errors(self) -> Floats:
        """What rounding may have changed in each row, at the most that its columns can be."""
        program, k = self.program, len(self.sensitive)
        is_direction = np.zeros(program.n_columns)
        is_direction[self.direction_columns] = 1.0
        terms = np.diff(program.matrix.indptr)
        error = (EPSILON + ROUNDING * terms) * (abs(program.matrix) @ is_direction)
        raw = np.zeros(len(self.scaling.row))
        # Coefficients of groups of several cells are sums; those of whole numbers are exact.
        group = self.coupled.group
        merged = (group >= 0) & (np.bincount(self._members, minlength=1)[group] > 1)
        rooms = np.append(self.moves.up + self.moves.down, 0.0)[group]
        reach = np.where(merged, rooms + self.room.up_level + self.room.down_level, 0.0)
        rows = [abs(self.problem.table.relations[self.independent, :])]
        rows += [csr_array(np.abs(row.coefficients)[None, :]) for row in self.preserved]
        cells = csr_array(vstack(rows, format="csr"))
        first = cells.shape[0]
        whole = np.asarray(abs(cells - cells.rint()).sum(axis=1)).reshape(-1) == 0
        sums = (EPSILON + ROUNDING * np.diff(cells.indptr)) * (cells @ reach)
        raw[:first] = np.where(whole, 0.0, sums)
        if self.free:
            at = self.sensitive
            both = np.concatenate([self.moves.up[at], self.moves.down[at]])
            raw[first : first + 2 * k] += EPSILON * both
        if self.maximum:
            both = np.zeros(self.n_groups)
            both[self.sensitive] = self.up_level + self.down_level
            raw[-self.n_groups :] += EPSILON * self.cost * both
        error[: len(raw)] += raw * self.scaling.row
        found: Floats = error
        return found

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
        at = self.sensitive
        down_possible = self.moves.may_fall[at] & (self.moves.down[at] >= self.down_level)
        up_possible = self.moves.may_rise[at] & (self.moves.up[at] >= self.up_level)
        return np.where(down_possible, 0.0, 1.0), np.where(up_possible, 1.0, 0.0)

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
        up, down = self.sensitive, self.n_groups + self.sensitive
        program = self.program if program is None else program
        none = np.zeros(len(directions))
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
        own = diags_array(weight, shape=(n, n))
        at = self.sensitive
        swing = csr_array(
            (weight[at] * (self.up_level - self.down_level), (at, np.arange(k))), shape=(n, k)
        )
        bound = csr_array(np.full((n, 1), -middle))
        rows = hstack([own, own, swing, bound], format="csr")
        most = np.zeros(n)
        most[at] = -weight[at] * self.down_level
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
        price = MISSED * float(np.median(self.cost)) if len(self.cost) else 1.0
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
        self.discrepancy = np.array(rows, dtype=np.int64)
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
