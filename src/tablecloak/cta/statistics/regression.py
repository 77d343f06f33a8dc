"""The regression of adjusted on original values, and the covariance with another variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import Floats
from tablecloak.cta.statistics.moments import centred, select
from tablecloak.cta.statistics.statistic import STATISTICS, PreservedRow, Statistic
from tablecloak.errors import InputError, ModelError
from tablecloak.tables.problem import ProtectionProblem


@STATISTICS.register
@dataclass(frozen=True)
class Mean(Statistic):
    """The mean of the subset stays: sum z_i = 0."""

    name: ClassVar[str] = "mean"

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return one row with coefficient 1 on each cell of the subset."""
        cells = select(problem, self.subset)
        total = float(np.abs(problem.table.values[cells].sum()))
        return [PreservedRow("mean", cells.astype(np.float64), self.tolerance * total)]


@STATISTICS.register
@dataclass(frozen=True)
class Slope(Statistic):
    """The slope of the adjusted on the original values is 1: L(z) = Cov(a, z) / Var(a) = 0."""

    name: ClassVar[str] = "slope"

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return one row with coefficients a_i - mean(a), scaled to at most 1.

        Raises
        ------
        ModelError
            If all values of the subset are equal, so that no slope is defined.
        """
        cells = select(problem, self.subset)
        values = problem.table.values
        distances = np.zeros(len(values))
        distances[cells] = centred(values[cells])
        largest = float(np.abs(distances).max())
        if largest == 0:
            raise ModelError(
                "Slope: all values of the subset are equal, so no slope is defined. Choose a "
                "subset with different values, or leave the slope out."
            )
        spread = float(np.sum(distances**2)) / largest
        # Changes in whole numbers cannot meet a row with fractional coefficients exactly. Accept
        # half a unit of one cell, the precision with which values are published.
        whole = 0.5 if integer else 0.0
        slack = max(self.tolerance * spread, whole)
        return [PreservedRow("slope", distances / largest, slack)]


@STATISTICS.register
@dataclass(frozen=True)
class Regression(Statistic):
    """Slope 1 and intercept 0: the regression of adjusted on original values is the identity."""

    name: ClassVar[str] = "regression"

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return the rows of the mean and of the slope."""
        mean = Mean(self.subset, self.tolerance).rows(problem, integer=integer)
        return mean + Slope(self.subset, self.tolerance).rows(problem, integer=integer)


@STATISTICS.register
@dataclass(frozen=True)
class Covariance(Statistic):
    """The covariance with another variable of the same cells stays: Cov(x, v) = Cov(a, b).

    Parameters
    ----------
    subset, tolerance
        See `Statistic`; the tolerance is a share of the product of standard deviations.
    other : array_like of float, shape (n_cells,)
        True values b of the other variable, in the order of the cells.
    published : array_like of float, shape (n_cells,), optional
        Published values v of the other variable, such as adjusted ones; by default the true ones.
    """

    name: ClassVar[str] = "covariance"
    is_named: ClassVar[bool] = False

    other: Annotated[Any, Field(description="True values of the other variable.")] = None
    published: Annotated[
        Any, Field(description="Its published values; by default the true ones.")
    ] = None

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return one row with coefficients v_i - mean(v), scaled to at most 1.

        Raises
        ------
        InputError
            If the other variable does not have one number for each cell.
        ModelError
            If all values of the other variable are equal.
        """
        cells = select(problem, self.subset)
        values = problem.table.values
        true = released = _of_all_cells(problem, self.other, "other")
        if self.published is not None:
            released = _of_all_cells(problem, self.published, "published")
        a, b, v = values[cells], true[cells], released[cells]
        distances = np.zeros(len(values))
        distances[cells] = centred(v)
        largest = float(np.abs(distances).max())
        if largest == 0:
            raise ModelError(
                "Covariance: all published values of the other variable are equal, so that every "
                "table has covariance 0 with it. Leave this statistic out."
            )
        wanted = float(np.sum(centred(a) * centred(b)))
        target = (wanted - float(np.sum(centred(a) * centred(v)))) / largest
        spreads = np.sqrt(np.mean(centred(a) ** 2) * np.mean(centred(b) ** 2))
        accepted = self.tolerance * len(a) * float(spreads) / largest
        slack = max(accepted, 0.5 if integer else 0.0)
        return [PreservedRow("covariance", distances / largest, slack, target)]


def _of_all_cells(problem: ProtectionProblem, given: Any, name: str) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.shape != problem.table.values.shape or not np.all(np.isfinite(values)):
        raise InputError(
            f"`{name}` must hold one finite number for each cell of the table. Got an array of "
            f"shape {values.shape} for {problem.table.n_cells} cells."
        )
    return values
