"""What a search for a pattern knows between two phases."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.budget import Budget
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.rows.master import PatternBound
from tablecloak.suppression.search.exploration import Exploration
from tablecloak.suppression.search.nullspace.opening import Opening
from tablecloak.suppression.search.pace import SUM_SECONDS
from tablecloak.suppression.search.standing import Held
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System
from tablecloak.tables.problem import ProtectionProblem

DENSE_SHARE = 0.3
"""Share of sensitive cells from which on a table is dense: programs can move cells that are hidden
anyway, where boxes need new corners. docs/decisions, "Boxes"."""


@dataclass(frozen=True, eq=False)
class SearchState:
    """The best pattern and the best bound so far, and results that phases hand to later ones.

    Parameters
    ----------
    problem : ProtectionProblem
        With finite external bounds.
    requirement : Requirement
    system : System
        Of all cells that may be suppressed.
    method : str
        Name of the search method, for the summary.
    best : Candidate or None
        The best proved pattern.
    bound_certificate : PatternBound or None
    is_settled : bool
        Whether the pattern is proved to be optimal, which ends the search.
    first_seconds : float
        Seconds from the start of the search until the first pattern was proved.
    closing_seconds : float
        Seconds to keep back for the last steps, building and verifying the certificates.
    horizon : Budget or None
        Budget of the group of phases to which the present phase belongs.
    exploration : Exploration or None
    question : Question or None
        The question with its intruders, which search methods do not need. Set after the search.
    held : Held or None
        The best pattern, extended until it is proved against insiders.
    opening : Opening or None
        The result of deletion that began with every cell hidden.
    is_priced : bool
        Whether an opening by prices gave the best pattern.
    sum_seconds : float
        Seconds that sums of boxes are expected to take for each need that programs leave open.
    notes : tuple of str
    """

    problem: ProtectionProblem
    requirement: Requirement
    system: System
    method: str
    best: Candidate | None = None
    bound_certificate: PatternBound | None = None
    is_settled: bool = False
    first_seconds: float = np.inf
    closing_seconds: float = 0.0
    horizon: Budget | None = None
    exploration: Exploration | None = None
    question: Question | None = None
    held: Held | None = None
    opening: Opening | None = None
    is_priced: bool = False
    sum_seconds: float = SUM_SECONDS
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, problem: ProtectionProblem, requirement: Requirement, method: str) -> SearchState:
        """Return the state before the first phase.

        Parameters
        ----------
        problem : ProtectionProblem
            With finite external bounds.
        requirement : Requirement
        method : str
        """
        needs = needs_of(problem, requirement)
        return cls(problem, requirement, System.of(problem, needs, ~problem.frozen), method)

    @property
    def n_free(self) -> int:
        """Number of cells that may be suppressed or published."""
        return int(self.problem.free.sum())

    @property
    def is_dense(self) -> bool:
        """Whether so many cells are sensitive that programs find far better patterns than boxes."""
        return len(self.system.needs.cells) > DENSE_SHARE * self.system.n_unknown

    @property
    def must(self) -> Flags:
        """Which cells of the system are suppressed in every pattern."""
        must: Flags = self.problem.sensitive | self.problem.forced
        return must[self.system.cells]

    def noted(self, text: str) -> SearchState:
        """Return the state with one more note."""
        return replace(self, notes=(*self.notes, text))
