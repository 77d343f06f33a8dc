"""Which row of a file names its columns, where titles stand above it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

ROWS_LOOKED_AT = 50
"""Rows from the top among which the header is sought."""

FILLED_BY_A_TITLE = 0.5
"""Largest share of the columns that a row above the header fills."""


def header_row(rows: Sequence[Sequence[Any]]) -> int:
    """Return the row that evidently names the columns, counted from 1; 1 where none does.

    It is the first row that is as wide as most rows below it and has in each of its columns a
    name, which is another one than those beside it and no entry below it. All rows above it are
    empty, or titles that fill few columns.

    Parameters
    ----------
    rows : sequence of sequence of str, number or None
        The first rows of a file, with all that stands above the records.
    """
    filled = [[not _is_empty(entry) for entry in row] for row in rows]
    widths = [
        max((n + 1 for n, is_given in enumerate(row) if is_given), default=0) for row in filled
    ]
    for number, row in enumerate(rows):
        below = Counter(width for width in widths[number + 1 :] if width)
        if not below:
            return 1
        width = below.most_common(1)[0][0]
        if widths[number] == width > 1 and _names_columns(row[:width], rows[number + 1 :]):
            return number + 1
        if sum(filled[number]) > FILLED_BY_A_TITLE * width:
            return 1
    return 1


def _is_empty(entry: Any) -> bool:
    return entry is None or (isinstance(entry, str) and not entry.strip())


def _names_columns(row: Sequence[Any], below: Sequence[Sequence[Any]]) -> bool:
    """Return whether all entries are texts with a letter that differ and do not stand below."""
    texts = all(isinstance(entry, str) and any(map(str.isalpha, entry)) for entry in row)
    return (
        texts
        and len(set(row)) == len(row)
        and not any(entry in line[n : n + 1] for line in below for n, entry in enumerate(row))
    )
