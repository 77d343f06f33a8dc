"""Equations between the variables of a publication, and which of them make one dimension."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tablecloak.errors import InputError, suggestion
from tablecloak.planning.lines import Sheet
from tablecloak.tables.equations import Equation


def read_equations(given: object) -> list[Equation]:
    """Read equations between variables.

    Parameters
    ----------
    given : DataFrame, str, Path, Equation, or a sequence or mapping of str or Equation
        A file or frame has the columns ``eq_name``, ``eq_indicator`` and ``unit``; the first and
        the last are optional. A text with ``=`` is one equation.

    Raises
    ------
    InputError
        Names the line: of a column that is missing, an equation that cannot be read, a name that
        is given twice.
    """
    if given is None:
        return []
    if isinstance(given, Equation) or (isinstance(given, str) and "=" in given):
        return [Equation.of(given)]
    if isinstance(given, pd.DataFrame | str | Path):
        return _of_sheet(Sheet.of(given, "equations").renamed())
    if isinstance(given, Mapping):
        return [Equation(str(text), name=str(name)) for name, text in given.items()]
    if isinstance(given, Iterable):
        return list(map(Equation.of, given))
    raise InputError(f"`equations` must be a file, a table or a list of texts. Got {given!r}.")


def _of_sheet(sheet: Sheet) -> list[Equation]:
    if "eq_indicator" not in sheet.frame.columns:
        near = suggestion("eq_indicator", sheet.frame.columns)
        raise InputError(f"{sheet.at(None)}: column 'eq_indicator' is missing.{near}")
    found: list[Equation] = []
    lines: dict[str, int] = {}
    for line, row in sheet.rows():
        name = row.get("eq_name", "")
        if name and name in lines:
            raise InputError(
                f"{sheet.at(line)}: equation {name!r} stands on line {lines[name]} already. Give "
                f"each equation a name of its own."
            )
        lines[name] = line
        if not row["eq_indicator"]:
            raise InputError(f"{sheet.at(line)}: the equation is missing. Fill in 'eq_indicator'.")
        try:
            found.append(Equation(row["eq_indicator"], name=name, unit=row.get("unit", "")))
        except InputError as error:
            raise InputError(f"{sheet.at(line)}: {error}") from None
    return found


def spelled(equation: Equation, spelling: Mapping[str, str]) -> Equation:
    """Return an equation with its variables as the tables spell them.

    Parameters
    ----------
    equation : Equation
    spelling : mapping of str to str
        The spelling of each variable, by its name in small letters.
    """
    names = {name: spelling.get(name.casefold(), name) for name in equation.variables}
    if all(name == other for name, other in names.items()):
        return equation
    left, right = (_written(side, names) for side in (equation.left, equation.right))
    return replace(equation, text=f"{left} = {right}")


def _written(side: Mapping[str, float], names: Mapping[str, str]) -> str:
    """Write a side so that it can be read again."""
    parts = []
    for name, coefficient in side.items():
        plain = re.fullmatch(r"[^\W\d]\w*", names[name])
        size = "" if abs(coefficient) == 1 else f"{abs(coefficient)!r}*"
        shown = names[name] if plain else f'"{names[name]}"'
        parts.append(f"{'-' if coefficient < 0 else '+'} {size}{shown}")
    return " ".join(parts).removeprefix("+ ")


def equation_of(total: str, variables: Sequence[str], name: str) -> Equation:
    """Return the equation by which the other variables add up to a total."""
    parts = [f'"{variable}"' for variable in variables if variable != total]
    return Equation(f'"{total}" = {" + ".join(parts)}', name=name)


def total_of(equations: Sequence[Equation]) -> str | None:
    """Return the variable to which all others add up, if the equations are one tree of sums.

    Such variables are the codes of a dimension. They are not where an equation has coefficients or
    holds for some codes only, where units differ, and where a variable is the sum of others in two
    ways: the parts of the one way are no parts of those of the other.
    """
    above: dict[str, str] = {}
    parents: list[str] = []
    for equation in equations:
        parent = _sum(equation)
        if parent is None or parent in parents:
            return None
        parents.append(parent)
        for part in equation.variables:
            if part != parent and above.setdefault(part, parent) != parent:
                return None
    if len({equation.unit for equation in equations if equation.unit}) > 1:
        return None
    roots = [name for name in parents if name not in above]
    if len(roots) != 1 or _has_circle(above):
        return None
    return roots[0]


def _sum(equation: Equation) -> str | None:
    """Return the variable that is the sum of the others, if it is a plain sum of at least two."""
    if not equation.is_plain or equation.where:
        return None
    for sign in (-1.0, 1.0):
        alone = [name for name, coefficient in equation.terms.items() if coefficient == sign]
        if len(alone) == 1 and len(equation.terms) > 2:
            return alone[0]
    return None


def _has_circle(above: Mapping[str, str]) -> bool:
    for start in above:
        name, seen = start, {start}
        while name in above:
            name = above[name]
            if name in seen:
                return True
            seen.add(name)
    return False
