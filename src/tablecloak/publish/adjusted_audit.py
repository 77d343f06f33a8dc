"""The verdict on an adjusted table: additive, within bounds, and far enough from the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Floats
from tablecloak.budget import Stopwatch
from tablecloak.cta.model.precision import deviation, shortfall
from tablecloak.cta.model.room import near_bound
from tablecloak.errors import InputError
from tablecloak.tables.additivity import ADDITIVITY_TOLERANCE
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class AdjustedAudit:
    """Verdict on an adjusted table.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of float, shape (n_cells,)
    shortfall : numpy.ndarray of float, shape (n_sensitive,)
        Distance of each sensitive cell from its nearer protection level; 0 where safe. A side
        on which the level is 0 does not count.
    relations : float
        Largest error of a relation; errors of at most 1e-9 of its terms, which reading a table
        accepts, count as 0.
    bounds : float
        Largest violation of an external bound beyond rounding of that value.
    frozen : int
        Number of frozen cells that were changed.
    tolerance : float
        Accepted error, in the unit of the table.
    seconds : float
    """

    problem: ProtectionProblem
    values: Floats
    shortfall: Floats
    relations: float
    bounds: float
    frozen: int
    tolerance: float
    seconds: float

    @property
    def is_safe(self) -> bool:
        """Whether the table is additive, within bounds, and all sensitive cells are safe."""
        worst = max(float(self.shortfall.max(initial=0)), self.relations, self.bounds)
        return worst <= self.tolerance and self.frozen == 0

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each sensitive cell, the worst first. Secret."""
        cells = np.flatnonzero(self.problem.sensitive)
        values = self.problem.table.values[cells]
        frame = self.problem.table.keys.iloc[cells].assign(
            value=values,
            adjusted=self.values[cells],
            forbidden_lower=values - self.problem.lower_protection[cells],
            forbidden_upper=values + self.problem.upper_protection[cells],
            shortfall=self.shortfall,
        )
        return frame.sort_values("shortfall", ascending=False, kind="stable")

    def summary(self) -> str:
        """Say in one line how the check went."""
        near = int(np.sum(self.shortfall > self.tolerance))
        return (
            f"audit (adjusted table): {len(self.shortfall) - near} of {len(self.shortfall)} "
            f"sensitive cells safe, {near} too near to the truth; relations off by at most "
            f"{self.relations:g}, bounds by {self.bounds:g}, {self.frozen} frozen cells changed; "
            f"{self.seconds:.1f} s"
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _repr_html_(self) -> str:
        return showing.html(self)


def audit_values(problem: ProtectionProblem, values: Floats) -> AdjustedAudit:
    """Check the values of an adjusted table, whoever made it.

    Raises
    ------
    InputError
        If a value is not finite.
    """
    watch = Stopwatch()
    if not np.all(np.isfinite(values)):
        odd = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(
            "An adjusted table must have a finite value in every cell, but "
            f"{problem.table.label(odd)} has none. Fill it in; a release with gaps is audited as a "
            "suppression pattern."
        )
    table, moved = problem.table, deviation(problem.table, values)
    size = abs(table.relations) @ np.maximum(np.abs(values), np.abs(table.values))
    accepted = np.maximum(moved.accepted, ADDITIVITY_TOLERANCE * size + table.tolerance)
    off = np.where(moved.relations > accepted, moved.relations, 0.0)
    outside = np.zeros(len(values))
    for bound, beyond in (
        (problem.lower_bound, problem.lower_bound - values),
        (problem.upper_bound, values - problem.upper_bound),
    ):
        outside = np.maximum(outside, np.where(beyond > near_bound(bound, values), beyond, 0.0))
    return AdjustedAudit(
        problem=problem,
        values=values,
        shortfall=shortfall(problem, moved.changes)[problem.sensitive],
        relations=float(off.max(initial=0.0)),
        bounds=float(outside.max(initial=0.0)),
        frozen=int(np.sum(problem.frozen & (moved.changes != 0))),
        tolerance=0.0,
        seconds=watch.seconds,
    )
