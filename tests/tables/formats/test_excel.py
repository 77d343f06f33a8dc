"""Workbooks are looked at before they are unpacked."""

from __future__ import annotations

import sys
import zipfile

import pandas as pd
import pytest

from tablecloak.errors import InputError
from tablecloak.tables.formats import excel
from tablecloak.tables.formats.excel import reading_workbook


def book(path, sheet: str):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
    return path


def test_a_workbook_of_sound_size_is_let_through(tmp_path):
    with reading_workbook(book(tmp_path / "a.xlsx", '<row r="3"><c r="AB3"/></row>')):
        pass


@pytest.mark.parametrize(
    "sheet",
    ['<row r="1048576"><c r="E1048576"/></row>', '<mergeCell ref="A1:XFD300"/>',
     '<x:c s="1" r="XFD1048576" t="n"/>'],
)  # fmt: skip
def test_a_sheet_that_is_used_far_out_is_refused_with_the_place(tmp_path, sheet):
    path = book(tmp_path / "a.xlsx", sheet)
    with pytest.raises(InputError, match=r"sheet1\.xml: the sheet is used up to row"), (
        reading_workbook(path)
    ):  # fmt: skip
        pass


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(excel, "MOST_UNPACKED", 10)
    path = book(tmp_path / "a.xlsx", "<x/>" * 10)
    with pytest.raises(InputError, match="the workbook unpacks to"), reading_workbook(path):
        pass


def test_whatever_a_reader_raises_names_the_file(tmp_path):
    path = book(tmp_path / "a.xlsx", "<x/>")
    with pytest.raises(InputError, match=r"a\.xlsx: cannot be read as a workbook \(KeyError"), (
        reading_workbook(path)
    ):  # fmt: skip
        raise KeyError("xl/workbook.xml")


def test_the_work_for_a_row_does_not_grow_with_the_rows_above(tmp_path):
    """Asking a sheet for a row by its number looks at all cells that were written before."""
    pytest.importorskip("openpyxl")

    def steps(n_rows: int) -> int:
        calls = 0

        def count(frame, event, argument):
            nonlocal calls
            calls += 1

        rows = [["a", "b", float(row)] for row in range(n_rows)]
        frame = pd.DataFrame(rows, columns=["r", "c", "v"])
        sys.setprofile(count)
        try:
            excel.Excel().write_release(frame, {"measure": "v"}, tmp_path / "a.xlsx")
        finally:
            sys.setprofile(None)
        return calls

    steps(1)  # What is loaded once does not count.
    assert steps(900) - steps(600) < 1.5 * (steps(600) - steps(300))
