"""Tables of counts perturbed by cell keys, compared by the perturbed counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.cellkey.perturbed_problem import PerturbedProblem, perturb_problem
from tablecloak.comparison.inferred import protects
from tablecloak.comparison.kind import KINDS, ReleaseKind
from tablecloak.comparison.kinds.changed import as_they_stand, changes
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["CellKeys"]


@KINDS.register
class CellKeys(ReleaseKind[PerturbedProblem]):
    """A table of counts perturbed by cell keys."""

    name: ClassVar[str] = "cell keys"
    made: ClassVar[type] = PerturbedProblem
    made_by: ClassVar[str] = "tables of `perturb_problem`"
    place: ClassVar[int] = 4

    def methods_for_counts(
        self, time_limit: float
    ) -> Mapping[str, Callable[[ProtectionProblem], PerturbedProblem]]:
        """Return perturbation with the usual perturbation table."""
        return {"cell keys": partial(perturb_problem, time_limit=time_limit)}

    def ends(self, release: PerturbedProblem) -> tuple[Floats, Floats]:
        """Return the perturbed counts."""
        return as_they_stand(release.values)

    def is_safe(
        self, problem: ProtectionProblem, release: PerturbedProblem, lower: Floats, upper: Floats
    ) -> bool:
        """Compare the intervals that an intruder infers with what the levels ask for."""
        low, high = release.intervals
        return protects(problem, low.astype(np.float64), high.astype(np.float64))

    def possible(
        self, release: PerturbedProblem, lower: Floats, upper: Floats, time_limit: float
    ) -> tuple[Integers, Integers]:
        """Return what follows from all perturbed counts together."""
        return release.intervals

    def published(self, release: PerturbedProblem, shown: Floats) -> tuple[Flags, Floats]:
        """Return the counts that were not changed, and how far the others moved."""
        return changes(shown, release.problem.table.values, 1.0)
