"""A release in the workbook of an office: its looks stay, no hidden value is anywhere in it."""

from __future__ import annotations

import re
import zipfile

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.errors import InputError, TablecloakWarning
from tablecloak.tables.formats import OfficeWorkbook

openpyxl = pytest.importorskip("openpyxl")

VALUES = {
    ("N", "a"): 1021, ("N", "b"): 2043, ("N", "T"): 3064,
    ("S", "a"): 4087, ("S", "b"): 5119, ("S", "T"): 9206,
    ("T", "a"): 5108, ("T", "b"): 7162, ("T", "T"): 12270,
}  # fmt: skip
"""Turnover by region and size; two of each are hidden."""

LABELS = {"N": "North", "S": "South", "T": "All"}


@pytest.fixture(scope="module")
def pattern():
    frame = pd.DataFrame(list(VALUES), columns=["region", "size"]).assign(
        turnover=list(VALUES.values())
    )
    tree = {
        "region": tc.Hierarchy("T", [("T", ("N", "S"))], labels=LABELS),
        "size": tc.Hierarchy("T", [("T", ("a", "b"))]),
    }
    table = tc.Table.from_frame(frame, tree, "turnover")
    return tc.suppress(table.protect(tc.Manual([0], range=10)), time_limit=5)


@pytest.fixture
def office(tmp_path):
    """A workbook as offices have it: every place in which a figure can hide is used."""
    from openpyxl.chart import BarChart, Reference
    from openpyxl.comments import Comment
    from openpyxl.formatting.rule import CellIsRule
    from openpyxl.styles import Font, PatternFill
    from openpyxl.workbook.defined_name import DefinedName

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "T1"
    sheet["A1"] = "Turnover by region and size"
    sheet["A1"].font = Font(bold=True, size=14)
    sheet["B3"], sheet["E3"] = "Turnover", "Firms"
    sheet.merge_cells("B3:D3")
    sheet.merge_cells("E3:G3")
    for column, code in zip("ABCDEFG", ["Region", "a", "b", "T", "a", "b", "T"], strict=True):
        sheet[f"{column}4"] = code
        sheet[f"{column}4"].fill = PatternFill("solid", fgColor="FF336699")
    for row, region in enumerate("NST", start=5):
        sheet[f"A{row}"] = LABELS[region]
        for column, size in zip("BCD", "abT", strict=True):
            sheet[f"{column}{row}"] = VALUES[region, size]
            sheet[f"{column}{row}"].number_format = "#,##0"
        sheet[f"E{row}"] = 2
    sheet["B7"] = "=SUM(B5:B6)"
    sheet["H5"] = "=B5*2"
    sheet["I5"] = 1021.0
    sheet["A9"] = "Source: own survey"
    sheet["B5"].comment = Comment("1021", "1021")
    sheet["C5"].number_format = '"2043"0'
    sheet.conditional_formatting.add("B5:B7", CellIsRule(operator="equal", formula=["1021"]))
    sheet.column_dimensions["A"].width = 27.7109375
    sheet.freeze_panes = "B5"
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=2, min_row=5, max_row=7))
    sheet.add_chart(chart, "K2")
    book.create_sheet("raw").append([1021, 2043])
    book["raw"].sheet_state = "hidden"
    book.create_sheet("numbers").append(["N", 4087])
    book.create_sheet("Notes").append(["c: confidential"])
    book.defined_names["secret"] = DefinedName("secret", attr_text="1021")
    book.properties.title = book.properties.keywords = "1021"
    book.save(tmp_path / "office.xlsx")
    return tmp_path / "office.xlsx"


def filled(pattern, folder, **how):
    with pytest.warns(TablecloakWarning):
        *_, path = (
            path
            for path in tc.write_release(
                pattern, folder / "release", formats=[OfficeWorkbook(folder / "office.xlsx", **how)]
            )
            if path.suffix == ".xlsx"
        )
    return path


def test_published_values_stand_in_their_squares_and_hidden_ones_nowhere(pattern, office, tmp_path):
    path = filled(pattern, tmp_path, marker="..")
    sheet = openpyxl.load_workbook(path)["T1"]
    released = pattern.release().set_index(["region", "size"])
    hidden = []
    for row, region in enumerate("NST", start=5):
        for column, size in zip("BCD", "abT", strict=True):
            is_hidden = released.loc[(region, size), "status"] == "suppressed"
            hidden += [VALUES[region, size]] * is_hidden
            expected = ".." if is_hidden else VALUES[region, size]
            assert sheet[f"{column}{row}"].value == expected
    assert len(hidden) == 4
    with zipfile.ZipFile(path) as archive:
        everything = b"\0".join(map(archive.read, archive.namelist())).decode()
    assert not [value for value in hidden if re.search(rf"(?<!\d){value}(?!\d)", everything)]
    assert "<f>" not in everything and "comments" not in everything and "chart" not in everything


def test_layout_and_looks_are_kept_and_other_figures_are_left_out(pattern, office, tmp_path):
    book = openpyxl.load_workbook(filled(pattern, tmp_path))
    assert book.sheetnames == ["T1", "Notes"]
    sheet = book["T1"]
    assert [sheet[at].value for at in ("A1", "A5", "B3", "E3", "A9")] == [
        "Turnover by region and size", "North", "Turnover", "Firms", "Source: own survey",
    ]  # fmt: skip
    assert {str(area) for area in sheet.merged_cells.ranges} == {"B3:D3", "E3:G3"}
    assert sheet["A1"].font.size == 14 and sheet["A4"].fill.fgColor.rgb == "FF336699"
    assert sheet["D6"].number_format == "#,##0" and sheet["C5"].number_format == "General"
    assert sheet.column_dimensions["A"].width == 27.7 and sheet.freeze_panes == "B5"
    assert [sheet[at].value for at in ("E5", "H5", "I5")] == [None] * 3


def test_a_workbook_without_the_codes_is_refused(pattern, tmp_path):
    openpyxl.Workbook().save(tmp_path / "empty.xlsx")
    with pytest.raises(InputError, match="no codes or labels of region, size were found"):
        tc.write_release(
            pattern, tmp_path / "release", formats=[OfficeWorkbook(tmp_path / "empty.xlsx")]
        )
