"""The interval of a cell in words and in plain numbers."""

from __future__ import annotations

import math
from typing import Any

from tablecloak.explaining.derivation import Derivation
from tablecloak.explaining.explanation import shown
from tablecloak.explaining.pattern_question import Interval


def interval_lines(interval: Interval, who: str) -> list[str]:
    """Return what somebody can compute, as sums, and whether that is too close."""
    low, high = interval.ends
    if low == high:
        head = f"{who} can compute it exactly: {shown(low)}."
    else:
        head = f"{who} can compute that it lies {span(interval)}."
    if interval.is_point:
        return [head, *sum_lines(interval.upper, "exactly"), verdict(interval)]
    return [head, *sum_lines(interval.upper), *sum_lines(interval.lower), verdict(interval)]


def span(interval: Interval) -> str:
    """Return from where to where a cell can lie, in words."""
    low, high = interval.ends
    if math.isfinite(low) and math.isfinite(high):
        return f"from {shown(low)} to {shown(high)}"
    if math.isfinite(high):
        return f"at most at {shown(high)}"
    return f"at least at {shown(low)}" if math.isfinite(low) else "anywhere"


def sum_lines(derivation: Derivation, word: str = "") -> list[str]:
    """Return a sum and the relations that were added up for it."""
    if not math.isfinite(derivation.limit):
        return [f"  nothing bounds it from {'above' if derivation.sign > 0 else 'below'}"]
    lines = [f"  {word or derivation.word} {derivation.sum_text()}"]
    if len(derivation.relations) > 1:
        lines.append("    by adding up " + ", ".join(derivation.relation_texts()))
    if not derivation.is_exact:
        lines.append("    (time ended: the sum holds, but another one may come closer)")
    return lines


def verdict(interval: Interval) -> str:
    """Say whether an interval is as wide as required."""
    asked = (
        f"required: from {shown(interval.required_lower)} to {shown(interval.required_upper)}"
        f"{_width(interval)}"
    )
    return f"This is too close ({asked})." if interval.is_too_narrow else f"Protected ({asked})."


def _width(interval: Interval) -> str:
    least = interval.required_width
    own = interval.required_upper - interval.required_lower
    return f", and at least {shown(least)} wide" if least > own else ""


def interval_facts(interval: Interval) -> dict[str, Any]:
    """Return an interval, its sums and what is required as plain numbers."""
    low, high = (end if math.isfinite(end) else None for end in interval.ends)
    return {
        "lower": low,
        "upper": high,
        "required_lower": interval.required_lower,
        "required_upper": interval.required_upper,
        "required_width": interval.required_width,
        "is_protected": not interval.is_too_narrow,
        "lower_sum": interval.lower.to_dict(),
        "upper_sum": interval.upper.to_dict(),
    }
