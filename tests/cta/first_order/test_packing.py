"""Charges of balance and discrepancy rows: affordable, and a bound for all directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.packing import Charges, Packing, packed
from tablecloak.cta.search.task import AdjustmentTask


def layout_of(problem: tc.ProtectionProblem) -> FirstOrderLayout:
    task = AdjustmentTask.of(
        problem, weights="relative", distance="L1", preserve=(), sensitive_limit=None,
        directions="search", integer=False,
    )  # fmt: skip
    return FirstOrderLayout.of(
        replace(task.space().model, selected=np.arange(problem.table.n_relations))
    )


def is_affordable(charges: Charges) -> bool:
    relief, charge = charges.charged()
    return bool(np.all(charge - relief <= charges.layout.model.cost * (1 + 1e-9)))


@pytest.mark.parametrize("seed", range(2))
def test_charges_prove_more_than_the_levels_alone_and_less_than_the_optimum(seed):
    problem = random_problem(seed, (3, 4), 3)
    layout = layout_of(problem)
    charges = packed(Packing(layout), Budget.of())
    optimum = tc.adjust(problem, integer=False, time_limit=1000)
    assert optimum.is_optimal and is_affordable(charges)
    alone = float(np.dot(layout.model.cost, layout.level))
    assert alone < charges.bound() <= optimum.loss * (1 + 1e-9)


def test_charges_far_too_high_become_affordable():
    layout, random = layout_of(random_problem(3, (4, 5), 4)), np.random.default_rng(0)
    found = packed(Packing(layout), Budget.of())
    wild = replace(
        found,
        balance=random.random(len(found.balance)),
        discrepancy=random.random(len(found.discrepancy)),
    )
    assert not is_affordable(wild)
    assert is_affordable(wild.affordable())


def test_a_sensitive_cell_alone_in_its_relation_is_charged_to_the_cheapest_other():
    problem = random_problem(0, (2,), 1)
    charges = packed(Packing(layout_of(problem)), Budget.of())
    exact = tc.adjust(problem, integer=False, time_limit=1000).loss
    assert charges.bound() == pytest.approx(exact, rel=1e-3)
