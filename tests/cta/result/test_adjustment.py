"""What an adjusted table says of itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, cross, one_row
from random_tables import random_problem
from tablecloak.cta.search.distance import DISTANCES, names_with

PROBLEM = one_row([50, 60, 70], {"a": (3, 5), "c": (4, 4)}, bounds=(0, 1000))


def adjusted(problem=PROBLEM, **options) -> tc.Adjustment:
    return tc.adjust(problem, **{"weights": "unit", **options})


@pytest.mark.parametrize(
    ("distance", "loss"), [("L1", 5 + 9 + 4), ("L2", 25 + 81 + 16), ("Linf", 9)]
)
def test_each_distance_measures_its_own_loss(distance, loss):
    values = PROBLEM.table.values + np.array([5, -9, 4, 0])
    one = replace(adjusted(), values=values, distance=distance)
    assert one.loss == loss
    assert DISTANCES[distance]().loss(2 * one.weights, one.changes) == 2 * loss


@pytest.mark.parametrize(("distance", "least"), [("L1", 3 + 4), ("L2", 9 + 16), ("Linf", 4)])
def test_what_cannot_be_avoided_are_the_smaller_levels(distance, least):
    assert replace(adjusted(), distance=distance).unavoidable == least


def test_a_side_without_a_level_is_not_avoidable_there():
    one = adjusted(one_row([50, 60], {"a": (0, 5)}))
    assert one.unavoidable == 5


def test_a_change_of_unit_changes_the_loss_by_its_power():
    values, weights = np.array([3.0, -4.0]), np.array([1.0, 2.0])
    for kind in DISTANCES:
        scaled = kind().loss(weights, 10 * values)
        assert scaled == pytest.approx(10**kind.power * kind().loss(weights, values))


def test_distances_are_named_by_what_they_can_do():
    assert names_with("has_whole_numbers") == "distance L1"
    assert names_with("is_proved_by_search") == "distances L1 and Linf"


def test_changes_are_multiples_of_the_last_digit_without_dust():
    one = adjusted(one_row([0.1, 0.2], {"a": (0.1, 0.1)}, bounds=(0, 10)))
    assert set(np.abs(one.changes)) <= {0.0, 0.1}
    assert one.unit == 0.1
    assert one.is_changed.sum() == 2


def test_rooms_are_told_in_the_unit_of_the_table():
    one = adjusted(one_row([5.5, 6.5], {"a": (0.31, 0.5)}, bounds=(0, 20)))
    room = one.room
    # A level of 0.31 is 0.4 in tenths.
    assert room.down_level[0] == pytest.approx(0.4)
    assert room.up[0] == pytest.approx(14.5)


def test_moments_are_those_of_the_cells_that_are_asked_for():
    one = adjusted(cross([[50, 60, 10], [70, 80, 20]], {"11": (5, 5)}))
    assert one.moments("all").mean_shift == pytest.approx(one.changes.mean())
    row = one.moments({"code": ["11", "12"]})
    assert row.mean_shift == pytest.approx(one.changes[:2].mean())


def test_the_frame_shows_truth_and_change_and_the_release_does_not():
    one = adjusted()
    assert one.to_frame()["change"].tolist() == one.changes.tolist()
    released = one.release()
    assert list(released.columns) == ["code", "value"]
    assert sorted(released["value"]) == sorted(one.values)


@pytest.mark.parametrize("seed", range(2))
def test_loss_bound_and_what_cannot_be_avoided_are_in_their_order(seed):
    one = tc.adjust(random_problem(seed), integer=False)
    assert one.unavoidable <= one.bound + 1e-9 <= one.loss + 2e-9
    assert 0 <= one.gap <= 1


def test_levels_and_values_in_other_units_give_the_same_table():
    """Thousands instead of ones: the loss by relative weights stays."""
    problem = random_problem(3)
    one = tc.adjust(problem, integer=False)
    names = ["lower_protection", "upper_protection", "lower_bound", "upper_bound"]
    table = replace(
        problem.table, values=problem.table.values * 1000.0, integer=None, hierarchies={}
    )
    scaled = replace(problem, table=table, **{
        name: getattr(problem, name) * 1000.0 for name in names
    })  # fmt: skip
    other = tc.adjust(scaled, integer=False)
    assert other.loss == pytest.approx(one.loss, rel=1e-6)
    assert other.bound == pytest.approx(one.bound, rel=1e-6)


def test_the_order_of_cells_does_not_change_the_loss():
    problem = random_problem(2)
    order = np.random.default_rng(1).permutation(problem.table.n_cells)
    table = replace(
        problem.table,
        keys=problem.table.keys.iloc[order].reset_index(drop=True),
        values=problem.table.values[order],
        relations=problem.table.relations[:, order],
        hierarchies={},
    )
    arrays = {
        name: getattr(problem, name)[order]
        for name in ("status", "lower_protection", "upper_protection", "sliding_protection",
                     "lower_bound", "upper_bound", "weights", "capacity_down", "capacity_up",
                     "reasons")
    }  # fmt: skip
    shuffled = tc.ProtectionProblem(table, **arrays)
    loss = tc.adjust(problem, integer=False).loss
    assert tc.adjust(shuffled, integer=False).loss == pytest.approx(loss, rel=1e-7)


def test_doubling_all_levels_of_one_cell_alone_never_lowers_the_loss():
    problem = random_problem(5)
    before = tc.adjust(problem, integer=False).loss
    cell = int(np.flatnonzero(problem.sensitive)[0])
    upper, lower = problem.upper_protection.copy(), problem.lower_protection.copy()
    upper[cell] *= 2
    lower[cell] *= 1.5
    harder = problem.with_changes(upper_protection=upper, lower_protection=lower)
    assert tc.adjust(harder, integer=False).loss >= before - 1e-9


def test_two_levels_in_one_row_cancel_as_far_as_they_can():
    """3 down and 4 up leave 1, which b or the total takes up."""
    z = by_code(PROBLEM, adjusted().changes)
    assert (z["a"], z["c"]) == (-3, 4)
    assert abs(z["b"]) + abs(z["Total"]) == 1
