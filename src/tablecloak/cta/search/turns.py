"""Directions turned where their prices promise a gain, many at a time.

The optimal value is convex in the directions, so that multipliers give a lower bound on the value
after a turn. Where prices are such bounds and none promises a gain, no single turn can help; where
they leave out the room on the other side (see `state.priced`), they are only a ranking. The most
promising share is turned at once, and a smaller share after each failure; once even single turns
fail, random choices among the promising directions follow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget

FLIPPED = 0.3
"""Share of the promising directions turned at once when a search begins."""

NOISE = 1.0
"""Spread of the log-normal noise on estimated gains, once turning single directions has failed."""

REPEATED = 50
"""Stop the search after this many draws in a row of directions that were tried before."""

ENUMERATED = 7
"""Number of directions up to which all choices are tried (2^7 programs): for least squares, and
where nothing else has found a table."""

Priced = Callable[[Floats, float], tuple[float, Floats]]

GAIN = 1e-9
"""Smallest relative gain for which a direction counts as promising."""


@dataclass(eq=False)
class _Choices:
    """Draws directions to turn: the most promising share, then single ones, then at random."""

    most: float
    share: float = field(init=False)
    noise: float = 0.0
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        self.share = self.most

    def draw(self, candidates: Integers, gain: Floats) -> Integers:
        """Return some candidates, and halve the share for the next draw."""
        noise = np.exp(self.random.normal(0, 1, len(candidates)) * self.noise)
        order = candidates[np.argsort(gain[candidates] * noise, kind="stable")]
        size = max(1, int(self.share * len(order)))
        if size == 1:
            self.share, self.noise = self.most, NOISE
        else:
            self.share /= 2
        return order[:size]

    def succeeded(self) -> None:
        """Double the share for the next draw, up to `most`."""
        self.share = min(2 * self.share, self.most)


def turn_around(
    priced: Priced,
    directions: Floats,
    allowed: tuple[Floats, Floats],
    budget: Budget,
    *,
    most: float = FLIPPED,
) -> int:
    """Turn directions that promise a gain; return how many programs were solved.

    Parameters
    ----------
    priced : callable
        Takes directions and a time limit; returns their optimal value, and the estimated change
        from turning each of them.
    directions : numpy.ndarray of float
        Directions to start from: 1 up, 0 down.
    allowed : tuple of numpy.ndarray
        Smallest and largest direction of each cell.
    budget : Budget
    most : float, default=0.3
        Share of the promising directions that is turned at once at first.
    """
    if budget.is_over:
        return 0
    low, high = allowed
    value, promise = priced(directions, max(budget.left, 0.01))
    choices, programs, repeated = _Choices(most), 0, 0
    tried: set[bytes] = set()
    while not budget.is_over and np.isfinite(value) and repeated < REPEATED:
        free = np.where(directions > 0, low < 0.5, high > 0.5)
        gain = np.where(free, promise, 0.0)
        candidates = np.flatnonzero(gain < -GAIN * max(1.0, abs(value)))
        if not len(candidates):
            break
        chosen = choices.draw(candidates, gain)
        turned = directions.copy()
        turned[chosen] = 1 - turned[chosen]
        if turned.tobytes() in tried:
            repeated += 1
            continue
        tried.add(turned.tobytes())
        programs += 1
        reached, new_promise = priced(turned, max(budget.left, 0.01))
        if reached < value - GAIN * abs(value):
            directions, value, promise = turned, reached, new_promise
            choices.succeeded()
            repeated = 0
    return programs


def all_directions(allowed: tuple[Floats, Floats]) -> list[Floats]:
    """Return all choices of directions if there are few of them; otherwise an empty list.

    Parameters
    ----------
    allowed : pair of numpy.ndarray of float
        Lowest and highest direction of each group.
    """
    low, high = allowed
    turnable = np.flatnonzero(low < high)
    if len(turnable) > ENUMERATED:
        return []
    every = []
    for choice in itertools.product([0.0, 1.0], repeat=len(turnable)):
        directions = low.copy()
        directions[turnable] = choice
        every.append(directions)
    return every
