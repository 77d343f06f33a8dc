"""Codes that are ranges of numbers: 10-49, 10 to 49, 250+, 250 and more, under 10, >=250."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

_WHOLE = r"(?:\d{1,3}(?:[ ']\d{3})+|\d+)"
_NUMBER = rf"({_WHOLE}(?:\.\d+)?)"
_UNIT = r"(?: \D*)?"
_BETWEEN = re.compile(
    rf"{_NUMBER}\s*(?:[-\u2013\u2014_]|to|bis|t|à)\s*{_NUMBER}{_UNIT}", re.IGNORECASE
)
_MORE = r"(?:\+|-|(?:and|or) (?:more|over)|und mehr|et plus)"
_ABOVE = re.compile(
    rf"(?:(?:>=?|≥|ge|from|over|ab|über)[ _]*{_NUMBER}|{_NUMBER}\s*{_MORE}){_UNIT}", re.IGNORECASE
)
_BELOW = re.compile(
    rf"(?:<=?|≤|l[te]|under|below|less than|up to|unter|bis)[ _]*{_NUMBER}{_UNIT}", re.IGNORECASE
)
# 47.11 is a code of activities.
_ALONE = re.compile(f"({_WHOLE})")


def range_of(code: str) -> tuple[float, float] | None:
    """Return the least and the most that a code such as ``50-99`` or ``250+`` stands for.

    None if it is no range of numbers.

    Examples
    --------
    >>> range_of("50-99"), range_of("250+"), range_of("North")
    ((50.0, 99.0), (250.0, inf), None)
    """
    text = code.strip()
    for pattern, ends in (
        (_BETWEEN, lambda low, high: (low, high)),
        (_ABOVE, lambda low: (low, np.inf)),
        (_BELOW, lambda high: (0.0, high)),
        (_ALONE, lambda number: (number, number)),
    ):
        if match := pattern.fullmatch(text):
            numbers = [float(re.sub(r"[ ']", "", part)) for part in match.groups() if part]
            low, high = ends(*numbers)
            return (low, high) if low <= high else None
    return None


def in_order(codes: Iterable[str]) -> list[str]:
    """Return codes in the order in which people expect them.

    Ranges of numbers stand where they begin, 50-249 before 250+ and after 10-49; codes of which one
    is no range and no number, and those that are numbers alone, by their letters.
    """
    texts = sorted(codes)
    ends = {text: range_of(text) for text in texts}
    places = {text: place for text, place in ends.items() if place is not None}
    if len(places) < len(ends) or not any(low < high for low, high in places.values()):
        return texts
    return sorted(texts, key=places.__getitem__)
