"""The page that checks a certificate in a browser: alone, by keyboard, with the network off."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app
from tablecloak.render.verify_page import verify_page

CONFORMANCE = Path(__file__).parents[1] / "data" / "certificates"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), "")


def test_the_page_asks_for_nothing_and_runs_its_own_script_alone() -> None:
    page = verify_page()
    assert not re.search(r"(src|href)\s*=\s*\"?(https?:|//)", page)
    assert re.search(r"default-src 'none'; .*script-src 'sha256-[\w+/=]+'", page)
    assert page.count("</script>") == 1


def test_verify_writes_the_page_beside_the_verdict(tmp_path: Path) -> None:
    page = tmp_path / "verify.html"
    certificate = str(CONFORMANCE / "suppression-true-01.npz")
    ran = CliRunner().invoke(app, ["verify", certificate, "--page", str(page)])
    assert ran.exit_code == 0, ran.output
    assert page.read_text(encoding="utf-8") == verify_page()


@pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
def test_it_tells_each_kind_of_verdict_and_the_arithmetic_of_a_cell(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    (tmp_path / "verify.html").write_text(verify_page(), encoding="utf-8")
    entries = json.loads((CONFORMANCE / "index.json").read_text(encoding="utf-8"))
    first = {(one["kind"], one["group"]): one for one in reversed(entries)}
    kinds = sorted({kind for kind, _ in first})
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        for scheme, group in (("light", "true"), ("dark", "false")):
            context = browser.new_context(color_scheme=scheme, offline=True)
            page = context.new_page()
            asked: list[str] = []
            faults: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("pageerror", lambda fault, faults=faults: faults.append(str(fault)))
            for entry in (first[kind, group] for kind in kinds):
                page.goto((tmp_path / "verify.html").as_uri())
                if entry["problem"]:
                    page.set_input_files("#problem", CONFORMANCE / entry["problem"])
                page.set_input_files("#certificate", CONFORMANCE / entry["file"])
                page.wait_for_selector(f"#verdict[data-verdict='{entry['verdict']}']")
                if entry["code"]:
                    assert f"({entry['code']})" in page.inner_text("#verdict")
                else:
                    assert page.locator("#sentences li").all_inner_texts() == entry["lines"]
                if not entry["code"]:
                    # By keyboard: the first cell of the list, and a number that is typed.
                    page.locator("#list button").first.focus()
                    page.keyboard.press("Enter")
                    assert page.inner_text("#cell h2").startswith("Cell ")
                    assert "cannot be computed" not in page.inner_text("#cell")
                    page.fill("#number", "0")
                    page.locator("#number").press("Enter")
                    assert page.inner_text("#cell h2") == "Cell 0"
            background, colour = (
                page.evaluate(f"getComputedStyle(document.{where})['{what}']")
                for where, what in (("documentElement", "color-scheme"), ("body", "color"))
            )
            assert background == "light dark"
            assert (colour == "rgb(242, 242, 242)") == (scheme == "dark")
            assert not faults
            assert all(url.startswith("file:") for url in asked)
        browser.close()


@pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
def test_by_keyboard_alone_sums_of_a_witness_are_shown_to_be_0(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    (tmp_path / "verify.html").write_text(verify_page(), encoding="utf-8")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto((tmp_path / "verify.html").as_uri())
        page.bring_to_front()
        page.keyboard.press("Tab")
        # On a busy machine keys that come before the page has the focus would be lost.
        page.wait_for_function("document.activeElement.type === 'file'")
        with page.expect_file_chooser() as chooser:
            page.keyboard.press("Space")
        chooser.value.set_files(CONFORMANCE / "suppression-true-01.npz")
        page.wait_for_selector("#verdict[data-verdict=PROVED]")
        for reached in ("problem", "number", "", ""):  # the last two: Show, and the first cell
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.id") == reached
            assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
        page.keyboard.press("Enter")
        assert "against everybody" in page.inner_text("#cell")
        sums = page.locator("#cell .sum").all_inner_texts()
        browser.close()
    assert sums
    assert all(line.endswith(" = 0") for line in sums)
