"""An adjusted table with its certificate, and what of it may be published."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.cta.formulation import AdjustmentModel, Room
from tablecloak.cta.parts import PartsBound
from tablecloak.cta.preserve import (
    Moments,
    PreservedRow,
    PreservedVariance,
    moments,
    select,
)
from tablecloak.cta.squares import SquaresBound
from tablecloak.errors import VerificationError, listed
from tablecloak.solve.branch import BranchTree
from tablecloak.solve.certify import check_claim, dual_bound
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_column, published_order

__all__ = ["Adjustment", "DistanceBound", "Measured"]

Floats = npt.NDArray[np.float64]
Distance = Literal["L1", "L2", "Linf"]

TOLERANCE = 1e-7
"""Accepted violation of relations and bounds, as a share of the median protection level."""


@dataclass(frozen=True)
class Measured:
    """What a check of an adjusted table measured, in the unit of the table.

    Parameters
    ----------
    relations, bounds, levels : float
        Largest violation of any relation, bound or capacity, and protection level.
    preserved : float
        Largest violation of a preserved statistic, in median protection levels; of a variance,
        as a share of it.
    exact : bool
        Whether all values are whole numbers, so that the check is free of rounding.
    """

    relations: float
    bounds: float
    levels: float
    preserved: float
    exact: bool


@dataclass(frozen=True, eq=False)
class DistanceBound:
    """Proof that no adjustment of the model costs less than a bound.

    Parameters
    ----------
    model : AdjustmentModel
        Rebuilt by the check from the problem.
    tree : BranchTree or None
        Search tree over the directions; None if multipliers of the relaxation suffice.
    duals : numpy.ndarray of float
        Multipliers of the relaxation; used without a tree.
    directions : numpy.ndarray of float or None
        Fixed directions to which the bound refers; None if they were free.
    """

    model: AdjustmentModel
    tree: BranchTree | None
    duals: Floats
    directions: Floats | None = None

    def verify(self) -> float:
        """Return the bound on sum (or maximum) of w |z|, by sparse products alone."""
        program = self.model.program
        if self.tree is not None:
            return self.model.loss(self.tree.verify(program))
        if self.directions is not None:
            program = self.model.directed(self.directions)
        return self.model.loss(dual_bound(program, self.duals))


@dataclass(frozen=True, eq=False)
class Adjustment:
    """An adjusted table: additive, safe, and as near to the truth as was found.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of float, shape (n_cells,)
        Adjusted values.
    weights : numpy.ndarray of float, shape (n_cells,)
        Cost of changing each cell by one unit.
    room : Room
        How far each cell was allowed to move.
    preserved : tuple of PreservedRow or PreservedVariance
    bound_certificate : DistanceBound, SquaresBound or PartsBound
    bound : float
        Proved lower bound on the loss of any adjustment with the same room and statistics.
    seconds : float
    integer : bool
        Whether all values had to be whole numbers.
    notes : tuple of str
    distance : {"L1", "L2", "Linf"}, default="L1"
        What was made as small as possible, after the protection levels.
    """

    problem: ProtectionProblem
    values: Floats
    weights: Floats
    room: Room
    preserved: tuple[PreservedRow | PreservedVariance, ...]
    bound_certificate: DistanceBound | SquaresBound | PartsBound
    bound: float
    seconds: float
    integer: bool
    notes: tuple[str, ...] = field(default=())
    distance: Distance = "L1"

    @property
    def changes(self) -> Floats:
        """Adjusted minus true values."""
        return self.values - self.problem.table.values

    @property
    def loss(self) -> float:
        """Return sum w_i |z_i|; for L2 sum w_i z_i^2, for Linf max w_i |z_i|."""
        z = np.abs(self.changes)
        if self.distance == "L2":
            return float(np.dot(self.weights, z**2))
        if self.distance == "Linf":
            return float(np.max(self.weights * z, initial=0.0))
        return float(np.dot(self.weights, z))

    @property
    def gap(self) -> float:
        """(loss - bound) / loss; 0 means proved optimal."""
        return max((self.loss - self.bound) / self.loss, 0.0) if self.loss else 0.0

    @property
    def is_optimal(self) -> bool:
        """Whether the adjustment is proved to be optimal, within 1e-6 of its loss."""
        return self.gap <= 1e-6

    def moments(self, subset: object = "sensitive") -> Moments:
        """Compare adjusted with original values over a subset of cells."""
        cells = select(self.problem, subset)  # type: ignore[arg-type]
        return moments(self.problem.table.values[cells], self.values[cells])

    def verify(self) -> Measured:
        """Check table, levels, statistics and bound again; no solver is called.

        Guarantee: if this returns, the values satisfy every relation and every bound, frozen
        cells are unchanged, and each sensitive cell lies at least its lower level below or its
        upper level above the true value (all within `TOLERANCE` times the median level;
        exactly, if the table is one of whole numbers). Proof: docs/guarantees.md, section 3.

        Raises
        ------
        VerificationError
            Names the condition that fails, the cells, and by how much.
        """
        problem, z = self.problem, self.changes
        tolerance = 0.0 if self.integer else TOLERANCE * problem.unit
        exact = bool(np.all(self.values == np.rint(self.values)))
        if self.integer and not exact:
            raise VerificationError("The table must have whole numbers, but some values are not.")
        relations = self._relation_error()
        if relations > max(tolerance, self._rounding()) and (not self.integer or relations > 0):
            raise VerificationError(f"A relation of the adjusted table is off by {relations:g}.")
        bounds = self._bound_error(z)
        self._require(bounds, max(tolerance, self._rounding()), "move beyond their bounds")
        moved = np.where(problem.frozen, np.abs(z), 0.0)
        self._require(moved, 0.0, "are frozen but changed")
        short = np.minimum(self.room.up_level - z, self.room.down_level + z)
        short = np.where(problem.sensitive, np.maximum(short, 0.0), 0.0)
        self._require(short, max(tolerance, self._rounding()), "are too near to their true values")
        preserved = max((row.error(problem, z) for row in self.preserved), default=0.0)
        if preserved > 1e-6:
            raise VerificationError(f"A preserved statistic is off by {preserved:g}.")
        check_claim(self.bound, self.bound_certificate.verify())
        if self.bound > self.loss * (1 + 1e-6) + 1e-9:
            raise VerificationError(
                f"The bound {self.bound:g} exceeds the loss {self.loss:g} of a table that exists."
            )
        return Measured(
            relations, float(bounds.max(initial=0)), float(short.max(initial=0)), preserved, exact
        )

    def _relation_error(self) -> float:
        table = self.problem.table
        values = self.values.astype(np.longdouble)
        residual = table.relations.astype(np.longdouble) @ values - table.right_hand_side
        return float(np.max(np.abs(residual), initial=0.0))

    def _rounding(self) -> float:
        """What the last binary digit of the largest value may cost in a relation."""
        if self.integer:
            return 0.0
        largest = float(np.abs(self.values).max(initial=0))
        return 64 * float(np.spacing(largest))

    def _bound_error(self, z: Floats) -> Floats:
        sensitive = self.problem.sensitive
        below = np.maximum(self.problem.lower_bound - self.values, 0)
        above = np.maximum(self.values - self.problem.upper_bound, 0)
        beyond = np.maximum(z - self.room.up, -z - self.room.down)
        inside = np.where(sensitive & (self.room.up < self.room.up_level) & (z > 0), 0, beyond)
        return np.maximum(np.maximum(below, above), np.maximum(inside, 0))

    def _require(self, error: Floats, tolerance: float, what: str) -> None:
        bad = np.flatnonzero(error > tolerance)
        if len(bad):
            raise VerificationError(
                f"{len(bad)} cells {what}: {listed(self.problem.table.labels(bad[:5]))} "
                f"(by up to {float(error.max()):g}).",
                cells=bad,
            )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each cell with true and adjusted value. Secret."""
        return self.problem.table.to_frame().assign(adjusted=self.values, change=self.changes)

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and adjusted values.

        Nothing tells which cells are sensitive or how much was changed. All values have the
        digits of the true table: see `in_decimals`, which looks for such a table if this is none.

        Raises
        ------
        SolverError
            If the values have more digits and no such table is found near them.
        """
        from tablecloak.cta.decimals import decimals_of, in_decimals

        table, values = self.problem.table, in_decimals(self).values
        order = published_order(table)
        known = decimals_of(self)
        decimals = None if known is None else max(known, 0)
        keys = table.keys.iloc[order].reset_index(drop=True)
        return keys.assign(**{table.name: published_column(values[order], decimals)})

    def summary(self) -> str:
        """Say in one line what was changed, and how good that is."""
        changed = int(np.sum(np.abs(self.changes) > TOLERANCE * self.problem.unit))
        found = self.moments() if self.problem.n_sensitive > 1 else None
        statistics = (
            f", sensitive cells: slope {found.slope:.2f}, correlation {found.correlation:.2f}"
            if found
            else ""
        )
        return (
            f"adjustment: loss {self.loss:.9g}, bound {self.bound:.9g}, gap {100 * self.gap:.2f} %"
            f", {changed} cells changed, {self.problem.n_sensitive} sensitive cells safe"
            f"{statistics}, {self.seconds:.1f} s"
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _repr_html_(self) -> str:
        from tablecloak.heat_map import ADJUSTMENT, adjustment_squares, for_notebook

        table, square = self.problem.table, adjustment_squares(self.problem, self.values)
        return for_notebook(self.summary(), table.keys, table.hierarchies, square, ADJUSTMENT)
