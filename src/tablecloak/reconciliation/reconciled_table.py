"""The result of a reconciliation: an additive table near a given one, with a proved bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.errors import CHANGED, VerificationError
from tablecloak.reconciliation.distances import NEARNESS
from tablecloak.reconciliation.problem import ReconciliationProblem
from tablecloak.results import Result
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.table import Table

ACCEPTED = 1e-9
"""Largest residual of a relation, relative to its terms, of a table that counts as additive."""


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass: its problem, its answer, and the proof that no other table is much nearer.

    Parameters
    ----------
    problem : ReconciliationProblem
    x : numpy.ndarray of float, shape (n_cells,)
        Reconciled values, as real numbers, even if a last step makes them whole.
    multipliers : numpy.ndarray of float
        Multipliers of the relations, or of the rows of its program.
    loss : float
        Distance of the answer.
    bound : float
        Lower bound on the distance of every table within the same bounds.
    """

    problem: ReconciliationProblem
    x: Floats
    multipliers: Floats
    loss: float
    bound: float


@dataclass(frozen=True, eq=False, repr=False)
class ReconciledTable(Result):
    """An additive table near a given one, with a proved bound.

    Parameters
    ----------
    codes : pandas.DataFrame of str, shape (n_cells, n_dimensions)
    hierarchies : mapping of str to Hierarchy
    name : str
        Name of the measure.
    given : numpy.ndarray of float, shape (n_cells,)
        Values that did not add up.
    values : numpy.ndarray of float, shape (n_cells,)
        Reconciled values, which add up.
    distance : str
        "L2", "L1" or "Linf".
    passes : tuple of Pass
        In order of importance; one if there is no order.
    is_whole : bool
        Whether the last step made whole numbers.
    seconds : float
    notes : tuple of str
    """

    codes: pd.DataFrame
    hierarchies: Mapping[str, Hierarchy]
    name: str
    given: Floats
    values: Floats
    distance: str
    passes: tuple[Pass, ...]
    is_whole: bool
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def loss(self) -> float:
        """Distance of the values from the given ones, in the last pass."""
        last = self.passes[-1]
        return NEARNESS[self.distance]().loss(last.problem, self.values)

    @property
    def bound(self) -> float:  # type: ignore[override]
        """Proved lower bound on the loss of every table of real numbers, in the last pass."""
        return self.passes[-1].bound

    @property
    def changes(self) -> Floats:
        """What was added to each cell."""
        return self.values - self.given

    def table(self) -> Table:
        """Return the reconciled values as a table."""
        last = self.passes[-1].problem
        return Table(
            keys=self.codes,
            values=self.values,
            relations=last.relations,
            right_hand_side=last.sides,
            hierarchies=self.hierarchies,
            name=self.name,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return codes, given and reconciled values."""
        return self.codes.assign(
            **{self.name: self.values, "given": self.given, "change": self.changes}
        )

    def release(self) -> pd.DataFrame:
        """Return codes and reconciled values."""
        return self.codes.assign(**{self.name: self.values})

    def verify(self) -> None:
        """Check additivity, bounds, and the bound on the loss, from the problem alone.

        Raises
        ------
        VerificationError
            If a condition fails; the message names it.
        """
        measure = NEARNESS[self.distance]()
        last = self.passes[-1]
        off = np.abs(last.problem.residual(self.values)) / last.problem.scale(self.values)
        if np.any(off > (0 if self.is_whole else ACCEPTED)):
            raise VerificationError(
                f"Relation {int(off.argmax())} of the reconciled table (counted from 0) is off by "
                f"{off.max():.3g} of its terms. {CHANGED}"
            )
        outside = np.maximum(last.problem.lower - self.values, self.values - last.problem.upper)
        if np.any(outside > ACCEPTED * np.maximum(1.0, np.abs(self.values))):
            cell = int(outside.argmax())
            raise VerificationError(
                f"The value {self.values[cell]:g} of row {cell + 1} lies outside its bounds by "
                f"{outside[cell]:.3g}. {CHANGED}"
            )
        for each in self.passes:
            if measure.bound(each.problem, each.multipliers, each.loss) < each.bound:
                raise VerificationError(
                    f"The multipliers do not prove the bound {each.bound:g}. {CHANGED}"
                )

    def summary(self) -> str:
        """Say in one line what was done, and how good that is."""
        moved = np.abs(self.changes)
        kind = "whole numbers" if self.is_whole else "real numbers"
        return (
            f"reconciled ({self.distance}, {kind}): {len(moved):,} cells, changed by "
            f"{moved.mean():.3g} on average and {moved.max(initial=0.0):.3g} at most; loss "
            f"{self.loss:.6g}, bound {self.bound:.6g}, {self._gaps()}; {self.seconds:.1f} s"
        )
