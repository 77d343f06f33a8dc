"""Whole numbers next to real ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from tablecloak.budget import Budget
from tablecloak.errors import InputError
from tablecloak.reconciliation import reconcile
from tablecloak.reconciliation.problem import ReconciliationProblem
from tablecloak.reconciliation.whole import whole_table


def _question(values, relations, **bounds):
    n = len(values)
    return ReconciliationProblem(
        np.array(values), np.ones(n), csr_array(np.array(relations, dtype=float)),
        np.zeros(len(relations)), bounds.get("lower", np.zeros(n)),
        bounds.get("upper", np.full(n, np.inf)),
    )  # fmt: skip


def test_three_thirds_become_one_and_two_zeros():
    real = np.array([1 / 3, 1 / 3, 1 / 3, 1.0])
    found = whole_table(_question(real, [[1, 1, 1, -1]]), real, Budget.of(10))
    assert sorted(found.tolist()) == [0, 0, 1, 1] and found[3] == 1


def test_whole_cells_stay_where_others_are_rounded():
    real = np.array([2.0, 0.5, 0.5, 3.0])
    found = whole_table(_question(real, [[1, 1, 1, -1]]), real, Budget.of(10))
    assert found[0] == 2 and found[3] == 3


def test_where_neighbours_do_not_suffice_a_cell_moves_on_within_one():
    # x = y and x + y = 1: halves. Only 0 and 1 are near, and no pair of equal ones adds up to 1;
    # with the sum free to move, 0 + 0 = 0 does.
    real = np.array([0.5, 0.5, 1.0])
    problem = _question(real, [[1, -1, 0], [1, 1, -1]])
    found = whole_table(problem, real, Budget.of(10))
    assert found.tolist() in ([0, 0, 0], [1, 1, 2])


def test_what_has_no_whole_table_is_refused_with_a_proof():
    real = np.array([0.5, 0.5, 1.0])
    fixed = np.array([0.0, 0.0, 1.0])
    problem = _question(real, [[1, -1, 0], [1, 1, -1]], lower=fixed, upper=np.array([1.0, 1, 1]))
    with pytest.raises(InputError, match=r"within 1 of the real one \(proved\)"):
        whole_table(problem, real, Budget.of(10))


def test_bounds_that_are_not_whole_hold_whole_tables_all_the_same():
    # A whole number below 0.4 lies beyond the bound, and 1 + 1 is more than 1 beyond 0.8.
    frame = pd.DataFrame({"r": ["Total", "a", "b"], "value": [0.2, 0.1, 0.1]})
    found = reconcile(frame, ["r"], lower=0.4, whole=True)
    assert found.values.tolist() == [2, 1, 1]


def test_a_fixed_value_that_is_not_whole_is_named():
    frame = pd.DataFrame({"r": ["Total", "a", "b"], "value": [2.5, 1, 1]})
    with pytest.raises(InputError, match=r"r=Total: no whole number .* value 2\.5 .* not whole"):
        reconcile(frame, ["r"], fixed={"r": "Total"}, whole=True)
