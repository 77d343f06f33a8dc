"""Weights by a rule, and lower ones for cells that were suppressed last period."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Flags
from tablecloak.budget import Budget
from tablecloak.errors import InputError, listed
from tablecloak.suppression.result.pattern import LastPeriod, SuppressionPattern
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
        before = _suppressed_before(self.previous, problem)
        if not 0 <= self.discount <= 1:
            raise InputError(f"`discount` must lie between 0 and 1. Got {self.discount!r}.")
        weights = weighed.weights * np.where(before, 1 - self.discount, 1.0)
        return Change.within(
            problem,
            weighed.with_changes(weights=weights),
            remarks={"last": LastPeriod(before, self.discount)},
        )


def _suppressed_before(
    previous: SuppressionPattern | npt.ArrayLike, problem: ProtectionProblem
) -> Flags:
    """Return which cells of the table were suppressed: those of a pattern by their codes."""
    if isinstance(previous, SuppressionPattern):
        given, cells = previous.problem.table.keys, previous.given_cells
        keys, before = _as_text(problem.table.keys), _as_text(given.iloc[cells])
        if set(before) != set(keys):
            raise InputError(
                f"`previous` has the dimensions {listed(list(before))}, but the table has "
                f"{listed(list(keys))}. Give a pattern of the same dimensions."
            )
        hidden = before.loc[previous.suppressed[cells], list(keys)]
        flags: Flags = pd.MultiIndex.from_frame(keys).isin(pd.MultiIndex.from_frame(hidden))
        return flags
    if isinstance(previous, str | Path):
        raise InputError(
            f"`previous` is a path. Read it first: "
            f"previous=tc.read_previous(problem, {str(previous)!r})."
        )
    flags = np.asarray(previous, dtype=bool)
    if flags.shape != problem.status.shape:
        raise InputError(
            f"`previous` has {flags.size} entries, but the table has {problem.table.n_cells} "
            f"cells. Give last period's pattern itself, whose cells are matched by their codes, or "
            f"`tc.read_previous(problem, path)` of its file."
        )
    return flags


def _as_text(keys: pd.DataFrame) -> pd.DataFrame:
    """Return codes and names of dimensions as text, in which two periods may differ."""
    return keys.set_axis([str(name) for name in keys.columns], axis=1).astype(str)
