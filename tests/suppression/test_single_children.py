"""Levels with a single child change nothing but the number of cells."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.tables.changes.merged_cells import MergedCells

PATH = Path(__file__).parents[2] / "benchmarks" / "single_children.py"
SMALL = {"regions": (2, 3), "others": 3, "firms": 3.0}


@functools.cache
def made_tables():
    """The benchmark that makes them."""
    spec = importlib.util.spec_from_file_location("single_children", PATH)
    module = sys.modules["single_children"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tables():
    return made_tables()


@pytest.mark.parametrize("seed", [1, 4])
def test_the_loss_is_the_same_with_and_without_levels_of_single_children(tables, seed, monkeypatch):
    ticks = itertools.count()
    # A clock that counts how often it is asked: the limit is one of work, not of seconds.
    monkeypatch.setattr("tablecloak.budget.time.monotonic", lambda: next(ticks) / 1000)
    without, whole = (
        tables.single_child_problem(removed=removed, seed=seed, **SMALL)
        for removed in (True, False)
    )
    assert whole.table.n_cells > 1.2 * without.table.n_cells
    plain, pattern = (
        tc.suppress(problem, method="sequential", threads=1, time_limit=8)
        for problem in (without, whole)
    )
    assert pattern.loss == plain.loss
    pattern.verify()
    group = MergedCells.of(whole).coupled.group
    hidden = np.bincount(group, pattern.suppressed)
    assert np.all((hidden == 0) | (hidden == np.bincount(group)))


def facts_of(problem) -> list:
    """All that the merged problem asks: cells in their order, and distinct relations in theirs."""
    merged = MergedCells.of(problem).problem
    relations = merged.table.relations
    rows = {}
    for start, end in itertools.pairwise(relations.indptr.tolist()):
        terms = zip(relations.indices[start:end].tolist(), relations.data[start:end], strict=True)
        rows[tuple(sorted((cell, term) for cell, term in terms if term))] = True
    rows.pop((), None)
    numbers = (
        merged.table.values, merged.weights, merged.sensitive, merged.frozen, merged.lower_bound,
        merged.upper_bound, merged.lower_protection, merged.upper_protection,
    )  # fmt: skip
    return [*(entry.tolist() for entry in numbers), list(rows)]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.7, 3.0]))
def test_levels_of_single_children_leave_the_merged_problem_as_it_is(seed, firms):
    tables = made_tables()
    without, whole = (
        tables.single_child_problem(
            removed=removed, seed=seed, regions=(2, 3), others=3, firms=firms
        )
        for removed in (True, False)
    )
    assert facts_of(whole) == facts_of(without)


def test_a_third_of_the_nodes_have_one_child(tables):
    tree = tables.with_single_children(tables.grown("r", (4, 4, 4, 4)), np.random.default_rng(1))

    def nodes(below):
        for children in below.values():
            yield len(children)
            yield from nodes(children)

    counts = np.array(list(nodes(tree)))
    assert 0.28 < np.mean(counts == 1) < 0.38
