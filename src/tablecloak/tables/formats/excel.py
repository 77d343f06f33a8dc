"""Workbooks of Excel: releases that are written, and sheets that somebody gives."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, TablecloakWarning, listed, require_known
from tablecloak.extras import required
from tablecloak.storage import replacing
from tablecloak.tables.formats.format import FORMATS, FilePart, ReleaseFormat
from tablecloak.tables.formats.frame_format import RecordFormat
from tablecloak.tables.formats.header_row import ROWS_LOOKED_AT
from tablecloak.tables.formats.layouts import WideTable, as_written, hidden_cells
from tablecloak.tables.formats.spreadsheet_text import marked

MOST_ROWS = 2**20
"""Rows of a sheet of Excel, the header included."""

HIDDEN = "x"
"""What stands for a hidden value in a table with a row for each cell."""

SAME_EVERYWHERE = ("xl/theme/", "xl/styles")
"""Parts of a workbook with colours and sizes, in which numbers are no values."""


@FORMATS.register
class Excel(RecordFormat, ReleaseFormat):
    """A workbook: statuses as styles, a sheet for the notes, no hidden value, no formula."""

    name = "excel"
    holds = "records (read), releases (written)"
    suffixes = (".xlsx",)
    record_suffixes = (".xlsm",)
    signature = b"PK"
    has_wide = True
    has_labels = True
    libraries = ("openpyxl",)

    def read(self, path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        """Read a sheet whose first row names the columns; the named ones as text.

        Raises
        ------
        InputError
            If there is no such sheet, or it cannot be read.
        """
        with reading_workbook(path), pd.ExcelFile(path, engine="openpyxl") as book:
            sheets = list(map(str, book.sheet_names))
            name = self.how.sheet or sheets[0]
            require_known(name, sheets, f"{path}: there is no sheet {name!r}.")
            sheet, above = book.book[name], max(self.how.header, 1) - 1
            self.require_header(path, _first_rows(sheet))
            kinds: Any = dict.fromkeys(text_columns, str)
            frame = pd.read_excel(book, name, dtype=kinds, skiprows=above)
            squares = islice(sheet.iter_rows(), above, None)
            frame, restored = _with_codes_as_shown(frame, squares, text_columns)
        if restored:
            warnings.warn(
                f"{path}: the codes of {listed(restored)} are stored as numbers, and read as they "
                f"are shown, with all zeros. Store them as text to keep the zeros elsewhere too.",
                TablecloakWarning,
                stacklevel=2,
            )
        for column in frame.columns[frame.columns.isin(text_columns)]:
            # Days are no instants of time.
            frame[column] = frame[column].map(lambda code: code.removesuffix(" 00:00:00"), "ignore")
        return frame.dropna(how="all", ignore_index=True)

    def first_rows(self, path: Path) -> list[list[Any]]:
        """Return what stands in the first rows of the sheet."""
        with reading_workbook(path):
            from openpyxl import load_workbook

            book = load_workbook(path, read_only=True, data_only=True)
            try:
                sheets = {sheet.title: sheet for sheet in book.worksheets}
                sheet = sheets.get(self.how.sheet or next(iter(sheets), ""))
                return [] if sheet is None else _first_rows(sheet)
            finally:
                book.close()

    def write_release(
        self, released: pd.DataFrame, about: Mapping[str, object], path: Path
    ) -> None:
        """Write a sheet with the table, and one with what users may know.

        Suppressed cells get a grey square with an x. All text is written as text, so that a code
        such as ``=1+1`` is not calculated.

        Raises
        ------
        InputError
            If openpyxl is not installed, or the table has more rows than a sheet.
        """
        hidden = hidden_cells(released).tolist()
        shown = released.drop(columns="status", errors="ignore")
        about = dict[str, Any](about)
        for name, labels in about.pop("labels", {}).items():
            texts = shown[name].map(labels).fillna("")
            shown.insert(list(shown.columns).index(name) + 1, f"{name}, label", texts)
        rows = (
            [*map(str, row[:-1]), HIDDEN if secret else as_written(row[-1])]
            for row, secret in zip(shown.itertuples(index=False), hidden, strict=True)
        )
        last = shown.shape[1] - 1
        notes = {**about, f"grey {HIDDEN}": f"{shown.columns[-1]} is confidential"}
        places = ([last] if secret else [] for secret in hidden)
        _write_book(list(map(str, shown.columns)), rows, places, len(shown), notes, path)

    def in_our_words(
        self, frame: pd.DataFrame, dimensions: list[str], path: Path
    ) -> pd.DataFrame | None:
        """Translate a table as `write_release` writes it, whose last column has the values."""
        measure = frame.columns[-1]
        if path.suffix.lower() not in self.suffixes or measure in (*dimensions, "status"):
            return None
        hidden = frame[measure].astype(str).str.strip() == HIDDEN
        if not hidden.any() or not set(dimensions) <= set(frame.columns):
            return None
        status = hidden.map({True: "suppressed", False: "published"})
        return frame[dimensions].assign(value=frame[measure].mask(hidden), status=status)

    def write_wide(self, table: WideTable, about: Mapping[str, object], path: Path) -> None:
        """Write a sheet with keys and values beside each other, and one for the notes."""
        rows = zip(table.keys.astype(str).to_numpy().tolist(), table.entries.tolist(), strict=True)
        secret = (np.flatnonzero(row) + table.keys.shape[1] for row in table.hidden)
        header = [*map(str, table.keys.columns), *table.header]
        _write_book(
            header, ([*keys, *values] for keys, values in rows), secret, len(table.keys), about,
            path,
        )  # fmt: skip

    def parts(self, path: Path, content: bytes) -> Iterator[FilePart]:
        """Yield the files in the archive."""
        del content
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if not name.startswith(SAME_EVERYWHERE):
                    yield FilePart(name, archive.read(name))


def _first_rows(sheet: Any) -> list[list[Any]]:
    sheet.reset_dimensions()
    return [list(row) for row in sheet.iter_rows(max_row=ROWS_LOOKED_AT, values_only=True)]


_NUMBERS = re.compile(r"[1-9]\d*|\d\.\d+|[1-9]\d+\.\d+", re.ASCII)
_ZEROS = re.compile(r"(0+)(?:\.(0+))?")


def as_shown(square: Any, least_digits: int = 1) -> Any:
    """Return what stands in a square; a number as text if zeros are shown that it does not have.

    Parameters
    ----------
    square : openpyxl cell
        A 1 whose number format is ``00`` is shown as 01.
    least_digits : int, default=1
        In front of the decimal point in a format that counts; figures have one.
    """
    value = square.value
    shown = _ZEROS.fullmatch(square.number_format or "") if _is_number(value) else None
    if shown is None or len(shown[1]) < least_digits:
        return value
    decimals = len(shown[2] or "")
    width = len(shown[1]) + decimals + bool(decimals)
    text = f"{value:0{width}.{decimals}f}"
    return text if float(text) == value and text != str(value) else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _with_codes_as_shown(
    frame: pd.DataFrame, squares: Iterator[tuple[Any, ...]], text_columns: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return a sheet with the zeros that its codes have on the screen, and which columns have."""
    doubtful = [
        column
        for column, name in enumerate(frame.columns)
        if name in text_columns
        and frame[name].astype(str).map(_NUMBERS.fullmatch, "ignore").notna().any()
    ]
    if not doubtful and not any(map(_is_number, frame.columns)):
        return frame, []
    names = dict(zip(frame.columns, map(as_shown, next(squares, ())), strict=False))
    rows = list(squares)
    if frame.shape[1] == 1:
        # Of a single column pandas leaves out rows without an entry.
        rows = [row for row in rows if row and str(row[0].value or "").strip()]
    restored = []
    for column in doubtful:
        below = (row[column] if column < len(row) else None for row in rows[: len(frame)])
        shown = [None if square is None else as_shown(square) for square in below]
        codes, read = pd.Series(shown, frame.index, dtype=object), frame.iloc[:, column]
        given = read.notna() & codes.map(lambda code: isinstance(code, str))
        if (codes[given] != read[given]).any():
            restored.append(str(frame.columns[column]))
            frame.isetitem(column, read.mask(given, codes).array)
    spelt = {old: new for old, new in names.items() if isinstance(new, str)}
    return frame.rename(columns=spelt), restored


def _write_book(
    header: list[str],
    rows: Iterable[list[Any]],
    hidden: Iterable[Iterable[int]],
    n_rows: int,
    about: Mapping[str, object],
    path: Path,
) -> None:
    """Write a sheet with rows, whose hidden squares are grey, and one with notes."""
    Excel.require()
    from openpyxl import Workbook

    if n_rows >= MOST_ROWS:
        raise InputError(
            f"{path}: a sheet of Excel has {MOST_ROWS:,} rows, but the table has {n_rows}. Write "
            f"CSV or Parquet instead."
        )
    book = Workbook()
    _fill_table(book.active, header, rows, hidden)
    notes = book.create_sheet("about")
    for number, (key, value) in enumerate(about.items(), start=1):
        _append(notes, number, [str(key), str(value)])
    book.properties.creator = str(about.get("software", "tablecloak"))
    with replacing(path) as temporary:
        save_book(book, temporary)


def _fill_table(
    sheet: Any, header: list[str], rows: Iterable[list[Any]], hidden: Iterable[Iterable[int]]
) -> None:
    from openpyxl.styles import Font, PatternFill

    sheet.title = "table"
    bold, grey = Font(bold=True), PatternFill("solid", fgColor="FFC8C8C8")
    _append(sheet, 1, header)
    for square in next(sheet.iter_rows(max_row=1)):
        square.font = bold
    for at, (row, places) in enumerate(zip(rows, hidden, strict=True), start=2):
        _append(sheet, at, row)
        for place in places:
            square = sheet.cell(at, int(place) + 1)
            square.fill, square.comment = grey, None
    sheet.freeze_panes = "A2"


def _append(sheet: Any, number: int, row: list[Any]) -> None:
    """Write the next row, text as text.

    The squares are asked for by their places: `sheet[at]` looks at all rows above for its width.
    """
    sheet.append(row)
    for column, value in enumerate(row, start=1):
        if isinstance(value, str):
            as_text(sheet.cell(number, column))


def save_book(book: Any, path: Path) -> None:
    """Save a workbook without the times of writing: the same release gives the same bytes."""
    from openpyxl.xml.constants import ARC_CORE

    buffer = io.BytesIO()
    book.save(buffer)
    with zipfile.ZipFile(buffer) as written, zipfile.ZipFile(path, "w") as archive:
        for name in written.namelist():
            content = written.read(name)
            if name == ARC_CORE:
                content = _TIME.sub(EPOCH, content)
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
EPOCH = b"1980-01-01T00:00:00Z"


def as_text(square: object) -> None:
    """Mark text as text, also where it begins like a formula."""
    if isinstance(square.value, str):  # type: ignore[attr-defined]
        square.data_type = "s"  # type: ignore[attr-defined]
        square.quotePrefix = marked(square.value) != square.value  # type: ignore[attr-defined]


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
