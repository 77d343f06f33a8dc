"""Balance rows: no cell of a relation changes by more than all others together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hand_tables import one_row, two_rows
from random_tables import random_problem
from tablecloak.cta.search.balance import BalanceRows, with_balance
from tight_forms import form_of, value_of, values_of_directions


def point(form, up, down, y) -> np.ndarray:
    """A scaled point from s+, s- in the unit of the table, and directions."""
    raw = np.concatenate([up, down, y]).astype(float)
    return raw / form.scaling.column


def moved(form, up, down, y) -> np.ndarray:
    """|z| of all groups, as the columns have it."""
    z = np.asarray(up, float) + np.asarray(down, float)
    model = form.model
    z[model.sensitive] += np.where(np.asarray(y) > 0, model.up_level, model.down_level)
    return z


@pytest.mark.parametrize(
    ("up", "down", "y", "violated"),
    [
        # a moves by 5, b and the total by 5 together.
        ((0, 0, 0), (0, 3, 2), 1, []),
        ((0, 0, 0), (0, 3, 1), 1, ["a"]),
        ((0, 0, 0), (0, 3, 1.9), 1, ["a"]),
        ((0, 0, 0), (0, 3, 2.1), 1, []),
        # b moves by 9, more than 5 + 2.
        ((0, 0, 0), (0, 9, 2), 1, ["b"]),
        # Down a level of 3 and one more.
        ((0, 0, 0), (1, 4, 0), 0, []),
        ((0, 0, 0), (1, 3, 0), 0, ["a"]),
        # s+ and s- both count, though they cancel.
        ((0, 4, 0), (0, 4, 0), 1, ["b"]),
    ],
)
def test_a_row_is_violated_where_a_cell_outweighs_the_others(up, down, y, violated):
    problem = one_row([50, 60], {"a": (3, 5)})
    form = form_of(problem)
    numbers = BalanceRows(form).violated(point(form, up, down, [y]))
    codes = problem.table.keys["code"].to_numpy()
    assert codes[form.model.relations.indices[numbers]].tolist() == violated


@given(
    st.lists(st.integers(0, 20), min_size=6, max_size=6), st.sampled_from([0, 1]), st.integers(0, 2)
)
def test_a_row_holds_exactly_where_its_inequality_does(sides, y, cell):
    form = form_of(one_row([50, 60], {"a": (3, 5)}))
    up, down = np.array(sides[:3]), np.array(sides[3:])
    number = int(np.flatnonzero(form.model.relations.indices == cell)[0])
    matrix, low, high = BalanceRows(form).rows(np.array([number]))
    z = moved(form, up, down, [y])
    holds = z[cell] <= z.sum() - z[cell]
    assert bool((matrix @ point(form, up, down, [y]) >= low - 1e-6)[0]) == holds
    assert np.isinf(high).all()


def test_at_most_one_cell_of_a_relation_outweighs_the_others():
    form = form_of(two_rows([50, 60], [70, 80], {"a": (3, 5), "A": (7, 9)}))
    x = np.zeros(form.program.n_columns)
    assert len(BalanceRows(form).violated(x)) == 2


def test_rows_are_added_after_all_others_and_remembered():
    form = form_of(one_row([50, 60], {"a": (3, 5)}))
    more = with_balance(with_balance(form, np.array([0])), np.array([2, 1]))
    assert more.balance.tolist() == [0, 2, 1]
    assert more.program.n_rows == form.program.n_rows + 3
    assert np.array_equal(more.program.row_lower[: form.program.n_rows], form.program.row_lower)


@pytest.mark.parametrize("seed", range(3))
def test_all_balance_rows_together_cut_no_best_table_off(seed):
    form = form_of(random_problem(seed))
    every = with_balance(form, np.arange(form.model.relations.nnz))
    before, after = values_of_directions(form), values_of_directions(every)
    for y, value in before.items():
        assert after[y] == pytest.approx(value, rel=1e-7, abs=1e-7)
    assert value_of(form.program.relaxed()) <= value_of(every.program.relaxed()) + 1e-9
