"""The polyhedron of all adjustments with given directions, laid out once.

Cells that can only move together are one column (see `coupled`), relations that follow from others
are left out, and statistics to preserve are further rows. Relaxation, least squares, the search for
whole numbers and the correction of rounding are transformations of this model; each returns the way
back from its points to changes of cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Floats, Integers
from tablecloak.cta.model.room import Room, coupled_room, sensitive_groups
from tablecloak.cta.statistics.statistic import PreservedRow
from tablecloak.errors import InputError, ModelError, listed
from tablecloak.solve.independent import independent_rows
from tablecloak.tables.coupling import CoupledCells
from tablecloak.tables.problem import ProtectionProblem

Directions = Literal["search", "up", "down"] | npt.ArrayLike
F = TypeVar("F", np.float64, np.longdouble)


@dataclass(frozen=True, eq=False)
class Rows:
    """low <= matrix @ g <= high, on changes g of groups.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n_rows, n_groups)
        Relations first, then statistics.
    low, high : numpy.ndarray of float, shape (n_rows,)
    """

    matrix: csr_array
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class AdjustmentModel:
    """Columns, rooms and rows of an adjustment, and the way back from columns to cells.

    Parameters
    ----------
    problem : ProtectionProblem
    weights : numpy.ndarray of float, shape (n_cells,)
        Cost of changing each cell by one unit.
    room : Room
        Of cells; finite.
    preserved : tuple of PreservedRow
        Statistics to preserve.
    coupled : CoupledCells
    moves : Room
        Of groups.
    relations : scipy.sparse.csr_array, shape (n_relations, n_groups)
        Relations between groups; redundant ones are empty.
    selected : numpy.ndarray of int or None
        Relations to use; None to find out which are independent. Any selection gives a valid bound.
    """

    problem: ProtectionProblem
    weights: Floats
    room: Room
    preserved: tuple[PreservedRow, ...]
    coupled: CoupledCells
    moves: Room
    relations: csr_array
    selected: Integers | None = None

    @classmethod
    def of(
        cls,
        problem: ProtectionProblem,
        weights: Floats,
        room: Room,
        preserved: Sequence[PreservedRow] = (),
    ) -> AdjustmentModel:
        """Lay out a problem.

        Parameters
        ----------
        problem : ProtectionProblem
        weights : numpy.ndarray of float, shape (n_cells,)
        room : Room
        preserved : sequence of PreservedRow, default=()

        Raises
        ------
        ModelError
            If a sensitive cell is coupled with others so that it cannot move as far as it must.
        """
        coupled, moves = coupled_room(problem, room)
        relations = coupled.relations(problem.table.relations)
        return cls(problem, weights, room, tuple(preserved), coupled, moves, relations)

    @classmethod
    def apart(
        cls, problem: ProtectionProblem, room: Room, preserved: Sequence[PreservedRow] = ()
    ) -> AdjustmentModel:
        """Lay out a problem in which rooms and levels may give way: no cells are coupled."""
        group = np.where(problem.frozen, -1, np.cumsum(~problem.frozen) - 1)
        coupled = CoupledCells(group, np.ones(len(group)))
        movable = np.flatnonzero(~problem.frozen)
        moves = Room(*(getattr(room, name)[movable] for name in Room.__dataclass_fields__))
        relations = csr_array(problem.table.relations[:, movable])
        every = np.arange(relations.shape[0])
        weights = np.ones(len(group))
        return cls(problem, weights, room, tuple(preserved), coupled, moves, relations, every)

    def preserving(self, rows: Sequence[PreservedRow]) -> AdjustmentModel:
        """Return the model with further statistics; couplings and independent rows are reused."""
        return replace(self, preserved=(*self.preserved, *rows), selected=self.independent)

    def within(self, room: Room) -> AdjustmentModel:
        """Return the model of the same problem with other rooms."""
        model = AdjustmentModel.of(self.problem, self.weights, room, self.preserved)
        # With the same columns the same relations are redundant.
        if np.array_equal(model.coupled.group, self.coupled.group):
            model = replace(model, selected=self.independent)
        return model

    # -- columns --------------------------------------------------------------------------

    @property
    def n_groups(self) -> int:
        """Number of columns."""
        return self.coupled.n_groups

    @cached_property
    def sensitive(self) -> Integers:
        """Groups with sensitive cells."""
        return sensitive_groups(self.problem, self.coupled)

    @cached_property
    def representatives(self) -> Integers:
        """First sensitive cell of each group that has one; it moves as the group does."""
        cells = np.flatnonzero(self.problem.sensitive & (self.coupled.group >= 0))
        _, first = np.unique(self.coupled.group[cells], return_index=True)
        return np.asarray(cells[first], dtype=np.int64)

    @cached_property
    def members(self) -> Integers:
        """First cell of each group."""
        cells = np.flatnonzero(self.coupled.group >= 0)
        _, first = np.unique(self.coupled.group[cells], return_index=True)
        return np.asarray(cells[first], dtype=np.int64)

    @cached_property
    def up_level(self) -> Floats:
        """How far each sensitive group must rise, if it rises."""
        level: Floats = self.moves.up_level[self.sensitive]
        return level

    @cached_property
    def down_level(self) -> Floats:
        """How far each sensitive group must fall, if it falls."""
        level: Floats = self.moves.down_level[self.sensitive]
        return level

    @cached_property
    def cost(self) -> Floats:
        """Cost of changing each group by one unit: the sum over its cells."""
        cost: Floats = abs(self.coupled.spread).T @ self.weights
        return cost

    @cached_property
    def largest_cost(self) -> Floats:
        """Largest cost of changing a cell of each group by one unit."""
        return self.coupled.largest(self.weights, self.weights)[0]

    @cached_property
    def allowed(self) -> tuple[Floats, Floats]:
        """Smallest and largest direction of each group with sensitive cells: 0 down, 1 up."""
        at = self.sensitive
        down_possible = self.moves.may_fall[at] & (self.moves.down[at] >= self.down_level)
        up_possible = self.moves.may_rise[at] & (self.moves.up[at] >= self.up_level)
        return np.where(down_possible, 0.0, 1.0), np.where(up_possible, 1.0, 0.0)

    def box(self, g: npt.NDArray[np.floating]) -> tuple[Floats, Floats]:
        """Smallest and largest change of each group, on the side on which given changes lie."""
        low, high = -self.moves.down, self.moves.up.copy()
        at = self.sensitive
        is_up = g[at] > 0
        low[at] = np.where(is_up, self.up_level, -self.moves.down[at])
        high[at] = np.where(is_up, self.moves.up[at], -self.down_level)
        return low, high

    # -- rows -----------------------------------------------------------------------------

    @cached_property
    def independent(self) -> Integers:
        """Relations from which all others follow."""
        return independent_rows(self.relations) if self.selected is None else self.selected

    @cached_property
    def rows(self) -> Rows:
        """Independent relations, then statistics."""
        relations = csr_array(self.relations[self.independent, :])
        none = np.zeros(relations.shape[0])
        if not self.preserved:
            return Rows(relations, none, none)
        target = np.array([row.target for row in self.preserved])
        slack = np.array([row.slack for row in self.preserved])
        return Rows(
            csr_array(vstack([relations, self.statistics], format="csr")),
            np.concatenate([none, target - slack]),
            np.concatenate([none, target + slack]),
        )

    @cached_property
    def statistics(self) -> csr_array:
        """Coefficients of the statistics on changes of groups."""
        if not self.preserved:
            return csr_array((0, self.n_groups))
        rows = csr_array([row.coefficients for row in self.preserved])
        return csr_array(rows @ self.coupled.spread)

    # -- there and back -------------------------------------------------------------------

    def cells(self, changes: npt.NDArray[F]) -> npt.NDArray[F]:
        """Return changes of all cells, from changes of groups; in the precision given."""
        spread = self.coupled.spread.astype(changes.dtype)
        of_cells: npt.NDArray[F] = spread @ changes
        return of_cells

    def groups(self, changes: npt.NDArray[F]) -> npt.NDArray[F]:
        """Return changes of groups, from changes of all cells: those of their first cells."""
        signs = self.coupled.sign[self.members].astype(changes.dtype)
        of_groups: npt.NDArray[F] = signs * changes[self.members]
        return of_groups

    def loss(self, changes: Floats) -> float:
        """Return the weighted sum of absolute changes of all cells."""
        return float(np.dot(self.weights, np.abs(changes)))

    def directions_of(self, changes: Floats) -> Floats:
        """Return the direction of each sensitive group: 1 up, 0 down."""
        return (changes[self.representatives] > 0).astype(np.float64)

    def signs_of(self, directions: Floats | None) -> Integers:
        """Return 1 or -1 for the first sensitive cell of each group, 0 for cells without one."""
        signs = np.zeros(self.problem.table.n_cells, dtype=np.int64)
        if directions is not None:
            signs[self.representatives] = np.where(directions > 0, 1, -1)
        return signs

    def fixed_directions(self, given: Directions) -> Floats | None:
        """Return the direction of each sensitive group, None if they are to be searched.

        Raises
        ------
        InputError
            If `directions` is not understood.
        ModelError
            If a cell cannot move in its direction; names the cells.
        """
        low, high = self.allowed
        if isinstance(given, str):
            if given not in ("search", "up", "down"):
                raise InputError(
                    f"`directions` must be 'search', 'up', 'down' or an array. Got {given!r}."
                )
            return {"search": None, "up": high, "down": low}[given]
        signs = np.asarray(given, dtype=np.float64)
        sensitive = np.flatnonzero(self.problem.sensitive)
        if signs.shape != sensitive.shape or not np.all(np.abs(signs) == 1):
            raise InputError(
                f"`directions` must hold +1 or -1 for each of the {len(sensitive)} sensitive "
                f"cells, in table order. Got an array of shape {signs.shape}."
            )
        each = np.zeros(self.problem.table.n_cells)
        each[sensitive] = signs
        y = self.directions_of(each)
        together = np.zeros(self.n_groups)
        together[self.sensitive] = np.where((y < low) | (y > high), 0.0, 2 * y - 1)
        moved = self.coupled.spread @ together
        wrong = sensitive[(moved != each)[sensitive] & (self.coupled.group[sensitive] >= 0)]
        if len(wrong):
            raise ModelError(
                f"{len(wrong)} sensitive cells cannot move in the given direction as far as their "
                f"levels ask, or not together with cells that relations couple them with: "
                f"{listed(self.problem.table.labels(wrong[:5]))}. Turn their directions, widen "
                f"their bounds, or leave out `directions`.",
                cells=wrong,
            )
        return y
