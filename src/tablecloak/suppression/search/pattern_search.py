"""The search for a pattern of a problem: merged cells, then insiders, then the proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tablecloak.budget import Budget
from tablecloak.phases import run_phases
from tablecloak.suppression.attack.external_bounds import with_finite_bounds
from tablecloak.suppression.attack.hold import Hold
from tablecloak.suppression.attack.intruder import Intruder
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.search.closing import closed
from tablecloak.suppression.search.merging import search_merged
from tablecloak.suppression.search.method import SearchMethod
from tablecloak.suppression.search.schedule import INSIDERS, INSIDERS_SHARE, WHOLE_NUMBERS_SHARE
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["PatternSearch"]


@dataclass(frozen=True, eq=False)
class PatternSearch:
    """The search for a pattern, and what is asked of it besides sums.

    Parameters
    ----------
    method : SearchMethod
    require, intruders, hold
        As of `tablecloak.suppress`.
    time_limit : float
        Seconds that the caller allowed.
    """

    method: SearchMethod
    require: Requirement | str
    intruders: Intruder | str | Sequence[Intruder | str]
    hold: Hold | str
    time_limit: float

    def __call__(self, problem: ProtectionProblem, budget: Budget) -> SuppressionPattern:
        """Search within a budget, and return the pattern with its verified proofs."""
        question = Question.of(problem, self.require, self.intruders, self.hold)
        share = INSIDERS_SHARE if question.named else WHOLE_NUMBERS_SHARE
        part = budget.share(share if question.intruders else 1.0)
        finite = with_finite_bounds(problem, question.requirement, budget).problem
        state = search_merged(self.method, finite, question.requirement, part)
        state = run_phases(INSIDERS, replace(state, question=question), budget)
        return closed(problem, state, budget, time_limit=self.time_limit)
