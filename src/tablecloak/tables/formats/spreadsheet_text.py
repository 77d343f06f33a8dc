"""Text that no spreadsheet calculates when it opens a CSV file."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from tablecloak.tables.number_codes import as_codes

_CALCULATED = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_MARKED = re.compile(r"''*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in which no text would be calculated by a spreadsheet that opens the CSV.

    Text that begins like a formula gets an apostrophe in front, in names of columns too; numbers
    stay. `original_codes` takes it away again.
    """
    plain = frame.rename(columns=marked)
    for at, column in enumerate(plain.columns):
        if not pd.api.types.is_numeric_dtype(plain.dtypes.iloc[at]):
            plain[column] = plain[column].map(marked)
    return plain


def marked(entry: Any) -> Any:
    """Put an apostrophe in front of text that begins like a formula."""
    if isinstance(entry, str) and _CALCULATED.match(entry):
        return f"'{entry}"
    return entry


def unmarked(entry: Any) -> Any:
    """Take away the apostrophe that `marked` put in front."""
    return entry[1:] if isinstance(entry, str) and _MARKED.match(entry) else entry


def original_codes(column: pd.Series) -> pd.Series:
    """Undo what `harmless` did to a column of codes."""
    return as_codes(column).map(unmarked)
