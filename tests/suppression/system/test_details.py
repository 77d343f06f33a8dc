"""Details of a table: moved with all their totals, they prove what everything hidden protects."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from hand_tables import problem_of
from margins import with_levels, with_margins
from tablecloak.budget import Budget
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.external_bounds import with_finite_bounds
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.system.details import Details
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System

TREES = {
    "region": {"n": {"n1": [], "n2": [], "n3": []}, "s": {"s1": [], "s2": []}},
    "kind": {"a": ["a1", "a2", "a3"], "b": ["b1", "b2"], "c": []},
}


def unbounded(seed: int) -> tc.ProtectionProblem:
    """No value is negative, and none has an upper bound."""
    random = np.random.default_rng(seed)
    trees = {name: tc.Hierarchy.from_dict(tree) for name, tree in TREES.items()}
    frame = pd.DataFrame(
        itertools.product(*(tree.leaves for tree in trees.values())), columns=list(trees)
    )
    frame = frame.assign(v=np.round(random.lognormal(2, 1.5, len(frame)), 2))
    table = with_margins(frame[random.random(len(frame)) < 0.8], trees, "v", digits=2, decimals=2)
    chosen = random.random(table.n_cells) < 0.5
    problem = with_levels(table, np.where(chosen, random.uniform(0.1, 1.0) * table.values, 0.0))
    return problem.with_changes(
        lower_bound=np.zeros(table.n_cells), upper_bound=np.full(table.n_cells, np.inf)
    )


def system_of(problem: tc.ProtectionProblem) -> System:
    return System.of(problem, needs_of(problem, Requirement.TWO_SIDED), ~problem.frozen)


@pytest.mark.parametrize("seed", range(4))
def test_where_values_can_only_be_positive_details_meet_every_need(seed):
    system = system_of(unbounded(seed))
    pool = WitnessPool(system)
    assert not pool.take_exact(Details.of(system).witnesses(system))
    assert not np.any(pool.open)


def test_a_detail_in_a_relation_of_unequal_coefficients_is_left_out():
    relations = [[1, 1, 1, 0, -1], [2, 0, 0, -1, 0]]
    problem = problem_of("abcdt", [3, 4, 5, 6, 12], relations, {"a": (1, 1), "b": (1, 1)})
    system = system_of(problem)
    details = Details.of(system)
    assert set(details.cells.tolist()) == {1, 2}
    assert not np.any((system.matrix @ details.above.T).toarray())


def test_finite_bounds_of_sums_take_no_program(monkeypatch):
    def refused(*_args, **_options):
        raise AssertionError("a program was solved")

    monkeypatch.setattr(Attack, "push", refused)
    monkeypatch.setattr(Attack, "extreme", refused)
    problem = unbounded(5)
    finite = with_finite_bounds(problem, Requirement.TWO_SIDED, Budget.of()).problem
    assert np.all(np.isfinite(finite.upper_bound))
    assert np.all(finite.upper_bound > finite.table.values)
