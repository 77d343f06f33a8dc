"""Tables that a transmission template asks for: one row for each cell to publish."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
) -> tuple[list[PublishedTable], dict[str, list[str]]]:
    """Return the tables that a template asks for, and the codes of its totals.

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
    return sorted(tables, key=lambda table: natural(table.name)), found


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
