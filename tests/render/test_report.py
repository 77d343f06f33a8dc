"""The internal report, looked at in a browser: light, dark, printed, nothing fetched."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.history import History
from tablecloak.protection import Product
from tablecloak.render.page import Page, Square, SquareGrid
from tablecloak.render.report import internal_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), "")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    problem = tc.examples.cox_rounded()
    histories = [History(), History()]
    pattern = tc.suppress(problem, time_limit=5, progress=histories[0])
    adjusted = tc.adjust(problem, time_limit=5, progress=histories[1])
    page = internal_report(
        "Cox <4 x 9>",
        problem,
        [
            Product(pattern, tc.audit(problem, pattern, detail="intervals"), histories[0]),
            Product(adjusted, tc.audit(problem, adjusted), histories[1]),
        ],
        settings={"seed": 7},
        source='title = "Cox & others"',
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    page.write(path)
    return path, pattern, adjusted


def test_every_cell_is_drawn_with_its_status_and_says_more_when_pointed_at(report):
    path, pattern, adjusted = report
    text = path.read_text()
    problem = pattern.problem
    assert path.stat().st_mode & 0o077 == 0
    assert "Internal" in text
    assert text.count('<td class="primary"') == 7
    assert text.count('<td class="secondary"') == pattern.secondary.sum()
    assert len(re.findall(r'<td class="[^"]*(up|down)', text)) == np.sum(
        np.abs(adjusted.changes) > 1e-6 * problem.unit
    )
    cell = int(np.flatnonzero(problem.sensitive)[0])
    value = f"{problem.table.values[cell]:,.0f}"
    assert f'title="{problem.table.label(cell)}: {value}, primary (given)' in text
    assert "Cox &lt;4 x 9&gt;" in text
    assert "Cox &amp; others" in text
    assert "Take suppression" in text
    assert re.search(r"<td>seed</td>\s*<td>7</td>", text)


def test_the_same_report_twice_is_the_same_but_for_seconds(report):
    _, pattern, _ = report
    pages = [
        internal_report("t", pattern.problem, [Product(pattern, None, None)]).html()
        for _ in range(2)
    ]
    assert pages[0] == pages[1]


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
def test_a_browser_shows_it_in_light_and_dark_and_fetches_nothing(report, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    path, _, _ = report
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        colours = {}
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": 1200, "height": 900})
            asked: list[str] = []
            problems: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("console", lambda message, found=problems: found.append(message.text))
            page.goto(path.as_uri())
            assert asked == [path.as_uri()]
            assert not problems
            # The structure of the page, as it is laid out.
            boxes = [page.locator(f"h2 >> text='{name}'").bounding_box()["y"] for name in HEADINGS]
            assert boxes == sorted(boxes)
            grid = page.locator(".grid").first
            assert grid.locator("tbody tr").count() == 10
            assert grid.locator("tbody tr").first.locator("td").count() == 5
            square = page.locator("td.primary").first
            assert square.bounding_box()["width"] > 20
            assert square.evaluate("e => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"
            for drawing in page.locator("figure svg").all():
                assert drawing.bounding_box()["height"] > 100
            colours[scheme] = page.evaluate(
                "() => [getComputedStyle(document.querySelector('figure svg')).fill,"
                " getComputedStyle(document.querySelector('h1')).color]"
            )
            assert colours[scheme][0] == colours[scheme][1]
            shot = page.screenshot(full_page=True)
            assert shot[:4] == b"\x89PNG"
            assert len(shot) > 50_000
        assert colours["light"] != colours["dark"]
        page.emulate_media(media="print")
        assert len(page.pdf()) > 20_000
        browser.close()


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="no Chromium on this machine")
def test_the_last_cell_of_a_large_grid_stands_below_its_header_and_is_read_as_a_cell(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    codes = [(str(i), 0) for i in range(70)]
    page = Page("t")
    page.grid(
        SquareGrid(codes, codes, [[Square(f"{i * j:,}") for j in range(70)] for i in range(70)])
    )
    page.write(tmp_path / "large.html")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 600, "height": 400})
        view.goto((tmp_path / "large.html").as_uri())
        last = view.get_by_role("cell", name="4,761", exact=True)
        last.scroll_into_view_if_needed()
        box, header = last.bounding_box(), view.locator("thead th").last.bounding_box()
        assert (box["x"], box["width"]) == pytest.approx((header["x"], header["width"]), abs=0.5)
        # Headers stay in sight beside it.
        assert view.locator("tbody th").last.bounding_box()["x"] < 60
        assert header["y"] < box["y"]
        browser.close()


HEADINGS = [
    "What was protected",
    "Suppression",
    "Adjustment",
    "Risk and utility",
    "How it was done",
]


def test_notebooks_show_squares_or_rows():
    problem = tc.examples.cox_rounded()
    pattern, adjusted = tc.suppress(problem), tc.adjust(problem)
    rounded = tc.controlled_rounding(problem, base=10)
    for shown in (problem, pattern, adjusted, rounded):
        text = shown._repr_html_()
        assert text.count("<tr>") == 11
        assert "<script" not in text
    assert pattern._repr_html_().count('<td class="primary"') == 7
    others = [
        problem.table,
        tc.audit(problem, pattern),
        tc.audit(problem, adjusted),
        tc.attack_adjustment(adjusted),
    ]
    for shown in others:
        assert "<table" in shown._repr_html_()


def test_a_notebook_that_shows_hidden_values_says_first_of_all_that_it_is_secret():
    """Outputs are saved with a notebook, and are sent on with it."""
    problem = tc.examples.cox_rounded()
    pattern, adjusted = tc.suppress(problem), tc.adjust(problem)
    secret = [
        problem, pattern, adjusted, tc.controlled_rounding(problem, base=10),
        tc.audit(problem, pattern), tc.audit(problem, adjusted), tc.attack_adjustment(adjusted),
    ]  # fmt: skip
    first = "<p><strong>SECRET: shows hidden values; clear this output before you share the"
    for shown in secret:
        assert shown._repr_html_().startswith(first), shown
    assert "SECRET" not in problem.table._repr_html_()
