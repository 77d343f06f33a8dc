"""Patterns that hold against insiders, and patterns that stay close to last period's."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from contributors import with_contributors

INSIDERS = ["contributors", "pairs", "zeros"]


def small_problem(seed: int) -> tc.ProtectionProblem:
    """3 x 3 cells with one to three firms each."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(itertools.product("ABC", "xyz"), columns=["r", "b"])
    frame = frame.loc[np.repeat(frame.index, random.integers(1, 5, len(frame)))]
    frame = frame.assign(firm=range(len(frame)), v=random.integers(1, 90, len(frame)).astype(float))
    table = with_contributors(frame, ["r", "b"], "v", contributor="firm", n_largest=9)
    return table.protect(tc.PPercent(10), tc.MinimumFrequency(2, range=10))


@pytest.mark.parametrize("seed", [1, 4])
def test_pattern_holds_against_insiders_and_comes_close_to_the_best_one(seed):
    problem = small_problem(seed)
    pattern = tc.suppress(problem, protect_against=INSIDERS, time_limit=20)
    pattern.verify()
    assert len(pattern.certificate.insiders) > 0
    assert tc.audit(problem, pattern, intruders=INSIDERS).is_safe
    free = np.flatnonzero(~problem.frozen & ~problem.sensitive)
    # What the audit found safe is one of the candidates: only cheaper ones can be better.
    best = pattern.loss
    for chosen in itertools.product([False, True], repeat=len(free)):
        hidden = problem.sensitive.copy()
        hidden[free] = chosen
        loss = problem.weights[hidden].sum()
        # What a stranger attacks, an insider attacks as well; the stranger is quicker.
        if loss >= best or not tc.audit(problem, hidden).is_safe:
            continue
        if tc.audit(problem, hidden, intruders=INSIDERS).is_safe:
            best = loss
    assert pattern.bound <= best <= pattern.loss <= 1.25 * best


def test_pattern_for_strangers_falls_to_insiders():
    attacked = 0
    for seed in range(6):
        problem = small_problem(seed)
        pattern = tc.suppress(problem, time_limit=20)
        attacked += not tc.audit(problem, pattern, intruders=INSIDERS).is_safe
    assert attacked > 0


def test_pattern_holds_against_who_knows_that_values_are_whole():
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem, protect_against="integers")
    assert pattern.is_proved_in_whole_numbers
    assert tc.audit(problem, pattern, intruders="integers").is_safe


def test_cell_that_no_pattern_hides_from_an_insider_is_named():
    """A firm alone in the total knows its only companion's cell whatever is suppressed."""
    frame = pd.DataFrame({"r": ["A", "B"], "firm": ["f1", "f2"], "v": [50.0, 60.0]})
    table = tc.tabulate(frame, ["r"], "v", contributor="firm")
    problem = table.protect(tc.MinimumFrequency(2, range=10))
    frozen = problem.with_changes(
        status=np.where(table.keys["r"] == "Total", "z", problem.status), reasons=problem.reasons
    )
    with pytest.raises(tc.ModelError, match="cannot be protected against contributors: f"):
        tc.suppress(frozen, protect_against="contributors")


def test_last_periods_cells_are_kept_if_they_cost_nothing():
    problem = tc.examples.cox_rounded()
    every = ~problem.frozen
    last = tc.suppress(problem, weights="unit")
    assert not np.array_equal(last.suppressed, tc.suppress(problem).suppressed)
    again = tc.suppress(problem, previous=last, discount=1.0)
    assert not np.any(again.suppressed & ~last.suppressed)
    with pytest.raises(tc.InputError, match="whose cells are matched by their codes"):
        tc.suppress(problem, previous=every[:-1])
    with pytest.raises(tc.InputError, match="`discount`"):
        tc.suppress(problem, previous=every, discount=2)
