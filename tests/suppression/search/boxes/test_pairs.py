"""Pairs of details: a first pattern of a sparse table needs no program, and is proved like any."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_levels, with_margins
from tablecloak.budget import Budget
from tablecloak.solve.linear import LinearSolver
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search.boxes import phases
from tablecloak.suppression.search.boxes.pattern import BoxFinder, BoxPattern, Grid
from tablecloak.suppression.search.closing import proved_pattern
from tablecloak.suppression.search.portfolio import build_by_programs
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement

TREES = {
    "region": {"n": {"n1": [], "n2": [], "n3": []}, "s": {"s1": [], "s2": []}, "w": {"w1": []}},
    "kind": {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"], "c": []},
    "size": {code: [] for code in "12345"},
    "form": {code: [] for code in "xyz"},
}


def sparse(seed: int) -> tc.ProtectionProblem:
    """One in seven details is not empty; small cells can lose all they have, and grow by 1."""
    random = np.random.default_rng(seed)
    trees = {name: tc.Hierarchy.from_dict(tree) for name, tree in TREES.items()}
    frame = pd.DataFrame(
        itertools.product(*(tree.leaves for tree in trees.values())), columns=list(trees)
    )
    frame = frame.assign(v=np.round(random.lognormal(0, 2, len(frame)) + 0.01, 2))
    frame = frame[random.random(len(frame)) < 0.15]
    table = with_margins(frame, trees, "v", digits=2, decimals=2)
    chosen = (table.values < np.median(table.values)) & (random.random(table.n_cells) < 0.5)
    problem = with_levels(table, np.where(chosen, 1.0, 0.0))
    return problem.with_changes(
        lower_bound=np.zeros(table.n_cells),
        upper_bound=2 * table.values + 100,
        lower_protection=np.minimum(problem.lower_protection, table.values),
    )


def refused(*_args, **_options):
    raise AssertionError("a program was solved")


@pytest.fixture
def state(monkeypatch) -> SearchState:
    """A table for which neither programs nor sums of boxes can be asked."""
    monkeypatch.setattr(phases, "is_ready", lambda *_: False)
    monkeypatch.setattr(LinearSolver, "solve", refused)
    return SearchState.of(sparse(3), Requirement.TWO_SIDED, "sequential")


def test_pairs_of_details_meet_what_no_box_does(state):
    grid = Grid.of(state.problem.table, state.system)
    weights = state.problem.weights[state.system.cells]
    boxes = BoxPattern(state.system, weights, state.must, partial(BoxFinder, grid))
    boxes.build(Budget.of())
    assert len(boxes.open) > 20
    nothing = Candidate(state.must, WitnessPool(state.system), weights)
    found = phases.finished(state, nothing, Budget.of(0.0))
    suppressed, proof = proved_pattern(state.problem, Requirement.TWO_SIDED, found)
    assert proof.verify().checked == state.problem.n_sensitive
    assert suppressed.sum() < state.system.n_unknown


def test_a_pattern_of_pairs_holds_against_an_audit():
    problem = sparse(4)
    state = SearchState.of(problem, Requirement.TWO_SIDED, "sequential")
    weights = problem.weights[state.system.cells]
    nothing = Candidate(state.must, WitnessPool(state.system), weights)
    found = phases.finished(state, nothing, Budget.of(0.0))
    suppressed, _ = proved_pattern(problem, Requirement.TWO_SIDED, found)
    assert tc.audit(problem, suppressed).is_safe


def test_a_first_pattern_takes_no_program_once_time_is_over(state):
    found = build_by_programs(state, Budget.of(0.0))
    assert found.best is not None
    assert found.best.is_proved
