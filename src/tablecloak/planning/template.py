"""Tables that a transmission template asks for: one row for each cell to publish."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from tablecloak.errors import InputError, listed, suggestion
from tablecloak.planning.lines import PublishedTable, Sheet, Spanning, natural

Totals = Mapping[str, str | Sequence[str]]

TOTALS = ("_T", "TOTAL", "TOT", "ALL")
"""Codes that are taken for totals where none is given, in capital letters."""

FIELDS = ("TIME_PERIOD", "TIME", "PERIOD", "YEAR")
VARIABLES = ("INDICATOR", "MEASURE", "VARIABLE")
ATTRIBUTES = (
    "OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "CL_CONF_STATUS", "CONF_REDIST", "EMBARGO_DATE",
    "UNIT", "UNIT_MEASURE", "UNIT_MULT", "DECIMALS", "VALUE", "COMMENT", "COMMENT_OBS",
)  # fmt: skip
"""Columns of SDMX that describe a cell and are no dimension."""


def read_template(
    template: object, totals: Totals, field: str | Sequence[str] = (), variable: str = ""
) -> tuple[list[PublishedTable], dict[str, list[str]], dict[str, dict[str, Any]]]:
    """Return the tables that a template asks for, the codes of its totals, and hierarchies.

    Parameters
    ----------
    template : DataFrame, str or Path
        A row for each cell.
    totals : mapping of str to str or sequence of str
        Codes of the total of each dimension; by default ``_T`` or ``Total``.
    field : str or sequence of str, default=()
        Columns whose codes tell the field; by default ``TIME_PERIOD``, if it is there.
    variable : str, default=""
        Column whose codes are the variables; by default ``INDICATOR``, if it is there.

    Returns
    -------
    tables : list of PublishedTable
        For each field and variable, the tables over the dimensions that are broken down together:
        those whose dimensions are some of another's are its margins.
    totals : dict of str to list of str
        Codes of the total of each dimension.
    trees : dict of str to dict
        Nested codes of the dimensions whose codes show a hierarchy; see `shown_tree`.

    Raises
    ------
    InputError
        If a column or a code is missing, or a total is not known.
    """
    sheet = Sheet.of(template, "template")
    frame = sheet.frame[(sheet.frame != "").any(axis=1)]
    fields = [_column(sheet, name) for name in ([field] if isinstance(field, str) else field)]
    fields = fields or _usual(frame, FIELDS)
    measure = [_column(sheet, variable)] if variable else _usual(frame, VARIABLES)
    given = {_column(sheet, name): codes for name, codes in totals.items()}
    names = _dimensions(sheet, frame, {*fields, *measure}, given)
    for name in [*fields, *measure, *names]:
        _check_filled(sheet, name)
    keys = list(zip(*(frame[name] for name in fields), strict=True)) or [()] * len(frame)
    variables = frame[measure[0]] if measure else pd.Series("value", frame.index)
    found = {name: _totals(sheet, frame, name, given.get(name)) for name in names}
    detailed = [~frame[name].isin(found[name]) for name in names]
    rows = set(zip(keys, variables, *(each.tolist() for each in detailed), strict=True))
    shapes: dict[tuple[tuple[str, ...], str], set[frozenset[str]]] = {}
    for key, measured, *flags in rows:
        shape = frozenset(name for name, flag in zip(names, flags, strict=True) if flag)
        shapes.setdefault((key, measured), set()).add(shape)
    tables = [
        _table(tuple(zip(fields, key, strict=True)), measured, shape)
        for (key, measured), every in shapes.items()
        for shape in every
        if not any(shape < other for other in every)
    ]
    trees = {name: shown_tree(set(frame[name]).difference(found[name])) for name in names}
    ordered = sorted(tables, key=lambda table: natural(table.name))
    return ordered, found, {name: tree for name, tree in trees.items() if tree}


def shown_tree(codes: Iterable[str]) -> dict[str, Any]:
    """Return the nested codes of a dimension whose codes show what is part of what, else nothing.

    A code is part of the longest other one with which it begins, as NACE group 05.1 is of division
    05, and that of section B where codes name it. All codes without parts must have the same number
    of letters and digits: of 1, 2, ..., 12 the last ones are no parts of 1.

    Examples
    --------
    >>> shown_tree(["B", "B05", "B05.1", "B05.2", "B06", "B06.1"])
    {'B': {'B05': {'B05.1': {}, 'B05.2': {}}, 'B06': {'B06.1': {}}}}
    >>> shown_tree(["1", "2", "11", "12"])
    {}
    """
    tree: dict[str, Any] = {}
    levels: list[tuple[str, dict[str, Any]]] = []
    lengths = set()
    for code in sorted(codes):
        while levels and not code.startswith(levels[-1][0]):
            lengths |= _length_of_leaf(*levels.pop())
        below: dict[str, Any] = {}
        (levels[-1][1] if levels else tree)[code] = below
        levels.append((code, below))
    for level in levels:
        lengths |= _length_of_leaf(*level)
    return tree if len(lengths) == 1 and any(tree.values()) else {}


def _length_of_leaf(code: str, below: Mapping[str, Any]) -> set[int]:
    """Return the number of letters and digits of a code without parts."""
    return set() if below else {len(re.sub(r"\W|_", "", code))}


def _dimensions(
    sheet: Sheet, frame: pd.DataFrame, others: set[str], totals: Mapping[str, object]
) -> list[str]:
    """Return the columns that are dimensions: those with a given total, or with several codes."""
    names = [
        str(name)
        for name in frame.columns
        if name not in others
        and (name in totals or (name.upper() not in ATTRIBUTES and len(set(frame[name])) > 1))
    ]
    if not names:
        raise InputError(f"{sheet.at(None)}: no column has different codes. Name its dimensions.")
    return names


def _table(
    field_codes: tuple[tuple[str, str], ...], variable: str, shape: Iterable[str]
) -> PublishedTable:
    field, dimensions = ".".join(code for _, code in field_codes), sorted(shape)
    name = ".".join(part for part in (field, variable, " x ".join(dimensions)) if part)
    spannings = tuple(map(Spanning, dimensions))
    return PublishedTable(name, field, variable, spannings, field_codes=field_codes)


def _column(sheet: Sheet, name: str) -> str:
    columns = {str(each).upper(): str(each) for each in sheet.frame.columns}
    if str(name).upper() not in columns:
        raise InputError(
            f"{sheet.at(None)}: column {name!r} is missing.{suggestion(name, columns.values())}"
        )
    return columns[str(name).upper()]


def _usual(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return the first of the usual columns that the template has."""
    found = {str(name).upper(): str(name) for name in frame.columns}
    return [found[name] for name in names if name in found][:1]


def _check_filled(sheet: Sheet, name: str) -> None:
    if (sheet.frame[name] != "").all():
        return
    for line, row in sheet.rows():
        if not row[name]:
            raise InputError(f"{sheet.at(line)}: the code in column {name!r} is missing.")


def _totals(
    sheet: Sheet, frame: pd.DataFrame, name: str, given: str | Sequence[str] | None
) -> list[str]:
    """Return the codes of the total of a dimension."""
    codes = frame[name].unique().tolist()
    if given is None:
        found = [code for code in codes if code.upper() in TOTALS]
        if not found:
            raise InputError(
                f"{sheet.name}: it is not known which code of {name!r} is the total. Its codes "
                f"are {listed(codes)}. Give it in `totals`, as in {{{name!r}: {codes[0]!r}}}."
            )
        return found
    wanted = [given] if isinstance(given, str) else list(given)
    odd = [code for code in wanted if code not in codes]
    if len(odd) == len(wanted):
        raise InputError(f"{sheet.name}: {name!r} never has the code {odd[0]!r} of its total."
                         f"{suggestion(odd[0], codes[:200])}")  # fmt: skip
    return wanted
