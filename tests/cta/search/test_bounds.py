"""What a search keeps of its proofs, and what is made of it from the space alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, one_row, two_rows
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.search.bounds import DistanceBound, PartsBound, SquaresBound, search_bound
from tablecloak.cta.search.directions import search_directions
from tablecloak.cta.search.state import given
from tight_forms import ENOUGH, form_of, state_of

SIDE_BY_SIDE = two_rows([50, 60], [70, 80], {"a": (3, 5), "A": (7, 9)})


def adjusted(problem, **options) -> tc.Adjustment:
    return tc.adjust(problem, weights="unit", integer=False, **options)


@pytest.mark.parametrize(
    ("distance", "kind"), [("L1", DistanceBound), ("Linf", DistanceBound), ("L2", SquaresBound)]
)
def test_each_distance_keeps_multipliers_of_its_kind(distance, kind):
    one = adjusted(random_problem(1), distance=distance)
    assert type(one.bound_certificate) is kind
    assert one.proved_bound() == pytest.approx(one.bound)


@pytest.mark.parametrize("distance", ["L1", "L2"])
def test_parts_keep_a_proof_each_and_their_bounds_add_up(distance):
    one = adjusted(SIDE_BY_SIDE, distance=distance)
    kept = one.bound_certificate
    assert isinstance(kept, PartsBound)
    assert len(kept.certificates) == 2
    loss_proof = kept.loss_proof(one.space, one.changes)
    assert len(loss_proof.trees) == 2
    part = by_code(SIDE_BY_SIDE, loss_proof.part)
    assert part["a"] == part["b"] == part["T"] != part["A"] == part["B"] == part["S"]
    # Each part moves by its lower level twice.
    assert one.bound == pytest.approx({"L1": 2 * 3 + 2 * 7, "L2": one.bound}[distance])


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: replace(kept, numbers=kept.numbers[:1] * 2),
        lambda kept: replace(kept, numbers=(*kept.numbers[:1], 99)),
        lambda kept: replace(kept, certificates=kept.certificates[:1]),
    ],
)
def test_parts_that_are_not_those_that_were_proved_are_refused(change):
    one = adjusted(SIDE_BY_SIDE)
    wrong = change(one.bound_certificate)
    with pytest.raises(tc.VerificationError, match="not those that were proved. Check that"):
        wrong.loss_proof(one.space, one.changes)


def test_a_bound_for_given_directions_names_them():
    one = adjusted(SIDE_BY_SIDE, directions=[1, -1])
    loss_proof = one.bound_certificate.loss_proof(one.space, one.changes)
    assert by_code(SIDE_BY_SIDE, loss_proof.direction) == {
        "a": 1, "b": 0, "T": 0, "A": -1, "B": 0, "S": 0,
    }  # fmt: skip
    assert one.bound == pytest.approx(2 * 5 + 2 * 7)


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.99, 1.01, 2.0, -1.0])
@pytest.mark.parametrize("distance", ["L1", "L2", "Linf"])
def test_no_multiple_of_the_multipliers_proves_more_than_the_loss(factor, distance):
    one = adjusted(random_problem(2), distance=distance, directions="up")
    kept = one.bound_certificate
    altered = replace(one, bound_certificate=replace(kept, duals=factor * kept.duals), bound=0.0)
    assert altered.proved_bound() <= one.loss * (1 + 1e-9)


def test_without_multipliers_the_levels_alone_are_proved():
    one = adjusted(one_row([50, 60], {"a": (3, 5)}), directions="up")
    none = replace(one.bound_certificate, duals=np.zeros_like(one.bound_certificate.duals))
    bare = replace(one, bound_certificate=none)
    assert bare.proved_bound() == pytest.approx(5)
    assert one.proved_bound() == pytest.approx(10)


def test_without_any_certificate_a_table_proves_that_losses_are_not_negative():
    one = replace(adjusted(one_row([50, 60], {"a": (3, 5)})), bound_certificate=None)
    assert 0 <= one.proved_bound() <= one.loss


def space_of(problem) -> AdjustmentSpace:
    return AdjustmentSpace.of(problem, weights=np.ones(problem.table.n_cells), limit=None)


@pytest.mark.parametrize("seed", range(2))
def test_a_tree_is_the_proof_where_there_is_one(seed):
    problem = random_problem(seed, (3, 4), 4)
    state = search_directions(form_of(problem), Budget.of(ENOUGH))
    proof = search_bound(state, None)
    assert proof.tree is state.tree is not None
    assert proof.directions is None
    loss_proof = proof.loss_proof(space_of(problem), state.form.changes(state.best.x))
    assert len(loss_proof.trees) == 1
    assert not loss_proof.direction.any()
    assert np.all(loss_proof.part == 0)


def test_multipliers_of_given_directions_refer_to_them():
    problem = random_problem(1)
    state, y = state_of(problem), np.array([1.0, 0.0, 1.0])
    given(state, y)
    proof = search_bound(state, y)
    assert proof.tree is None
    assert proof.directions is y
    loss_proof = proof.loss_proof(space_of(problem), state.form.changes(state.best.x))
    assert loss_proof.direction[problem.sensitive].tolist() == [1, -1, 1]
    assert not loss_proof.direction[~problem.sensitive].any()


def test_without_any_multipliers_the_relaxation_is_solved_for_them():
    problem = random_problem(1)
    proof = search_bound(state_of(problem), None)
    assert len(proof.duals) == form_of(problem).program.n_rows


def test_the_program_of_a_proof_is_built_anew_from_the_space():
    problem = random_problem(2, (3, 4), 4)
    state = search_directions(form_of(problem), Budget.of(ENOUGH))
    rebuilt = search_bound(state, None).form(space_of(problem)).program
    kept = state.proved.program
    assert np.array_equal(rebuilt.matrix.toarray(), kept.matrix.toarray())
    assert np.array_equal(rebuilt.row_lower, kept.row_lower)
    assert np.array_equal(rebuilt.cost, kept.cost)
