"""What a checker does: reads the page, decides, and releases what was approved and not changed."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app
from tablecloak.errors import InputError
from tablecloak.safe import Outcome, Project, Reason
from tablecloak.safe.decisions import Bundle

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), "")

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360"
    "f8cf500f0003860180f38a2f170000000049454e44ae426082"
)


@pytest.fixture
def folder(tmp_path):
    """A bundle with a table that passed, one that failed, and a picture to be looked at."""
    project = Project()
    rows = pd.Index(["a", "<b>"], name="kind")
    safe = pd.DataFrame({"N": [1200, 340], "S": [560, 78]}, index=rows)
    project.record(
        "table", "crosstab(kind, region)", Outcome(notes=("nothing is hidden",)), frames=[safe]
    )
    gaps = pd.DataFrame({"N": [np.nan, np.nan], "S": [np.nan, 7.25]}, index=rows)
    differenced = Reason(
        "fail", "differencing", "output_0 minus this output tells of 2 contributors", ("a, N",)
    )
    project.record(
        "table",
        "pivot_table(turnover)",
        Outcome((differenced,)),
        frames=[gaps],
        cells={"threshold": [[0, 0], [1, 1]], "differencing": [[0, 1]]},
    )
    (tmp_path / "plot.png").write_bytes(PIXEL)
    shown = repr(project.custom_output(tmp_path / "plot.png", "figure <1>"))
    assert shown.startswith("output_2: custom, review")
    assert "Outcome(" not in shown + repr(project.outputs["output_1"].outcome)
    return project.finalise(tmp_path / "out")


def run(*words):
    return CliRunner().invoke(app, ["safe", "check", *map(str, words)])


# -- the page -----------------------------------------------------------------------------


def test_the_page_fetches_nothing_and_runs_no_script_but_its_own(folder):
    page = (folder / "check.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)\s*=\s*\"?(https?:|//)", page)
    assert re.search(r"default-src 'none'; .*script-src 'sha256-[\w+/=]+'", page)
    assert "<b>\n" not in page
    assert "&lt;b&gt;" in page
    assert "figure &lt;1&gt;" in page


def test_gaps_say_which_rule_was_broken_not_by_colour_alone(folder):
    page = (folder / "check.html").read_text(encoding="utf-8")
    assert '<td class="threshold gap"><i>threshold</i></td>' in page
    assert '<td class="differencing gap"><i>differencing</i></td>' in page
    assert '<td class="gap"><i>hidden</i></td>' in page
    # A cell that broke a rule and is not hidden is coloured, and shown as the file shows it.
    assert '<td class="threshold"><i>threshold</i> 7.25</td>' in page


def test_findings_lead_to_the_outputs_they_name(folder):
    page = (folder / "check.html").read_text(encoding="utf-8")
    assert '<a href="#output-0">output_0</a> minus this output' in page


@pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
def test_decisions_made_in_a_browser_by_keyboard_are_released(folder, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        asked, faults = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
        page.goto((folder / "check.html").as_uri())
        # Filters show some outputs and say so.
        page.click("button[data-filter=fail]")
        assert page.locator("section.output:visible").count() == 1
        assert page.get_attribute("button[data-filter=fail]", "aria-pressed") == "true"
        page.click("button[data-filter=all]")
        # By keyboard: the first choice of each output.
        for number in range(3):
            page.locator(f"#output-{number} input[value=approved]").focus()
            page.keyboard.press("Space")
        assert "3 of 3 outputs are decided" in page.inner_text("#told")
        page.click("#save")
        assert "Say who decides" in page.inner_text("#told")
        page.fill("#who", "Ada")
        page.click("#save")
        assert "output_1 failed: say in its comment" in page.inner_text("#told")
        page.keyboard.type("two contributors agreed")
        page.locator("#output-2 input[value=approved]").focus()
        page.keyboard.press("ArrowRight")
        with page.expect_download() as download:
            page.click("#save")
        download.value.save_as(folder / "decisions.json")
        # Another day the decisions are taken up again.
        page.reload()
        assert "0 of 3" in page.inner_text("#told")
        page.set_input_files("#load", folder / "decisions.json")
        page.wait_for_selector("#told:has-text('3 decisions were taken over')")
        assert page.input_value("#output-1 textarea") == "two contributors agreed"
        assert page.locator("#output-2[data-decided=rejected]").count() == 1
        # A broken rule has its colour in every row, and in the legend.
        colours = page.evaluate(
            "[...document.querySelectorAll('.threshold')]"
            ".map(one => getComputedStyle(one).backgroundColor)"
        )
        assert len(colours) == 3
        assert len(set(colours)) == 1
        # Every field has a name for those who hear the page.
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input, textarea, button')]"
            ".filter(one => !one.labels?.length && !one.textContent.trim()).length"
        )
        assert unnamed == 0
        browser.close()
    assert not faults
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
    bundle = Bundle(folder)
    assert bundle.decision("output_1").who == "Ada"
    released = bundle.release(tmp_path / "released")
    assert [path.name for path in released] == ["output_0_0.csv", "output_1_0.csv"]


@pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
def test_comments_without_a_decision_and_decisions_of_others_are_saved_as_they_are(folder):
    playwright = pytest.importorskip("playwright.sync_api")
    bundle = Bundle(folder)
    bundle.decide("output_0", "approved", comment="fine", who="Ada")
    ada = json.loads(bundle.write().read_text())["decisions"]["output_0"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto((folder / "check.html").as_uri())
        page.set_input_files("#load", folder / "decisions.json")
        page.wait_for_selector("#told:has-text('1 decisions were taken over')")
        assert page.input_value("#who") == ""
        page.fill("#who", "Bob")
        page.fill("#output-2 textarea", "give p95 instead")
        assert "not saved yet" in page.inner_text("#told")
        with page.expect_download() as download:
            page.click("#save")
        download.value.save_as(folder / "decisions.json")
        browser.close()
    told = Bundle(folder)
    assert json.loads((folder / "decisions.json").read_text())["decisions"]["output_0"] == ada
    last = told.decision("output_2")
    assert (last.state, last.comment, last.who) == ("", "give p95 instead", "Bob")
    assert told.undecided == ["output_1", "output_2"]


# -- the command --------------------------------------------------------------------------


def test_outputs_are_decided_and_released_by_command(folder, tmp_path):
    listed = run(folder)
    assert listed.exit_code == 0
    assert "output_1: table, fail; undecided" in listed.output
    assert "fail (differencing): output_0 minus this output" in listed.output
    assert "0 of 3 outputs are decided" in listed.output
    early = run(folder, "--release", tmp_path / "released")
    assert early.exit_code == 2
    assert "nothing was decided on output_0, output_1, output_2" in early.output
    decided = run(
        folder, "--approve-passed", "--reject", "output_1", "--comment", "output_1=see output_0",
        "--approve", "output_2", "--who", "Ada",
    )  # fmt: skip
    assert decided.exit_code == 0, decided.output
    assert "3 of 3 outputs are decided" in decided.output
    assert "output_1: table, fail; rejected by Ada\n" in decided.output
    done = run(folder, "--release", tmp_path / "released")
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "released").iterdir()}
    assert names == {"output_0_0.csv", "plot.png", "released.json"}
    assert (tmp_path / "released" / "plot.png").read_bytes() == PIXEL
    told = json.loads((tmp_path / "released" / "released.json").read_text())["released"]
    assert list(told) == ["output_0", "output_2"]
    # Names and comments of checkers stay in the bundle.
    assert all(list(one) == ["files"] for one in told.values())
    again = run(folder, "--release", tmp_path / "released")
    assert again.exit_code == 2
    assert "exists already" in again.output


def test_a_failed_output_is_approved_with_a_reason_only(folder):
    refused = run(folder, "--approve", "output_1")
    assert refused.exit_code == 2
    assert "'output_1' failed: to approve it, say why in a comment" in refused.output
    assert not (folder / "decisions.json").exists()
    assert run(folder, "--approve", "output_1", "--comment", "output_1=agreed").exit_code == 0


def decide_all(folder):
    bundle = Bundle(folder)
    for name in bundle.outputs:
        bundle.decide(name, "approved", comment="looked at", who="Ada")
    bundle.write()


@pytest.mark.parametrize("file", ["output_1_0.csv", "plot.png", "checks.json"])
def test_a_file_that_was_changed_is_never_released(folder, tmp_path, file):
    decide_all(folder)
    (folder / file).write_bytes((folder / file).read_bytes() + b" ")
    refused = run(folder, "--release", tmp_path / "released")
    assert refused.exit_code == 2
    assert f"{file} was changed after the bundle was written" in refused.output.replace("\n", " ")
    assert not (tmp_path / "released").exists()
    # A list that calls it approved would be believed.
    listed = run(folder)
    assert listed.exit_code == 2
    assert f"{file} was changed" in listed.output.replace("\n", " ")
    assert "approved" not in listed.output


def test_a_file_changed_together_with_its_checksum_is_not_what_was_decided_on(folder, tmp_path):
    """Who can write into the bundle can write checksums; decisions keep their own."""
    import hashlib

    decide_all(folder)
    (folder / "output_0_0.csv").write_text("everything")
    digits = hashlib.sha256(b"everything").hexdigest()
    (folder / "checksums" / "output_0_0.csv.txt").write_text(digits)
    with pytest.raises(InputError, match=r"output_0_0\.csv is not the file that was decided on"):
        Bundle(folder).release(tmp_path / "released")
    assert not (tmp_path / "released").exists()
    assert "is not the file that was decided on" in " ".join(run(folder).output.split())
    assert run(folder, "--approve", "output_0").exit_code == 0


def test_a_file_without_a_checksum_is_not_released(folder, tmp_path):
    decide_all(folder)
    (folder / "checksums" / "plot.png.txt").unlink()
    with pytest.raises(InputError, match="its checksum is missing"):
        Bundle(folder).release(tmp_path / "released")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "must hold an object"),
        ("{", "cannot be read"),
        ("{}", "has no 'decisions'"),
        ('{"decisions": {"other": {}}}', "belongs to another bundle"),
        ('{"decisions": {"output_0": {"state": "yes"}}}', "known are 'approved' and 'rejected'"),
        ('{"decisions": {"output_0": {"comment": 3}}}', "cannot be read"),
    ],
)
def test_decisions_that_cannot_be_read_are_named(folder, content, message):
    (folder / "decisions.json").write_text(content)
    with pytest.raises(InputError, match=message):
        Bundle(folder)


def test_wrong_words_on_the_command_line_say_what_to_do(folder, tmp_path):
    for words, message in [
        ((tmp_path,), "there is no checks.json in it"),
        ((folder, "--approve", "output_9"), "there is no output 'output_9'. Did you mean"),
        ((folder, "--comment", "output_0"), "give it as OUTPUT=TEXT"),
        ((folder, "--approve", "output_0", "--reject", "output_0"), "approved and rejected"),
    ]:
        answer = run(*words)
        assert answer.exit_code == 2
        assert message in " ".join(answer.output.split())
