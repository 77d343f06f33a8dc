"""Whole runs on CBC, and what PuLP's solvers cannot do."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.solve.conformance import two_columns
from tablecloak.solve.pulp import Cbc, Glpk
from tablecloak.solve.solver import Request, SolveStatus


@pytest.fixture
def without_highs(monkeypatch):
    """Nothing of HiGHS can be used: whatever falls back to it fails."""

    def forbidden():
        raise AssertionError("HiGHS was called")

    monkeypatch.setattr("tablecloak.solve.highs.highspy", forbidden)


PROBLEMS = {"cox": tc.examples.cox_rounded, "5x5": lambda: random_problem(5, (5, 5), 3)}


@pytest.mark.parametrize("method", ["sequential", "exact"])
def test_suppression_on_cbc_has_the_optimum_of_highs(method, request):
    problem = PROBLEMS["5x5"]()
    expected = tc.suppress(problem, method="exact")
    request.getfixturevalue("without_highs")
    limit = 5.0 if method == "sequential" else 60.0
    pattern = tc.suppress(problem, method=method, solver="cbc", time_limit=limit)
    assert pattern.verify().checked == problem.n_sensitive
    if method == "exact":
        assert pattern.is_optimal
        assert pattern.loss == pytest.approx(expected.loss)
    assert pattern.loss >= expected.loss - 1e-9


def test_suppression_of_the_published_example_on_cbc_is_proved_optimal(without_highs):
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem, method="exact", solver="cbc")
    assert pattern.verify().checked == problem.n_sensitive
    assert pattern.is_optimal
    assert pattern.loss == pytest.approx(3076)


@pytest.mark.parametrize("name", PROBLEMS)
def test_adjustment_on_cbc_has_the_optimum_of_highs(name, request):
    problem = PROBLEMS[name]()
    expected = tc.adjust(problem)
    request.getfixturevalue("without_highs")
    adjusted = tc.adjust(problem, solver="cbc")
    adjusted.verify()
    assert expected.is_optimal
    assert adjusted.is_optimal
    assert adjusted.loss == pytest.approx(expected.loss, rel=1e-6)


@pytest.mark.parametrize("name, threads", zip(PROBLEMS, [2, 1], strict=True))
def test_an_audit_on_cbc_finds_the_intervals_of_highs(name, threads, request):
    problem = PROBLEMS[name]()
    pattern = tc.suppress(problem, method="sequential")
    expected = tc.audit(problem, pattern, detail="intervals").to_frame()
    request.getfixturevalue("without_highs")
    found = tc.audit(problem, pattern, detail="intervals", solver="cbc", threads=threads)
    assert found.is_safe
    for column in ("reached_lower", "reached_upper"):
        assert np.allclose(found.to_frame()[column], expected[column], rtol=1e-6, atol=1e-6)


def test_an_unprotected_cell_is_attacked_on_cbc(without_highs):
    problem = tc.examples.cox_rounded()
    assert not tc.audit(problem, problem.sensitive, solver="cbc").is_safe


def test_a_distance_that_needs_least_squares_names_who_can(without_highs):
    with pytest.raises(tc.InputError, match="'cbc' cannot minimise convex quadratic.*: highs"):
        tc.adjust(tc.examples.cox_rounded(), distance="L2", solver="cbc", time_limit=5)


def test_a_missing_program_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert Glpk.missing() == "the program glpsol"
    with pytest.raises(tc.InputError, match="'glpk' is not installed: the program glpsol is miss"):
        tc.suppress(tc.examples.cox_rounded(), solver="glpk")


def test_a_row_with_two_sides_has_one_multiplier():
    program = two_columns().with_sides(np.array([0]), np.array([3.5]), np.array([4.0]))
    claim = Cbc().run(program, Request())
    assert claim.duals.tolist() == [2.0]


def test_a_program_without_columns_is_answered():
    empty = two_columns().with_sides(np.array([0]), np.array([0.0]), np.array([1.0]))
    none = np.zeros(0)
    program = type(empty)(none, empty.matrix[:, :0], np.zeros(1), np.ones(1), none, none)
    assert Cbc().run(program, Request()).status is SolveStatus.OPTIMAL
    beyond = program.with_sides(np.array([0]), np.array([1.0]), np.array([2.0]))
    assert Cbc().run(beyond, Request()).status is SolveStatus.INFEASIBLE


@pytest.mark.parametrize(
    "protect",
    [
        lambda problem: tc.controlled_rounding(problem, solver="cbc"),
        lambda problem: tc.adjust(problem, solver="cbc", distance="Linf"),
        lambda problem: tc.suppress(problem, solver="cbc", protect_against="integers"),
    ],
    ids=["rounding", "Linf", "integers"],
)
def test_whatever_needs_no_least_squares_runs_on_cbc(protect, without_highs):
    assert protect(random_problem(1, (3, 3), 2)).is_optimal


def test_intervals_as_narrow_as_their_bound_run_on_cbc(without_highs):
    """Their ends are rounded afterwards."""
    problem = random_problem(1, (3, 3), 2)
    found = tc.publish_intervals(problem, solver="cbc", seed=1, time_limit=10)
    assert found.narrowest == pytest.approx(found.bound, rel=1e-6)
