"""Sums that bound a cell: in fractions, by few relations, and true for any multipliers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from margins import with_margins
from tablecloak.explaining.derivation import derived
from tablecloak.explaining.explanation import exact, shown, times
from tablecloak.explaining.known import Known

TABLE = with_margins(
    pd.DataFrame({"region": ["N", "N", "S", "S"], "branch": ["x", "y", "x", "y"],
                  "v": [50.1, 30.2, 40.3, 7.4]}),
    ["region", "branch"], "v",
)  # fmt: skip


def known_of(*hidden: dict[str, str]) -> Known:
    """What everybody knows who sees all other cells, and that no value is negative."""
    cells = [TABLE.cell(**codes) for codes in hidden]
    lower, upper = TABLE.values.copy(), TABLE.values.copy()
    lower[cells], upper[cells] = 0.0, np.inf
    return Known(TABLE, lower, upper, TABLE.values, 1.0)


NX, NY = {"region": "N", "branch": "x"}, {"region": "N", "branch": "y"}
SX, SY = {"region": "S", "branch": "x"}, {"region": "S", "branch": "y"}


def test_a_single_gap_is_the_total_minus_the_others_exactly_as_printed():
    known = known_of(NX)
    for sign in (1, -1):
        found = derived(known, TABLE.cell(**NX), sign)
        assert found.limit == Fraction("50.1")
        assert found.constant == 0
        assert len(found.relations) == 1
        assert found.sum_text() in (
            "80.3 (region=N, branch=Total) - 30.2 (region=N, branch=y) = 50.1",
            "90.4 (region=Total, branch=x) - 40.3 (region=S, branch=x) = 50.1",
        )


def test_a_sum_names_the_hidden_cells_that_it_takes_to_be_0():
    found = derived(known_of(NX, NY, SX, SY), TABLE.cell(**NX), 1)
    assert found.limit == Fraction("80.3")
    assert found.sum_text() == (
        "80.3 (region=N, branch=Total) = 80.3, as (region=N, branch=y) is at least 0"
    )


def test_two_relations_are_added_up_where_one_does_not_bound_a_cell():
    found = derived(known_of(NX, NY, SX, SY), TABLE.cell(**NX), -1)
    assert found.limit == Fraction("42.7")
    assert sorted(abs(y) for _, y in found.relations) == [1, 1]


def test_a_cell_without_relations_has_its_own_ends_or_none():
    alone = tc.Table(pd.DataFrame({"c": ["a"]}), np.array([5.0]), csr_array((0, 1)), np.zeros(0))
    known = Known(alone, np.array([0.0]), np.array([np.inf]), alone.values, 1.0)
    assert derived(known, 0, -1).limit == 0
    assert derived(known, 0, -1).sum_text() == "0, known of this cell alone"
    assert derived(known, 0, 1).sum_text() == "nothing bounds it"
    assert derived(known, 0, 1).to_dict()["limit"] is None


def test_coefficients_that_are_no_whole_numbers_stay_exact():
    keys = pd.DataFrame({"c": ["a", "b", "mean"]})
    table = tc.Table(keys, np.array([3.0, 9.0, 6.0]), csr_array([[0.5, 0.5, -1.0]]), np.zeros(1))
    known = Known(table, np.array([0.0, 9.0, 6.0]), np.array([99.0, 9.0, 6.0]), table.values, 1.0)
    found = derived(known, 0, 1)
    assert found.limit == 3
    assert found.sum_text() == "2 x 6 (c=mean) - 9 (c=b) = 3"


def test_many_terms_are_added_up_in_text_and_kept_in_the_dictionary():
    n = 40
    keys = pd.DataFrame({"c": [*map(str, range(n)), "Total"]})
    values = np.append(np.arange(1.0, n + 1), n * (n + 1) / 2)
    table = tc.Table(keys, values, csr_array([[1.0] * n + [-1.0]]), np.zeros(1))
    lower, upper = values.copy(), values.copy()
    lower[0], upper[0] = 0.0, np.inf
    found = derived(Known(table, lower, upper, values, 1.0), 0, 1)
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
