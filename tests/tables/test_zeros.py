"""Zeros of counts: published, hidden to protect other cells, or sensitive themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc

COUNTS = {
    ("N", "a"): 9,
    ("N", "b"): 15,
    ("E", "b"): 12,
    ("E", "c"): 12,
    ("S", "a"): 2,
    ("S", "c"): 12,
}
ROWS = [codes for codes, number in COUNTS.items() for _ in range(number)]
TABLE = tc.tabulate(pd.DataFrame(ROWS, columns=["r", "c"]), ["r", "c"], empty_cells=True)
ZEROS = TABLE.values == 0


def test_public_zeros_are_frozen_and_a_hidden_count_is_at_least_one():
    problem = TABLE.protect(tc.MinimumFrequency(3))
    assert np.array_equal(problem.frozen, ZEROS)
    assert np.all(problem.lower_bound[~ZEROS] >= 1)


def test_zeros_as_candidates_may_be_hidden_and_are_not_sensitive():
    problem = TABLE.protect(tc.MinimumFrequency(3), zeros="candidates")
    assert not problem.frozen.any()
    assert not problem.sensitive[ZEROS].any()
    assert not problem.lower_bound.any()
    assert problem.weights[ZEROS].tolist() == [1.0] * 3


def test_protected_zeros_are_sensitive_and_must_be_able_to_be_one():
    problem = TABLE.protect(tc.MinimumFrequency(3), zeros="protected")
    assert problem.sensitive[ZEROS].all()
    assert set(problem.reasons[ZEROS]) == {"protected-zero"}
    assert problem.upper_protection[ZEROS].tolist() == [1.0] * 3
    assert not problem.lower_protection[ZEROS].any()
    assert tc.audit(problem, tc.suppress(problem), intruders="integers").is_safe


def test_zeros_that_everybody_expects_stay_published():
    expected = tc.Manual([{"r": "N", "c": "c"}], status="frozen")
    problem = TABLE.protect(tc.MinimumFrequency(3), expected, zeros="protected")
    cell = TABLE.cell(r="N", c="c")
    assert problem.frozen[cell]
    assert problem.sensitive.sum() == ZEROS.sum() - 1 + 1  # two zeros and the count of 2
    assert not tc.suppress(problem).suppressed[cell]


def test_zeros_as_candidates_lower_the_proved_loss():
    public, candidates = (
        tc.suppress(TABLE.protect(tc.MinimumFrequency(3), zeros=zeros), protect_against="integers")
        for zeros in ("public", "candidates")
    )
    assert public.is_optimal
    assert candidates.is_optimal
    assert (public.loss, candidates.loss) == (49, 37)


def test_counts_of_one_and_two_are_sensitive_in_a_ready_table_without_contributors():
    frame = pd.DataFrame({"r": ["Total", *"abcde"], "count": [10, 0, 1, 2, 3, 4]})
    table = tc.Table.from_frame(frame, ["r"], "count")
    problem = table.protect(tc.MinimumFrequency(3), zeros="candidates")
    assert problem.table.values[problem.sensitive].tolist() == [1.0, 2.0]
    amounts = tc.Table.from_frame(frame.rename(columns={"count": "wage"}), ["r"], "wage")
    with pytest.raises(tc.InputError, match="needs the contributors"):
        amounts.protect(tc.MinimumFrequency(3))


def test_a_zero_of_counts_weighs_one_and_a_zero_of_amounts_nothing():
    frame = pd.DataFrame({"r": ["Total", "a", "b"], "count": [3, 0, 3], "wage": [3, 0, 3]})
    for name, weights in (("count", [3, 1, 3]), ("wage", [3, 0, 3])):
        problem = tc.Table.from_frame(frame, ["r"], name).protect(tc.Manual([{"r": "b"}]))
        assert problem.weights.tolist() == weights


@pytest.mark.parametrize("zeros", ["candidates", "protected"])
def test_zeros_of_amounts_are_not_hidden(zeros):
    frame = pd.DataFrame({"r": ["Total", "a", "b"], "wage": [30, 10, 20]})
    with pytest.raises(tc.InputError, match=f"zeros='{zeros}' needs a table of counts"):
        tc.Table.from_frame(frame, ["r"], "wage").protect(tc.Manual([0]), zeros=zeros)


def test_an_unknown_word_for_zeros_is_refused():
    with pytest.raises(tc.InputError, match=r"Got 'candidate'. Did you mean 'candidates'"):
        TABLE.protect(tc.MinimumFrequency(3), zeros="candidate")
