"""Phases: the steps of a search, with their shares of the time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tablecloak.budget import Budget
from tablecloak.suppression.search.state import SearchState

__all__ = ["Condition", "Phase", "Run", "either", "group", "run_phases", "tell_time_left"]

Run = Callable[[SearchState, Budget], SearchState]
"""The work of a phase: takes a state and a budget, and returns the next state."""

Condition = Callable[[SearchState, Budget], bool]


def _always(state: SearchState, budget: Budget) -> bool:
    del state, budget
    return True


@dataclass(frozen=True)
class Phase:
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

    run: Run
    share: float = 1.0
    least: float = 0.0
    most: float = math.inf
    most_share: float = 0.0
    when: Condition = _always


def run_phases(phases: Sequence[Phase], state: SearchState, budget: Budget) -> SearchState:
    """Run one phase after the other, keeping back time for the certificates at the end.

    Parameters
    ----------
    phases : sequence of Phase
    state : SearchState
    budget : Budget
        The budget of all phases together, including the last steps.
    """
    for phase in phases:
        usable = budget.within(max(budget.left - state.closing_seconds, 0.0))
        if phase.when(state, usable):
            state = phase.run(state, _part(phase, usable))
    return state


def _part(phase: Phase, budget: Budget) -> Budget:
    whole = budget.deadline - budget.started
    most = max(phase.most, phase.most_share * whole) if math.isfinite(whole) else phase.most
    part = budget.share(phase.share).within(most)
    return part.at_least(phase.least * whole) if phase.least and math.isfinite(whole) else part


def group(*phases: Phase) -> Run:
    """Return a step that runs several phases, each with a share of the time of the step."""

    def run(state: SearchState, budget: Budget) -> SearchState:
        state = replace(state, horizon=budget)
        for phase in phases:
            if phase.when(state, budget):
                state = phase.run(state, _part(phase, budget))
        return state

    return run


def either(condition: Condition, then: Run, otherwise: Run) -> Run:
    """Return a step that runs `then` if the condition holds, and `otherwise` if not."""

    def run(state: SearchState, budget: Budget) -> SearchState:
        return (then if condition(state, budget) else otherwise)(state, budget)

    return run


def tell_time_left(aim: str, method: str) -> Run:
    """Return a step that notes for which aim the remaining time is used."""

    def run(state: SearchState, budget: Budget) -> SearchState:
        state = replace(state, method=method)
        left = f"{budget.left:.0f}" if math.isfinite(budget.left) else "any number of"
        return state.noted(f"{left} s are left for {aim}")

    return run
