"""Descriptions of a publication as rows of text, each with the line on which it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tablecloak.errors import InputError
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
        number: [_entry(each) for each in frame.iloc[:, number].astype(object)]
        for number in range(frame.shape[1])
    }
    return pd.DataFrame(cleaned, dtype=object).set_axis(columns, axis=1)


def _entry(given: object) -> str:
    if isinstance(given, float) and given.is_integer():
        # A column of whole numbers with a gap is one of floats.
        given = int(given)
    text = " ".join(str(given).split())
    return "" if text.lower() in BLANK else text
