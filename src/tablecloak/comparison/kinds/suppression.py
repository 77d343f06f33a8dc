"""Suppressed tables, compared by the intervals that follow from what is published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.comparison.inferred import counts_within, protects
from tablecloak.comparison.kind import KINDS, ReleaseKind
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.suppress import suppress
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Suppression", "hidden_intervals"]


@KINDS.register
class Suppression(ReleaseKind[SuppressionPattern]):
    """A suppression pattern."""

    name: ClassVar[str] = "suppression"
    made: ClassVar[type] = SuppressionPattern
    made_by: ClassVar[str] = "patterns of `suppress`"
    place: ClassVar[int] = 1
    note: ClassVar[str] = (
        "dimension: how many hidden values an intruder must learn before all others follow. "
        "told_by_one: the most sensitive cells that follow from a single hidden value."
    )

    def methods(
        self, time_limit: float
    ) -> Mapping[str, Callable[[ProtectionProblem], SuppressionPattern]]:
        """Return suppression."""
        return {"suppression": partial(suppress, time_limit=time_limit)}

    def ends(self, release: SuppressionPattern) -> tuple[Floats, Floats]:
        """Return what follows from the published cells."""
        return hidden_intervals(release)

    def is_safe(
        self,
        problem: ProtectionProblem,
        release: SuppressionPattern,
        lower: Floats,
        upper: Floats,
    ) -> bool:
        """Compare the intervals with what the levels ask for."""
        return protects(problem, lower, upper)

    def possible(
        self, release: SuppressionPattern, lower: Floats, upper: Floats, time_limit: float
    ) -> tuple[Floats, Floats]:
        """Return the whole numbers within the intervals that fit together."""
        return counts_within(release.problem, lower, upper, time_limit)

    def own_figures(
        self, problem: ProtectionProblem, release: SuppressionPattern
    ) -> dict[str, float]:
        """Return how many hidden values tell all others, and what one of them tells."""
        del problem
        found = release.robustness
        return {"dimension": found.dimension, "told_by_one": found.most_told}

    def published(self, release: SuppressionPattern, shown: Floats) -> tuple[Flags, Floats]:
        """Return the published cells, and the values of the others."""
        lost = np.where(release.suppressed, np.abs(release.problem.table.values), 0.0)
        return ~release.suppressed, lost


def hidden_intervals(pattern: SuppressionPattern) -> tuple[Floats, Floats]:
    """Return the interval of each cell that follows from what a pattern publishes.

    Published cells have intervals of width 0. Two linear programs for each suppressed cell. An end
    that nothing limits is infinite.

    Returns
    -------
    lower, upper : numpy.ndarray of float, shape (n_cells,)
    """
    problem = pattern.problem
    lower, upper = problem.table.values.copy(), problem.table.values.copy()
    needs = needs_of(problem, Requirement.TWO_SIDED)
    system = System.of(problem, needs, pattern.suppressed & ~problem.frozen)
    attack = Attack(system)
    attack.hide(np.ones(system.n_unknown, dtype=bool))
    for at, cell in enumerate(system.cells.tolist()):
        # The end is a proved bound: an error of the solver never makes the interval too narrow.
        upper[cell] += attack.extreme(at, 1).limit
        lower[cell] -= attack.extreme(at, -1).limit
    return np.maximum(lower, problem.lower_bound), np.minimum(upper, problem.upper_bound)
