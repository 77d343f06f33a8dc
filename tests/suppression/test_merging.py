"""Searches on the problem in which equal cells are one: what they find holds for the given one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tablecloak as tc
from equal_cells import coupled_problem, least_loss
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import arrays_of
from tablecloak.tables.merged import MergedProblem
from test_brute_force import naive_audit

SEEDS = st.integers(0, 10**6)


def suppressed_or_none(problem, **options) -> tc.SuppressionPattern | None:
    try:
        return tc.suppress(problem, threads=1, **options)
    except tc.ModelError:
        return None


@settings(max_examples=12, deadline=None)
@given(SEEDS)
def test_the_optimum_of_the_merged_problem_is_that_of_all_patterns(seed):
    problem = coupled_problem(seed)
    pattern = suppressed_or_none(problem, method="exact")
    if pattern is None:
        hidden = np.ones(problem.table.n_cells, dtype=bool) & ~problem.frozen
        assert not naive_audit(problem, hidden)
        return
    assert naive_audit(problem, pattern.suppressed)
    assert pattern.is_optimal
    assert least_loss(problem, naive_audit, pattern.loss) == pattern.loss


@settings(max_examples=25, deadline=None)
# Nothing can be moved freely: the null space is empty.
@example(seed=1186, requirement="two-sided")
@given(SEEDS, st.sampled_from(["two-sided", "width", "upper"]))
def test_patterns_and_bounds_are_proved_for_the_given_problem(seed, requirement):
    problem = coupled_problem(seed)
    pattern = suppressed_or_none(problem, method="exact", require=requirement)
    if pattern is None:
        return
    assert pattern.problem is problem
    pattern.verify()
    assert pattern.proved_bound() == pattern.bound
    claims = pattern.certificates
    proved = verifier.proved(arrays_of(claims, problem))
    assert proved == pytest.approx(pattern.bound, rel=1e-9)


@settings(max_examples=25, deadline=None)
# Nothing can be moved freely: the null space is empty.
@example(seed=1186, requirement="two-sided")
@given(SEEDS, st.sampled_from(["sequential", "exact"]))
def test_all_cells_of_a_group_are_hidden_or_none(seed, method):
    problem = coupled_problem(seed)
    pattern = suppressed_or_none(problem, method=method, time_limit=5)
    if pattern is None:
        return
    group = MergedProblem.of(problem).coupled.group
    hidden = np.bincount(group, pattern.suppressed)
    assert np.all((hidden == 0) | (hidden == np.bincount(group)))


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_all_copies_of_a_cell_have_the_same_interval(seed):
    problem = coupled_problem(seed)
    pattern = suppressed_or_none(problem, method="sequential")
    if pattern is None:
        return
    merged = MergedProblem.of(problem)
    found = tc.audit(problem, pattern, detail="intervals")
    sensitive = np.flatnonzero(problem.sensitive)
    group, same = merged.coupled.group[sensitive], merged.coupled.sign[sensitive] > 0
    up, down = np.where(same, found.above, found.below), np.where(same, found.below, found.above)
    for own in (group == number for number in np.unique(group)):
        np.testing.assert_allclose(up[own], up[own][0], atol=1e-6)
        np.testing.assert_allclose(down[own], down[own][0], atol=1e-6)
