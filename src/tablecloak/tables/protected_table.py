"""What all releases of a protected table say of themselves: is it safe, its price, what is next."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import ClassVar, Self

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget
from tablecloak.results import Result, in_percent
from tablecloak.tables.problem import ProtectionProblem

INTERRUPTED = "interrupted: the best that was proved so far"
"""Note of a search that was stopped."""

NEARLY = 0.01
"""Share of the loss below which a better release is not worth a search."""


class ProtectedTable(Result):
    """A release of a table of which the cells of a problem are sensitive."""

    promise: ClassVar[str]
    """What is proved of each such release, and what is not, in sentences for everybody. Verdicts,
    statements of jobs and docs/guarantees.md say no more than this."""

    price: ClassVar[str]
    """What is lost beyond what every release loses, for "of what is ..., 5 % could be saved"."""

    saving: ClassVar[str]
    """What the best release has proved, to be followed by its weights: "nothing as safe hides
    less"."""

    problem: ProtectionProblem
    time_limit: float = inf
    ran_out: bool = False
    notes: tuple[str, ...] = ()

    def ended(self, budget: Budget) -> Self:
        """Return it with what its budget tells: limit, seconds, and how it ended."""
        notes = (INTERRUPTED, *self.notes) if budget.is_stopped else self.notes
        limit = budget.deadline - budget.started
        return replace(  # type: ignore[type-var]
            self, seconds=budget.elapsed, time_limit=limit, ran_out=budget.ran_out, notes=notes
        )

    @property
    def is_safe(self) -> bool:
        """Whether every sensitive cell is protected, as far as `promise` goes."""
        return True

    @property
    def was_cut_off(self) -> bool:
        """Whether the search ended for lack of time, or was stopped: it had more to try."""
        return INTERRUPTED in self.notes or self.ran_out

    @abstractmethod
    def _safety(self) -> Iterator[str]:
        """Say how many sensitive cells are protected, how many are not, and against whom."""

    @abstractmethod
    def _extent(self) -> str:
        """Say how much is hidden or changed."""

    def _changed(self, shown: Floats, is_changed: Flags, detail: str = "") -> str:
        """Say how many values are not the true ones, and by how much of their sum.

        Parameters
        ----------
        shown : numpy.ndarray of float, shape (n_cells,)
        is_changed : numpy.ndarray of bool, shape (n_cells,)
        detail : str, default=""
            What else is to be said of each change, before the sum.
        """
        table, changed = self.problem.table, int(np.sum(is_changed))
        share = table.share_of_sum(np.abs(shown - table.values), 2)
        whole = "the sum of all values"
        by = (
            f"{share} of {whole}"
            if table.variables is None
            else f"these shares of {whole}: {share}"
        )
        return (
            f"Changed: {changed:,} of {table.n_cells:,} cells "
            f"({in_percent(changed, table.n_cells)}),{detail} by {by}."
        )

    def verdict(self) -> str:
        """Say for those who decide whether it is safe, its price, how good it is, what is next.

        One sentence a line, without figures of the search; `summary` has these. Secret.
        """
        if not self.problem.n_sensitive:
            return (
                f"Nothing is protected: no cell is sensitive by any rule or decision.\n"
                f"{self._extent()}\n"
                f"Next: check the rules, and what is a contributor; publish it only if no cell "
                f"needs protection."
            )
        return "\n".join((*self._safety(), self._extent(), self._quality(), self._next_step()))

    def _quality(self) -> str:
        """How near the release is to the best one."""
        if self.is_optimal:
            return (
                f"How good: proved to be the best by the weights that were used; {self.saving} by "
                f"them."
            )
        if self.avoidable_gap >= 1.0:
            return "How good: not known; nothing was proved of how much less would do."
        is_near = self.avoidable_gap < NEARLY
        share = "less than 1 %" if is_near else f"at most {100 * self.avoidable_gap:.0f} %"
        return f"How good: of what is {self.price}, {share} could be saved."

    @property
    def _is_open(self) -> bool:
        return self.avoidable_gap >= NEARLY

    def _release_advice(self) -> str:
        """What to do with the release, to follow "Next: "."""
        return "publish its release"

    def _next_step(self) -> str:
        advice = f"Next: {self._release_advice()}"
        if INTERRUPTED in self.notes:
            return (
                f"Interrupted: this is the best that was proved until then.\n"
                f"{advice}, or start again and wait for a better one."
            )
        if not self._is_open:
            return f"{advice}, and keep all else inside."
        if self.was_cut_off:
            limit = self.time_limit
            longer = f"a time limit above {limit:g} s" if limit < inf else "more time"
            return f"{advice}; for a better one try {longer}, or larger categories."
        return (
            f"{advice}; the search tried all that it can try, so that more time does not help: for "
            f"a better one try larger categories."
        )
