"""The pages can be used by the keyboard alone, in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine"),
]

FOCUSED = """() => {
    const on = document.activeElement;
    const drawn = [on, on.closest("label"), on.closest(".drop")].some((each) => {
        if (!each) return false;
        const style = getComputedStyle(each), outside = parseFloat(style.outlineOffset) >= 0;
        const visible = style.opacity !== "0" && style.outlineStyle !== "none";
        return visible && (outside || style.outlineColor !== style.backgroundColor);
    });
    const name = on.name || on.id || on.dataset.key || on.textContent.trim();
    return {name, tag: on.tagName, drawn};
}"""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    words = [sys.executable, "-m", "tablecloak.cli.main", "app", "--no-browser"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://127\.0\.0\.1:(\d+)/\S+", server.stdout.readline()).group()
        opened = browser.new_page()
        opened.goto(address)
        yield opened
    finally:
        server.kill()
        server.communicate()


def stops(page):
    """Return what the keyboard passes, from the top of the page to its end."""
    found = []
    while True:
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused["tag"] == "BODY":
            return found
        found.append(focused)


def press(page, name, key="Enter"):
    """Press a key on a control that the keyboard reaches, and wait for the page that follows."""
    while page.evaluate(FOCUSED)["name"] != name:
        page.keyboard.press("Tab")
    page.keyboard.press(key)
    page.wait_for_load_state()


@pytest.mark.parametrize("example", ["records", "table"])
def test_each_stop_of_the_keyboard_is_drawn_and_the_first_one_skips_to_the_content(page, example):
    for _ in range(2):
        passed = stops(page)
        assert [each["name"] for each in passed if not each["drawn"]] == []
        assert passed[0]["name"] == "Skip to the content"
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate(FOCUSED)["tag"] == "MAIN"
        if page.locator(f"button[value={example}]").count():
            page.focus(f"button[value={example}]")
            with page.expect_navigation():
                page.keyboard.press("Enter")


def test_a_table_is_folded_looked_at_and_decided_by_the_keyboard_alone(page):
    page.focus("button[value=table]")
    page.keyboard.press(" ")
    page.wait_for_selector("text=Open the grid")
    press(page, "Open the grid")
    page.wait_for_selector("#grid td[data-at]")
    assert [each["name"] for each in stops(page) if not each["drawn"]] == []
    # Folding draws the table anew: the keyboard stays where it was.
    fold = page.locator("#grid tbody button").first
    key = fold.get_attribute("data-key")
    fold.focus()
    for opened in ("false", "true"):
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#grid tbody tr:first-child button[aria-expanded={opened}]")
        page.wait_for_selector(f"[data-key='{key}']:focus")
    square = page.locator("#grid td[tabindex='0']")
    square.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("-")
    page.wait_for_selector("#grid tbody tr:nth-child(2) button[aria-expanded=false]")
    page.wait_for_selector("[data-at]:focus")
    # A cell is looked at and decided, and Escape leads back to it.
    place = page.evaluate("document.activeElement.dataset.at")
    page.keyboard.press("Enter")
    page.wait_for_selector("#details h2:focus")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.at") == place
    page.keyboard.press(" ")
    page.wait_for_selector("#details h2:focus")
    page.focus("#details input[name=decision][value=stay]")
    page.keyboard.press(" ")
    press(page, "Decide")
    page.wait_for_selector("#decisions:has-text('stay')")
    page.wait_for_selector("#details h2:focus")
    page.focus("#decisions button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#decisions:has-text('None yet')")
    page.wait_for_selector("[data-at]:focus")
