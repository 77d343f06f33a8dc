"""Sums that bound a cell: in fractions, by few relations, and true for any multipliers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from confirmed import end_of
from margins import with_margins
from random_tables import random_problem
from tablecloak.explaining.derivation import CellRanges, _summed, derived
from tablecloak.explaining.explanation import exact, shown, times

TABLE = with_margins(
    pd.DataFrame({"region": ["N", "N", "S", "S"], "branch": ["x", "y", "x", "y"],
                  "v": [50.1, 30.2, 40.3, 7.4]}),
    ["region", "branch"], "v",
)  # fmt: skip


def ranges_of(*hidden: dict[str, str]) -> CellRanges:
    """What everybody knows who sees all other cells, and that no value is negative."""
    cells = [TABLE.cell(**codes) for codes in hidden]
    lower, upper = TABLE.values.copy(), TABLE.values.copy()
    lower[cells], upper[cells] = 0.0, np.inf
    return CellRanges(TABLE, lower, upper, TABLE.values, 1.0)


NX, NY = {"region": "N", "branch": "x"}, {"region": "N", "branch": "y"}
SX, SY = {"region": "S", "branch": "x"}, {"region": "S", "branch": "y"}


def test_a_single_gap_is_the_total_minus_the_others_exactly_as_printed():
    ranges = ranges_of(NX)
    for sign in (1, -1):
        found = derived(ranges, TABLE.cell(**NX), sign)
        assert found.limit == Fraction("50.1")
        assert found.constant == 0
        assert len(found.relations) == 1
        assert found.sum_text() in (
            "80.3 (region=N, branch=Total) - 30.2 (region=N, branch=y) = 50.1",
            "90.4 (region=Total, branch=x) - 40.3 (region=S, branch=x) = 50.1",
        )


def test_a_sum_names_the_hidden_cells_that_it_takes_to_be_0():
    found = derived(ranges_of(NX, NY, SX, SY), TABLE.cell(**NX), 1)
    assert found.limit == Fraction("80.3")
    assert found.sum_text() == (
        "80.3 (region=N, branch=Total) = 80.3, as (region=N, branch=y) is at least 0"
    )


def test_two_relations_are_added_up_where_one_does_not_bound_a_cell():
    found = derived(ranges_of(NX, NY, SX, SY), TABLE.cell(**NX), -1)
    assert found.limit == Fraction("42.7")
    assert sorted(abs(y) for _, y in found.relations) == [1, 1]


def test_a_cell_without_relations_has_its_own_ends_or_none():
    alone = tc.Table(pd.DataFrame({"c": ["a"]}), np.array([5.0]), csr_array((0, 1)), np.zeros(0))
    ranges = CellRanges(alone, np.array([0.0]), np.array([np.inf]), alone.values, 1.0)
    assert derived(ranges, 0, -1).limit == 0
    assert derived(ranges, 0, -1).sum_text() == "0, known of this cell alone"
    assert derived(ranges, 0, 1).sum_text() == "nothing bounds it"
    assert derived(ranges, 0, 1).to_dict()["limit"] is None


def test_coefficients_that_are_no_whole_numbers_stay_exact():
    keys = pd.DataFrame({"c": ["a", "b", "mean"]})
    table = tc.Table(keys, np.array([3.0, 9.0, 6.0]), csr_array([[0.5, 0.5, -1.0]]), np.zeros(1))
    ranges = CellRanges(
        table, np.array([0.0, 9.0, 6.0]), np.array([99.0, 9.0, 6.0]), table.values, 1.0
    )
    found = derived(ranges, 0, 1)
    assert found.limit == 3
    assert found.sum_text() == "2 x 6 (c=mean) - 9 (c=b) = 3"


def test_many_terms_are_added_up_in_text_and_kept_in_the_dictionary():
    n = 40
    keys = pd.DataFrame({"c": [*map(str, range(n)), "Total"]})
    values = np.append(np.arange(1.0, n + 1), n * (n + 1) / 2)
    table = tc.Table(keys, values, csr_array([[1.0] * n + [-1.0]]), np.zeros(1))
    lower, upper = values.copy(), values.copy()
    lower[0], upper[0] = 0.0, np.inf
    found = derived(CellRanges(table, lower, upper, values, 1.0), 0, 1)
    assert found.limit == 1
    assert "(28 more cells together)" in found.sum_text()
    assert len(found.to_dict()["terms"]) == n


@pytest.mark.parametrize(
    ("number", "text"),
    [(Fraction(1, 3), "1/3"), (Fraction(5, 2), "2.5"), (0.1, "0.1"), (float("inf"), "unbounded")],
)
def test_numbers_are_written_as_people_write_them(number, text):
    assert shown(number) == text


def test_numbers_are_read_as_they_are_printed():
    assert exact(0.1) == Fraction(1, 10)
    assert times(Fraction(-1)) == "- "
    assert times(Fraction(1, 2)) == "+ 0.5 x "


def ranges_with(
    problem: tc.ProtectionProblem, hidden: np.ndarray, upper: float = np.inf
) -> CellRanges:
    values = problem.table.values
    low, high = np.where(hidden, 0.0, values), np.where(hidden, upper, values)
    return CellRanges(problem.table, low, high, values, problem.unit)


def table_of(rows: list[list[float]], values: list[float]) -> tc.Table:
    keys = pd.DataFrame({"c": [f"c{i}" for i in range(len(values))]})
    matrix = csr_array(np.array(rows))
    return tc.Table(keys, np.array(values), matrix, matrix @ np.array(values))


def test_ends_are_those_of_a_linear_program_for_every_hidden_cell():
    for seed in range(5):
        problem = random_problem(seed, (2, 3))
        random = np.random.default_rng(seed)
        hidden = random.random(problem.table.n_cells) < 0.6
        ranges = ranges_with(problem, hidden, 5000.0)
        for cell in np.flatnonzero(hidden).tolist():
            for sign in (1, -1):
                expected = end_of(problem.table, ranges.lower, ranges.upper, cell, sign)
                assert ranges.limit(cell, sign).end == pytest.approx(expected, abs=1e-6)
                assert float(derived(ranges, cell, sign).limit) == pytest.approx(expected, abs=1e-6)


def test_cells_that_no_relation_of_unknown_ones_connects_are_in_different_components():
    table = table_of([[1, 1, -1, 0, 0, 0], [0, 0, 0, 1, 1, -1]], [1, 2, 3, 4, 5, 9])
    upper = np.array([9.0, 9, 3, 9, 9, 9])
    ranges = CellRanges(table, np.array([0.0, 0, 3, 0, 0, 9]), upper, table.values, 1.0)
    assert ranges.component(0).tolist() == [0, 1]
    assert ranges.component(4).tolist() == [3, 4]
    assert ranges.component(2).tolist() == []


def test_a_known_cell_lies_where_it_is():
    table = table_of([[1, 1, -1]], [1, 2, 3])
    ranges = CellRanges(table, np.array([0.0, 0, 3]), np.array([9.0, 9, 3]), table.values, 1.0)
    assert (ranges.limit(2, 1).end, ranges.limit(2, -1).end) == (3, 3)


def test_other_ends_are_those_of_another_intruder():
    table = table_of([[1, 1, -1]], [1, 2, 3])
    ranges = CellRanges(table, np.array([0.0, 0, 3]), np.array([9.0, 9, 3]), table.values, 1.0)
    insider = ranges.with_ends(np.array([1]), np.array([1.5]), np.array([2.5]))
    assert (insider.limit(0, 1).end, insider.limit(0, -1).end) == (1.5, 0.5)
    assert (ranges.limit(0, 1).end, ranges.limit(0, -1).end) == (3, 0)


def test_changes_add_up_to_0_whatever_the_values_add_up_to():
    """A relation with a constant, as of a table with a part that is not shown."""
    table = table_of([[1, 1, -1]], [1, 2, 10])
    assert table.right_hand_side.tolist() == [-7]
    low, high = np.array([2.0, -1.0, -50.0]), np.array([9.0, 4.0, 50.0])
    changes = CellRanges(table, low, high, np.array([2.0, 0.0, 2.0]), 1.0, are_changes=True)
    found = derived(changes, 2, -1)
    assert found.limit == 1
    assert found.constant == 0
    values = CellRanges(table, np.zeros(3), np.array([9.0, 2.0, 10.0]), table.values, 1.0)
    values = values.with_ends(np.array([1, 2]), table.values[1:], table.values[1:])
    told = derived(values, 0, 1)
    assert told.limit == 1
    assert told.constant == -7
    assert told.sum_text() == "10 (c=c2) - 2 (c=c1) - 7 (constant) = 1"


def test_of_two_ways_to_the_same_end_the_one_with_fewer_relations_is_told():
    """The first cell follows from one relation, or from the sum of three others."""
    rows = [[1, 0, 0, 0, -1, 0, 0], [1, 1, 0, 0, 0, -1, 0], [0, 1, 1, 0, 0, 0, -1],
            [0, 0, 1, 0, 0, 0, 0]]  # fmt: skip
    table = table_of(rows, [5, 6, 7, 1, 5, 11, 13])
    hidden = np.array([True, True, True, False, False, False, False])
    low, high = np.where(hidden, 0.0, table.values), np.where(hidden, 99.0, table.values)
    ranges = CellRanges(table, low, high, table.values, 1.0)
    for sign in (1, -1):
        assert [relation for relation, _ in derived(ranges, 0, sign).relations] == [0]


def test_without_time_a_sum_holds_but_does_not_claim_to_be_the_closest():
    problem = random_problem(2, (3, 3))
    ranges = ranges_with(problem, np.ones(problem.table.n_cells, dtype=bool), 5000.0)
    for cell in range(problem.table.n_cells):
        found = derived(ranges, cell, 1, seconds=0.0)
        assert float(found.limit) >= problem.table.values[cell]
        if not found.is_exact:
            assert found.to_dict()["is_exact"] is False


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_the_scale_of_a_table_changes_no_sum(scale):
    rows, values = [[1, 1, 1, -1]], np.array([3.0, 5.0, 7.0, 15.0]) * scale
    table = table_of(rows, values.tolist())
    low, high = np.array([0.0, 0.0, *table.values[2:]]), table.values.copy()
    high[:2] = np.inf
    found = derived(CellRanges(table, low, high, table.values, scale), 0, 1)
    assert float(found.limit) == pytest.approx(8 * scale, rel=1e-9)
    assert len(found.terms) == 3


def test_any_multipliers_of_the_relations_give_a_bound_that_holds():
    """Weak duality in fractions: a bad choice is a weak bound, and never a false one."""
    n_finite = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        problem = random_problem(seed, (2, 3))
        hidden = rng.random(problem.table.n_cells) < 0.5
        ranges = ranges_with(problem, hidden, 500.0)
        rows = np.arange(problem.table.relations.shape[0])
        for cell in np.flatnonzero(hidden).tolist():
            for sign in (1, -1):
                multipliers = [Fraction(int(y), 7) for y in rng.integers(-9, 10, len(rows))]
                found = _summed(ranges, cell, sign, rows, multipliers, is_exact=False)
                attained = end_of(problem.table, ranges.lower, ranges.upper, cell, sign)
                assert sign * float(found.limit) >= sign * attained - 1e-6
                total = sum((term.amount for term in found.terms), found.constant)
                assert total == found.limit
                n_finite += 1
    assert n_finite > 40
