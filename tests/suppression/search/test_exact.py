"""The exact method: what any of its phases found counts for the bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.solve.branch import BranchResult, BranchTree
from tablecloak.suppression.rows.bridges import BridgeRow
from tablecloak.suppression.rows.claims import _bound_arrays, proved_pattern_bound
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


@pytest.mark.parametrize("seed", range(2))
def test_claim_of_a_bound_holds_only_rows_that_count_and_still_proves_it(seed):
    problem = random_problem(seed, (4, 3))
    pattern = tc.suppress(problem, method="exact")
    proof = pattern.bound_certificate
    assert pattern.is_optimal and proof is not None
    fewer = len(_bound_arrays(proof, problem)["cut_kind"])
    assert 0 < fewer <= len(proof.rows)
    # Rows without a multiplier change neither the claim nor what it proves.
    idle = BridgeRow(int(np.flatnonzero(problem.sensitive)[0]), np.array([0]), np.array([1.0]))
    longer = replace(proof, rows=[*proof.rows, *[idle] * 50])
    assert len(_bound_arrays(longer, problem)["cut_kind"]) == fewer
    proved = proved_pattern_bound(pattern.suppressed, problem, longer)
    assert max(proved, pattern.unavoidable) == pytest.approx(pattern.loss, rel=1e-9)
