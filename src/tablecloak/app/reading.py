"""How a file is read: what the pages say and ask of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tablecloak.data_file import DataFile, ReadingError, how_read
from tablecloak.errors import InputError
from tablecloak.tables.formats import RecordFormat, format_of
from tablecloak.tables.formats.excel import reading_workbook
from tablecloak.tables.formats.header_row import ROWS_LOOKED_AT
from tablecloak.tables.proposal import WORKBOOKS


def told_file(path: Path, form: Mapping[str, str]) -> DataFile:
    """Return a file as a form says that it is read; fields that are empty say nothing.

    Raises
    ------
    InputError
        If a field cannot be read.
    """
    how: dict[str, Any] = {}
    for option in how_read():
        text = form.get(option.name, "").strip(" ")
        if option.kind is int and text and not text.isdecimal():
            raise InputError(f"{option.label}: {text!r} is no number of a row. Type one such as 3.")
        if text:
            how[option.name] = option.kind(text)
    return DataFile(path, **how)


def in_the_app(error: Exception) -> str:
    """Return the message of an error; what a file has to be read with by the names of fields."""
    if not isinstance(error, ReadingError):
        return str(error)
    labels = {option.name: option.label for option in how_read()}
    such = "".join(f", such as “{labels[name]}” to “{text}”" for name, text in error.how.items())
    return f"{error.finding} How the file is read can be changed{such}."


def on_its_sheet(file: DataFile) -> DataFile:
    """Return a workbook with the first sheet named that holds rows; other files as they are.

    A sheet in front of it, such as a cover, has text, or a year or two.
    """
    if file.sheet or Path(file).suffix.lower() not in WORKBOOKS:
        return file
    with reading_workbook(Path(file)):
        from openpyxl import load_workbook

        book = load_workbook(Path(file), read_only=True, data_only=True)
        try:
            if len(book.worksheets) > 1:
                for sheet in book.worksheets:
                    if _holds_rows(sheet.iter_rows(max_row=ROWS_LOOKED_AT, values_only=True)):
                        return replace(file, sheet=sheet.title)
        finally:
            book.close()
    return file


def _holds_rows(rows: Iterable[Sequence[Any]]) -> bool:
    """Return whether several rows have a number beside another entry."""
    with_numbers = 0
    for row in rows:
        entries = [entry for entry in row if entry not in (None, "")]
        has_number = any(isinstance(entry, int | float) for entry in entries)
        with_numbers += len(entries) > 1 and has_number
    return with_numbers >= ROWS_OF_A_TABLE


ROWS_OF_A_TABLE = 3
"""Fewest rows with a number beside another entry from which a sheet is no cover. Chosen."""


OF_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")


def doubtful_points(file: DataFile) -> list[str]:
    """Return columns of text in which every point may separate thousands, but is read as decimal.

    Where commas stand between entries, a point is the decimal sign.
    """
    kind = format_of(file, RecordFormat, otherwise="csv")
    if kind.is_typed or file.decimal == "," or file.sep == ",":
        return []
    rows = kind.first_rows(Path(file))[max(file.header, 1) - 1 :]
    with Path(file).open("rb") as content:
        is_apart_by_commas = not file.sep and b";" not in content.read(LOOKED_AT)
    if not rows or is_apart_by_commas:
        return []
    names = rows[0]
    columns = zip(*(row for row in rows[1:] if len(row) == len(names)), strict=True)
    pointed = ([entry for entry in column if "." in str(entry)] for column in columns)
    return [
        str(name)
        for name, entries in zip(names, pointed, strict=False)
        if entries and all(OF_THOUSANDS.fullmatch(str(entry).strip()) for entry in entries)
    ]


LOOKED_AT = 10_000
"""Bytes of a file in which a semicolon between entries stands."""
