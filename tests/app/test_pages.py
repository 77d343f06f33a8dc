"""The local app: the whole story in a browser, and nobody else let in."""

from __future__ import annotations

import html
import io
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import tomllib
import zipfile
from itertools import cycle

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.app import create_app
from tablecloak.examples import write
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.run import run_job
from tablecloak.tables.rules.rule import RULES
from tablecloak.web.tasks import hearing_warnings
from windows import window

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)

FORM = {
    "title": "Turnover",
    "value": "turnover",
    "dimension:region": "1",
    "levels:region": "part",
    "dimension:industry": "1",
    "p-percent": "1",
    "p-percent:p": "10",
    "minimum-frequency": "1",
    "minimum-frequency:minimum": "3",
    "suppression": "1",
    "time_limit": "5",
}


@pytest.fixture
def client(tmp_path):
    return window(tmp_path / "app")


def wait(client) -> str:
    for _ in range(3000):
        answer = client.get("/progress")
        if b"http-equiv" not in answer.data:
            return answer.headers.get("Location", answer.text)
        time.sleep(0.1)
    raise AssertionError("the job does not end")


def test_a_job_is_dropped_together_with_its_files_and_says_which_are_lacking(client, tmp_path):
    files = [(path.read_bytes(), path.name) for path in write("firms", tmp_path / "job")]
    done = client.post("/open", data={"upload": [(io.BytesIO(raw), name) for raw, name in files]})
    assert done.location == "/grid"
    alone = next((raw, name) for raw, name in files if name == "job.toml")
    done = client.post("/open", data={"upload": (io.BytesIO(alone[0]), alone[1])})
    said = html.unescape(done.text)
    assert "job.toml reads firms.csv, region.hrc, industry.hrc" in said
    assert "type its path" in said and str(tmp_path) not in said


def test_letters_of_western_europe_are_read_and_said_to_be(client):
    raw = "Région;CA\n".encode("cp1252") + "Île;1,5\nSud;2,5\nSud;3,5\n".encode("cp1252") * 9
    assert client.post("/open", data={"upload": (io.BytesIO(raw), "a.csv")}).location == "/choose"
    page = client.get("/choose").text
    assert "Encoding “cp1252”" in page and "Région" in page


def test_a_dimension_with_thousands_of_codes_is_tabulated_only_if_it_is_meant(client, tmp_path):
    rows = [f"f{n % 1500},r{n % 9},{n}" for n in range(3000)]
    (tmp_path / "a.csv").write_text("\n".join(["firm,region,turnover", *rows, ""]))
    assert client.post("/open", data={"path": str(tmp_path / "a.csv")}).location == "/choose"
    assert 'name="dimension:firm" value="1">' in client.get("/choose").text
    form = {"value": "turnover", "dimension:firm": "1", "dimension:region": "1"}
    form |= {"p-percent": "1", "p-percent:p": "10", "suppression": "1", "time_limit": "5"}
    asked = client.post("/choose", data=form)
    assert asked.status_code == 400
    assert "1,500 codes, so that the table may have up to 12,000 cells" in asked.text
    assert client.post("/choose", data=form | {"any_number": "1"}).location == "/look"


def test_a_form_keeps_what_was_chosen_when_a_choice_is_wrong(client):
    client.post("/open", data={"example": "records"})
    given = FORM | {"title": 'Turn "over" <&>', "p-percent:p": "ten", "value": "firm"}
    given |= {"dominance:level": "holding", "minimum-frequency:range:second": "35"}
    given |= {"levels:industry": "part", "suppression:protect_against:zeros": "1"}
    del given["dimension:industry"]
    assert "Choose again" in client.post("/choose", data=given).text
    page = client.get("/choose").text
    assert 'value="Turn &#34;over&#34; &lt;&amp;&gt;"' in page and 'value="ten"' in page
    assert re.search(r'name="dimension:region"[^>]* checked', page)
    assert not re.search(r'name="dimension:industry"[^>]* checked', page)
    assert re.search(r'<select name="dominance:level">.*?<option selected>holding', page)
    assert re.search(r'name="minimum-frequency:range:second" value="35"', page)
    assert re.search(r'name="levels:industry"[^>]* value="part"', page)
    assert re.search(r'name="suppression:protect_against:zeros"[^>]* checked', page)
    assert not re.search(r'name="suppression:protect_against:pairs"[^>]* checked', page)
    client.post("/open", data={"example": "records"})
    assert 'value="ten"' not in client.get("/choose").text


def test_a_table_without_a_sensitive_cell_is_not_called_safe(client):
    raw = b"r,v\n" + b"N,7\nS,8\n" * 9
    client.post("/open", data={"upload": (io.BytesIO(raw), "a.csv")})
    form = {"value": "v", "dimension:r": "1", "minimum-frequency": "1", "suppression": "1"}
    client.post("/choose", data=form | {"minimum-frequency:minimum": "3", "time_limit": "5"})
    assert "No cell is sensitive" in client.get("/look").text
    client.post("/protect")
    assert wait(client) == "/results"
    page = client.get("/results").text
    assert "nothing was protected" in page
    assert "proved safe" not in page and "/release/" not in page


def test_the_smallest_level_is_chosen_in_the_form_in_the_unit_of_the_file(client):
    client.post("/open", data={"example": "records"})
    assert 'name="floor"' in client.get("/choose").text
    assert client.post("/choose", data=FORM | {"floor": "2,5"}).location == "/look"
    assert tomllib.loads(client.get("/job.toml").text)["protection"] == {"floor": 2.5}
    assert "floor=2.5)" in client.get("/look").text


def test_a_warning_about_a_choice_stands_on_the_next_page_and_not_in_the_terminal(client, capsys):
    with hearing_warnings():
        client.post("/open", data={"example": "records"})
        assert client.post("/choose", data=FORM | {"p-percent:p": "0.1"}).location == "/look"
        assert "p = 0.1 means 0.1 per cent" in client.get("/look").text
        assert "p = 0.1 means 0.1 per cent" not in client.get("/look").text
    assert "per cent" not in capsys.readouterr().err


def test_nobody_else_is_let_in(tmp_path):
    app = create_app(tmp_path / "app", "secret")
    assert (tmp_path / "app").stat().st_mode & 0o077 == 0
    stranger = app.test_client()
    for path in ("/", "/choose", "/report", "/job.toml", "/?token=wrong", "/?token="):
        assert stranger.get(path).status_code == 403
    assert stranger.post("/open?token=secret", data={"example": "records"}).status_code == 403
    user = app.test_client()
    assert user.get("/?token=secret").status_code == 302
    assert user.get("/").status_code == 200
    # Another host name that leads here, as in DNS rebinding.
    assert user.get("/", headers={"Host": "evil.example"}).status_code == 403
    cookie = user.get_cookie("tablecloak-80")
    assert cookie.http_only
    assert cookie.same_site == "Strict"
    policy = user.get("/").headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    # Pages themselves hold no scripts: one that was smuggled into a code would not run.
    assert "script-src 'self';" in policy


def test_job_file_and_python_that_are_shown_do_the_same(client, tmp_path, monkeypatch):
    assert client.post("/open", data={"example": "records"}).status_code == 302
    assert client.post("/choose", data=FORM).headers["Location"] == "/look"
    shown = client.get("/look").text
    assert "sensitive" in shown
    assert client.post("/protect").status_code == 302
    assert wait(client) == "/results"
    assert "Every release passed its audit" in client.get("/results").text
    with monkeypatch.context() as changed:
        changed.setattr(JobResult, "open_insiders", 2)
        assert "Against 2 insiders one is not proved safe" in client.get("/results").text
    # What was found is in the grid, too.
    view = client.post("/grid/view", json={"method": "suppression"}).get_json()
    assert len(view["runs"]) == 1 and view["summary"].startswith("Safe")
    assert any(square["kind"] == "primary" for line in view["squares"] for square in line)
    job = client.get("/job.toml").text
    assert tomllib.loads(job)["dimensions"]["region"]["levels"] == ["part", "region"]
    # They name the file alone, and no folder that goes with the app.
    assert str(tmp_path) not in job + html.unescape(shown)
    next((tmp_path / "app" / "uploads").glob("*/firms.csv")).rename(tmp_path / "firms.csv")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "again.toml").write_text(job)
    again = run_job(tmp_path / "again.toml")
    release = client.post("/release/suppression.zip").data
    with zipfile.ZipFile(io.BytesIO(release)) as archive:
        assert set(archive.namelist()) == {"table.csv", "table.xlsx", "about.json", "report.html"}
        table = pd.read_csv(archive.open("table.csv"))
    assert list(table["status"]) == list(again.pattern.release()["status"])
    program = re.search(r'<pre id="python">(.*?)</pre>', shown, re.DOTALL).group(1)
    found: dict = {}
    exec(html.unescape(program), found)
    assert (found["pattern"].suppressed == again.pattern.suppressed).all()
    assert "Internal" in client.get("/report").text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimension:region": "", "dimension:industry": ""}, "at least one dimension"),
        ({"p-percent:p": "ten"}, "“p” of p-percent: &#39;ten&#39; is not a number"),
        ({"p-percent:p": "-5"}, "“p” of p-percent must be a percentage above 0"),
        ({"time_limit": "-1"}, "“Seconds for each” of suppression: Input should be greater"),
        ({"p-percent": "", "minimum-frequency": ""}, "at least one rule"),
        ({"suppression": ""}, "at least one method"),
        ({"levels:region": "county"}, "no column &#39;county&#39;"),
    ],
)
def test_wrong_choices_are_explained(client, change, message):
    client.post("/open", data={"example": "records"})
    answer = client.post("/choose", data={**FORM, **change})
    assert answer.status_code == 400
    assert message in answer.text
    assert ".toml" not in answer.text


def test_wrong_files_are_explained_and_uploads_cannot_leave_their_folder(client, tmp_path):
    assert "does not exist" in client.post("/open", data={"path": "/nowhere.csv"}).text
    assert "Choose a file" in client.post("/open", data={}).text
    upload = {"upload": (io.BytesIO(b"region,v\n<script>,1\nb,2\n"), "../../outside.csv")}
    assert client.post("/open", data=upload).status_code == 302
    assert not (tmp_path / "outside.csv").exists()
    assert "<script>" not in client.get("/choose").text
    assert client.post("/release/other.zip").status_code == 404
    assert "no results yet" in client.get("/report").text


def test_a_method_that_is_impossible_does_not_lose_the_release_of_the_other(client):
    """Three sensitive cells, one of them far larger than the rest, fix their own regression."""
    client.post("/open", data={"example": "records"})
    client.post("/choose", data={**FORM, "adjustment": "1", "preserve": "1"})
    client.post("/protect")
    assert wait(client) == "/results"
    shown = client.get("/results").text
    assert "No adjustment: No choice of directions" in shown
    assert "Every release passed its audit" in shown
    assert client.post("/release/suppression.zip").status_code == 200


def test_a_stop_keeps_the_best_that_is_proved(client):
    client.post("/open", data={"example": "records"})
    client.post("/choose", data={**FORM, "adjustment": "1", "time_limit": "60"})
    client.post("/protect")
    for _ in range(3):
        time.sleep(0.8)
        client.post("/stop")
    found = wait(client)
    # On a busy machine the stop may come before the first proof, and says so.
    assert found == "/results" or re.search(r"before any(thing| pattern) was proved", found)


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
def test_the_whole_story_in_a_browser(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    server = subprocess.Popen(
        [sys.executable, "-m", "tablecloak.cli.main", "app", "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = re.search(r"http://127\.0\.0\.1:(\d+)/\S+", server.stdout.readline())
        with socket.socket() as outside:
            # Other addresses of this machine are not listened on.
            assert outside.connect_ex(("127.0.0.2", int(address.group(1)))) != 0
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
            page = browser.new_page()
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto(address.group())
            page.click("text=2,000 invented firms")
            page.fill("input[name=title]", "Turnover of firms")
            page.check("input[name='dimension:region']")
            page.fill("input[name='levels:region']", "part")
            page.check("input[name='dimension:industry']")
            page.check("input[name=adjustment]")
            page.fill("input[name=time_limit]", "1")
            page.click("text=Tabulate")
            page.locator("td.primary").first.wait_for()
            assert "[dimensions.region]" in page.text_content("#job")
            page.click("button:has-text('Protect')")
            page.wait_for_url("**/results", timeout=300_000)
            assert "Every release passed its audit" in page.inner_text("body")
            assert "never more" in page.inner_text("body")
            with page.expect_download() as download:
                page.click("text=Download what may be published >> nth=0")
            download.value.save_as(tmp_path / "release.zip")
            page.click("text=Internal report")
            page.locator(".grid").nth(1).wait_for(state="attached")
            assert page.locator("td.secondary").first.get_attribute("title")
            page.locator("figure svg").nth(2).wait_for(state="attached")
            browser.close()
        assert all(url.startswith(("http://127.0.0.1:", "blob:")) for url in asked)
        assert "table.xlsx" in zipfile.ZipFile(tmp_path / "release.zip").namelist()
    finally:
        server.terminate()
        server.communicate(timeout=60)


def test_without_flask_the_command_says_what_to_install(monkeypatch):
    from typer.testing import CliRunner

    from tablecloak.cli.main import app

    monkeypatch.setitem(sys.modules, "waitress", None)
    done = CliRunner().invoke(app, ["app", "--no-browser"])
    assert done.exit_code == 2
    assert 'pip install "tablecloak[app]"' in " ".join(done.output.split())
    assert isinstance(tc.examples.firms(50), pd.DataFrame)


ODD_NAMES = [
    "results", "job.toml", "uploads", "..", "...", ".csv", "/", "\\", "a" * 300 + ".csv", "ü.csv",
    "x" * 300, "x.zip", "x.xz", "x.csv.zst", "x.tar", "x.xlsx", "x.parquet", "x.csv.gz", "CON.csv",
    "a b?*[1].csv", "=1+1.csv", "x.parquet.csv",
]  # fmt: skip
ODD_CONTENTS = [b"region,v\nN,1\nS,2\n", b"a,b\n1,2\n1,2,3,4\n", b"\xff\x00", b""]


@pytest.mark.parametrize(
    ("name", "content"),
    [*zip(ODD_NAMES, cycle(ODD_CONTENTS)), *(("firms.csv", odd) for odd in ODD_CONTENTS)],
)
def test_no_name_or_content_of_an_upload_ends_in_an_error_of_the_program(
    client, tmp_path, name, content
):
    job = tmp_path / "app" / "job.toml"
    job.write_text("kept")
    answers = [client.post("/open", data={"upload": (io.BytesIO(content), name)})]
    if client.table:
        answers += [client.get("/choose"), client.post("/choose", data=FORM), client.get("/look")]
    assert {answer.status_code for answer in answers} <= {200, 302, 400}
    assert job.read_text() == "kept"
    assert {path.name for path in (tmp_path / "app").iterdir()} <= {"job.toml", "uploads", "tables"}


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "/", "~nobody-of-that-name/x.csv",
                                  "x" * 5000, "a\0b", "/proc/self/mem"])  # fmt: skip
def test_devices_folders_and_odd_paths_are_refused_at_once(client, path):
    answer = client.post("/open", data={"path": path})
    assert answer.status_code == 400
    assert not client.table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decimals": "1.5"}, "Digits to publish"),
        ({"p-percent:p": "inf"}, "not a finite number"),
        ({"time_limit": "nan"}, "not a finite number"),
        ({"decimals": "99"}, "Digits to publish"),
    ],
)
def test_odd_numbers_are_explained(client, change, message):
    client.post("/open", data={"example": "records"})
    answer = client.post("/choose", data={**FORM, **change})
    assert answer.status_code == 400
    assert message in answer.text


def test_forms_of_other_origins_are_refused(client):
    """Another server on this machine is of the same site: the cookie alone does not tell."""
    for origin in ("http://127.0.0.1:9999", "http://evil.example", "null", "https://localhost"):
        answer = client.post("/open", data={"example": "records"}, headers={"Origin": origin})
        assert answer.status_code == 403
    own = {"Origin": "http://localhost"}
    assert client.post("/open", data={"example": "records"}, headers=own).status_code == 302


def test_a_job_that_runs_keeps_its_table_whatever_is_chosen_or_opened_meanwhile(
    client, tmp_path, monkeypatch
):
    """Choices, file and results on the page always belong to one job."""
    from tablecloak.app import session as module

    begun, go_on, seen = threading.Event(), threading.Event(), []
    original = module.run_job

    def slow(job, *arguments, **options):
        begun.set()
        assert go_on.wait(60)
        seen.append(job)
        return original(job, *arguments, **options)

    monkeypatch.setattr(module, "run_job", slow)
    client.post("/open", data={"example": "records"})
    client.post("/choose", data=FORM)
    running = client.table
    files = {path: path.read_bytes() for path in (tmp_path / "app" / "uploads").rglob("*.csv")}
    job = client.get("/job.toml").data
    client.post("/protect")
    assert begun.wait(60)
    again = client.post("/protect")
    assert again.status_code == 400 and "still running" in again.text
    other = {**FORM, "title": "Other", "p-percent:p": "50"}
    upload = {"upload": (io.BytesIO(b"region,v\nb,2\n"), "firms.csv")}
    for path, data in (("/choose", other), ("/open", upload), ("/open", {"example": "records"})):
        done = client.post(path, data=data)
        assert done.status_code == 302, done.text
        assert client.table != running
    client.table = running
    assert client.get("/job.toml").data == job
    assert files == {path: path.read_bytes() for path in files}
    go_on.set()
    assert wait(client) == "/results"
    assert "<h1>Turnover</h1>" in client.get("/results").text
    assert [job.title for job in seen] == ["Turnover"]


def test_choices_that_cannot_be_tabulated_leave_the_ones_before(client):
    client.post("/open", data={"example": "records"})
    client.post("/choose", data=FORM)
    job, table = client.get("/job.toml").data, client.get("/look").text
    wrong = {**FORM, "title": "Other", "levels:region": "county"}
    assert client.post("/choose", data=wrong).status_code == 400
    assert client.get("/job.toml").data == job
    assert client.get("/look").text == table


def test_every_rule_can_be_chosen_with_its_parameters_and_columns(client, tmp_path):
    """Firms ask for protection; the form names the column in which they do."""
    frame = pd.DataFrame(
        {"region": list("aaabbb"), "v": [9, 5, 1, 7, 7, 7], "ask": [1, 0, 0, 0, 0, 0]}
    )
    frame.to_csv(tmp_path / "firms.csv", index=False)
    client.post("/open", data={"path": str(tmp_path / "firms.csv")})
    shown = client.get("/choose").text
    for rule in RULES:
        assert f'name="{rule.name}"' in shown
        for parameter in RULES.parameters(rule.name):
            assert f'name="{rule.name}:{parameter.name}"' in shown
            assert parameter.help in html.unescape(shown)
    form = {"value": "v", "column:request": "ask", "dimension:region": "1", "request": "1"}
    form |= {
        "request:percentage": "50",
        "request:range": "10",
        "request:range:second": "30",
        "manual": "1",
        "manual:cells": '[{region = "b"}]',
    }
    form |= {"suppression": "1", "suppression:method": "exact", "time_limit": "5"}
    assert client.post("/choose", data=form).status_code == 302
    job = tomllib.loads(client.get("/job.toml").text)
    assert job["rules"] == [
        {"rule": "request", "percentage": 50, "range": [10, 30]},
        {"rule": "manual", "cells": [{"region": "b"}]},
    ]
    assert job["suppression"] == {"method": "exact", "time_limit": 5}
    assert "2 sensitive" in client.get("/look").text
    wrong = client.post("/choose", data={**form, "manual:cells": "[10"})
    assert wrong.status_code == 400
    assert "manual:cells: &#39;[10&#39; cannot be read" in wrong.text


def test_rounding_of_a_table_with_fractions_is_refused_before_the_search(client):
    raw = b"r,f,v\n" + b"".join(b"%s,%d,7.5\n" % (r, n) for n in range(21) for r in (b"N", b"S"))
    client.post("/open", data={"upload": (io.BytesIO(raw), "a.csv")})
    form = {"value": "v", "dimension:r": "1", "minimum-frequency": "1", "rounding": "1"}
    form |= {"minimum-frequency:minimum": "3", "rounding:base": "5", "time_limit": "5"}
    page = client.post("/choose", data=form)
    assert page.status_code == 400 and "Only tables of whole numbers" in page.text
    # The message names the field that helps.
    label = client.get("/choose").text.split('<input type="number" name="decimals"')[0]
    field = label.rsplit("<label>", 1)[1].strip()
    assert f"0 in the field “{field}” on the page Choose" in page.text
    assert "[data]" not in page.text and "tabulate`" not in page.text
    assert client.post("/choose", data=form | {"decimals": "0"}).status_code == 302


def test_warnings_about_the_data_and_the_rules_stand_on_the_pages_once(client, capsys):
    """Negative contributions are seen when a table is tabulated, a floor when it is judged."""
    rows = [f"{'NS'[n % 2]},{'abc'[n // 2 % 3]},f{n},{(n - 1) / 1e7}" for n in range(24)]
    raw = "\n".join(["r,b,f,v", *rows, ""]).encode()
    form = {"value": "v", "contributor": "f", "dimension:r": "1", "dimension:b": "1"}
    form |= {"p-percent": "1", "p-percent:p": "10", "suppression": "1", "time_limit": "5"}
    form |= {"minimum-frequency": "1", "minimum-frequency:minimum": "5"}
    with hearing_warnings():
        client.post("/open", data={"upload": (io.BytesIO(raw), "a.csv")})
        assert client.post("/choose", data=form).status_code == 302
        looks = [client.get("/look").text, client.get("/grid").text]
        client.post("/protect")
        assert wait(client) == "/results"
        looks.append(client.get("/results").text)
    for page in looks:
        assert page.count("Some contributions are negative") == 1
        assert page.count("“Smallest protection level” = 1 is the smallest protection level") == 1
    assert "negative" not in capsys.readouterr().err
