"""A search for another release, within a share of the time, that may fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tablecloak.budget import Budget
from tablecloak.errors import ModelError, SolverError

ResultT = TypeVar("ResultT")


def searched(budget: Budget, share: float, search: Callable[[Budget], ResultT]) -> ResultT | None:
    """Return what a search finds; None if no release exists, or none was found in time.

    Parameters
    ----------
    budget : Budget
    share : float
        Share of the time that is left.
    search : callable
        Called with the budget of the search.
    """
    if budget.is_over:
        return None
    # A search that fails stops its budget, and all that share it: so it gets one of its own.
    own = Budget.of(
        budget.share(share).left,
        threads=budget.threads,
        seed=budget.seed,
        progress=budget.progress,
    )
    try:
        with own.interruptible():
            found = search(own)
    except (ModelError, SolverError):
        return None
    if own.is_stopped:
        budget.stop()
    return found
