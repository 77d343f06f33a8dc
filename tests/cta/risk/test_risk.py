"""What an intruder who runs the adjustment backwards gets to know."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc


@pytest.mark.parametrize("weights", ["unit", "relative"])
def test_known_directions_and_levels_undo_the_adjustment_of_coxs_table(weights):
    """Each cell moved by exactly its level; walking that level back meets the truth."""
    adjusted = tc.adjust(tc.examples.cox(), weights=weights)
    risk = tc.attack_adjustment(adjusted, knows="directions")
    assert risk.share_recovered == 1
    assert np.abs(risk.errors).max() < 1e-6
    assert "7 of 7 sensitive cells" in risk.summary()


@pytest.mark.parametrize("knows", ["method", "levels", "directions"])
def test_guess_is_a_table_that_fits_what_the_intruder_knows(knows):
    problem = tc.examples.cox()
    adjusted = tc.adjust(problem, weights="unit")
    risk = tc.attack_adjustment(adjusted, knows=knows)
    cells = problem.sensitive
    below, above = problem.upper_protection[cells], problem.lower_protection[cells]
    if knows == "method":
        below = above = 0.1 * adjusted.values[cells]
    moved = risk.guesses - risk.published
    assert np.all((moved <= -below + 1e-6) | (moved >= above - 1e-6))
    if knows == "directions":
        assert np.array_equal(np.sign(moved), -np.sign(adjusted.changes[cells]))


def test_recovered_means_nearer_to_the_truth_than_the_level():
    problem = tc.examples.cox()
    risk = tc.attack_adjustment(tc.adjust(problem, weights="unit"))
    frame = risk.to_frame()
    for row in frame.itertuples():
        assert row.recovered == (abs(row.guess - row.true) < row.level)
    assert frame.recovered.mean() == risk.share_recovered
    # Published values themselves are never a good guess: that is what adjustment guarantees.
    assert np.all(np.abs(frame.published - frame.true) >= frame.level - 1e-9)


def test_bounds_that_exclude_every_table_defeat_the_attack():
    problem = tc.examples.cox()
    adjusted = tc.adjust(problem, weights="unit")
    with pytest.raises(tc.ModelError):
        tc.attack_adjustment(
            adjusted, lower_bound=adjusted.values, upper_bound=adjusted.values + 1e-3
        )


def test_unknown_knowledge_is_an_error():
    adjusted = tc.adjust(tc.examples.cox(), weights="unit")
    with pytest.raises(tc.InputError, match="Did you mean 'levels'"):
        tc.attack_adjustment(adjusted, knows="level")
    with pytest.raises(tc.InputError, match="must be positive"):
        tc.attack_adjustment(adjusted, assumed_level=0)


def test_published_zeros_do_not_stop_one_who_knows_only_the_method():
    """A share of 0 is no level: the attack goes on without it."""
    problem = tc.examples.cox()
    cell = int(np.flatnonzero(problem.sensitive)[0])
    levels = problem.lower_protection.copy()
    levels[cell] = problem.table.values[cell]
    adjusted = tc.adjust(
        problem.with_changes(
            lower_protection=levels, upper_protection=np.where(problem.sensitive, 1e6, 0)
        ),
        weights="unit",
        directions="down",
    )
    assert adjusted.values[cell] == 0
    assert len(tc.attack_adjustment(adjusted, knows="method").guesses) == 7
