"""What is to be protected: statuses, levels, bounds and capacities that make sense together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc


def problem_of(values=(30, 10, 20), status="sus", **changes) -> tc.ProtectionProblem:
    values = np.array(values, dtype=float)
    n, rows = len(values), csr_array(np.array([[-1.0, 1, 1]]))
    table = tc.Table(
        keys=pd.DataFrame({"cell": [f"c{at}" for at in range(n)]}),
        values=values,
        relations=rows,
        right_hand_side=rows @ values,
    )
    given = {
        "status": list(status),
        "lower_protection": [0, 2, 0],
        "upper_protection": [0, 4, 0],
        "sliding_protection": [0, 0, 0],
        "lower_bound": [0, 0, 0],
        "upper_bound": [99, 99, 99],
        "weights": [1, 1, 1],
    }
    return tc.ProtectionProblem(table=table, **{**given, **changes})


def test_each_status_is_one_of_four_masks():
    problem = problem_of(status="zum")
    assert problem.frozen.tolist() == [True, False, False]
    assert problem.sensitive.tolist() == [False, True, False]
    assert problem.forced.tolist() == [False, False, True]
    assert problem.n_sensitive == 1
    assert problem.summary() == "3 cells, 1 relations, 1 sensitive, 1 frozen"


def test_arrays_of_a_problem_cannot_be_written_to():
    problem = problem_of()
    for array in (problem.weights, problem.status, problem.sensitive):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


def test_the_unit_is_the_median_of_the_levels_of_sensitive_cells():
    assert problem_of().unit == 3
    assert problem_of(upper_protection=[50, 4, 0]).unit == 3
    # Without levels lengths are measured in units of the table.
    assert problem_of(upper_protection=[0, 0, 0], lower_protection=[0, 0, 0]).unit == 1


def test_capacities_are_unlimited_unless_they_are_given():
    assert np.all(np.isinf(problem_of().capacity_up))
    limited = problem_of().with_capacity(5, percent=20)
    # 20 % of 30, 10 and 20 are 6, 2 and 4; the smaller limit counts.
    assert limited.capacity_up.tolist() == limited.capacity_down.tolist() == [5, 2, 4]


def test_one_number_changes_all_cells():
    changed = problem_of().with_changes(weights=7, upper_bound=50)
    assert changed.weights.tolist() == [7, 7, 7]
    assert changed.upper_bound.tolist() == [50, 50, 50]
    assert changed.lower_bound.tolist() == [0, 0, 0]


def test_weights_come_from_a_rule_by_its_name():
    assert problem_of().with_weights("value").weights.tolist() == [30, 10, 20]
    assert problem_of().with_weights("unit").weights.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": ["s", "x", "s"]}, "Unknown cell status 'x'"),
        ({"weights": [1, -1, 1]}, r"`weights` of cell cell=c1 is -1 \(1 such cells\)"),
        ({"weights": [np.inf, 1, 1]}, "must be a finite number"),
        ({"lower_protection": [0, np.nan, 0]}, "`lower_protection` of cell cell=c1 is nan"),
        ({"capacity_up": [np.nan, 1, 1]}, "must be a number >= 0"),
        ({"upper_bound": [99, 5, 99]}, r"value 10, outside its external bounds \[0, 5\]"),
        ({"lower_bound": [0, np.nan, 0]}, "outside its external bounds"),
        ({"weights": [1, 1]}, r"`weights` has the shape \(2,\), but the table has 3 cells"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_with_their_cell(changes, message):
    with pytest.raises(tc.InputError, match=message):
        problem_of(**changes)


def test_infinite_bounds_and_capacities_are_allowed():
    problem = problem_of(lower_bound=[-np.inf] * 3, upper_bound=[np.inf] * 3)
    assert np.all(np.isinf(problem.upper_bound))


def test_levels_beyond_the_bounds_need_no_table_to_be_broken():
    problem = problem_of(upper_bound=[99, 13, 99])
    with pytest.raises(tc.ModelError, match=r"from 8 to 14.*lies in \[0, 13\]") as caught:
        problem.check_levels(problem.lower_protection, problem.upper_protection)
    assert list(caught.value.cells) == [1]
    # Levels of other cells ask nothing; equality is enough.
    problem_of(upper_bound=[99, 14, 99], upper_protection=[500, 4, 0]).check_levels(
        problem.lower_protection, problem.upper_protection
    )


def test_a_level_that_reaches_a_bound_up_to_rounding_is_possible():
    problem = problem_of((0.3, 0.1, 0.2), upper_bound=[9, 0.1 + 0.2, 9])
    problem.check_levels(np.zeros(3), np.array([0, 0.2 + 1e-17, 0]))


def test_a_frame_of_the_problem_has_all_that_is_known_of_each_cell():
    frame = problem_of(reasons=["", "p-percent", ""]).to_frame()
    assert frame.cell.tolist() == ["c0", "c1", "c2"]
    assert frame.value.tolist() == [30, 10, 20]
    assert frame.reasons.tolist() == ["", "p-percent", ""]
    assert {"status", "lower_bound", "capacity_up", "weights"} <= set(frame.columns)
