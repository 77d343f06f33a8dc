"""Released tables as Excel workbooks: statuses as styles, no hidden value, no formula."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError
from tablecloak.storage import replacing
from tablecloak.tables.formats.frames import marked

__all__ = ["write_workbook"]


def write_workbook(released: pd.DataFrame, about: Mapping[str, object], path: str | Path) -> None:
    """Write a release: a sheet with the table, and one with what users may know.

    Parameters
    ----------
    released : pandas.DataFrame
        What `SuppressionPattern.release` or `Adjustment.release` returns. Suppressed cells get
        a grey square with an x.
    about : mapping of str to object
    path : str or path
        Name in .xlsx.

    Raises
    ------
    InputError
        If openpyxl is not installed, or the table has more rows than a sheet.

    Notes
    -----
    All text is written as text, so that a code such as ``=1+1`` is not calculated.
    """
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Font, PatternFill
    except ImportError:
        raise InputError(
            "Excel files need openpyxl: install tablecloak with its extra `excel`."
        ) from None
    if len(released) >= 2**20:
        raise InputError(
            f"{path}: a sheet of Excel has 1,048,576 rows, but the table has {len(released)} "
            f"cells. Write CSV or Parquet instead."
        )
    book = Workbook()
    sheet = book.active
    sheet.title = "table"
    hidden = released["status"].eq("suppressed") if "status" in released else None
    shown = released.drop(columns="status", errors="ignore")
    measure = shown.columns[-1]
    bold, grey = Font(bold=True), PatternFill("solid", fgColor="FFC8C8C8")
    sheet.append(list(map(str, shown.columns)))
    for square in sheet[1]:
        square.font = bold
        _as_text(square)
    for at, row in enumerate(shown.itertuples(index=False)):
        secret = hidden is not None and bool(hidden.iloc[at])
        entries = [*map(str, row[:-1]), "x" if secret else _number(row[-1])]
        sheet.append(entries)
        for square in sheet[at + 2]:
            _as_text(square)
        if secret:
            square = sheet.cell(at + 2, len(entries))
            square.fill, square.comment = grey, None
    sheet.freeze_panes = "A2"
    notes = book.create_sheet("about")
    for key, value in {**about, "grey x": f"{measure} is confidential"}.items():
        notes.append([str(key), str(value)])
        for square in notes[notes.max_row]:
            _as_text(square)
    book.properties.creator = str(about.get("software", "tablecloak"))
    with replacing(path) as temporary:
        _save(book, temporary)


def _save(book: Any, path: Path) -> None:
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


def _number(value: object) -> float | int:
    number = float(value)  # type: ignore[arg-type]
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def _as_text(square: object) -> None:
    """Mark text as text, also where it begins like a formula."""
    if isinstance(square.value, str):  # type: ignore[attr-defined]
        square.data_type = "s"  # type: ignore[attr-defined]
        square.quotePrefix = marked(square.value) != square.value  # type: ignore[attr-defined]
