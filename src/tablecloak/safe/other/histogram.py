"""Histograms, and pie charts and other shares of categories: counts by threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.safe.other.kind import KINDS, Checked, Counts, Kind, OutputRecords
from tablecloak.safe.output import Reason
from tablecloak.safe.values import in_order, is_round

TOTAL = "all"
"""Label of the line with the number of all records: papers state it, so it counts as published."""

MOST_CATEGORIES = 1000
"""More than so many categories are numbers or names of records, not slices."""

NEAR_EDGE = 2e-3
"""Share of the range by which an edge may miss an extreme and still tell it; pandas adds half."""

STEPS = (1.0, 2.0, 2.5, 5.0)
"""Widths of bins, times a power of ten."""

FULL_BINS = 5
"""Bins of enough contributors from which their width is a scale of the amounts."""

MOST_POWERS = 15
"""Powers of ten over which a scale is searched: those of double precision."""

EDGE = 1e-12
"""Share of an amount by which rounding may put it below the edge that it lies on."""


def counted(
    records: OutputRecords, group: Integers, labels: Sequence[str], name: str, what: str
) -> Checked:
    """Return the counts of groups of records, those of too few contributors hidden.

    What is hidden follows as one sum from the total. Where fewer contributors than the threshold
    stand behind that sum, the smallest further group is hidden as well.

    Parameters
    ----------
    asked : Asked
    group : (n,) array of int
        Group of each record.
    labels : sequence of str
    name : str
        What is counted: name of the lines.
    what : str
        What one group is called, such as "bin".
    """
    n = len(labels)
    threshold = records.appetite.safe_threshold
    counts = np.bincount(group, minlength=n)
    behind = records.n_by_group(group, n)
    too_few = (behind < threshold) & ((behind > 0) | records.appetite.zeros_are_disclosive)
    also = _further(records, group, behind, too_few)
    index = pd.Index([*labels, TOTAL], name=name)
    frame = pd.DataFrame({"count": [*counts.tolist(), len(group)]}, index=index)
    sums = Counts(
        records.positions,
        group,
        np.vstack([np.eye(n, dtype=np.int64), np.ones((1, n), dtype=np.int64)]),
        (*labels, TOTAL),
        (*((row, 0) for row in range(n)), (n, 0)),
    )
    checked = Checked((frame,), counts=(sums,), are_groups=True)
    checked = checked.hiding(
        [(int(row), 0) for row in np.flatnonzero(too_few)],
        "threshold",
        f"{int(too_few.sum())} of {n} {what}s have fewer than {threshold} contributors and "
        "are hidden",
    )
    checked = checked.hiding(
        [(int(row), 0) for row in np.flatnonzero(also)],
        "secondary",
        f"{int(also.sum())} more {what}s are hidden, since the others would follow from the total",
    )
    if len(np.unique(records.contributor)) < threshold:
        checked = checked.hiding(
            [(n, 0)], "threshold", f"fewer than {threshold} contributors stand behind all records"
        )
    return checked


def _further(records: OutputRecords, group: Integers, behind: Integers, hidden: Flags) -> Flags:
    """Return which groups are hidden so that the sum of hidden ones has enough contributors."""
    also = np.zeros(len(hidden), dtype=np.bool_)
    order = np.flatnonzero(~hidden)[np.argsort(behind[~hidden], kind="stable")]
    for candidate in order:
        gone = hidden | also
        enough = records.n_contributors(gone[group]) >= records.appetite.safe_threshold
        if enough or not gone.any():
            break
        also[candidate] = True
    return also


@KINDS.register
@dataclass(frozen=True)
class Pie(Kind):
    """Pie chart: slices are counts, and shares follow from counts that may leave."""

    name: ClassVar[str] = "pie"
    label: ClassVar[str] = "pie chart"

    def check(self, records: OutputRecords) -> Checked:
        """Count the records of each category."""
        records, reasons, notes = records.complete()
        column = records.frame.iloc[:, 0]
        categories = pd.Index(in_order(column))
        group = categories.get_indexer(column)
        if not len(group) or len(categories) > MOST_CATEGORIES:
            raise InputError(
                f"{column.name}: a pie chart needs 1 to {MOST_CATEGORIES} categories; found "
                f"{len(categories)}"
            )
        checked = counted(
            records, group.astype(np.int64), [*map(str, categories)], str(column.name), "slice"
        )
        return replace(
            checked,
            reasons=tuple(reasons),
            notes=(*checked.notes, *notes),
            properties={"method": "pie"},
        )


@KINDS.register
@dataclass(frozen=True)
class Histogram(Kind):
    """Histogram: bins are counts, and the outermost edges are nobody's value.

    A number of bins gives round edges and two open bins at the ends. Widths and outermost edges
    depend on nothing but which bins of round width between round edges have enough contributors:
    the scale is the largest width of which five have (or as many as there are), the width of bins
    is that scale's range by their number, and the first and the last inner bin have enough or lie
    between those that have. Edges at the smallest and the largest value, as numpy makes them, would
    disclose both; widths that follow from these tell them by some twenty numbers of bins, and edges
    as far out as the threshold allows are the tenth smallest and largest amount.
    """

    name: ClassVar[str] = "histogram"
    label: ClassVar[str] = "histogram"
    bins: Annotated[
        int | tuple[float, ...], Field(description="About how many bins, or the edges of all.")
    ] = 10

    def check(self, records: OutputRecords) -> Checked:
        """Count the records of each bin."""
        records, reasons, notes = records.complete()
        name, values = records.numbers("a histogram needs")
        if isinstance(self.bins, int):
            edges = _round_edges(records, values, self.bins)
        else:
            edges = self._given_edges()
            reasons += _extreme_edges(records, values, edges)
            reasons += _edges_of_few(records, values, edges)
        inside = (values >= edges[0]) & (values <= edges[-1])
        if not inside.all():
            notes.append(f"{int((~inside).sum())} records lie outside of the edges")
            records, values = records.part(inside), values[inside]
        group = np.minimum(np.searchsorted(edges, values, side="right") - 1, len(edges) - 2)
        labels = [_label(low, high) for low, high in pairwise(edges.tolist())]
        checked = counted(records, group.astype(np.int64), labels, name, "bin")
        return replace(
            checked,
            reasons=(*checked.reasons, *reasons),
            notes=(*checked.notes, *notes),
            properties={"method": "histogram", "edges": edges[np.isfinite(edges)].tolist()},
        )

    def _given_edges(self) -> Floats:
        edges = np.array(self.bins, dtype=np.float64)
        if len(edges) < 2 or not (np.diff(edges) > 0).all() or not np.isfinite(edges).all():
            raise InputError(f"histogram: `bins` must rise. Got {list(np.ravel(self.bins))}.")
        return edges


@dataclass(frozen=True)
class _RoundBins:
    """Bins of one width between its multiples, of which some have enough contributors.

    Parameters
    ----------
    width : float
    full : (f,) array of float
        Multiples of the width where bins of enough contributors begin.
    is_finest : bool
        Whether each bin has one amount, so that narrower ones have no fewer contributors.
    """

    width: float
    full: Floats
    is_finest: bool

    @classmethod
    def of(cls, records: OutputRecords, values: Floats, width: float) -> _RoundBins:
        """Count the contributors of each bin."""
        multiple = values / width
        bins, group = np.unique(np.floor(multiple + EDGE * np.abs(multiple)), return_inverse=True)
        is_full = records.n_by_group(group, len(bins)) >= records.appetite.safe_threshold
        return cls(width, bins[is_full], len(bins) == len(np.unique(values)))

    @property
    def span(self) -> tuple[float, float]:
        """Beginning of the first and end of the last bin of enough contributors."""
        return float(self.full[0]) * self.width, float(self.full[-1] + 1) * self.width


def _widths(amount: float) -> Iterator[float]:
    """Yield round widths from one beyond an amount down; those beyond its power of ten alike."""
    power = int(np.floor(np.log10(amount))) + 1
    for less in range(MOST_POWERS):
        yield from (step * 10.0 ** (power - less) for step in reversed(STEPS))


def _scale(records: OutputRecords, values: Floats) -> _RoundBins | None:
    """Return the widest bins of which five, or as many as possible, have enough contributors.

    The search begins at a power of ten that enough contributors exceed.
    """
    threshold, best = records.appetite.safe_threshold, None
    size = np.abs(values)
    order = np.argsort(-size, kind="stable")
    leaders = np.sort(np.unique(records.contributor[order], return_index=True)[1])
    exceeded = size[order[leaders[threshold - 1]]] if len(leaders) >= threshold else 0.0
    for width in _widths(exceeded) if exceeded else ():
        bins = _RoundBins.of(records, values, width)
        if len(bins.full) > (0 if best is None else len(best.full)):
            best = bins
        if bins.is_finest or len(bins.full) >= FULL_BINS:
            break
    return best


def _round_edges(records: OutputRecords, values: Floats, n_bins: int) -> Floats:
    """Return edges of about so many bins; the first and the last one are open.

    There are no more than all records would fill.
    """
    if n_bins < 1:
        raise InputError(f"histogram: `bins` must be 1 or more. Got {n_bins}.")
    n_bins = min(n_bins, records.n_contributors() // records.appetite.safe_threshold)
    scale, inner = _scale(records, values), np.zeros(0)
    if scale is not None and n_bins > 1 and len(scale.full) > 1:
        low, high = scale.span
        narrowest = (high - low) / n_bins * (1 - EDGE)
        width = min(width for width in _widths(high - low) if width >= narrowest)
        both = [one for one in (scale, _RoundBins.of(records, values, width)) if len(one.full)]
        first = min((one.full[0] + 1) * one.width for one in both) / width
        last = max(one.full[-1] * one.width for one in both) / width
        # Decimals of two digits more than those of the width: edges are the numbers they look like.
        decimals = 2 - int(np.floor(np.log10(width)))
        inner = np.arange(np.ceil(first - EDGE * abs(first)), np.floor(last + EDGE * abs(last)) + 1)
        inner = np.round(inner * width, max(decimals, 0))
    return np.concatenate([[-np.inf], inner, [np.inf]])


def _label(low: float, high: float) -> str:
    """Return what a bin is called; the last of given edges belongs to the last bin."""
    if np.isinf(low) and np.isinf(high):
        return "any value"
    if np.isinf(low):
        return f"under {high:g}"
    return f"{low:g} and over" if np.isinf(high) else f"{low:g} to {high:g}"


def _extreme_edges(records: OutputRecords, values: Floats, edges: Floats) -> list[Reason]:
    """Return reasons where an outermost edge is the smallest or largest value of a few."""
    reasons = []
    for edge, value, which in (
        (edges[0], values.min(), "first"),
        (edges[-1], values.max(), "last"),
    ):
        behind = records.n_contributors(values == value)
        is_near = abs(edge - value) <= NEAR_EDGE * np.ptp(values) and not is_round(f"{edge:.9g}")
        if (edge == value or is_near) and behind < records.appetite.safe_threshold:
            reasons.append(
                Reason(
                    "fail",
                    "extremes",
                    f"the {which} edge is the value of {behind} contributors or next to it: "
                    "choose a round edge beyond it, or give a number of bins",
                )
            )
    return reasons


def _edges_of_few(records: OutputRecords, values: Floats, edges: Floats) -> list[Reason]:
    """Return a reason for review where edges that nobody would choose are values of a few."""
    threshold, few = records.appetite.safe_threshold, []
    for edge in edges[(edges > values.min()) & (edges < values.max())]:
        behind = records.n_contributors(values == edge)
        if 0 < behind < threshold and not _is_chosen(f"{abs(edge):.9g}"):
            few.append(edge)
    if not few:
        return []
    text = (
        f"{len(few)} edges are values of fewer than {threshold} contributors and no round numbers: "
        "choose round edges, or give a number of bins"
    )
    return [Reason("review", "extremes", text)]


def _is_chosen(number: str) -> bool:
    """Whether a number has at most two digits, or three that are a multiple of 25."""
    digits = number.replace(".", "").strip("0")
    return len(digits) < 3 or (len(digits) == 3 and int(digits) % 25 == 0)
