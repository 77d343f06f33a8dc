"""A proof of protection: what it holds, what it says of tables that exist, and forgeries of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

import tablecloak as tc
from hand_tables import one_row, place, problem_of, two_rows
from random_tables import random_problem
from tablecloak.suppression.attack.intruder import Knowledge
from tablecloak.suppression.proof.proof import (
    MOST_LETTERS,
    InsiderClaim,
    ProtectionCertificate,
    is_outside,
    least_asked,
)
from tablecloak.suppression.system.needs import needs_of

TWO_SIDED = tc.Requirement.TWO_SIDED
NONE = np.zeros(0, dtype=np.int64)


def by_hand(
    problem: tc.ProtectionProblem, hidden: str, moves: list[dict[str, float]], **given
) -> ProtectionCertificate:
    """A proof with one witness for each side: the first moves up, the last one down."""
    n, n_sensitive = problem.table.n_cells, problem.n_sensitive
    deviations = np.zeros((len(moves), n))
    for row, move in enumerate(moves):
        for code, by in move.items():
            deviations[row, place(problem, code)] = by
    suppressed = np.zeros(n, dtype=bool)
    suppressed[[place(problem, code) for code in hidden]] = True
    return ProtectionCertificate(
        problem=problem,
        suppressed=suppressed,
        requirement=given.pop("requirement", TWO_SIDED),
        deviations=csr_array(deviations),
        upper_witness=np.zeros(n_sensitive, dtype=np.int64),
        lower_witness=np.full(n_sensitive, len(moves) - 1),
        **given,
    )


UP, DOWN = {"a": 2.0, "b": -2.0}, {"a": -2.0, "b": 2.0}


@pytest.fixture(scope="module")
def row() -> tc.ProtectionProblem:
    """a + b + c = Total with a sensitive by 2 on each side."""
    return one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)})


@pytest.fixture(scope="module")
def proof(row) -> ProtectionCertificate:
    return by_hand(row, "ab", [UP, DOWN])


def test_two_hidden_cells_of_a_sum_protect_each_other_and_that_is_checked_exactly(proof):
    found = proof.verify()
    assert (found.checked, found.relations, found.bounds, found.exact) == (1, 0.0, 0.0, True)


@pytest.mark.parametrize(
    ("hidden", "moves", "said", "cells"),
    [
        ("bc", [{"b": 2.0, "c": -2.0}], r"1 cells must be suppressed but are published: .*a", "a"),
        ("ac", [UP, DOWN], r"1 cells are published but differ in a witness: .*b", "b"),
        ("ab", [{"a": 2.0}, DOWN], "breaks a relation by 2", ""),
        ("ab", [{"a": 2.0, "b": -1.999}, DOWN], "breaks a relation by 0.001", ""),
        ("ab", [{"a": 8.0, "b": -8.0}, DOWN], "breaks an external bound by 1", "b"),
        ("ab", [UP, {"a": -6.0, "b": 6.0}], "breaks an external bound by 1", "a"),
        ("ab", [{"a": 1.9, "b": -1.9}, DOWN], r"1 sensitive cells are not proved .*a", "a"),
        ("ab", [DOWN, UP], r"1 sensitive cells are not proved .*a", "a"),
        ("ab", [UP], r"1 sensitive cells are not proved .*a", "a"),
        ("ab", [{"a": np.nan}, DOWN], "holds an entry that is not a number", ""),
        ("ab", [{"a": np.inf, "b": -np.inf}, DOWN], "holds an entry that is not a number", ""),
    ],
)
def test_a_forged_proof_is_refused_and_the_cell_is_named(row, hidden, moves, said, cells):
    with pytest.raises(tc.VerificationError, match=said) as error:
        by_hand(row, hidden, moves).verify()
    assert error.value.cells == tuple(place(row, code) for code in cells)


def test_a_frozen_cell_cannot_be_hidden_by_a_proof():
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)}, frozen=["b"])
    with pytest.raises(tc.VerificationError, match=r"are frozen but suppressed: .*b"):
        by_hand(problem, "ab", [UP, DOWN]).verify()


@pytest.mark.parametrize("number", [-2, 2, 99])
def test_a_witness_that_the_proof_does_not_hold_is_refused(proof, number):
    forged = replace(proof, upper_witness=np.array([number]))
    with pytest.raises(tc.VerificationError, match="witnesses that it does not hold"):
        forged.verify()


def test_as_many_witnesses_are_named_as_there_are_sensitive_cells(proof):
    with pytest.raises(tc.VerificationError, match="witnesses that it does not hold"):
        replace(proof, lower_witness=np.array([1, 1])).verify()


def test_a_proof_for_a_table_of_another_size_is_refused(proof):
    wider = csr_array((2, 5))
    with pytest.raises(tc.VerificationError, match="are for 5 cells, but the table has 4"):
        replace(proof, deviations=wider).verify()


def test_entries_of_a_witness_that_are_given_twice_are_added_up(row, proof):
    """A forger can write a move in two parts, of which each check would see another one."""
    up = csr_array(
        (np.array([1.0, 1.0, -2.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 4)
    )
    down = proof.deviations[[1], :]
    assert replace(proof, deviations=csr_array(vstack([up, down]))).verify().exact
    torn = csr_array(
        (np.array([2.0, -1.0, -2.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 4)
    )
    with pytest.raises(tc.VerificationError, match="breaks a relation by 1"):
        replace(proof, deviations=csr_array(vstack([torn, down]))).verify()


def test_no_proof_counts_for_a_level_beyond_what_everybody_knows():
    """a is 1 and at least 0, as everybody knows, so that -1 can never seem possible."""
    problem = one_row([1.0, 7.0, 9.0], {"a": (2.0, 2.0)})
    with pytest.raises(tc.ModelError, match=r"code=a.*possible from -1 to 3.*lies in \[0") as error:
        by_hand(problem, "ab", [UP, {"a": -1.0, "b": 1.0}]).verify()
    assert error.value.cells == (place(problem, "a"),)


def test_the_requirement_says_which_side_must_be_proved(row):
    for requirement, moves in (("upper", [UP]), ("width", [{"a": 4.0, "b": -4.0}])):
        one_sided = by_hand(row, "ab", moves, requirement=tc.Requirement.parse(requirement))
        assert replace(one_sided, lower_witness=np.array([-1])).verify().checked == 1
        with pytest.raises(tc.VerificationError, match="not proved"):
            replace(one_sided, lower_witness=np.array([-1]), requirement=TWO_SIDED).verify()


REAL = np.pi
"""A coefficient that is no decimal number, so that no sum of products is certainly 0."""


def real_row() -> tc.ProtectionProblem:
    """Pi times a, and b, add up to c."""
    return problem_of("abc", [5.0, 70.0, 5 * REAL + 70], [[REAL, 1.0, -1.0]], {"a": (2.0, 2.0)})


def test_relations_with_real_coefficients_are_kept_up_to_a_share_of_the_level():
    up, down = {"a": 2.0, "b": -2 * REAL}, {"a": -2.0, "b": 2 * REAL}
    found = by_hand(real_row(), "ab", [up, down]).verify()
    assert not found.exact
    assert found.relations <= 1e-9 * 2
    wrong = up | {"b": -2 * REAL * (1 + 1e-7)}
    with pytest.raises(tc.VerificationError, match="breaks a relation by"):
        by_hand(real_row(), "ab", [wrong, down]).verify()


def test_a_witness_that_proves_a_tiny_level_must_be_as_exact_as_that_level():
    """What is no error beside one cell's level is all of the level of another one."""
    up, down = {"a": 2.0, "b": -2 * REAL + 1e-9}, {"a": -2.0, "b": 2 * REAL}
    assert not by_hand(real_row(), "ab", [up, down]).verify().exact
    tiny = problem_of("abc", [5.0, 70.0, 5 * REAL + 70], [[REAL, 1.0, -1.0]], {"a": (1e-3, 1e-3)})
    with pytest.raises(tc.VerificationError, match="breaks a relation by 1e-09"):
        by_hand(tiny, "ab", [up, down]).verify()


def test_least_distances_leave_out_sides_of_which_nothing_is_asked():
    problem = two_rows([5.0, 7.0], [5.0, 7.0], {"a": (0.0, 3.0), "A": (2.0, 4.0)})
    asked = needs_of(problem, TWO_SIDED)
    assert sorted(least_asked(asked).tolist()) == [2.0, 3.0]


def test_a_move_passes_its_room_only_beyond_the_last_digit_and_a_share_of_the_room():
    low, high = np.array([-1.0, -1.0, 0.0]), np.array([1.0, 1e-12, 0.0])
    slack = (np.full(3, 1e-6), np.full(3, 1e-6))
    inside = np.array([1.0, 1e-12, 0.0])
    assert not is_outside(inside, low, high, slack).any()
    # A cell without any room has no tolerance, however large its own rounding error is.
    assert is_outside(np.array([1.1, 1e-6, 1e-9]), low, high, slack).all()


def insider(row: tc.ProtectionProblem, code: str, low: float, high: float, **given) -> InsiderClaim:
    """A claim that relies on the witnesses for outsiders."""
    cells = np.array([place(row, code)])
    known = Knowledge(given.pop("name", "b's owner"), cells, np.array([low]), np.array([high]))
    return InsiderClaim(known, NONE, NONE, NONE, **given)


def test_witnesses_that_an_insider_can_rule_out_prove_nothing_against_him(row, proof):
    assert replace(proof, insiders=(insider(row, "b", 4.0, 10.0),)).verify().checked == 1
    for low, high in ((7.0, 7.0), (6.0, 10.0), (4.0, 8.0)):
        claimed = replace(proof, insiders=(insider(row, "b", low, high),))
        with pytest.raises(tc.VerificationError, match=r"not proved to be protected against b's"):
            claimed.verify()


def test_a_claim_that_leaves_a_cell_out_says_nothing_of_it(row, proof):
    left_out = insider(row, "b", 7.0, 7.0, open=np.array([0]))
    assert replace(proof, insiders=(left_out,)).verify().checked == 1


def test_a_witness_of_its_own_proves_a_cell_against_an_insider(row):
    """Who knows b cannot rule out that a and c differ."""
    moves = [UP, {"a": 2.0, "c": -2.0}, {"a": -2.0, "c": 2.0}, DOWN]
    known = Knowledge("b's owner", np.array([1]), np.array([7.0]), np.array([7.0]))
    claim = InsiderClaim(known, np.array([0]), np.array([1]), np.array([2]))
    assert by_hand(row, "abc", moves, insiders=(claim,)).verify().checked == 1
    swapped = replace(claim, upper_witness=np.array([2]), lower_witness=np.array([1]))
    with pytest.raises(tc.VerificationError, match="against b's owner"):
        by_hand(row, "abc", moves, insiders=(swapped,)).verify()


def test_what_an_insider_is_said_to_know_must_be_true(row, proof):
    with pytest.raises(tc.VerificationError, match="bounds of intruder liar exclude the truth"):
        replace(proof, insiders=(insider(row, "b", 8.0, 10.0, name="liar"),)).verify()


def test_a_level_is_cut_to_what_an_insider_left_open_before(row, proof):
    """Who knows that a is at least 4 cannot be shown less, whatever is published."""
    up, down = UP, {"a": -1.0, "b": 1.0}
    claim = insider(row, "a", 4.0, 100.0)
    own = replace(claim, index=np.array([0]), upper_witness=np.array([0]),
                  lower_witness=np.array([1]))  # fmt: skip
    assert by_hand(row, "ab", [up, down, DOWN], insiders=(own,)).verify().checked == 1


def test_insiders_of_one_name_are_told_apart_and_empty_claims_are_left_out(row, proof):
    long = "x" * (MOST_LETTERS + 5)
    names = ["shop", "shop", long, long, "\0", ""]
    claims = [insider(row, "b", 4.0, 10.0, name=name) for name in names]
    knows_nothing = insider(row, "b", 0.0, 1000.0, name="everybody")
    arrays = replace(proof, insiders=(*claims, knows_nothing)).arrays()
    written = arrays["intruder_names"].tolist()
    assert written[:2] == ["shop", "shop (2)"]
    assert written[4:] == ["unnamed", "unnamed (2)"]
    assert len(set(written)) == len(names)
    assert max(map(len, written)) == MOST_LETTERS
    assert len(arrays["intruder_starts"]) == len(names) + 1


def test_pairs_that_are_left_out_are_arrays_only_where_there_are_any(row, proof):
    claim = insider(row, "b", 4.0, 10.0)
    assert "open_index" not in replace(proof, insiders=(claim,)).arrays()
    arrays = replace(proof, insiders=(claim, replace(claim, open=np.array([0])))).arrays()
    assert arrays["open_starts"].tolist() == [0, 0, 1]
    assert arrays["open_index"].tolist() == [0]


@pytest.mark.parametrize("seed", range(2))
def test_every_table_between_a_witness_and_the_truth_keeps_relations_and_bounds(seed):
    """Powers of two, because no product with them has a rounding error."""
    problem = random_problem(seed)
    proof = tc.suppress(problem, method="sequential", time_limit=1).certificate
    for power in (0, -1, -5, -20):
        replace(proof, deviations=csr_array(2.0**power * proof.deviations)).check_witnesses()
    beyond = replace(proof, deviations=csr_array(2.0**20 * proof.deviations))
    with pytest.raises(tc.VerificationError, match="external bound"):
        beyond.check_witnesses()


def test_a_sum_that_is_wrong_by_less_than_a_float_can_tell_is_not_called_right():
    """As floats, 0.1 + 0.2 - 0.3 is not 0, and 1e17 + 1 - 1e17 is 0: exact sums say otherwise."""
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)}, bounds=(-1e18, 1e18))
    lost = {"a": 2.0, "b": 1e17, "c": -1e17}
    with pytest.raises(tc.VerificationError, match="breaks a relation by less than a float tells"):
        by_hand(problem, "abc", [lost, DOWN]).verify()


@pytest.mark.parametrize("seed", range(2))
def test_a_proof_holds_for_every_smaller_level_and_for_no_larger_one_than_it_reaches(seed):
    problem = random_problem(seed)
    proof = tc.suppress(problem, method="sequential", time_limit=1).certificate
    levels = problem.lower_protection, problem.upper_protection
    for share, holds in ((0.5, True), (1.0, True), (1000.0, False)):
        changed = problem.with_changes(
            lower_protection=share * levels[0], upper_protection=share * levels[1]
        )
        claimed = replace(proof, problem=changed)
        if holds:
            assert claimed.verify().checked == problem.n_sensitive
        else:
            with pytest.raises((tc.VerificationError, tc.ModelError)):
                claimed.verify()
