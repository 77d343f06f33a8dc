"""A table: its cells, their codes and values, and the relations between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from tablecloak import showing
from tablecloak.arrays import AnyIntegers, Flags, Floats, Integers
from tablecloak.errors import InputError, NotAdditiveError, listed, plain, require_known
from tablecloak.graph import parents_of, path_to_root
from tablecloak.results import in_percent
from tablecloak.tables.additivity import ADDITIVITY_TOLERANCE, is_off, left_over, own_precision
from tablecloak.tables.contributions import Contributions, implausible
from tablecloak.tables.hierarchy import Hierarchy, read_dimensions
from tablecloak.tables.keys import (
    are_rests,
    cell_of,
    check_same_values,
    described_sum,
    label_of,
    number_rows,
)
from tablecloak.tables.library_frames import as_pandas
from tablecloak.tables.number_codes import as_codes
from tablecloak.tables.relations import hierarchical_relations, with_empty_rows
from tablecloak.tables.text_numbers import numbers_of


@dataclass(frozen=True, eq=False)
class ReadyCells:
    """The cells of a frame, each once, with the relations that their codes imply.

    Attributes as those of `tablecloak.Table`.
    """

    keys: pd.DataFrame
    values: Floats
    relations: csr_array
    hierarchies: dict[str, Hierarchy]
    contributions: Contributions | None


def read_cells(
    frame: pd.DataFrame,
    dimensions: Mapping[str, Any] | Sequence[str],
    value: str,
    *,
    frequency: str | None,
    largest: Sequence[str],
    tolerance: float,
    empty_cells: bool = False,
) -> ReadyCells:
    """Read cells; arguments as those of `tablecloak.Table.from_frame`."""
    frame = as_pandas(frame)
    needed = [*dimensions, value, *([frequency] if frequency else []), *largest]
    _check_columns(frame, needed)
    _check_filled(frame, list(dimensions))
    codes = {name: as_codes(frame[name]) for name in dimensions}
    hierarchies = read_dimensions(dimensions, codes)
    if empty_cells:
        frame = with_empty_rows(frame.assign(**codes), hierarchies, needed[len(codes) :])
        codes = {name: frame[name] for name in codes}
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
    return ReadyCells(
        keys=keys,
        values=values,
        relations=hierarchical_relations(keys, hierarchies),
        hierarchies=hierarchies,
        contributions=contributions.take(keep) if contributions else None,
    )


def _check_columns(frame: pd.DataFrame, needed: Sequence[str]) -> None:
    for column in needed:
        require_known(column, frame.columns, f"The data has no column {column!r}.")


def _numbers(frame: pd.DataFrame, column: str) -> Floats:
    found = numbers_of(frame[column])
    odd = np.flatnonzero(found.isna() & frame[column].notna())
    if len(odd):
        raise InputError(
            f"column {column!r} must hold numbers, but is {frame[column].iloc[odd[0]]!r}.",
            row=int(odd[0]),
        )
    return found.to_numpy(dtype=np.float64)


def _distinct_cells(
    keys: pd.DataFrame, values: Floats, contributions: Contributions | None
) -> AnyIntegers:
    first, number = number_rows(keys)
    check_same_values(keys, values, first, number)
    if contributions:
        for given in (contributions.count[:, None], contributions.largest):
            conflict = np.flatnonzero(np.any(given != given[first][number], axis=1))
            if len(conflict):
                row = int(conflict[0])
                raise InputError(
                    f"cell {label_of(keys, row)} is given twice with different contributors. "
                    f"Remove one of the rows.",
                    row=row,
                )
    return first


def _contributions(
    frame: pd.DataFrame, keys: pd.DataFrame, values: Floats, columns: list[str], tolerance: float
) -> Contributions:
    """Read the number of contributors and the largest of them; impossible figures are refused."""
    count, *top = (_numbers(frame, column) for column in columns)
    largest = np.column_stack(top) if top else np.zeros((len(values), 0))
    found = implausible(count, values, largest, tolerance)
    if found is not None:
        row, what, rank = found
        column = columns[0] if rank is None else columns[1 + rank]
        raise InputError(
            f"cell {label_of(keys, row)}: column {column!r} is {what} Correct it: "
            f"the rules could find a sensitive cell safe.",
            cells=[row],
            row=row,
        )
    return Contributions.from_largest(count, values, largest, tolerance)


def _check_filled(frame: pd.DataFrame, names: Sequence[str]) -> None:
    for name in names:
        missing = np.flatnonzero(frame[name].isna().to_numpy())
        if len(missing):
            raise InputError(
                f"the code of dimension {name!r} is missing ({len(missing)} such rows). Fill it "
                f"in; a total needs a code too.",
                row=int(missing[0]),
            )


MOST_DECLARED = 15
"""Digits that a double can hold."""

DECLARED_DUST = 1e-6
"""Distance from a declared decimal number, in units of its last digit, that counts as rounding."""


LARGEST_TERM = 1e100
"""Largest size of a coefficient, and of the terms of a relation together.

Beyond it sums and their squares become infinite, and an infinite error passes every comparison.
"""

NO_RULES = "`protect` needs at least one rule, such as PPercent(10)."

Problem_co = TypeVar("Problem_co", covariant=True)


@dataclass(frozen=True, eq=False)
class TableVariables:
    """The variables of a joined table (`tablecloak.join`).

    Parameters
    ----------
    dimension : str
        Column of the keys that tells the variable of each cell.
    units : mapping of str to str
        Unit of each variable, for people.
    measures : mapping of str to int
        Number of the measure of each variable: variables with the same number can be added up.
    """

    dimension: str
    units: Mapping[str, str]
    measures: Mapping[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all variables."""
        return tuple(self.units)

    def of_cells(self, keys: pd.DataFrame) -> Integers:
        """Return the number of the variable of each cell, shape (n_cells,).

        Sums over several variables have the number after the last one.
        """
        position = {name: number for number, name in enumerate(self.units)}
        found = keys[self.dimension].map(position).fillna(len(position))
        return found.to_numpy().astype(np.int64)

    def comparable(self, weights: Floats, keys: pd.DataFrame) -> Floats:
        """Return weights of which those of each measure have the mean 1.

        Parameters
        ----------
        weights : numpy.ndarray of float, shape (n_cells,)
            Weights of suppressed cells, each in the unit of its variable.
        keys : pandas.DataFrame of str, shape (n_cells, n_dimensions)

        Returns
        -------
        numpy.ndarray of float, shape (n_cells,)
            As they are if all variables share one measure.

        Notes
        -----
        The mean, not the sum, is made the same: otherwise each cell of a variable with few cells
        would weigh more than any cell of a variable with many.
        """
        if len(set(self.measures.values())) < 2:
            return weights
        known = np.array([*(self.measures[name] for name in self.units), len(self.units)])
        measure = known[self.of_cells(keys)]
        counted = weights > 0
        number = np.bincount(measure[counted], minlength=len(known))
        total = np.bincount(measure, weights, minlength=len(known))
        factor = np.divide(number, total, out=np.ones(len(number)), where=total > 0)
        scaled: Floats = weights * factor[measure]
        return scaled


class SensitivityRule(Protocol[Problem_co]):
    """The part of a sensitivity rule that a table uses."""

    def protect(self, table: Table, *others: Any, **options: Any) -> Problem_co:
        """Return the table with its sensitive cells and their protection levels."""


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
        left over beyond binary dust is moved to the right-hand side, so that the values satisfy
        A a = b.
    decimals : int, optional
        Digits after the decimal point that are published. Values must be multiples of the last
        one, and are rounded to it, so that sums carry no binary dust. By default published
        cells alone decide how many digits are published.
    variables : TableVariables, optional
        The variables of a table that holds several; see `tablecloak.join`.
    figures : tuple of DerivedFigure, default=()
        What is derived from its cells and published beside them; see `tablecloak.with_derived`.

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
    variables: TableVariables | None = None
    figures: tuple[Any, ...] = ()

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
        _check_sizes(self)
        _check_additive(self)
        residual = left_over(self.relations, self.values, self.right_hand_side)
        fix("right_hand_side", _read_only(self.right_hand_side + residual))
        fix("integer", _is_whole(self))

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
        empty_cells: bool = False,
    ) -> Table:
        """Read a table that is already tabulated, one row for each cell, totals included.

        Parameters
        ----------
        frame : pandas or polars frame, or pyarrow.Table
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
        empty_cells : bool, default=False
            Whether combinations of codes that do not occur are cells of 0; see `protect`.

        Returns
        -------
        Table

        Raises
        ------
        InputError
            See `Table`; also for unknown codes and missing columns.
        """
        cells = read_cells(
            frame, dimensions, value, frequency=frequency, largest=largest,
            tolerance=tolerance, empty_cells=empty_cells,
        )  # fmt: skip
        return cls(
            **vars(cells),
            right_hand_side=np.zeros(cells.relations.shape[0]),
            name=value,
            unit=unit,
            integer=integer,
            tolerance=tolerance,
            decimals=decimals,
        )

    def with_values(self, values: npt.ArrayLike) -> Table:
        """Return the table with other values of its cells, such as adjusted ones.

        Parameters
        ----------
        values : array_like of float, shape (n_cells,)
            They satisfy the relations up to the rounding of sums of either table.

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
            side = np.where(bad, side, side + left_over(self.relations, new, side))
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

    @cached_property
    def precision(self) -> Floats:
        """Rounding error of each value, shape (n_cells,): see `own_precision`."""
        return own_precision(self.values)

    @cached_property
    def rests(self) -> Flags:
        """Which cells are rests of groups or sums, never published, shape (n_cells,)."""
        return are_rests(self.keys)

    def label(self, cell: int) -> str:
        """Name a cell by its codes, as in ``region=North, industry=47``."""
        return label_of(self.keys, cell)

    def labels(self, cells: npt.ArrayLike) -> list[str]:
        """Names of several cells."""
        return [f"({self.label(int(cell))})" for cell in np.atleast_1d(np.asarray(cells))]

    def describe_relation(self, relation: int) -> str:
        """Write a relation out, as in ``(region=Total) = (region=N) + (region=S)``."""
        return described_sum(self.keys, self.relations[[relation], :])

    def cell(self, **codes: str) -> int:
        """Return the index of the cell with these codes, one for each dimension."""
        return cell_of(self.keys, codes)

    def protect(self, *rules: SensitivityRule[Problem_co], **options: Any) -> Problem_co:
        """Find the sensitive cells and their protection levels.

        See `tablecloak.protect`, of which this is the short form.
        """
        if not rules:
            raise InputError(NO_RULES)
        other = next((rule for rule in rules if not hasattr(rule, "protect")), None)
        if other is not None:
            raise InputError(
                f"{other!r} is not a rule. Give rules such as `tc.PPercent(10)` or "
                f"`tc.MinimumFrequency(3)`."
            )
        first, *others = rules
        return first.protect(self, *others, **options)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each cell: its codes and its value."""
        return self.keys.assign(**{self.name: self.values})

    def depths(self) -> Integers:
        """Return how many steps each cell lies below the grand total, over all dimensions.

        A dimension without a hierarchy counts one step for all its codes.
        """
        depths = np.zeros(self.n_cells, dtype=np.int64)
        for name, tree in self.hierarchies.items():
            above = parents_of(tree.groups)
            steps = {code: len(path_to_root(code, above)) - 1 for code in tree.codes}
            depths += self.keys[name].map(steps).fillna(1).to_numpy(dtype=np.int64)
        return depths

    def share_of_sum(self, lost: Floats, digits: int = 1, among: Flags | None = None) -> str:
        """Say which share of the sum of all values is lost, of each variable by itself.

        Parameters
        ----------
        lost : numpy.ndarray of float, shape (n_cells,)
            Absolute amounts, each in the unit of its cell.
        digits : int, default=1
        among : numpy.ndarray of bool, shape (n_cells,), optional
            Cells that count; by default all.
        """
        size = np.abs(self.values)
        cells = np.ones(self.n_cells, dtype=bool) if among is None else among
        if self.variables is None:
            return in_percent(float(lost[cells].sum()), float(size[cells].sum()), digits)
        number = self.variables.of_cells(self.keys)
        parts = [(name, cells & (number == one)) for one, name in enumerate(self.variables.names)]
        return ", ".join(
            f"{name} {in_percent(float(lost[part].sum()), float(size[part].sum()), digits)}"
            for name, part in parts
        )

    def summary(self) -> str:
        """Say in one line how large the table is."""
        of = self.name if self.variables is None else listed(self.variables.names)
        one = "; a holding counts as one respondent" if self.holdings is not None else ""
        return (
            f"Table of {of}: {self.n_cells:,} cells, {self.n_relations:,} relations, "
            f"dimensions {', '.join(map(str, self.keys.columns))}{one}"
        )

    def _repr_html_(self) -> str:
        return showing.html(self)

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


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
    """Refuse dimensions that a column of a release would overwrite, and control characters."""
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


def _is_whole(table: Table) -> bool:
    """Whether values are whole numbers and must stay so, as declared or as they are."""
    odd = np.flatnonzero(table.values != np.rint(table.values))
    if table.integer and len(odd):
        cell = int(odd[0])
        raise InputError(
            f"Cell {table.label(cell)} has the value {table.values[cell]!r}, but the table is "
            f"declared as a table of whole numbers. Correct it or leave out `integer`.",
            cells=[cell],
        )
    return not len(odd) if table.integer is None else bool(table.integer)


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
        raise InputError(
            f"Cell {table.label(int(twice[0]))} is listed twice ({len(twice)} such rows). Remove "
            "one of the rows.",
            cells=twice,
        )


def _check_sizes(table: Table) -> None:
    """Refuse relations that cannot be added up in doubles."""
    sizes = abs(table.relations)
    row = np.repeat(np.arange(table.n_relations), np.diff(sizes.indptr))
    odd = np.flatnonzero((sizes.data > LARGEST_TERM) | (sizes.data < 1 / LARGEST_TERM))
    with np.errstate(over="ignore"):
        terms = sizes @ np.abs(table.values) + np.abs(table.right_hand_side)
    large = np.flatnonzero(~(terms <= LARGEST_TERM))
    if not len(odd) and not len(large):
        return
    relation = int(row[odd[0]] if len(odd) else large[0])
    what = (
        f"has the coefficient {table.relations.data[odd[0]]:g} of "
        f"{table.label(int(table.relations.indices[odd[0]]))}; sizes from {1 / LARGEST_TERM:g} to "
        f"{LARGEST_TERM:g} are accepted"
        if len(odd)
        else f"adds up terms of {terms[relation]:g} together; at most {LARGEST_TERM:g} is accepted"
    )
    raise InputError(
        f"Relation {relation}, {table.describe_relation(relation)}, {what}. Correct the number, or "
        f"take another unit.",
        cells=table.relations[[relation], :].indices,
    )


def _check_additive(table: Table) -> None:
    given = table.relations, table.values, table.right_hand_side
    bad = np.flatnonzero(is_off(*given, table.tolerance))
    if not len(bad):
        return
    residual = table.relations @ table.values - table.right_hand_side
    worst = int(bad[np.argmax(np.abs(residual[bad]))])
    raise NotAdditiveError(
        f"The table is not additive: relation {worst}, {table.describe_relation(worst)}, is off "
        f"by {residual[worst]:g} (parts minus total; {len(bad)} of {table.n_relations} relations "
        f"fail).",
        "Correct the values, accept rounding errors with `tolerance`, or, if codes stand below "
        "others, give the hierarchy.",
        cells=table.relations[[worst], :].indices,
    )
