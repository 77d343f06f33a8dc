"""The heuristic, then branch and bound."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.budget import Budget
from tablecloak.phases import run_phases
from tablecloak.suppression.search.method import SEARCH_METHODS, SearchMethod
from tablecloak.suppression.search.schedule import EXACT, EXACT_SMALL, is_improved_first
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


@SEARCH_METHODS.register
class Exact(SearchMethod):
    """The sequential method, then branch and bound; always a bound, for small tables optimal."""

    name: ClassVar[str] = "exact"

    def search(
        self, problem: ProtectionProblem, requirement: Requirement, budget: Budget
    ) -> SearchState:
        """Build a first pattern, then prove how good it is, and find better ones on the way."""
        state = SearchState.of(problem, requirement, self.name)
        phases = EXACT if is_improved_first(state) else EXACT_SMALL
        return run_phases(phases, state, budget)
