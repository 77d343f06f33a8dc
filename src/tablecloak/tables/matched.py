"""Where an equation holds: its relations, and the values that follow from it unpublished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, suggestion
from tablecloak.tables.additivity import ADDITIVITY_TOLERANCE, CANCELLATION, added_up
from tablecloak.tables.equations import Equation
from tablecloak.tables.keys import are_rests, number_rows
from tablecloak.tables.table import Table

__all__ = ["Matched", "match"]


@dataclass(frozen=True, eq=False)
class Matched:
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
) -> Matched:
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
    grid = _Grid.of(equation, tables, keys, dimension)
    off, accepted = grid.difference(equation, tables)
    balanced = np.abs(off) <= accepted
    absent, outside = grid.cell < 0, grid.is_outside
    wrong = np.flatnonzero(~balanced & ~absent.any(axis=1))
    if len(wrong):
        raise _not_balanced(equation, grid, wrong)
    # Where a variable is not broken down by these codes, an empty one counts as the 0 that it is.
    no_level = outside.any(axis=1)
    missing: Flags = np.where(np.expand_dims(no_level, 1), outside, absent)
    holds = np.flatnonzero(balanced & ~no_level)
    follows = ~balanced & (missing.sum(axis=1) == 1)
    unpublished = {
        name: grid.codes[follows & missing[:, column]].reset_index(drop=True)
        for column, name in enumerate(equation.variables)
        if np.any(follows & missing[:, column])
    }
    relations = grid.relations(equation, holds, len(keys))
    residual = equation.factor * off[holds]
    return Matched(equation, relations, residual, unpublished)


@dataclass(frozen=True, eq=False)
class _Grid:
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
    ) -> _Grid:
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
        starts, found = _starts(tables), np.zeros(len(self.cell))
        for column, (name, coefficient) in enumerate(equation.terms.items()):
            added = added_up(tables[name].relations, tables[name].values)
            cell = self.cell[:, column]
            own = np.where(cell < 0, -1, cell - starts[name])
            found += abs(coefficient) * np.append(added, 0.0)[own]
        return found

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
    found = np.zeros(len(codes), dtype=bool)
    for name in codes.columns:
        if name not in table.keys.columns:
            found |= (codes[name] != first[name]).to_numpy()
    return found


def _check_names(
    equation: Equation, tables: Mapping[str, Table], keys: pd.DataFrame, dimension: str
) -> None:
    for name in equation.variables:
        if name not in tables:
            raise InputError(
                f"Equation {equation.label}: there is no variable {name!r}."
                f"{suggestion(name, tables)}"
            )
    for name, codes in equation.where.items():
        if name not in keys.columns or name == dimension:
            near = suggestion(name, [each for each in keys.columns if each != dimension])
            raise InputError(f"Equation {equation.label}: there is no dimension {name!r}.{near}")
        known = set(keys[name].unique())
        odd = next((code for code in codes if code not in known), None)
        if odd is not None:
            raise InputError(
                f"Equation {equation.label}: {name!r} has no code {odd!r}.{suggestion(odd, known)}"
            )


def _not_balanced(equation: Equation, grid: _Grid, wrong: Integers) -> InputError:
    row = int(wrong[0])
    value = dict(zip(equation.variables, grid.values[row].tolist(), strict=True))
    sides = [
        f"{equation.written(side)} = {sum(c * value[name] for name, c in side.items()):.12g}"
        for side in (equation.left, equation.right)
    ]
    codes = ", ".join(f"{name}={code}" for name, code in grid.codes.iloc[row].items())
    return InputError(
        f"Equation {equation.label} does not hold at ({codes}): {sides[0]}, but {sides[1]} "
        f"({len(wrong)} such combinations of codes). Correct the values, limit the equation with "
        f"`where`, or accept rounding errors with its `tolerance`.",
        cells=grid.cell[wrong].reshape(-1),
    )
