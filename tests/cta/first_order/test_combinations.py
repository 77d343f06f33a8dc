"""Sums of relations: by hand, and against tables that exist."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.sparse import csr_array

from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.first_order.combinations import Combining

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
