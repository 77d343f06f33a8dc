"""Weight rules: what each cell costs, and how rules are found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.tables.weights import WEIGHT_RULES, WeightRule

VALUES = np.array([0.0, 1.0, -4.0, 100.0])


@pytest.fixture(scope="module")
def problem() -> tc.ProtectionProblem:
    table = tc.Table(
        keys=pd.DataFrame({"cell": list("abcd")}),
        values=VALUES,
        relations=csr_array((0, 4)),
        right_hand_side=np.zeros(0),
    )
    zero = np.zeros(4)
    return tc.ProtectionProblem(
        table=table, status=["s"] * 4, lower_protection=zero, upper_protection=zero,
        sliding_protection=zero, lower_bound=VALUES - 9, upper_bound=VALUES + 9,
        weights=[3, 1, 4, 1],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("unit", [1, 1, 1, 1]),
        ("value", [0, 1, 4, 100]),
        ("relative", [1, 1, 0.25, 0.01]),
        ("log", np.log([1, 2, 5, 101])),
        ("file", [3, 1, 4, 1]),
    ],
)
def test_a_cell_costs_what_its_rule_says(problem, name, weights):
    assert np.allclose(WeightRule(name).of(problem), weights)


@pytest.mark.parametrize("name", WEIGHT_RULES.names)
def test_no_rule_makes_a_cell_cost_less_than_nothing(problem, name):
    weights = WeightRule(name).of(problem)
    assert weights.shape == VALUES.shape
    assert np.all(np.isfinite(weights))
    assert np.all(weights >= 0)


def test_a_rule_is_one_thing_however_it_is_found():
    assert WeightRule("unit") is WeightRule.UNIT is WeightRule(WeightRule.UNIT)
    assert [rule.name for rule in WeightRule] == WEIGHT_RULES.names
    assert WeightRule.UNIT.value == "unit"
    assert repr(WeightRule.UNIT) == "<WeightRule: unit>"


def test_a_misspelt_rule_is_told_the_likely_one():
    with pytest.raises(tc.InputError, match="no weight rule 'unti'. Did you mean 'unit'"):
        WeightRule("unti")
    with pytest.raises(AttributeError, match="there is no weight rule 'UNTI'"):
        _ = WeightRule.UNTI


def test_weights_that_came_with_a_problem_cannot_be_asked_of_a_table():
    of_table = [kind.name for kind in WEIGHT_RULES if kind.is_of_table]
    assert "file" not in of_table
    assert {"unit", "value", "relative", "log"} <= set(of_table)
