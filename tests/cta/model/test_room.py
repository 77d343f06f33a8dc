"""How far cells may move, and how far sensitive ones must."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, one_row, place, problem_of
from tablecloak.cta.model.room import (
    FAR_LEVELS,
    FAR_VALUES,
    coupled_room,
    first_reach,
    room_of,
    sensitive_groups,
)


def test_a_cell_may_move_to_its_external_bounds():
    problem = one_row([10, 20], {"a": (3, 5)}, bounds=(0, 100))
    room = room_of(problem, limit=None)
    assert by_code(problem, room.up) == {"a": 90, "b": 80, "Total": 70}
    assert by_code(problem, room.down) == {"a": 10, "b": 20, "Total": 30}


def test_levels_are_those_of_sensitive_cells_alone():
    problem = one_row([10, 20], {"a": (3, 5)}).with_changes(lower_protection=3, upper_protection=5)
    room = room_of(problem, limit=None)
    assert by_code(problem, room.up_level) == {"a": 5, "b": 0, "Total": 0}
    assert by_code(problem, room.down_level) == {"a": 3, "b": 0, "Total": 0}


def test_capacities_hold_for_cells_that_are_not_sensitive():
    problem = one_row([10, 20], {"a": (3, 5)}, bounds=(0, 100)).with_capacity(2)
    room = room_of(problem, limit=None)
    assert by_code(problem, room.up) == {"a": 90, "b": 2, "Total": 2}


@pytest.mark.parametrize(
    ("limit", "whole", "up", "down"),
    [(1.0, False, 5, 3), (1.5, False, 7.5, 4.5), (1.5, True, 7, 4), (100.0, True, 90, 10)],
)
def test_the_limit_is_a_multiple_of_the_level_rounded_down_in_whole_numbers(limit, whole, up, down):
    problem = one_row([10, 20], {"a": (3, 5)}, bounds=(0, 100))
    room = room_of(problem, limit=limit, whole=whole)
    assert (room.up[0], room.down[0]) == (up, down)
    assert room.up[1] == 80


def test_frozen_cells_have_no_room():
    problem = one_row([10, 20, 30], {"a": (3, 5)}, frozen=["b"])
    room = room_of(problem, limit=None)
    assert room.up[place(problem, "b")] == room.down[place(problem, "b")] == 0


def test_a_level_beyond_its_bound_by_rounding_alone_is_within_reach():
    value = 0.1 * 3
    problem = one_row([value, 1.0], {"a": (0.1, 0.1)})
    upper = problem.upper_bound.copy()
    upper[0] = 0.4
    assert 0.4 - value < 0.1
    room = room_of(problem.with_changes(upper_bound=upper), limit=None)
    assert room.up[0] == 0.1


def test_a_level_beyond_its_bound_by_more_than_rounding_is_out_of_reach():
    problem = one_row([0.3, 1.0], {"a": (1.0, 0.1)})
    upper = problem.upper_bound.copy()
    upper[0] = 0.4 - 1e-9
    with pytest.raises(tc.ModelError):
        room_of(problem.with_changes(upper_bound=upper), limit=None)


def test_cells_that_can_move_neither_way_are_named_with_a_remedy():
    problem = one_row([10, 20], {"a": (12, 15)}, bounds=(0, 40))
    upper = problem.upper_bound.copy()
    upper[0] = 20
    narrow = problem.with_changes(upper_bound=upper)
    with pytest.raises(
        tc.ModelError, match="1 sensitive cells can move neither up nor down"
    ) as error:
        room_of(narrow, limit=None)
    assert list(error.value.cells) == [0]
    assert "Widen their external bounds or lower their levels" in str(error.value)
    assert room_of(narrow, limit=None, strict=False).is_stuck.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("levels", "rises", "falls"), [((0, 5), True, False), ((3, 0), False, True)]
)
def test_a_side_with_the_level_0_is_no_way_out(levels, rises, falls):
    room = room_of(one_row([10, 20], {"a": levels}), limit=None)
    assert (room.may_rise[0], room.may_fall[0]) == (rises, falls)
    assert room.may_rise[1:].all()
    assert room.may_fall[1:].all()


def test_a_cell_whose_only_way_out_is_closed_is_stuck():
    problem = one_row([10, 20], {"a": (0, 5)})
    upper = problem.upper_bound.copy()
    upper[0] = 12
    with pytest.raises(tc.ModelError, match="a side whose level is 0 does not count"):
        room_of(problem.with_changes(upper_bound=upper), limit=None)


def test_a_part_has_no_room_and_no_levels_outside():
    room = room_of(one_row([10, 20, 5], {"a": (3, 5), "c": (1, 1)}), limit=None)
    own = room.of_part(np.array([True, True, False, False]))
    assert own.up[2:].tolist() == own.down[2:].tolist() == [0, 0]
    assert own.up_level.tolist() == [5, 0, 0, 0]
    assert own.up[:2].tolist() == room.up[:2].tolist()


def test_infinite_rooms_become_finite_and_finite_ones_stay():
    problem = one_row([10, 20], {"a": (3, 5)}, bounds=(0, np.inf))
    endless = room_of(problem, limit=None)
    room = endless.within(first_reach(problem, endless))
    assert room.up.tolist() == [FAR_VALUES * 30 + FAR_LEVELS * 8] * 3
    assert room.down.tolist() == [10, 20, 30]


def test_cells_alone_in_a_relation_move_together_by_the_larger_level_and_the_smaller_room():
    problem = one_row([10, 20], {"a": (3, 5), "Total": (4, 2)}, frozen=["b"], bounds=(0, 100))
    coupled, together = coupled_room(problem, room_of(problem, limit=None))
    assert coupled.n_groups == 1
    assert coupled.group.tolist() == [0, -1, 0]
    assert (together.up_level[0], together.down_level[0]) == (5, 4)
    # 70 above the total, 10 below the part.
    assert (together.up[0], together.down[0]) == (70, 10)
    assert sensitive_groups(problem, coupled).tolist() == [0]


def test_coupled_cells_that_cannot_move_far_enough_are_named():
    problem = one_row([10, 20], {"a": (5, 5)}, frozen=["b"]).with_capacity(2)
    with pytest.raises(tc.ModelError, match="coupled with cells that cannot: .code=a.") as error:
        coupled_room(problem, room_of(problem, limit=None))
    assert list(error.value.cells) == [0]


def test_a_sensitive_cell_that_nothing_can_make_up_for_is_an_error():
    problem = one_row([10, 20], {"a": (5, 5)}, frozen=["b", "Total"])
    with pytest.raises(tc.ModelError, match="cannot move as far as their protection levels ask"):
        coupled_room(problem, room_of(problem, limit=None))


def test_coupled_cells_of_opposite_sign_exchange_their_levels():
    # a + b = 0 while c is frozen at 0: what raises a lowers b.
    problem = problem_of(
        ["a", "b"], [5, -5], [[1, 1]], {"a": (1, 2), "b": (7, 3)}, bounds=(-50, 50)
    )
    coupled, together = coupled_room(problem, room_of(problem, limit=None))
    assert coupled.n_groups == 1
    # Up by max(UPL of a, LPL of b), down by max(LPL of a, UPL of b).
    assert (together.up_level[0], together.down_level[0]) == (7, 3)


def test_a_side_closed_for_one_of_coupled_cells_is_closed_for_all():
    problem = one_row([10, 20], {"a": (0, 5), "Total": (4, 2)}, frozen=["b"])
    _, together = coupled_room(problem, room_of(problem, limit=None))
    assert (together.may_rise[0], together.may_fall[0]) == (True, False)
    assert together.down_level[0] == 0
