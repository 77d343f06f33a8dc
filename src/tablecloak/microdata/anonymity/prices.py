"""Prices of records, which prove how much equal records cost at least.

A price is what a record must pay at least. For any prices, every release costs at least their sum,
less what classes collect beyond their cost: each record pays its price in its class, and no class
(a set of lost keys and the values of the others, or recoded values) collects more than the best
choice of k or more of its records. This is the Lagrangian relaxation of the rule that each record
is in one class [1]_; its largest value is that of the linear relaxation of the program in
`tablecloak.microdata.anonymity.classes`.

References
----------
.. [1] Held, Wolfe, Crowder: Validation of subgradient optimization, Mathematical Programming 6,
   1974.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.class_pairs import ClassPairs, Way, collected


@dataclass(frozen=True)
class Schedule:
    """Steps of the subgradient method: docs/decisions, "Prices of records".

    Parameters
    ----------
    first, last : float
        Share of the gap that a step aims at, in the beginning and when the method ends.
    patience : int
        Steps without a better bound before they become shorter.
    shorter : float
        Factor by which they do.
    memory : float
        Share of the direction before in each direction.
    """

    first: float = 0.1
    last: float = 5e-4
    patience: int = 5
    shorter: float = 0.7
    memory: float = 0.5


def raised_prices(
    pairs: ClassPairs,
    start: Floats,
    loss: float,
    budget: Budget,
    schedule: Schedule | None = None,
) -> Iterator[tuple[Floats, float]]:
    """Raise prices step by step; return those that prove most, whenever they are better.

    Parameters
    ----------
    pairs : ClassPairs
    start : numpy.ndarray of float, shape (n_need,)
    loss : float
        That of a release, which no bound exceeds.
    budget : Budget
    schedule : Schedule, optional

    Yields
    ------
    price : numpy.ndarray of float, shape (n_need,)
    bound : float
        Proved for the classes of the pairs; others may collect more.
    """
    plan = schedule or Schedule()
    price, share, best, failed = start, plan.first, -np.inf, 0
    frequency = pairs.frequency.astype(np.float64)
    direction: Floats | None = None
    while share > plan.last and not budget.is_over:
        gain, at, taken = pairs.collected(price)
        value = float(frequency @ price - np.sum(np.maximum(gain, 0.0)))
        if not best > value - 1e-6 * abs(value):
            best, failed = value, 0
            yield price, value
        else:
            failed += 1
            if failed == plan.patience:
                share, failed = plan.shorter * share, 0
        used = np.bincount(pairs.pattern[at], weights=taken, minlength=len(price))
        # How many more records of each pattern there are than classes with a gain take.
        slope = frequency - used
        direction = (
            slope if direction is None else (plan.memory * direction + (1 - plan.memory) * slope)
        )
        length = float(np.sum(direction**2 / frequency))
        if length < 1e-9 or value >= loss:
            return
        step = share * (loss - value) / length * direction / frequency
        price = np.maximum(price + step, 0.0)


def price_bound(
    frequency: Integers, k: int, price: Floats, ways: Iterable[Way], budget: Budget
) -> float:
    """Return what prices prove, all classes considered; 0 if the time does not suffice.

    Parameters
    ----------
    frequency : numpy.ndarray of int, shape (n_patterns,)
    k : int
    price : numpy.ndarray of float, shape (n_patterns,)
        0 for patterns that k records have.
    ways : iterable of Way
        All that cost some record less than its price.
    budget : Budget
    """
    bound = float(price @ frequency)
    for way in ways:
        if np.any(price > way.cost):
            bound -= float(np.sum(np.maximum(collected(frequency, k, price, way), 0.0)))
        if budget.is_over:
            return 0.0
    return max(bound, 0.0)
