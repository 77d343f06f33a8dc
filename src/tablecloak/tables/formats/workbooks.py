"""Workbooks of Excel that somebody gives: looked at before anything large is unpacked."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablecloak.errors import InputError
from tablecloak.extras import required

MOST_UNPACKED = 1 << 26
"""Most bytes of a workbook, unpacked: about a million squares that are filled."""

MOST_SQUARES = 1 << 22
"""Most squares of a sheet between the first one and the last row and column that are used.

Readers make all of them, also where a single square at the far end is filled.
"""

_PLACE = re.compile(rb'<(?:\w+:)?(?:c|row|mergeCell)\b[^>]*?\br(?:ef)?="([A-Z0-9:]+)"')
_SQUARE = re.compile(rb"([A-Z]*)([0-9]+)")


@contextmanager
def reading_workbook(path: Path) -> Iterator[None]:
    """Turn any error while a workbook is read into an InputError that names the file.

    Raises
    ------
    InputError
        If it is no workbook, or larger than can be read.
    """
    required("openpyxl", "Excel files")
    try:
        _require_small(path)
        yield
    except InputError:
        raise
    # What a broken workbook raises in openpyxl is of any kind: KeyError, TypeError, ParseError.
    except Exception as error:
        raise InputError(
            f"{path}: cannot be read as a workbook ({type(error).__name__}: {error}). Open it in a "
            f"spreadsheet and save it as .xlsx again."
        ) from error


def _require_small(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if size > MOST_UNPACKED:
            raise InputError(
                f"{path}: the workbook unpacks to {size >> 20:,} MiB; at most "
                f"{MOST_UNPACKED >> 20} MiB are read. Save the sheet as .csv."
            )
        for entry in entries:
            if re.search(r"worksheets/[^/]+\.xml$", entry.filename):
                _require_few_squares(archive.read(entry), f"{path}, {entry.filename}")


def _require_few_squares(content: bytes, where: str) -> None:
    rows, columns = 0, 0
    for place in _PLACE.finditer(content):
        for letters, number in _SQUARE.findall(place[1]):
            # Excel has no row of more digits, and no column of more letters.
            rows = max(rows, int(number[:8]))
            column = 0
            for letter in letters[:4]:
                column = 26 * column + letter - ord("A") + 1
            columns = max(columns, column)
    if rows * columns > MOST_SQUARES:
        raise InputError(
            f"{where}: the sheet is used up to row {rows:,} and column {columns:,}; at most "
            f"{MOST_SQUARES:,} squares are read. Delete the rows and columns beside the table."
        )
