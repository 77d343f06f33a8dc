"""A table: cells, their values, and the sparse additive relations between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array, csr_array, vstack

from tablecloak import showing
from tablecloak.errors import InputError, listed, plain
from tablecloak.tables.additivity import ADDITIVITY_TOLERANCE, CANCELLATION, added_up, is_off
from tablecloak.tables.contributions import Contributions, implausible
from tablecloak.tables.hierarchy import Hierarchy

if TYPE_CHECKING:
    from tablecloak.tables.problem import ProtectionProblem
    from tablecloak.tables.sensitivity import Rule

__all__ = ["Table", "link"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]

MOST_DECLARED = 15
"""Digits that a double can hold."""

DECLARED_DUST = 1e-6
"""Distance from a declared decimal number, in units of its last digit, that is always dust."""


@dataclass(frozen=True, eq=False)
class Table:
    """n cells with values a and m relations A a = b. Immutable.

    Linked tables are one `Table`: the union of their cells with all relations stacked.

    Parameters
    ----------
    keys : pandas.DataFrame of str, shape (n_cells, n_dimensions)
        The code of each cell on each dimension; the index is 0..n-1.
    values : numpy.ndarray of float, shape (n_cells,)
        Cell values a, in the unit `unit`.
    relations : scipy.sparse.csr_array, shape (n_relations, n_cells)
        Coefficients A: -1 for the total of a relation, +1 for its parts.
    right_hand_side : numpy.ndarray of float, shape (n_relations,)
        b, usually 0.
    hierarchies : mapping of str to Hierarchy, default={}
        The dimensions, in the order of the columns of `keys`. Empty for a table that was
        given by its relations alone.
    name : str, default="value"
        Name of the measure.
    unit : str, default=""
        Unit of the values, for people.
    integer : bool or None, default=None
        Whether all values are whole numbers and must stay so; None looks at the values.
    contributions, holdings : Contributions or None
        Contributors of each cell, grouped by contributor and by holding.
    tolerance : float, default=0
        Accepted absolute error of a relation, for tables that were rounded before. What is
        left over is moved to the right-hand side, so that the values satisfy A a = b.
    decimals : int, optional
        Digits after the decimal point that are published. Values must be multiples of the last
        one, and are rounded to it, so that sums carry no binary dust. By default published
        cells alone decide how many digits are published.

    Raises
    ------
    InputError
        If values are missing or infinite, shapes disagree, cells are listed twice, or a
        relation does not hold.
    """

    keys: pd.DataFrame
    values: Floats
    relations: csr_array
    right_hand_side: Floats
    hierarchies: Mapping[str, Hierarchy] = None  # type: ignore[assignment]
    name: str = "value"
    unit: str = ""
    integer: bool | None = None
    contributions: Contributions | None = None
    holdings: Contributions | None = None
    tolerance: float = 0.0
    decimals: int | None = None

    def __post_init__(self) -> None:
        fix = self.__setattr_frozen
        fix("values", _read_only(np.array(self.values, dtype=np.float64)))
        fix("relations", _canonical(self.relations))
        fix("right_hand_side", np.array(self.right_hand_side, dtype=np.float64))
        if not self.tolerance >= 0:
            raise InputError(f"`tolerance` must be a number of 0 or more. Got {self.tolerance!r}.")
        fix("hierarchies", dict(self.hierarchies or {}))
        _check_shapes(self)
        _check_names(self)
        _check_finite(self)
        if self.decimals is not None:
            fix("values", _read_only(_in_decimals(self)))
        _check_unique(self)
        _check_additive(self)
        residual = self.relations @ self.values - self.right_hand_side
        fix("right_hand_side", _read_only(self.right_hand_side + residual))
        whole = bool(np.all(self.values == np.rint(self.values)))
        if self.integer and not whole:
            odd = int(np.flatnonzero(self.values != np.rint(self.values))[0])
            raise InputError(
                f"Cell {self.label(odd)} has the value {self.values[odd]!r}, but the table is "
                f"declared as a table of whole numbers. Correct it or leave out `integer`.",
                cells=[odd],
            )
        fix("integer", whole if self.integer is None else bool(self.integer))

    def __setattr_frozen(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    # -- construction ---------------------------------------------------------------------

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        dimensions: Mapping[str, Any] | Sequence[str],
        value: str = "value",
        *,
        frequency: str | None = None,
        largest: Sequence[str] = (),
        unit: str = "",
        integer: bool | None = None,
        tolerance: float = 0.0,
        decimals: int | None = None,
    ) -> Table:
        """Read a table that is already tabulated, one row for each cell, totals included.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row for each cell. A combination of codes that does not occur is an empty
            cell: its value is 0 and everybody knows it.
        dimensions : mapping of str to hierarchy, or sequence of str
            Columns with the codes; for each a `Hierarchy`, the path of an ``.hrc`` file, a
            nested dictionary, or None for a flat list of codes below "Total".
        value : str, default="value"
            Column with the cell values.
        frequency : str, optional
            Column with the number of contributors.
        largest : sequence of str, default=()
            Columns with the largest contributions, the largest first.
        unit, integer, tolerance, decimals
            See `Table`.

        Returns
        -------
        Table

        Raises
        ------
        InputError
            See `Table`; also for unknown codes and missing columns.
        """
        from tablecloak.tables.dimensions import read_dimensions

        needed = [*dimensions, value, *([frequency] if frequency else []), *largest]
        _check_columns(frame, needed)
        _check_filled(frame, list(dimensions))
        codes = {name: frame[name].astype(str) for name in dimensions}
        hierarchies = read_dimensions(dimensions, codes)
        _check_known_codes(codes, hierarchies)
        keys = pd.DataFrame(codes).reset_index(drop=True)
        values = _numbers(frame, value)
        contributions = None
        if frequency:
            contributions = _contributions(frame, keys, values, [frequency, *largest], tolerance)
        elif largest:
            raise InputError(
                f"Columns {listed(list(largest))} are the largest contributions, but the number of "
                f"contributors is not known. Name its column with `frequency`."
            )
        keep = _distinct_cells(keys, values, contributions)
        keys, values = keys.iloc[keep].reset_index(drop=True), values[keep]
        contributions = contributions.take(keep) if contributions else None
        relations = hierarchical_relations(keys, hierarchies)
        return cls(
            keys=keys,
            values=values,
            relations=relations,
            right_hand_side=np.zeros(relations.shape[0]),
            hierarchies=hierarchies,
            name=value,
            unit=unit,
            integer=integer,
            contributions=contributions,
            tolerance=tolerance,
            decimals=decimals,
        )

    def with_values(self, values: npt.ArrayLike) -> Table:
        """Return the table with other values of its cells, such as adjusted ones.

        Parameters
        ----------
        values : array_like of float, shape (n_cells,)
            They keep the relations up to the dust of binary sums of either table.

        Returns
        -------
        Table
            Without contributions and declared decimals.

        Raises
        ------
        InputError
            If a relation does not hold, or a value is not finite.
        """
        new: Floats = np.asarray(values, dtype=np.float64)
        side = self.right_hand_side
        if new.shape == self.values.shape and np.all(np.isfinite(new)):
            bad = is_off(self.relations, new, side, self.tolerance, reference=self.values)
            side = np.where(bad, side, self.relations @ new)
        return replace(
            self,
            values=new,
            right_hand_side=side,
            integer=None,
            contributions=None,
            holdings=None,
            decimals=None,
        )

    # -- what it says ---------------------------------------------------------------------

    @property
    def n_cells(self) -> int:
        """Number of cells n."""
        return len(self.values)

    @property
    def n_relations(self) -> int:
        """Number of relations m."""
        return int(self.relations.shape[0])

    @property
    def is_count(self) -> bool:
        """Whether it is a table of counts: everybody knows that its values are whole.

        It is if its measure is called count, or if each value is the number of contributors.
        """
        if not self.integer or bool(np.any(self.values < 0)):
            return False
        found = self.contributions
        return self.name == "count" or (
            found is not None and bool(np.array_equal(found.count, self.values))
        )

    def label(self, cell: int) -> str:
        """Name a cell by its codes, as in ``region=North, industry=47``."""
        return _label(self.keys, cell)

    def labels(self, cells: npt.ArrayLike) -> list[str]:
        """Names of several cells."""
        return [f"({self.label(int(cell))})" for cell in np.atleast_1d(np.asarray(cells))]

    def describe_relation(self, relation: int) -> str:
        """Write a relation out, as in ``(region=Total) = (region=N) + (region=S)``."""
        row = self.relations[[relation], :]
        ends = sorted(zip(row.data, row.indices, strict=True))
        totals = [f"({self.label(cell)})" for sign, cell in ends if sign < 0]
        parts = [f"({self.label(cell)})" for sign, cell in ends if sign > 0]
        shown = " + ".join(parts[:4]) + (f" + {len(parts) - 4} more" if len(parts) > 4 else "")
        return f"{' + '.join(totals) or '0'} = {shown}"

    def cell(self, **codes: str) -> int:
        """Return the index of the cell with these codes.

        Examples
        --------
        >>> table.cell(region="North", industry="47")  # doctest: +SKIP
        17
        """
        match = np.ones(self.n_cells, dtype=bool)
        for name, code in codes.items():
            if name not in self.keys.columns:
                raise InputError(f"The table has no dimension {name!r}; it has {self.keys.columns}")
            match &= (self.keys[name] == str(code)).to_numpy()
        found = np.flatnonzero(match)
        if len(found) != 1:
            raise InputError(f"{len(found)} cells have the codes {codes}; give a code for each of "
                             f"the dimensions {listed(list(self.keys.columns))}.")  # fmt: skip
        return int(found[0])

    def protect(self, *rules: Rule, **options: Any) -> ProtectionProblem:
        """Find the sensitive cells and their protection levels.

        See `tablecloak.protect`, of which this is the short form.
        """
        from tablecloak.tables.sensitivity import protect

        return protect(self, *rules, **options)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each cell: its codes and its value."""
        return self.keys.assign(**{self.name: self.values})

    def summary(self) -> str:
        """Say in one line how large the table is."""
        return (
            f"Table of {self.name}: {self.n_cells:,} cells, {self.n_relations:,} relations, "
            f"dimensions {', '.join(map(str, self.keys.columns))}"
        )

    def _repr_html_(self) -> str:
        return showing.html(self)

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def link(*tables: Table) -> Table:
    """Join tables of the same measure into one: the union of cells, all relations stacked.

    Two cells are the same if their codes are the same; a dimension that a table does not
    have stands at its total there.

    Parameters
    ----------
    *tables : Table
        Tables with hierarchies, or at least with the same dimensions.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If a cell has different values in two tables, or a dimension different totals.
    """
    hierarchies = _linked_hierarchies(tables)
    names = list(dict.fromkeys(name for table in tables for name in table.keys.columns))
    stacked = pd.concat([_completed_keys(table, names, hierarchies) for table in tables])
    first, cell_of_row = _number_rows(stacked)
    values = np.concatenate([table.values for table in tables])
    added = np.concatenate([added_up(table.relations, table.values) for table in tables])
    _check_same_values(stacked, values, first, cell_of_row, CANCELLATION * added)
    offsets = np.cumsum([0, *(table.n_cells for table in tables)])
    relations, right_hand_side = _stack_relations(tables, cell_of_row, offsets, len(first))
    merged: dict[str, Contributions | None] = {}
    for attribute in ("contributions", "holdings"):
        parts = [getattr(table, attribute) for table in tables]
        merged[attribute] = (
            None
            if any(part is None for part in parts)
            else Contributions.concatenate(parts).take(first)
        )
    return Table(
        keys=stacked.iloc[first].reset_index(drop=True),
        values=values[first],
        relations=relations,
        right_hand_side=right_hand_side,
        hierarchies=hierarchies,
        name=tables[0].name,
        unit=tables[0].unit,
        integer=all(bool(table.integer) for table in tables),
        tolerance=max(table.tolerance for table in tables),
        decimals=_common(table.decimals for table in tables),
        **merged,
    )


def hierarchical_relations(keys: pd.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> csr_array:
    """Derive the relations of a table from its hierarchies.

    For each group of each dimension and each combination of codes on the other dimensions:
    total = sum of the parts that occur. Empty cells take no part.

    Parameters
    ----------
    keys : pandas.DataFrame of str, shape (n_cells, n_dimensions)
    hierarchies : mapping of str to Hierarchy

    Returns
    -------
    scipy.sparse.csr_array of shape (n_relations, n_cells)
    """
    positions = np.column_stack(
        [keys[name].map(tree.position).to_numpy(np.int64) for name, tree in hierarchies.items()]
    )
    blocks = [
        _relations_along(positions, axis, tree)
        for axis, tree in enumerate(hierarchies.values())
        if len(tree.groups)
    ]
    return vstack(blocks, format="csr") if blocks else csr_array((0, len(keys)))


def _relations_along(positions: Integers, axis: int, tree: Hierarchy) -> csr_array:
    """Relations along one dimension, without a loop over cells."""
    n_cells = len(positions)
    others = np.delete(positions, axis, axis=1)
    _, line = np.unique(others, axis=0, return_inverse=True)
    line = line.reshape(-1)
    code_of_cell = positions[:, axis]
    rows, columns, signs = [], [], []
    for side, pairs in ((-1.0, _totals(tree)), (1.0, _parts(tree))):
        members = pairs[np.argsort(pairs[:, 0], kind="stable")]
        start = np.searchsorted(members[:, 0], code_of_cell, side="left")
        stop = np.searchsorted(members[:, 0], code_of_cell, side="right")
        cells = np.repeat(np.arange(n_cells), stop - start)
        offset = np.arange(len(cells)) - np.repeat(np.cumsum(stop - start) - (stop - start),
                                                   stop - start)  # fmt: skip
        group = members[np.repeat(start, stop - start) + offset, 1]
        rows.append(line[cells] * len(tree.groups) + group)
        columns.append(cells)
        signs.append(np.full(len(cells), side))
    row = np.concatenate(rows)
    sign = np.concatenate(signs)
    _, row = np.unique(row, return_inverse=True)
    n_rows = int(row.max(initial=-1)) + 1
    # A group without its total or without any part is no relation of this table.
    complete = np.bincount(row[sign < 0], minlength=n_rows) > 0
    complete &= np.bincount(row[sign > 0], minlength=n_rows) > 0
    keep = complete[row]
    renumbered = np.cumsum(complete) - 1
    return csr_array(
        (sign[keep], (renumbered[row[keep]], np.concatenate(columns)[keep])),
        shape=(int(complete.sum()), n_cells),
    )


def _totals(tree: Hierarchy) -> Integers:
    pairs = [(tree.position[parent], number) for number, (parent, _) in enumerate(tree.groups)]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _parts(tree: Hierarchy) -> Integers:
    pairs = [
        (tree.position[code], number)
        for number, (_, children) in enumerate(tree.groups)
        for code in children
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


# -- checks -------------------------------------------------------------------------------


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def _canonical(relations: Any) -> csr_array:
    matrix = csr_array(relations, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _check_shapes(table: Table) -> None:
    n, m = table.n_cells, table.n_relations
    found = (len(table.keys), table.relations.shape[1], len(table.right_hand_side))
    if found != (n, n, m):
        raise InputError(
            f"The table has {n} values but {found[0]} keys, {found[1]} columns in `relations` "
            f"and {found[2]} right-hand sides for {m} relations. All must fit together."
        )


RESERVED = ("status", "value", "lower", "upper")
"""Names of columns of releases."""


def _check_names(table: Table) -> None:
    """Refuse dimensions that a column of a release would overwrite, and text that steers."""
    names = list(map(str, table.keys.columns))
    texts = [*names, table.name, table.unit, *(c for n in names for c in table.keys[n].unique())]
    odd = next((text for text in map(str, texts) if plain(text) != text), None)
    if odd is not None:
        raise InputError(
            f"The code or name {odd!r} holds a control character, which can steer a terminal or a "
            f"printer. Remove it from the data."
        )
    taken = [name for name in names if name in (*RESERVED, table.name)]
    if taken or table.name == "status" or len(set(names)) < len(names):
        name = taken[0] if taken else table.name
        what = "dimension" if taken else "measure" if table.name == "status" else "second dimension"
        raise InputError(
            f"A {what} has the name {name!r}, like the measure or a column of results "
            f"({listed(RESERVED)}), which would overwrite it. Give it another name, such as "
            f"'{name}_code'; a job file names the column apart: [dimensions.{name}_code] with "
            f"column = {name!r}."
        )


def _in_decimals(table: Table) -> Floats:
    """Values rounded to the declared digits, of which they must be multiples."""
    decimals = table.decimals
    if not isinstance(decimals, int) or abs(decimals) > MOST_DECLARED:
        raise InputError(
            f"`decimals` must be a whole number from -{MOST_DECLARED} to {MOST_DECLARED}. Got "
            f"{decimals!r}."
        )
    values: Floats = np.round(table.values, decimals)
    dust = np.maximum(ADDITIVITY_TOLERANCE * np.abs(values), DECLARED_DUST * 10.0**-decimals)
    accepted = np.maximum(dust, table.tolerance)
    off = np.flatnonzero(np.abs(values - table.values) > np.minimum(accepted, 10.0**-decimals / 4))
    if len(off):
        raise InputError(
            f"Cell {table.label(int(off[0]))} has the value {float(table.values[off[0]])!r}, but "
            f"the table is declared with {decimals} decimals ({len(off)} such cells). Round the "
            f"table so that it adds up, or declare more decimals.",
            cells=off,
        )
    return values


def _common(given: Iterator[int | None]) -> int | None:
    """Return the most digits that linked tables declare; None if one of them declares none."""
    declared = list(given)
    known = [decimals for decimals in declared if decimals is not None]
    return max(known) if len(known) == len(declared) else None


def _check_finite(table: Table) -> None:
    bad = np.flatnonzero(~np.isfinite(table.values))
    if len(bad):
        raise InputError(
            f"Cell {table.label(int(bad[0]))} has the value {table.values[bad[0]]} "
            f"({len(bad)} such cells). Values must be finite numbers; leave empty cells out.",
            cells=bad,
        )


def _check_unique(table: Table) -> None:
    twice = np.flatnonzero(table.keys.duplicated().to_numpy())
    if len(twice):
        raise InputError(f"Cell {table.label(int(twice[0]))} is listed twice.", cells=twice)


def _check_additive(table: Table) -> None:
    given = table.relations, table.values, table.right_hand_side
    bad = np.flatnonzero(is_off(*given, table.tolerance))
    if not len(bad):
        return
    residual = table.relations @ table.values - table.right_hand_side
    worst = int(bad[np.argmax(np.abs(residual[bad]))])
    raise InputError(
        f"The table is not additive: relation {worst}, {table.describe_relation(worst)}, is off "
        f"by {residual[worst]:g} (parts minus total; {len(bad)} of {table.n_relations} relations "
        f"fail). Correct the values, or accept rounding errors with `tolerance`.",
        cells=table.relations[[worst], :].indices,
    )


def _check_columns(frame: pd.DataFrame, needed: Sequence[str]) -> None:
    from tablecloak.errors import suggestion

    for column in needed:
        if column not in frame.columns:
            raise InputError(
                f"The data has no column {column!r}.{suggestion(column, map(str, frame.columns))}"
            )


def _numbers(frame: pd.DataFrame, column: str) -> Floats:
    found = pd.to_numeric(frame[column], errors="coerce")
    odd = np.flatnonzero(found.isna() & frame[column].notna())
    if len(odd):
        raise InputError(
            f"Row {odd[0] + 1}: column {column!r} must hold numbers, but is "
            f"{frame[column].iloc[odd[0]]!r}."
        )
    return found.to_numpy(dtype=np.float64)


def _check_known_codes(codes: Mapping[str, pd.Series], trees: Mapping[str, Hierarchy]) -> None:
    for name, column in codes.items():
        unknown = ~column.isin(trees[name].codes)
        if unknown.any():
            row = int(np.flatnonzero(unknown.to_numpy())[0])
            raise InputError(
                f"Row {row + 1}: code {column.iloc[row]!r} of dimension {name!r} is not in its "
                f"hierarchy (unknown are {listed(sorted(column[unknown].unique()))}). Add the code "
                f"to the hierarchy or correct the data."
            )


def _number_rows(keys: pd.DataFrame) -> tuple[Integers, Integers]:
    """Number the distinct rows by first appearance: first row of each, number of each row."""
    number = keys.groupby(list(keys.columns), sort=False, dropna=False).ngroup().to_numpy()
    _, first = np.unique(number, return_index=True)
    return first.astype(np.int64), number.astype(np.int64)


def _check_same_values(
    keys: pd.DataFrame,
    values: Floats,
    first: Integers,
    number: Integers,
    dust: Floats | float = 0.0,
) -> None:
    expected = values[first][number]
    scale = np.maximum(np.abs(values), np.abs(expected))
    # Values that are no numbers are reported elsewhere, with a message of their own.
    known = np.isfinite(values) & np.isfinite(expected)
    difference = np.abs(np.subtract(values, expected, where=known, out=np.zeros_like(values)))
    conflict = np.flatnonzero(difference > np.maximum(ADDITIVITY_TOLERANCE * scale, dust))
    if len(conflict):
        row = int(conflict[0])
        raise InputError(
            f"Cell {_label(keys, row)} is given twice with different values, {expected[row]!r} and "
            f"{values[row]!r}. The same cell must have the same value wherever it occurs."
        )


def _distinct_cells(
    keys: pd.DataFrame, values: Floats, contributions: Contributions | None
) -> Integers:
    first, number = _number_rows(keys)
    _check_same_values(keys, values, first, number)
    if contributions:
        for given in (contributions.count[:, None], contributions.largest):
            conflict = np.flatnonzero(np.any(given != given[first][number], axis=1))
            if len(conflict):
                row = int(conflict[0])
                raise InputError(
                    f"Row {row + 1}: cell {_label(keys, row)} is given twice with different "
                    f"contributors. Remove one of the rows."
                )
    return first


def _contributions(
    frame: pd.DataFrame, keys: pd.DataFrame, values: Floats, columns: list[str], tolerance: float
) -> Contributions:
    """Read the number of contributors and the largest of them; refuse what cannot be true."""
    count, *top = (_numbers(frame, column) for column in columns)
    largest = np.column_stack(top) if top else np.zeros((len(values), 0))
    found = implausible(count, values, largest, tolerance)
    if found is not None:
        row, what, rank = found
        column = columns[0] if rank is None else columns[1 + rank]
        raise InputError(
            f"Row {row + 1}, cell {_label(keys, row)}: column {column!r} is {what} Correct it: the "
            f"rules could find a sensitive cell safe.",
            cells=[row],
        )
    return Contributions.from_largest(count, values, largest, tolerance)


def _label(keys: pd.DataFrame, row: int) -> str:
    return ", ".join(f"{name}={code}" for name, code in keys.iloc[row].items())


def _check_filled(frame: pd.DataFrame, names: Sequence[str]) -> None:
    for name in names:
        missing = np.flatnonzero(frame[name].isna().to_numpy())
        if len(missing):
            raise InputError(
                f"Row {missing[0] + 1}: the code of dimension {name!r} is missing "
                f"({len(missing)} such rows). Fill it in; a total needs a code too."
            )


# -- linking ------------------------------------------------------------------------------


def _linked_hierarchies(tables: Sequence[Table]) -> dict[str, Hierarchy]:
    """One hierarchy for each dimension; the one with the most codes stands for all."""
    merged: dict[str, Hierarchy] = {}
    for table in tables:
        for name, tree in table.hierarchies.items():
            known = merged.setdefault(name, tree)
            if known.total != tree.total:
                raise InputError(
                    f"Dimension {name!r} has the total {known.total!r} in one table and "
                    f"{tree.total!r} in another. Linked tables need one code for the total."
                )
            if len(tree.codes) > len(known.codes):
                merged[name] = tree
    return merged


def _completed_keys(
    table: Table, names: Sequence[str], hierarchies: Mapping[str, Hierarchy]
) -> pd.DataFrame:
    missing = [name for name in names if name not in table.keys.columns]
    for name in missing:
        if name not in hierarchies:
            raise InputError(
                f"Dimension {name!r} is missing in one of the linked tables and has no "
                f"hierarchy, so its total is unknown. Give the hierarchy of each dimension."
            )
    totals = {name: hierarchies[name].total for name in missing}
    return table.keys.assign(**totals)[list(names)]


def _stack_relations(
    tables: Sequence[Table], cell_of_row: Integers, offsets: Integers, n_cells: int
) -> tuple[csr_array, Floats]:
    """Stack all relations over the common cells, each only once."""
    blocks = []
    for table, start in zip(tables, offsets, strict=False):
        block = coo_array(table.relations)
        blocks.append(
            csr_array(
                (block.data, (block.coords[0], cell_of_row[start + block.coords[1]])),
                shape=(table.n_relations, n_cells),
            )
        )
    stacked = csr_array(vstack(blocks, format="csr"))
    stacked.sort_indices()
    right_hand_side = np.concatenate([table.right_hand_side for table in tables])
    seen: dict[bytes, int] = {}
    for row in _rows(stacked):
        seen.setdefault(row[1], row[0])
    keep = np.array(sorted(seen.values()), dtype=np.int64)
    return stacked[keep, :], right_hand_side[keep]


def _rows(matrix: csr_array) -> Iterator[tuple[int, bytes]]:
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        yield row, matrix.indices[part].tobytes() + matrix.data[part].tobytes()
