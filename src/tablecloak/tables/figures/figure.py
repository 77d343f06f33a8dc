"""Derived figures: quotients of two cells, printed beside the table with a few digits.

A figure r of x and y, printed with k decimals, tells everybody that

    (r - d/2) y <= x <= (r + d/2) y    with d = 10^-k and y > 0,

two linear rows in x and y. Multiplied by 2 * 10^k, their coefficients are whole numbers, which
follow from the printed digits alone. `tablecloak.tables.changes.derived_figures` makes cells of
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, require_known, suggestion
from tablecloak.parameters import take_parameters
from tablecloak.registry import Registry
from tablecloak.tables.keys import DERIVED, EARLIER, are_derived, without_later_marks
from tablecloak.tables.table import Table

Codes = Mapping[str, str | Sequence[str]] | Sequence[Mapping[str, str | Sequence[str]]]
"""Cells by their codes: those of one mapping, or of any of several."""

MOST_DIGITS = 2**31 - 1
"""Largest coefficient of a row of a figure: up to it programs and witnesses read them exactly."""


@dataclass(frozen=True, eq=False)
class Quotients:
    """The quotients of one kind of figure: which cell is divided by which.

    Parameters
    ----------
    numerator : numpy.ndarray of int, shape (n_quotients,)
        Cells.
    denominator : numpy.ndarray of int, shape (n_quotients,)
        Cells; -1 where the denominator is a number that everybody knows.
    number : numpy.ndarray of float, shape (n_quotients,)
        These numbers; NaN where the denominator is a cell.
    """

    numerator: Integers
    denominator: Integers
    number: Floats

    @classmethod
    def of_cells(cls, numerator: Integers, denominator: Integers) -> Quotients:
        """Return quotients of two different cells, without those of which one is missing (-1)."""
        kept = (numerator >= 0) & (denominator >= 0) & (numerator != denominator)
        return cls(numerator[kept], denominator[kept], np.full(int(kept.sum()), np.nan))

    def chosen(self, kept: Flags) -> Quotients:
        """Return some of the quotients."""
        return Quotients(self.numerator[kept], self.denominator[kept], self.number[kept])

    def denominators(self, values: Floats) -> Floats:
        """Return the denominators in a table with some values."""
        of_cells: Floats = np.where(self.denominator < 0, self.number, values[self.denominator])
        return of_cells

    def __len__(self) -> int:
        return len(self.numerator)


@dataclass(frozen=True, kw_only=True)
class DerivedFigure(ABC):
    """A kind of figure that is published beside the totals, for all cells that have one.

    Parameters
    ----------
    decimals : int, default=1
        Digits after the decimal point with which it is printed.
    weight : float, default=1
        Loss of hiding a figure, as a multiple of the weight of its numerator.
    frozen : bool, default=False
        Whether it must be published, whatever else is hidden for it.
    where : mapping of str to sequence of str, or sequence of such mappings, optional
        Codes of dimensions to which it is limited, as in ``{"region": ["N", "S"]}``; of several
        mappings a cell has to agree with one.
    without : as `where`, optional
        Cells that do not have it, such as ``{"region": "N", "industry": "B"}``.
    """

    decimals: Annotated[int, Field(ge=0, le=9, description="Digits after the decimal point.")] = 1
    weight: Annotated[
        float, Field(ge=0, description="Loss of hiding a figure, in weights of its numerator.")
    ] = 1.0
    frozen: Annotated[bool, Field(description="Whether it must be published.")] = False
    where: Annotated[Codes | None, Field(description="Codes to which it is limited.")] = None
    without: Annotated[Codes | None, Field(description="Codes of cells without it.")] = None

    name: ClassVar[str]
    """Name of the kind in job files."""

    wording: ClassVar[str]
    """What it is called, such as "mean of {self.variable}"."""

    needs_contributions: ClassVar[bool] = False
    """Whether it is a statistic of the contributions to a cell, rather than of cells."""

    refusal: ClassVar[str] = ""
    """Why it is always refused, if it is."""

    compared_with: ClassVar[str] = ""
    """Parameter that names the earlier release or variable that it compares a cell with, if any."""

    def __post_init__(self) -> None:
        take_parameters(self, type(self).__name__)
        if self.refusal:
            raise InputError(f"{self.label}: {self.refusal}")

    @property
    def label(self) -> str:
        """What the figure is called in releases and messages."""
        return self.wording.format(self=self)

    @property
    def scale(self) -> int:
        """What the quotient is multiplied by, such as 100 for per cent."""
        return 1

    @property
    def offset(self) -> int:
        """What is added to that, such as -100 for a growth rate in per cent."""
        return 0

    @abstractmethod
    def quotients_in(self, table: Table) -> Quotients:
        """Return the quotients of all cells of a table that have the figure.

        Raises
        ------
        InputError
            If the table has no such variable, dimension or release.
        """

    def quotients(self, table: Table) -> Quotients:
        """Return the quotients of all cells that have the figure and the codes it is limited to.

        Raises
        ------
        InputError
            If there are none, or the figure names something that the table does not have.
        """
        every = self.quotients_in(table)
        keys = table.keys.iloc[every.numerator]
        kept = np.ones(len(every), dtype=bool)
        if self.where is not None:
            kept &= self._having(keys, self.where, table)
        if self.without is not None:
            kept &= ~self._having(keys, self.without, table)
        if not kept.any():
            raise InputError(
                f"{self.label}: no cell has this figure. It needs the numerator and the "
                f"denominator at the same codes."
            )
        return every.chosen(kept)

    def _having(self, keys: pd.DataFrame, codes: Codes, table: Table) -> Flags:
        """Whether cells have the codes of one of some mappings."""
        agrees = np.zeros(len(keys), dtype=bool)
        for mapping in [codes] if isinstance(codes, Mapping) else codes:
            having = np.ones(len(keys), dtype=bool)
            for name, given in mapping.items():
                if name not in keys.columns:
                    near = suggestion(name, map(str, keys.columns))
                    raise InputError(f"{self.label}: there is no dimension {name!r}.{near}")
                limits = [given] if isinstance(given, str) else list(given)
                valid_codes = set(table.keys[name])
                odd = [code for code in limits if code not in valid_codes]
                if odd:
                    near = suggestion(odd[0], valid_codes)
                    raise InputError(f"{self.label}: {name!r} has no code {odd[0]!r}.{near}")
                having &= keys[name].isin(limits).to_numpy()
            agrees |= having
        return agrees

    def check_beside(self, counts: Sequence[str]) -> None:
        """Refuse variables beside it that count records; here none.

        Raises
        ------
        InputError
            Says what to ask for instead.
        """
        del counts

    def nonexistent(self, table: Table) -> Integers:
        """Return the cells that have no such figure, since the denominator is 0."""
        if self.needs_contributions:
            return np.zeros(0, dtype=np.int64)
        quotients = self.quotients(table)
        cells: Integers = quotients.numerator[quotients.denominators(table.values) == 0]
        return cells

    def printed(self, quotients: Quotients, values: Floats) -> list[int]:
        """Return the figures in units of their last digit, rounded exactly.

        Parameters
        ----------
        quotients : Quotients
            With denominators other than 0.
        values : numpy.ndarray of float, shape (n_cells,)
            Read as the decimal numbers as which they are printed.
        """
        above, below = values[quotients.numerator], quotients.denominators(values)
        unit = 10**self.decimals
        return [
            round(unit * (self.scale * _exact(x) / _exact(y) + self.offset))
            for x, y in zip(above.tolist(), below.tolist(), strict=True)
        ]

    def released(self, table: Table, values: Floats, hidden: Flags) -> pd.DataFrame:
        """Return the figures of all cells that have one, each with its status.

        Parameters
        ----------
        table : Table
        values : numpy.ndarray of float, shape (n_cells,)
            As they are published, or would be.
        hidden : numpy.ndarray of bool, shape (n_cells,)
            Cells that are not published. A figure that is a cell of the table is hidden if that is;
            any other one if its numerator or denominator is.

        Returns
        -------
        pandas.DataFrame
            Columns ``figure``, those of the keys, ``value`` and ``status``. A quotient with a
            denominator that is not positive has no figure, and no row; with one that is 0 and
            hidden, its row says that it is suppressed, as of any other figure: its absence would
            tell that the denominator is 0.
        """
        every = pd.MultiIndex.from_frame(table.keys)
        quotients = self.quotients(table)
        below, of_cell = quotients.denominators(values), quotients.denominator >= 0
        is_silent = (below == 0) & of_cell & hidden[quotients.denominator]
        quotients = quotients.chosen((below > 0) | is_silent)
        marked = marked_keys(table, self, quotients.numerator, DERIVED)
        place = every.get_indexer(pd.MultiIndex.from_frame(marked))
        other = quotients.denominator
        unknown = hidden[quotients.numerator] | (hidden[other] & (other >= 0))
        is_hidden = np.where(place >= 0, hidden[place], unknown)
        digits: Floats = np.zeros(len(quotients))
        digits[~is_hidden] = self.printed(quotients.chosen(~is_hidden), values)
        keys = table.keys.iloc[quotients.numerator]
        keys.insert(0, "figure", self.label)
        return keys.assign(
            value=np.where(is_hidden, np.nan, np.round(digits / 10**self.decimals, self.decimals)),
            status=np.where(is_hidden, "suppressed", "published"),
        )


FIGURES: Registry[DerivedFigure] = Registry("derived figure", "tablecloak.tables.figures")
"""All kinds of derived figures, by name."""


def _exact(value: float) -> Fraction:
    return Fraction(repr(value))


def cells_of(table: Table, variable: str, label: str) -> Integers:
    """Return the cells of a variable that the table releases.

    Parameters
    ----------
    table : Table
    variable : str
        One of its variables; the name of its measure if it has only one.
    label : str
        Of the figure, for messages.

    Raises
    ------
    InputError
        If there is no such variable.
    """
    names = [table.name] if table.variables is None else list(table.variables.names)
    require_known(variable, names, f"{label}: there is no variable {variable!r}.")
    shown = ~table.rests
    if table.variables is not None:
        shown &= (table.keys[table.variables.dimension] == variable).to_numpy()
    return np.flatnonzero(shown)


def counterparts(table: Table, cells: Integers, **codes: Any) -> Integers:
    """Return for each cell the one that differs from it in some codes only, -1 where none does."""
    every = pd.MultiIndex.from_frame(table.keys)
    wanted = table.keys.iloc[cells].assign(**codes)
    places: Integers = every.get_indexer(pd.MultiIndex.from_frame(wanted)).astype(np.int64)
    return places


def marked_dimension(table: Table) -> str:
    """Return the dimension whose codes tell cells of earlier releases."""
    variable = None if table.variables is None else table.variables.dimension
    return next(str(name) for name in table.keys.columns if name != variable)


def earlier_cells(table: Table, cells: Integers, release: str) -> Integers:
    """Return for each cell the same one of an earlier release, -1 where it has none.

    The release may be one that a later one holds, since that was protected beside it.
    """
    column, mark = marked_dimension(table), f"{EARLIER}{release}: "
    every = pd.MultiIndex.from_frame(without_later_marks(table.keys))
    codes = mark + table.keys[column].iloc[cells].astype(str)
    wanted = pd.MultiIndex.from_frame(table.keys.iloc[cells].assign(**{column: codes}))
    first = ~every.duplicated()
    places = np.flatnonzero(first)[every[first].get_indexer(wanted)]
    return np.where(wanted.isin(every), places, -1).astype(np.int64)


def earlier_names(table: Table) -> list[str]:
    """Return the names of the earlier releases whose cells a table holds."""
    codes = map(str, without_later_marks(table.keys)[marked_dimension(table)].unique())
    marked = [code.removeprefix(EARLIER) for code in codes if code.startswith(EARLIER)]
    return list(dict.fromkeys(code.partition(": ")[0] for code in marked))


def marked_keys(table: Table, figure: DerivedFigure, cells: Integers, mark: str) -> pd.DataFrame:
    """Return the keys of further cells of a figure, one for each numerator."""
    keys = table.keys.iloc[cells]
    if table.variables is not None:
        return keys.assign(**{table.variables.dimension: mark + figure.label})
    column = marked_dimension(table)
    return keys.assign(**{column: mark + figure.label + ": " + keys[column].astype(str)})


def numerators_of(table: Table) -> tuple[Integers, Integers]:
    """Return the derived figures of a table, and the numerator of each.

    Its coefficient in the row of the figure is even, and that of the denominator odd.
    """
    figures = np.flatnonzero(are_derived(table.keys))
    of_figure = csr_array(table.relations[:, figures] != 0).astype(np.float64)
    rows = csr_array(of_figure.T @ table.relations).tocoo()
    figure, cell = rows.coords
    is_even = (rows.data % 2 == 0) & ~np.isin(cell, figures)
    numerator = np.zeros(len(figures), dtype=np.int64)
    numerator[figure[is_even]] = cell[is_even]
    return figures, numerator
