"""Histograms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.safe.other.counting import counted
from tablecloak.safe.other.kind import KINDS, Asked, Checked, Kind
from tablecloak.safe.outcome import Reason

__all__ = ["Histogram"]

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Widths of bins, times a power of ten."""


@KINDS.register
@dataclass(frozen=True)
class Histogram(Kind):
    """Histogram: bins are counts, and the outermost edges are nobody's value.

    A number of bins gives round edges and two open bins at the ends, wide enough for the threshold:
    edges at the smallest and the largest value, as numpy makes them, would disclose both.
    """

    name: ClassVar[str] = "histogram"
    label: ClassVar[str] = "histogram"
    bins: Annotated[
        int | tuple[float, ...], Field(description="About how many bins, or the edges of all.")
    ] = 10

    def check(self, asked: Asked) -> Checked:
        """Count the records of each bin."""
        asked, left_out = asked.known()
        values = asked.frame.iloc[:, 0].to_numpy(dtype=np.float64)
        if not len(values) or not np.isfinite(values).all():
            raise InputError(f"{asked.frame.columns[0]}: a histogram needs finite numbers")
        reasons, notes = asked.missing(left_out)
        edges = self._edges(values)
        if isinstance(self.bins, int):
            edges = _with_open_ends(asked, values, edges)
        if not isinstance(self.bins, int):
            reasons += _extreme_edges(asked, values, edges)
        inside = (values >= edges[0]) & (values <= edges[-1])
        if not inside.all():
            notes.append(f"{int((~inside).sum())} records lie outside of the edges")
            asked, values = asked.part(inside), values[inside]
        group = np.minimum(np.searchsorted(edges, values, side="right") - 1, len(edges) - 2)
        labels = [_label(low, high) for low, high in pairwise(edges.tolist())]
        checked = counted(asked, group.astype(np.int64), labels, str(asked.frame.columns[0]), "bin")
        return replace(
            checked,
            reasons=(*checked.reasons, *reasons),
            notes=(*checked.notes, *notes),
            properties={"method": "histogram", "edges": edges[np.isfinite(edges)].tolist()},
        )

    def _edges(self, values: Floats) -> Floats:
        if not isinstance(self.bins, int):
            edges = np.array(self.bins, dtype=np.float64)
            if len(edges) < 2 or not (np.diff(edges) > 0).all() or not np.isfinite(edges).all():
                raise InputError(f"histogram: `bins` must rise. Got {list(self.bins)}.")
            return edges
        if self.bins < 1:
            raise InputError(f"histogram: `bins` must be 1 or more. Got {self.bins}.")
        low, high = float(values.min()), float(values.max())
        width = (high - low or max(abs(low), 1.0)) / self.bins
        power = 10.0 ** np.floor(np.log10(width))
        step = power * next(each for each in STEPS if each * power >= width * (1 - 1e-9))
        first, last = np.floor(low / step), np.floor(high / step) + 1
        return np.asarray(np.arange(first, last + 0.5) * step, dtype=np.float64)


def _with_open_ends(asked: Asked, values: Floats, edges: Floats) -> Floats:
    """Return edges whose first and last bin are open, and have enough contributors if possible."""
    threshold = asked.appetite.safe_threshold
    inner = edges[1:-1]
    while len(inner) and asked.n_contributors(values < inner[0]) < threshold:
        inner = inner[1:]
    while len(inner) and asked.n_contributors(values >= inner[-1]) < threshold:
        inner = inner[:-1]
    return np.concatenate([[-np.inf], inner, [np.inf]])


def _label(low: float, high: float) -> str:
    """Return what a bin is called; the last of given edges belongs to the last bin."""
    if np.isinf(low) and np.isinf(high):
        return "any value"
    if np.isinf(low):
        return f"under {high:g}"
    return f"{low:g} and over" if np.isinf(high) else f"{low:g} to {high:g}"


def _extreme_edges(asked: Asked, values: Floats, edges: Floats) -> list[Reason]:
    """Return reasons where an outermost edge is the smallest or largest value of a few."""
    reasons = []
    for edge, value, which in (
        (edges[0], values.min(), "first"),
        (edges[-1], values.max(), "last"),
    ):
        behind = asked.n_contributors(values == value)
        if edge == value and behind < asked.appetite.safe_threshold:
            reasons.append(
                Reason(
                    "fail",
                    "extremes",
                    f"the {which} edge is the value of {behind} contributors: choose an edge "
                    "beyond it, or give a number of bins",
                )
            )
    return reasons
