"""Lines of metadata: one for each table that is to be published."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tablecloak.errors import InputError, listed, suggestion
from tablecloak.planning.sheets import Sheet

NEEDED = ("table_name", "field", "indicator", "spanning_1")
OPTIONAL = ("hrc_field", "hrc_indicator", "file")

ALIKE = 0.85
"""Likeness from which an unknown column is taken for a misspelt one, as by `difflib`.

A dimension in a column that is passed over would be missing in the plan, so these are refused.
"""


@dataclass(frozen=True, order=True)
class Spanning:
    """One dimension of a table as its line names it.

    Parameters
    ----------
    level : str
        Column of the data, such as ``nuts3``.
    hierarchy : str, default=""
        Name of the hierarchy of which it is a level, such as ``hrc_nuts``.
    """

    level: str
    hierarchy: str = ""


@dataclass(frozen=True)
class PublishedTable:
    """One table to publish.

    Parameters
    ----------
    name : str
    field : str
        What is described: population, year, region.
    variable : str
        What is added up; ``indicator`` in files.
    spannings : tuple of Spanning
        Its dimensions.
    field_link, variable_link : str, default=""
        Name of what links its field, or its variable, with others.
    file : str, default=""
        Where the table lies, if it is ready.
    line : int, default=0
        Line on which it is described.
    field_codes : tuple of (str, str), default=()
        Columns and codes that tell its field, where these are known.
    """

    name: str
    field: str
    variable: str
    spannings: tuple[Spanning, ...]
    field_link: str = ""
    variable_link: str = ""
    file: str = ""
    line: int = 0
    field_codes: tuple[tuple[str, str], ...] = ()


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts T2 before T10, whatever the number of digits."""
    parts = [part.lstrip("0") or part[:1] for part in re.findall(r"[0-9]+|[^0-9]+", text)]
    return tuple(
        (0, len(part), part) if part.isdecimal() and part.isascii() else (1, 0, part.casefold())
        for part in parts
    )


def read_lines(metadata: object) -> list[PublishedTable]:
    """Read metadata: one line for each table to publish.

    Parameters
    ----------
    metadata : DataFrame, str or Path
        Columns ``table_name``, ``field``, ``indicator``, ``spanning_1``, ``hrc_spanning_1`` and so
        on; optional ``hrc_field``, ``hrc_indicator``, ``file``. In any order, in small or capital
        letters. Files are relative to that of the metadata.

    Raises
    ------
    InputError
        Names the line: of a column that is missing, a table without name, variable or field, a
        name that is given twice, a dimension that is given twice.
    """
    sheet = Sheet.of(metadata, "metadata").renamed()
    numbers = _check_columns(sheet)
    tables = [_table(sheet, line, row, numbers) for line, row in sheet.rows()]
    if isinstance(metadata, str | Path):
        folder = Path(metadata).resolve().parent
        tables = [replace(t, file=str(folder / t.file) if t.file else "") for t in tables]
    seen: dict[str, int] = {}
    for table in tables:
        if table.name in seen:
            raise InputError(
                f"{sheet.at(table.line)}: table {table.name!r} is described on line "
                f"{seen[table.name]} already. Give each table a name of its own."
            )
        seen[table.name] = table.line
    return in_one_spelling(tables)


def _check_columns(sheet: Sheet) -> list[int]:
    """Return the numbers of the columns ``spanning_*``, in order."""
    columns = list(sheet.frame.columns)
    for name in NEEDED:
        if name not in columns:
            others = [each for each in columns if each not in OPTIONAL and "span" not in each]
            near = [each for each in others if each not in NEEDED]
            raise InputError(
                f"{sheet.at(None)}: column {name!r} is missing. Add it"
                f"{', or rename one of ' + listed(near) if near else ''}."
            )
    numbers = sorted(int(each[9:]) for each in columns if re.fullmatch(r"spanning_\d+", each))
    for number in numbers:
        if f"hrc_spanning_{number}" not in columns:
            raise InputError(
                f"{sheet.at(None)}: column 'spanning_{number}' has no column "
                f"'hrc_spanning_{number}'. Add it; leave its entries empty where the codes have no "
                f"hierarchy."
            )
    both = [f"{prefix}spanning_{number}" for number in numbers for prefix in ("", "hrc_")]
    known = [*NEEDED, *OPTIONAL, *both]
    for name in columns:
        if re.fullmatch(r"hrc_spanning_\d+", name) and name not in known:
            raise InputError(
                f"{sheet.at(None)}: column {name!r} has no column {name[4:]!r}. Add it, or leave "
                f"{name!r} out."
            )
        near = difflib.get_close_matches(name, known, n=1, cutoff=ALIKE)
        if name not in known and (near or "spanning" in name):
            raise InputError(
                f"{sheet.at(None)}: column {name!r} is unknown.{suggestion(name, known)} Columns "
                f"for remarks need names that cannot be taken for these."
            )
    return numbers


def _table(sheet: Sheet, line: int, row: Mapping[str, str], numbers: list[int]) -> PublishedTable:
    for column, noun in (("table_name", "name"), ("indicator", "indicator"), ("field", "field")):
        if not row[column]:
            called = f"table {row['table_name']!r}" if row["table_name"] else "the table"
            raise InputError(f"{sheet.at(line)}: {called} has no {noun}. Fill in {column!r}.")
    spannings = []
    for number in numbers:
        level, hierarchy = row[f"spanning_{number}"], row[f"hrc_spanning_{number}"]
        if level:
            spannings.append(Spanning(level, hierarchy))
        elif hierarchy:
            raise InputError(
                f"{sheet.at(line)}: table {row['table_name']!r} has 'hrc_spanning_{number}' = "
                f"{hierarchy!r}, but 'spanning_{number}' is empty. Fill in both or none."
            )
    _check_twice(sheet, line, row["table_name"], spannings)
    return PublishedTable(
        name=row["table_name"],
        field=row["field"],
        variable=row["indicator"],
        spannings=tuple(spannings),
        field_link=row.get("hrc_field", ""),
        variable_link=row.get("hrc_indicator", ""),
        file=row.get("file", ""),
        line=line,
    )


def _check_twice(sheet: Sheet, line: int, name: str, spannings: list[Spanning]) -> None:
    """Refuse a dimension that a table has twice."""
    for names, what in (
        ([each.level.casefold() for each in spannings], "dimension"),
        ([each.hierarchy.casefold() for each in spannings if each.hierarchy], "hierarchy"),
    ):
        twice = next((each for each in names if names.count(each) > 1), None)
        if twice is not None:
            raise InputError(
                f"{sheet.at(line)}: table {name!r} has the {what} {twice!r} twice. Two dimensions "
                f"with the same codes need different names, such as {twice + '_from'!r} and "
                f"{twice + '_to'!r}."
            )


def in_one_spelling(tables: Iterable[PublishedTable]) -> list[PublishedTable]:
    """Write names that differ in capital letters alone in one way.

    Notes
    -----
    Tables that are taken apart because of a capital letter would be protected apart; so names are
    the same if they are alike, and the most frequent spelling stands for all.
    """
    tables = list(tables)
    fields = _Spelling([each.field for each in tables])
    variables = _Spelling([each.variable for each in tables])
    links = _Spelling([link for t in tables for link in (t.field_link, t.variable_link)])
    levels = _Spelling([each.level for t in tables for each in t.spannings])
    trees = _Spelling([each.hierarchy for t in tables for each in t.spannings])
    return [
        replace(
            table,
            field=fields[table.field],
            variable=variables[table.variable],
            field_link=links[table.field_link],
            variable_link=links[table.variable_link],
            spannings=tuple(
                Spanning(levels[each.level], trees[each.hierarchy]) for each in table.spannings
            ),
        )
        for table in tables
    ]


class _Spelling:
    """The spelling of each name: the most frequent, of several the first by letters."""

    def __init__(self, names: list[str]) -> None:
        self.of: dict[str, str] = {}
        for name, _ in sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])):
            self.of.setdefault(name.casefold(), name)

    def __getitem__(self, name: str) -> str:
        return self.of[name.casefold()]
