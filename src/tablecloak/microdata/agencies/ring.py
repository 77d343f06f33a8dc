"""Sums over agencies that pass messages around a ring, all in one process.

The first agency draws a random number R below M and passes R + v_1 on; each other agency adds its
own number modulo M; the first subtracts R. Each agency receives a number that is uniform on [0, M)
and therefore reveals nothing. Numbers are split into shares, which have routes of their own.

References
----------
.. [1] Benaloh: Secret sharing homomorphisms, 1987 (secure summation).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, SolverError
from tablecloak.microdata.agencies.agency import LEAST_AGENCIES, Agency, FixedPoint, encoded

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
    orders = [tuple(range(agencies))]
    beside: list[set[int]] = [set() for _ in range(agencies)]
    _meet(orders[0], beside)
    while len(orders) < shares:
        most = min(2 * (len(orders) + 1), agencies - 1)
        best: tuple[tuple[int, int], tuple[int, ...]] | None = None
        for attempt in range(TRIED_ROUTES):
            order = (0, *sorted(range(1, agencies), key=_rank(len(orders), attempt)))
            met = [set(known) for known in beside]
            _meet(order, met)
            sizes = [len(known) for known in met]
            if best is None or (min(sizes), sum(sizes)) > best[0]:
                best = (min(sizes), sum(sizes)), order
            if min(sizes) >= most:
                break
        assert best is not None
        orders.append(best[1])
        _meet(best[1], beside)
    return tuple(orders)


def _meet(order: Sequence[int], beside: list[set[int]]) -> None:
    """Record the neighbours of each agency on a route."""
    for at, agency in enumerate(order):
        beside[agency] |= {order[at - 1], order[(at + 1) % len(order)]}


def _rank(share: int, attempt: int) -> Callable[[int], bytes]:
    """Return a sort key by digests, so that all versions of Python find the same routes."""
    return lambda agency: hashlib.sha256(f"{share} {attempt} {agency}".encode()).digest()


Listener = Callable[[str, str, Sequence[int]], None]
"""Called with sender, receiver and numbers of each message, for tests and logs of the protocol."""


@dataclass(frozen=True, eq=False)
class Ring:
    """Agencies that pass messages around.

    Parameters
    ----------
    agencies : sequence of Agency
        At least three.
    arithmetic : FixedPoint, default=FixedPoint()
    largest : float, optional
        Upper bound on the absolute value of each agency's numbers, agreed beforehand. For K
        agencies, K times this bound must be below `arithmetic.limit`. By default the largest
        bound for which that holds. Checked before anything is sent.
    shares : int, default=1
        Number of random shares into which each number is split. Each share travels around the
        ring in an order of its own, between other neighbours: see `routes`.
    listener : callable, optional
    """

    agencies: Sequence[Agency]
    arithmetic: FixedPoint = field(default_factory=FixedPoint)
    largest: float | None = None
    shares: int = 1
    listener: Listener | None = None

    def __post_init__(self) -> None:
        if len(self.agencies) < LEAST_AGENCIES:
            raise InputError(
                f"{len(self.agencies)} agencies are too few: with two, each learns the number of "
                f"the other by subtraction. At least {LEAST_AGENCIES} are needed."
            )
        names = [agency.name for agency in self.agencies]
        if len(set(names)) < len(names):
            raise InputError(f"Every agency needs a name of its own. Got {names!r}: rename some.")
        if self.shares < 1:
            raise InputError(f"`shares` must be at least 1. Got {self.shares!r}.")
        if self.largest is not None and len(self.agencies) * self.largest >= self.arithmetic.limit:
            raise InputError(
                f"{len(self.agencies)} numbers up to {self.largest:g} may add up to the limit "
                f"{self.arithmetic.limit:g} of this modulus, and their sum would be wrong. Take a "
                f"larger modulus."
            )

    def sums(self, question: str, argument: Any = None, *, draw: Draw | None = None) -> Floats:
        """Return the sums of all agencies' answers to a question.

        Parameters
        ----------
        question : str
        argument : object, optional
            Argument known to all, such as the current coefficients.
        draw : callable, optional
            Returns a random number below its argument; by default from the operating system. For
            tests.

        Raises
        ------
        InputError
            If a number is so large that the sum could be wrong.
        SolverError
            If an agency does not answer, or answers with another number of values. Nothing was
            revealed.
        """
        draw = draw or random_below
        modulus = self.arithmetic.modulus
        most, count = self.largest, len(self.agencies)
        answers = [
            encoded(agency, question, argument, self.arithmetic, count, most)
            for agency in self.agencies
        ]
        length = len(answers[0])
        for agency, answer in zip(self.agencies, answers, strict=True):
            if len(answer) != length:
                raise SolverError(
                    f"Agency {agency.name!r} answered with {len(answer)} numbers instead of "
                    f"{length}; the round was given up and nothing was revealed. All agencies need "
                    "the same columns."
                )
        split = [shares_of(answer, self.shares, modulus, draw) for answer in answers]
        total = [0] * length
        for share in range(self.shares):
            order = routes(count, self.shares)[share]
            blind = [draw(modulus) for _ in range(length)]
            passed = blind
            for step, at in enumerate(order):
                passed = [(p + v) % modulus for p, v in zip(passed, split[at][share], strict=True)]
                if self.listener:
                    receiver = order[(step + 1) % len(order)]
                    names = self.agencies[at].name, self.agencies[receiver].name
                    self.listener(*names, passed)
            total = [(t + p - b) % modulus for t, p, b in zip(total, passed, blind, strict=True)]
        return np.array([self.arithmetic.decode(value) for value in total])


def secure_sum(
    values: Sequence[float],
    *,
    arithmetic: FixedPoint | None = None,
    shares: int = 1,
    draw: Draw | None = None,
    listener: Listener | None = None,
) -> float:
    """Return the sum of one number from each of at least three agencies.

    Examples
    --------
    >>> secure_sum([1.5, 2.0, -4.25])
    -0.75
    """
    agencies = [_holder(f"agency {k + 1}", value) for k, value in enumerate(values)]
    ring = Ring(agencies, arithmetic or FixedPoint(), shares=shares, listener=listener)
    return float(ring.sums("value", draw=draw)[0])


def _holder(name: str, value: float) -> Agency:
    """Return an agency with one number."""
    return Agency(name, lambda question, argument: [value])
