"""Pages that fetch nothing, and in which what was typed stays text."""

from __future__ import annotations

import re
import stat

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.arrays import own_digits
from tablecloak.errors import TablecloakWarning
from tablecloak.render.page import Page, Square, SquareGrid
from tablecloak.render.plotting import new_figure

EVIL = '<script>alert("x")</script>&'


@pytest.mark.parametrize(
    "add",
    [
        lambda page: page.heading(EVIL),
        lambda page: page.text(EVIL),
        lambda page: page.code(EVIL),
        lambda page: page.table(pd.DataFrame({EVIL: [EVIL]}, index=[EVIL])),
        lambda page: page.legend({"primary": EVIL}),
        lambda page: page.grid(SquareGrid([(EVIL, 0)], [(EVIL, 0)], [[Square(EVIL, "", EVIL)]]),
                               folded=EVIL),
    ],
)  # fmt: skip
def test_what_was_typed_is_text_and_never_a_tag(add):
    page = Page(EVIL)
    add(page)
    text = page.html()
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_a_page_fetches_nothing():
    text = Page("t").html()
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)=", text)
    assert "http" not in re.sub(r'http-equiv="[^"]*"', "", text)


def test_only_an_internal_page_knows_the_words_for_what_is_internal():
    internal, public = Page("t", secret=True).html(), Page("t", secret=False).html()
    assert "Internal: " in internal
    for word in ("Internal", "primary", "secondary", "sensitive"):
        assert word not in public


@pytest.mark.parametrize(("secret", "mode"), [(True, 0o600), (False, 0o644)])
def test_an_internal_page_is_for_its_owner_alone(tmp_path, secret, mode):
    path = tmp_path / "page.html"
    Page("t", secret=secret).write(path)
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == mode & 0o077
    assert path.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("square", "html"),
    [
        (Square("5"), "<td>5</td>"),
        (Square("5", "primary"), '<td class="primary">5</td>'),
        (Square("5", "", "a=1"), '<td title="a=1">5</td>'),
        (Square("5", "up", "", 0.256), '<td class="up" style="--share:26%">5</td>'),
        (Square("<5", "", '"x"'), '<td title="&quot;x&quot;">&lt;5</td>'),
    ],
)
def test_a_square_has_its_style_its_hover_and_its_strength(square, html):
    assert square.html() == html


def test_a_grid_has_rows_and_columns_with_their_depths():
    squares = [[Square("1"), Square("2")], [Square("3"), Square("4")]]
    text = SquareGrid([("T", 0), ("a", 2)], [("x", 0), ("y", 1)], squares).html()
    assert text.count("<tr>") == 3
    assert '<th scope="col">x</th><th scope="col">y</th>' in text
    assert re.findall(r'scope="row" style="padding-left:([\d.]+)rem', text) == ["0.5", "2.1"]
    assert re.findall(r"<td>(\d)</td>", text) == list("1234")


def test_a_grid_needs_a_line_of_squares_for_each_row():
    with pytest.raises(ValueError, match="shorter|longer"):
        SquareGrid([("a", 0), ("b", 0)], [("x", 0)], [[Square("1")]]).html()


def test_a_large_grid_has_its_rows_in_strips_as_wide_as_the_longest_text():
    rows, columns = [(f"r{i}", 0) for i in range(45)], [(f"c{j}", 0) for j in range(100)]
    squares = [[Square("9" * (j + 1)) for j in range(100)] for _ in rows]
    text = SquareGrid(rows, columns, squares).html()
    assert text.count("<tbody>") == 5
    assert re.findall(r'scope="row"[^>]*>(\w+)<', text) == [code for code, _ in rows]
    widths = [int(width) for width in re.findall(r"calc\((\d+)ch", text)]
    assert len(widths) == 101
    assert all(width >= j + 1 for j, width in enumerate(widths[1:]))


def test_a_folded_grid_opens_below_its_title():
    page = Page("t")
    page.grid(SquareGrid([("a", 0)], [("x", 0)], [[Square("1")]]), folded="year = 2020")
    assert "<details><summary>year = 2020</summary><div" in page.parts[0]


def test_every_header_says_what_it_heads_and_every_table_what_it_shows():
    page = Page("t")
    page.heading("Rules & counts")
    page.table(pd.DataFrame({"cells": [1]}, index=["p < 3"]))
    page.table(pd.DataFrame({"cells": [1]}), index=False)
    page.grid(SquareGrid([("a", 0)], [("x", 0)], [[Square("1")]], "Turnover"))
    text = page.html()
    assert text.count("<th ") == text.count('<th scope="') == text.count("<th") - 3 * 1
    assert text.count("<caption>Rules &amp; counts</caption>") == 2
    assert "<caption>Turnover</caption>" in text


def test_numbers_of_a_table_have_their_own_digits():
    page = Page("t")
    page.table(pd.DataFrame({"v": [1 / 3, 370763.6]}, index=["one", "other"]), index=True)
    assert "<td>0.333333</td>" in page.parts[0]
    assert "<td>370,763.6</td>" in page.parts[0]
    page.table(pd.DataFrame({"v": [1]}, index=["hidden"]), index=False)
    assert "hidden" not in page.parts[1]


def drawn() -> str:
    figure, axes = new_figure(3, 2)
    axes.plot([0, 1], [1, np.pi], color="black", label="pi")
    axes.legend()
    page = Page("t")
    page.figure(lambda: figure, 'a "caption" & more')
    return page.parts[0]


def test_a_figure_is_a_drawing_in_the_page_that_can_be_read_on_dark_too():
    text = drawn()
    assert text.startswith("<figure><svg role=")
    assert 'aria-label="a &quot;caption&quot; &amp; more"' in text
    assert "#000000" not in text
    assert "currentColor" in text
    # The box of a legend, behind texts in the colour of the page's text.
    assert "#ffffff" not in text
    assert "fill: var(--paper)" in text


def test_the_same_figure_twice_is_the_same_text():
    assert drawn() == drawn()
    assert "<dc:date>" not in drawn()


def test_without_matplotlib_a_page_says_once_what_it_lacks(monkeypatch):
    monkeypatch.setattr("tablecloak.render.page.is_installed", lambda name: False)
    page = Page("t")
    with pytest.warns(TablecloakWarning, match="'t' is written without its plots"):
        page.figure(lambda: pytest.fail("drawn all the same"), "loss & bound")
    page.figure(lambda: pytest.fail("drawn all the same"), "a second one")
    assert "Plot left out: loss &amp; bound." in page.parts[0]
    assert "Plot left out: a second one." in page.parts[1]


def test_columns_in_strips_leave_room_for_codes_below_their_level_and_go_on_below_on_paper():
    rows = [("Total", 0), *((f"A{number:04}", 3) for number in range(400))]
    columns = [(f"R{number}", 0) for number in range(13)]
    page = SquareGrid(rows, columns, [[Square("1")] * 13 for _ in rows], "Sales").html()
    # Letters of the longest code, padding on both sides, and three levels of indentation.
    assert "--columns:calc(6ch + 3.4rem) calc(" in page
    assert 'class="grid wide strips" style="--widest:3ch;' in page
    assert 'class="paper"' in page and 'role="region" aria-label="Sales"' in page
    assert 'class="paper"' not in SquareGrid(rows, columns[:2], [[Square("1")] * 2] * 401).html()


@given(digits=st.integers(1, 10**15 - 1), exponent=st.integers(-10, 3))
def test_no_number_that_people_give_is_made_shorter(digits, exponent):
    assert own_digits(float(f"{digits}e{exponent}")) == float(f"{digits}e{exponent}")


def test_the_last_binary_digits_of_a_difference_are_dropped():
    assert own_digits(-43.900000000000006) == -43.9
    assert own_digits(1 / 3) == 1 / 3
    # A hundred billion and a cent, of which 13 digits were meant.
    assert own_digits(100_000_000_000.01) == 100_000_000_000.01


def test_names_in_backticks_are_code_and_sentences_in_tables_begin_at_the_left():
    page = Page("t")
    page.text("as `attack_counts` <b> does")
    page.table(
        pd.DataFrame({"why": ["whose number `n` everybody is taken to know", "x"], "n": [1, 2]})
    )
    text = page.html()
    assert "as <code>attack_counts</code> &lt;b&gt; does" in text
    assert text.count('<td class="prose">whose number <code>n</code> everybody') == 1
    assert "`" not in text
