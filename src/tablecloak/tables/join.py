"""Several variables in one problem: their cells side by side, equations as further relations.

A cell of the joined table is a variable and the codes of a cell of that variable. Each variable
keeps what was decided for it: statuses, levels, bounds, weights and contributions.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import block_diag, csr_array, vstack

from tablecloak.errors import InputError, TablecloakWarning
from tablecloak.tables.contributions import LEVELS
from tablecloak.tables.equations import Equation, EquationRelations, match
from tablecloak.tables.keys import REST
from tablecloak.tables.link import (
    completed_keys,
    linked_hierarchies,
    most_decimals,
    stacked_contributions,
)
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table, TableVariables


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
