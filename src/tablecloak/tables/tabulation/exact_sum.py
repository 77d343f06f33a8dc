"""Sums that do not depend on the order of their terms, in an engine and in numpy alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.arrays import Floats, Integers

EXACT_BITS = 52
"""Bits of a whole number that is exact as a double."""

WORD_BITS = 62
"""Bits of a whole number that engines add up without overflow."""

MOST_DIGITS = 6
"""Digits after the decimal point that are looked for; numbers with more are split."""

DIGITS = range(MOST_DIGITS + 1)


@dataclass(frozen=True)
class ExactSum:
    """How terms become whole numbers, which are added up and turned back into one number.

    Terms of few decimals are counted in units of the last one: one word each, and the sum is the
    double next to the decimal number that it is. Others are split, exactly, into three words:
    multiples of 2^-a, 2^-(a+b) and 2^-(a+2b), with a such that the sum of the first stays below
    2^52, exact as a double, and b such that the sums of the others stay below 2^62. Every engine
    does this arithmetic in the same way, so that the same data give the same sums for any number of
    threads, through any engine, and in any order of margins.

    Parameters
    ----------
    unit : float
        By how much a term is multiplied; the first word is the whole part of that.
    step : float
        By how much what is left is multiplied for each of two further words; 0 for none.
    """

    unit: float
    step: float = 0.0

    @classmethod
    def fitting(cls, count: int, largest: float, digits: int) -> ExactSum:
        """Return what adds up so many terms of at most that size, with that many digits.

        Parameters
        ----------
        count : int
        largest : float
            By absolute value.
        digits : int
            After the decimal point: the most of any term; one more than `MOST_DIGITS` if more.
        """
        whole = largest * 10.0**digits
        if digits <= MOST_DIGITS and whole < 2.0**EXACT_BITS and whole * count < 2.0**WORD_BITS:
            return cls(10.0**digits)
        count_bits = int(np.ceil(np.log2(count + 1)))
        bits = int(np.frexp(max(largest, 1.0))[1]) + count_bits
        return cls(2.0 ** (EXACT_BITS - bits), 2.0 ** (WORD_BITS - count_bits))

    @property
    def n_words(self) -> int:
        """Number of whole numbers that stand for one term."""
        return 3 if self.step else 1

    def words(self, terms: Any) -> list[Any]:
        """Return a column of terms as columns of whole numbers."""
        return [part.cast("int64") for part in self._parts(terms, lambda column: column.floor())]

    def words_of(self, terms: Floats) -> list[Integers]:
        """Return an array of terms as arrays of whole numbers."""
        return [part.astype(np.int64) for part in self._parts(terms, np.floor)]

    def _parts(self, terms: Any, floor: Callable[[Any], Any]) -> list[Any]:
        """Split terms; the same steps for columns and arrays, so that both give the same digits."""
        scaled = terms * self.unit
        if not self.step:
            return [floor(scaled + 0.5)]
        high = floor(scaled)
        rest = (scaled - high) * self.step
        middle = floor(rest)
        return [high, middle, floor((rest - middle) * self.step)]

    def joined(self, words: Any) -> Any:
        """Return the number that sums of words stand for; columns of doubles, or arrays."""
        if not self.step:
            return words[0] / self.unit
        return (words[0] + (words[1] + words[2] / self.step) / self.step) / self.unit

    def of_arrays(self, words: Integers) -> Floats:
        """Return the numbers that rows of words stand for."""
        numbers: Floats = self.joined(words.astype(np.float64).T)
        return numbers

    def of(self, terms: Any) -> Any:
        """Return the sum of a column of terms."""
        return self.joined([word.sum().cast("float64") for word in self.words(terms)])


def most_digits(terms: Floats) -> int:
    """Return the most digits after the point of any term; one more than looked for if more."""
    for digits in range(MOST_DIGITS + 1):
        scaled = (terms * 10.0**digits).clip(-(2.0**EXACT_BITS), 2.0**EXACT_BITS)
        terms = terms[np.floor(scaled + 0.5) / 10.0**digits != terms]
        if not len(terms):
            return digits
    return MOST_DIGITS + 1
