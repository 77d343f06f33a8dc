"""The verdict on anybody's adjusted table."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import one_row, place
from tablecloak.publish.adjusted_audit import audit_values

PROBLEM = one_row([50, 60, 70], {"a": (3, 5), "c": (0, 4)}, bounds=(0, 200))


def audited(problem: tc.ProtectionProblem = PROBLEM, **moved: float):
    values = problem.table.values.copy()
    for code, by in moved.items():
        values[place(problem, code)] += by
    return audit_values(problem, values)


def test_a_table_that_keeps_everything_is_safe():
    found = audited(a=5, b=-9, c=4)
    assert found.is_safe
    assert found.shortfall.tolist() == [0, 0]
    assert "2 of 2 sensitive cells safe, 0 too near" in found.summary()


@pytest.mark.parametrize(
    ("a", "c", "shortfall"),
    [(0, 4, [3, 0]), (2, 4, [3, 0]), (4, 4, [1, 0]), (-2, 4, [1, 0]), (-3, 3, [0, 1]),
     (-3, -9, [0, 13])],
)  # fmt: skip
def test_the_shortfall_is_what_lacks_to_the_nearer_level_that_counts(a, c, shortfall):
    """c may only rise: below the truth it lacks the whole way."""
    found = audited(a=a, b=-a - c, c=c)
    assert found.shortfall.tolist() == pytest.approx(shortfall)
    assert not found.is_safe


def test_a_relation_that_is_off_is_measured():
    found = audited(a=5, c=4)
    assert found.relations == 9
    assert not found.is_safe


def test_a_value_beyond_its_bound_is_measured():
    found = audited(a=5, b=80, c=4, Total=89)
    assert found.bounds == 69
    assert not found.is_safe


def test_a_frozen_cell_that_changed_is_counted():
    frozen = one_row([50, 60, 70], {"a": (3, 5)}, frozen=["b"], bounds=(0, 200))
    found = audited(frozen, a=5, b=-5)
    assert found.frozen == 1
    assert not found.is_safe
    assert audited(frozen, a=5, c=-5).is_safe


def test_dust_of_a_file_that_was_read_is_no_error():
    values = PROBLEM.table.values + np.array([5, -9, 4, 0]) + np.array([1e-12, 0, 0, 0])
    assert audit_values(PROBLEM, values).is_safe


def test_the_frame_shows_the_worst_first_with_what_was_forbidden():
    frame = audited(a=4, b=-8, c=4).to_frame()
    assert frame["code"].tolist() == ["a", "c"]
    assert frame[["forbidden_lower", "forbidden_upper"]].iloc[0].tolist() == [47, 55]
    assert frame["adjusted"].iloc[0] == 54


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_cell_without_a_number_is_refused(value):
    with pytest.raises(tc.InputError, match="finite value in every cell"):
        audited(a=value)
