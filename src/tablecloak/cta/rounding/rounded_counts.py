"""What both ways to round have in common: whole numbers, an attack on them, and the release."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Floats, Integers
from tablecloak.results import changed_in_words
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.protected_table import ProtectedTable
from tablecloak.tables.published import published_order, published_rows


class RoundedCounts(ProtectedTable):
    """A table rounded to multiples of a base, or without small counts.

    The search looks at no rule, so that its verdict rests on an attack on every sensitive cell.
    """

    promise: ClassVar[str] = (
        "It is proved that the table adds up, how far values were moved, and what that loses. "
        "Rounding looks at no rule: whether it protects is found by an attack on every sensitive "
        "cell, by somebody who knows the rounded values, the base, all sums and the external "
        "bounds; the verdict says how many cells withstand it."
    )
    price: ClassVar[str] = "moved beyond the nearest values"
    saving: ClassVar[str] = "no such rounding moves less"

    base: int
    values: Integers
    """Rounded values, shape (n_cells,)."""

    @abstractmethod
    def intervals(self) -> tuple[Floats, Floats]:
        """Smallest and largest true value that the rounded value alone leaves possible."""

    @property
    def _problems(self) -> Sequence[ProtectionProblem]:
        """The problems whose sensitive cells it has to protect."""
        return [self.problem]

    @cached_property
    def attacks(self) -> tuple[Any, ...]:
        """Audits of the sensitive cells by everybody who has the release. Secret."""
        made = {id(problem): audit for problem, audit in self._made}
        return tuple(
            made.get(id(problem)) or showing.attacked(self, problem) for problem in self._problems
        )

    @cached_property
    def _made(self) -> list[tuple[ProtectionProblem, Any]]:
        return []

    def judged(self, problem: ProtectionProblem, audit: Any) -> None:
        """Take an attack by everybody that was made already, so that a verdict needs no other."""
        self._made.append((problem, audit))

    @property
    def is_safe(self) -> bool:
        """Whether every sensitive cell withstands the attack."""
        return all(audit.is_safe for audit in self.attacks)

    def told(self) -> tuple[Floats, Floats]:
        """Return the ends of what the release tells of each cell."""
        return self.intervals()

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and rounded values."""
        table = self.problem.table
        return published_rows(table, **{table.name: self.values[published_order(table)]})

    def _safety(self) -> Iterator[str]:
        """Say how many sensitive cells are protected; if there are two problems, of the worse."""
        audit = min(self.attacks, key=lambda audit: audit.n_protected / max(len(audit.verdicts), 1))
        n = len(audit.verdicts)
        left = {
            "can be estimated too closely": audit.n_attackable,
            "are not settled": n - audit.n_protected - audit.n_attackable,
        }
        others = "".join(f", {number} {words}" for words, number in left.items() if number)
        judged = "Safe" if self.is_safe else "NOT SAFE"
        yield (
            f"{judged} against all who know the rounded values, the base, their sums and the "
            f"external bounds: {audit.n_protected} of {n} sensitive cells are "
            f"protected{others}."
        )

    def _extent(self) -> str:
        true = self.problem.table.values
        most = np.abs(self.values - true).max(initial=0)
        detail = f" each by at most {most:g},"
        return changed_in_words(true, self.values, self.values != true, detail)

    def _next_step(self) -> str:
        if self.is_safe:
            return super()._next_step()
        return (
            "Next: do not publish it; a larger base protects more, and cell suppression protects "
            "every sensitive cell."
        )
