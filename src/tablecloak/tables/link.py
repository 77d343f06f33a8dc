"""Linked tables, one over the union of their cells; and joined variables, their cells side by side.

A cell of a joined table is a variable and the codes of a cell of that variable; equations are
further relations. Each variable keeps what was decided for it: statuses, levels, bounds, weights
and contributions.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import block_diag, coo_array, csr_array, vstack

from tablecloak.arrays import AnyIntegers, Floats
from tablecloak.errors import InputError, TablecloakWarning
from tablecloak.tables.additivity import CANCELLATION, added_up
from tablecloak.tables.contributions import LEVELS, Contributions
from tablecloak.tables.equations import Equation, EquationRelations, match
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.keys import REST, check_same_values, number_rows
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table, TableVariables


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
    hierarchies = linked_hierarchies(tables)
    totals = {name: tree.total for name, tree in hierarchies.items()}
    stacked = pd.concat(completed_keys([table.keys for table in tables], totals))
    first, cell_of_row = number_rows(stacked)
    values = np.concatenate([table.values for table in tables])
    added = np.concatenate([added_up(table.relations, table.values) for table in tables])
    check_same_values(stacked, values, first, cell_of_row, CANCELLATION * added)
    offsets = np.cumsum([0, *(table.n_cells for table in tables)])
    relations, right_hand_side = _stack_relations(tables, cell_of_row, offsets, len(first))
    merged: dict[str, Any] = {}
    for attribute in LEVELS.values():
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
        decimals=most_decimals(tables),
        **merged,
    )


def most_decimals(tables: Sequence[Table]) -> int | None:
    """Return the most digits that tables declare; None if one of them declares none."""
    declared = [table.decimals for table in tables if table.decimals is not None]
    return max(declared) if len(declared) == len(tables) else None


def stacked_contributions(tables: Sequence[Table], attribute: str) -> Contributions:
    """Stack contributions; tables without any have cells of unknown contributors."""
    parts = [getattr(table, attribute) or Contributions.unknown(table.values) for table in tables]
    most = max(part.largest.shape[1] for part in parts)
    return Contributions.concatenate([part.padded(most) for part in parts])


def linked_hierarchies(tables: Sequence[Table]) -> dict[str, Hierarchy]:
    """One hierarchy for each dimension; the one with the most codes stands for all."""
    merged: dict[str, Hierarchy] = {}
    for table in tables:
        for name, tree in table.hierarchies.items():
            largest = merged.setdefault(name, tree)
            if largest.total != tree.total:
                raise InputError(
                    f"Dimension {name!r} has the total {largest.total!r} in one table and "
                    f"{tree.total!r} in another. Linked tables need one code for the total."
                )
            if len(tree.codes) > len(largest.codes):
                merged[name] = tree
    return merged


def completed_keys(every: Sequence[pd.DataFrame], totals: Mapping[str, str]) -> list[pd.DataFrame]:
    """Return the keys of each table over the dimensions of all.

    A dimension that a table lacks stands at its total there.
    """
    names = list(dict.fromkeys(name for keys in every for name in keys.columns))
    completed = []
    for keys in every:
        missing = [name for name in names if name not in keys.columns]
        for name in missing:
            if name not in totals:
                raise InputError(
                    f"Dimension {name!r} is missing in one of the linked tables and has no "
                    f"hierarchy, so its total is unknown. Give the hierarchy of each dimension."
                )
        completed.append(keys.assign(**{name: totals[name] for name in missing})[names])
    return completed


def _stack_relations(
    tables: Sequence[Table], cell_of_row: AnyIntegers, offsets: AnyIntegers, n_cells: int
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
    rows: dict[bytes, int] = {}
    for row in range(stacked.shape[0]):
        part = slice(stacked.indptr[row], stacked.indptr[row + 1])
        rows.setdefault(stacked.indices[part].tobytes() + stacked.data[part].tobytes(), row)
    kept = np.array(list(rows.values()), dtype=np.int64)
    return stacked[kept, :], right_hand_side[kept]


def join(
    problems: Mapping[str, ProtectionProblem],
    equations: Iterable[Equation | str] = (),
    *,
    dimension: str = "variable",
    name: str | None = None,
) -> ProtectionProblem:
    """Join the problems of several variables into one, with equations between their cells.

    Parameters
    ----------
    problems : mapping of str to ProtectionProblem
        The problem of each variable, by its name.
    equations : iterable of Equation or str, default=()
        Each is one further relation for each combination of codes at which all its variables have
        a cell. A variable without a dimension of the others stands at its total there.
    dimension : str, default="variable"
        Column that tells the variable of a cell; the first of the keys.
    name : str, optional
        Name of the measure of the joined table: by default "count" if all variables are counts,
        and "value" otherwise.

    Returns
    -------
    ProtectionProblem
        Statuses, levels, bounds, capacities and reasons as they are; the table has `variables`.
        Values are whole numbers if those of all variables are and no equation needs a tolerance.

    Raises
    ------
    InputError
        If an equation names an unknown variable, dimension or code, or does not hold for some
        cells, or a dimension has different totals.

    Warns
    -----
    TablecloakWarning
        Where a variable is not published, so that its value follows from an equation.

    Notes
    -----
    A cell that does not occur is empty: its value is 0, and everybody knows it. Where an equation
    then holds, it is a relation of the other cells; where it does not, the variable is taken to be
    unpublished there.

    Contributors are the same in all variables if they have the same name: an intruder knows its own
    contributions to each of them.

    Values of variables with different units cannot be compared, and weights by value neither. The
    weights of variables that cannot be added up are therefore scaled so that those above 0 have the
    mean 1. Variables share a measure, and keep their weights, if they have the same unit, or
    stand in an equation without coefficients. A weight rule given later is scaled alike.

    Examples
    --------
    >>> import tablecloak as tc
    >>> one = tc.examples.cox_rounded()
    >>> both = tc.join({"first": one, "now": one}, ["now = first"])
    >>> both.table.n_cells, both.table.n_relations
    (100, 80)
    """
    problems, tables = _checked(problems, dimension)
    known = tuple(map(Equation.of, equations))
    keys = _keys(tables, dimension)
    matches = [match(equation, tables, keys, dimension) for equation in known]
    _warn(matches, keys)
    variables = TableVariables(
        dimension, {n: t.unit for n, t in tables.items()}, _measures(tables, known)
    )
    table = _table(tables, keys, matches, variables, name)
    one, *others = problems.values()
    problem = ProtectionProblem.of(table, one.stacked(others))
    return problem.with_changes(weights=variables.comparable(problem.weights, table.keys))


def _checked(
    problems: Mapping[str, ProtectionProblem], dimension: str
) -> tuple[dict[str, ProtectionProblem], dict[str, Table]]:
    """Return the problems and their tables by name, or refuse them."""
    if not problems:
        raise InputError("`join` needs the problem of at least one variable.")
    for name, problem in problems.items():
        if not isinstance(problem, ProtectionProblem):
            raise InputError(
                f"Variable {name!r} must be a ProtectionProblem. Got {type(problem).__name__}; "
                f"apply the rules of each variable first, as in `table.protect(...)`."
            )
        if not problem.table.n_cells:
            raise InputError(f"Variable {name!r} has no cells. Leave it out.")
        if not isinstance(name, str) or not name or name.startswith(REST):
            raise InputError(f"A variable cannot have the name {name!r}. Give a word as its name.")
        if dimension in problem.table.keys.columns:
            raise InputError(
                f"Variable {name!r} has a dimension {dimension!r} of its own. Give the column of "
                f"variables another name with `dimension=`."
            )
    return dict(problems), {name: problem.table for name, problem in problems.items()}


def _keys(tables: Mapping[str, Table], dimension: str) -> pd.DataFrame:
    """Return the keys of all cells: the variable, then all dimensions."""
    every = list(tables.values())
    totals = {name: tree.total for name, tree in linked_hierarchies(every).items()}
    parts = completed_keys([table.keys for table in every], totals)
    keys = pd.concat(parts, ignore_index=True)
    variable = np.repeat(np.array(list(tables), dtype=object), [len(part) for part in parts])
    keys.insert(0, dimension, variable)
    return keys


def _table(
    tables: Mapping[str, Table],
    keys: pd.DataFrame,
    matches: Sequence[EquationRelations],
    variables: TableVariables,
    name: str | None,
) -> Table:
    every = list(tables.values())
    blocks = [block_diag([table.relations for table in every], format="csr")]
    rows = vstack([*blocks, *(found.relations for found in matches)], format="csr")
    sides = [*(table.right_hand_side for table in every), *(found.residual for found in matches)]
    is_exact = not any(np.any(found.residual != 0) for found in matches)
    counts = all(table.is_count for table in every)
    contributions: dict[str, Any] = {
        level: stacked_contributions(every, level)
        for level in LEVELS.values()
        if any(getattr(table, level) for table in every)
    }
    return Table(
        keys=keys,
        values=np.concatenate([table.values for table in every]),
        relations=csr_array(rows),
        # What rounding left over is in the right-hand sides already, so that no tolerance, which
        # would be one for all units, is needed.
        right_hand_side=np.concatenate(sides),
        # Those that hold the codes of all variables.
        hierarchies={
            name: tree
            for name, tree in linked_hierarchies(every).items()
            if set(keys[name].unique()) <= set(tree.codes)
        },
        name=("count" if counts else "value") if name is None else name,
        unit=_units(variables.units),
        integer=all(bool(table.integer) for table in every) and is_exact,
        decimals=most_decimals(every),
        variables=variables,
        **contributions,
    )


def _units(units: Mapping[str, str]) -> str:
    """Write the unit of all variables, or that of each."""
    if len(set(units.values())) == 1:
        return next(iter(units.values()))
    return ", ".join(f"{name}: {unit}" for name, unit in units.items() if unit)


def _measures(tables: Mapping[str, Table], equations: Sequence[Equation]) -> dict[str, int]:
    """Number the measures: variables of one unit, or of one equation without coefficients."""
    measure = {name: number for number, name in enumerate(tables)}
    same = [equation.variables for equation in equations if equation.is_plain]
    for unit in {table.unit for table in tables.values()} - {""}:
        same.append(tuple(name for name, table in tables.items() if table.unit == unit))
    for names in same:
        merged = {measure[name] for name in names}
        measure = {
            name: min(merged) if number in merged else number for name, number in measure.items()
        }
    return measure


def _warn(matches: Sequence[EquationRelations], keys: pd.DataFrame) -> None:
    """Warn of values that follow although they are not published."""
    for found in matches:
        for variable, codes in found.unpublished.items():
            shown = [
                "(" + ", ".join(f"{name}={code}" for name, code in row.items()) + ")"
                for row in codes.head(5).to_dict("records")
            ]
            more = f" and {len(codes) - 5} more" if len(codes) > 5 else ""
            warnings.warn(
                f"Variable {variable!r} is not published for {len(codes)} combinations of codes: "
                f"{', '.join(shown)}{more}. There its value follows from equation "
                f"{found.equation.label} wherever the other variables are published, and nothing "
                f"protects it. Tabulate {variable!r} there too, so that it is protected.",
                TablecloakWarning,
                stacklevel=3,
            )
