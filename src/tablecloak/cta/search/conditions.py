"""Statistics that linear rows cannot express, so that a search has to preserve them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.statistics.statistic import PreservedRow, Statistic
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True)
class SearchedStatistic(Statistic):
    """Base class of statistics that a search preserves."""

    is_joint: ClassVar[bool] = False
    """Whether several such statistics can be preserved at once: their conditions are smooth."""

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return no row: the condition is not linear."""
        del problem, integer
        return []

    @abstractmethod
    def keep(
        self, model: AdjustmentModel, changes: Floats, fixed: Floats | None, budget: Budget
    ) -> Floats:
        """Return changes that preserve the statistic.

        Parameters
        ----------
        model : AdjustmentModel
        changes : numpy.ndarray of float, shape (n_cells,)
            A good adjustment that need not preserve it.
        fixed : numpy.ndarray of float or None
            Directions, if they were given.
        budget : Budget

        Raises
        ------
        SolverError
            If no such changes were found.
        """
