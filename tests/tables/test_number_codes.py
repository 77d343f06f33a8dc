"""Codes lose no zero and gain no decimal point on the way from a workbook or a frame."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.errors import InputError, TablecloakWarning
from tablecloak.tables.formats import read_frame
from tablecloak.tables.number_codes import as_codes, lost_zeros
from tablecloak.tables.number_ranges import in_order
from tablecloak.tables.rules.manual import Manual

REGIONS, BRANCHES = ("01", "02", "10"), ("05.10", "10.20", "47.10")
FORMATS = {"region": "00", "branch": "00.00"}
ENGINES = ("duckdb", "pandas")


def sheet(path, rows, *, how="text"):
    """Write rows; codes as text, as numbers in a format with zeros, or as plain numbers."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    page = book.active
    header, *lines = rows
    page.append(list(header))
    for *codes, figure, last in [line if len(line) == 4 else (*line, None) for line in lines]:
        is_text = [how == "text" or code == "Total" for code in codes]
        given = (c if text else float(c) for c, text in zip(codes, is_text, strict=True))
        page.append([*given, figure, last])
        for square, pattern in zip(page[page.max_row], FORMATS.values(), strict=False):
            if how == "shown" and isinstance(square.value, float):
                square.number_format = pattern
    book.save(path)
    return path


def records():
    rows = [
        (*codes, float(1 + at * k), f"{at}-{k}")
        for at, codes in enumerate(product(REGIONS, BRANCHES))
        for k in range(3)
    ]
    return [("region", "branch", "turnover", "firm"), *rows]


def cells():
    table = np.arange(1.0, 10).reshape(3, 3)
    table = np.vstack([table, table.sum(0)])
    table = np.hstack([table, table.sum(1, keepdims=True)])
    codes = product((*REGIONS, "Total"), (*BRANCHES, "Total"))
    rows = [(*pair, value) for pair, value in zip(codes, table.ravel().tolist(), strict=True)]
    return [("region", "branch", "value"), *rows]


@pytest.mark.filterwarnings("ignore::tablecloak.errors.TablecloakWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", ["text", "shown"])
def test_records_of_a_workbook_keep_their_codes_as_they_are_shown(tmp_path, how, engine):
    path = sheet(tmp_path / "firms.xlsx", records(), how=how)
    table = tc.tabulate(path, ["region", "branch"], "turnover", contributor="firm", engine=engine)
    assert table.hierarchies["region"].leaves == REGIONS
    assert table.hierarchies["branch"].leaves == BRANCHES


def test_numbers_that_are_shown_with_zeros_are_warned_of_by_column(tmp_path):
    path = sheet(tmp_path / "firms.xlsx", records(), how="shown")
    with pytest.warns(TablecloakWarning, match="codes of region, branch are stored as numbers"):
        read_frame(path, ("region", "branch"))


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_without_the_zeros_of_a_hierarchy_are_refused_with_column_and_remedy(
    tmp_path, engine
):
    path = sheet(tmp_path / "firms.xlsx", records(), how="plain")
    tree = tc.Hierarchy.flat(REGIONS)
    with pytest.raises(InputError, match=r"Column 'region' came as numbers.* '01'.* as text"):
        tc.tabulate(path, {"region": tree}, "turnover", engine=engine)


@pytest.mark.parametrize("how", ["text", "shown"])
def test_a_finished_sheet_keeps_its_codes_as_they_are_shown(tmp_path, how):
    found = tc.propose(sheet(tmp_path / "cells.xlsx", cells(), how=how))
    assert set(found.frame["region"]) == {*REGIONS, "Total"}
    assert set(found.frame["branch"]) == {*BRANCHES, "Total"}


def test_codes_above_the_figures_are_read_as_they_are_shown(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["branch", 1, 2, "Total"], ["a", 1, 2, 3], ["b", 3, 4, 7], ["Total", 4, 6, 10]]:
        book.active.append(row)
    for square in book.active[1][1:3]:
        square.number_format = "00"
    path = tmp_path / "wide.xlsx"
    book.save(path)
    assert list(read_frame(path, ("branch",)).columns) == ["branch", "01", "02", "Total"]
    assert set(tc.propose(path).frame["columns"]) == {"01", "02", "Total"}


@pytest.mark.filterwarnings("ignore::tablecloak.errors.TablecloakWarning")
@pytest.mark.parametrize("how", ["text", "shown"])
def test_a_published_workbook_is_audited_by_its_codes_as_they_are_shown(tmp_path, how):
    _, *rows = cells()
    frame = pd.DataFrame(rows, columns=["region", "branch", "value"])
    problem = tc.Table.from_frame(frame, ["region", "branch"]).protect(Manual([0]))
    hidden = {tuple(key) for key in problem.table.keys[tc.suppress(problem).suppressed].to_numpy()}
    rows = [(*row[:2], None if row[:2] in hidden else row[2]) for row in rows]
    path = sheet(tmp_path / "release.xlsx", [("region", "branch", "value"), *rows], how=how)
    assert tc.audit(problem, path).is_safe
    path = sheet(tmp_path / "plain.xlsx", [("region", "branch", "value"), *rows], how="plain")
    with pytest.raises(InputError, match="Column 'region' came as numbers"):
        tc.audit(problem, path)


def firms():
    codes = np.repeat([1.0, 2.0, 10.0], 4)
    return pd.DataFrame({"region": codes, "value": np.arange(12.0), "firm": np.arange(12)})


@pytest.mark.parametrize("engine", ENGINES)
def test_codes_of_a_frame_that_are_whole_have_no_point_and_a_warning_names_the_column(engine):
    with pytest.warns(TablecloakWarning, match="Column 'region' .* 1.0 is read as '1'"):
        table = tc.tabulate(firms(), ["region"], "value", engine=engine)
    assert set(table.keys["region"]) == {"Total", "1", "2", "10"}


@pytest.mark.parametrize("engine", ENGINES)
def test_codes_of_a_file_with_types_have_no_point_either(tmp_path, engine):
    pytest.importorskip("pyarrow")
    firms().to_parquet(tmp_path / "firms.parquet")
    with pytest.warns(TablecloakWarning, match="Column 'region'"):
        table = tc.tabulate(tmp_path / "firms.parquet", ["region"], "value", engine=engine)
    assert set(table.keys["region"]) == {"Total", "1", "2", "10"}


@pytest.mark.filterwarnings("ignore::tablecloak.errors.TablecloakWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_codes_of_a_frame_that_lost_a_zero_are_refused_with_column_and_remedy(engine):
    tree = tc.Hierarchy.flat(REGIONS)
    with pytest.raises(InputError, match=r"Column 'region' came as numbers.*dtype={'region': str}"):
        tc.tabulate(firms(), {"region": tree}, "value", engine=engine)
    whole = firms().groupby("region", as_index=False)["value"].sum()
    whole.loc[len(whole)] = [0.0, whole["value"].sum()]
    with pytest.raises(InputError, match="Column 'region' came as numbers"):
        tc.Table.from_frame(whole, {"region": tc.Hierarchy.flat(REGIONS, total="00")})


@pytest.mark.filterwarnings("ignore::tablecloak.errors.TablecloakWarning")
def test_a_finished_table_and_a_hierarchy_of_floats_have_codes_without_a_point():
    pairs = pd.DataFrame({"parent": [0.0, 0.0], "child": [1.0, 2.0], "value": [3.0, 4.0]})
    tree = tc.Hierarchy.from_frame(pairs)
    assert tree.codes == ("0", "1", "2")
    cells = pd.DataFrame({"code": [0.0, 1.0, 2.0], "value": [7.0, 3.0, 4.0]})
    assert tc.Table.from_frame(cells, {"code": tree}).keys["code"].tolist() == ["0", "1", "2"]


@pytest.mark.parametrize("codes", [[1.5, 2.0], [np.inf, 1.0], [np.nan]])
def test_other_numbers_stay_as_they_are(codes):
    column = pd.Series(codes, dtype=float)
    pd.testing.assert_series_equal(as_codes(column), column.astype(str))


@pytest.mark.parametrize(
    ("code", "known", "is_lost"),
    [("1", "01", True), ("5.1", "05.10", True), ("1.0", "01", True), ("10.2", "10.20", True),
     ("01", "1", False), ("3", "01", False), ("A", "01", False), ("1", "A01", False)],
)  # fmt: skip
def test_a_zero_is_lost_where_codes_are_one_number_and_the_wanted_one_has_more(
    code, known, is_lost
):
    assert bool(lost_zeros("region", [code], [known])) == is_lost


@pytest.mark.parametrize(
    "codes",
    [["0-9", "10-49", "50-249", "250+"], ["<10", "10 to 49", "50-99", "100 and more"],
     ["0", "1-9", "10-99", ">=100"], ["0.5-1", "1-2.5", "2.5-10"], ["under 5", "5-9", "over 10"],
     ["0-9 staff", "10-49 staff", "50+ staff"], ["0-500", "500-1 000", "1 000 and more"],
     ["1", "10", "2"], ["A", "B 1-9", "B 10+"], ["2024-09", "2024-10"], ["01", "02", "1"]],
)  # fmt: skip
def test_classes_of_sizes_stand_by_their_size_and_other_codes_by_their_letters(codes):
    assert in_order(reversed(codes)) == codes


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_has_its_size_classes_by_size_also_below_a_level(engine):
    sizes = ["0-9", "10-49", "50-249", "250+"]
    records = pd.DataFrame({"size": sizes[::-1], "part": ["big", "big", "small", "small"]})
    flat = tc.tabulate(records, ["size"], engine=engine)
    assert flat.keys["size"].tolist() == ["Total", *sizes]
    deep = tc.tabulate(records, {"size": ["part", "size"]}, engine=engine)
    assert deep.keys["size"].tolist() == [
        "Total", "big", "50-249", "250+", "small", "0-9", "10-49"
    ]  # fmt: skip


def test_a_hierarchy_file_gives_any_other_order(tmp_path):
    (tmp_path / "size.hrc").write_text("small\nmiddle\nbig\n", encoding="utf-8")
    records = pd.DataFrame({"size": ["big", "middle", "small"]})
    given = tc.tabulate(records, {"size": tmp_path / "size.hrc"})
    assert given.keys["size"].tolist() == ["Total", "small", "middle", "big"]
