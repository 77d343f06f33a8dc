"""The method that suits the size of the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.budget import Budget
from tablecloak.phases import Phase, run_phases
from tablecloak.suppression.search.method import SEARCH_METHODS, SearchMethod
from tablecloak.suppression.search.schedule import (
    BOUNDED,
    BOUNDED_CELLS,
    EXACT,
    EXACT_CELLS,
    EXACT_SMALL,
    SEQUENTIAL,
    is_improved_first,
)
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


@SEARCH_METHODS.register
@dataclass(frozen=True)
class Auto(SearchMethod):
    """Exact for small tables; else sequential, then exact in the time that is left."""

    name: ClassVar[str] = "auto"

    exact_cells: Annotated[
        int, Field(ge=0, description="Free cells up to which the exact method is used.")
    ] = EXACT_CELLS
    bounded_cells: Annotated[
        int, Field(ge=0, description="Free cells up to which time is kept back for a bound.")
    ] = BOUNDED_CELLS

    def search(
        self, problem: ProtectionProblem, requirement: Requirement, budget: Budget
    ) -> SearchState:
        """Choose the schedule by the number of free cells, and follow it."""
        state = SearchState.of(problem, requirement, "sequential")
        if state.n_free <= self.exact_cells:
            state = replace(state, method="exact")
        note = f"{state.n_free} cells are free to be suppressed: {state.method} method"
        return run_phases(self._phases(state), state.noted(note), budget)

    def _phases(self, state: SearchState) -> tuple[Phase[SearchState], ...]:
        n_free = state.n_free
        if n_free <= self.exact_cells:
            return EXACT if is_improved_first(state) else EXACT_SMALL
        return BOUNDED if n_free <= self.bounded_cells else SEQUENTIAL
