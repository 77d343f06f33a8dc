"""The squares of a sheet: text, numbers and gaps, as a person sees them."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError, listed, suggestion
from tablecloak.storage import existing_file
from tablecloak.tables.formats.format import format_of
from tablecloak.tables.formats.frame_format import FrameFormat
from tablecloak.tables.formats.workbooks import reading_workbook

__all__ = ["Square", "Squares", "as_number", "read_squares"]

Square = str | float | None
"""What stands in one square: text, a number, or nothing."""

WORKBOOKS = (".xlsx", ".xlsm")
SEPARATORS = (";", "\t", "|", ",")
LINES_LOOKED_AT = 50
"""Lines of a text file from which its separator is told."""

GAPS = frozenset({"", "-", "–", ".", "..", "...", "na", "n/a", "nan", "null", "none"})  # noqa: RUF001
"""Entries, in small letters, of cells that do not occur."""

_PLAIN = re.compile(r"[+-]?((0|[1-9]\d*)([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_GROUPED_BY_POINTS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d+)?|[+-]?\d{1,3}(\.\d{3}){2,}")


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


def read_squares(given: pd.DataFrame | str | Path, sheet: str = "") -> Squares:
    """Read a sheet of a workbook, a text file, or rows and columns of another format.

    Parameters
    ----------
    given : DataFrame, str or Path
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
    path = existing_file(Path(given))
    if path.suffix.lower() in WORKBOOKS:
        return _of_workbook(path, sheet)
    kind = format_of(path, FrameFormat, otherwise="csv")
    if kind.is_typed:
        return _of_frame(kind.read_checked(path), str(path))
    return _of_text(path)


def as_number(square: Square) -> float | None:
    """Return the number in a square, also one that was typed as text, such as "1,234.5".

    A single comma is a decimal one unless exactly three digits follow it. Text that begins with a
    zero, such as "01", is a code.
    """
    if square is None or isinstance(square, float):
        return square
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


def _of_text(path: Path) -> Squares:
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        # What spreadsheets of Western Europe write where they do not write UTF-8.
        text = raw.decode("cp1252", errors="replace")
    lines = [line for line in text.splitlines()[:LINES_LOOKED_AT] if line.strip()]
    if not lines:
        raise InputError(f"{path}: the file is empty. Give a file with a table.")
    widths = {
        separator: sorted(map(len, csv.reader(lines, delimiter=separator)))[len(lines) // 2]
        for separator in SEPARATORS
    }
    separator = max(widths, key=lambda each: widths[each])
    return _squares(list(csv.reader(io.StringIO(text), delimiter=separator)), str(path))


def _of_workbook(path: Path, sheet: str) -> Squares:
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
        rows = [[square.value for square in row] for row in page.iter_rows()]
        if sheet or _has_numbers(rows):
            indents = [
                [int(square.alignment.indent or 0) for square in row] for row in page.iter_rows()
            ]
            for area in page.merged_cells.ranges:
                for row, column in area.cells:
                    rows[row - 1][column - 1] = rows[area.min_row - 1][area.min_col - 1]
            where = f"{path}, sheet {name!r}" if len(book.sheetnames) > 1 else str(path)
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
