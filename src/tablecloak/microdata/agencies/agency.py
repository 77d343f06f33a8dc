"""Agencies, which hold records and answer questions, and sums over them, all in one process.

Numbers travel as integers modulo M: plus a random number, such an integer reveals nothing. The
first agency of a ring draws a random number R below M and passes R + v_1 on; each other agency adds
its own number modulo M; the first subtracts R. So each agency receives a number that is uniform on
[0, M). Numbers are split into shares, which have routes of their own.

References
----------
.. [1] Benaloh: Secret sharing homomorphisms, 1987 (secure summation).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, SolverError


@dataclass(frozen=True)
class FixedPoint:
    """Numbers as integers modulo M.

    Parameters
    ----------
    modulus : int, default=2**128
    fraction_bits : int, default=32
        Numbers are rounded to multiples of 2**-fraction_bits.
    """

    modulus: int = 1 << 128
    fraction_bits: int = 32

    def encode(self, value: float) -> int:
        """Return a number modulo M.

        Raises
        ------
        InputError
            If it is not finite, or not below M/2 in absolute value.
        """
        if not np.isfinite(value):
            raise InputError(
                "A number to be summed is missing or infinite. Check the records of the agency."
            )
        whole = round(value * (1 << self.fraction_bits)) if self.fraction_bits else round(value)
        if abs(whole) >= self.modulus // 2:
            raise InputError(
                f"A number does not fit: with this modulus sums must stay below "
                f"{self.limit:g}. Take a larger modulus, or fewer bits for fractions."
            )
        return whole % self.modulus

    def decode(self, value: int) -> float:
        """Return the number for an integer modulo M; integers from M/2 are negative numbers."""
        signed = value - self.modulus if value >= self.modulus // 2 else value
        return signed / (1 << self.fraction_bits)

    @property
    def limit(self) -> float:
        """Absolute value below which sums must stay."""
        return (self.modulus // 2) / (1 << self.fraction_bits)


LEAST_AGENCIES = 3
"""Least number of agencies: of two, each would learn the number of the other by subtraction."""


@dataclass(frozen=True, eq=False)
class Agency:
    """A holder of records.

    Parameters
    ----------
    name : str
    values : callable
        Takes a question and its argument, and returns the agency's own numbers. It never leaves
        the agency.
    """

    name: str
    values: Callable[[str, Any], Iterable[float]]


def encoded(
    agency: Agency,
    question: str,
    argument: Any,
    arithmetic: FixedPoint,
    n_agencies: int,
    largest: float | None = None,
) -> list[int]:
    """Return an agency's answer modulo M.

    Raises
    ------
    SolverError
        If it cannot answer. Only the type of the error is named, since its text may quote records.
    InputError
        If a number is larger than agreed. Neither the number nor its position is named.
    """
    try:
        values = [float(value) for value in agency.values(question, argument)]
    except Exception as error:
        raise SolverError(
            f"Agency {agency.name!r} did not answer ({type(error).__name__}); the round was "
            f"given up and nothing was revealed. Check its records and columns there."
        ) from None
    most = arithmetic.limit / n_agencies * (1 - 1e-12) if largest is None else largest
    if not all(abs(value) <= most for value in values):
        raise InputError(
            f"A number of agency {agency.name!r} is larger than {most:g}, so that the sum could "
            f"exceed the limit of the modulus and be wrong. Nothing was sent. Take a larger "
            f"modulus."
        )
    return [arithmetic.encode(value) for value in values]


def records(name: str, x: npt.ArrayLike, y: npt.ArrayLike) -> Agency:
    """Return an agency that answers the questions of a regression from its own records.

    Raises
    ------
    InputError
        If shapes do not match, or a value is missing or infinite.
    """
    own_x, own_y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if own_x.ndim != 2 or own_y.shape != (len(own_x),):
        raise InputError(
            f"{name}: X must have two dimensions and one row for each entry of y. Got the shapes "
            f"{own_x.shape} and {own_y.shape}."
        )
    if not (np.all(np.isfinite(own_x)) and np.all(np.isfinite(own_y))):
        raise InputError(
            f"{name}: X or y has a missing or infinite value. Impute it or drop its record."
        )
    p = own_x.shape[1]

    def values(question: str, argument: Any) -> Floats:
        if question == "newton":
            full = np.column_stack([np.ones(len(own_x)), own_x])
            eta = full @ argument
            chance = expit(eta)
            weighted = full.T @ (full * (chance * (1 - chance))[:, None])
            upper = weighted[np.triu_indices(full.shape[1])]
            deviance = 2 * float(np.sum(np.logaddexp(0, eta) - own_y * eta))
            return np.concatenate([upper, full.T @ (own_y - chance), [deviance, len(own_y)]])
        scaled = own_x if argument is None else (own_x - argument[:p]) / argument[p:]
        full = np.column_stack([np.ones(len(scaled)), scaled])
        upper = (full.T @ full)[np.triu_indices(full.shape[1])]
        return np.concatenate([upper, full.T @ own_y, [own_y @ own_y, own_y.sum()]])

    return Agency(name, values)


Draw = Callable[[int], int]
"""Returns a random number from 0 to below its argument."""

TRIED_ROUTES = 2000
"""Number of orders that are tried for each route; the one with most new neighbours is taken.

See docs/decisions, "Agencies".
"""


def shares_of(
    answer: Sequence[int], shares: int, modulus: int, draw: Draw = secrets.randbelow
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
        draw = draw or secrets.randbelow
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
