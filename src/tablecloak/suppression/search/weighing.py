"""Weights by a rule, and lower ones for cells that were suppressed last period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Flags
from tablecloak.budget import Budget
from tablecloak.errors import InputError
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.changes.change import Change
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights import WeightRule


@dataclass(frozen=True, eq=False)
class Weighing:
    """The change to a problem with other weights, as it is asked for.

    Parameters
    ----------
    rule : WeightRule, str or None
        None keeps the weights of the problem.
    previous : SuppressionPattern or array_like of bool or None, default=None
        Last period's pattern over the same cells.
    discount : float, default=0.5
        Share by which the weights of cells suppressed last period are lowered.
    """

    rule: WeightRule | str | None
    previous: SuppressionPattern | npt.ArrayLike | None = None
    discount: float = 0.5

    def change(self, problem: ProtectionProblem, budget: Budget | None = None) -> Change:
        """Return the change.

        Raises
        ------
        InputError
            If last period's pattern has other cells, or the discount is no share.
        """
        del budget
        weighed = problem if self.rule is None else problem.with_weights(self.rule)
        if self.previous is None:
            return Change.within(problem, weighed)
        before = _suppressed_before(self.previous)
        if before.shape != problem.status.shape:
            raise InputError(
                f"`previous` has {before.size} entries, but the table has "
                f"{problem.table.n_cells} cells. Match last period's cells by their codes first."
            )
        if not 0 <= self.discount <= 1:
            raise InputError(f"`discount` must lie between 0 and 1. Got {self.discount!r}.")
        weights = weighed.weights * np.where(before, 1 - self.discount, 1.0)
        return Change.within(problem, weighed.with_changes(weights=weights))


def _suppressed_before(previous: SuppressionPattern | npt.ArrayLike) -> Flags:
    """Return which cells of the table were suppressed, without those that the search added."""
    if isinstance(previous, SuppressionPattern):
        return previous.suppressed[previous.given_cells]
    return np.asarray(previous, dtype=bool)
