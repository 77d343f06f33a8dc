"""Searches near the best pattern end in time, however few cells are free."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.suppression.rows.master import Master
from tablecloak.suppression.search.nearby import search_nearby


class NeverContent:
    """A separator that finds fault with everything, so that no search ends."""

    def __init__(self, master: Master) -> None:
        n = len(master.free)
        self.fractional = np.zeros(n)
        system = SimpleNamespace(cells=master.free)
        self.best = SimpleNamespace(
            loss=master.total_loss(float(n), 1.0),
            hidden=np.ones(n, dtype=bool),
            pool=SimpleNamespace(system=system),
        )

    def __call__(self, y, integral):
        del y, integral
        return self.every_row()

    def every_row(self):
        n = len(self.fractional)
        return csr_array((0, n)), np.empty(0), np.empty(0)


def turns_near(master: Master) -> int:
    """Search near the best pattern for half a second; return how many turns it took."""
    turns = []
    search_nearby(
        master,
        NeverContent(master),
        Budget.of(0.5, seed=1),
        step=1.0,
        progress=lambda: turns.append(1),
    )
    return len(turns)


@pytest.mark.parametrize("n_free", [0, 1, 4, 9, 12])
def test_search_ends_at_its_deadline_with_fewer_cells_free_than_a_part_has(n_free):
    problem = random_problem(3)
    free = np.flatnonzero(~problem.sensitive)
    status = problem.status.copy()
    status[free[n_free:]] = "z"
    master = Master(problem.with_changes(status=status), tc.Requirement.TWO_SIDED)
    assert len(master.free) == n_free
    assert bool(turns_near(master)) == bool(n_free)


def test_a_problem_that_asks_for_nothing_has_nothing_to_be_searched_near():
    """Also where time was up before its empty pattern was proved to be the best."""
    problem = random_problem(3)
    nothing = np.full(problem.table.n_cells, "s")
    master = Master(problem.with_changes(status=nothing), tc.Requirement.TWO_SIDED)
    assert len(master.free)
    assert not turns_near(master)
