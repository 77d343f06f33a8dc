"""CSV files."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pandas as pd

from tablecloak.arrays import Flags
from tablecloak.data_file import AS_USUAL, SEPARATORS, ReadingError
from tablecloak.errors import InputError
from tablecloak.storage import existing_file
from tablecloak.tables.formats.format import COMPRESSED, FORMATS, OTHER_ROW, UnevenError, uneven
from tablecloak.tables.formats.frame_format import LOOKED_AT, Appender, FrameFormat
from tablecloak.tables.formats.header_row import ROWS_LOOKED_AT
from tablecloak.tables.formats.layouts import WideTable
from tablecloak.tables.formats.spreadsheet_text import harmless, marked, unmarked
from tablecloak.tables.text_numbers import numbers_of

BYTES_LOOKED_AT = 4096
"""Bytes at the start of a file from which is told that it is no text."""

# Before pandas 3 the default parser may read another last digit.
EXACT: Any = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}


@FORMATS.register
class CSV(FrameFormat):
    """Text with commas; an apostrophe in front of text that a spreadsheet would calculate."""

    name = "csv"
    suffixes = (".csv",)
    record_suffixes = (".csv.gz", ".txt")
    is_typed = False
    has_wide = True
    engine_kind = "csv"

    def read(self, path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        """Read a whole file."""
        return self._whole(path, text_columns)

    def records(self, path: Path, text_columns: Sequence[str]) -> pd.DataFrame:
        """Read a whole file, in which nothing but an empty entry is missing."""
        only_empty: Any = {"keep_default_na": False, "na_values": [""], "low_memory": False}
        return self._whole(path, text_columns, **only_empty)

    def told_by(self, path: Path, rows: int = LOOKED_AT) -> tuple[Self, pd.DataFrame]:
        """Return the format with the encoding and the decimal sign of a file, and its first rows.

        What was said of it counts. Letters that are not UTF-8 are those of Western Europe, or
        UTF-16, which a mark tells.
        """
        if "encoding" not in self.how.signs and has_wide_letters(existing_file(path)):
            return self.read_with(encoding="utf-16").told_by(path, rows)
        try:
            reader, frame = super().told_by(path, rows)
        except ReadingError as error:
            if "encoding" in self.how.signs or "encoding" not in error.how:
                raise
            return self.read_with(encoding="cp1252").told_by(path, rows)
        texts = frame.select_dtypes(["object", "string"])
        if "decimal" in self.how.signs or not any(has_decimal_commas(texts[n]) for n in texts):
            return reader, frame
        return reader.read_with(decimal=",").told_by(path, rows)

    def _whole(self, path: Path, text_columns: Sequence[str], **how: Any) -> pd.DataFrame:
        self._require_names_once(path)
        frame = self._parsed(path, [*text_columns, *map(marked, text_columns)], **how)
        return frame.rename(columns=unmarked)

    def write(self, frame: pd.DataFrame, path: Path) -> None:
        """Write a whole frame."""
        harmless(frame).to_csv(path, index=False, **self._written)

    def write_wide(self, table: WideTable, about: Mapping[str, object], path: Path) -> None:
        """Write keys and values beside each other."""
        del about
        self.write_whole(table.frame(), path)

    def column_names(self, path: Path) -> list[str]:
        """Read the header alone."""
        self._require_names_once(path)
        return list(map(str, self._parsed(path, nrows=0).columns))

    def head(self, path: Path, rows: int) -> pd.DataFrame:
        """Read the first rows alone."""
        return self._parsed(path, nrows=rows)

    def read_columns(
        self, path: Path, columns: Sequence[str], *, as_text: bool = False
    ) -> pd.DataFrame:
        """Read some columns of the file, names and entries as they stand there."""
        return self._parsed(path, columns if as_text else (), usecols=list(columns))

    def pieces(self, path: Path, size: int, *, typed: bool) -> Iterator[pd.DataFrame]:
        """Yield text piece by piece; the whole file if types must be known."""
        if typed:
            yield self.read_checked(path)
            return
        kinds: Any = {"dtype": str, "keep_default_na": False}
        with pd.read_csv(path, chunksize=size, **kinds, **self._signs(path)) as reader:
            yield from reader

    def appender(self, path: Path) -> Appender:
        """Begin a file with its header."""
        return _CSVAppender(self, path)

    def _parsed(self, path: Path, text_columns: Sequence[str] = (), **part: Any) -> pd.DataFrame:
        """Read a part of a file; the named columns as text."""
        is_plain, signs = self.how.decimal == ".", self._signs(path)
        header, *rows = filter(None, self.first_rows(path)[signs["skiprows"] :])
        if rows and len(rows[0]) > len(header):
            # pandas would take the surplus entries for names of rows, and move all columns.
            raise self._uneven(path)
        kinds: Any = dict.fromkeys(text_columns, str) if is_plain else str
        exact = EXACT if is_plain else {}
        try:
            frame: pd.DataFrame = pd.read_csv(path, dtype=kinds, **part, **signs, **exact)
        except pd.errors.ParserError as error:
            raise (self._uneven(path, error) if uneven(path, error) else error) from None
        if is_plain:
            return frame
        numbers = [name for name in frame.columns if name not in text_columns]
        return frame.assign(**{name: _with_decimal_commas(frame[name]) for name in numbers})

    def _signs(self, path: Path) -> dict[str, Any]:
        """Return the separator and the encoding of a file."""
        how: dict[str, Any] = {"encoding": self.how.encoding}
        how["skiprows"] = max(self.how.header, 1) - 1
        if self.how.sep:
            return how | {"sep": self.how.sep}
        bare = re.sub(r'"[^"]*"', "", self._lines(path, nrows=1, **how)[0])
        return how | {"sep": max(reversed(SEPARATORS), key=bare.count)}

    def _lines(self, path: Path, **how: Any) -> list[str]:
        """Return lines as they stand: no text holds the separator by which they are read."""
        require_text(path, self.how.encoding)
        whole: Any = {"header": None, "quoting": csv.QUOTE_NONE, "dtype": str}
        lines = pd.read_csv(path, sep="\x1f", keep_default_na=False, **whole, **how)
        return list(map(str, lines.iloc[:, 0]))

    def first_rows(self, path: Path) -> list[list[Any]]:
        """Return the entries of the first lines, by the separator that most of them have most."""
        lines = self._lines(
            path, nrows=ROWS_LOOKED_AT, skip_blank_lines=False, encoding=self.how.encoding
        )
        return apart(lines, self.how.sep)[1]

    def _uneven(self, path: Path, error: Exception | None = None) -> ReadingError:
        """Return the error for a line with more entries than the header, or for most lines."""
        above = max(self.how.header, 1) - 1
        rows = self.first_rows(path)[above:]
        wider = [number for number, row in enumerate(rows) if len(row) > len(rows[0])]
        if 2 * len(wider) > len(rows):
            return ReadingError(
                f"{path}: its rows have more entries than its header. Name all columns, or leave "
                f"out the separator at the end of the rows.",
                OTHER_ROW,
            )
        if error is not None and (named := uneven(path, error)):
            return named
        return UnevenError(path, above + wider[0] + 1, len(rows[wider[0]]), len(rows[0]))

    def _require_names_once(self, path: Path) -> None:
        """Refuse two columns of one name: readers would call the second one otherwise.

        Columns without a name are let through, as spreadsheets leave them behind.
        """
        self.require_header(path, self.first_rows(path))
        kinds: Any = {"dtype": str, "keep_default_na": False}
        first = pd.read_csv(path, header=None, nrows=1, **kinds, **self._signs(path))
        names = [name for name in first.iloc[0].tolist() if name]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"{path}: two columns are called {twice!r}. Rename one of them.")

    @property
    def _written(self) -> dict[str, Any]:
        """How text is written."""
        usual = "," if self.how.decimal == "." else ";"
        signs = {"sep": self.how.sep or usual, "decimal": self.how.decimal}
        return {**signs, "encoding": self.how.encoding, "lineterminator": "\n"}

    def fields(self, text: str) -> Iterable[str]:
        """Return all fields; quotes that do not match would hide what follows, so they raise."""
        try:
            lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        except csv.Error as error:
            raise ValueError(str(error)) from error
        return [field for line in lines for field in line]


_WITH_COMMA = re.compile(r"\s*[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d*)?([eE][+-]?\d+)?\s*", re.ASCII)


FAULTS = 0.05
"""Largest share of entries of a column of numbers that are none, by mistake."""


def has_decimal_commas(column: pd.Series) -> bool:
    """Whether a column of text has numbers, some of them with a decimal comma, but for faults."""
    given = column.dropna().astype(str)
    is_sign = given.str.contains(r",(?!\d{3}(?!\d))").any()
    return bool(is_sign) and odd_entries(given, ",").sum() <= FAULTS * len(given)


def odd_entries(column: pd.Series, decimal: str) -> Flags:
    """Return which entries of a column are no numbers; where nothing stands, nothing is odd."""
    texts = column.astype(str)
    if decimal == ",":
        is_number = texts.map(lambda entry: _WITH_COMMA.fullmatch(entry) is not None)
    else:
        is_number = numbers_of(texts).notna()
    odd: Flags = (column.notna() & (texts.str.strip() != "") & ~is_number).to_numpy(dtype=bool)
    return odd


def mistyped_numbers(column: pd.Series, decimal: str) -> pd.Series | None:
    """Return the numbers of a column of text in which few entries are none, without these.

    None for a column of numbers alone, one of text, or one of codes, some of which begin with 0.
    """
    if pd.api.types.is_numeric_dtype(column):
        return None
    odd, texts = odd_entries(column, decimal), column.dropna().astype(str)
    if not 0 < odd.sum() <= FAULTS * len(texts) or texts.str.match(r"\s*0\d").any():
        return None
    rest = column.astype(str).where(column.notna() & ~odd)
    return _with_decimal_commas(rest) if decimal == "," else numbers_of(rest)


def _with_decimal_commas(column: pd.Series) -> pd.Series:
    """Return a column of text as numbers, if all that stands there are such with commas."""
    given = column.dropna()
    if not all(map(_WITH_COMMA.fullmatch, given)):
        return column
    points = given.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    numbers = numbers_of(points.reindex(column.index))
    is_whole = len(given) == len(column) and not given.str.contains("[,eE]").any()
    return numbers.astype("int64") if is_whole and numbers.abs().max() < 2**53 else numbers


class _CSVAppender(Appender):
    """Text is appended unchanged: it was made harmless when it was first written."""

    file_format: CSV
    is_begun = False

    def add(self, frame: pd.DataFrame) -> None:
        written = self.file_format._written
        mode = "a" if self.is_begun else "w"
        with self.path.open(mode, newline="", encoding=written["encoding"]) as file:
            frame.to_csv(file, header=not self.is_begun, index=False, **written)
        self.is_begun = True

    def close(self) -> None:
        pass


def has_wide_letters(path: Path) -> bool:
    """Whether a mark at the start of a file says that each letter has two bytes."""
    with path.open("rb") as stream:
        return stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def require_text(path: Path, encoding: str = AS_USUAL.encoding) -> None:
    """Refuse a file that is no text, whatever its name says.

    Raises
    ------
    InputError
        Says what to do.
    """
    is_packed = path.suffix.lower() in COMPRESSED
    is_wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    if is_packed or is_wide or has_wide_letters(path):
        return
    with path.open("rb") as stream:
        start = stream.read(BYTES_LOOKED_AT)
    if b"\0" in start:
        raise InputError(
            f"{path}: this is no text, although its name says so. Give a file of text, or name "
            f"the file as what it is, such as .xlsx for a workbook."
        )


def apart(lines: Sequence[str], separator: str = "") -> tuple[str, list[list[Any]]]:
    """Return the separator that most lines have most, if none is given, and their entries.

    Raises
    ------
    ValueError
        If a line cannot be taken apart.
    """
    filled = [line for line in lines if line.strip()]
    try:
        widths = {
            sign: sorted(map(len, csv.reader(filled, delimiter=sign)))
            for sign in ([separator] if separator else SEPARATORS)
        }
        likely = max(widths, key=lambda sign: [*widths[sign], 0][len(widths[sign]) // 2])
        return likely, list(csv.reader(lines, delimiter=likely))
    except csv.Error as error:
        raise ValueError(str(error)) from error
