"""A search within an explanation may fail without ending the explanation."""

from __future__ import annotations

import pytest

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.explaining.searched import searched


@pytest.mark.parametrize("error", [tc.ModelError("no pattern"), tc.SolverError("none in time")])
def test_a_search_that_fails_gives_nothing_and_leaves_the_time_that_is_left(error):
    def failing(own: Budget) -> None:
        own.stop()
        raise error

    budget = Budget.of(100)
    assert searched(budget, 0.5, failing) is None
    assert not budget.is_over


def test_a_search_that_a_person_stopped_ends_what_follows():
    budget = Budget.of(100)
    assert searched(budget, 0.5, lambda own: own.stop() or "best so far") == "best so far"
    assert budget.is_over
    assert searched(budget, 0.5, lambda own: "another") is None


def test_a_search_gets_its_share_and_the_settings_of_the_caller():
    heard = []
    budget = Budget.of(100, threads=3, seed=7, progress=lambda *told: heard.append(told))

    def search(own: Budget) -> float:
        own.report("stage", 1.0)
        assert (own.threads, own.seed) == (3, 7)
        return own.left

    assert 20 < searched(budget, 0.25, search) <= 25
    assert heard


def test_a_fault_in_a_search_is_not_hidden():
    def broken(own: Budget) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        searched(Budget.of(1), 0.5, broken)
