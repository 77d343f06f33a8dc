"""Agencies, which hold records and answer questions with numbers computed from them.

Numbers travel as integers modulo M: plus a random number, such an integer reveals nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
