"""Methods for counts side by side: what follows for one who knows that counts are whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.cellkey import KeyRows, perturb_problem
from tablecloak.comparison import compare
from tablecloak.comparison.intervals import counts_within
from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.tables.rules.rule import RULES


@pytest.fixture(scope="module")
def problem():
    random = np.random.default_rng(4)
    people = pd.DataFrame({"a": random.choice(list("pqr"), 60), "b": random.choice(list("xy"), 60)})
    rule = RULES.build("minimum-frequency", minimum=9)
    return tc.tabulate(people, ["a", "b"]).protect(rule)


def test_a_table_of_counts_is_also_rounded_and_perturbed(problem):
    found = compare(problem, time_limit=3)
    assert {"suppression", "adjustment", "rounding to 3", "cell keys"} <= set(found.table.index)
    told = found.table[["determined", "mean_width"]]
    assert told.loc[["suppression", "rounding to 3", "cell keys"]].notna().all(axis=None)
    # An adjustment promises no largest change, so that nothing is known of how far it may go.
    assert told.loc["adjustment"].isna().all()
    assert found.table.loc["rounding to 3", "mean_width"] <= 4
    assert "cell keys" in found.verdict() or "cell keys" in found.map.table.index


def test_other_tables_are_compared_as_before():
    found = compare(tc.examples.cox_rounded(), time_limit=3)
    assert "cell keys" not in found.table.index and "determined" not in found.table


def test_a_method_that_changes_nothing_determines_every_count(problem):
    exact = perturb_problem(problem, KeyRows(np.zeros((99, 4), int), period=99))
    found = compare(problem, {"nothing": exact}, time_limit=3)
    assert found.table.loc["nothing", "determined"] == 1
    assert not found.table.loc["nothing", "safe"]


def test_margins_that_are_all_rounded_up_determine_their_parts():
    # 2 + 2 + 2 = 6: each part is published as 3 and the total as 6, so that no more than 4 + ...
    people = pd.DataFrame({"a": np.repeat(list("pqr"), 2)})
    problem = tc.tabulate(people, ["a"]).protect(RULES.build("minimum-frequency", minimum=3))
    rounded = controlled_rounding(problem, base=3)
    lower, upper = counts_within(problem, *rounded.intervals(), 5.0)
    values = problem.table.values
    assert np.all(lower <= values) and np.all(values <= upper)
    total = problem.table.cell(a="Total")
    # Each sensitive part stays within 2 of what is published, and with the others within the total.
    shown = rounded.values
    for cell in np.flatnonzero(problem.sensitive):
        others = [c for c in range(len(values)) if c not in (cell, total)]
        most = min(shown[cell] + 2, shown[total] + 2 - sum(max(shown[c] - 2, 0) for c in others))
        assert upper[cell] == most
