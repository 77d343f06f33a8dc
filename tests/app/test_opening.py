"""How the app opens files that are other than they seem, and what it says of those it cannot."""

from __future__ import annotations

import html
import io
import re

import openpyxl
import pytest

import tablecloak as tc
from tablecloak.examples import write
from windows import window

FORM = {"value": "turnover", "dimension:region": "1", "dimension:industry": "1",
        "minimum-frequency": "1", "minimum-frequency:minimum": "3", "suppression": "1",
        "time_limit": "5"}  # fmt: skip


@pytest.fixture
def client(tmp_path):
    return window(tmp_path / "app")


def opened(client, content: bytes | str, name: str = "firms.csv", **form):
    raw = content.encode() if isinstance(content, str) else content
    return client.post("/open", data=form | {"upload": (io.BytesIO(raw), name)})


def said(answer) -> str:
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", answer.text)).split())


def again_of(answer) -> str:
    """The name under which a file that was refused is read otherwise."""
    return re.search('name="again" value="(.+?)"', answer.text)[1]


def lines() -> list[str]:
    firms = tc.examples.firms(300)[["firm", "region", "industry", "turnover"]]
    return firms.to_csv(sep=";", decimal=",", index=False).splitlines()


def workbook(rows) -> bytes:
    book, content = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(content)
    return content.getvalue()


def titled() -> bytes:
    firms = tc.examples.firms(300)[["firm", "region", "industry", "turnover"]]
    rows = [["Survey 2025, confidential"], [], list(firms.columns), *firms.values.tolist()]
    return workbook(rows)


def behind_a_cover(rows) -> bytes:
    book, content = openpyxl.Workbook(), io.BytesIO()
    for line in (["Survey of firms"], ["Year", 2025], [], ["Confidential until released"]):
        book.active.append(line)
    book.active.title = "Cover"
    for row in rows:
        (book["Data"] if "Data" in book.sheetnames else book.create_sheet("Data")).append(row)
    book.save(content)
    return content.getvalue()


def test_of_a_workbook_with_a_cover_the_sheet_with_rows_is_opened_whatever_it_holds(client):
    firms = tc.examples.firms(300)[["firm", "region", "industry", "turnover"]]
    content = behind_a_cover([list(firms.columns), *firms.values.tolist()])
    assert opened(client, content, "firms.xlsx").location == "/choose"
    assert "Sheet “Data”" in said(client.get("/choose"))
    assert client.post("/choose", data=FORM).location == "/look"
    # Read as the other kind and back, it is the same sheet.
    assert opened(client, content, "firms.xlsx", kind="table").location == "/shape"
    assert client.post("/kind", data={"kind": "records", "sheet": ""}).location == "/choose"
    assert "Sheet “Data”" in said(client.get("/choose"))
    assert client.post("/kind", data={"kind": "table", "sheet": "Cover"}).status_code == 400


def test_records_of_a_workbook_below_a_title_are_opened_and_tabulated(client):
    assert opened(client, titled(), "firms.xlsx").location == "/choose"
    assert "Header in row “3”" in said(client.get("/choose"))
    assert client.post("/choose", data=FORM).location == "/look"
    assert "header = 3" in client.get("/job.toml").text
    assert "header=3" in said(client.get("/look"))


def test_the_row_of_the_header_is_chosen_where_it_is_not_evident(client):
    rows = [["Survey", "of", "firms", ""], ["firm", "region", "industry", "turnover"]]
    records = tc.examples.firms(60)[rows[1]].values.tolist()
    opened(client, workbook([*rows, *records]), "firms.xlsx", kind="records")
    assert "Survey" in said(client.get("/choose"))
    asked = {"kind": "records", "encoding": "", "header": "two"}
    assert "Header in row: 'two' is no number of a row" in said(client.post("/kind", data=asked))
    assert client.post("/kind", data=asked | {"header": "2"}).location == "/choose"
    page = client.get("/choose").text
    assert 'name="dimension:industry" value="1" checked' in page and "Survey" not in page


def test_a_record_with_an_entry_too_many_is_named_and_the_file_is_read_again_as_is_said(client):
    rows = lines()
    rows[199] += ";extra"
    answer = opened(client, "\n".join(rows))
    assert answer.status_code == 400
    assert "firms.csv, line 200: it has 5 entries, but the header names 4" in said(answer)
    assert "UTF-8" not in answer.text and "`header`" not in answer.text
    again = client.post("/open", data={"again": again_of(answer), "encoding": "", "sep": "|"})
    assert again.status_code in (302, 400) and "No such" not in again.text


def test_points_that_may_separate_thousands_are_asked_about(client):
    firms = ["firm;region;industry;turnover"]
    firms += [f"f{n};{'NS'[n % 2]};{'ab'[n % 3 % 2]};{n}.{400 + n}" for n in range(1, 60)]
    firms += ["f60;N;a;650"]
    assert opened(client, "\n".join(firms)).location == "/choose"
    assert "In “turnover” three digits follow every point" in said(client.get("/choose"))
    client.post("/kind", data={"kind": "records", "decimal": ",", "encoding": "", "sep": "",
                               "sheet": "", "header": ""})  # fmt: skip
    assert "three digits" not in said(client.get("/choose"))
    opened(client, "\n".join([firms[0], "f61;S;b;1.5", *firms[1:]]))
    assert "three digits" not in said(client.get("/choose"))
    opened(client, "\n".join(firms).replace(";", ","))
    assert "three digits" not in said(client.get("/choose"))


def test_files_of_one_problem_are_dropped_together(client, tmp_path):
    files = [path for path in write("cells", tmp_path) if path.name.startswith("cells.")]
    assert len(files) > 2
    content = [(io.BytesIO(path.read_bytes()), path.name) for path in files]
    assert client.post("/open", data={"upload": content}).location == "/grid"
    alone = opened(client, (tmp_path / "cells.csv").read_bytes(), "cells.csv")
    assert "Drop it together with cells.relations.csv" in said(alone)


def test_a_job_is_called_by_its_title_and_its_files_by_their_own_names(client, tmp_path):
    files = {path.name: path.read_text("utf-8") for path in write("firms", tmp_path)}
    files["Umsätze 2024.csv"] = files.pop("firms.csv")
    job = files["job.toml"].replace('"firms.csv"', '"Umsätze 2024.csv"')
    files["job.toml"] = re.sub("^title = .*$", "", job, flags=re.MULTILINE)
    files["job.toml"] = 'title = "Turnover by region"\n' + files["job.toml"]
    content = [(io.BytesIO(text.encode()), name) for name, text in files.items()]
    assert client.post("/open", data={"upload": content}).location == "/grid"
    assert "<h1>Turnover by region</h1>" in client.get("/grid").text
    outside = opened(client, "\n".join(lines()), "..\\x/../../ü:1.csv")
    assert outside.status_code == 302 and "ü_1.csv" in client.get("/choose").text


def test_letters_that_are_no_utf_8_are_told_by_the_name_of_their_field(client):
    text = "Région;CA\n" + "Île;1,5\nSud;2,5\nSud;3,5\n" * 9
    answer = opened(client, text.encode("cp1252"), encoding="ascii", kind="records")
    assert answer.status_code == 400
    assert "such as “Encoding” to “cp1252”" in said(answer)
    assert "DataFile" not in answer.text and "encoding = " not in answer.text
    again = {"again": again_of(answer), "kind": "records", "encoding": "cp1252"}
    assert client.post("/open", data=again).location == "/choose"
    assert "Région" in client.get("/choose").text


@pytest.mark.parametrize("kind", ["", "records", "table"])
def test_a_picture_is_refused_as_no_text(client, kind):
    answer = opened(client, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "picture.csv", kind=kind)
    assert answer.status_code == 400 and "picture.csv: this is no text" in said(answer)


def test_a_problem_that_is_opened_as_a_table_is_told_in_the_words_of_the_page(client, tmp_path):
    table = tc.tabulate(tc.examples.firms(60), ["region"], "turnover")
    tc.write_problem(table.protect(tc.Manual([])), tmp_path / "cells.csv")
    answer = opened(client, (tmp_path / "cells.csv").read_bytes(), "cells.csv", kind="table")
    assert "holds the cells of a problem" in said(answer)
    assert "tablecloak suppress" not in answer.text and "It holds" in said(answer)


def test_what_was_said_of_one_file_is_kept_for_no_other(client, tmp_path):
    opened(client, "a;b\n1;2;3;4\n", kind="records", encoding="cp1252", header="7")
    page = client.get("/").text
    assert "selected" not in page and "cp1252" not in page.replace("such as cp1252", "")
    table = tc.tabulate(tc.examples.firms(300), ["region", "industry"], "turnover")
    assert opened(client, table.to_frame().to_csv(index=False), "table.csv").location == "/shape"
    assert opened(client, "a;b\n1;2;3;4\n", "wrong.csv", kind="records").status_code == 400
    # A form of the open file is about this file, and not about the one that was refused.
    client.post("/kind", data={"kind": "records"})
    assert "table.csv" in client.get("/choose").text


def test_a_mistyped_amount_keeps_its_column_proposed_and_is_named(client):
    rows = lines()
    rows[17] = rows[17].rpartition(";")[0] + ";12,3o"
    staffed = [f"{row};{n % 90}" for n, row in enumerate(rows[1:])]
    opened(client, "\n".join([f"{rows[0]};staff", *staffed]))
    page = client.get("/choose")
    assert re.search('name="value">.*?<option selected>turnover', page.text, re.DOTALL)
    assert "“turnover” holds numbers, but also '12,3o' in line 18" in said(page)
    answer = client.post("/choose", data=FORM)
    assert answer.status_code == 400
    assert "firms.csv, line 18: column 'turnover' is '12,3o', but must be a number" in said(answer)


def test_counts_without_totals_get_a_rule_totals_and_a_base_of_rounding(client):
    codes = [f"{town};{age}" for town in "abc" for age in ("old", "young", "child")]
    cells = [f"{code};{2 + 7 * n}" for n, code in enumerate(codes)]
    assert opened(client, "\n".join(["town;age;number", *cells])).location == "/shape"
    page = client.get("/shape").text
    assert ">Total\n  a\n  b\n  c</textarea>" in page and "has no total of age" in page
    assert 'name="minimum-frequency" value="1" checked' in page
    assert 'name="rounding:base" value="5"' in page
    form = {"tree:town": "Total\n  a\n  b\n  c", "tree:age": "Total\n  old\n  young\n  child",
            "value": "number", "frequency": "number", "level": "15", "rounding:base": "3",
            "minimum-frequency": "1", "minimum-frequency:minimum": "3"}  # fmt: skip
    assert client.post("/shape", data=form).location == "/grid"
    squares = client.post("/grid/view", json={}).get_json()["squares"]
    assert sum(square["kind"] == "sensitive" for line in squares for square in line) == 1
