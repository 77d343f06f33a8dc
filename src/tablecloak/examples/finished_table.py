"""A finished table as offices have it: a sheet with a title, two columns of codes, two headers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tablecloak.examples.records import firms
from tablecloak.extras import required

__all__ = ["write_sheet"]

TITLE = "Turnover (thousand EUR) and firms by region, industry and size, 2025"
SOURCE = "Source: survey of invented firms"


def write_sheet(path: Path) -> None:
    """Write turnover and numbers of firms by region, industry and size as a workbook.

    Parameters
    ----------
    path : Path
        Name in .xlsx.

    Raises
    ------
    InputError
        If openpyxl is not installed.
    """
    required("openpyxl", "Excel files")
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font

    from tablecloak.tables.formats.excel import save_book

    turnover, number = _table("turnover"), _table("")
    sizes = list(turnover.columns)
    book = Workbook()
    sheet = book.active
    sheet.append([TITLE])
    sheet.append([])
    sheet.append([None, None, "Turnover", *[None] * (len(sizes) - 1), "Firms"])
    sheet.append(["Region", "Industry", *sizes, *sizes])
    for square in (*sheet[1], *sheet[3], *sheet[4]):
        square.font = Font(bold=True)
    sheet.merge_cells(start_row=3, start_column=3, end_row=3, end_column=2 + len(sizes))
    last = 2 + 2 * len(sizes)
    sheet.merge_cells(start_row=3, start_column=3 + len(sizes), end_row=3, end_column=last)
    above = None
    for region, industry in turnover.index:
        figures = [*turnover.loc[(region, industry)], *number.loc[(region, industry)]]
        sheet.append([None if region == above else region, industry, *figures])
        above = region
        sheet.cell(sheet.max_row, 2).alignment = Alignment(indent=int(industry != "Total"))
    sheet.append([])
    sheet.append([SOURCE])
    save_book(book, path)


def _table(value: str) -> pd.DataFrame:
    """Return a figure by region and industry in rows, sizes in columns; gaps where nobody is."""
    from tablecloak.tables.tabulation.tabulate import tabulate

    dimensions = {"region": ["part", "region"], "industry": None, "size": None}
    table = tabulate(firms(), dimensions, value or None)
    long = table.keys.assign(value=table.values)
    wide = long.pivot_table(index=["region", "industry"], columns="size", values="value")
    return wide.astype(object).where(wide.notna() & (wide != 0), None)
