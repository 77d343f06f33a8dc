"""Each table has an address of its own, for all windows and over restarts."""

from __future__ import annotations

import html

import pytest

import tablecloak as tc
from tablecloak.app import open_tables as module
from tablecloak.app.open_tables import OpenTables
from tablecloak.app.server import create_app
from tablecloak.data_file import DataFile
from windows import Window, window

FORM = {
    "title": "Turnover",
    "value": "turnover",
    "dimension:region": "1",
    "minimum-frequency": "1",
    "minimum-frequency:minimum": "3",
    "suppression": "1",
    "time_limit": "5",
}


@pytest.fixture
def problems(tmp_path):
    """Two tables of other codes and sizes, as files."""
    table = tc.tabulate(tc.examples.firms(), ["region", "industry"], "turnover", contributor="firm")
    paths = tmp_path / "firms.csv", tmp_path / "small.csv"
    tc.write_problem(table.protect(tc.MinimumFrequency(3)), paths[0])
    tc.write_problem(tc.examples.cox_rounded(), paths[1])
    return paths


def codes(client):
    return [row["code"] for row in client.post("/grid/view", json={}).get_json()["rows"]]


def test_what_one_window_does_concerns_the_table_that_it_shows_whatever_another_one_opened(
    tmp_path, problems
):
    one = window(tmp_path / "app")
    other = Window(one.client)
    one.post("/open", data={"path": str(problems[0]), "kind": "problem"})
    before = codes(one)
    other.post("/open", data={"path": str(problems[1]), "kind": "problem"})
    assert codes(other) != before == codes(one)
    one.post("/grid/decide", json={"cells": [0], "decision": "go"})
    assert one.post("/grid/view", json={}).get_json()["decisions"]
    assert not other.post("/grid/view", json={}).get_json()["decisions"]
    assert "<h1>firms</h1>" in one.get("/grid").text
    assert "<h1>small</h1>" in other.get("/grid").text


def test_the_way_back_to_another_choice_leaves_the_table_of_the_first_one(tmp_path):
    client = window(tmp_path / "app")
    client.post("/open", data={"example": "records"})
    client.post("/choose", data=FORM)
    first, before = client.table, codes(client)
    client.post(
        "/choose", data=FORM | {"title": "Other", "dimension:region": "", "dimension:industry": "1"}
    )
    assert client.table != first and codes(client) != before
    client.table = first
    assert codes(client) == before
    assert "<h1>Turnover</h1>" in client.get("/look").text


@pytest.mark.parametrize("address", ["/grid", "/look", "/results", "/grid/progress"])
def test_a_page_of_a_table_that_is_gone_says_so_and_shows_no_other_one(tmp_path, address, problems):
    client = window(tmp_path / "app")
    client.post("/open", data={"path": str(problems[0]), "kind": "problem"})
    for name in ("00000000", "..", "."):
        client.table = f"/table/{name}"
        answer = client.get(address)
        assert answer.status_code == 404
    client.table = "/table/00000000"
    assert "is gone" in client.get(address).text
    told = client.post("/grid/decide", json={"cells": [0], "decision": "go"})
    assert told.status_code == 404 and "is gone" in told.get_json()["error"]


def test_a_folder_shows_after_a_restart_what_it_holds_and_opens_it_with_its_decisions(
    tmp_path, problems
):
    before = window(tmp_path / "app")
    before.post("/open", data={"path": str(problems[0]), "kind": "problem"})
    before.post("/grid/decide", json={"cells": [0], "decision": "go"})
    grid = before.table
    before.post("/open", data={"example": "records"})
    before.post("/choose", data=FORM)
    look = before.table
    after = window(tmp_path / "app")
    first = html.unescape(after.get("/").text)
    assert f"in the folder {tmp_path / 'app'}" in first
    assert f'href="{grid}/">firms</a>' in first and "firms.csv, 1 decision" in first
    assert f'href="{look}/">Turnover</a>' in first
    assert after.get(f"{grid}/").location == "/grid"
    assert "What was searched is not kept" in after.get("/grid").text
    assert [one["decision"] for one in after.post("/grid/view", json={}).get_json()["decisions"]]
    assert after.get(f"{look}/").location == "/grid"
    assert "<h1>Turnover</h1>" in after.get("/look").text
    assert 'value="Turnover"' in after.get("/choose").text


def test_a_folder_of_its_own_that_goes_at_the_end_is_said_to_go(tmp_path):
    client = create_app(tmp_path / "app", "secret", is_kept=False).test_client()
    client.get("/?token=secret")
    assert "is removed when the program ends" in client.get("/").text
    assert str(tmp_path) not in client.get("/").text


def test_tables_beyond_the_most_in_memory_are_opened_again_by_their_address(
    tmp_path, problems, monkeypatch
):
    monkeypatch.setattr(module, "MOST_OPEN", 2)
    tables = OpenTables(tmp_path / "app", is_kept=True)
    names = []
    for _ in range(3):
        names.append(tables.opened(DataFile(problems[1]), "problem").split("/")[2])
    assert tables[names[2]].said() == []
    assert "opened again" in tables[names[0]].said()[0]
    assert tables[names[0]].said() == []


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"title": 3}', "\x00"])
def test_a_table_that_cannot_be_opened_again_says_so_and_keeps_nobody_from_the_others(
    tmp_path, problems, text
):
    before = window(tmp_path / "app")
    before.post("/open", data={"path": str(problems[0]), "kind": "problem"})
    (tmp_path / "app" / "tables" / before.table.split("/")[-1] / "opened.json").write_text(text)
    after = window(tmp_path / "app")
    assert "Opened before" not in after.get("/").text
    answer = after.get(f"{before.table}/grid")
    assert answer.status_code == 400 and "how a table is opened again" in answer.text


def test_a_file_that_is_gone_is_named_when_its_table_is_opened_again(tmp_path, problems):
    before = window(tmp_path / "app")
    before.post("/open", data={"path": str(problems[0]), "kind": "problem"})
    problems[0].unlink()
    after = window(tmp_path / "app")
    after.table = before.table
    answer = after.get("/grid")
    assert answer.status_code == 400 and "does not exist" in answer.text


def test_a_sheet_is_chosen_by_the_address_of_the_page_and_of_its_form(tmp_path):
    from openpyxl import Workbook

    book = Workbook()
    for number, name in enumerate(("first", "second"), 1):
        sheet = book.active if number == 1 else book.create_sheet()
        sheet.title = name
        for row in (
            ["Region", name],
            ["Total", 30 * number],
            ["N", 10 * number],
            ["S", 20 * number],
        ):
            sheet.append(row)
    book.save(tmp_path / "two.xlsx")
    client = window(tmp_path / "app")
    client.post("/open", data={"path": str(tmp_path / "two.xlsx"), "kind": "table"})
    form = {"tree:Region": "Total\n  N\n  S", "level": "15"}
    other = client.get("/shape?sheet=second").text
    assert "second" in other
    opened = client.table
    for sheet, total in (("", "30"), ("second", "60")):
        client.table = opened
        page = client.get(f"/shape?sheet={sheet}" if sheet else "/shape").text
        value = page.split('name="value"')[1].split("<option")[1].split(">")[1].split("<")[0]
        done = client.post("/shape", data=form | {"sheet": sheet, "value": value})
        assert done.location == "/grid"
        view = client.post("/grid/view", json={}).get_json()
        assert view["squares"][0][0]["value"] == total
