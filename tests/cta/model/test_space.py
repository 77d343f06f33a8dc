"""The tables among which an adjustment is searched, in the unit in which it is solved."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import block_diag, csr_array

import tablecloak as tc
from hand_tables import by_code, one_row, problem_of, two_rows
from random_tables import optimum_by_enumeration, random_problem
from tablecloak.cta.model.precision import LastDigits
from tablecloak.cta.model.room import room_of
from tablecloak.cta.model.space import AdjustmentSpace, parts_of
from tablecloak.cta.search.bounds import PartsBound
from tablecloak.tables.protected_table import INTERRUPTED


def space_of(problem: tc.ProtectionProblem, decimals=None, limit=None) -> AdjustmentSpace:
    whole = decimals is not None
    problem = LastDigits.of(problem, decimals).problem if whole else problem
    weights = np.ones(problem.table.n_cells)
    return AdjustmentSpace.of(problem, weights=weights, limit=limit, whole=whole)


def test_a_table_with_decimals_is_asked_about_in_its_last_digit():
    problem = one_row([1.25, 2.5], {"a": (0.031, 0.05)}, bounds=(0.001, 10.009))
    space = space_of(problem, decimals=2)
    work = space.problem
    assert work.table.values.tolist() == [125, 250, 375]
    # Levels are rounded up, bounds inwards.
    assert (work.lower_protection[0], work.upper_protection[0]) == (4, 5)
    assert (work.lower_bound[0], work.upper_bound[0]) == (1, 1000)
    assert space.room.up[0] == 875


def test_values_that_are_no_multiples_of_the_last_digit_are_refused():
    with pytest.raises(tc.InputError, match="not multiples of 0.1"):
        space_of(one_row([1.25, 2.5], {"a": (1, 1)}), decimals=1)


def test_the_limit_is_rounded_down_to_the_last_digit():
    problem = one_row([1.25, 2.5], {"a": (0.03, 0.05)}, bounds=(0, 10))
    assert space_of(problem, decimals=2, limit=1.5).room.up[0] == 7
    assert space_of(problem, limit=1.5).room.up[0] == pytest.approx(0.075)


def test_parts_are_numbered_and_what_cannot_move_has_none():
    problem = two_rows([5, 6], [8, 9], {"a": (1, 1), "A": (1, 1)}, frozen=["B"])
    part = by_code(problem, space_of(problem).parts)
    assert part["a"] == part["b"] == part["T"] != part["A"] == part["S"]
    assert part["B"] == -1


def test_the_space_of_a_part_freezes_all_other_cells():
    problem = two_rows([5, 6], [8, 9], {"a": (1, 2), "A": (3, 4)})
    space = space_of(problem)
    alone = space.part(space.parts == space.parts[0])
    assert alone.problem.status.tolist() == ["u", "s", "s", "z", "z", "z"]
    assert alone.problem.n_sensitive == 1
    assert by_code(problem, alone.room.up)["A"] == 0
    assert alone.model.n_groups == 3
    assert alone.weights is space.weights


def test_any_selection_of_relations_may_be_used():
    problem = two_rows([5, 6], [8, 9], {"a": (1, 2), "A": (3, 4)})
    space = space_of(problem)
    assert space.model.independent.tolist() == [0, 1]
    assert replace(space.model, selected=np.array([1])).rows.matrix.shape[0] == 1


def side_by_side(*problems: tc.ProtectionProblem) -> tc.ProtectionProblem:
    """One problem over tables that have no cell in common."""
    n = sum(problem.table.n_cells for problem in problems)
    table = tc.Table(
        keys=pd.DataFrame({"cell": [str(cell) for cell in range(n)]}),
        values=np.concatenate([problem.table.values for problem in problems]),
        relations=csr_array(block_diag([problem.table.relations for problem in problems])),
        right_hand_side=np.concatenate([problem.table.right_hand_side for problem in problems]),
    )
    names = [
        "status", "lower_protection", "upper_protection", "sliding_protection", "lower_bound",
        "upper_bound", "weights",
    ]  # fmt: skip
    arrays = {
        name: np.concatenate([getattr(problem, name) for problem in problems]) for name in names
    }
    return tc.ProtectionProblem(table=table, **arrays)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("integer", [False, None])
def test_loss_and_bound_of_tables_side_by_side_are_sums(seed, integer):
    alone = [random_problem(seed + at, (2, 3), 3) for at in (0, 50, 100)]
    adjusted = tc.adjust(side_by_side(*alone), weights="relative", integer=integer, time_limit=20)
    assert "3 parts that no relation connects" in adjusted.notes[0]
    apart = [tc.adjust(problem, integer=integer, time_limit=20) for problem in alone]
    assert adjusted.loss == pytest.approx(sum(one.loss for one in apart), rel=1e-6)
    assert adjusted.bound == pytest.approx(sum(one.bound for one in apart), rel=1e-6)
    assert adjusted.is_optimal
    if integer is False:
        expected = [
            optimum_by_enumeration(problem, tc.WeightRule.RELATIVE.of(problem)) for problem in alone
        ]
        assert adjusted.loss == pytest.approx(sum(expected), rel=1e-6)


def test_a_table_with_frozen_totals_stays_in_one_piece():
    """What goes up in one year goes down in another, so that years cannot be adjusted apart."""
    problem = random_problem(1, (3, 2, 4), 4)
    years = (problem.table.keys["d0"] == "Total").to_numpy()
    frozen = problem.with_changes(status=np.where(years, "z", problem.status))
    adjusted = tc.adjust(frozen, weights="unit", integer=False, time_limit=10)
    part = parts_of(frozen, adjusted.room)
    assert set(part[years]) == {-1}
    assert set(part[~years]) == {0}
    assert not any("parts" in note for note in adjusted.notes)


def test_squares_of_parts_add_up_too():
    alone = [random_problem(seed, (2, 3), 2) for seed in (3, 4)]
    adjusted = tc.adjust(side_by_side(*alone), distance="L2", time_limit=10)
    apart = [tc.adjust(problem, distance="L2", time_limit=5) for problem in alone]
    assert adjusted.loss == pytest.approx(sum(one.loss for one in apart), rel=1e-4)
    assert adjusted.bound <= adjusted.loss * (1 + 1e-9)


def test_proofs_of_other_parts_are_refused():
    problem = side_by_side(*(random_problem(seed, (2, 3), 2) for seed in (5, 6)))
    adjusted = tc.adjust(problem, integer=False, time_limit=10)
    proof = adjusted.bound_certificate
    assert isinstance(proof, PartsBound)
    assert adjusted.proved_bound() == pytest.approx(adjusted.bound)
    # Whatever multipliers are given for a part, they prove no more than is true of it.
    first = proof.certificates[0]
    for certificates in (proof.certificates[::-1], (first, first)):
        altered = replace(adjusted, bound_certificate=replace(proof, certificates=certificates))
        with contextlib.suppress(tc.VerificationError):
            assert altered.proved_bound() <= adjusted.loss * (1 + 1e-9)
    for numbers in (proof.numbers[:1] * 2, (0, 7), proof.numbers[:1]):
        altered = replace(adjusted, bound_certificate=replace(proof, numbers=numbers))
        with pytest.raises(tc.VerificationError, match="not those that were proved"):
            altered.verify()
    with pytest.raises(tc.VerificationError, match="is claimed, but only"):
        replace(adjusted, bound=adjusted.bound * 1.01).verify()


def test_one_impossible_part_is_named():
    possible, other = (random_problem(seed, (2, 3), 2) for seed in (7, 8))
    impossible = other.with_changes(capacity_up=0.0, capacity_down=0.0)
    joined = side_by_side(possible, other).with_changes(
        capacity_up=np.append(np.full(possible.table.n_cells, np.inf), impossible.capacity_up),
        capacity_down=np.append(np.full(possible.table.n_cells, np.inf), impossible.capacity_down),
    )
    with pytest.raises(tc.ModelError) as caught:
        tc.adjust(joined, time_limit=10)
    assert np.all(np.asarray(caught.value.cells) >= possible.table.n_cells)


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interruption_keeps_what_all_parts_have(threads):
    problem = side_by_side(*(random_problem(seed, (3, 4), 6) for seed in range(4)))
    calls = []

    def interrupt(*report):
        calls.append(report)
        raise KeyboardInterrupt

    adjusted = tc.adjust(problem, integer=False, time_limit=60, threads=threads, progress=interrupt)
    adjusted.verify()
    assert adjusted.notes.count(INTERRUPTED) == 1
    assert len(calls) == 1


@pytest.mark.parametrize("distance", ["L1", "L2"])
def test_the_answer_does_not_depend_on_the_number_of_threads(distance):
    problem = side_by_side(*(random_problem(seed, (3, 4), 5) for seed in range(4)))
    one, more = (
        tc.adjust(problem, distance=distance, integer=False, time_limit=600, threads=threads)
        for threads in (1, 4)
    )
    assert np.array_equal(one.values, more.values)
    assert (one.loss, one.bound, one.notes) == (more.loss, more.bound, more.notes)


@pytest.mark.parametrize("seed", range(3))
def test_parts_are_the_components_of_cells_that_share_relations(seed):
    random = np.random.default_rng(seed)
    n = 12
    relations = (random.random((6, n)) < 0.2).astype(float)
    frozen = [str(cell) for cell in range(n) if random.random() < 0.2]
    problem = problem_of([str(c) for c in range(n)], [0.0] * n, relations.tolist(), {},
                         frozen=frozen, bounds=(-5, 5))  # fmt: skip
    part = parts_of(problem, room_of(problem, limit=None))
    graph = nx.Graph()
    movable = [cell for cell in range(n) if str(cell) not in frozen]
    graph.add_nodes_from(movable)
    for row in relations:
        together = [cell for cell in np.flatnonzero(row).tolist() if cell in movable]
        graph.add_edges_from(itertools.pairwise(together))
    for one in range(n):
        assert (part[one] < 0) == (str(one) in frozen)
        for other in movable:
            if one in movable:
                assert (part[one] == part[other]) == nx.has_path(graph, one, other)
