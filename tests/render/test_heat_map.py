"""A table as squares: which codes, which colours, what is said of each cell."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from hand_tables import one_row
from margins import with_margins
from tablecloak.render.heat_map import (
    add_heat_map,
    adjustment_squares,
    labels_of,
    sensitivity_squares,
    suppression_squares,
)
from tablecloak.render.page import Page, Square, as_number


def problem_of(*sizes: int) -> tc.ProtectionProblem:
    """Values 1, 2, ... below margins; the cell of the first codes is sensitive."""
    names = [f"d{axis}" for axis in range(len(sizes))]
    index = pd.MultiIndex.from_product([range(size) for size in sizes], names=names)
    frame = index.to_frame(index=False).astype(str)
    table = with_margins(frame.assign(v=np.arange(1.0, len(frame) + 1)), names, "v")
    one = (table.keys == "0").all(axis=1).to_numpy()
    n = table.n_cells
    status = np.where(one, "u", "s")
    status[(table.keys == "1").all(axis=1).to_numpy()] = "z"
    return tc.ProtectionProblem(
        table, status, 1.0 * one, 2.0 * one, np.zeros(n), np.zeros(n), np.full(n, 1e6), np.ones(n),
        reasons=np.where(one, "dominance", ""),
    )  # fmt: skip


def page_of(problem: tc.ProtectionProblem, most: int = 1000) -> Page:
    page = Page("t")
    keys, values = problem.table.keys, problem.table.values
    add_heat_map(
        page, keys, problem.table.hierarchies, lambda cell: Square(as_number(values[cell])),
        most=most,
    )  # fmt: skip
    return page


def grids(page: Page) -> list[list[list[str]]]:
    return [
        [re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in part.split("<tr>")[2:]]
        for part in page.parts
        if 'class="grid' in part
    ]


def test_the_longer_dimension_makes_the_rows_and_every_cell_stands_in_its_place():
    problem = problem_of(2, 3)
    page = page_of(problem)
    assert page.parts[0] == "<p>d1 in the rows, d0 in the columns.</p>"
    (grid,) = grids(page)
    # Rows Total, 0, 1, 2; columns Total, 0, 1: values 1 2 3 / 4 5 6.
    assert grid == [["21", "6", "15"], ["5", "1", "4"], ["7", "2", "5"], ["9", "3", "6"]]


def test_one_dimension_is_a_column_of_values():
    (grid,) = grids(page_of(problem_of(3)))
    assert grid == [["6"], ["1"], ["2"], ["3"]]


def test_further_dimensions_are_folded_with_the_total_first():
    page = page_of(problem_of(4, 3, 2))
    found = grids(page)
    assert len(found) == 3
    assert "<details>" not in page.parts[1]
    assert "<summary>d2 = 0</summary>" in page.parts[2]
    assert found[0][0][0] == as_number(sum(range(1, 25)))


def test_no_more_than_some_parts_are_drawn():
    # Two further dimensions of three codes each; each part has 7 times 6 squares.
    assert len(grids(page_of(problem_of(6, 5, 2, 2)))) == 9
    page = page_of(problem_of(6, 5, 2, 2), most=7 * 6 * 4)
    assert len(grids(page)) == 4
    assert "Of the combinations of further codes" in page.parts[1]


def test_of_large_dimensions_the_codes_nearest_to_the_total_are_shown():
    frame = pd.DataFrame({"code": [f"{i:03d}" for i in range(150)], "v": 1.0})
    tree = {"A": [f"{i:03d}" for i in range(100)], "B": [f"{i:03d}" for i in range(100, 150)]}
    table = with_margins(frame, {"code": tree}, "v")
    page = Page("t")
    add_heat_map(page, table.keys, table.hierarchies, lambda cell: Square(""), most=120)
    assert "153 codes of code, of which 120 are shown" in page.parts[0]
    rows = re.findall(r"rem\">([^<]*)</th>", page.parts[1])
    assert len(rows) == 120
    assert {"Total", "A", "B"} <= set(rows)


def test_many_columns_are_cut_too():
    (grid,) = grids(page_of(problem_of(30, 25), most=20))
    assert {len(line) for line in grid} == {20}


def test_cells_that_are_not_there_are_empty_squares():
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["1", "2"], "v": [1.0, 2.0]})
    table = with_margins(frame, ["a", "b"], "v")
    page = Page("t")
    add_heat_map(page, table.keys, table.hierarchies, lambda cell: Square("v"))
    assert page.parts[1].count('class="none" title="empty (nobody contributes)') == 2
    assert "Blank cells are empty (nobody contributes) or not part of the table." in page.parts[0]


def test_a_sensitive_cell_says_why_and_what_it_needs():
    problem = problem_of(2, 2)
    cell = problem.table.cell(d0="0", d1="0")
    square = sensitivity_squares(problem)(cell)
    assert square.kind == "primary"
    assert square.hover == "d0=0, d1=0: 1 (dominance); protection levels 1 below, 2 above"
    other = sensitivity_squares(problem)(problem.table.cell(d0="0", d1="1"))
    assert (other.kind, other.hover) == ("", "d0=0, d1=1: 2")


@pytest.mark.parametrize(
    ("status", "codes", "kind"),
    [("primary", ("0", "0"), "primary"), ("secondary", ("0", "1"), "secondary"),
     ("published", ("0", "1"), ""), ("published", ("1", "1"), "frozen")],
)  # fmt: skip
def test_a_pattern_is_drawn_by_its_statuses_and_frozen_cells_stand_back(status, codes, kind):
    problem = problem_of(2, 2)
    cell = problem.table.cell(d0=codes[0], d1=codes[1])
    statuses = np.full(problem.table.n_cells, "published", dtype="U10")
    statuses[cell] = status
    square = suppression_squares(problem, statuses)(cell)
    assert square.kind == kind
    assert f", {status}" in square.hover


@pytest.mark.parametrize(
    ("moved", "kind", "words", "share"),
    [(0.0, "", "published as 2 (0)", 0), (2.0, "up", "published as 4 (+2)", 1),
     (-0.5, "down", "published as 1.5 (-0.5)", 0.5)],
)  # fmt: skip
def test_an_adjusted_cell_says_how_far_and_which_way(moved, kind, words, share):
    problem = problem_of(2, 2)
    cell = problem.table.cell(d0="0", d1="1")
    values = problem.table.values.copy()
    values[cell] += moved
    square = adjustment_squares(problem, values)(cell)
    assert square.kind == kind
    assert words in square.hover
    # The square root of the change over the value: 2 of 2, 0.5 of 2.
    assert square.share == pytest.approx(share)


def test_a_sensitive_cell_that_moved_is_both():
    problem = problem_of(2, 2)
    square = adjustment_squares(problem, problem.table.values + 3)(
        problem.table.cell(d0="0", d1="0")
    )
    assert square.kind == "up sensitive"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234567, "1,234,567"), (-2, "-2"), (0.5, "0.5"), (1 / 3, "0.333333"),
     (1234567.89, "1,234,567.89"), (370763.6, "370,763.6"), (-43.900000000000006, "-43.9"),
     (1e6 / 7, "142,857.14"), (1436440.0, "1,436,440"), (np.inf, "inf"), (np.nan, "nan")],
)  # fmt: skip
def test_numbers_are_written_for_people(value, text):
    assert as_number(value) == text


def test_cells_are_named_by_all_their_codes():
    keys = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    assert labels_of(keys) == ["a=x, b=1", "a=y, b=2"]


def test_all_values_of_a_table_have_as_many_digits():
    problem = one_row([50.4, 60.25, 70], {"a": (3, 5)})
    square = sensitivity_squares(problem)
    assert [square(cell).text for cell in range(4)] == ["50.40", "60.25", "70.00", "180.65"]
    square = adjustment_squares(problem, np.array([55.4, 60.25, 65, 180.65]))
    assert square(0).text == "55.40"
