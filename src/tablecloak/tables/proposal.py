"""What a finished table seems to be: dimensions, totals, hierarchies, figures; to be confirmed.

A sheet is read as squares; headers, codes and figures are told apart; and figures say which codes
add up to which.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats
from tablecloak.data_file import AS_USUAL, DataFile
from tablecloak.errors import InputError, listed, suggestion
from tablecloak.graph import parts_first
from tablecloak.storage import existing_file
from tablecloak.tables.code_sums import CodeTree, code_tree, failing_sums, tree_of_most
from tablecloak.tables.formats import FilePath
from tablecloak.tables.formats.csv_file import apart, has_wide_letters, require_text
from tablecloak.tables.formats.excel import as_shown, reading_workbook
from tablecloak.tables.formats.format import format_of, reading
from tablecloak.tables.formats.frame_format import RecordFormat, refuse_problem
from tablecloak.tables.formats.header_row import ROWS_LOOKED_AT
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.table import Table

Square = str | float | None
"""What stands in one square: text, a number, or nothing."""

WORKBOOKS = (".xlsx", ".xlsm")
GAPS = frozenset({"", "-", "–", ".", "..", "...", "na", "n/a", "nan", "null", "none"})  # noqa: RUF001
"""Entries, in small letters, of cells that do not occur."""

_PLAIN = re.compile(r"[+-]?((0|[1-9]\d*)([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_CODE = re.compile(r"0\d")
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_GROUPED_BY_POINTS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?|[+-]?\d{1,3}(\.\d{3}){2,}")

FEW_ROWS = 4
"""Most rows of a table in which equal figures may be a matter of chance."""

MOST_HEADERS = 4
"""Most rows of headers above the figures."""

FILLED_BY_A_TOTAL = 0.5
"""Share of the combinations of other codes in which a total stands, at least. It stands in all of
them but those that the table leaves out."""

NUMBERS_OF_A_COLUMN = 0.5
"""Least share of numbers in a column of figures. Others are faults that have to be named."""


@dataclass(frozen=True, eq=False)
class Squares:
    """A sheet as rows of squares, all of one length.

    Parameters
    ----------
    rows : list of list of str, float or None
        Text without spaces around it.
    indents : list of list of int
        By how much the text of each square is moved to the right: its level in a hierarchy.
    name : str
        What messages call it: the file, and the sheet if there are several.
    sheets : tuple of str
        Names of all sheets of the file; one that is empty for a file without sheets.
    """

    rows: list[list[Square]]
    indents: list[list[int]]
    name: str
    sheets: tuple[str, ...] = ("",)

    def at(self, row: int, column: int) -> str:
        """Name a square for a message, counted from 1 as a person does."""
        return f"{self.name}, row {row + 1}, column {column + 1}"


def read_squares(given: pd.DataFrame | FilePath, sheet: str = "") -> Squares:
    """Read a sheet of a workbook, a text file, or rows and columns of another format.

    Parameters
    ----------
    given : DataFrame, str, Path or DataFile
        A frame, or a file in .xlsx, .csv (any separator), .parquet.
    sheet : str, optional
        Name of the sheet; by default the first one with numbers.

    Raises
    ------
    InputError
        If the file cannot be read, has no such sheet, or holds nothing.
    """
    if isinstance(given, pd.DataFrame):
        return _of_frame(given, "the frame")
    path, how = existing_file(Path(given)), given if isinstance(given, DataFile) else AS_USUAL
    if path.suffix.lower() in WORKBOOKS:
        return _of_workbook(path, sheet or how.sheet, how.header)
    kind = format_of(path, RecordFormat, otherwise="csv")
    if kind.is_typed:
        return _of_frame(kind.read_checked(path), str(path))
    return _of_text(path, how)


def as_number(square: Square) -> float | None:
    """Return the number in a square, also one that was typed as text, such as "1,234.5".

    A single comma is a decimal one unless exactly three digits follow it. Text that begins with a
    zero, such as "01", is a code.
    """
    if square is None:
        return None
    if isinstance(square, float):
        return square if isfinite(square) else None
    text = re.sub(r"[\s'\u00a0\u202f\u2009]", "", square).replace("\u2212", "-")
    if _GROUPED.fullmatch(text):
        return float(text.replace(",", ""))
    if _GROUPED_BY_POINTS.fullmatch(text) and ("," in text or text.count(".") > 1):
        return float(text.replace(".", "").replace(",", "."))
    return float(text.replace(",", ".")) if _PLAIN.fullmatch(text) else None


def is_gap(square: Square) -> bool:
    """Whether nothing stands in a square, or a sign for a cell that does not occur."""
    return square is None or (isinstance(square, str) and square.lower() in GAPS)


def _of_frame(frame: pd.DataFrame, name: str) -> Squares:
    index = frame.index
    if isinstance(index, pd.MultiIndex) or index.name is not None:
        frame = frame.reset_index()
    columns = frame.columns
    levels = range(columns.nlevels)
    rows: list[list[Any]] = [columns.get_level_values(level).tolist() for level in levels]
    rows += frame.astype(object).to_numpy().tolist()
    return _squares(rows, name)


def _of_text(path: Path, how: DataFile) -> Squares:
    require_text(path, how.encoding)
    raw = path.read_bytes()
    encoding = how.signs.get("encoding") or ("utf-16" if has_wide_letters(path) else "utf-8-sig")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        # What spreadsheets of Western Europe write where they do not write UTF-8.
        text = raw.decode("cp1252", errors="replace")
    lines = io.StringIO(text, newline=None).readlines()
    with reading(path):
        separator, first = apart(lines[:ROWS_LOOKED_AT], how.sep)
        if not any(map(any, first)):
            raise InputError(f"{path}: the file is empty. Give a file with a table.")
        rows = apart(lines, separator)[1]
    return _squares(_below_title(rows, how.header), str(path))


def _below_title(rows: list[list[Any]], header: int) -> list[list[Any]]:
    """Return rows without what stands above the header, if it is said which row that is."""
    return [[] if number < header else row for number, row in enumerate(rows, 1)]


def _of_workbook(path: Path, sheet: str, header: int) -> Squares:
    with reading_workbook(path):
        from openpyxl import load_workbook

        book = load_workbook(path, data_only=True)
    if sheet and sheet not in book.sheetnames:
        raise InputError(
            f"{path}: there is no sheet {sheet!r}.{suggestion(sheet, book.sheetnames)} It has "
            f"{listed(book.sheetnames)}."
        )
    for name in [sheet] if sheet else book.sheetnames:
        page = book[name]
        rows = [[as_shown(square, 2) for square in row] for row in page.iter_rows()]
        if sheet or _has_numbers(rows):
            indents = [
                [int(square.alignment.indent or 0) for square in row] for row in page.iter_rows()
            ]
            for area in page.merged_cells.ranges:
                for row, column in area.cells:
                    rows[row - 1][column - 1] = rows[area.min_row - 1][area.min_col - 1]
            where = f"{path}, sheet {name!r}" if len(book.sheetnames) > 1 else str(path)
            rows = _below_title(rows, header)
            return _squares(rows, where, indents, tuple(book.sheetnames))
    raise InputError(f"{path}: no sheet holds numbers. Give a file with a table.")


def _has_numbers(rows: list[list[Any]]) -> bool:
    numbers = (int, float)
    return any(
        isinstance(value, numbers) and not isinstance(value, bool) for row in rows for value in row
    )


def _squares(
    rows: list[list[Any]],
    name: str,
    indents: list[list[int]] | None = None,
    sheets: tuple[str, ...] = ("",),
) -> Squares:
    """Return squares with spaces cut off; spaces in front count as indentation."""
    width = max(map(len, rows), default=0)
    squares = [[_square(value) for value in [*row, *[None] * (width - len(row))]] for row in rows]
    depths = [[0] * width for _ in rows]
    for number, row in enumerate(rows):
        for column, value in enumerate(row):
            moved = indents[number][column] if indents else 0
            if isinstance(value, str):
                moved += len(value) - len(value.lstrip(" \u00a0"))
            depths[number][column] = moved
    return Squares(squares, depths, name, sheets)


def _square(value: Any) -> Square:
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return value.strip(" \u00a0\t\r\n") or None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return None if number != number else number  # noqa: PLR0124


@dataclass(frozen=True, eq=False)
class SheetAxis:
    """Codes along one side of a sheet.

    Parameters
    ----------
    name : str
        What stands above or before them.
    entries : list of str
        The code of each row or column of figures.
    depths : dict of str to int
        Indentation of each code, in the order in which codes appear.
    """

    name: str
    entries: list[str]
    depths: dict[str, int]


@dataclass(frozen=True, eq=False)
class Crosstab:
    """A sheet taken apart.

    Parameters
    ----------
    squares : Squares
    rows, columns : list of SheetAxis
        Codes beside and above the figures.
    body : list of list of str, float or None
        What stands between them; one row for each entry of `rows`.
    at_rows, at_columns : list of int
        Where each row and column of `body` stands in the sheet.
    title : str
        The line above the table; empty if there is none.
    beside : dict of str to list of str
        Text in columns behind figures, such as statuses.
    notes : list of str
        What was left out, in plain words.
    labels : dict of str to dict of str to str
        For an axis what its codes are called, if another column says it.
    """

    squares: Squares
    rows: list[SheetAxis]
    columns: list[SheetAxis]
    body: list[list[Square]]
    at_rows: list[int]
    at_columns: list[int]
    title: str = ""
    beside: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)

    def long(self) -> pd.DataFrame:
        """Return one row for each square of the body that is no gap.

        Returns
        -------
        pandas.DataFrame
            A column for each axis, one for each text beside the figures, and ``value``.

        Raises
        ------
        InputError
            If a square holds neither a number nor a gap; the message names it.
        """
        found: list[list[str | float]] = []
        for row, line in enumerate(self.body):
            keys = [axis.entries[row] for axis in self.rows]
            texts = [entries[row] for entries in self.beside.values()]
            for column, square in enumerate(line):
                if is_gap(square):
                    continue
                number = as_number(square)
                if number is None:
                    at = self.squares.at(self.at_rows[row], self.at_columns[column])
                    raise InputError(
                        f"{at}: {square!r} is no number. A table that is to be protected needs all "
                        f"true values; leave a square empty only where the cell does not occur."
                    )
                above = (axis.entries[column] for axis in self.columns)
                found.append([*keys, *above, *texts, number])
        return pd.DataFrame(found, columns=[*self.names, "value"])

    @property
    def names(self) -> list[str]:
        """Names of axes and of texts beside the figures, each once."""
        found: list[str] = []
        for name in [axis.name for axis in (*self.rows, *self.columns)] + [*self.beside]:
            taken, number = name, 2
            while taken in (*found, "value"):
                taken, number = f"{name} {number}", number + 1
            found.append(taken)
        return found


def read_crosstab(squares: Squares) -> Crosstab:
    """Tell headers, codes and figures of a sheet apart.

    Raises
    ------
    InputError
        If there are no figures, or no codes beside them.

    Notes
    -----
    Lines with a single entry above or below the table are its title and its notes. Columns of
    text on the left hold codes; columns of whole numbers do so too while the rows are not yet
    told apart. Gaps between codes are filled from above, gaps between headers from the left.
    """
    table = _SheetTable.of(squares)
    first_row, figures = table.headers(), table.figure_columns()
    if not figures or first_row >= len(table.lines):
        raise InputError(
            f"{squares.name}: no figures were found. A table needs codes on the left, headers "
            f"above, and numbers between them."
        )
    keys = table.key_columns(first_row, figures)
    if not keys:
        raise InputError(
            f"{squares.name}: no codes were found beside the figures. Put the codes of the rows "
            f"into the first columns."
        )
    notes = list(table.notes)
    figures = table.varying([c for c in figures if c > max(keys)], first_row, notes)
    rows = [table.row_axis(column, first_row, is_last=column == keys[-1]) for column in keys]
    columns = table.column_axes(first_row, figures)
    labels: dict[str, dict[str, str]] = {}
    return Crosstab(
        squares=squares,
        rows=_told_apart(rows, notes, labels),
        columns=columns,
        body=[[line[column] for column in figures] for line in table.lines[first_row:]],
        at_rows=table.numbers[first_row:],
        at_columns=figures,
        title=table.title,
        beside=table.text_behind(first_row, figures),
        notes=notes,
        labels=labels,
    )


@dataclass(frozen=True, eq=False)
class _SheetTable:
    """The lines of a sheet between title and notes; `numbers` are their places in it."""

    squares: Squares
    numbers: list[int]
    title: str
    notes: list[str]

    @classmethod
    def of(cls, squares: Squares) -> _SheetTable:
        """Cut off empty lines, the title above and notes below."""
        filled = [number for number, line in enumerate(squares.rows) if any(_entries(line))]
        width = max((len(_entries(squares.rows[number])) for number in filled), default=0)
        alone = [len(set(_entries(squares.rows[number]))) == 1 for number in filled]
        head, foot = 0, len(filled)
        if width > 1:
            while head < foot and alone[head]:
                head += 1
            while foot > head and alone[foot - 1]:
                if any(as_number(square) is not None for square in squares.rows[filled[foot - 1]]):
                    break
                foot -= 1
        said = [_entries(squares.rows[number])[0] for number in filled]
        left_out = [*said[1:head], *said[foot:]]
        notes = [f"Left out, beside the table: {text!r}." for text in left_out]
        return cls(squares, filled[head:foot], said[0] if head else "", notes)

    @property
    def lines(self) -> list[list[Square]]:
        """The lines of the table, headers included."""
        return [self.squares.rows[number] for number in self.numbers]

    @property
    def width(self) -> int:
        """Number of columns of the sheet."""
        return len(self.squares.rows[0]) if self.squares.rows else 0

    def figure_columns(self) -> list[int]:
        """Return the columns that are mostly numbers; the first one always holds codes.

        No figure begins with a zero that no decimal point follows: "01", "05.10" are codes.
        """
        lower = self.lines[1:]
        found = []
        for column in range(1, self.width):
            entries = [line[column] for line in lower if not is_gap(line[column])]
            numbers = sum(as_number(entry) is not None for entry in entries)
            is_code = any(isinstance(entry, str) and _CODE.match(entry) for entry in entries)
            if entries and numbers >= NUMBERS_OF_A_COLUMN * len(entries) and not is_code:
                found.append(column)
        return found

    def varying(self, figures: Sequence[int], first_row: int, notes: list[str]) -> list[int]:
        """Leave out columns with the same whole number in each of many rows, such as a year."""
        kept = []
        for column in figures:
            entries = {line[column] for line in self.lines[first_row:]}
            number = as_number(next(iter(entries)))
            if (
                len(entries) == 1
                and number
                and number == int(number)
                and len(self.lines) > FEW_ROWS
            ):
                header = _text(self.lines[first_row - 1][column])
                notes.append(f"Left out: {header!r}, which is {int(number)} in every row.")
            else:
                kept.append(column)
        return kept or list(figures)

    def headers(self) -> int:
        """Return the number of lines above the figures, at least one.

        A line is a header while its squares above figures hold more text than numbers, or while
        the headers above it do not yet tell the columns apart.
        """
        figures = self.figure_columns()
        number = 1
        while number < min(MOST_HEADERS, len(self.lines)):
            line = [self.lines[number][column] for column in figures]
            filled = [square for square in line if not is_gap(square)]
            texts = sum(as_number(square) is None for square in filled)
            told = list(zip(*self._header_lines(number, figures), strict=True))
            if 2 * texts <= len(filled) and (len(set(told)) == len(told) or len(filled) == 0):
                break
            number += 1
        return number

    def key_columns(self, first_row: int, figures: Sequence[int]) -> list[int]:
        """Return the columns on the left that hold codes."""
        lines = self.lines[first_row:]
        leading = 0
        while leading < self.width and leading not in figures:
            leading += 1
        keys = [c for c in range(leading) if any(not is_gap(line[c]) for line in lines)]
        while leading < self.width - 1 and not self._are_apart(keys, lines):
            entries = [as_number(line[leading]) for line in lines]
            if any(each is not None and each != int(each) for each in entries):
                break
            keys.append(leading)
            leading += 1
        return keys

    def row_axis(self, column: int, first_row: int, *, is_last: bool) -> SheetAxis:
        """Return the codes of a column; gaps mean the code above, but in the last column."""
        entries, depths, above = [], {}, ""
        for number in self.numbers[first_row:]:
            square = self.squares.rows[number][column]
            # Signs for gaps, such as "-", may be codes.
            text = above if square is None and not is_last else _text(square)
            if text not in depths:
                depths[text] = self.squares.indents[number][column]
            entries.append(text)
            above = text
        above_it = [_text(line[column]) for line in self.lines[:first_row] if line[column]]
        return SheetAxis(above_it[-1] if above_it else f"column {column + 1}", entries, depths)

    def column_axes(self, first_row: int, figures: Sequence[int]) -> list[SheetAxis]:
        """Return the codes above the figures, one axis for each line that tells columns apart."""
        lines = self._header_lines(first_row, figures)
        *above, lowest = lines
        if len(set(lowest)) == len(lowest):
            # A header merged over several lines, such as "Total", makes those above it mere titles.
            lines = [line for line in above if not any(map(eq, line, lowest))] + [lowest]
        told = [line for line in lines if len(set(line)) > 1] or lines[-1:]
        names = ["columns"] if len(told) == 1 else [f"columns {n + 1}" for n in range(len(told))]
        return [
            SheetAxis(name, list(line), dict.fromkeys(line, 0))
            for name, line in zip(names, told, strict=True)
        ]

    def text_behind(self, first_row: int, figures: Sequence[int]) -> dict[str, list[str]]:
        """Return columns of text to the right of the first figures, such as statuses."""
        found = {}
        for column in range(min(figures), self.width):
            entries = [_text(line[column]) for line in self.lines[first_row:]]
            if column not in figures and any(entries):
                header = [_text(line[column]) for line in self.lines[:first_row] if line[column]]
                found[header[-1] if header else f"column {column + 1}"] = entries
        return found

    def _header_lines(self, number: int, figures: Sequence[int]) -> list[list[str]]:
        """Return headers; gaps in all lines but the last mean the header on the left."""
        found = []
        for at, line in enumerate(self.lines[:number]):
            texts, left = [], ""
            for column in figures:
                text = _text(line[column])
                left = text or (left if at < number - 1 else "")
                texts.append(left)
            found.append(texts)
        return found

    def _are_apart(self, keys: Sequence[int], lines: Sequence[list[Square]]) -> bool:
        above: list[Square] = [None] * len(keys)
        seen = set()
        for line in lines:
            above = [
                line[key] if line[key] is not None else old
                for key, old in zip(keys, above, strict=True)
            ]
            seen.add(tuple(above))
        return bool(keys) and len(seen) == len(lines)


def _told_apart(
    axes: Sequence[SheetAxis], notes: list[str], labels: dict[str, dict[str, str]]
) -> list[SheetAxis]:
    """Leave out columns with one code only; those that repeat another one are its labels."""
    kept: list[SheetAxis] = []
    for axis in axes:
        pairs = [
            other
            for other in kept
            if len(set(zip(axis.entries, other.entries, strict=True)))
            == len(axis.depths)
            == len(other.depths)
        ]
        if len(axis.depths) == 1 and len(axes) > 1:
            notes.append(f"Left out: {axis.name!r}, which is {axis.entries[0]!r} in every row.")
        elif pairs:
            notes.append(f"Taken for labels of {pairs[0].name!r}: {axis.name!r}.")
            labels[pairs[0].name] = dict(zip(pairs[0].entries, axis.entries, strict=True))
        else:
            kept.append(axis)
    return kept or list(axes[:1])


def _entries(line: Sequence[Square]) -> list[str]:
    return [_text(square) for square in line if square is not None]


def _text(square: Square) -> str:
    """Return a square as a code; whole numbers without a decimal point."""
    if square is None:
        return ""
    return str(int(square)) if isinstance(square, float) and square.is_integer() else str(square)


FREQUENCY = re.compile(
    r"n|n_?\w{0,6}|freq\w*|count\w*|number\w*|contributors?|firms?|enterprises?|respondents?|obs\w*",
    re.IGNORECASE,
)
LARGEST = re.compile(r"(max|largest|top|biggest|x)[ _-]?(\d*)|(largest|maximum).*", re.IGNORECASE)
VALUE = re.compile(
    r"values?|turnover|amount|sum|total|sales|revenue|obs_value|umsatz|betrag|chiffre d.affaires"
    r"|montant|valeur",
    re.IGNORECASE,
)
AMOUNT = re.compile(
    r"turnover|amount|sales|revenue|income|wages?|umsatz|betrag|einkommen|chiffre d.affaires"
    r"|montant|revenu|\beuros?\b|\b(EUR|USD|CHF|GBP)\b|[€$£]",
    re.IGNORECASE,
)
"""What the name or the title says of figures that are no counts, although they may be whole."""

STATUS = re.compile(r"(conf_?|obs_?)?(status|flags?)|sensitive|primary|secret", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Proposal:
    """A reading of a finished table, to be confirmed by a person.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each cell: codes, figures, and text beside them.
    trees : dict of str to CodeTree
        For each dimension which codes add up to which; a tree may be incomplete.
    figures : tuple of str
        Columns with numbers.
    value : str
        The figure that is to be published.
    frequency : str
        The number of contributors: the value itself in a table of counts, which has whole
        figures alone, and neither name nor title of amounts; empty if no column looks like it.
    largest : tuple of str
        The largest contributions, the largest first.
    status : str
        Column that says which cells are sensitive; empty if there is none.
    tolerance : float
        By how much sums may be off, because figures were rounded one by one.
    title, name : str
    sheets : tuple of str
    notes : tuple of str
        What was left out or is doubtful.
    labels : dict of str to dict of str to str
        For a dimension what its codes are called, if a column says it.
    """

    frame: pd.DataFrame
    trees: dict[str, CodeTree]
    figures: tuple[str, ...]
    value: str
    frequency: str = ""
    largest: tuple[str, ...] = ()
    status: str = ""
    tolerance: float = 0.0
    title: str = ""
    name: str = ""
    sheets: tuple[str, ...] = ("",)
    notes: tuple[str, ...] = field(default=())
    labels: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether every code of every dimension has its place."""
        return all(tree.groups and tree.total and not tree.unplaced for tree in self.trees.values())

    def table(self, hierarchies: Mapping[str, Hierarchy] | None = None) -> Table:
        """Return the table.

        Parameters
        ----------
        hierarchies : mapping of str to Hierarchy, optional
            Replaces those that were found. Codes of sums that the table lacks, such as a total,
            are made by adding up their parts.

        Raises
        ------
        InputError
            If a code has no place, the table is not additive, or a sum that it lacks would need
            largest contributions.
        """
        given = dict(hierarchies or {})
        for name, tree in self.trees.items():
            if name not in given:
                if not tree.groups and not tree.unplaced:
                    raise InputError(
                        f"{self.name}: {name!r} has the code {tree.total!r} alone, so nothing adds "
                        f"up. Give a table with its totals."
                    )
                if not tree.total or tree.unplaced:
                    raise InputError(
                        f"{self.name}: the figures do not tell where "
                        f"{listed(list(tree.unplaced[:8]))} of {name!r} belong. Say it with "
                        f"`hierarchies={{{name!r}: tc.Hierarchy(...)}}`."
                    )
                given[name] = tree.hierarchy
        return Table.from_frame(
            self._with_sums(given),
            {name: given[name] for name in self.trees},
            self.value,
            frequency=self.frequency or None,
            largest=self.largest,
            tolerance=self.tolerance,
        )

    def _with_sums(self, hierarchies: Mapping[str, Hierarchy]) -> pd.DataFrame:
        """Return the cells, with those of codes that the table lacks and that have parts."""
        frame, figures = self.frame, list(dict.fromkeys(filter(None, (self.value, self.frequency))))
        for name in self.trees:
            tree = hierarchies[name]
            below, present = dict(tree.groups), set(frame[name])
            for code in parts_first(tree.total, below):
                if code in present or code not in below:
                    continue
                if self.largest:
                    raise InputError(
                        f"{self.name}: the largest contributions to {code!r} of {name!r} do not "
                        f"follow from those of its parts. Give a table with its totals, or leave "
                        f"out the largest contributions."
                    )
                parts = frame[frame[name].isin(below[code])].assign(**{name: code})
                sums = parts.groupby([*self.trees], sort=False)[figures].sum().reset_index()
                frame = pd.concat([frame, sums], ignore_index=True)
        return frame

    def summary(self) -> str:
        """Return what was found in a few lines."""
        lines = [
            f"{self.name}: {len(self.frame)} cells, {self.value!r} by {' x '.join(self.trees)}"
        ]
        for name, tree in self.trees.items():
            depth = f"{len(tree.groups)} group{'s' if len(tree.groups) != 1 else ''}"
            lost = f"; without a place: {listed(list(tree.unplaced[:5]))}" if tree.unplaced else ""
            lines.append(f"  {name}: total {tree.total!r}, {depth}{lost}")
        roles = {
            "contributors": self.frequency,
            "status": self.status,
            "largest": ", ".join(self.largest),
        }
        lines += [f"  {role}: {column}" for role, column in roles.items() if column]
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        return f"<Proposal: {self.summary()}>"


def propose(given: pd.DataFrame | FilePath, *, sheet: str = "") -> Proposal:
    """Read a finished table of any layout and propose its dimensions, totals and hierarchies.

    Parameters
    ----------
    given : DataFrame, str, Path or DataFile
        A table with all its totals: one row for each cell, or codes on the left and above, in
        Excel (.xlsx), CSV (any separator) or Parquet. Several columns of codes and several lines
        of headers, merged squares, titles and notes are understood.
    sheet : str, optional
        Sheet of a workbook; by default the first one with numbers.

    Returns
    -------
    Proposal
        Look at it before you use it: `Proposal.summary`, `Proposal.trees`.

    Raises
    ------
    InputError
        If there are no figures or no codes, or a square holds something else than a number.

    Notes
    -----
    Totals and hierarchies are told by the figures: a code is a parent if in every column it is
    the sum of its children, up to rounding. Names of columns only decide which of several
    figures is the value, the number of contributors, or a status.

    Examples
    --------
    >>> import pandas as pd
    >>> wide = pd.DataFrame({"region": ["N", "S", "All"], "small": [1, 2, 3], "all": [4, 6, 10],
    ...                      "large": [3, 4, 7]})
    >>> found = propose(wide)
    >>> found.trees["region"].total, found.trees["columns"].total
    ('All', 'all')
    """
    squares = read_squares(given, sheet)
    refuse_problem(squares.rows[0] if squares.rows else (), Path(squares.name))
    cross = read_crosstab(squares)
    long, axes, measures, texts = _split(cross)
    dims = [axis.name for axis in axes]
    figures = tuple(measures)
    roles = _roles(figures, texts)
    value = roles["value"]
    filled = long[long[value].notna()].reset_index(drop=True)
    is_amount = AMOUNT.search(f"{cross.title} {value}")
    if figures == (value,) and not is_amount and _are_counts(filled[value]):
        roles["frequency"] = value
    trees, tolerance, wrong = _trees(filled, axes, value)
    if len(figures) > 1 and not any(tree.groups for tree in trees.values()):
        wrong.append(
            "No figure is the sum of others, so that each column is read as a figure of its own. "
            "Where columns are codes of one figure, such as regions, add a column with their total."
        )
    notes = [*cross.notes, *wrong]
    if cross.beside and not texts:
        notes.append(f"Left out: {listed([*cross.beside])}, which says something of whole rows.")
    if len(filled) < len(long):
        notes.append(f"Left out: {len(long) - len(filled)} rows without {value!r}.")
    if tolerance:
        notes.append(f"Sums are off by up to {tolerance:g}: figures were rounded one by one.")
    return Proposal(
        frame=filled, trees={name: trees[name] for name in dims}, figures=figures,
        tolerance=tolerance, title=cross.title, name=squares.name, sheets=squares.sheets,
        notes=tuple(notes), labels=cross.labels, **roles,
    )  # fmt: skip


def _split(cross: Crosstab) -> tuple[pd.DataFrame, list[SheetAxis], list[str], list[str]]:
    """Return the long frame, its dimensions, its figures, and its texts.

    An axis of headers is a dimension if its codes add up; otherwise it names different figures.
    """
    long, names = cross.long(), cross.names
    axes = [*cross.rows, *cross.columns]
    codes = [replace(axis, name=name) for name, axis in zip(names, axes, strict=False)]
    rows, above = codes[: len(cross.rows)], codes[len(cross.rows) :]
    texts = names[len(codes) :]
    _require_single(long, names[: len(codes)], cross.squares.name)
    kinds = [axis for axis in above if not _adds_up(long.drop(columns=texts), axis)]
    dims = [axis for axis in codes if axis not in kinds]
    if not kinds:
        return long.drop(columns=texts), dims, ["value"], []
    keys = [axis.name for axis in dims]
    which = long[[axis.name for axis in kinds]].agg(" ".join, axis=1)
    order = list(dict.fromkeys(which))
    wide = long.assign(which=which).pivot_table(
        index=keys, columns="which", values="value", aggfunc="first", sort=False
    )
    frame = wide[order].reset_index().rename_axis(columns=None)
    if len(dims) == len(rows) + 1 and "columns" not in keys:
        # The other lines of headers name figures.
        frame = frame.rename(columns={keys[-1]: "columns"})
        return frame, [*dims[:-1], replace(dims[-1], name="columns")], order, []
    if len(dims) == len(rows):
        told = long.drop_duplicates(keys)[[*keys, *texts]]
        return frame.merge(told, on=keys, how="left"), dims, order, texts
    return frame, dims, order, []


def _require_single(long: pd.DataFrame, keys: Sequence[str], name: str) -> None:
    repeated = long.duplicated(keys).to_numpy()
    if repeated.any():
        row = dict(long[list(keys)].iloc[int(repeated.argmax())])
        raise InputError(
            f"{name}: cell {row} is given twice. Give each cell once, or add the column that tells "
            f"them apart."
        )


def _adds_up(long: pd.DataFrame, axis: SheetAxis) -> bool:
    """Whether some code of an axis is the sum of all others, or the axis is a tree."""
    if len(axis.depths) < 3:
        return False
    values, codes = _matrix(long, axis, "value")
    return bool(
        any(code_tree(values, codes, rounding=unit).groups for unit in {0.0, _unit(long["value"])})
        or tree_of_most(values, codes).groups
    )


def _matrix(frame: pd.DataFrame, axis: SheetAxis, value: str) -> tuple[Floats, list[str]]:
    """Return one row for each code of an axis, one column for each combination of the others.

    There are no columns if no code can be a total, as among names of firms in a file of records.
    """
    figures = [each for each in frame.columns if pd.api.types.is_numeric_dtype(frame[each])]
    others = [each for each in frame.columns if each != axis.name and each not in figures]
    codes = list(axis.depths)
    rows = pd.Categorical(frame[axis.name], categories=codes).codes
    filled = np.bincount(rows, minlength=len(codes))
    if others:
        columns, _ = pd.factorize(pd.MultiIndex.from_frame(frame[others].astype(str)))
    else:
        columns = np.zeros(len(frame), dtype=np.intp)
    count = int(columns.max(initial=-1)) + 1
    if filled.max(initial=0) < FILLED_BY_A_TOTAL * count:
        return np.zeros((len(codes), 0)), codes
    values = np.zeros((len(codes), count))
    values[rows, columns] = frame[value].to_numpy(dtype=np.float64)
    return values, codes


def _trees(
    frame: pd.DataFrame, axes: Sequence[SheetAxis], value: str
) -> tuple[dict[str, CodeTree], float, list[str]]:
    """Return the tree of each dimension, how far sums may be off, and which of them are wrong."""
    unit = _unit(frame[value])
    found, tolerance, wrong = {}, 0.0, list[str]()
    plain = frame[[*(axis.name for axis in axes), value]]
    for axis in axes:
        values, codes = _matrix(plain, axis, value)
        depths = list(axis.depths.values())
        tree = code_tree(values, codes, depths)
        if not tree.total or tree.unplaced:
            rounded = code_tree(values, codes, depths, rounding=unit)
            if len(rounded.unplaced) < len(tree.unplaced) or (rounded.total and not tree.total):
                tree = rounded
                tolerance = max(tolerance, _off(values, codes, rounded))
        if not tree.total or tree.unplaced:
            likely = tree_of_most(values, codes, depths)
            if likely.groups:
                tree = likely
                wrong += [
                    f"SUMS FAIL in {axis.name!r}: {parent!r} is not the sum of its parts in "
                    f"{gaps.sum()} of {gaps.size} places, such as {_place(plain, axis, gaps)}. "
                    f"Correct the figures, or the order of the codes."
                    for parent, gaps in failing_sums(values, codes, tree)
                    if gaps.any()
                ]
        found[axis.name] = tree
    return found, tolerance, wrong


def _place(plain: pd.DataFrame, axis: SheetAxis, gaps: Flags) -> str:
    """Name the first column of `_matrix` that is flagged by the codes of the other dimensions."""
    others = plain.iloc[:, :-1].drop(columns=axis.name).astype(str)
    place = others.drop_duplicates().iloc[int(np.argmax(gaps))]
    return ", ".join(f"{name} {code!r}" for name, code in place.items())


def _off(values: Floats, codes: Sequence[str], tree: CodeTree) -> float:
    """Return by how much the largest difference of a parent and its children is off."""
    at = {code: number for number, code in enumerate(codes)}
    gaps = [
        np.abs(values[at[parent]] - values[[at[child] for child in children]].sum(axis=0)).max()
        for parent, children in tree.groups
    ]
    return float(np.ceil(max(gaps, default=0.0) * 1e6) / 1e6)


def _are_counts(figures: pd.Series) -> bool:
    """Return whether figures may be numbers of contributors: whole, and none below 0."""
    return bool(((figures >= 0) & (figures % 1 == 0)).all())


def _unit(figures: pd.Series) -> float:
    """Return the last digit in which figures differ, at most 1."""
    values = figures.dropna().to_numpy(dtype=np.float64)
    for digits in range(7):
        if np.allclose(values, np.round(values, digits), rtol=0, atol=1e-9 * 10**-digits):
            return float(10.0**-digits)
    return 0.0


def _roles(figures: Sequence[str], beside: Sequence[str]) -> dict[str, Any]:
    """Guess from their names what columns hold; see `Proposal`."""
    frequency = next((name for name in figures[1:] or () if FREQUENCY.fullmatch(name)), "")
    if len(figures) > 1 and not frequency and FREQUENCY.fullmatch(figures[0]):
        frequency = figures[0]
    largest = [name for name in figures if LARGEST.fullmatch(name) and name != frequency]
    status = next((name for name in (*beside, *figures[1:]) if STATUS.fullmatch(name)), "")
    rest = [name for name in figures if name not in (frequency, status, *largest)] or [*figures]
    value = next((name for name in rest if VALUE.fullmatch(name)), rest[0])
    order = sorted(largest, key=lambda name: as_number("".join(re.findall(r"\d+", name))) or 0)
    frequency = "" if frequency == value else frequency
    sizes = tuple(name for name in order if name != value) if frequency else ()
    return {"value": value, "frequency": frequency, "largest": sizes, "status": status}
