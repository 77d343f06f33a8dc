"""A rounded table: what is checked of it, and what it tells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, cross, one_row, place, problem_of
from tablecloak.cta.rounding.rounded_table import require_none

PROBLEM = one_row([12, 13], {}, bounds=(0, 100))


def rounded(problem=PROBLEM, **options):
    return tc.controlled_rounding(problem, **{"base": 5, **options})


def altered(one, **values: int):
    x = one.values.copy()
    for code, value in values.items():
        x[place(one.problem, code)] = value
    return replace(one, values=x, bound=0.0)


def test_the_nearest_rounding_is_the_one_by_hand():
    one = rounded()
    assert by_code(PROBLEM, one.values) == {"a": 10, "b": 15, "Total": 25}
    assert one.loss == one.bound == one.unavoidable == 4
    assert "zero-restricted" in one.summary()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": 11, "Total": 26}, "2 rounded cells are not multiples of the base: .*a.*, .*Total"),
        ({"a": 20, "b": 5}, "are too far from the truth"),
        ({"a": 15}, "A relation of the rounded table is off by 5"),
    ],
)
def test_each_broken_promise_is_refused_by_name(values, message):
    with pytest.raises(tc.VerificationError, match=message):
        altered(rounded(), **values).verify()


def test_a_frozen_cell_that_took_a_second_step_is_refused():
    problem = one_row([10, 13, 12], {}, frozen=["a"], bounds=(0, 100))
    one = altered(rounded(problem), a=15)
    with pytest.raises(tc.VerificationError, match="had to stay as they are: .*a"):
        replace(one, steps=2).verify()


def test_a_value_that_changed_its_sign_is_refused():
    problem = one_row([2, 13], {}, bounds=(-100, 100))
    one = rounded(problem, max_steps=2)
    with pytest.raises(tc.VerificationError, match="have changed their sign"):
        replace(altered(one, a=-5, b=20, Total=15), steps=2).verify()


def test_a_bound_that_is_not_proved_is_refused():
    with pytest.raises(tc.VerificationError, match="is claimed, but only 4 is proved"):
        replace(rounded(), bound=4.5).verify()


def test_an_intruder_who_knows_base_and_steps_is_left_with_less_than_one_base_on_each_side():
    low, high = rounded().intervals()
    assert by_code(PROBLEM, low) == {"a": 6, "b": 11, "Total": 21}
    assert by_code(PROBLEM, high) == {"a": 14, "b": 19, "Total": 29}


def test_counts_do_not_fall_below_0_and_frozen_cells_are_known():
    problem = one_row([1, 10, 3], {}, frozen=["b"], bounds=(0, 100))
    one = rounded(problem)
    low, high = one.intervals()
    assert by_code(problem, low)["a"] == 0
    assert by_code(problem, low)["b"] == by_code(problem, high)["b"] == 10


def test_the_loss_that_no_rounding_avoids_is_the_distance_to_the_nearest_multiples():
    # 2, 2, 2 make 6: nearest are 0, 0, 0 and 5, which do not add up.
    problem = one_row([2, 2, 2], {}, bounds=(0, 100))
    one = rounded(problem)
    assert one.unavoidable == 2 * 3 + 1
    assert one.loss == 2 + 2 + 3 + 1


def test_the_release_tells_codes_and_values_alone():
    frame = rounded().release()
    assert list(frame.columns) == ["code", "value"]
    assert set(frame["value"]) == {10, 15, 25}


def test_nothing_is_required_of_no_cell():
    require_none(PROBLEM, np.zeros(3, dtype=bool), "are wrong")
    with pytest.raises(tc.VerificationError, match="1 rounded cells are wrong: .*b") as error:
        require_none(PROBLEM, np.array([False, True, False]), "are wrong")
    assert error.value.cells == (1,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": 1}, "`base` must be a whole number from 2"),
        ({"base": 2.5}, "`base` must be a whole number from 2.*Got 2.5"),
        ({"max_steps": 0}, "`max_steps` must be a whole number from 1"),
        ({"base": 10**15, "max_steps": 2}, "more than numbers can hold"),
    ],
)
def test_bases_and_steps_are_whole_numbers_in_a_sensible_range(options, message):
    with pytest.raises(tc.InputError, match=message):
        rounded(**options)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (one_row([1.5, 2], {}), r"needs a table of whole numbers.*`decimals=0`"),
        (one_row([12, 13], {}, frozen=["a"]), r"1 cells must be published as they are .*code=a"),
    ],
)
def test_tables_that_cannot_be_rounded_are_refused(problem, message):
    with pytest.raises(tc.InputError, match=message):
        rounded(problem)


ROW = one_row([12, 13], {}, bounds=(0, 100))


def triangle() -> tc.ProtectionProblem:
    """An odd cycle, whose rounding needs two steps and a search tree."""
    return problem_of(
        ["a", "b", "c", "ab", "ac", "bc"],
        [1, 1, 1, 2, 2, 2],
        [[1, 1, 0, -1, 0, 0], [1, 0, 1, 0, -1, 0], [0, 1, 1, 0, 0, -1]],
        {},
    )


def claimed(problem=ROW, base=5, **options):
    return tc.controlled_rounding(problem, base=base, **options)


@pytest.mark.parametrize(
    ("problem", "base"), [(ROW, 5), (triangle(), 2), (cross([[3, 7], [11, 4]], {}), 3)]
)
def test_all_claims_of_a_rounding_hold_for_its_problem(problem, base):
    one = claimed(problem, base)
    names = [claim.kind for claim in one.certificates]
    assert names == ["additivity", "loss", "bound"]
    for claim in one.certificates:
        claim.verify(problem)


def test_a_rounding_with_two_steps_is_proved_by_its_search_tree():
    one = claimed(triangle(), 2)
    assert one.steps == 2
    assert one.bound == one.loss
    assert any("1 step is proved to be impossible" in note for note in one.notes)


def test_claims_do_not_hold_for_another_problem():
    other = one_row([13, 13], {}, bounds=(0, 100))
    failures = 0
    for claim in claimed().certificates:
        try:
            claim.verify(other)
        except tc.VerificationError:
            failures += 1
    assert failures


@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0, -1.0])
def test_altered_multipliers_prove_no_more_than_the_loss(factor):
    one = claimed()
    kept = one.bound_certificate
    altered = replace(one, bound_certificate=replace(kept, duals=factor * kept.duals))
    assert altered.proved_bound() <= one.loss + 1e-9


def test_without_multipliers_each_cell_alone_proves_its_distance():
    one = claimed()
    none = np.zeros_like(one.bound_certificate.duals)
    bare = replace(one, bound_certificate=replace(one.bound_certificate, duals=none))
    assert bare.proved_bound() == pytest.approx(one.unavoidable)


def test_small_counts_claim_protection_too():
    problem = cross([[1, 7], [11, 2]], {})
    one = tc.small_count_rounding(problem, base=3)
    assert next(claim.kind for claim in one.certificates) == "protection"
    for claim in one.certificates:
        claim.verify(one.problem)
