"""A table as a grid: two of its dimensions, codes unfolded where a person wants to look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats
from tablecloak.graph import children_of, parents_first, path_to_root
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.table import Table

OPEN_ROWS, OPEN_COLUMNS = 80, 20
"""Most codes that are all unfolded at the beginning; of longer dimensions the first levels are."""

MOST_RELATIONS = 20_000
"""Most relations from which the order of codes is told where no hierarchy is known."""

MOST_SHOWN = 2000
"""Most codes of a dimension that are shown at once; further ones stay folded."""


@dataclass(frozen=True)
class Look:
    """What a person looks at.

    Parameters
    ----------
    rows, columns : str
        Dimensions; `columns` is empty for a table of one dimension.
    at : dict of str to str
        Code of every other dimension.
    opened : dict of str to set of str
        For each of the two dimensions the codes that are unfolded; a missing one stands for the
        first look.
    """

    rows: str
    columns: str
    at: dict[str, str]
    opened: dict[str, frozenset[str]]


@dataclass(frozen=True, eq=False)
class DimensionTree:
    """The codes of a dimension.

    Parameters
    ----------
    roots : list of str
        Codes that are part of no other one; one, the total, if there is a hierarchy.
    children : dict of str to tuple of str
        A code with several groups has the members of all of them.
    codes : sequence of str
    """

    roots: list[str]
    children: dict[str, list[str]]
    codes: Sequence[str]

    @classmethod
    def of(cls, tree: Hierarchy) -> DimensionTree:
        """Return the codes of a hierarchy."""
        children = children_of(tree.groups).items()
        distinct = {parent: list(dict.fromkeys(below)) for parent, below in children}
        return cls([tree.total], distinct, tree.codes)

    def first_look(self, most: int) -> frozenset[str]:
        """Return the codes that are unfolded at first: level by level, while there is space."""
        unfolded: set[str] = set()
        level, seen = list(self.roots), len(self.roots)
        while level:
            below = [child for code in level for child in self.children.get(code, ())]
            if unfolded and seen + len(below) > most:
                break
            unfolded.update(code for code in level if code in self.children)
            seen, level = seen + len(below), below
        return frozenset(unfolded)


@dataclass(frozen=True)
class Sum:
    """A relation: a total, its parts, and the dimensions in which they differ."""

    total: int
    parts: list[int]
    along: list[str]


@dataclass(frozen=True, eq=False)
class TableGrid:
    """A table, as it is shown.

    Parameters
    ----------
    table : Table
    labels : mapping of str to mapping of str to str
        For a dimension what its codes are called.
    """

    table: Table
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def dimensions(self) -> list[str]:
        """All dimensions, those with most codes first."""
        names = list(map(str, self.table.keys.columns))
        return sorted(names, key=lambda name: -len(self.trees[name].codes))

    @cached_property
    def trees(self) -> dict[str, DimensionTree]:
        """The codes of each dimension; without a hierarchy they are told by the relations."""
        known = self.table.hierarchies
        return {
            str(name): DimensionTree.of(known[name])
            if name in known
            else self._told_by_relations(str(name))
            for name in self.table.keys.columns
        }

    @cached_property
    def cells(self) -> dict[tuple[str, ...], int]:
        """Number of each cell by its codes, in the order of `dimensions`."""
        keys = self.table.keys[self.dimensions].astype(str).itertuples(index=False, name=None)
        shown = ~self.table.rests
        return {tuple(key): number for number, key in enumerate(keys) if shown[number]}

    def look(self, asked: Mapping[str, Any]) -> Look:
        """Read what a page asks for; whatever is unknown falls back to the first look."""
        names = self.dimensions
        rows = asked.get("rows") if asked.get("rows") in names else names[0]
        others = [name for name in names if name != rows]
        columns = asked.get("columns") if asked.get("columns") in others else (others or [""])[0]
        at = {}
        for name in others:
            if name != columns:
                tree, given = self.trees[name], (asked.get("at") or {}).get(name)
                at[name] = str(given) if given in tree.codes else tree.roots[0]
        opened = {
            name: frozenset(map(str, given))
            for name, given in (asked.get("opened") or {}).items()
            if name in (rows, columns)
        }
        return Look(str(rows), str(columns), at, opened)

    def shown(self, look: Look) -> dict[str, Any]:
        """Return codes of rows and columns, and the number of the cell in each square.

        Returns
        -------
        dict
            ``rows`` and ``columns``: code, depth, and whether something is folded below;
            ``cells``: a list for each row, with -1 where there is no cell.
        """
        rows = self._codes(look.rows, look.opened, OPEN_ROWS)
        columns = self._codes(look.columns, look.opened, OPEN_COLUMNS) if look.columns else [_ONE]
        cells = [
            [self._cell(look, str(row["code"]), str(column["code"])) for column in columns]
            for row in rows
        ]
        return {"rows": rows, "columns": columns, "cells": cells}

    def with_insides(
        self,
        look: Look,
        name: str,
        codes: list[dict[str, Any]],
        marked: tuple[Flags, Flags],
    ) -> list[dict[str, Any]]:
        """Return codes with how many sensitive and other changed cells are folded below each."""
        if not name:
            return codes
        shown = ~self.table.rests
        for dimension, code in look.at.items():
            shown &= (self.table.keys[dimension].astype(str) == code).to_numpy()
        place, numbers = pd.factorize(self.table.keys[name].astype(str))
        sensitive, changed = (
            dict(
                zip(numbers, np.bincount(place, flags & shown, len(numbers)).tolist(), strict=True)
            )
            for flags in marked
        )
        children = self.trees[name].children
        for entry in codes:
            folded = entry["below"] and not entry["open"]
            inside = [code for code, depth in parents_first([entry["code"]], children) if depth]
            for kind, counts in (("sensitive", sensitive), ("changed", changed)):
                entry[kind] = int(sum(counts.get(code, 0) for code in inside)) if folded else 0
        return codes

    def place(self, cell: int) -> dict[str, str]:
        """Return the codes of a cell by dimension."""
        return {name: str(self.table.keys[name].iloc[cell]) for name in self.dimensions}

    def sums(self, cell: int) -> list[Sum]:
        """Return the relations of a cell, each as a total and its parts."""
        relations = self.table.relations
        found = []
        for row in np.unique(self._columns[:, [cell]].nonzero()[0]).tolist():
            start, end = relations.indptr[row], relations.indptr[row + 1]
            cells, factors = relations.indices[start:end], relations.data[start:end]
            total = max(total_of(factors, self.sign), 0)
            parts = [each for number, each in enumerate(cells.tolist()) if number != total]
            codes = self.table.keys.iloc[cells]
            along = [name for name in self.dimensions if len(set(codes[name])) > 1]
            found.append(Sum(int(cells[total]), parts, along))
        return found

    def name(self, cell: int, dimensions: Sequence[str]) -> str:
        """Return the codes of a cell in some dimensions."""
        return ", ".join(str(self.table.keys[name].iloc[cell]) for name in dimensions)

    @cached_property
    def _columns(self) -> Any:
        return self.table.relations.tocsc()

    def _cell(self, look: Look, row: str, column: str) -> int:
        chosen = {**look.at, look.rows: row, look.columns: column}
        return self.cells.get(tuple(chosen[name] for name in self.dimensions), -1)

    def _codes(
        self, name: str, opened: Mapping[str, frozenset[str]], most: int
    ) -> list[dict[str, Any]]:
        """Return the codes that can be seen, each parent before what is unfolded below it."""
        tree = self.trees[name]
        unfolded = opened.get(name)
        if unfolded is None:
            unfolded = tree.first_look(most)
        inside = {code: tree.children[code] for code in unfolded if code in tree.children}
        labels = self.labels.get(name, {})
        return [
            {
                "code": code,
                "label": labels.get(code, ""),
                "depth": depth,
                "below": len(tree.children.get(code, ())),
                "open": bool(inside.get(code)),
            }
            for code, depth in islice(parents_first(tree.roots, inside), MOST_SHOWN)
        ]

    @cached_property
    def sign(self) -> float:
        """The sign of totals in the relations, as the first ones with several parts have it."""
        relations = self.table.relations
        for row in range(min(relations.shape[0], MOST_RELATIONS)):
            factors = relations.data[relations.indptr[row] : relations.indptr[row + 1]]
            if len(factors) > 2 and total_of(factors) >= 0:
                return float(np.sign(factors[total_of(factors)]))
        return -1.0

    def _told_by_relations(self, name: str) -> DimensionTree:
        """Return the tree of the relations in which the codes of one dimension alone differ."""
        relations, keys = self.table.relations, self.table.keys.astype(str)
        order = list(dict.fromkeys(keys[name]))
        numbers = np.column_stack([pd.factorize(keys[each])[0] for each in keys.columns])
        where, codes = list(keys.columns).index(name), keys[name].to_numpy()
        parent: dict[str, str] = {}
        for row in range(min(relations.shape[0], MOST_RELATIONS)):
            start, end = relations.indptr[row], relations.indptr[row + 1]
            cells, factors = relations.indices[start:end], relations.data[start:end]
            differs = (numbers[cells] != numbers[cells[0]]).any(axis=0)
            total = total_of(factors, self.sign)
            if differs[where] and differs.sum() == 1 and total >= 0:
                above = str(codes[cells[total]])
                for child in np.delete(codes[cells], total).tolist():
                    if child not in parent and child not in path_to_root(above, parent):
                        parent[child] = above
        children: dict[str, list[str]] = {}
        for child in order:
            if child in parent:
                children.setdefault(parent[child], []).append(child)
        roots = [code for code in order if code not in parent]
        return DimensionTree(roots, children, order)


_ONE = {"code": "value", "label": "", "depth": 0, "below": 0, "open": False}


def total_of(factors: Floats, sign: float = 0.0) -> int:
    """Return which factor of a relation stands alone on its side, or -1 if it is not certain.

    Of two factors that is the one with the given sign.
    """
    if len(factors) == 2:
        alone = np.flatnonzero(factors * sign > 0)
    else:
        alone = np.flatnonzero((factors > 0) == (int((factors > 0).sum()) == 1))
    return int(alone[0]) if len(alone) == 1 else -1
