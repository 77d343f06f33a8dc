"""Tables of records with multiplicative noise, compared by the noisy values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.comparison.inferred import are_wide
from tablecloak.comparison.kind import KINDS, ReleaseKind
from tablecloak.comparison.kinds.changed import as_they_stand, changes
from tablecloak.cta.risk.risk import Guesses
from tablecloak.microdata.noise_risk import insiders, insiders_guess, outsiders_guess, windows
from tablecloak.microdata.noisy_table import NoisyTable, noisy_table
from tablecloak.suppression.attack.audit import audit_pattern
from tablecloak.suppression.attack.finding import Verdict
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.tabulation.contributed import Contributed

__all__ = ["RecordNoise"]


@KINDS.register
class RecordNoise(ReleaseKind[NoisyTable]):
    """A table of records with multiplicative noise."""

    name: ClassVar[str] = "noise of records"
    made: ClassVar[type] = NoisyTable
    made_by: ClassVar[str] = "tables of `noisy_table`"
    place: ClassVar[int] = 5
    note: ClassVar[str] = (
        "window, insider_window: with noise of records, the share of the sensitive cells whose "
        "possible values reach as far as the levels ask for, for an outsider and for the second "
        "largest contributor, who knows its own contribution and multiplier. insider_guessed: "
        "share that this contributor guesses to within the level. All are told everything but the "
        "seed and the sizes of cells, and guess the value that most other seeds point to."
    )

    def methods_for_records(
        self, records: Contributed
    ) -> Mapping[str, Callable[[ProtectionProblem], NoisyTable]]:
        """Return noise with directions by chance, and balanced within the most detailed cells."""
        names = tuple(records.hierarchies)
        return {
            "noise of records": partial(noisy_table, records=records),
            "balanced noise of records": partial(noisy_table, records=records, balance=names),
        }

    def ends(self, release: NoisyTable) -> tuple[Floats, Floats]:
        """Return the noisy values."""
        return as_they_stand(release.values)

    def is_safe(
        self, problem: ProtectionProblem, release: NoisyTable, lower: Floats, upper: Floats
    ) -> bool:
        """Compare the windows of outsider and insider with what the levels ask for."""
        release = replace(release, problem=problem)
        return bool(np.all(_outsider(problem, release)) and np.all(_insider(problem, release)))

    def own_figures(self, problem: ProtectionProblem, release: NoisyTable) -> dict[str, float]:
        """Return the shares of windows that are wide enough, and of an insider's right guesses."""
        release = replace(release, problem=problem)
        known = insiders(release)
        right = _right(problem, known.cells, insiders_guess(release, known))
        n = max(problem.n_sensitive, 1)
        return {
            "window": np.count_nonzero(_outsider(problem, release)) / n,
            "insider_window": 1 - np.count_nonzero(~_insider(problem, release)) / n,
            "insider_guessed": np.count_nonzero(right) / n,
        }

    def published(self, release: NoisyTable, shown: Floats) -> tuple[Flags, Floats]:
        """Return the cells whose noise cancels, and how far the others moved."""
        problem = release.problem
        return changes(shown, problem.table.values, problem.unit)

    def guesses(
        self, release: NoisyTable, shown: Floats, *, knows: str, time_limit: float
    ) -> Guesses:
        """Guess what most other seeds point to."""
        del shown, knows, time_limit
        return Guesses(release.problem, outsiders_guess(release))


def _outsider(problem: ProtectionProblem, release: NoisyTable) -> Flags:
    """Which sensitive cells have a window as wide as the levels ask for."""
    lower, upper = windows(release)
    cells = np.flatnonzero(problem.sensitive)
    if not release.kept_cells.any():
        return are_wide(problem, cells, lower[cells], upper[cells])
    # True totals narrow the windows of the cells that add up to them.
    audit = audit_pattern(problem, upper > lower, intervals=(lower, upper))
    return np.array([verdict is Verdict.PROTECTED for verdict in audit.verdicts], dtype=bool)


def _insider(problem: ProtectionProblem, release: NoisyTable) -> Flags:
    """Which cells with a second largest contributor have a window that is wide enough for it."""
    known = insiders(release)
    return are_wide(problem, known.cells, known.lower, known.upper)


def _right(problem: ProtectionProblem, cells: Integers, guesses: Floats) -> Flags:
    """Which guesses of some sensitive cells lie within the level."""
    all_of = problem.table.values[problem.sensitive].copy()
    place = np.searchsorted(np.flatnonzero(problem.sensitive), cells)
    all_of[place] = guesses
    found: Flags = Guesses(problem, all_of).recovered[place]
    return found
