"""Slabs of a table, and what moves with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from typer.testing import CliRunner

import tablecloak as tc
from cubes import NESTED, cube
from hand_tables import one_row
from tablecloak.budget import Budget
from tablecloak.certificates.file import write_certificate
from tablecloak.cli.main import app
from tablecloak.cta.rounding import slabs as slab_rounding
from tablecloak.cta.rounding.slabs import Slabs, SlabSearch, StepCosts, rounded_in_parts
from tablecloak.cta.rounding.task import RoundingTask
from tight_forms import ENOUGH


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("trees", [(3, 4, 2), NESTED, (2, 2, 3, 2)])
def test_any_two_way_table_can_be_added_to_a_slab_and_taken_from_another(trees, zeros):
    table = cube(trees, seed=3, zeros=zeros).table
    slabs = Slabs.of(table)
    random = np.random.default_rng(0)
    moved = 0
    for at, dimension in enumerate(slabs.dimensions):
        for leaf in range(len(dimension.leaves)):
            for back in (None, (leaf + 1) % len(dimension.leaves)):
                shift = slabs.shift(at, leaf, back)
                if shift is None:
                    continue
                # Any z that satisfies the relations of the slab: from its null space.
                _, size, rows = np.linalg.svd(shift.relations.toarray())
                null = rows[int(np.sum(size > 1e-9)) :]
                z = random.normal(size=len(null)) @ null
                change = np.zeros(table.n_cells)
                for cells, sign in zip(shift.cells, shift.sign, strict=True):
                    change[cells] += sign * z
                assert np.abs(table.relations @ change).max() < 1e-9
                moved += bool(np.abs(change).max(initial=0) > 1e-6)
    assert moved


def test_a_slab_of_a_pair_leaves_the_slabs_above_both_alone():
    slabs = Slabs.of(cube((3, 4, 2), seed=1).table)
    assert [len(slabs.shift(0, 0).cells), len(slabs.shift(0, 0, 1).cells)] == [2, 2]
    assert slabs.shift(0, 0).sign == (1, 1)
    assert sorted(slabs.shift(0, 0, 1).sign) == [-1, 1]


def test_sums_of_the_most_detailed_cells_are_the_table():
    table = cube(NESTED, seed=2, zeros=0.3).table
    slabs = Slabs.of(table)
    noise = np.where(slabs.is_leaf, 0, 99)
    values = table.values.astype(np.int64)
    assert np.array_equal(slabs.added_up(values + noise), values)
    assert slabs.adds_up(values)
    assert not slabs.adds_up(values + noise)


def test_relations_in_tenths_hold_like_those_in_whole_numbers():
    """Sums of tenths of large values are no zeros in doubles, although nothing is missing."""
    table = cube(NESTED, seed=2).table
    large = table.values * 123_456_789
    tenths = replace(table, values=large, relations=csr_array(0.1 * table.relations))
    slabs = Slabs.of(tenths)
    values = large.astype(np.int64)
    assert np.any(tenths.relations @ values)
    assert slabs.adds_up(values)
    assert np.array_equal(abs(slabs.relations).data, np.ones(table.relations.nnz))


def test_tables_that_are_not_sums_of_crossed_codes_have_no_slabs():
    assert Slabs.of(cube((3, 4), seed=1).table) is None
    assert Slabs.of(one_row([1, 2, 3], {}).table) is None
    # Without its most detailed cells a table is not their sum.
    whole = cube((2, 2, 2), seed=1).table
    kept = (whole.keys == "Total").any(axis=1).to_numpy()
    frame = pd.DataFrame(whole.keys[kept]).assign(n=whole.values[kept])
    margins = tc.Table.from_frame(frame, dict(whole.hierarchies), "n")
    assert Slabs.of(margins) is None


def test_leaves_of_one_family_are_neighbours_in_every_order():
    slabs = Slabs.of(cube(NESTED, seed=1).table)
    first = slabs.dimensions[0]
    assert len(np.unique(first.family)) == 2
    for seed in range(5):
        order = first.neighbours(np.random.default_rng(seed))
        assert sorted(order) == list(range(5))
        assert np.count_nonzero(np.diff(first.family[order])) == 1
    assert len(np.unique(slabs.dimensions[2].family)) == 1


def test_a_table_with_a_relation_that_other_tables_break_has_no_slabs():
    """Two leaves with the same value by chance are declared equal."""
    table = cube((3, 3, 2), seed=1).table
    leaves = np.flatnonzero(~(table.keys == "Total").any(axis=1).to_numpy())
    value = table.values[leaves]
    first = int(np.flatnonzero(np.isin(value, value[1:][value[1:] == value[0]]))[0])
    second = int(np.flatnonzero(value == value[first])[1])
    row = np.zeros((1, table.n_cells))
    row[0, leaves[[first, second]]] = 1, -1
    relations = csr_array(np.vstack([table.relations.toarray(), row]))
    linked = replace(table, relations=relations, right_hand_side=np.zeros(relations.shape[0]))
    assert Slabs.of(table) is not None
    assert Slabs.of(linked) is None


@pytest.fixture
def in_slabs(monkeypatch):
    monkeypatch.setattr(slab_rounding, "LARGE", 0)


def by_a_tree(problem, base):
    return tc.controlled_rounding(problem, base=base, time_limit=1000)


@pytest.mark.parametrize("seed", range(3))
def test_slabs_take_one_step_where_a_complete_search_does(seed, monkeypatch):
    problem = cube((3, 3, 3), seed)
    exact = by_a_tree(problem, 5)
    monkeypatch.setattr(slab_rounding, "LARGE", 0)
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
    search = slab_rounding.rounded_in_parts

    def with_exception(slabs, costs, start, budget):
        t = search(slabs, costs, start, budget)
        searches.append(t)
        if len(searches) == 3:
            return t
        leaf = int(np.flatnonzero(slabs.is_leaf)[len(searches)])
        return slabs.added_up(np.where(np.arange(len(t)) == leaf, costs.high + 1, t))

    monkeypatch.setattr(slab_rounding, "rounded_in_parts", with_exception)
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
    monkeypatch.setattr(slab_rounding, "HOPELESS", 0)
    monkeypatch.setattr(slab_rounding, "rounded_in_parts", lambda *_: None)
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
@pytest.mark.parametrize("seed", range(2))
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
