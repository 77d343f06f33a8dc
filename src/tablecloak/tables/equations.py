"""Equations between variables, as in ``active = births + survivors``, and where they hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NoReturn

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, require_known, suggestion
from tablecloak.tables.additivity import ADDITIVITY_TOLERANCE, CANCELLATION, added_up
from tablecloak.tables.keys import are_rests, number_rows
from tablecloak.tables.table import Table

LARGEST_WHOLE = 2**31
"""Coefficients below this are read exactly where witnesses are made exact (`whole_factors`)."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<name>[^\W\d]\w*)
  | "(?P<quoted>[^"]+)"
  | (?P<sign>[+\-*=])
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Equation:
    """A linear equation between variables that holds wherever their cells have the same codes.

    Parameters
    ----------
    text : str
        Such as ``active = births + survivors``, ``toe = 0.086*gas + 1.02*oil`` or ``a + b = c``.
        A name with other characters than letters, digits and ``_`` stands in double quotes.
    where : mapping of str to sequence of str, default={}
        Codes of dimensions to which the equation is limited, as in ``{"region": ["N", "S"]}``.
    name : str, default=""
        What messages call it; by default its text.
    unit : str, default=""
        Unit of both sides, for people.
    tolerance : float, default=0
        Accepted difference of the two sides, for values that were rounded.

    Raises
    ------
    InputError
        If the text is no such equation. The message names the equation and the character.

    Examples
    --------
    >>> import tablecloak as tc
    >>> tc.Equation("active = births + survivors").terms
    {'active': -1.0, 'births': 1.0, 'survivors': 1.0}
    """

    text: str
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    name: str = ""
    unit: str = ""
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        limits = {
            str(dimension): (codes,) if isinstance(codes, str) else tuple(map(str, codes))
            for dimension, codes in self.where.items()
        }
        object.__setattr__(self, "where", limits)
        empty = next((dimension for dimension, codes in limits.items() if not codes), None)
        if empty is not None:
            raise InputError(
                f"Equation {self.label}: `where` gives no code of {empty!r}. Give at least one, or "
                f"leave {empty!r} out."
            )
        if not (isinstance(self.tolerance, int | float) and 0 <= self.tolerance < float("inf")):
            raise InputError(
                f"Equation {self.label}: `tolerance` must be a number of 0 or more. Got "
                f"{self.tolerance!r}."
            )
        _ = self.terms

    @classmethod
    def of(cls, given: Equation | str) -> Equation:
        """Return an equation that was given as such or as its text."""
        return given if isinstance(given, Equation) else cls(given)

    @property
    def label(self) -> str:
        """What messages call the equation."""
        shown = repr(str(self.text).strip())
        return f"{self.name} ({shown})" if self.name else shown

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of its variables, in the order of the text."""
        return tuple(self.terms)

    @cached_property
    def left(self) -> dict[str, float]:
        """Variables of the left side with their coefficients."""
        return self._sides[0]

    @cached_property
    def right(self) -> dict[str, float]:
        """Variables of the right side with their coefficients."""
        return self._sides[1]

    @cached_property
    def terms(self) -> dict[str, float]:
        """Coefficients of the relation *right side - left side = 0*, by variable."""
        left, right = self._sides
        coefficients: dict[str, float] = {}
        for side, sign in ((left, -1.0), (right, 1.0)):
            for name, coefficient in side.items():
                coefficients[name] = coefficients.get(name, 0.0) + sign * coefficient
        gone = next((name for name, coefficient in coefficients.items() if coefficient == 0), None)
        if gone is not None:
            raise InputError(
                f"Equation {self.label}: {gone!r} cancels out. Give each variable once, with a "
                f"coefficient other than 0."
            )
        return coefficients

    @cached_property
    def factor(self) -> int:
        """Smallest number by which all coefficients become whole; 1 if they would be too large.

        Searches can merge cells and add up rows without rounding only in whole relations.
        """
        shares = [Fraction(repr(coefficient)) for coefficient in self.terms.values()]
        factor = math.lcm(*(share.denominator for share in shares))
        return factor if max(abs(share * factor) for share in shares) < LARGEST_WHOLE else 1

    @property
    def is_sum(self) -> bool:
        """Whether it is a plain sum: one variable equals several others, all in one unit."""
        return len(self.left) == 1 and self.is_plain

    @property
    def is_plain(self) -> bool:
        """Whether all coefficients are 1 or -1, so that its variables can be added up."""
        return all(abs(coefficient) == 1 for coefficient in self.terms.values())

    def written(self, side: Mapping[str, float]) -> str:
        """Write one side out, such as ``births + survivors``."""
        text = ""
        for name, coefficient in side.items():
            size = "" if abs(coefficient) == 1 else f"{abs(coefficient):g}*"
            text += f" {'-' if coefficient < 0 else '+'} {size}{name}"
        return text.removeprefix(" + ").strip()

    def __str__(self) -> str:
        return self.label

    @cached_property
    def _sides(self) -> tuple[dict[str, float], dict[str, float]]:
        return _EquationReader(self).sides()


class _EquationReader:
    """Reads the text of an equation from left to right."""

    def __init__(self, equation: Equation) -> None:
        self.equation = equation
        self.text = str(equation.text)
        self.tokens = self._tokens()
        self.next = 0

    def sides(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the terms of both sides."""
        left = self._side()
        if self._kind() != "=":
            self._fail("'=' is missing" if self._kind() == "end" else "expected '+', '-' or '='")
        self.next += 1
        right = self._side()
        if self._kind() == "=":
            self._fail("there is a second '='")
        if self._kind() != "end":
            self._fail("expected '+', '-' or the end")
        return left, right

    def _tokens(self) -> list[tuple[str, str, int]]:
        """Return kind, text and position of each token; the last one marks the end."""
        tokens, position, end = [], 0, len(self.text.rstrip())
        while position < end:
            match = _TOKEN.match(self.text, position)
            start = position + len(self.text[position:]) - len(self.text[position:].lstrip())
            if match is None:
                self._fail(f"unexpected {self.text[start]!r}", start)
            kind = str(match.lastgroup)
            text = match.group(kind)
            kind = text if kind == "sign" else kind.replace("quoted", "name")
            tokens.append((kind, text, start))
            position = match.end()
        return [*tokens, ("end", "", end)]

    def _side(self) -> dict[str, float]:
        side: dict[str, float] = {}
        sign = self._sign(first=True)
        while sign:
            name, coefficient = self._term()
            side[name] = side.get(name, 0.0) + sign * coefficient
            sign = self._sign(first=False)
        gone = next((name for name, coefficient in side.items() if coefficient == 0), None)
        if gone is not None:
            raise InputError(
                f"Equation {self.equation.label}: the coefficients of {gone!r} add up to 0. Give "
                f"each variable once, with a coefficient other than 0."
            )
        return side

    def _sign(self, *, first: bool) -> int:
        """Return the sign of the next term; 0 if there is none."""
        kind = self._kind()
        if kind in ("+", "-"):
            self.next += 1
            return 1 if kind == "+" else -1
        return int(first)

    def _term(self) -> tuple[str, float]:
        """Read a variable, a number times a variable, or a variable times a number."""
        kinds = self._kind(), self._kind(1), self._kind(2)
        if kinds == ("number", "*", "name"):
            number, name, used = self._text(), self._text(2), 3
        elif kinds == ("name", "*", "number"):
            number, name, used = self._text(2), self._text(), 3
        elif kinds[0] == "name" and kinds[1] != "*":
            number, name, used = "1", self._text(), 1
        elif kinds[0] == "number" and kinds[1] != "*":
            self._fail(
                f"the number {self._text()} belongs to no variable (write {self._text()}*name)"
            )
        else:
            after_number = kinds[:2] == ("number", "*")
            after_name = kinds[:2] == ("name", "*")
            self.next += 2 * (after_number or after_name)
            wanted = "a number" if after_name else "a variable"
            self._fail(f"{wanted} is missing")
        self.next += used
        return name, float(number)

    def _kind(self, ahead: int = 0) -> str:
        return self.tokens[min(self.next + ahead, len(self.tokens) - 1)][0]

    def _text(self, ahead: int = 0) -> str:
        return self.tokens[self.next + ahead][1]

    def _fail(self, what: str, at: int | None = None) -> NoReturn:
        place = self.tokens[self.next][2] if at is None else at
        raise InputError(
            f"Equation {self.equation.label}: {what} at character {place + 1}. An equation is "
            f"written like 'active = births + survivors' or 'toe = 0.086*gas + 1.02*oil'."
        )


@dataclass(frozen=True, eq=False)
class EquationRelations:
    """The relations of an equation between cells of the joined table.

    Parameters
    ----------
    equation : Equation
    relations : scipy.sparse.csr_array, shape (n_relations, n_cells)
        One row for each combination of codes at which the equation holds, in whole coefficients
        where they are not too large.
    residual : numpy.ndarray of float, shape (n_relations,)
        What rounding leaves of right side minus left side, times `factor` of the equation; 0 where
        only binary dust is left.
    unpublished : dict of str to pandas.DataFrame
        For each variable the codes at which it alone has no cell, so that its value follows.
    """

    equation: Equation
    relations: csr_array
    residual: Floats
    unpublished: dict[str, pd.DataFrame]


def match(
    equation: Equation, tables: Mapping[str, Table], keys: pd.DataFrame, dimension: str
) -> EquationRelations:
    """Find the cells between which an equation holds.

    Parameters
    ----------
    equation : Equation
    tables : mapping of str to Table
        The tables of the variables, whose cells follow each other in `keys`.
    keys : pandas.DataFrame of str, shape (n_cells, 1 + n_dimensions)
        Variable and codes of each cell of the joined table.
    dimension : str
        Column with the variables.

    Raises
    ------
    InputError
        If the equation names what is unknown, or does not hold where all variables have cells.
    """
    _check_names(equation, tables, keys, dimension)
    combinations = _Combinations.of(equation, tables, keys, dimension)
    off, accepted = combinations.difference(equation, tables)
    balanced = np.abs(off) <= accepted
    absent, outside = combinations.cell < 0, combinations.is_outside
    wrong = np.flatnonzero(~balanced & ~absent.any(axis=1))
    if len(wrong):
        raise _not_balanced(equation, combinations, wrong)
    # Where a variable is not broken down by these codes, an empty one counts as the 0 that it is.
    no_level = outside.any(axis=1)
    missing: Flags = np.where(np.expand_dims(no_level, 1), outside, absent)
    holds = np.flatnonzero(balanced & ~no_level)
    follows = ~balanced & (missing.sum(axis=1) == 1)
    unpublished = {
        name: combinations.codes[follows & missing[:, column]].reset_index(drop=True)
        for column, name in enumerate(equation.variables)
        if np.any(follows & missing[:, column])
    }
    relations = combinations.relations(equation, holds, len(keys))
    residual = equation.factor * off[holds]
    return EquationRelations(equation, relations, residual, unpublished)


@dataclass(frozen=True, eq=False)
class _Combinations:
    """The combinations of codes at which some variable of an equation has a cell.

    Parameters
    ----------
    codes : pandas.DataFrame of str, shape (n_combinations, n_dimensions)
    cell : numpy.ndarray of int, shape (n_combinations, n_variables)
        Cell of each variable of the equation, -1 where it has none.
    is_outside : numpy.ndarray of bool, shape (n_combinations, n_variables)
        Whether a variable lacks a dimension by which these codes differ, so that it is not known to
        be empty there.
    values : numpy.ndarray of float, shape (n_combinations, n_variables)
        Values of these cells, 0 where there is none.
    """

    codes: pd.DataFrame
    cell: Integers
    is_outside: Flags
    values: Floats

    @classmethod
    def of(
        cls, equation: Equation, tables: Mapping[str, Table], keys: pd.DataFrame, dimension: str
    ) -> _Combinations:
        """Return the combinations to which the equation applies, without rests of groups."""
        names = equation.variables
        starts = _starts(tables)
        cells = np.concatenate([starts[n] + np.arange(tables[n].n_cells) for n in names])
        column = np.repeat(np.arange(len(names)), [tables[name].n_cells for name in names])
        own = keys.drop(columns=dimension).iloc[cells]
        used = ~are_rests(own)
        for name, limits in equation.where.items():
            used &= own[name].isin(limits).to_numpy()
        own, cells, column = own[used], cells[used], column[used]
        first, number = number_rows(own)
        cell = np.full((len(first), len(names)), -1, dtype=np.int64)
        cell[number, column] = cells
        codes = own.iloc[first].reset_index(drop=True)
        outside = np.column_stack(
            [_is_outside(codes, keys.iloc[starts[name]], tables[name]) for name in names]
        )
        values = np.concatenate([table.values for table in tables.values()])
        return cls(codes, cell, outside & (cell < 0), np.where(cell < 0, 0.0, values[cell]))

    def difference(self, equation: Equation, tables: Mapping[str, Table]) -> tuple[Floats, Floats]:
        """Return right side minus left side of each combination, and what of it is accepted.

        The difference is 0 where only binary dust is left.
        """
        coefficients = np.array(list(equation.terms.values()))
        given = sum(abs(c) * tables[name].tolerance for name, c in equation.terms.items())
        # Roundings of binary sums explain this much.
        dust = ADDITIVITY_TOLERANCE * (np.abs(self.values) @ np.abs(coefficients))
        dust = np.maximum(dust, CANCELLATION * self._added(equation, tables))
        off = self.values @ coefficients
        off = np.where(np.abs(off) <= dust, 0.0, off)
        return off, np.full(len(off), equation.tolerance + given)

    def _added(self, equation: Equation, tables: Mapping[str, Table]) -> Floats:
        """Return the sum of all that was added up for the terms of each combination."""
        starts, totals = _starts(tables), np.zeros(len(self.cell))
        for column, (name, coefficient) in enumerate(equation.terms.items()):
            added = added_up(tables[name].relations, tables[name].values)
            cell = self.cell[:, column]
            row = np.where(cell < 0, -1, cell - starts[name])
            totals += abs(coefficient) * np.append(added, 0.0)[row]
        return totals

    def relations(self, equation: Equation, rows: Integers, n_cells: int) -> csr_array:
        """Return one relation for each of the given combinations; empty cells take no part."""
        cell = self.cell[rows]
        row, column = np.nonzero(cell >= 0)
        coefficients = np.array(list(equation.terms.values())) * equation.factor
        # Products with decimal numbers are whole but for binary dust.
        coefficients = np.rint(coefficients) if equation.factor > 1 else coefficients
        entries = (coefficients[column], (row, cell[row, column]))
        return csr_array(entries, shape=(len(rows), n_cells))


def _starts(tables: Mapping[str, Table]) -> dict[str, int]:
    """Return the number of the first cell of each variable in the joined table."""
    ends = np.cumsum([table.n_cells for table in tables.values()])
    return {n: int(e) - t.n_cells for (n, t), e in zip(tables.items(), ends, strict=True)}


def _is_outside(codes: pd.DataFrame, first: pd.Series, table: Table) -> Flags:
    """Return which combinations have a code of a dimension that a variable does not have.

    There all its cells stand at one code, the total, as the first of them does.
    """
    outside = np.zeros(len(codes), dtype=bool)
    for name in codes.columns:
        if name not in table.keys.columns:
            outside |= (codes[name] != first[name]).to_numpy()
    return outside


def _check_names(
    equation: Equation, tables: Mapping[str, Table], keys: pd.DataFrame, dimension: str
) -> None:
    for name in equation.variables:
        require_known(name, tables, f"Equation {equation.label}: there is no variable {name!r}.")
    for name, codes in equation.where.items():
        if name not in keys.columns or name == dimension:
            near = suggestion(name, [column for column in keys.columns if column != dimension])
            raise InputError(f"Equation {equation.label}: there is no dimension {name!r}.{near}")
        valid_codes = set(keys[name].unique())
        odd = next((code for code in codes if code not in valid_codes), None)
        if odd is not None:
            raise InputError(
                f"Equation {equation.label}: {name!r} has no code {odd!r}."
                f"{suggestion(odd, valid_codes)}"
            )


def _not_balanced(equation: Equation, combinations: _Combinations, wrong: Integers) -> InputError:
    row = int(wrong[0])
    value = dict(zip(equation.variables, combinations.values[row].tolist(), strict=True))
    sides = [
        f"{equation.written(side)} = {sum(c * value[name] for name, c in side.items()):.12g}"
        for side in (equation.left, equation.right)
    ]
    codes = ", ".join(f"{name}={code}" for name, code in combinations.codes.iloc[row].items())
    return InputError(
        f"Equation {equation.label} does not hold at ({codes}): {sides[0]}, but {sides[1]} "
        f"({len(wrong)} such combinations of codes). Correct the values, limit the equation with "
        f"`where`, or accept rounding errors with its `tolerance`.",
        cells=combinations.cell[wrong].reshape(-1),
    )
