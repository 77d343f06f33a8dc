"""Shares of numbers, and their routes from agency to agency."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from functools import lru_cache

Draw = Callable[[int], int]
"""Returns a random number from 0 to below its argument."""

TRIED_ROUTES = 2000
"""Number of orders that are tried for each route; the one with most new neighbours is taken.

See docs/decisions, "Agencies".
"""


def random_below(modulus: int) -> int:
    """Return a random number below the modulus, from the operating system."""
    return secrets.randbelow(modulus)


def shares_of(
    answer: Sequence[int], shares: int, modulus: int, draw: Draw = random_below
) -> list[list[int]]:
    """Split each number into random shares that add up to it, shape (shares, len(answer))."""
    parts = [[draw(modulus) for _ in answer] for _ in range(shares - 1)]
    last = [(v - sum(part[i] for part in parts)) % modulus for i, v in enumerate(answer)]
    return [*parts, last]


@lru_cache(maxsize=64)
def routes(agencies: int, shares: int) -> tuple[tuple[int, ...], ...]:
    """Return the routes of the shares around the ring, each starting at the first agency.

    The neighbours of an agency on all routes together can compute its number. The routes are
    therefore the same in every round, known to all, and give each agency as many different
    neighbours as possible: with two shares, three if there are four agencies, and four if there
    are more. A random order would repeat the same two neighbours; for four agencies, with
    probability 1/3.

    Parameters
    ----------
    agencies, shares : int

    Returns
    -------
    tuple of tuple of int
        One order of all agencies for each share; the first is 0, 1, 2, ...
    """
    found = [tuple(range(agencies))]
    beside: list[set[int]] = [set() for _ in range(agencies)]
    _meet(found[0], beside)
    while len(found) < shares:
        most = min(2 * (len(found) + 1), agencies - 1)
        best: tuple[tuple[int, int], tuple[int, ...]] | None = None
        for attempt in range(TRIED_ROUTES):
            order = (0, *sorted(range(1, agencies), key=_rank(len(found), attempt)))
            met = [set(known) for known in beside]
            _meet(order, met)
            sizes = [len(known) for known in met]
            if best is None or (min(sizes), sum(sizes)) > best[0]:
                best = (min(sizes), sum(sizes)), order
            if min(sizes) >= most:
                break
        assert best is not None
        found.append(best[1])
        _meet(best[1], beside)
    return tuple(found)


def _meet(order: Sequence[int], beside: list[set[int]]) -> None:
    """Record the neighbours of each agency on a route."""
    for at, agency in enumerate(order):
        beside[agency] |= {order[at - 1], order[(at + 1) % len(order)]}


def _rank(share: int, attempt: int) -> Callable[[int], bytes]:
    """Return a sort key by digests, so that all versions of Python find the same routes."""
    return lambda agency: hashlib.sha256(f"{share} {attempt} {agency}".encode()).digest()
