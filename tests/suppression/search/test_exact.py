"""The exact method: what any of its phases found counts for the bound."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.solve.branch import BranchResult, BranchTree
from tablecloak.suppression.search import exact


def floor(problem: tc.ProtectionProblem) -> float:
    return float(problem.weights[problem.sensitive | problem.forced].sum())


@pytest.mark.parametrize("require", ["two-sided", "width", "upper"])
def test_rows_of_searches_that_prove_nothing_themselves_still_prove_a_bound(monkeypatch, require):
    def cut_short(program, *, separate, **_) -> BranchResult:
        assert separate(np.zeros(program.n_columns), True) is not None
        tree = BranchTree.of_root(np.empty(0))
        return BranchResult(np.empty(0), np.inf, -np.inf, tree, program, 1, False)

    monkeypatch.setattr(exact, "branch_and_bound", cut_short)
    monkeypatch.setattr(exact, "search_nearby", lambda *_, **__: None)
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem, method="exact", require=require)
    assert floor(problem) * 1.1 < pattern.bound <= pattern.loss
    assert pattern.proved_bound() == pattern.bound
