"""Base class and registry of the methods that search for a pattern."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tablecloak.budget import Budget
from tablecloak.registry import Registry
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


class SearchMethod(ABC):
    """A way to find a pattern."""

    name: ClassVar[str]

    @abstractmethod
    def search(
        self, problem: ProtectionProblem, requirement: Requirement, budget: Budget
    ) -> SearchState:
        """Find a proved pattern, and perhaps a bound.

        Parameters
        ----------
        problem : ProtectionProblem
            With finite external bounds.
        requirement : Requirement
        budget : Budget
            A first pattern is completed even beyond it, unless the search is stopped.

        Returns
        -------
        SearchState
            Its best candidate is proved.

        Raises
        ------
        ModelError
            If a cell cannot be protected at all.
        SolverError
            If the search was stopped before any pattern was proved.
        """

    @classmethod
    def parse(cls, given: SearchMethod | str) -> SearchMethod:
        """Accept a method or its name.

        Raises
        ------
        InputError
            If the name is unknown; suggests the likely one.
        """
        return SEARCH_METHODS.parse(given, SearchMethod, "`method` is")


SEARCH_METHODS: Registry[SearchMethod] = Registry(
    "search method", "tablecloak.suppression.search.methods"
)
"""All search methods by name."""
