"""Contributors of each cell, rolled up from those of the leaves.

Contributors that occur in more than one leaf are carried one by one, because a margin must count
each of them once and with its whole contribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.tables.contributions import Contributions, Waivers
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.tabulation.queries import Grouped
from tablecloak.tables.tabulation.roll_up import (
    expand,
    group_rows,
    locate,
    positions_of,
    rank_within,
    roll_up,
)

SPANNING_ROWS = 500_000
"""Rows of contributors in several leaves that are rolled up at once: each becomes one for every
margin above it."""


@dataclass(frozen=True)
class Largest:
    """Largest contributions as rows: position of the cell, size, weight, contributor, marks.

    The marks, shape (n_rows, n_marks), are what else is known of each contributor.
    """

    positions: Integers
    size: Floats
    weight: Floats
    contributor: Integers
    marks: Floats

    def take(self, rows: Integers, positions: Integers) -> Largest:
        """Return some rows, at other positions."""
        return Largest(
            positions,
            self.size[rows],
            self.weight[rows],
            self.contributor[rows],
            self.marks[rows],
        )

    def expanded(self, axis: int, above: tuple[Integers, Integers]) -> Largest:
        """Repeat each row for each code above its leaf on one axis."""
        source, positions = expand(self.positions, axis, above)
        return self.take(source, positions)

    def _order(self, group: Integers) -> Integers:
        """Order by group, then size, weight and marks, the largest first, then contributor.

        Where each record is a contributor, its number is that of its row. It decides only between
        records that are alike in all else, so that shuffling records changes no figure.
        """
        order: Integers = np.lexsort(
            (self.contributor, *-self.marks.T[::-1], -self.weight, -self.size, group)
        )
        return order

    def largest(self, k: int) -> Largest:
        """Keep the k largest of each cell."""
        _, group = group_rows(self.positions)
        order = self._order(group)
        rank = rank_within(group[order])
        keep = order[rank < k]
        return self.take(keep, self.positions[keep])

    def joined(self, other: Largest) -> Largest:
        """Return the rows of both."""
        return Largest(
            np.concatenate([self.positions, other.positions]),
            np.concatenate([self.size, other.size]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.contributor, other.contributor]),
            np.concatenate([self.marks, other.marks]),
        )

    def as_matrix(self, cells: Integers, k: int) -> tuple[Floats, Floats, Integers, Floats]:
        """Return sizes, weights, contributors and marks, one row for each cell.

        Where there is no contributor, its number is -1 and all else is 0.
        """
        at = locate(self.positions, cells)
        order = self._order(at)
        row, rank = at[order], rank_within(at[order])
        size, weight = np.zeros((len(cells), k)), np.zeros((len(cells), k))
        contributor = np.full((len(cells), k), -1, dtype=np.int64)
        size[row, rank] = self.size[order]
        weight[row, rank] = self.weight[order]
        contributor[row, rank] = self.contributor[order]
        marks = np.zeros((len(cells), k, self.marks.shape[1]))
        marks[row, rank] = self.marks[order]
        return size, weight, contributor, marks


@dataclass(frozen=True)
class _Figures:
    """What is known of the contributors of each cell.

    Parameters
    ----------
    sums : numpy.ndarray of float, shape (n_cells, 3 or 4)
        Count, weighted count, total of their contributions, and number of full waivers.
    maxima : numpy.ndarray of float, shape (n_cells, 2 or 4)
        Largest contribution of those that asked for protection, by request code 1 and 2; largest
        contribution without a waiver, and largest margin that somebody named.
    largest : Largest
    """

    sums: Floats
    maxima: Floats
    largest: Largest

    def joined(self, other: _Figures, n_largest: int) -> _Figures:
        """Return the figures of both together."""
        return _Figures(
            self.sums + other.sums,
            np.maximum(self.maxima, other.maxima),
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
        several = _spanning(frame, spanning[part], trees, cells, ancestors, grouped.marks)
        figures = figures.joined(several, k)
    largest, weight, contributor, marks = figures.largest.as_matrix(cells, k)
    return Contributions(
        count=np.rint(figures.sums[:, 0]).astype(np.int64),
        weighted_count=figures.sums[:, 1],
        total=figures.sums[:, 2],
        largest=largest,
        largest_weight=weight,
        largest_contributor=contributor,
        largest_request=figures.maxima[:, :2],
        shortfall=shortfall,
        names=np.asarray(names, dtype=object),
        waivers=_waivers(figures, marks) if grouped.marks else None,
    )


def _waivers(figures: _Figures, marks: Floats) -> Waivers:
    return Waivers(
        unwaived=marks[:, :, 0] > 0,
        own_p=marks[:, :, 1],
        largest_unwaived=figures.maxima[:, 2],
        largest_own_p=figures.maxima[:, 3],
        full=np.rint(figures.sums[:, 3]).astype(np.int64),
    )


def _single(
    grouped: Grouped,
    numbers: Integers,
    trees: Mapping[str, Hierarchy],
    cells: Integers,
    ancestors: Sequence[tuple[Integers, Integers]],
) -> _Figures:
    """Roll up contributors in one leaf: in each margin they are whole by themselves."""
    summed, greatest = ["count", "weighted_count", "total"], ["request_1", "request_2"]
    if grouped.marks:
        summed, greatest = [*summed, "full"], [*greatest, "largest_unwaived", "largest_own_p"]
    sums, maxima = np.zeros((len(cells), len(summed))), np.zeros((len(cells), len(greatest)))
    if len(grouped.leaves):
        margins, added, highest = roll_up(
            positions_of(grouped.leaves, trees),
            grouped.leaves[summed].to_numpy(np.float64),
            grouped.leaves[greatest].to_numpy(np.float64),
            ancestors,
        )
        at = locate(margins, cells)
        sums[at], maxima[at] = added, highest
    largest = Largest(
        positions_of(grouped.top, trees),
        grouped.top["size"].to_numpy(np.float64),
        grouped.top["weight"].to_numpy(np.float64),
        numbers,
        grouped.top[grouped.marks].to_numpy(np.float64),
    )
    for axis, above in enumerate(ancestors):
        largest = largest.expanded(axis, above).largest(grouped.n_largest)
    return _Figures(sums, maxima, largest)


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
    marks: list[str],
) -> _Figures:
    """Roll up contributors in several leaves: each once in a margin, with all it contributes."""
    rows = np.column_stack([positions_of(frame, trees), numbers])
    given = frame[["signed", "weight", "request", *marks]].to_numpy(np.float64)
    for axis, above in enumerate(ancestors):
        source, rows = expand(rows, axis, above)
        given = given[source]
    keys, group = group_rows(rows)
    signed = np.bincount(group, given[:, 0], minlength=len(keys))
    weight = _the_weight(group, given[:, 1], len(keys))
    asked = np.zeros((len(keys), 1 + len(marks)))
    np.maximum.at(asked, group, given[:, 2:])
    at, size = locate(keys[:, :-1], cells), np.abs(signed)
    columns = [np.ones(len(at)), weight, signed * weight]
    highest = [np.where(asked[:, 0] == code, size, 0.0) for code in (1, 2)]
    if marks:
        columns.append(np.all(asked[:, 1:] <= 0, axis=1).astype(np.float64))
        highest += [np.where(asked[:, 1] > 0, size, 0.0), asked[:, 2]]
    sums: Floats = np.column_stack([np.bincount(at, c, minlength=len(cells)) for c in columns])
    maxima = np.zeros((len(cells), len(highest)))
    np.maximum.at(maxima, at, np.column_stack(highest))
    largest = Largest(keys[:, :-1], size, weight, keys[:, -1], asked[:, 1:])
    return _Figures(sums, maxima, largest)


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
