"""The exact method: what any of its phases found counts for the bound."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.solve.branch import BranchResult, BranchTree
from tablecloak.suppression.search import exact

# The package offers a function of the same name.
suppressing = importlib.import_module("tablecloak.suppression.suppress")


def floor(problem: tc.ProtectionProblem) -> float:
    return float(problem.weights[problem.sensitive | problem.forced].sum())


@pytest.mark.parametrize("require", ["two-sided", "width", "upper"])
def test_rows_of_searches_that_prove_nothing_themselves_still_prove_a_bound(monkeypatch, require):
    def cut_short(program, *, separate, **_) -> BranchResult:
        assert separate(np.zeros(program.n_columns), True) is not None
        tree = BranchTree.of_root(np.empty(0))
        return BranchResult(np.empty(0), np.inf, -np.inf, tree, program, 1, False, False)

    monkeypatch.setattr(exact, "branch_and_bound", cut_short)
    monkeypatch.setattr(exact, "search_nearby", lambda *_, **__: None)
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem, method="exact", require=require)
    assert floor(problem) * 1.1 < pattern.bound <= pattern.loss
    assert pattern.bound_certificate.verify() == pattern.bound


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_what_time_is_left_on_large_tables_is_for_the_bound_and_never_nothing(monkeypatch, method):
    given = []

    def listen(*arguments, **options):
        given.append((options["time_limit"], options["root_share"]))
        return exact.minimise_loss(*arguments, **options)

    monkeypatch.setattr(suppressing, "minimise_loss", listen)
    monkeypatch.setattr(suppressing, "EXACT_CELLS", 0)
    tc.suppress(tc.examples.cox_rounded(), method=method, time_limit=1e-3)
    assert given == [(suppressing.LEAST_BOUND_SHARE * 1e-3, 1.0)]
