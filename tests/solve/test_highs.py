"""Traps of HiGHS that were really seen: each must be avoided."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import highspy
import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array, kron, vstack

from programs import knapsack, small
from tablecloak.budget import Budget
from tablecloak.errors import SolverError
from tablecloak.solve import highs
from tablecloak.solve.highs import Highs, HighsProgram
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve, solve_quadratic
from tablecloak.solve.program import Program
from tablecloak.solve.solver import LinearMethod, Request, SolveStatus


def test_instances_with_other_threads_in_the_process_do_not_stop_us():
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.addVar(0, 1)
    other.run()
    assert solve(small()).value == pytest.approx(4.0)
    assert solve(replace(small(), integral=np.ones(2, dtype=bool))).value == pytest.approx(4.0)


def test_time_limit_counts_from_each_run_and_not_from_the_first():
    solver = LinearSolver(small())
    for _ in range(50):
        assert solver.solve(time_limit=5.0).status is SolveStatus.OPTIMAL


def test_hot_started_answers_equal_cold_ones():
    random = np.random.default_rng(0)
    program = knapsack(0).relaxed()
    solver = LinearSolver(program, primal=True)
    columns = np.arange(program.n_columns)
    for _ in range(30):
        cost = random.normal(size=program.n_columns)
        solver.change_costs(columns, cost)
        hot = solver.solve()
        cold = solve(replace(program, cost=cost))
        assert hot.status is SolveStatus.OPTIMAL
        assert hot.value == pytest.approx(cold.value, abs=1e-7)


@pytest.mark.parametrize("method", LinearMethod)
def test_every_method_gives_the_optimum_and_the_next_run_starts_warm(method):
    program = HighsProgram(knapsack(3).relaxed())
    best = program.run(np.inf)
    value = knapsack(3).objective(best.x)
    assert knapsack(3).objective(program.run(np.inf, method).x) == pytest.approx(value, abs=1e-6)
    assert knapsack(3).objective(program.run(np.inf).x) == pytest.approx(value)


@pytest.mark.parametrize("algorithm", Highs.algorithms)
def test_every_algorithm_can_be_asked_for_as_it_is_shipped(algorithm):
    claim = Highs().run(small(), Request(algorithm=algorithm, as_shipped=True))
    assert claim.status is SolveStatus.OPTIMAL
    assert small().objective(claim.x) == pytest.approx(4.0, abs=1e-3)


def test_a_cutoff_does_not_outlive_its_run():
    program = HighsProgram(small())
    program.run(np.inf)
    program.change_bounds(np.array([0]), np.zeros(1), np.zeros(1))
    claim = program.run(np.inf, cutoff=4.5)
    assert claim.is_beyond or small().objective(claim.x) == pytest.approx(6.0)
    assert small().objective(program.run(np.inf).x) == pytest.approx(6.0)


def test_a_program_that_cannot_be_used_is_an_error():
    with pytest.raises(SolverError, match="refused a program of .* very large"):
        HighsProgram(replace(small(), matrix=1e30 * small().matrix))


def test_least_squares_are_within_the_bounds():
    flat = small().with_columns(np.zeros(2), np.zeros(2), np.array([1.0, 5.0]))
    x, _ = solve_quadratic(flat, np.full(2, 2.0))
    assert np.allclose(x, [1.0, 2.0], atol=1e-6)


def long_program(*, integral: bool) -> Program:
    """Large enough to be stopped on its way: an assignment with random costs."""
    random, n = np.random.default_rng(0), 90
    matrix = csr_array(
        vstack([kron(eye_array(n), np.ones((1, n))), kron(np.ones((1, n)), eye_array(n))])
    )
    ones, size = np.ones(2 * n), n * n
    kinds = np.full(size, integral)
    return Program(random.random(size), matrix, ones, ones, np.zeros(size), np.ones(size), kinds)


@pytest.mark.parametrize("method", LinearMethod)
def test_a_stop_ends_a_large_program_on_its_way(method):
    budget = Budget.of(progress=lambda *_: None)
    asked = []

    def stops(self):
        asked.append(self)
        self.stop()
        return True

    program = HighsProgram(long_program(integral=False))
    with budget.interruptible(), patch.object(Budget, "hears_stop", stops):
        claim = program.run(np.inf, method)
        assert asked == [budget]
        assert claim.status is SolveStatus.UNKNOWN
        # What is solved after the stop is needed to end in order.
        assert program.run(np.inf, method).status is SolveStatus.OPTIMAL
    assert asked == [budget]
    with Budget.of().interruptible():
        assert program.run(np.inf, method).status is SolveStatus.OPTIMAL


def test_a_stop_ends_a_search_for_whole_numbers_and_an_error_of_a_listener_is_raised():
    def fails(*_):
        raise ValueError("broken")

    budget = Budget.of(progress=fails)
    heard = patch.object(Budget, "hears_stop", fails)
    with budget.interruptible(), heard, pytest.raises(ValueError, match="broken"):
        solve(knapsack(3))


def test_nothing_is_printed_when_the_first_instance_is_made():
    """HiGHS 1.16 prints a banner then, which would stand in what a command writes."""
    script = (
        "from tablecloak.solve.highs import new_instance\n"
        "print('before')\nnew_instance().run()\nprint('after')"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout == "before\nafter\n"


def test_threads_that_ask_for_the_module_at_once_silence_the_output_once(monkeypatch):
    entered = []

    @contextmanager
    def slow():
        entered.append(1)
        time.sleep(0.05)
        yield

    monkeypatch.setattr(highs, "_no_output", slow)
    highs._imported.cache_clear()
    with ThreadPoolExecutor(4) as threads:
        modules = list(threads.map(lambda _: highs.highspy(), range(4)))
    assert len(entered) == 1
    assert len(set(map(id, modules))) == 1
