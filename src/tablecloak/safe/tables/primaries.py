"""Cells that may not be published on their own, by the limits of the data centre."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.tables.measures import Measure

__all__ = ["broken_rules", "levels"]

SHARE = 0.1
"""Protection level of a sum with few contributors, as a share of its size: what p% asks of a cell
whose largest contributor holds all of it."""


def broken_rules(measure: Measure, appetite: Appetite) -> dict[str, Flags]:
    """Return the cells that break each rule.

    Notes
    -----
    The meaning is that of ACRO 1.0: fewer contributors than the threshold; all but the largest two
    hold less than p of the largest; the largest n hold k or more. An empty cell, and one that adds
    up to zero, breaks "zeros" if the data centre says so. Dominance is judged by absolute amounts.
    """
    n, threshold = measure.n, appetite.safe_threshold
    rules = {"threshold": (n > 0) & (n < threshold)}
    if appetite.zeros_are_disclosive:
        rules["zeros"] = (n == 0) | (measure.values == 0)
    if measure.adds != "count":
        one, two, several = measure.largest
        rest = measure.absolute - two
        filled = (n > 0) & (one > 0)
        rules["p-ratio"] = filled & (rest < appetite.safe_pratio_p * one)
        rules["nk-rule"] = filled & (several >= appetite.safe_nk_k * measure.absolute)
    return rules


def levels(measure: Measure, primary: Flags, appetite: Appetite) -> tuple[Floats, Floats]:
    """Return how far below and above its value each primary cell must be able to lie.

    A count below the threshold must be able to reach it, so that nobody knows that it is below;
    any other count, an empty cell as well, must be able to move by one. A sum must be able to move
    as far as it falls short of the dominance rules, and by a share of its size.
    """
    values = measure.values
    if measure.is_whole:
        few = (values > 0) & (measure.n < appetite.safe_threshold)
        up = np.where(few, np.maximum(appetite.safe_threshold - values, 1), 1.0)
        return np.where(primary, np.minimum(values, 1.0), 0.0), np.where(primary, up, 0.0)
    one, two, several = measure.largest
    short = np.maximum(
        appetite.safe_pratio_p * one - (measure.absolute - two),
        several / appetite.safe_nk_k - measure.absolute,
    )
    there = measure.absolute[measure.absolute > 0]
    least = SHARE * float(there.min()) if len(there) else 1.0
    up = np.maximum.reduce([short, SHARE * measure.absolute, np.full_like(short, least)])
    signed = bool(np.any(measure.n_negative > 0))
    down = up if signed else np.minimum(up, values)
    return np.where(primary, down, 0.0), np.where(primary, up, 0.0)
