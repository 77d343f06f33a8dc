"""The row that names the columns, below titles, in text and in sheets."""

from __future__ import annotations

import openpyxl
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.jobs.beginning import first_records
from tablecloak.microdata import Topcoding
from tablecloak.microdata.record_files import RecordFiles
from tablecloak.tables.formats import read_frame
from tablecloak.tables.formats.header_row import header_row

NAMES = ["firm", "region", "turnover"]
RECORDS = [["f1", "N", 1.5], ["f2", "S", 2.5], ["f3", "N", 3.0], ["f4", "S", 4.0]]
ENGINES = ("duckdb", "pandas")


@pytest.mark.parametrize(
    ("above", "told"),
    [
        ([], 1),
        ([["Survey 2025"]], 2),
        ([["Survey 2025"], [], ["confidential", None, None]], 4),
        ([[None, None, None], ["Survey 2025", ""]], 3),
        # Two names of three are no title, but a header that lacks one.
        ([["firm", "region", None]], 1),
    ],
)
def test_the_header_is_the_first_row_of_names_as_wide_as_the_rows_below(above, told):
    assert header_row([*above, NAMES, *RECORDS]) == told


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [["title"]],
        # Years are no names, an entry below is none, and names differ.
        [["title"], ["region", "2024", "2025"], ["N", "1", "2"], ["S", "3", "4"]],
        [["title"], ["f1", "N"], ["f2", "N"], ["f3", "S"]],
        [["title"], ["a", "b", "b"], *RECORDS],
        # One row that is wider is a fault, and many rows of one column have no header to tell.
        [["Survey 2025"], ["a"], ["b"]],
    ],
)
def test_where_no_row_is_evident_the_first_one_counts(rows):
    assert header_row(rows) == 1


def test_a_row_with_an_entry_too_many_hides_no_header():
    assert header_row([["Survey"], NAMES, *RECORDS, ["f5", "N", 5.0, "x"]]) == 2


def written(folder, kind):
    """Write records below a title and an empty row."""
    path = folder / f"firms.{kind}"
    rows = [["Survey 2025, confidential"], [], NAMES, *RECORDS]
    if kind == "csv":
        path.write_text("".join(";".join(map(str, row)) + "\n" for row in rows))
    else:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    return path


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_records_below_a_title_are_read_by_the_row_of_their_header(tmp_path, kind, engine):
    path = written(tmp_path, kind)
    with pytest.raises(tc.InputError, match=r"row 3 seems to. Say header = 3.*\(path, header=3\)"):
        tc.tabulate(path, ["region"], "turnover", engine=engine)
    told, head = first_records(tc.DataFile(path))
    assert told.signs == {"header": 3}
    pd.testing.assert_frame_equal(head, pd.DataFrame(RECORDS, columns=NAMES), check_dtype=False)
    table = tc.tabulate(told, ["region"], "turnover", contributor="firm", engine=engine)
    assert table.values[table.cell(region="Total")] == 11


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_row_that_is_said_to_be_the_header_counts(tmp_path, kind):
    frame = read_frame(tc.DataFile(written(tmp_path, kind), header=4), ("f1",))
    assert list(frame.columns)[:2] == ["f1", "N"] and len(frame) == 3
    with pytest.raises(tc.InputError, match="`header` is -1; expected the number of a row"):
        tc.DataFile("a.csv", header=-1)
    with pytest.raises(tc.InputError):
        read_frame(tc.DataFile(written(tmp_path, "csv"), header=99))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_fault_below_a_title_is_named_by_the_line_that_an_editor_shows(tmp_path, kind, engine):
    path = written(tmp_path, kind)
    if kind == "csv":
        path.write_text(path.read_text().replace(";3.0", ";3.o"))
    else:
        book = openpyxl.load_workbook(path)
        book.active["C6"] = "3.o"
        book.save(path)
    with pytest.raises(tc.InputError, match=r"line 6: column 'turnover' is '3.o'"):
        tc.tabulate(tc.DataFile(path, header=3), ["region"], "turnover", engine=engine)


def test_records_below_a_title_are_protected_and_leave_without_it(tmp_path):
    source = tc.DataFile(written(tmp_path, "csv"), header=3)
    files = RecordFiles(source, tmp_path / "out.csv", seed=1, dropped=["firm"])
    files.protect(Topcoding(["turnover"], threshold=3))
    header, *records = (tmp_path / "out.csv").read_text().splitlines()
    assert header == "region,turnover"
    assert sorted(records) == ["N,1.5", "N,3.0", "S,2.5", "S,3.0"]


def test_a_job_says_the_row_of_the_header(tmp_path):
    written(tmp_path, "xlsx")
    job = """
    [data]
    file = "firms.xlsx"
    header = 3
    value = "turnover"
    [dimensions.region]
    [[rules]]
    rule = "minimum-frequency"
    minimum = 1
    [suppression]
    time_limit = 5
    """
    (tmp_path / "job.toml").write_text(job)
    assert tc.run_job(tmp_path / "job.toml").problem.table.values.max() == 11
    (tmp_path / "job.toml").write_text(job.replace("header = 3\n", ""))
    with pytest.raises(tc.InputError, match="firms.xlsx: row 1 .* but row 3 seems to"):
        tc.run_job(tmp_path / "job.toml")
