"""Contributors of each cell, rolled up from those of the leaves.

Contributors that occur in more than one leaf are carried one by one, because a margin must count
each of them once and with its whole contribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.tabulation.largest import Largest
from tablecloak.tables.tabulation.queries import Grouped
from tablecloak.tables.tabulation.roll_up import (
    expand,
    group_rows,
    locate,
    positions_of,
    roll_up,
)

__all__ = ["contributions_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SPANNING_ROWS = 500_000
"""Rows of contributors in several leaves that are rolled up at once: each becomes one for every
margin above it."""


def contributions_of(
    grouped: Grouped,
    trees: Mapping[str, Hierarchy],
    cells: Integers,
    ancestors: Sequence[tuple[Integers, Integers]],
    *,
    shortfall: Floats,
) -> Contributions:
    """Statistics of contributors for each cell, single and spanning ones joined."""
    n_cells, k = len(cells), grouped.n_largest
    sums, maxima = np.zeros((n_cells, 3)), np.zeros((n_cells, 2))
    if len(grouped.leaves):
        found, added, highest = roll_up(
            positions_of(grouped.leaves, trees),
            grouped.leaves[["count", "weighted_count", "total"]].to_numpy(np.float64),
            grouped.leaves[["request_1", "request_2"]].to_numpy(np.float64),
            ancestors,
        )
        at = locate(found, cells)
        sums[at], maxima[at] = added, highest
    identifiers = pd.concat([grouped.top["contributor"], grouped.spanning["contributor"]])
    codes, names = pd.factorize(identifiers, sort=True)
    numbers = codes.astype(np.int64)
    top = Largest(
        positions_of(grouped.top, trees),
        grouped.top["size"].to_numpy(np.float64),
        grouped.top["weight"].to_numpy(np.float64),
        numbers[: len(grouped.top)],
    )
    for axis, above in enumerate(ancestors):
        top = top.expanded(axis, above).largest(k)
    of_spanning = numbers[len(grouped.top) :]
    for part in _whole_contributors(of_spanning):
        extra, spanning_sums, spanning_maxima = _spanning(
            grouped.spanning.iloc[part], of_spanning[part], trees, cells, ancestors
        )
        sums += spanning_sums
        maxima = np.maximum(maxima, spanning_maxima)
        top = top.joined(extra.largest(k)).largest(k)
    largest, weight, contributor = top.as_matrix(cells, k)
    return Contributions(
        count=np.rint(sums[:, 0]).astype(np.int64),
        weighted_count=sums[:, 1],
        total=sums[:, 2],
        largest=largest,
        largest_weight=weight,
        largest_contributor=contributor,
        largest_request=maxima,
        shortfall=shortfall,
        names=np.asarray(names, dtype=object),
    )


def _whole_contributors(numbers: Integers) -> Iterator[slice]:
    """Cut rows, ordered by contributor, into parts of bearable size between contributors."""
    start = 0
    while start < len(numbers):
        end = min(start + SPANNING_ROWS, len(numbers))
        while end < len(numbers) and numbers[end] == numbers[end - 1]:
            end += 1
        yield slice(start, end)
        start = end


def _spanning(
    frame: pd.DataFrame,
    numbers: Integers,
    trees: Mapping[str, Hierarchy],
    cells: Integers,
    ancestors: Sequence[tuple[Integers, Integers]],
) -> tuple[Largest, Floats, Floats]:
    """Contributors in several leaves: in each margin once, with their whole contribution."""
    rows = np.column_stack([positions_of(frame, trees), numbers])
    signed = frame["signed"].to_numpy(np.float64)
    weight = frame["weight"].to_numpy(np.float64)
    request = frame["request"].to_numpy(np.int64)
    for axis, above in enumerate(ancestors):
        source, rows = expand(rows, axis, above)
        signed, weight, request = signed[source], weight[source], request[source]
    keys, group = group_rows(rows)
    signed = np.bincount(group, signed, minlength=len(keys))
    heaviest, lightest = np.zeros(len(keys)), np.full(len(keys), np.inf)
    np.maximum.at(heaviest, group, weight)
    np.minimum.at(lightest, group, weight)
    asked = np.zeros(len(keys), dtype=np.int64)
    np.maximum.at(asked, group, request)
    if np.any(lightest < heaviest):
        raise InputError(
            "A contributor has different weights in different cells. All records of a contributor "
            "need the same weight."
        )
    at = locate(keys[:, :-1], cells)
    size = np.abs(signed)
    sums: Floats = np.column_stack(
        [
            np.bincount(at, c, minlength=len(cells))
            for c in (np.ones(len(at)), heaviest, signed * heaviest)
        ]
    )
    maxima = np.zeros((len(cells), 2))
    for column, code in enumerate((1, 2)):
        np.maximum.at(maxima[:, column], at, np.where(asked == code, size, 0.0))
    return Largest(keys[:, :-1], size, heaviest, keys[:, -1]), sums, maxima
