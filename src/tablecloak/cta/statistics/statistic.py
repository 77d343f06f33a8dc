"""Base class of statistics that an adjustment preserves: linear rows on the changes z = x - a.

Every statistic has a subset of cells, a tolerance, and the method `rows(problem)`. All moments are
taken over the cells of the subset.

References
----------
.. [1] Cox, Kelly, Patil: Balancing quality and confidentiality for multivariate tabular data,
   Privacy in Statistical Databases 2004.
.. [2] Cox: Preserving confidentiality and quality of tabular data, 2003: L(y) = Cov(a, y) / Var(a),
   Var(a + y) / Var(a) = 1 + 2 L(y) + Var(y) / Var(a).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, ModelError
from tablecloak.registry import Registry
from tablecloak.tables.problem import ProtectionProblem

ROW_SHARE = 1e-4
"""Share of the tolerance that a linear row may use; the rest is left for what is not linear.
Without any, rows of conditions that depend on one another would contradict each other by rounding.
"""


class Condition(ABC):
    """A condition on an adjusted table that no linear row expresses, such as on its variance."""

    @abstractmethod
    def error(self, problem: ProtectionProblem, changes: Floats) -> float:
        """Return by how much the adjusted table exceeds the tolerance, as a share."""


class SmoothCondition(Condition):
    """A condition on a smooth function of the values, which a linear row expresses nearby."""

    tolerance: float
    """Accepted excess."""

    @abstractmethod
    def excess(self, problem: ProtectionProblem, changes: Floats) -> float:
        """Return by how much given changes of all cells change the function."""

    def row(
        self,
        problem: ProtectionProblem,
        changes: Floats,
        *,
        share: float = 1.0,
        slack: float = ROW_SHARE,
    ) -> PreservedRow:
        """Return the row that removes an excess, to first order at given changes.

        Parameters
        ----------
        problem : ProtectionProblem
        changes : numpy.ndarray of float, shape (n_cells,)
        share : float, default=1
            Share of the excess that the row removes.
        slack : float, default=ROW_SHARE
            Share of the tolerance that the row may use.
        """
        slopes = self.slopes(problem, changes)
        largest = float(np.abs(slopes).max())
        if not largest > 0:
            raise ModelError(
                "A statistic to preserve does not depend on small changes of these values. Leave "
                "it out."
            )
        target = (float(slopes @ changes) - share * self.excess(problem, changes)) / largest
        return PreservedRow("sum", slopes / largest, slack * self.tolerance / largest, target)

    @abstractmethod
    def slopes(self, problem: ProtectionProblem, changes: Floats) -> Floats:
        """Return the derivatives of the excess by the value of each cell, shape (n_cells,)."""

    def error(self, problem: ProtectionProblem, changes: Floats) -> float:
        """Return by how much the excess exceeds the tolerance."""
        return max(abs(self.excess(problem, changes)) - self.tolerance, 0.0)


@dataclass(frozen=True, eq=False)
class PreservedRow:
    """|coefficients . z - target| <= slack.

    Parameters
    ----------
    name : str
        Name of the row in messages.
    coefficients : numpy.ndarray of float, shape (n_cells,)
        The largest absolute value is 1.
    slack : float
        Accepted distance of the sum from its target.
    target : float, default=0
    """

    name: str
    coefficients: Floats
    slack: float
    target: float = 0.0

    def error(self, changes: npt.ArrayLike, values: Floats | None = None) -> float:
        """Return by how much given changes violate the row, as a share of the sum of its terms.

        Parameters
        ----------
        changes : array of float, shape (n_cells,)
        values : numpy.ndarray of float, shape (n_cells,), optional
            Values of the cells; violations within their rounding to doubles do not count.
        """
        terms = self.coefficients * np.asarray(changes, dtype=np.longdouble)
        off = float(abs(terms.sum() - self.target) - self.slack)
        if values is not None:
            off -= float(np.dot(np.abs(self.coefficients), np.spacing(np.abs(values))))
        size = float(np.abs(terms).sum()) + abs(self.target)
        return off / size if off > 0 else 0.0


@dataclass(frozen=True)
class Statistic:
    """Base class of all statistics.

    Parameters
    ----------
    subset : str, mapping, or array, default="sensitive"
        Cells over which the statistic is taken: ``"sensitive"``, ``"all"``, codes such as
        ``{"region": "North"}`` (a list of codes is also accepted), a mask, or cell indices.
    tolerance : float, default=0
        Accepted change: of a mean as a share of it, of a slope as an absolute number.
    """

    name: ClassVar[str]
    is_named: ClassVar[bool] = True
    """Whether a name and the text after a colon describe it fully, as in "mean:all"."""

    subset: Annotated[Any, Field(description="Cells over which it is taken.")] = "sensitive"
    tolerance: Annotated[float, Field(ge=0, description="Accepted change, as a share.")] = 0.0

    def __post_init__(self) -> None:
        if not self.tolerance >= 0:
            raise InputError(f"`tolerance` must be a number >= 0. Got {self.tolerance!r}.")

    @classmethod
    def of_text(cls, text: str) -> Statistic:
        """Return the statistic that a text after its name stands for, by default a subset."""
        return cls(text or "sensitive")

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return the rows that preserve the statistic.

        Parameters
        ----------
        problem : ProtectionProblem
        integer : bool, default=False
            Whether changes are whole numbers.
        """
        raise NotImplementedError

    def conditions(self, problem: ProtectionProblem) -> list[Condition]:
        """Return the conditions that rows cannot express and a search has to meet; default none."""
        del problem
        return []


STATISTICS: Registry[Statistic] = Registry(
    "statistic", ("tablecloak.cta.statistics", "tablecloak.cta.search.statistics")
)
"""All statistics that an adjustment can preserve, by name."""
