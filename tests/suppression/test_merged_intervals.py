"""Intervals searched with equal cells as one: as narrow, and proved for the given cells."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import arrays_of
from tablecloak.suppression.system.needs import needs_of
from tablecloak.tables.changes.merged_cells import MergedCells

SEEDS = (0, 10, 13, 18)
"""Of problems whose cells can be protected."""


def published(problem, **options) -> tc.IntervalPattern | None:
    try:
        return tc.publish_intervals(problem, blur=0, weights=None, **options)
    except tc.ModelError:
        return None


def apart(problem, requirement) -> MergedCells:
    """The problem with each cell as a group of its own."""
    needs = needs_of(problem, requirement)
    levels = np.zeros((3, problem.table.n_cells))
    levels[:, needs.cells] = needs.upper, needs.lower, needs.width
    return MergedCells.of(problem, tuple(levels), np.ones(problem.table.n_cells, dtype=bool))


@pytest.mark.parametrize("require", ["two-sided", "width", "upper"])
def test_merging_changes_neither_the_loss_nor_the_bound(require, monkeypatch):
    compared = 0
    for seed in SEEDS:
        problem = random_problem(seed, kind="coupled")
        ours = published(problem, require=require)
        with monkeypatch.context() as patch:
            patch.setattr("tablecloak.suppression.intervals.intervals.merged_for", apart)
            theirs = published(problem, require=require)
        assert (ours is None) == (theirs is None)
        if ours is None or theirs is None:
            continue
        # Both searches end at a gap of 1e-4.
        assert ours.narrowest == pytest.approx(theirs.narrowest, rel=3e-4, abs=1e-6)
        assert ours.bound == pytest.approx(theirs.bound, rel=3e-4, abs=1e-6)
        ours.certificate.verify()
        compared += 1
    assert compared >= 1


def test_every_claim_of_intervals_is_proved_for_the_given_cells():
    proved = 0
    for seed in SEEDS:
        problem = random_problem(seed, kind="coupled")
        found = published(problem)
        if found is None:
            continue
        assert found.problem.table is problem.table
        assert found.proved_bound() == pytest.approx(found.bound)
        for claim in found.certificates:
            claim.verify(found.problem)
        proved += 1
    assert proved >= 1


def test_no_multipliers_prove_more_than_the_narrowest_intervals_lose():
    forged = 0
    for seed in SEEDS:
        found = published(random_problem(seed, kind="coupled"))
        if found is None or not len(found.bound_certificate.rows):
            continue
        random = np.random.default_rng(seed)
        arrays = dict(arrays_of(found.certificates, found.problem))
        for name in ("proof_data", "up_data", "down_data"):
            arrays[name] = arrays[name] * random.choice([0.5, 1.0, 2.0], len(arrays[name]))
        assert verifier.proved(arrays) <= found.narrowest * (1 + 1e-9) + 1e-9
        forged += 1
    assert forged >= 1


def test_all_cells_that_move_together_have_intervals_of_the_same_width():
    problem = random_problem(0, kind="coupled").with_changes(
        upper_bound=1000.0, lower_bound=-1000.0, weights=1.0
    )
    status = np.full(problem.table.n_cells, "s")
    status[problem.table.cell(r="A1", c="x")] = "u"
    problem = problem.with_changes(
        status=status, upper_protection=9, lower_protection=4, sliding_protection=0
    )
    found = published(problem)
    assert found is not None
    group = MergedCells.of(problem).coupled.group
    width = found.upper - found.lower
    own = group == group[problem.table.cell(r="A1", c="x")]
    assert own.sum() > 1
    assert np.allclose(width[own], 13)


def test_a_cell_that_must_be_hidden_shows_its_external_bounds_and_costs_nothing():
    problem = random_problem(0, kind="coupled").with_changes(
        upper_bound=1000.0, lower_bound=-1000.0, weights=1.0
    )
    status = np.full(problem.table.n_cells, "s")
    sensitive, copy = (problem.table.cell(r=row, c="x") for row in ("A1", "A"))
    status[[sensitive, copy]] = "u", "m"
    problem = problem.with_changes(
        status=status, upper_protection=9, lower_protection=4, sliding_protection=0
    )
    found = published(problem)
    assert found is not None
    assert (found.lower[copy], found.upper[copy]) == (-1000, 1000)
    counted = ~problem.forced
    assert found.loss == pytest.approx((found.upper - found.lower)[counted].sum())
    assert found.bound <= found.narrowest * (1 + 1e-9)
    for claim in found.certificates:
        claim.verify(problem)
