"""Charges of relations: a bound for all directions, which the certificate proves on its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.sparse import csr_array

import tablecloak as tc
from hand_tables import problem_of
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.model.answer import LossProof
from tablecloak.cta.search import charges, cold_regions
from tablecloak.cta.search.bounds import PartsBound, search_bound
from tablecloak.cta.search.charges import Combining, charge, combine
from tablecloak.cta.search.cold_regions import cool
from tablecloak.cta.search.directions import PROOFS, Size, start
from tablecloak.cta.search.phases import turn
from tablecloak.phases import Phase
from tight_forms import ENOUGH, form_of, state_of, values_of_directions


@pytest.fixture(autouse=True)
def fewer_steps(monkeypatch):
    """A bound is proved after any number of steps, and these tables are small."""
    monkeypatch.setattr(charges, "MOST_CHARGED_STEPS", 3000)


@pytest.mark.parametrize("seed", range(3))
def test_charges_prove_no_more_than_the_best_directions_lose(seed):
    problem = random_problem(seed, (3, 4), 4)
    state = charge(state_of(problem), Budget.of(ENOUGH))
    assert -np.inf < state.bound <= min(values_of_directions(form_of(problem)).values()) + 1e-9
    assert search_bound(state, None) is state.charged


@pytest.mark.parametrize("seed", range(2))
def test_charges_that_prove_less_than_is_known_are_not_kept(seed):
    state = start(state_of(random_problem(seed, (3, 4), 4)))
    state.bound = state.best.value
    charge(state, state.budget)
    assert state.charged is None
    assert state.bound == state.best.value


@pytest.mark.parametrize("seed", range(2))
def test_the_bound_of_an_adjustment_is_proved_by_charges_alone(seed, monkeypatch):
    phases = (Phase(charge), Phase(cool), Phase(turn))
    monkeypatch.setitem(PROOFS, Size.of(1, 1, 1), phases)
    monkeypatch.setattr(cold_regions, "COOLED_DRAWS", 2)
    problem = random_problem(seed, (3, 3, 3), 5)
    found = tc.adjust(problem, weights="relative", integer=False, time_limit=2)
    up = tc.adjust(problem, weights="relative", integer=False, directions="up").loss
    assert isinstance(found.bound_certificate, LossProof)
    assert 0 < found.bound <= found.loss <= up + 1e-9
    found.verify()
    assert found.proved_bound() == pytest.approx(found.bound)


def test_a_largest_change_has_no_charges():
    state = state_of(random_problem(1), maximum=True)
    assert charge(state, state.budget).charged is None


def test_nothing_is_charged_when_time_is_over():
    state = state_of(random_problem(1))
    state.total = Budget.of(0.0)
    assert charge(state, state.budget).charged is None


# -- sums of relations ----------------------------------------------------------------------


def two_totals(parts: int = 1) -> tc.ProtectionProblem:
    """Some tables with two totals S and W of the same two cells, so that W moves as S does."""
    one = np.array([[1.0, -1, -1, 0], [0, -1, -1, 1]])
    codes = [f"{code}{part}" for part in range(parts) for code in "SUVW"]
    levels = {f"S{part}": (5.0 + part, 5.0 + part) for part in range(parts)}
    relations = np.kron(np.eye(parts), one).tolist()
    return problem_of(codes, [90, 40, 50, 90] * parts, relations, levels)


COSTS = [1.0, 1.0, 1.0, 10.0]


def test_a_second_total_that_costs_much_is_charged_through_a_sum_of_relations():
    state = charge(start(state_of(two_totals(), weights=COSTS)), Budget.of(ENOUGH))
    assert state.form.loss(state.bound) == pytest.approx(5 + 5, rel=1e-3)
    combine(state, state.budget)
    assert state.form.loss(state.bound) == pytest.approx(5 + 5 + 50, rel=1e-3)
    assert state.charged.combined.shape == (1, 2)
    assert state.notes[-1] == "1 sums of relations"


@pytest.mark.parametrize("seed", [0, 2])
def test_sums_prove_no_more_than_the_best_directions_lose(seed):
    problem = random_problem(seed, (3, 3, 3), 4)
    cost = np.random.default_rng(seed).lognormal(0, 2, problem.table.n_cells)
    state = charge(start(state_of(problem, weights=cost)), Budget.of(ENOUGH))
    before = state.bound
    combine(state, state.budget)
    best = min(values_of_directions(state.form).values())
    assert before <= state.bound <= best + 1e-9


@pytest.mark.parametrize("parts", [1, 3])
def test_certificates_with_sums_of_relations_prove_their_bound(parts, monkeypatch):
    monkeypatch.setitem(PROOFS, Size.of(1, 1, 1), (Phase(charge), Phase(combine)))
    found = tc.adjust(two_totals(parts), weights=COSTS * parts, integer=False)
    assert isinstance(found.bound_certificate, PartsBound if parts > 1 else LossProof)
    found.verify()
    assert found.bound == pytest.approx(sum(12 * (5 + part) for part in range(parts)), rel=1e-3)
    assert found.loss == pytest.approx(found.bound, rel=1e-3)


def test_relations_with_fractions_are_not_added_up():
    problem = two_totals()
    table = problem.table
    thirds = tc.Table(table.keys, table.values, table.relations * 0.3, table.right_hand_side)
    thirded = problem.with_changes(table=thirds)
    state = charge(start(state_of(thirded, weights=COSTS)), Budget.of(ENOUGH))
    assert combine(state, state.budget).charged.combined is None


@pytest.mark.parametrize(("limit", "most"), [("MOST_TERMS", 5), ("MOST_WHOLE", 6.0)])
def test_no_more_sums_are_kept_than_the_verifier_reads(limit, most, monkeypatch):
    monkeypatch.setattr(charges, limit, most)
    state = charge(start(state_of(two_totals(), weights=COSTS)), Budget.of(ENOUGH))
    assert combine(state, state.budget).charged.combined is None
    assert not any("sums of relations" in note for note in state.notes)


TWO_TOTALS = csr_array(np.array([[1.0, -1, -1, 0], [0, -1, -1, 1]]))
"""s = u + v and w = u + v, so that s = w."""


def test_two_totals_of_the_same_cells_are_told_to_be_equal():
    moved = np.array([2.0, 1.0, 1.0, 0.5])
    combining = Combining(TWO_TOTALS, 10)
    found = combining.violated(moved, np.array([0, 0]), Budget.of())
    assert found.shape == (1, 2)
    assert np.abs((found @ TWO_TOTALS).toarray()).tolist() == [[1, 0, 0, 1]]
    # u alone may move as far as this, and s as far as w does.
    assert combining.violated(moved, np.array([1]), Budget.of()).shape == (0, 2)
    assert combining.violated(moved * [0.25, 1, 1, 1], np.array([0]), Budget.of()).shape == (0, 2)


def test_relations_farther_away_than_asked_for_are_left_out():
    moved = np.array([2.0, 1.0, 1.0, 0.5])
    assert Combining(TWO_TOTALS, 1).violated(moved, np.array([0]), Budget.of()).shape == (0, 2)


def test_nothing_is_looked_for_when_time_is_over():
    moved = np.array([2.0, 1.0, 1.0, 0.5])
    over = Budget.of(0.0)
    assert Combining(TWO_TOTALS, 10).violated(moved, np.array([0]), over).shape == (0, 2)


@pytest.mark.parametrize(("nearest", "at_least"), [(5, 5), (1000, 20)])
def test_sums_cut_the_point_off_and_no_additive_table(nearest, at_least):
    counted = 0
    for seed in range(6):
        relations = csr_array(random_problem(seed, (3, 3, 3), 5).table.relations)
        n, random = relations.shape[1], np.random.default_rng(seed)
        moved = random.lognormal(0, 2, n)
        found = Combining(relations, nearest).violated(moved, np.arange(n), Budget.of())
        terms = np.abs((found @ relations).toarray())
        assert np.array_equal(found.data, np.rint(found.data))
        excess = 2 * np.max(terms * moved, axis=1) - terms @ moved
        assert np.all(excess > 0)
        # Additive tables, some of which move few cells.
        space = null_space(relations.toarray())
        for z in (space @ random.normal(size=(space.shape[1], 20))).T:
            share = terms * np.abs(z)
            assert np.all(2 * np.max(share, axis=1) <= np.sum(share, axis=1) * (1 + 1e-9))
        counted += len(terms)
    assert counted > at_least
