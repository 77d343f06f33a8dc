"""An answer is judged by its own point, and by the points of all others."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

import tablecloak as tc
from bench.answers import Answer, answer_of, judge_methods, judge_programs
from tablecloak.solve.program import Program


def test_judgement_needs_one_honest_solver_only():
    """min -x with x <= 1 and a row 2 x <= 1.5: the optimum is -0.75."""
    program = Program(
        np.array([-1.0]), csr_array(np.array([[2.0]])), np.array([-np.inf]), np.array([1.5]),
        np.array([0.0]), np.array([1.0]),
    )  # fmt: skip
    answers = {
        "honest": Answer("optimal", np.array([0.75]), -0.75),
        "outside": Answer("optimal", np.array([1.0]), -1.0),
        "liar": Answer("optimal", np.array([0.75]), -2.0),
        "short": Answer("optimal", np.array([0.5]), -0.5),
        "modest": Answer("feasible", np.array([0.5]), -0.5),
        "bound": Answer("feasible", np.array([0.5]), -0.5, bound=-0.6),
        "unlimited": Answer("unbounded"),
        "late": Answer("limit"),
        "none": Answer("optimal", np.empty(0)),
    }
    found = {name: judged.verdict for name, judged in judge_programs(program, answers).items()}
    assert found == {
        "honest": "solved", "outside": "wrong", "liar": "wrong", "short": "wrong",
        "modest": "limit", "bound": "wrong", "unlimited": "wrong", "late": "limit",
        "none": "wrong",
    }  # fmt: skip


def test_adjustments_are_judged_by_their_audit():
    problem = tc.examples.cox_rounded()
    good = tc.adjust(problem, time_limit=20)
    near = problem.table.values + 0.5 * good.changes
    answers = {
        "good": Answer("optimal", good.values, good.loss),
        "near": Answer("optimal", near),
        "truth": Answer("optimal", problem.table.values),
    }
    found = judge_methods(problem, answers)
    assert [judged.verdict for judged in found.values()] == ["solved", "wrong", "wrong"]


def test_an_answer_of_ours_claims_no_bound_that_nobody_can_check():
    problem = tc.examples.cox_rounded()
    exact = tc.suppress(problem, method="exact", time_limit=20)
    plain = tc.suppress(problem, method="sequential", time_limit=0.2)
    assert answer_of(exact).status == "optimal" and answer_of(exact).bound == exact.loss
    assert plain.bound_certificate is None
    assert answer_of(plain).status == "feasible" and np.isnan(answer_of(plain).bound)
