"""Tables that fall apart: each part is searched for itself, and their bounds add up."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from naive_attacks import naive_audit
from random_tables import random_problem
from tablecloak.budget import Budget, running
from tablecloak.executors import SerialExecutor, using_executor
from tablecloak.suppression.search import parts
from tables_apart import side_by_side


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """Let the smallest parts be searched each for itself."""
    monkeypatch.setattr(parts, "FEWEST_FREE", 0)


def two(seed: int, *, n_parts: int = 2) -> list[tc.ProtectionProblem]:
    return [random_problem(100 * seed + each, (4, 4), 3) for each in range(n_parts)]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_no_relation_joins_two_parts_and_each_sensitive_cell_is_in_one(seed):
    alone = [random_problem(seed + each, kind="nested") for each in range(3)]
    problem = side_by_side(alone)
    found = parts.parts_of(problem)
    number = np.stack(found).sum(axis=0)
    assert set(np.unique(number)) <= {0, 1}
    assert np.all(number[problem.sensitive] == 1)
    for part in found:
        inside = part & ~problem.frozen
        across = problem.table.relations[problem.table.relations @ inside.astype(float) != 0, :]
        joined = np.zeros(problem.table.n_cells, dtype=bool)
        joined[across.indices] = True
        assert np.all(inside[joined & ~problem.frozen])


def test_the_parts_together_lose_what_they_lose_alone_and_are_proved_optimal():
    secondary = 0
    for seed in range(6):
        alone = two(seed)
        least = sum(tc.suppress(each, method="exact").loss for each in alone)
        problem = side_by_side(alone)
        pattern = tc.suppress(problem, method="exact")
        assert pattern.is_optimal
        assert pattern.loss == pattern.bound == least
        assert naive_audit(problem, pattern.suppressed)
        assert "2 parts" in "".join(pattern.notes)
        pattern.verify()
        secondary += int(pattern.secondary.sum())
    assert secondary > 12


def test_many_small_components_are_searched_together(monkeypatch):
    problem = side_by_side(two(1, n_parts=5))
    assert len(parts.parts_of(problem)) == 5
    monkeypatch.setattr(parts, "FEWEST_FREE", 50)
    assert len(parts.parts_of(problem)) == 2 + 1
    monkeypatch.setattr(parts, "FEWEST_FREE", 250)
    assert len(parts.parts_of(problem)) == 1


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_pattern_is_the_same_for_any_number_of_threads(threads):
    problem = side_by_side(two(2, n_parts=3))
    one = tc.suppress(problem, method="sequential", threads=1, seed=5)
    other = tc.suppress(problem, method="sequential", threads=threads, seed=5)
    assert np.array_equal(one.suppressed, other.suppressed)


def test_a_bound_that_one_part_alone_has_counts(monkeypatch):
    """Of the other part, the weights of its sensitive cells count."""
    alone = two(3)
    search = parts.search_parts

    def without_the_first(inner, problem, requirement, budget):
        def searched(part, asked, time):
            state = inner(part, asked, time)
            is_first = not np.any(part.sensitive[alone[0].table.n_cells :])
            return replace(state, bound_certificate=None) if is_first else state

        return search(searched, problem, requirement, budget)

    monkeypatch.setattr("tablecloak.suppression.search.groups_search.search_parts",
                        without_the_first)  # fmt: skip
    pattern = tc.suppress(side_by_side(alone), method="exact")
    best = tc.suppress(alone[1], method="exact")
    assert pattern.bound == alone[0].weights[alone[0].sensitive].sum() + best.loss
    assert best.loss > alone[1].weights[alone[1].sensitive].sum()
    pattern.verify()


class Elsewhere(SerialExecutor):
    """Sends a function and each task as to another process, and results back.

    Parameters
    ----------
    stop_after : int, optional
        Number of tasks after which the search is stopped.
    """

    workers = 2

    def __init__(self, stop_after: int = -1) -> None:
        self.stop_after = stop_after

    def run(self, function, tasks):
        budget = running()
        for number in tasks:
            if number == self.stop_after:
                budget.stop()
                return
            arrived, task = pickle.loads(pickle.dumps((function, number)))
            yield number, pickle.loads(pickle.dumps(arrived(task)))


def test_what_other_processes_find_is_what_threads_find():
    problem = side_by_side(two(2, n_parts=3))
    here = tc.suppress(problem, method="exact")
    told = []
    with using_executor(Elsewhere()):
        there = tc.suppress(problem, method="exact", progress=lambda *seen: told.append(seen))
    assert there.loss == here.loss and there.is_optimal
    assert [stage for stage, *_ in told].count("parts") == 3
    there.verify()


def test_real_processes_search_parts():
    problem = side_by_side(two(3, n_parts=2))
    with using_executor("processes:2"):
        pattern = tc.suppress(problem, method="exact")
    assert pattern.loss == tc.suppress(problem, method="exact").loss


def test_parts_that_were_elsewhere_when_the_search_was_stopped_are_protected_as_well():
    problem = side_by_side(two(4, n_parts=3))
    with using_executor(Elsewhere(stop_after=1)):
        pattern = tc.suppress(problem, method="exact")
    assert naive_audit(problem, pattern.suppressed)


def test_a_sent_budget_has_no_more_time_than_it_had():
    for seconds in (0.0, 5.0):
        arrived = pickle.loads(pickle.dumps(Budget.of(seconds, threads=3, seed=7)))
        assert arrived.left <= seconds
        assert (arrived.threads, arrived.seed) == (3, 7)
    assert pickle.loads(pickle.dumps(Budget.of())).left == np.inf


def test_what_is_stopped_at_its_first_report_protects_all_parts():
    problem, told = side_by_side(two(4, n_parts=3)), []

    def stop(stage, loss, bound, open_):
        told.append((loss, bound))
        raise KeyboardInterrupt

    pattern = tc.suppress(problem, progress=stop)
    assert len(told) == 1
    assert naive_audit(problem, pattern.suppressed)


def test_reports_are_those_of_all_parts_together():
    problem, told = side_by_side(two(5, n_parts=3)), []
    pattern = tc.suppress(
        problem,
        method="exact",
        progress=lambda stage, loss, bound, open_: told.append((loss, bound)),
    )
    always = problem.weights[problem.sensitive].sum()
    assert min(loss for loss, _ in told) >= always
    assert told[-1][0] == pattern.loss
    assert max(bound for _, bound in told) <= pattern.loss * (1 + 1e-9)


def test_cells_that_cannot_be_protected_are_named_whatever_their_part():
    alone = two(6)
    narrow = [
        each.with_changes(
            upper_bound=np.where(each.sensitive, each.upper_bound, each.table.values),
            lower_bound=np.where(each.sensitive, each.lower_bound, each.table.values),
        )
        for each in alone
    ]
    problem = side_by_side(narrow)
    with pytest.raises(tc.ModelError) as error:
        tc.suppress(problem)
    assert set(error.value.cells) == set(np.flatnonzero(problem.sensitive))
