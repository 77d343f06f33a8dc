"""Descriptions of a publication: sheets, and lines of metadata, one for each table to publish."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from tablecloak.errors import InputError, listed, suggestion
from tablecloak.storage import existing_file
from tablecloak.tables.formats.excel import reading_workbook
from tablecloak.tables.formats.format import format_of, reading
from tablecloak.tables.formats.frame_format import FrameFormat

BLANK = frozenset({"", "na", "nan", "n/a", "<na>", "none", "null"})
"""Entries that say nothing, in small letters. R writes NA for what is missing."""

FIRST_LINE = 2
"""Line of the first row: the header is line 1, in files and in frames."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Rows of text, as in a CSV file.

    Parameters
    ----------
    frame : pandas.DataFrame of str
        Without spaces around entries; what is missing is empty.
    name : str
        What messages call it: the file, or what it holds.
    """

    frame: pd.DataFrame
    name: str

    @classmethod
    def of(cls, given: object, what: str) -> Sheet:
        """Read a frame, or a file in CSV (with commas or semicolons), Parquet or Excel.

        Raises
        ------
        InputError
            If it cannot be read, has no row, or two columns have one name.
        """
        if isinstance(given, pd.DataFrame):
            sheet = cls(_clean(given), what)
        elif isinstance(given, str | Path):
            sheet = cls(_clean(_read(existing_file(given))), str(given))
        else:
            raise InputError(f"`{what}` must be a table or the path of a file. Got {given!r}.")
        columns = list(sheet.frame.columns)
        twice = next((name for name in columns if columns.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{sheet.at(None)}: column {twice!r} is given twice. Leave one out.")
        if sheet.frame.empty:
            raise InputError(f"{sheet.name}: there is no row below the header.")
        return sheet

    def renamed(self) -> Sheet:
        """Return the sheet with names of columns in small letters, joined by ``_``."""
        names = {name: re.sub(r"[\s.\-]+", "_", name.lower()) for name in self.frame.columns}
        return Sheet.of(self.frame.rename(columns=names), self.name)

    def rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield line and entries of each row that is not empty."""
        columns = list(self.frame.columns)
        for number, row in enumerate(self.frame.itertuples(index=False, name=None)):
            if any(row):
                yield number + FIRST_LINE, dict(zip(columns, row, strict=True))

    def at(self, line: int | None) -> str:
        """Name a line for a message; None is the header."""
        return f"{self.name}, line {1 if line is None else line}"


def _read(path: Path) -> pd.DataFrame:
    if path.suffix.lower() in (".xlsx", ".xls"):
        with reading_workbook(path):
            return pd.read_excel(path, dtype=str, keep_default_na=False)
    kind = format_of(path, FrameFormat)
    if kind.is_typed:
        return kind.read_checked(path)
    with reading(path):
        frame = _as_it_stands(path, ",")
        if len(frame.columns) == 1 and ";" in str(frame.columns[0]):
            frame = _as_it_stands(path, ";")
    return frame


def _as_it_stands(path: Path, separator: str) -> pd.DataFrame:
    """Read text; blank rows stay, so that lines are counted as an editor counts them."""
    frame: pd.DataFrame = pd.read_csv(
        path, sep=separator, index_col=False, encoding="utf-8-sig", dtype=str,
        keep_default_na=False, skip_blank_lines=False,
    )  # fmt: skip
    return frame


def _clean(frame: pd.DataFrame) -> pd.DataFrame:
    """Return all entries as text without spaces around them; empty where nothing is said."""
    columns = [" ".join(str(name).split()) for name in frame.columns]
    cleaned = {
        number: [_entry(entry) for entry in frame.iloc[:, number].astype(object)]
        for number in range(frame.shape[1])
    }
    return pd.DataFrame(cleaned, dtype=object).set_axis(columns, axis=1)


def _entry(given: object) -> str:
    if isinstance(given, float) and given.is_integer():
        # A column of whole numbers with a gap is one of floats.
        given = int(given)
    text = " ".join(str(given).split())
    return "" if text.lower() in BLANK else text


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
            others = [
                column for column in columns if column not in OPTIONAL and "span" not in column
            ]
            near = [column for column in others if column not in NEEDED]
            raise InputError(
                f"{sheet.at(None)}: column {name!r} is missing. Add it"
                f"{', or rename one of ' + listed(near) if near else ''}."
            )
    numbers = sorted(int(column[9:]) for column in columns if re.fullmatch(r"spanning_\d+", column))
    for number in numbers:
        if f"hrc_spanning_{number}" not in columns:
            raise InputError(
                f"{sheet.at(None)}: column 'spanning_{number}' has no column "
                f"'hrc_spanning_{number}'. Add it; leave its entries empty where the codes have no "
                f"hierarchy."
            )
    both = [f"{prefix}spanning_{number}" for number in numbers for prefix in ("", "hrc_")]
    usual = [*NEEDED, *OPTIONAL, *both]
    for name in columns:
        if re.fullmatch(r"hrc_spanning_\d+", name) and name not in usual:
            raise InputError(
                f"{sheet.at(None)}: column {name!r} has no column {name[4:]!r}. Add it, or leave "
                f"{name!r} out."
            )
        near = difflib.get_close_matches(name, usual, n=1, cutoff=ALIKE)
        if name not in usual and (near or "spanning" in name):
            raise InputError(
                f"{sheet.at(None)}: column {name!r} is unknown.{suggestion(name, usual)} Columns "
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
        ([spanning.level.casefold() for spanning in spannings], "dimension"),
        (
            [spanning.hierarchy.casefold() for spanning in spannings if spanning.hierarchy],
            "hierarchy",
        ),
    ):
        twice = next((word for word in names if names.count(word) > 1), None)
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
    fields = _Spelling([table.field for table in tables])
    variables = _Spelling([table.variable for table in tables])
    links = _Spelling([link for t in tables for link in (t.field_link, t.variable_link)])
    levels = _Spelling([spanning.level for t in tables for spanning in t.spannings])
    trees = _Spelling([spanning.hierarchy for t in tables for spanning in t.spannings])
    return [
        replace(
            table,
            field=fields[table.field],
            variable=variables[table.variable],
            field_link=links[table.field_link],
            variable_link=links[table.variable_link],
            spannings=tuple(
                Spanning(levels[spanning.level], trees[spanning.hierarchy])
                for spanning in table.spannings
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
