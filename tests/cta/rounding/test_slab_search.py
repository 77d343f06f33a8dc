"""Rounding of large tables, tried on small ones beside a complete search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from cubes import NESTED, cube
from tablecloak.budget import Budget
from tablecloak.certificates.file import write_certificate
from tablecloak.cli.main import app
from tablecloak.cta.rounding import slab_search
from tablecloak.cta.rounding.slab_search import SlabSearch, StepCosts, rounded_in_parts
from tablecloak.cta.rounding.slabs import Slabs
from tablecloak.cta.rounding.task import RoundingTask
from tight_forms import ENOUGH


@pytest.fixture
def in_slabs(monkeypatch):
    monkeypatch.setattr(slab_search, "LARGE", 0)


def by_a_tree(problem, base):
    return tc.controlled_rounding(problem, base=base, time_limit=1000)


@pytest.mark.parametrize("seed", range(6))
def test_slabs_take_one_step_where_a_complete_search_does(seed, monkeypatch):
    problem = cube((3, 3, 3), seed)
    exact = by_a_tree(problem, 5)
    monkeypatch.setattr(slab_search, "LARGE", 0)
    found = by_a_tree(problem, 5)
    assert found.steps == exact.steps == 1
    assert found.bound - 1e-6 <= exact.loss <= found.loss
    assert (found.exceptions, found.zero_restricted) == (0, 1.0)
    assert not np.any(problem.table.relations @ found.values)


def test_exceptions_are_counted_and_told(in_slabs):
    problem = cube((3, 3, 3), 2)
    found = by_a_tree(problem, 5)
    values = found.values.copy()
    multiple = int(np.flatnonzero(problem.table.values % 5 == 0)[0])
    values[multiple] += 5
    worse = replace(found, values=values, steps=2)
    assert worse.exceptions == 1
    assert worse.zero_restricted == 1 - 1 / problem.table.n_cells
    assert "1 cells with more than one" in worse.summary()


@pytest.mark.parametrize("base", [2, 3, 10])
def test_bounds_and_additivity_hold_with_absent_cells_and_hierarchies(base, in_slabs):
    trees = {"a": {"a1": ["x", "y"], "a2": ["u", "v"]}, "b": ["p", "q", "r"], "c": ["s", "t"]}
    found = by_a_tree(cube(trees, seed=base, zeros=0.2), base)
    found.verify()
    assert 0 < found.bound <= found.loss
    assert len(found.notes) == found.steps - 1


def test_the_certificate_of_a_large_rounding_is_checked_from_files_alone(in_slabs, tmp_path):
    problem = cube((4, 3, 3), 4)
    found = by_a_tree(problem, 5)
    proof, table = tmp_path / "certificate.npz", tmp_path / "problem.jj"
    tc.write_jj(problem, table)
    write_certificate(found, proof)
    done = CliRunner().invoke(app, ["verify", str(proof), str(table)])
    assert done.exit_code == 0, done.output
    assert f"{found.loss:g}" in done.output


def test_searches_go_on_while_exceptions_are_left_and_the_best_one_counts(in_slabs, monkeypatch):
    problem, searches = cube((3, 3, 3), 1), []
    search = slab_search.rounded_in_parts

    def with_exception(slabs, costs, start, budget):
        t = search(slabs, costs, start, budget)
        searches.append(t)
        if len(searches) == 3:
            return t
        leaf = int(np.flatnonzero(slabs.is_leaf)[len(searches)])
        return slabs.added_up(np.where(np.arange(len(t)) == leaf, costs.high + 1, t))

    monkeypatch.setattr(slab_search, "rounded_in_parts", with_exception)
    found = by_a_tree(problem, 5)
    assert len(searches) == 3
    assert found.exceptions == 0
    assert np.array_equal(found.values, 5 * searches[2])


def test_a_table_of_multiples_is_its_own_rounding_in_slabs_too(in_slabs):
    problem = cube((3, 3, 3), 1)
    table = replace(problem.table, values=5 * problem.table.values)
    found = by_a_tree(problem.with_changes(table=table), 5)
    assert np.array_equal(found.values, table.values)
    assert found.loss == found.bound == 0


def test_very_large_tables_without_a_rounding_in_time_are_refused(in_slabs, monkeypatch):
    monkeypatch.setattr(slab_search, "HOPELESS", 0)
    monkeypatch.setattr(slab_search, "rounded_in_parts", lambda *_: None)
    with pytest.raises(tc.SolverError, match="found in time"):
        by_a_tree(cube((3, 3, 3), 1), 5)


def prepared(trees, seed, *, base=5, steps=3, zeros=0.0, frozen=None):
    problem = cube(trees, seed, zeros=zeros)
    if frozen is not None:
        status = np.where(frozen(problem.table), "z", "s")
        problem = problem.with_changes(status=status)
    costs = StepCosts.of(RoundingTask(problem, base, steps, np.ones(problem.table.n_cells)))
    start = np.rint(problem.table.values / base).astype(np.int64)
    return problem, Slabs.of(problem.table), costs, start


def test_steps_cost_their_distance_and_an_exception_more_than_any_of_them():
    problem, _, costs, _ = prepared((3, 3, 3), 1)
    cells = np.arange(problem.table.n_cells)
    assert np.allclose(costs(cells, costs.low), np.abs(costs.low - problem.table.values / 5))
    dear = costs(cells, costs.high + 1) - costs(cells, costs.high)
    assert np.all(dear > 20)
    second = np.diff([costs(cells, costs.low + k) for k in range(-4, 6)], n=2, axis=0)
    assert np.all(second >= -1e-9)


@pytest.mark.parametrize("trees", [(3, 4, 3), NESTED, (2, 3, 2, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_a_rounding_adds_up_and_is_never_worse_than_its_start(trees, seed):
    problem, slabs, costs, start = prepared(trees, seed, zeros=0.2)
    search = SlabSearch(slabs, costs, start)
    cells, before = np.arange(len(start)), search.cost
    search.improve(Budget.of(ENOUGH), np.random.default_rng(seed))
    assert not np.any(problem.table.relations @ search.t)
    assert search.cost <= before
    assert search.cost == pytest.approx(costs(cells, search.t).sum())
    assert np.all(search.t >= 0)


def test_a_search_that_is_stopped_at_once_has_an_additive_table():
    problem, slabs, costs, start = prepared((4, 4, 4), 2)
    budget = Budget.of(ENOUGH)
    budget.stop()
    search = SlabSearch(slabs, costs, start)
    search.improve(budget, np.random.default_rng(0))
    assert not np.any(problem.table.relations @ search.t)


def test_frozen_cells_that_are_multiples_stay():
    problem, slabs, costs, start = prepared(
        (4, 3, 3), 1, frozen=lambda table: table.values % 5 == 0
    )
    t = rounded_in_parts(slabs, costs, start, Budget.of(ENOUGH))
    frozen = problem.frozen
    assert frozen.any()
    assert np.array_equal(5 * t[frozen], problem.table.values[frozen])


def test_what_limits_forbid_is_not_called_a_rounding():
    _, slabs, costs, start = prepared((3, 3, 3), 1, steps=1)
    budget = Budget.of(ENOUGH)
    budget.stop()
    assert rounded_in_parts(slabs, costs, start + 9, budget) is None
