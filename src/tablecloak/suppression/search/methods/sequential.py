"""The heuristic alone."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.budget import Budget
from tablecloak.phases import run_phases
from tablecloak.suppression.search.method import SEARCH_METHODS, SearchMethod
from tablecloak.suppression.search.schedule import SEQUENTIAL
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


@SEARCH_METHODS.register
class Sequential(SearchMethod):
    """Linear programs for one sensitive cell after another, then a clean-up; no lower bound."""

    name: ClassVar[str] = "sequential"

    def search(
        self, problem: ProtectionProblem, requirement: Requirement, budget: Budget
    ) -> SearchState:
        """Try the strategies of the heuristic, as many as there is time for."""
        state = SearchState.of(problem, requirement, self.name)
        return run_phases(SEQUENTIAL, state, budget)
