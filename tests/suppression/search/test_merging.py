"""Searches on the problem in which equal cells are one: what they find holds for the given one."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from naive_attacks import naive_audit
from random_tables import random_problem
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import arrays_of
from tablecloak.tables.changes.merged_cells import MergedCells

NOTHING_FREE = 1186
"""Seed of a problem of which nothing can be moved freely: the null space is empty."""

IMPOSSIBLE = 15
"""Seed of a problem that no pattern protects."""

COPIES = (0, 5, 9, 11, 12, 16)
"""Seeds of problems with sensitive cells that can only move together."""


def least_loss(problem: tc.ProtectionProblem, is_safe, below: float) -> float:
    """Least loss of all patterns that are safe, if any is less than a given one."""
    must = problem.sensitive | problem.forced
    free = np.flatnonzero(~must & ~problem.frozen)
    fixed = float(problem.weights[must].sum())
    losses = np.zeros(1)
    for cell in free:
        losses = np.concatenate([losses, losses + problem.weights[cell]])
    for number in np.argsort(losses, kind="stable").tolist():
        if fixed + losses[number] >= below:
            break
        pattern = must.copy()
        pattern[free[(number >> np.arange(len(free))) & 1 > 0]] = True
        if is_safe(problem, pattern):
            return float(fixed + losses[number])
    return below


def suppressed_or_none(problem, **options) -> tc.SuppressionPattern | None:
    try:
        return tc.suppress(problem, threads=1, **options)
    except tc.ModelError:
        return None


def test_the_optimum_of_the_merged_problem_is_that_of_all_patterns():
    optima = impossible = 0
    for seed in (10, 13, IMPOSSIBLE, 18):
        problem = random_problem(seed, kind="coupled")
        pattern = suppressed_or_none(problem, method="exact")
        if pattern is None:
            assert not naive_audit(problem, ~problem.frozen), seed
            impossible += 1
        else:
            assert naive_audit(problem, pattern.suppressed), seed
            assert pattern.is_optimal, seed
            assert least_loss(problem, naive_audit, pattern.loss) == pattern.loss, seed
            optima += 1
    assert (optima, impossible) == (3, 1)


@pytest.mark.parametrize("requirement", ["two-sided", "width", "upper"])
def test_patterns_and_bounds_are_proved_for_the_given_problem(requirement):
    protected = 0
    for seed in (NOTHING_FREE, 0, 10, 18):
        problem = random_problem(seed, kind="coupled")
        pattern = suppressed_or_none(problem, method="exact", require=requirement)
        if pattern is None:
            continue
        protected += 1
        assert pattern.problem is problem
        pattern.verify()
        assert pattern.proved_bound() == pattern.bound
        proved = verifier.proved(arrays_of(pattern.certificates, problem))
        assert proved == pytest.approx(pattern.bound, rel=1e-9)
    assert protected >= 2


@pytest.mark.parametrize("method", ["sequential", "exact"])
def test_all_cells_of_a_group_are_hidden_or_none(method):
    protected = 0
    for seed in (NOTHING_FREE, 3, 11, 13, 18):
        problem = random_problem(seed, kind="coupled")
        pattern = suppressed_or_none(problem, method=method, time_limit=5)
        if pattern is None:
            continue
        protected += 1
        group = MergedCells.of(problem).coupled.group
        hidden = np.bincount(group, pattern.suppressed)
        assert np.all((hidden == 0) | (hidden == np.bincount(group))), seed
    assert protected >= 2


def test_all_copies_of_a_cell_have_the_same_interval():
    compared = sum(
        copies_with_the_same_interval(random_problem(seed, kind="coupled")) for seed in COPIES
    )
    assert compared >= len(COPIES)


def copies_with_the_same_interval(problem) -> int:
    """How many groups of more than one sensitive cell have one interval; 0 without a pattern."""
    pattern = suppressed_or_none(problem, method="sequential")
    if pattern is None:
        return 0
    merged = MergedCells.of(problem)
    found = tc.audit(problem, pattern, detail="intervals")
    sensitive = np.flatnonzero(problem.sensitive)
    group, same = merged.coupled.group[sensitive], merged.coupled.sign[sensitive] > 0
    up, down = np.where(same, found.above, found.below), np.where(same, found.below, found.above)
    together = [group == number for number in np.unique(group) if np.sum(group == number) > 1]
    for own in together:
        np.testing.assert_allclose(up[own], up[own][0], atol=1e-6)
        np.testing.assert_allclose(down[own], down[own][0], atol=1e-6)
    return len(together)


def bound_with_names_of(problem, pattern, names) -> float:
    """The bound that a certificate proves when other cells of a group stand for it."""
    arrays = dict(arrays_of(pattern.certificates, problem))
    cell, node = arrays["cut_cell"], arrays["node_cell"]
    arrays["node_cell"] = np.where(node >= 0, names[node], -1)
    arrays["cut_cell"] = names[cell]
    return verifier.proved(arrays)


def test_a_bound_may_name_any_cell_of_a_group_that_moves_with_it():
    problem = random_problem(0, kind="coupled").with_changes(
        upper_bound=1000.0, lower_bound=-1000.0
    )
    status = np.full(problem.table.n_cells, "s")
    inner = [problem.table.cell(r=row, c="x") for row in ("A1", "B")]
    status[inner[0]] = "u"
    problem = problem.with_changes(
        status=status, upper_protection=9, lower_protection=4, sliding_protection=0, weights=1
    )
    pattern = tc.suppress(problem, method="exact", threads=1)
    assert pattern.is_optimal
    assert pattern.loss == 6
    coupled = MergedCells.of(problem).coupled
    last = np.zeros(len(coupled.group), dtype=np.int64)
    last[coupled.group] = np.arange(len(coupled.group))
    names = last[coupled.group]
    assert np.any(names != np.arange(len(names)))
    assert bound_with_names_of(problem, pattern, names) == pattern.bound


def test_a_cell_that_moves_the_other_way_proves_the_other_level():
    # Of three cells in a row whose total is known, one is known as well: the others are opposite.
    problem = random_problem(0, kind="coupled")
    cell = problem.table.cell
    frozen = [cell(r=row, c="Total") for row in ("Total", "A", "A1", "B")]
    status = np.full(problem.table.n_cells, "s")
    status[frozen] = "z"
    first = cell(r="A1", c="x")
    status[first] = "u"
    problem = problem.with_changes(
        status=status, upper_bound=1000.0, lower_bound=-1000.0, weights=1,
        upper_protection=np.where(status == "u", 9, 0), lower_protection=0, sliding_protection=0,
    )  # fmt: skip
    pattern = tc.suppress(problem, method="exact", threads=1)
    coupled = MergedCells.of(problem).coupled
    other = cell(r="A1", c="y")
    assert coupled.group[other] == coupled.group[first]
    assert coupled.sign[other] == -coupled.sign[first]
    assert pattern.is_optimal
    arrays = dict(arrays_of(pattern.certificates, problem))
    assert arrays["cut_cell"].tolist() == [first]
    assert arrays["cut_kind"].tolist() == [0]
    # The same row, as one of the other cell downwards.
    for name in ("starts", "relations", "data"):
        arrays[f"up_{name}"], arrays[f"down_{name}"] = arrays[f"down_{name}"], arrays[f"up_{name}"]
    arrays |= {"cut_cell": np.array([other]), "cut_kind": np.array([1])}
    assert verifier.proved(arrays) == pattern.bound
