"""Contributors of each cell, rolled up from those of the leaves.

Contributors that occur in more than one leaf are carried one by one, because a margin must count
each of them once and with its whole contribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class _Figures:
    """What is known of the contributors of each cell.

    Parameters
    ----------
    sums : numpy.ndarray of float, shape (n_cells, 3)
        Count, weighted count, and total of their contributions.
    requests : numpy.ndarray of float, shape (n_cells, 2)
        Largest contribution of those that asked for protection, by request code 1 and 2.
    largest : Largest
    """

    sums: Floats
    requests: Floats
    largest: Largest

    def joined(self, other: _Figures, n_largest: int) -> _Figures:
        """Return the figures of both together."""
        return _Figures(
            self.sums + other.sums,
            np.maximum(self.requests, other.requests),
            self.largest.joined(other.largest.largest(n_largest)).largest(n_largest),
        )


def contributions_of(
    grouped: Grouped,
    trees: Mapping[str, Hierarchy],
    cells: Integers,
    ancestors: Sequence[tuple[Integers, Integers]],
    *,
    shortfall: Floats,
) -> Contributions:
    """Statistics of contributors for each cell, single and spanning ones joined."""
    k = grouped.n_largest
    identifiers = pd.concat([grouped.top["contributor"], grouped.spanning["contributor"]])
    codes, names = pd.factorize(identifiers, sort=True)
    single, spanning = np.split(codes.astype(np.int64), [len(grouped.top)])
    figures = _single(grouped, single, trees, cells, ancestors)
    for part in _whole_contributors(spanning):
        frame = grouped.spanning.iloc[part]
        figures = figures.joined(_spanning(frame, spanning[part], trees, cells, ancestors), k)
    largest, weight, contributor = figures.largest.as_matrix(cells, k)
    return Contributions(
        count=np.rint(figures.sums[:, 0]).astype(np.int64),
        weighted_count=figures.sums[:, 1],
        total=figures.sums[:, 2],
        largest=largest,
        largest_weight=weight,
        largest_contributor=contributor,
        largest_request=figures.requests,
        shortfall=shortfall,
        names=np.asarray(names, dtype=object),
    )


def _single(
    grouped: Grouped,
    numbers: Integers,
    trees: Mapping[str, Hierarchy],
    cells: Integers,
    ancestors: Sequence[tuple[Integers, Integers]],
) -> _Figures:
    """Roll up contributors in one leaf: in each margin they are whole by themselves."""
    sums, requests = np.zeros((len(cells), 3)), np.zeros((len(cells), 2))
    if len(grouped.leaves):
        margins, added, highest = roll_up(
            positions_of(grouped.leaves, trees),
            grouped.leaves[["count", "weighted_count", "total"]].to_numpy(np.float64),
            grouped.leaves[["request_1", "request_2"]].to_numpy(np.float64),
            ancestors,
        )
        at = locate(margins, cells)
        sums[at], requests[at] = added, highest
    largest = Largest(
        positions_of(grouped.top, trees),
        grouped.top["size"].to_numpy(np.float64),
        grouped.top["weight"].to_numpy(np.float64),
        numbers,
    )
    for axis, above in enumerate(ancestors):
        largest = largest.expanded(axis, above).largest(grouped.n_largest)
    return _Figures(sums, requests, largest)


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
) -> _Figures:
    """Roll up contributors in several leaves: each once in a margin, with all it contributes."""
    rows = np.column_stack([positions_of(frame, trees), numbers])
    given = frame[["signed", "weight", "request"]].to_numpy(np.float64)
    for axis, above in enumerate(ancestors):
        source, rows = expand(rows, axis, above)
        given = given[source]
    keys, group = group_rows(rows)
    signed = np.bincount(group, given[:, 0], minlength=len(keys))
    weight = _the_weight(group, given[:, 1], len(keys))
    asked = np.zeros(len(keys))
    np.maximum.at(asked, group, given[:, 2])
    at, size = locate(keys[:, :-1], cells), np.abs(signed)
    columns = (np.ones(len(at)), weight, signed * weight)
    sums: Floats = np.column_stack([np.bincount(at, c, minlength=len(cells)) for c in columns])
    requests = np.zeros((len(cells), 2))
    for column, code in enumerate((1, 2)):
        np.maximum.at(requests[:, column], at, np.where(asked == code, size, 0.0))
    return _Figures(sums, requests, Largest(keys[:, :-1], size, weight, keys[:, -1]))


def _the_weight(group: Integers, weight: Floats, n_groups: int) -> Floats:
    """Return the weight of each contributor, which must be the same in all cells."""
    heaviest, lightest = np.zeros(n_groups), np.full(n_groups, np.inf)
    np.maximum.at(heaviest, group, weight)
    np.minimum.at(lightest, group, weight)
    if np.any(lightest < heaviest):
        raise InputError(
            "A contributor has different weights in different cells. All records of a contributor "
            "need the same weight."
        )
    return heaviest
