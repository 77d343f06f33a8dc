"""Phases: the steps of any search, with their shares of the time.

A schedule is a tuple of phases. Each runs a function from a state of the search and a budget to the
next state. `tablecloak.suppression.search.schedule` and `tablecloak.cta.search.directions` hold the
schedules of the two families of searches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from tablecloak.budget import Budget


class SearchStage(Protocol):
    """The state of a search, as far as its phases are timed by it."""

    @property
    def closing_seconds(self) -> float:
        """Seconds to keep back for what follows the search, such as certificates."""


class GroupStage(Protocol):
    """A state that tells a phase the budget of its group; a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def horizon(self) -> Budget | None:
        """Budget of the group of phases to which the present phase belongs."""


StateT = TypeVar("StateT")
StageT = TypeVar("StageT", bound=SearchStage)
GroupT = TypeVar("GroupT", bound=GroupStage)

Run: TypeAlias = Callable[[StateT, Budget], StateT]
"""The work of a phase: takes a state and a budget, and returns the next state."""

Condition: TypeAlias = Callable[[StateT, Budget], bool]


def _always(state: Any, budget: Budget) -> bool:
    del state, budget
    return True


@dataclass(frozen=True)
class Phase(Generic[StateT]):
    """One step of a search.

    Parameters
    ----------
    run : callable
    share : float, default=1
        Share of the time left when the phase begins.
    least : float, default=0
        Share of the whole time limit that the phase gets in any case, past the limit if need be.
    most : float, default=inf
        Most seconds of the phase.
    most_share : float, default=0
        Share of the whole time limit that the phase may take even if that is above `most`.
    when : callable, optional
        Condition on which the phase is run; by default it always is.
    """

    run: Run[StateT]
    share: float = 1.0
    least: float = 0.0
    most: float = math.inf
    most_share: float = 0.0
    when: Condition[StateT] = _always


def run_phases(phases: Sequence[Phase[StageT]], state: StageT, budget: Budget) -> StageT:
    """Run one phase after the other, keeping back time for what follows the search.

    Parameters
    ----------
    phases : sequence of Phase
    state : SearchStage
    budget : Budget
        The budget of all phases together, including the last steps.
    """
    for phase in phases:
        usable = budget.within(max(budget.left - state.closing_seconds, 0.0))
        if phase.when(state, usable):
            state = phase.run(state, _part(phase, usable))
    return state


def _part(phase: Phase[Any], budget: Budget) -> Budget:
    whole = budget.deadline - budget.started
    most = max(phase.most, phase.most_share * whole) if math.isfinite(whole) else phase.most
    part = budget.share(phase.share).within(most)
    return part.at_least(phase.least * whole) if phase.least and math.isfinite(whole) else part


def group(*phases: Phase[GroupT]) -> Run[GroupT]:
    """Return a step that runs several phases, each with a share of the time of the step."""

    def run(state: GroupT, budget: Budget) -> GroupT:
        state = replace(state, horizon=budget)
        for phase in phases:
            if phase.when(state, budget):
                state = phase.run(state, _part(phase, budget))
        return state

    return run


def either(condition: Condition[StateT], then: Run[StateT], otherwise: Run[StateT]) -> Run[StateT]:
    """Return a step that runs `then` if the condition holds, and `otherwise` if not."""

    def run(state: StateT, budget: Budget) -> StateT:
        return (then if condition(state, budget) else otherwise)(state, budget)

    return run
