"""Sums that do not depend on the order of their terms, in an engine and in numpy alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.arrays import Floats, Integers

EXACT_BITS = 52
"""Bits of a whole number that is exact as a double."""

WORD_BITS = 62
"""Bits of a whole number that engines add up without overflow."""

SHORT = 2 ** (WORD_BITS - EXACT_BITS) - 1
"""The last bits of such a number, without which it is exact as a double."""

MOST_DIGITS = 6
"""Digits after the decimal point that are looked for; numbers with more are split."""

DIGITS = range(MOST_DIGITS + 1)


@dataclass(frozen=True)
class ExactSum:
    """How terms become whole numbers, which are added up and turned back into one number.

    Terms of few decimals are counted in units of the last one: one word each, and the sum is the
    double next to the decimal number that it is. Others are split into multiples of 2^-a and
    2^-(a+b), with a and b such that the sums of both words stay below 2^62. Where that does not
    hold every term exactly, since one is very small beside the largest, there are three: multiples
    of 2^-a, 2^-(a+b) and 2^-(a+2b), with a such that the sum of the first stays below 2^52, exact
    as a double. Every engine does this arithmetic in the same way, so that the same data give the
    same sums for any number of threads, through any engine, and in any order of margins.

    Parameters
    ----------
    unit : float
        By how much a term is multiplied; the first word is the whole part of that.
    step : float
        By how much what is left is multiplied for each further word; 0 for none.
    n_words : int
        Number of whole numbers that stand for one term.
    """

    unit: float
    step: float = 0.0
    n_words: int = 1

    @classmethod
    def fitting(
        cls, count: int, largest: float, digits: int, *, is_short: bool = False
    ) -> ExactSum:
        """Return what adds up so many terms of at most that size, with that many digits.

        Parameters
        ----------
        count : int
        largest : float
            By absolute value.
        digits : int
            After the decimal point: the most of any term; one more than `MOST_DIGITS` if more.
        is_short : bool, default=False
            Whether two words hold every term exactly; see `are_short`.
        """
        whole = largest * 10.0**digits
        if digits <= MOST_DIGITS and whole < 2.0**EXACT_BITS and whole * count < 2.0**WORD_BITS:
            return cls(10.0**digits)
        return cls._split(count, largest, 2 if is_short else 3)

    @classmethod
    def _split(cls, count: int, largest: float, n_words: int) -> ExactSum:
        count_bits = int(np.ceil(np.log2(count + 1)))
        bits = int(np.frexp(max(largest, 1.0))[1]) + count_bits
        most = WORD_BITS if n_words == 2 else EXACT_BITS
        return cls(2.0 ** (most - bits), 2.0 ** (WORD_BITS - count_bits), n_words)

    @classmethod
    def are_short(cls, terms: Any, count: int, largest: float) -> Any:
        """Return for each of so many terms up to a size whether two words hold it exactly."""
        _, middle, rest = cls._split(count, largest, 2)._parts(terms)
        return middle == rest

    def words(self, terms: Any) -> list[Any]:
        """Return a column of terms as columns of whole numbers."""
        return [part.cast("int64") for part in self._parts(terms)[: self.n_words]]

    def words_of(self, terms: Floats) -> list[Integers]:
        """Return an array of terms as arrays of whole numbers."""
        return [part.astype(np.int64) for part in self._parts(terms)[: self.n_words]]

    def _parts(self, terms: Any) -> list[Any]:
        """Split terms; the same steps for columns and arrays, so that both give the same digits.

        The last part of two words is what they leave over, as part of the second.
        """
        scaled = terms * self.unit
        if not self.step:
            return [_floor(scaled + 0.5)]
        high = _whole(scaled)
        rest = (scaled - high) * self.step
        middle = _whole(rest)
        if self.n_words == 2:
            return [high, middle, rest]
        return [high, middle, _whole((rest - middle) * self.step)]

    def joined(self, words: Sequence[Any]) -> Any:
        """Return the numbers that sums of words stand for; columns or arrays of whole numbers."""
        if not self.step:
            return _double(words[0]) / self.unit
        if self.n_words == 2:
            # What a double cannot hold is added to the rest, so that one step rounds.
            low = words[0] & SHORT
            rest = _double(low) + _double(words[1]) / self.step
            return (_double(words[0] - low) + rest) / self.unit
        rest = _double(words[1]) + _double(words[2]) / self.step
        return (_double(words[0]) + rest / self.step) / self.unit

    def of_arrays(self, words: Integers) -> Floats:
        """Return the numbers that rows of words stand for."""
        numbers: Floats = self.joined(list(words.T))
        return numbers

    def of(self, terms: Any) -> Any:
        """Return the sum of a column of terms."""
        return self.joined([word.sum().cast("!int64") for word in self.words(terms)])


def _double(word: Any) -> Any:
    return word.astype(np.float64) if isinstance(word, np.ndarray) else word.cast("float64")


def _floor(terms: Any) -> Any:
    return np.floor(terms) if isinstance(terms, np.ndarray) else terms.floor()


def _whole(terms: Any) -> Any:
    """Cut off what follows the point: what is left can then be subtracted without rounding.

    A floor is no such number: -10^-20 less its floor, -1, is 1 when rounded.
    """
    if isinstance(terms, np.ndarray):
        return np.trunc(terms)
    import ibis

    return ibis.ifelse(terms < 0, terms.ceil(), terms.floor())


def most_digits(terms: Floats) -> int:
    """Return the most digits after the point of any term; one more than looked for if more."""
    for digits in range(MOST_DIGITS + 1):
        scaled = (terms * 10.0**digits).clip(-(2.0**EXACT_BITS), 2.0**EXACT_BITS)
        terms = terms[np.floor(scaled + 0.5) / 10.0**digits != terms]
        if not len(terms):
            return digits
    return MOST_DIGITS + 1
