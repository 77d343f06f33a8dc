"""CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError
from tablecloak.tables.formats.format import FORMATS
from tablecloak.tables.formats.frame_format import Appender, FrameFormat
from tablecloak.tables.formats.layouts import WideTable
from tablecloak.tables.formats.spreadsheet_text import harmless, marked, unmarked

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
        _require_names_once(path)
        kinds = dict.fromkeys([*text_columns, *map(marked, text_columns)], str)
        frame: pd.DataFrame = pd.read_csv(path, dtype=kinds, **EXACT)
        if not isinstance(frame.index, pd.RangeIndex):
            # pandas would take the surplus entries for names of rows, and move all columns.
            raise InputError(
                f"{path}: its rows have more entries than its header. Name all columns, or leave "
                f"out the separator at the end of the rows."
            )
        return frame.rename(columns=unmarked)

    def write(self, frame: pd.DataFrame, path: Path) -> None:
        """Write a whole frame."""
        harmless(frame).to_csv(path, index=False, lineterminator="\n")

    def write_wide(self, table: WideTable, about: Mapping[str, object], path: Path) -> None:
        """Write keys and values beside each other."""
        del about
        self.write_whole(table.frame(), path)

    def column_names(self, path: Path) -> list[str]:
        """Read the header alone."""
        _require_names_once(path)
        return list(map(str, pd.read_csv(path, nrows=0).columns))

    def head(self, path: Path, rows: int) -> pd.DataFrame:
        """Read the first rows alone."""
        return pd.read_csv(path, nrows=rows)

    def read_columns(
        self, path: Path, columns: Sequence[str], *, as_text: bool = False
    ) -> pd.DataFrame:
        """Read some columns of the file, names and entries as they stand there."""
        kinds: Any = str if as_text else None
        frame: pd.DataFrame = pd.read_csv(path, usecols=list(columns), dtype=kinds, **EXACT)
        return frame

    def pieces(self, path: Path, size: int, *, typed: bool) -> Iterator[pd.DataFrame]:
        """Yield text piece by piece; the whole file if types must be known."""
        if typed:
            yield self.read_checked(path)
            return
        with pd.read_csv(path, dtype=str, keep_default_na=False, chunksize=size) as reader:
            yield from reader

    def appender(self, path: Path) -> Appender:
        """Begin a file with its header."""
        return _CSVAppender(self, path)

    def fields(self, text: str) -> Iterable[str]:
        """Return all fields; quotes that do not match would hide what follows, so they raise."""
        try:
            lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        except csv.Error as error:
            raise ValueError(str(error)) from error
        return [field for line in lines for field in line]


def _require_names_once(path: Path) -> None:
    """Refuse two columns of one name: readers would call the second one otherwise.

    Columns without a name are let through, as spreadsheets leave them behind.
    """
    first = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False)
    names = [name for name in first.iloc[0].tolist() if name]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two columns are called {twice!r}. Rename one of them.")


class _CSVAppender(Appender):
    """Text is appended unchanged: it was made harmless when it was first written."""

    is_begun = False

    def add(self, frame: pd.DataFrame) -> None:
        with self.path.open("a" if self.is_begun else "w", newline="", encoding="utf-8") as file:
            frame.to_csv(file, header=not self.is_begun, index=False, lineterminator="\n")
        self.is_begun = True

    def close(self) -> None:
        pass
