"""Of one table one release is given away, until it is said that nobody received it."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.app.decisions import Mark
from tablecloak.app.given_away import (
    NEVER_TWO,
    GivenAway,
    fingerprint_of_release,
    fingerprint_of_table,
)
from tablecloak.app.workbench import Workbench
from tablecloak.errors import InputError
from tablecloak.suppression.attack.audit import audit_pattern
from windows import Window, window


@pytest.fixture
def client(tmp_path, problem):
    tc.write_problem(problem, tmp_path / "cells.csv")
    opened = window(tmp_path / "app")
    opened.post("/open", data={"path": str(tmp_path / "cells.csv"), "kind": "problem"})
    return opened


def solve(client, method: str = "suppression") -> dict:
    client.post("/grid/solve", json={"method": method, "seconds": 20})
    while (found := client.get("/grid/progress").get_json())["running"]:
        time.sleep(0.02)
    return found


def another_pattern(client) -> None:
    """Publish a cell that was hidden for others, and search again."""
    view = client.post("/grid/view", json={"method": "suppression"}).get_json()
    squares = [square for line in view["squares"] for square in line if square["cell"] >= 0]
    first = next(square["cell"] for square in squares if square["kind"] == "secondary")
    client.post("/grid/decide", json={"cells": [first], "decision": "stay"})
    solve(client)


def test_a_second_pattern_of_a_table_is_refused_until_nobody_received_the_first(client):
    assert solve(client)["refused"]["suppression"] == ""
    first = client.post("/grid/release/suppression.zip")
    assert first.status_code == 200
    # The same once more is the same.
    assert client.post("/grid/release/suppression.zip").status_code == 200
    another_pattern(client)
    why = client.get("/grid/progress").get_json()["refused"]["suppression"]
    assert NEVER_TWO in why and "suppression of cells, downloaded 20" in why
    asked = {"method": "suppression"}
    assert "Next:" not in client.post("/grid/view", json=asked).get_json()["summary"]
    refused = client.post("/grid/release/suppression.zip")
    assert refused.status_code == 400 and refused.get_json()["error"] == why
    view = client.post("/grid/view", json={}).get_json()
    (given,) = view["given"]
    assert given["has_left"] and [run["is_given"] for run in view["runs"]] == [True, False]
    assert client.post("/grid/unsent").get_json()["refused"]["suppression"] == ""
    assert client.post("/grid/release/suppression.zip").status_code == 200
    told = client.post("/grid/view", json={}).get_json()["given"]
    assert [each["has_left"] for each in told] == [False, True]
    # The first run is the other one now.
    client.post("/grid/run", json={"run": 0})
    assert client.post("/grid/release/suppression.zip").status_code == 400


def test_two_patterns_that_are_each_proved_leave_a_sensitive_cell_open_together(problem):
    """Why one is given away: an intruder knows what either of them publishes."""
    first = tc.suppress(problem, time_limit=5).suppressed
    is_open = False
    for cell in np.flatnonzero(first & ~problem.sensitive):
        bench = Workbench(problem)
        bench.decide([int(cell)], Mark("stay"))
        bench.start("suppression", 5)
        bench.task.wait(600)
        if "suppression" in bench.solved:
            second = bench.solved["suppression"].result.suppressed
            assert audit_pattern(problem, second).is_safe
            is_open = is_open or not audit_pattern(problem, first & second).is_safe
    assert is_open


def test_another_method_beside_a_pattern_is_another_release(client):
    solve(client)
    assert client.post("/grid/release/suppression.zip").status_code == 200
    assert NEVER_TWO in solve(client, "adjustment")["refused"]["adjustment"]
    assert client.post("/grid/release/adjustment.zip").status_code == 400


def test_the_same_table_in_another_window_or_after_a_restart_is_no_other_one(client, tmp_path):
    solve(client)
    assert client.post("/grid/release/suppression.zip").status_code == 200
    for opened in (Window(client.client), window(tmp_path / "app")):
        opened.post("/open", data={"path": str(tmp_path / "cells.csv"), "kind": "problem"})
        solve(opened)
        another_pattern(opened)
        refused = opened.post("/grid/release/suppression.zip")
        assert refused.status_code == 400 and NEVER_TWO in refused.get_json()["error"]


def test_what_another_program_gave_away_meanwhile_counts(tmp_path):
    one, other = (GivenAway(tmp_path / "given.json") for _ in range(2))
    one.give("table", "first", "suppression")
    assert NEVER_TWO in other.objection("table", "second")
    with pytest.raises(InputError, match="Another release"):
        other.give("table", "second", "adjustment")
    other.unsent("table")
    assert one.objection("table", "second") == ""


def test_results_and_grid_know_what_the_other_gave_away(tmp_path):
    client = window(tmp_path / "app")
    client.post("/open", data={"example": "records"})
    form = {"value": "turnover", "dimension:region": "1", "dimension:industry": "1"}
    form |= {"minimum-frequency": "1", "minimum-frequency:minimum": "3", "p-percent": "1"}
    form |= {"p-percent:p": "10", "suppression": "1", "time_limit": "5"}
    client.post("/choose", data=form)
    client.post("/protect")
    while client.get("/progress").status_code == 200:
        time.sleep(0.05)
    assert client.post("/release/suppression.zip").status_code == 200
    # What the job found is in the grid, and the same release.
    assert client.post("/grid/release/suppression.zip").status_code == 200
    another_pattern(client)
    assert client.post("/grid/release/suppression.zip").status_code == 400
    # The page of results says that it is of before the decision, and offers nothing.
    page = client.get("/results").text
    assert "Decisions were made in the grid since" in page and "Next:" not in page
    assert "Internal report, of before the decisions" in page
    assert "before the decisions in the grid" in client.get("/report").text
    assert re.search(r"<button[^>]* disabled>Download what may be published", page)
    assert "of before the decisions in the grid" in page
    old = client.post("/release/suppression.zip")
    assert old.status_code == 400 and "before the decisions" in old.get_json()["error"]
    client.post("/grid/undo")
    assert client.post("/release/suppression.zip").status_code == 200
    assert "Next: publish its release" in client.get("/results").text
    assert "before the decisions in the grid" not in client.get("/report").text


def test_an_unsafe_rounding_is_refused_beside_its_button_with_the_reason(client):
    found = solve(client, "rounding")
    assert found["refused"]["rounding"].startswith("NOT SAFE")
    assert "a larger base protects more" in found["refused"]["rounding"]
    answer = client.post("/grid/release/rounding.zip")
    assert answer.status_code == 400
    assert answer.get_json()["error"] == found["refused"]["rounding"]


def test_a_table_is_told_by_its_codes_and_values_and_a_release_by_what_readers_see(
    problem, tmp_path
):
    tc.write_problem(problem, tmp_path / "again.csv")
    again = tc.read_problem(tmp_path / "again.csv")
    assert fingerprint_of_table(again.table) == fingerprint_of_table(problem.table)
    other = tc.examples.cox_rounded()
    assert fingerprint_of_table(other.table) != fingerprint_of_table(problem.table)
    pattern = tc.suppress(problem, time_limit=5)
    assert fingerprint_of_release(pattern) == fingerprint_of_release(pattern)
    assert fingerprint_of_release(pattern) != fingerprint_of_release(
        tc.adjust(problem, time_limit=5)
    )


def test_what_was_given_away_is_not_forgotten_where_its_file_cannot_be_read(tmp_path):
    (tmp_path / "given.json").write_text("[{")
    with pytest.raises(InputError, match="which releases were given away"):
        GivenAway(tmp_path / "given.json")
