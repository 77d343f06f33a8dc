"""CSV files."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pandas as pd

from tablecloak.data_file import SEPARATORS
from tablecloak.errors import InputError
from tablecloak.storage import existing_file
from tablecloak.tables.formats.format import FORMATS
from tablecloak.tables.formats.frame_format import LOOKED_AT, Appender, FrameFormat
from tablecloak.tables.formats.layouts import WideTable
from tablecloak.tables.formats.spreadsheet_text import harmless, marked, unmarked
from tablecloak.tables.text_numbers import numbers_of

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
        reader = type(self)()
        if "encoding" not in self.how.signs and _has_wide_letters(existing_file(path)):
            reader.how = replace(self.how, encoding="utf-16")
            return reader.told_by(path, rows)
        try:
            _, frame = super().told_by(path, rows)
        except InputError:
            if "encoding" in self.how.signs or not Path(path).exists():
                raise
            reader.how = replace(self.how, encoding="cp1252")
            return reader.told_by(path, rows)
        texts = frame.select_dtypes(["object", "string"])
        if "decimal" in self.how.signs or not any(has_decimal_commas(texts[n]) for n in texts):
            return self, frame
        reader.how = replace(self.how, decimal=",")
        return reader.told_by(path, rows)

    def _whole(self, path: Path, text_columns: Sequence[str], **how: Any) -> pd.DataFrame:
        self._require_names_once(path)
        frame = self._parsed(path, [*text_columns, *map(marked, text_columns)], **how)
        if not isinstance(frame.index, pd.RangeIndex):
            # pandas would take the surplus entries for names of rows, and move all columns.
            raise InputError(
                f"{path}: its rows have more entries than its header. Name all columns, or leave "
                f"out the separator at the end of the rows."
            )
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
        signs = self._signs(path)
        if self.how.decimal == ".":
            kinds: Any = dict.fromkeys(text_columns, str)
            plain: pd.DataFrame = pd.read_csv(path, dtype=kinds, **part, **signs, **EXACT)
            return plain
        frame: pd.DataFrame = pd.read_csv(path, dtype=str, **part, **signs)
        numbers = [name for name in frame.columns if name not in text_columns]
        return frame.assign(**{name: _with_decimal_commas(frame[name]) for name in numbers})

    def _signs(self, path: Path) -> dict[str, Any]:
        """Return the separator and the encoding of a file."""
        how: dict[str, Any] = {"encoding": self.how.encoding}
        if self.how.sep:
            return how | {"sep": self.how.sep}
        # A separator that no text holds gives the first row whole.
        whole: Any = {"header": None, "nrows": 1, "quoting": csv.QUOTE_NONE, "dtype": str}
        row = str(pd.read_csv(path, sep="\x1f", keep_default_na=False, **whole, **how).iloc[0, 0])
        bare = re.sub(r'"[^"]*"', "", row)
        return how | {"sep": max(reversed(SEPARATORS), key=bare.count)}

    def _require_names_once(self, path: Path) -> None:
        """Refuse two columns of one name: readers would call the second one otherwise.

        Columns without a name are let through, as spreadsheets leave them behind.
        """
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


def has_decimal_commas(column: pd.Series) -> bool:
    """Whether all entries of a column of text are numbers, some of them with a decimal comma."""
    given = column.dropna().astype(str)
    is_sign = given.str.contains(r",(?!\d{3}(?!\d))").any()
    return bool(is_sign) and all(map(_WITH_COMMA.fullmatch, given))


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


def _has_wide_letters(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
