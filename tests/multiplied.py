"""What an intruder computes from amounts of one contributor that share a multiplier."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def by_continued_fraction(first: float, second: float, unit: float, most: float) -> int | None:
    """The first amount in units, if the ratio of both in lowest terms leaves one candidate.

    Amounts are whole numbers of units below 10^8.
    """
    part = Fraction(first / second).limit_denominator(10**8).numerator
    low, high = first / unit / (1 + most), first / unit / (1 - most)
    candidates = range(int(np.ceil(low / part)), int(high / part) + 1)
    return candidates[0] * part if len(candidates) == 1 else None


def compatible(
    released: tuple[int, ...], least: float, most: float
) -> list[tuple[int, float, float]]:
    """All amounts that the first one may be, with the multipliers that take whole numbers to all.

    Values are whole numbers of units, rounded by the published rule: away from the truth.
    """
    found = []
    first = released[0]
    for m_low, m_high, raised in ((1 - most, 1 - least, False), (1 + least, 1 + most, True)):
        shift = 1 if raised else 0  # y - 1 < m a <= y if raised, y <= m a < y + 1 if lowered
        for amount in range(int((first - 1) / m_high), int((first + 1) / m_low) + 2):
            if amount <= 0:
                continue
            parts = [
                (max(m_low, (first - shift) / amount), min(m_high, (first + 1 - shift) / amount))
            ]
            for value in released[1:]:
                parts = [
                    (max(low, (value - shift) / other), min(high, (value + 1 - shift) / other))
                    for low, high in parts
                    if low < high
                    for other in range(
                        max(int((value - shift) / high), 1), int((value + 1 - shift) / low) + 2
                    )
                ]
            found += [(amount, low, high) for low, high in parts if low < high]
    return found
