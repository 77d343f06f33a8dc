"""The workbench: what its script is answered, what a person may decide, and what may leave."""

from __future__ import annotations

import io
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.app.bench_pages import CHANGED
from tablecloak.app.server import create_app
from tablecloak.app.workbench import NEAR, Workbench
from tablecloak.examples import write
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem
from tablecloak.publish.audit import audit
from tablecloak.suppression.attack.against_insiders import AgainstInsiders
from tablecloak.suppression.attack.audit import audit_pattern
from tablecloak.web.tasks import hearing_warnings
from windows import Window, window

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)


@pytest.fixture
def clients(tmp_path, problem):
    """A user and a checker of the same app, in which a problem is open."""
    tc.write_problem(problem, tmp_path / "cells.csv")
    app = create_app(tmp_path / "app", "secret", "other")
    user, checker = Window(app.test_client()), Window(app.test_client())
    user.get("/?token=secret")
    checker.get("/?token=other")
    done = user.post("/open", data={"path": str(tmp_path / "cells.csv"), "kind": "problem"})
    assert done.location == "/grid"
    checker.table = user.table
    return user, checker


def solve(client, method: str = "suppression") -> dict:
    assert client.post("/grid/solve", json={"method": method, "seconds": 60}).status_code == 200
    while True:
        found = client.get("/grid/progress").get_json()
        if not found["running"]:
            assert not found["error"]
            return found
        time.sleep(0.02)


def squares(client, **asked) -> list[dict]:
    view = client.post("/grid/view", json={"method": "suppression", **asked}).get_json()
    return [square for line in view["squares"] for square in line if square["cell"] >= 0]


def test_the_grid_tells_hidden_from_published_cells_and_the_release_shows_no_hidden_value(
    clients, problem
):
    user, _ = clients
    before = {square["cell"]: square["kind"] for square in squares(user)}
    assert {cell for cell, kind in before.items() if kind == "sensitive"} == set(
        np.flatnonzero(problem.sensitive)
    )
    solve(user)
    found = squares(user)
    hidden = np.zeros(problem.table.n_cells, dtype=bool)
    hidden[[square["cell"] for square in found if square["shown"] == "x"]] = True
    assert audit_pattern(problem, hidden).is_safe
    assert (hidden & ~problem.sensitive).any()
    archive = zipfile.ZipFile(io.BytesIO(user.post("/grid/release/suppression.zip").data))
    text = archive.read("table.csv").decode()
    for value in problem.table.values[hidden]:
        assert f",{value:.0f}," not in text


def verdict(client) -> str:
    return client.post("/grid/view", json={"method": "suppression"}).get_json()["summary"]


def test_a_hidden_cell_told_to_stay_stays_and_the_rest_is_still_protected(clients, problem):
    user, _ = clients
    solve(user)
    # The words of the terminal: is it safe, how much is hidden, how good is it, what next.
    said = verdict(user).splitlines()
    assert [line.split(":")[0].split(" ")[0] for line in said] == ["Safe", "Hidden", "How", "Next"]
    assert f"{problem.n_sensitive} sensitive cells" in said[0]
    first = next(square["cell"] for square in squares(user) if square["kind"] == "secondary")
    decided = user.post("/grid/decide", json={"cells": [first], "decision": "stay"})
    assert decided.status_code == 200
    old = user.post("/grid/view", json={"method": "suppression"}).get_json()
    assert old["is_old"] and old["changed"] == CHANGED
    # What was found before the decision may not leave any more.
    assert user.post("/grid/release/suppression.zip").status_code == 400
    solve(user)
    assert verdict(user).splitlines()[2:] == [NEAR]
    found = squares(user)
    hidden = np.zeros(problem.table.n_cells, dtype=bool)
    hidden[[square["cell"] for square in found if square["shown"] == "x"]] = True
    assert not hidden[first]
    assert audit_pattern(problem, hidden).is_safe
    assert user.post("/grid/decide", json={"cells": [first], "decision": ""}).status_code == 200
    assert not user.post("/grid/view", json={}).get_json()["decisions"]


def test_a_cell_tells_its_status_levels_interval_and_sums(clients, problem):
    user, _ = clients
    solve(user)
    primary = int(np.flatnonzero(problem.sensitive)[0])
    told = user.get(f"/grid/cell/{primary}?method=suppression").get_json()
    facts = dict(told["facts"])
    assert facts["status"] == "sensitive" and "protected" in facts["an outsider's interval"]
    low, high = (
        float(part.replace(",", ""))
        for part in facts["an outsider's interval"].split(":")[0].split(" to ")
    )
    value = problem.table.values[primary]
    assert low <= value - problem.lower_protection[primary] + 1e-6
    assert high >= value + problem.upper_protection[primary] - 1e-6
    assert all(part["name"] for each in told["sums"] for part in each["parts"])


def test_a_hidden_cell_tells_who_needs_it_and_what_it_would_cost_to_publish_it(clients):
    user, _ = clients
    solve(user)
    first = next(square["cell"] for square in squares(user) if square["kind"] == "secondary")
    told = user.get(f"/grid/why/{first}?method=suppression").get_json()["text"]
    assert told == tc.explain(*_problem_and_pattern(user), first).text()
    user.post("/grid/decide", json={"cells": [first], "decision": "stay"})
    assert user.get(f"/grid/why/{first}?method=suppression").status_code == 400


def _problem_and_pattern(user):
    archive = zipfile.ZipFile(io.BytesIO(user.get("/grid/problem.zip").data))
    with tempfile.TemporaryDirectory() as folder:
        archive.extractall(folder)
        problem = tc.read_problem(Path(folder) / "problem.csv")
    hidden = np.zeros(problem.table.n_cells, dtype=bool)
    hidden[[square["cell"] for square in squares(user) if square["shown"] == "x"]] = True
    return problem, hidden


def test_intervals_are_shown_by_their_ends_and_hold_the_true_values(clients, problem):
    user, _ = clients
    solve(user, "intervals")
    shown = squares(user, method="intervals")
    wide = {square["cell"]: square for square in shown if " to " in square["shown"]}
    assert wide.keys() >= set(np.flatnonzero(problem.sensitive))
    assert {square["kind"] for square in wide.values()} <= {"primary", "wide"}
    for cell, square in wide.items():
        low, high = (float(part.replace(",", "")) for part in square["shown"].split(" to "))
        assert low <= problem.table.values[cell] <= high
    archive = zipfile.ZipFile(io.BytesIO(user.post("/grid/release/intervals.zip").data))
    assert "lower" in archive.read("table.csv").decode()
    assert user.get(f"/grid/why/{min(wide)}?method=intervals").get_json()["text"]
    inside = zipfile.ZipFile(io.BytesIO(user.get("/grid/problem.zip").data))
    assert "intervals_certificate.npz" in inside.namelist()


def test_adjustment_and_rounding_stand_beside_suppression(clients, problem):
    user, _ = clients
    solve(user)
    solve(user, "adjustment")
    view = user.post("/grid/view", json={"method": "adjustment"}).get_json()
    moved = [square for line in view["squares"] for square in line if "sensitive" in square["kind"]]
    assert len(moved) == problem.n_sensitive
    assert all(square["shown"] != square["value"] for square in moved)
    # Both were found, and each can be looked at.
    assert any(square["shown"] == "x" for square in squares(user))
    assert user.post("/grid/release/adjustment.zip").status_code == 200
    for cell in range(problem.table.n_cells):
        facts = dict(user.get(f"/grid/cell/{cell}?method=adjustment").get_json()["facts"])
        assert "moved by" in facts


def test_a_pattern_that_nobody_settled_against_insiders_is_not_given_away(clients, monkeypatch):
    user, _ = clients
    solve(user)
    assert user.post("/grid/release/suppression.zip").status_code == 200
    monkeypatch.setattr(AgainstInsiders, "unsettled", 3)
    told = user.post("/grid/release/suppression.zip")
    assert told.status_code == 400 and "was not settled" in told.get_data(as_text=True)


def test_undo_and_earlier_runs_bring_back_decisions_and_what_was_found_for_them(clients):
    user, _ = clients
    solve(user)
    cell = next(square["cell"] for square in squares(user) if square["kind"] == "secondary")
    user.post("/grid/decide", json={"cells": [cell], "decision": "stay"})
    solve(user)
    view = user.post("/grid/view", json={"method": "suppression"}).get_json()
    assert [run["decisions"] for run in view["runs"]] == [0, 1]
    assert user.post("/grid/run", json={"run": 0}).get_json()["method"] == "suppression"
    assert next(one for one in squares(user) if one["cell"] == cell)["kind"] == "secondary"
    assert user.post("/grid/release/suppression.zip").status_code == 200
    # Undone, the decision holds again, and what was found without it may not leave.
    assert user.post("/grid/undo").status_code == 200
    assert user.post("/grid/view", json={}).get_json()["decisions"]
    assert user.post("/grid/release/suppression.zip").status_code == 400
    assert user.post("/grid/run", json={"run": 7}).status_code == 400


def test_of_a_filled_workbook_it_is_said_what_it_keeps(tmp_path):
    client = window(tmp_path / "app")
    client.post("/open", data={"example": "table"})
    page = client.get("/shape").text
    assert "keeps titles, notes and sheets of text as they are" in page
    form = dict(re.findall(r'<textarea name="([^"]+)"[^>]*>([^<]*)</textarea>', page))
    form |= {"value": "Turnover", "frequency": "Firms", "level": "15"}
    form |= {"minimum-frequency": "1", "minimum-frequency:minimum": "3"}
    client.post("/shape", data=form)
    solve(client)
    view = client.post("/grid/view", json={"method": "suppression"}).get_json()
    assert not view["said"]
    with hearing_warnings():
        archive = zipfile.ZipFile(io.BytesIO(client.post("/grid/release/suppression.zip").data))
    assert "table_office.xlsx" in archive.namelist()
    view = client.post("/grid/view", json={"method": "suppression"}).get_json()
    assert "Read them before you send it" in view["said"][0]
    assert "left out, because a figure there may tell a hidden one" in view["said"][1]


@pytest.fixture
def harmless(tmp_path):
    """A user's window on a table without a sensitive cell, and its cells."""
    table = tc.tabulate(tc.examples.firms(), ["region", "industry"], "turnover", contributor="firm")
    tc.write_problem(table.protect(tc.MinimumFrequency(1)), tmp_path / "cells.csv")
    client = window(tmp_path / "app")
    client.post("/open", data={"path": str(tmp_path / "cells.csv"), "kind": "problem"})
    return client, [square["cell"] for square in squares(client)]


def test_a_cell_that_is_only_hidden_is_said_to_be_computable_until_it_is_called_sensitive(harmless):
    client, cells = harmless
    hidden = cells[-1]
    client.post("/grid/decide", json={"cells": [hidden], "decision": "go"})
    solve(client)
    assert [one["cell"] for one in squares(client) if one["shown"] == "x"] == [hidden]
    assert "NOT PROTECTED, only hidden: readers may compute" in verdict(client)
    facts = dict(client.get(f"/grid/cell/{hidden}?method=suppression").get_json()["facts"])
    assert facts["status"] == "must be hidden" and "attackable" in facts["an outsider's interval"]
    report = client.get("/grid/report").text
    assert "decided by hand" in report and "not protected" in report
    client.post("/grid/decide", json={"cells": [hidden], "decision": "sensitive"})
    # A pattern that protects nobody is none to keep near to.
    assert not client.post("/grid/view", json={"method": "suppression"}).get_json()["can_be_near"]
    solve(client)
    assert "NOT PROTECTED" not in verdict(client) and NEAR not in verdict(client)
    assert len([one for one in squares(client) if one["shown"] == "x"]) > 2


def test_a_search_keeps_to_the_pattern_before_only_where_it_is_asked_to(clients):
    user, _ = clients
    solve(user)
    assert user.post("/grid/view", json={"method": "suppression"}).get_json()["can_be_near"]
    first = next(square["cell"] for square in squares(user) if square["kind"] == "secondary")
    user.post("/grid/decide", json={"cells": [first], "decision": "stay"})
    user.post("/grid/solve", json={"method": "suppression", "seconds": 60, "near": False})
    while user.get("/grid/progress").get_json()["running"]:
        time.sleep(0.02)
    assert NEAR not in verdict(user) and "How good" in verdict(user)


def test_a_page_that_is_loaded_again_shows_the_way_that_was_used_last(clients):
    user, _ = clients
    solve(user, "adjustment")
    assert 'value="adjustment" checked' in user.get("/grid").text
    solve(user)
    assert 'value="suppression" checked' in user.get("/grid").text


def test_what_the_grid_found_has_a_report_for_inside(clients, problem):
    user, checker = clients
    assert user.get("/grid/report").status_code == 400
    solve(user)
    report = checker.get("/grid/report")
    assert report.mimetype == "text/html" and "What was protected" in report.text
    assert f"{problem.n_sensitive:,} cells are sensitive" in report.text


def test_folded_codes_say_how_many_sensitive_and_hidden_cells_are_below(clients, problem):
    user, _ = clients
    solve(user)
    total = {"method": "suppression", "rows": "region", "columns": "industry"}
    opened = user.post("/grid/view", json=total).get_json()
    folded = user.post("/grid/view", json=total | {"opened": {"region": []}}).get_json()
    assert not any(code["sensitive"] or code["changed"] for code in opened["rows"])
    (row,) = folded["rows"]
    assert row["sensitive"] == problem.n_sensitive
    kinds = [one["kind"] for line in opened["squares"][1:] for one in line]
    assert row["changed"] == kinds.count("secondary") > 0


def test_a_checker_sees_everything_and_changes_nothing(clients, tmp_path):
    user, checker = clients
    solve(user)
    assert squares(checker) == squares(user)
    assert checker.get("/grid/cell/0").status_code == 200
    assert "nothing can be changed" in checker.get("/grid").get_data(as_text=True)
    refused = 0
    changing = ["decide", "solve", "stop", "undo", "unsent", "release/suppression.zip"]
    for address in (*(f"/grid/{word}" for word in changing), "/open", "/shape", "/protect"):
        assert checker.post(address, json={"cells": [0], "decision": "go"}).status_code == 403
        refused += 1
    assert refused == 9 and not user.post("/grid/view", json={}).get_json()["decisions"]


def test_a_checker_is_offered_no_button_that_would_be_refused(tmp_path):
    app = create_app(tmp_path / "app", "secret", "other")
    user, checker = Window(app.test_client()), Window(app.test_client())
    user.get("/?token=secret")
    checker.get("/?token=other")
    pages = []
    for example, form in (
        ("records", {"value": "turnover", "dimension:region": "1", "p-percent": "1",
                     "p-percent:p": "10", "suppression": "1", "time_limit": "5"}),
        ("table", {}),
    ):  # fmt: skip
        begun = user.post("/open", data={"example": example}).location
        pages.append(user.table + begun)
        if form:
            user.post("/choose", data=form)
            user.post("/protect")
            while user.get("/progress").status_code == 200:
                time.sleep(0.05)
            pages += [f"{user.table}/{page}" for page in ("choose", "look", "results")]
    for page in pages:
        forms = r'<form[^>]*method="post".*?</form>|<button[^>]* form="[^>]*>'
        posted = [re.findall(forms, one.get(page).text, re.DOTALL) for one in (user, checker)]
        mine, seen = (re.findall("<button[^>]*>", " ".join(each)) for each in posted)
        assert len(mine) == len(seen) and seen and all("disabled" in each for each in seen), page
        assert not all("disabled" in each for each in mine)
        assert "nothing can be changed" in checker.get(page).text


@pytest.mark.parametrize(
    ("address", "given", "message"),
    [
        ("/grid/decide", {"cells": [10**6], "decision": "go"}, "numbers from 0 to"),
        ("/grid/decide", {"cells": [0], "decision": "burn"}, "no decision 'burn'"),
        ("/grid/solve", {"method": "magic"}, "no method 'magic'"),
        ("/grid/solve", {"method": "suppression", "seconds": 0}, "seconds: 0"),
        ("/grid/solve", {"method": "suppression", "seconds": "many"}, "seconds: 'many'"),
    ],
)
def test_what_cannot_be_is_answered_with_a_reason(clients, address, given, message):
    user, _ = clients
    done = user.post(address, json=given)
    assert done.status_code == 400 and message in done.get_json()["error"]


def test_without_a_table_the_grid_says_what_to_do(tmp_path):
    client = window(tmp_path / "app")
    client.post("/open", data={"example": "records"})
    assert client.get("/grid").location == "/"
    done = client.post("/grid/view", json={})
    assert done.status_code == 400 and "Choose its columns" in done.get_json()["error"]


def test_a_table_from_excel_is_confirmed_and_opened_as_a_grid(tmp_path):
    client = window(tmp_path / "app")
    assert client.post("/open", data={"example": "table"}).location == "/shape"
    page = client.get("/shape").get_data(as_text=True)
    form = dict(re.findall(r'<textarea name="([^"]+)"[^>]*>([^<]*)</textarea>', page))
    assert set(form) == {"tree:Region", "tree:Industry", "tree:columns"}
    form |= {"value": "Turnover", "frequency": "Firms", "level": "15"}
    form |= {"minimum-frequency": "1", "minimum-frequency:minimum": "3"}
    assert client.post("/shape", data=form).location == "/grid"
    assert any(square["kind"] == "sensitive" for square in squares(client))
    wrong = {**form, "tree:Region": "Total"}
    assert "has no line" in client.post("/shape", data=wrong).get_data(as_text=True)


@pytest.mark.parametrize(("example", "name"), [("batch", "job.arb"), ("firms", "job.toml")])
def test_a_batch_of_argus_and_a_job_open_as_a_grid_by_their_path(tmp_path, example, name):
    write(example, tmp_path)
    client = window(tmp_path / "app")
    done = client.post("/open", data={"path": str(tmp_path / name), "kind": "problem"})
    assert done.location == "/grid"
    kinds = {square["kind"] for square in squares(client)}
    assert {"sensitive", "plain"} <= kinds


def test_the_grid_of_a_job_withstands_the_insiders_of_the_job_and_names_them(tmp_path):
    write("firms", tmp_path)
    client = window(tmp_path / "app")
    client.post("/open", data={"path": str(tmp_path / "job.toml")})
    job = read_job(tmp_path / "job.toml")
    limit = max(way.time_limit for way in job.ways.values())
    assert f'id="seconds" value="{limit:g}"' in client.get("/grid").text
    solve(client)
    problem = load_problem(job)
    hidden = np.zeros(problem.table.n_cells, dtype=bool)
    hidden[[square["cell"] for square in squares(client) if square["shown"] == "x"]] = True
    assert audit_pattern(problem, hidden, intruders=["contributors", "holdings"]).is_safe
    assert re.search(r"against \d+ contributors, \d+ holdings, of whom none", verdict(client))


def test_the_grid_names_the_rule_that_sets_the_level_of_a_cell(tmp_path):
    write("firms", tmp_path)
    text = (tmp_path / "job.toml").read_text()
    rules = """[[rules]]
rule = "p-percent"
p = 1

[[rules]]
rule = "minimum-frequency"
minimum = 3
range = 50
"""
    start, end = text.index("[[rules]]"), text.index("[suppression]")
    (tmp_path / "job.toml").write_text(text[:start] + rules + text[end:])
    client = window(tmp_path / "app")
    client.post("/open", data={"path": str(tmp_path / "job.toml")})
    problem = load_problem(read_job(tmp_path / "job.toml"))
    cells = np.flatnonzero(problem.reasons == "p-percent")[:20].tolist()
    told = {
        dict(client.get(f"/grid/cell/{cell}").get_json()["facts"])["because of"] for cell in cells
    }
    assert "minimum-frequency, for the level; also p-percent" in told


def test_a_search_that_fails_says_why_and_the_bench_goes_on(problem):
    bench = Workbench(problem)
    primary = int(np.flatnonzero(problem.sensitive)[0])
    from tablecloak.app.decisions import Mark

    others = np.flatnonzero(~problem.sensitive & (problem.status == "s")).tolist()
    bench.decide(others, Mark("stay"))
    bench.start("suppression", 10.0)
    bench.task.wait(600)
    assert bench.progress()["error"] and not bench.solved
    bench.decide(others, Mark())
    bench.start("suppression", 60.0)
    bench.task.wait(600)
    assert bench.solved["suppression"].result.suppressed[primary]
    assert audit(problem, bench.solved["suppression"].result).is_safe


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
def test_a_table_from_excel_becomes_a_proved_release_in_a_browser(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    words = [sys.executable, "-m", "tablecloak.cli.main", "app", "--no-browser"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://127\.0\.0\.1:(\d+)/\S+", server.stdout.readline())
        checker = re.search(r"http://\S+", server.stdout.readline()).group()
        with socket.socket() as outside:
            assert outside.connect_ex(("127.0.0.2", int(address.group(1)))) != 0
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
            page = browser.new_page()
            asked, faults = [], []
            page.on("request", lambda request: asked.append(request.url))
            page.on("pageerror", lambda fault: faults.append(str(fault)))
            page.goto(address.group())
            page.click("text=finished table in Excel")
            page.click("text=Open the grid")
            page.fill("#seconds", "2")
            page.click("#solve")
            page.wait_for_selector("#release:enabled", timeout=120_000)
            # By keyboard: to the first square, and along its row.
            page.locator("#grid tbody td").first.focus()
            page.keyboard.press("ArrowRight")
            page.keyboard.press("Enter")
            page.wait_for_selector("#details h2")
            page.click("td.secondary >> nth=0")
            page.wait_for_selector("#details:has-text('secondary')")
            page.check("input[name=decision][value=stay]")
            page.click("#details button:has-text('Decide')")
            page.wait_for_selector("#decisions:has-text('stay')")
            page.wait_for_selector("#refused:has-text('before the last decision')")
            assert page.locator("#release").is_disabled()
            page.click("#solve")
            page.wait_for_selector("#release:enabled", timeout=120_000)
            with page.expect_download() as download:
                page.click("#release")
            download.value.save_as(tmp_path / "release.zip")
            other = browser.new_context().new_page()
            other.goto(checker)
            other.goto(page.url)
            other.wait_for_selector("#grid td")
            assert other.locator("#solve").count() == 0
            assert not faults
            here = address.group().split("?")[0]
            assert all(url.startswith((here, f"blob:{here}")) for url in asked)
            browser.close()
    finally:
        server.kill()
        server.communicate()
    with zipfile.ZipFile(tmp_path / "release.zip") as archive:
        assert "table.csv" in archive.namelist()
