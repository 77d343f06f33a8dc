"""Sums that do not depend on the order of the records.

They are taken over whole numbers. Each term is split, exactly, into three of them: multiples of
2^-a, 2^-(a+b) and 2^-(a+2b), with a such that the sum of the first stays below 2^52, exact as a
double, and b such that the sums of the others stay below 2^62. Every engine does this arithmetic in
the same way, so that the same data give the same table for any number of threads, and through any
engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Overview"]

EXACT_BITS = 52
"""Bits of a whole number that is exact as a double."""

WORD_BITS = 62
"""Bits of a whole number that engines add up without overflow."""


@dataclass(frozen=True)
class Overview:
    """One look at all records: how many there are, and how large their numbers get."""

    count: int
    largest: Mapping[str, float]
    negative: bool
    is_weighted: bool

    def exact_sum(self, terms: Any, name: str) -> Any:
        """Sum of terms that does not depend on their order.

        Parameters
        ----------
        terms : ibis column
            Terms of the kind `name`, over some of the records or over sums of them.
        name : str
            Key of `largest`.
        """
        count_bits = int(np.ceil(np.log2(self.count + 1)))
        bits = int(np.frexp(max(self.largest[name], 1.0))[1]) + count_bits
        first, further = 2.0 ** (EXACT_BITS - bits), 2.0 ** (WORD_BITS - count_bits)
        scaled = terms * first
        high = scaled.floor()
        rest = (scaled - high) * further
        middle = rest.floor()
        low = ((rest - middle) * further).floor()
        sums = [part.cast("int64").sum().cast("float64") for part in (high, middle, low)]
        return (sums[0] + (sums[1] + sums[2] / further) / further) / first
