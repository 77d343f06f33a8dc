"""How two variables go together over pairs of cells: a covariance, a correlation or a slope.

Each is a smooth function of the values of both variables, so that no linear row expresses it. At
given changes its gradient gives a row that does so nearby; a search solves such rows until the
function itself is met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.search.conditions import SearchedStatistic
from tablecloak.cta.search.smooth import with_conditions
from tablecloak.cta.search.statistics.variance import PreservedVariance
from tablecloak.cta.statistics.moments import centred, select
from tablecloak.cta.statistics.regression import Mean
from tablecloak.cta.statistics.statistic import (
    STATISTICS,
    Condition,
    PreservedRow,
    SmoothCondition,
)
from tablecloak.errors import InputError, ModelError, require_known
from tablecloak.tables.problem import ProtectionProblem

FEWEST_PAIRS = 3
"""Least number of pairs of cells: two have the correlation 1 or -1 whatever their values."""


@dataclass(frozen=True, eq=False)
class Association(SmoothCondition):
    """A covariance, correlation or slope over pairs of cells stays, within a tolerance.

    Parameters
    ----------
    kind : {"covariance", "correlation", "slope"}
        The slope is that of the second variable on the first.
    first, second : numpy.ndarray of int, shape (n_pairs,)
        Cells of both variables; the same place is a pair.
    tolerance : float
        Accepted change, in units of standard deviations: of the covariance as a share of the
        product of both, of the slope as a share of the second over the first.
    """

    kind: str
    first: Integers
    second: Integers
    tolerance: float

    def excess(self, problem: ProtectionProblem, changes: Floats) -> float:
        """Return the association after changes of all cells less that before, in its unit."""
        before, unit, *_ = self._value(problem.table.values)
        return (self._value(problem.table.values + changes)[0] - before) / unit

    def slopes(self, problem: ProtectionProblem, changes: Floats) -> Floats:
        """Return the derivatives by the values of both variables."""
        slopes, unit = np.zeros(len(changes)), self._value(problem.table.values)[1]
        _, _, of_first, of_second = self._value(problem.table.values + changes)
        slopes[self.first], slopes[self.second] = of_first / unit, of_second / unit
        return slopes

    def _value(self, values: Floats) -> tuple[float, float, Floats, Floats]:
        """Return the association, the unit of its tolerance, and derivatives by both variables."""
        u, v, n = centred(values[self.first]), centred(values[self.second]), len(self.first)
        both, of_u, of_v = float(u @ v) / n, float(u @ u) / n, float(v @ v) / n
        if self.kind == "covariance":
            return both, np.sqrt(of_u * of_v), v / n, u / n
        if self.kind == "slope":
            slope = both / of_u
            return slope, np.sqrt(of_v / of_u), (v - 2 * slope * u) / (n * of_u), u / (n * of_u)
        size = np.sqrt(of_u * of_v)
        correlation = both / size
        by_u = (v / size - correlation * u / of_u) / n
        return correlation, 1.0, by_u, (u / size - correlation * v / of_v) / n


@dataclass(frozen=True)
class OfTwoVariables(SearchedStatistic):
    """Base class of statistics of two variables of a joined table.

    Parameters
    ----------
    subset, tolerance
        See `Statistic`. Of the chosen cells, those of one variable are paired with those of the
        other that have the same codes; "detailed" chooses cells without parts on any dimension.
        The tolerance is in units of standard deviations.
    first, second : str
        Names of both variables.
    """

    is_joint: ClassVar[bool] = True
    kind: ClassVar[str]
    """What the verifier calls it."""

    keeps_means: ClassVar[bool] = False
    """Whether both means are kept as well."""

    subset: Annotated[Any, Field(description="Cells over which it is taken.")] = "detailed"
    tolerance: Annotated[
        float, Field(ge=0, description="Accepted change, in units of standard deviations.")
    ] = 1e-4
    first: Annotated[str, Field(description="Name of one variable.")] = ""
    second: Annotated[str, Field(description="Name of the other variable.")] = ""

    @classmethod
    def of_text(cls, text: str) -> OfTwoVariables:
        """Return the statistic of "second ~ first", such as "bonuses ~ wages".

        Raises
        ------
        InputError
            If two names are not there.
        """
        second, sign, first = (part.strip() for part in text.partition("~"))
        if not (second and sign and first):
            raise InputError(
                f"`preserve` names {cls.name!r} without two variables. Write "
                f"'{cls.name}:second ~ first', as in '{cls.name}:bonuses ~ wages'."
            )
        return cls(first=first, second=second)

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return the rows of both means, if they are kept."""
        means = [Mean(cells) for cells in self.pairs(problem)] if self.keeps_means else []
        return [row for mean in means for row in mean.rows(problem, integer=integer)]

    def conditions(self, problem: ProtectionProblem) -> list[Condition]:
        """Return what `smooth` returns."""
        return [*self.smooth(problem)]

    def smooth(self, problem: ProtectionProblem) -> list[SmoothCondition]:
        """Return the conditions, by default that of one association."""
        return [self.kept(problem)]

    def kept(self, problem: ProtectionProblem) -> Association:
        """Return the condition on the association itself, for checks.

        Raises
        ------
        InputError
            If the table has no such variables, or fewer than three pairs of cells.
        ModelError
            If all values of a variable are equal.
        """
        first, second = self.pairs(problem)
        for name, cells in ((self.first, first), (self.second, second)):
            values = problem.table.values[cells]
            if values.min() == values.max():
                raise ModelError(
                    f"All values of {name!r} are equal over the chosen cells, so that nothing goes "
                    "together with them. Choose other cells, or leave this statistic out."
                )
        return Association(self.kind, first, second, self.tolerance)

    def pairs(self, problem: ProtectionProblem) -> tuple[Integers, Integers]:
        """Return the cells of both variables, paired by their codes, shape (n_pairs,) each."""
        variables = problem.table.variables
        if variables is None:
            raise InputError(
                f"The statistic {self.name!r} is of two variables, but the table has one. Join "
                "the problems of both with `tablecloak.join`."
            )
        for name in (self.first, self.second):
            require_known(
                name, variables.names, f"The statistic {self.name!r} names the variable {name!r}."
            )
        if self.first == self.second:
            raise InputError(f"The statistic {self.name!r} names {self.first!r} twice.")
        chosen = select(problem, self.subset)
        keys = problem.table.keys
        who = keys[variables.dimension]
        others = [name for name in keys.columns if name != variables.dimension]
        mine, theirs = (
            keys[chosen & (who == name).to_numpy(bool)][others].reset_index()
            for name in (self.first, self.second)
        )
        both = mine.merge(theirs, on=others, suffixes=("_first", "_second"))
        if len(both) < FEWEST_PAIRS:
            raise InputError(
                f"Only {len(both)} of the chosen cells of {self.first!r} have one of "
                f"{self.second!r} with the same codes; at least {FEWEST_PAIRS} are needed."
            )
        return both["index_first"].to_numpy(np.int64), both["index_second"].to_numpy(np.int64)

    def keep(
        self, model: AdjustmentModel, changes: Floats, fixed: Floats | None, budget: Budget
    ) -> Floats:
        """Return changes that preserve the statistic, by rows that its gradient gives."""
        return with_conditions(model, changes, self.smooth(model.problem), fixed, budget)


@STATISTICS.register
@dataclass(frozen=True)
class Correlation(OfTwoVariables):
    """The correlation of two adjusted variables stays.

    Parameters
    ----------
    subset, tolerance, first, second
        See `OfTwoVariables`.
    """

    name: ClassVar[str] = "correlation"
    kind: ClassVar[str] = "correlation"


@STATISTICS.register
@dataclass(frozen=True)
class JointCovariance(OfTwoVariables):
    """The covariance of two adjusted variables stays: Cov(x_u, x_v) = Cov(a_u, a_v).

    Parameters
    ----------
    subset, tolerance, first, second
        See `OfTwoVariables`.
    """

    name: ClassVar[str] = "joint-covariance"
    kind: ClassVar[str] = "covariance"


@STATISTICS.register
@dataclass(frozen=True)
class JointRegression(OfTwoVariables):
    """The regression of a second variable on a first one stays: both means, and the slope.

    Both means are kept exactly, as rows, so that the intercept changes by the change of the slope
    times the mean of the first variable.

    Parameters
    ----------
    subset, tolerance, first, second
        See `OfTwoVariables`; the second one is explained by the first.
    """

    name: ClassVar[str] = "joint-regression"
    kind: ClassVar[str] = "slope"
    keeps_means: ClassVar[bool] = True


@STATISTICS.register
@dataclass(frozen=True)
class JointMoments(OfTwoVariables):
    """All first and second moments of two variables stay: means, variances, and the covariance.

    With them stay the correlation, the regression of each variable on the other, and their
    standard errors. Means are kept exactly, as rows.

    Parameters
    ----------
    subset, tolerance, first, second
        See `OfTwoVariables`; of a variance the tolerance is a share.
    """

    name: ClassVar[str] = "joint-moments"
    kind: ClassVar[str] = "covariance"
    keeps_means: ClassVar[bool] = True

    def smooth(self, problem: ProtectionProblem) -> list[SmoothCondition]:
        """Return the conditions on the covariance and on both variances."""
        kept = self.kept(problem)
        conditions: list[SmoothCondition] = [kept]
        for cells in (kept.first, kept.second):
            chosen = np.zeros(problem.table.n_cells, dtype=bool)
            chosen[cells] = True
            conditions.append(PreservedVariance(chosen, self.tolerance))
        return conditions
