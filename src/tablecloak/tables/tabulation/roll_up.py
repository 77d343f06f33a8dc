"""From leaves to a table: all margins, with the largest contributors of each cell.

Leaves are added up to the codes above them, axis by axis and level by level. Contributors that
occur in more than one leaf are carried one by one, unless the engine found their margins, because a
margin must count each of them once and with its whole contribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import AnyIntegers, Floats, Integers
from tablecloak.tables.contributions import Contributions, Waivers
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.link import link
from tablecloak.tables.relations import all_positions, relations_of_cells
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.figures import (
    Figures,
    FiguresOfCells,
    Largest,
    locate,
    roll_up,
)
from tablecloak.tables.tabulation.queries import Grouped, Leaves, Spanning
from tablecloak.tables.tabulation.records import ColumnRoles, Overview

SPANNING_ROWS = 500_000
"""Rows of contributors in several leaves that are rolled up at once: each becomes one for every
margin above it."""


def rolled_up(
    leaves: Leaves,
    tables: Sequence[Sequence[str]],
    roles: ColumnRoles,
    unit: str,
    decimals: int | None,
    empty_cells: bool = False,
) -> Table:
    """Roll the leaves up to all cells of one table, or of several that are linked."""
    built: dict[tuple[str, ...], Table] = {}
    for names in map(tuple, tables):
        if names not in built:
            built[names] = _table(leaves, names, roles, unit, decimals, empty_cells)
    chosen = [built[tuple(names)] for names in tables]
    return chosen[0] if len(chosen) == 1 else link(*chosen)


def _table(
    leaves: Leaves,
    names: Sequence[str],
    roles: ColumnRoles,
    unit: str,
    decimals: int | None,
    empty_cells: bool,
) -> Table:
    trees = {name: leaves.hierarchies[name] for name in names}
    cells, values, totals, parts = _sums(leaves, names, decimals)
    if empty_cells:
        every = all_positions(trees)
        values, totals, parts = _with_empty_cells(cells, every, values, totals, parts)
        cells = every
    with np.errstate(invalid="ignore"):
        shortfall = np.where(parts > 0, parts * _rounding(leaves.overview, roles, decimals), 0.0)
    contributors = {
        attribute: _contributions(leaves, groups, names, cells, totals, shortfall)
        for attribute, groups in leaves.grouped.items()
    }
    frame = pd.DataFrame(
        {
            name: pd.array(list(tree.codes), dtype="str").take(cells[:, axis])
            for axis, (name, tree) in enumerate(trees.items())
        }
    )
    relations = relations_of_cells(cells, trees)
    return Table(
        keys=frame,
        values=values,
        relations=relations,
        right_hand_side=np.zeros(relations.shape[0]),
        hierarchies=trees,
        name=roles.value or "count",
        unit=unit,
        contributions=contributors["contributions"],
        holdings=contributors.get("holdings"),
        decimals=decimals,
    )


def _sums(
    leaves: Leaves, names: Sequence[str], decimals: int | None
) -> tuple[AnyIntegers, Floats, Floats, Integers]:
    """Return the cells of a table with values, totals, and how many leaves are in each."""
    sums, axes = leaves.overview.sums, leaves.axes(names)
    if decimals is None:
        values: Any = leaves.values
    else:
        # Whole numbers in doubles, so that what is rounded adds up exactly.
        rounded = np.round(sums["value"].of_arrays(leaves.values), decimals)
        values = np.rint(rounded * 10.0**decimals)[:, None]
    added = [values, np.ones((len(values), 1), dtype=np.int64)]
    added += [] if values is leaves.totals else [leaves.totals]
    cells, added, _ = roll_up(
        leaves.positions[:, axes],
        added,
        np.zeros((len(values), 0)),
        [leaves.levels[name] for name in names],
    )
    values, parts, *rest = added
    totals = sums["total"].of_arrays(rest[0] if rest else values)
    if decimals is None:
        values = sums["value"].of_arrays(values) if rest else totals
    else:
        values = np.round(values[:, 0] / 10.0**decimals, decimals)
    return cells, values, totals, parts[:, 0]


def _with_empty_cells(cells: AnyIntegers, every: Integers, *figures: Any) -> list[Any]:
    """Return figures of every combination of codes, 0 where no record falls into it."""
    index, filled = locate(cells, every), []
    for figure in figures:
        filled.append(np.zeros(len(every), dtype=figure.dtype))
        filled[-1][index] = figure
    return filled


def _rounding(overview: Overview, roles: ColumnRoles, decimals: int | None) -> float:
    """By how much a leaf may be less than what its contributors add up to.

    What one contributor adds no other takes away, but rounding may.
    """
    if roles.shadow != roles.value or overview.negative:
        return np.inf
    return 0.0 if decimals is None else 0.5 * 10.0**-decimals


def ancestors_of(tree: Hierarchy) -> tuple[Integers, Integers]:
    """For each leaf position the codes it counts towards, as a ragged array."""
    closure = tree.closure().T.tocsr()
    closure.sort_indices()
    return closure.indptr.astype(np.int64), closure.indices.astype(np.int64)


def expand(
    positions: Integers, axis: int, ancestors: tuple[Integers, Integers]
) -> tuple[Integers, Integers]:
    """Repeat each row for each code above its leaf on one axis; return source row and codes."""
    start, codes = ancestors
    leaf = positions[:, axis]
    repeats = start[leaf + 1] - start[leaf]
    source = np.repeat(np.arange(len(positions)), repeats)
    offset = np.arange(len(source)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    expanded = positions[source]
    expanded[:, axis] = codes[start[leaf][source] + offset]
    return source, expanded


def _contributions(
    leaves: Leaves,
    grouped: Grouped,
    names: Sequence[str],
    cells: AnyIntegers,
    totals: Floats,
    shortfall: Floats,
) -> Contributions:
    """Statistics of contributors for each cell."""
    k, axes = grouped.n_largest, leaves.axes(names)
    levels = [leaves.levels[name] for name in names]
    parts = grouped.cells[tuple(names)]
    if grouped.leaves:
        parts.append(grouped.leaves.rolled_up(axes, levels, k))
    if grouped.spanning:
        trees = [leaves.hierarchies[name] for name in names]
        parts += _spanning(grouped.spanning, leaves.overview, axes, trees, k)
    figures = FiguresOfCells(cells, k, _batches(parts, len(cells)))
    counts, maxima, marks = figures.counts, figures.maxima, figures.marks
    weighted = counts[:, 0].astype(np.float64)
    if leaves.overview.is_weighted:
        words = counts[:, 1 : 1 + leaves.overview.sums["weight"].n_words]
        weighted = leaves.overview.sums["weight"].of_arrays(words)
    waivers = None
    if grouped.has_waivers:
        waivers = Waivers(
            unwaived=marks[:, :, 0] > 0,
            own_p=marks[:, :, 1],
            largest_unwaived=maxima[:, -2],
            largest_own_p=maxima[:, -1],
            full=counts[:, -1],
        )
    return Contributions(
        count=counts[:, 0],
        weighted_count=weighted,
        total=totals,
        largest=figures.largest,
        largest_weight=figures.weight,
        largest_contributor=figures.contributor,
        largest_request=maxima[:, :2] if grouped.has_requests else np.zeros((len(cells), 2)),
        shortfall=shortfall,
        names=grouped.names,
        waivers=waivers,
    )


def _batches(parts: list[Figures], rows: int) -> Iterator[Figures]:
    """Join parts until they have so many rows: to find few among many cells takes long.

    Parts are taken out of the list, so that nobody holds those that were added.
    """
    while parts:
        batch = [parts.pop()]
        while parts and sum(len(part.largest.size) for part in batch) < rows:
            batch.append(parts.pop())
        yield Figures.joined(batch)


def _spanning(
    rows: Spanning,
    overview: Overview,
    axes: Sequence[int],
    trees: Sequence[Hierarchy],
    k: int,
) -> Iterator[Figures]:
    """Roll up contributors in several leaves: each once in a margin, with all it contributes."""
    above = [ancestors_of(tree) for tree in trees]
    n_known = 1 + rows.request.shape[1]
    for part in _whole_contributors(rows.contributor):
        at = np.column_stack([rows.positions[part][:, axes], rows.contributor[part]])
        source = np.arange(len(at))
        for axis, codes in enumerate(above):
            repeated, at = expand(at, axis, codes)
            source = source[repeated]
        source += part.start
        asked = np.column_stack([rows.weight, rows.request, rows.marks])[source]
        keys, (signed,), highest = roll_up(at, [rows.signed[source]], asked, [])
        size = np.abs(overview.sums["shadow"].of_arrays(signed))
        largest = Largest(keys[:, :-1], size, highest[:, 0], keys[:, -1], highest[:, n_known:])
        figures = figures_of(largest, highest[:, 1:n_known], overview)
        yield replace(figures, largest=largest.largest(k))


def figures_of(units: Largest, request: Floats, overview: Overview) -> Figures:
    """Figures of contributors one by one."""
    counts, greatest = [np.ones(len(units.size), dtype=np.int64)], []
    if overview.is_weighted:
        counts += overview.sums["weight"].words_of(units.weight)
    if request.shape[1]:
        greatest += [np.where(request[:, 0] == code, units.size, 0.0) for code in (1, 2)]
    if units.marks.shape[1]:
        counts.append(np.all(units.marks <= 0, axis=1).astype(np.int64))
        greatest += [np.where(units.marks[:, 0] > 0, units.size, 0.0), units.marks[:, 1]]
    maxima = np.column_stack([np.zeros((len(units.size), 0)), *greatest])
    return Figures(units.positions, np.column_stack(counts), maxima, units)


def _whole_contributors(numbers: Integers) -> Iterator[slice]:
    """Cut rows, ordered by contributor, into parts of bearable size between contributors."""
    start = 0
    while start < len(numbers):
        end = min(start + SPANNING_ROWS, len(numbers))
        while end < len(numbers) and numbers[end] == numbers[end - 1]:
            end += 1
        yield slice(start, end)
        start = end
