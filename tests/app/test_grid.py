"""The grid shows every cell at its codes, and folds what is below a code."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.app.decisions import Mark, cells_of, marked
from tablecloak.app.grid import TableGrid


@pytest.fixture(scope="module")
def table():
    dimensions = {"region": ["part", "region"], "industry": None, "size": None}
    return tc.tabulate(tc.examples.firms(), dimensions, "turnover", contributor="firm")


def test_each_square_is_the_cell_with_its_codes(table):
    grid = TableGrid(table)
    look = grid.look({"rows": "industry", "columns": "size", "at": {"region": "N1"}})
    shown = grid.shown(look)
    compared = 0
    for row, line in zip(shown["rows"], shown["cells"], strict=True):
        for column, cell in zip(shown["columns"], line, strict=True):
            if cell >= 0:
                codes = {"industry": row["code"], "size": column["code"], "region": "N1"}
                assert cell == table.cell(**codes)
                compared += 1
    assert compared > 20


def test_a_folded_code_hides_what_is_below_it_and_an_unfolded_one_shows_it(table):
    grid = TableGrid(table)
    folded = grid.shown(grid.look({"rows": "region", "opened": {"region": ["Total"]}}))
    codes = [each["code"] for each in folded["rows"]]
    assert codes == ["Total", "N", "S", "W"]
    assert [each["open"] for each in folded["rows"]] == [True, False, False, False]
    whole = grid.shown(grid.look({"rows": "region", "opened": {"region": ["Total", "S"]}}))
    assert [each["code"] for each in whole["rows"]] == ["Total", "N", "S", "S1", "S2", "W"]


def test_codes_are_shown_with_what_they_are_called(table):
    grid = TableGrid(table, {"region": {"N": "North"}})
    rows = grid.shown(grid.look({"rows": "region"}))["rows"]
    assert {row["code"]: row["label"] for row in rows}["N"] == "North"


def test_what_is_asked_wrongly_falls_back_to_the_first_look(table):
    look = TableGrid(table).look({"rows": "no", "columns": "such", "at": {"size": "thing"}})
    assert {look.rows, look.columns} <= set(TableGrid(table).dimensions)
    assert look.rows != look.columns
    assert list(look.at.values()) == ["Total"]


def test_the_sums_of_a_cell_hold_in_the_table(table):
    grid = TableGrid(table)
    cell = table.cell(region="N", industry="steel", size="Total")
    sums = grid.sums(cell)
    assert len(sums) == 4
    for each in sums:
        assert cell in (each.total, *each.parts)
        assert table.values[each.total] == pytest.approx(table.values[each.parts].sum())
        assert len(each.along) == 1


def test_decisions_change_the_status_levels_and_cost_of_their_cells_alone(table):
    problem = table.protect(tc.PPercent(10))
    safe = int(np.flatnonzero(problem.status == "s")[0])
    other = int(np.flatnonzero(problem.status == "s")[5])
    primary = int(np.flatnonzero(problem.sensitive)[0])
    changed = marked(
        problem,
        {safe: Mark("sensitive", 20.0), other: Mark("stay", cost=3.0), primary: Mark("safe")},
    )
    assert changed.sensitive[safe] and changed.frozen[other] and not changed.sensitive[primary]
    assert changed.upper_protection[safe] == pytest.approx(0.2 * table.values[safe])
    assert changed.weights[other] == 3 * problem.weights[other]
    assert changed.upper_protection[primary] == 0
    untouched = np.setdiff1d(np.arange(table.n_cells), [safe, other, primary])
    assert np.array_equal(changed.status[untouched], problem.status[untouched])
    assert np.array_equal(changed.weights[untouched], problem.weights[untouched])


def test_a_sensitive_cell_cannot_be_told_to_stay(table):
    problem = table.protect(tc.PPercent(10))
    primary = int(np.flatnonzero(problem.sensitive)[0])
    with pytest.raises(tc.InputError, match="cannot stay published"):
        marked(problem, {primary: Mark("stay")})


@pytest.mark.parametrize(
    "given", [{"decision": "burn"}, {"level": -1}, {"level": "much"}, {"cost": 1e9}, {"cost": None}]
)
def test_impossible_decisions_are_refused(given):
    with pytest.raises(tc.InputError):
        Mark.read(given)


@pytest.mark.parametrize("cells", [None, "12", [0, 12], [-1], ["3"], {"a": 1}])
def test_unknown_cells_are_refused(cells):
    with pytest.raises(tc.InputError):
        cells_of(cells, 12)


def test_without_hierarchies_the_order_of_codes_is_told_by_the_relations(table, tmp_path):
    problem = table.protect(tc.PPercent(10))
    tc.write_problem(problem, tmp_path / "cells.csv")
    read = TableGrid(tc.read_problem(tmp_path / "cells.csv").table)
    told = TableGrid(table)
    assert not read.table.hierarchies
    for name in told.dimensions:
        assert read.trees[name].roots == ["Total"]
        mine, theirs = read.trees[name].children, told.trees[name].children
        assert {k: set(v) for k, v in mine.items()} == {k: set(v) for k, v in theirs.items()}


def test_cells_without_codes_are_a_list(tmp_path):
    grid = TableGrid(tc.examples.cox().table)
    look = grid.look({})
    assert len(grid.shown(look)["cells"]) > 0
    tc.write_jj(tc.examples.cox(), tmp_path / "cox.jj")
    listed = TableGrid(tc.read_jj(tmp_path / "cox.jj").table)
    shown = listed.shown(listed.look({}))
    found = {cell for line in shown["cells"] for cell in line}
    assert found <= set(range(listed.table.n_cells)) and len(found) > 1
