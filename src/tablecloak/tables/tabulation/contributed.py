"""What each contributor adds to each cell, contributor by contributor.

A table keeps the few largest contributors of a cell. Methods that change contributions need all of
them: one aggregation over the records gives what each contributor adds to each leaf, and a sparse
matrix adds leaves up to the cells of a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.figures import group_rows
from tablecloak.tables.tabulation.frames import frame_records
from tablecloak.tables.tabulation.records import (
    ColumnRoles,
    checked_records,
    labelled_dimensions,
)
from tablecloak.tables.tabulation.roll_up import ancestors_of, expand


@dataclass(frozen=True, eq=False)
class Contributed:
    """Contributions to the most detailed combinations of codes. Secret.

    Parameters
    ----------
    hierarchies : mapping of str to Hierarchy
    leaves : numpy.ndarray of int, shape (n_leaves, n_dimensions)
        Position of each occupied leaf on each dimension.
    own : scipy.sparse.csr_array, shape (n_leaves, n_contributors)
        What each contributor itself adds to each leaf. A record with a sampling weight above 1
        counts once: the rest of its weight stands for others.
    totals : numpy.ndarray of float, shape (n_leaves,)
        Weighted sums of the value.
    names : numpy.ndarray of object, shape (n_contributors,)
        Identifiers of the contributors; numbers of rows if each record is one.
    """

    hierarchies: Mapping[str, Hierarchy]
    leaves: Integers
    own: csr_array
    totals: Floats
    names: npt.NDArray[np.object_]

    def membership(self, table: Table) -> csr_array:
        """Return which leaves add up to each cell, shape (n_cells, n_leaves).

        Raises
        ------
        InputError
            If the table has other dimensions or codes, or other values than the records: then it is
            not a table of these records.
        """
        missing = [name for name in table.hierarchies if name not in self.hierarchies]
        if missing or not table.hierarchies:
            raise InputError(
                f"The records are tabulated by {', '.join(self.hierarchies)}; the table has the "
                f"dimensions {', '.join(map(str, table.keys.columns))}. Give the dimensions of the "
                "table."
            )
        if table.variables is not None:
            raise InputError(
                "The table holds several variables, and the records are those of one. Take the "
                "table of each variable before they are joined."
            )
        member = self._member(table)
        off = np.abs(member @ self.totals - table.values) > self._rounding(table, member)
        if np.any(off):
            cell = int(np.flatnonzero(off)[0])
            raise InputError(
                f"The table is not one of these records: cell {table.label(cell)} is "
                f"{table.values[cell]:g}, but its records add up to "
                f"{(member @ self.totals)[cell]:g}. Give the records that were tabulated, with the "
                "same value and weight.",
                cells=[cell],
            )
        return member

    def _member(self, table: Table) -> csr_array:
        """Locate each leaf in all cells whose codes lie above its own."""
        names = list(table.hierarchies)
        axes = [list(self.hierarchies).index(name) for name in names]
        number = [
            {code: index for index, code in enumerate(table.hierarchies[name].codes)}
            for name in names
        ]
        found = pd.DataFrame(
            {name: table.keys[name].map(of) for name, of in zip(names, number, strict=True)}
        )
        unknown = np.flatnonzero(found.isna().any(axis=1))
        if len(unknown):
            cell = int(unknown[0])
            raise InputError(
                f"Cell {table.label(cell)} is no combination of codes that records can have, such "
                "as what is left of a group. Protect the table by rules on single cells.",
                cells=[cell],
            )
        rows = found.to_numpy().astype(np.int64)
        source, above = np.arange(len(self.leaves)), self.leaves[:, axes]
        for axis, name in enumerate(names):
            part, above = expand(above, axis, ancestors_of(table.hierarchies[name]))
            source = source[part]
        _, group = group_rows(np.concatenate([rows, above]))
        cell_of = np.full(group.max(initial=-1) + 1, -1, dtype=np.int64)
        cell_of[group[: len(rows)]] = np.arange(len(rows))
        cells = cell_of[group[len(rows) :]]
        listed = cells >= 0
        ones = np.ones(int(listed.sum()))
        shape = (table.n_cells, len(self.leaves))
        return csr_array((ones, (cells[listed], source[listed])), shape=shape)

    def _rounding(self, table: Table, member: csr_array) -> Floats:
        """By how much rounding may have moved each cell: half a unit for each leaf."""
        count = np.asarray(member.sum(axis=1)).ravel()
        digit = 0.0 if table.decimals is None else 10.0**-table.decimals
        slack: Floats = (
            0.51 * digit * count + table.tolerance + 1e-9 * (member @ np.abs(self.totals))
        )
        return slack

    @cached_property
    def sizes(self) -> Floats:
        """Sum of what each contributor adds, in absolute numbers, shape (n_contributors,)."""
        found: Floats = np.asarray(abs(self.own).sum(axis=0)).ravel()
        return found


def contributed(
    data: Any,
    dimensions: Mapping[str, Any] | Sequence[str],
    value: str,
    *,
    contributor: str | None = None,
    weight: str | None = None,
    engine: str = "duckdb",
) -> Contributed:
    """Add up what each contributor adds to each most detailed combination of codes.

    Parameters
    ----------
    data, dimensions, value, contributor, weight, engine
        See `tabulate`.

    Raises
    ------
    InputError
        As `tabulate` does.
    """
    roles = ColumnRoles(value, contributor, None, weight, value, None)
    parsed = labelled_dimensions(dimensions, data)
    if (records := frame_records(data, parsed, roles, engine)) is not None:
        return Contributed(records.hierarchies, *_of_rows(*records.by_contributor(contributor)))
    with checked_records(data, parsed, roles, engine) as asked:
        table, overview = asked.table, asked.overview
        who = "contributor" if contributor else "row"
        # A weight stands for others, who get no noise of their own.
        once = table.value * table.weight.clip(upper=1.0)
        frame = (
            table.group_by([*asked.axes, who])
            .agg(
                own=overview.sums["once"].of(once),
                total=overview.sums["value"].of(table.value * table.weight),
            )
            .order_by([*asked.axes, who])
            .to_pandas()
        )
    number, names = pd.factorize(frame[who], sort=True)
    sums = (frame[name].to_numpy(np.float64) for name in ("own", "total"))
    rows = _of_rows(asked.positions(frame), number, names, *sums)
    return Contributed(asked.hierarchies, *rows)


def _of_rows(
    positions: Integers, number: Integers, names: Any, added: Floats, total: Floats
) -> tuple[Integers, csr_array, Floats, npt.NDArray[np.object_]]:
    """Arrange what contributors add to leaves: leaves, a row for each, their totals, and names."""
    leaves, leaf = group_rows(positions)
    own = csr_array((added, (leaf, number)), shape=(len(leaves), len(names)))
    totals: Floats = np.zeros(len(leaves))
    np.add.at(totals, leaf, total)
    return leaves, own, totals, np.asarray(names, dtype=object)
