"""The relaxation of tables with two values for each sensitive cell: its bound, and its drives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.certificates.file import write_certificate
from tablecloak.certificates.verifier import read, verify
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.relaxation import Relaxation, has_two_values, relaxed
from tablecloak.cta.search import answers
from tablecloak.cta.search.task import AdjustmentTask


def two_valued(seed: int, *, even: bool = False) -> tc.ProtectionProblem:
    """Sensitive cells far nearer to one of their values, or as near to both."""
    problem = random_problem(seed, (3, 4), 3)
    level = np.where(problem.sensitive, 4.0, 0.0)
    return problem.with_changes(lower_protection=level, upper_protection=level * (1 if even else 3))


def layout_of(problem: tc.ProtectionProblem, limit: float | None = 1.0) -> FirstOrderLayout:
    task = AdjustmentTask.of(
        problem, weights="unit", distance="L1", preserve=(), sensitive_limit=limit,
        directions="search", integer=True,
    )  # fmt: skip
    every = np.arange(problem.table.n_relations)
    return FirstOrderLayout.of(replace(task.space().model, selected=every))


@pytest.mark.parametrize("seed", range(3))
def test_the_relaxation_proves_more_than_the_levels_alone_and_less_than_the_optimum(seed):
    problem = two_valued(seed)
    layout = layout_of(problem)
    proof = relaxed(Relaxation(layout), Budget.of())
    optimum = tc.adjust(problem, weights="unit", sensitive_limit=1, integer=True, time_limit=1000)
    assert optimum.is_optimal
    alone = float(np.dot(layout.model.cost, layout.level))
    assert alone < proof.bound <= optimum.loss * (1 + 1e-9)


def test_multipliers_far_too_high_become_such_that_moving_farther_pays_for_no_cell():
    layout, random = layout_of(two_valued(3)), np.random.default_rng(0)
    relaxation = Relaxation(layout)
    wild = relaxation.proved(
        random.normal(0, 9, len(relaxation.relations)),
        9 * random.random(len(relaxation.discrepancy)),
    )
    free = np.setdiff1d(np.arange(layout.model.n_groups), layout.model.sensitive)
    paid = np.abs(layout.transposed @ wild.relations)
    assert np.all(paid[free] <= layout.model.cost[free] * (1 + 1e-9))


@pytest.mark.parametrize("even", [False, True])
def test_drives_leave_each_cell_at_one_of_its_values_even_if_both_cost_the_same(even):
    layout = layout_of(two_valued(1, even=even))
    relaxation = Relaxation(layout)
    relaxed(relaxation, Budget.of())
    before = relaxation.changes.copy(), relaxation.relations.copy()
    changes, _ = relaxation.driven(400, np.random.default_rng(0))
    model = layout.model
    of_sensitive = changes[model.sensitive]
    assert np.all((of_sensitive == model.up_level) | (of_sensitive == -model.down_level))
    assert np.array_equal(before[0], relaxation.changes)
    assert np.array_equal(before[1], relaxation.relations)


def test_only_a_limit_leaves_two_values():
    assert has_two_values(layout_of(two_valued(0)).model)
    assert not has_two_values(layout_of(two_valued(0), limit=None).model)


@pytest.mark.parametrize("even", [False, True])
def test_a_driven_table_is_whole_and_a_file_proves_it_without_us(even, monkeypatch, tmp_path):
    monkeypatch.setattr(answers, "DRIVEN_CELLS", 0)
    monkeypatch.setattr(answers, "PROGRAM_CELLS", 0)
    problem, options = two_valued(4, even=even), {"weights": "unit", "integer": True}
    driven = tc.adjust(problem, sensitive_limit=1, time_limit=1000, **options)
    assert "first-order methods" in driven.notes
    driven.verify()
    moved = driven.changes[problem.sensitive]
    assert set(moved) <= {4.0, 12.0, -4.0} if not even else set(moved) <= {4.0, -4.0}
    write_certificate(driven, tmp_path / "driven.npz")
    assert verify(read(tmp_path / "driven.npz"))[0].startswith("PROVED")
    monkeypatch.setattr(answers, "PROGRAM_CELLS", 10**6)
    better = tc.adjust(problem, sensitive_limit=1, time_limit=1000, **options)
    assert better.is_optimal
    assert driven.bound <= better.loss <= driven.loss
