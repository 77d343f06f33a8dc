"""What each intruder takes for known, and what running an adjustment backwards gives."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import one_row, place
from random_tables import random_problem
from tablecloak.cta.risk.risk import GUESSERS, AdjustmentRisk, TruthGuesses

PROBLEM = one_row([50, 60, 70], {"a": (3, 5), "c": (4, 4)})


def adjusted(problem=PROBLEM, **options) -> tc.Adjustment:
    return tc.adjust(problem, weights="unit", **options)


def test_one_who_knows_the_method_assumes_a_share_of_the_published_value():
    one = adjusted(directions="up")
    below, above = GUESSERS["method"]().distances(one, 0.1)
    assert np.array_equal(below, above)
    assert below.tolist() == pytest.approx([5.5, 0, 7.4, 0])
    assert GUESSERS["method"]().directions(one) is None


def test_who_knows_the_levels_looks_back_by_the_level_of_the_other_side():
    below, above = GUESSERS["levels"]().distances(adjusted(), 0.1)
    # What was raised by UPL = 5 has its truth 5 below.
    assert (below[0], above[0]) == (5, 3)


def test_who_knows_the_directions_goes_the_opposite_way():
    one = adjusted(directions=[1, -1])
    assert GUESSERS["directions"]().directions(one).tolist() == [-1, 1]


@pytest.mark.parametrize("knows", ["levels", "directions"])
def test_a_single_sensitive_cell_moved_by_its_level_is_guessed_exactly(knows):
    """All that is needed to undo the cheapest adjustment is how far it went."""
    problem = one_row([50, 60], {"a": (4, 4)})
    risk = tc.attack_adjustment(adjusted(problem), knows=knows)
    assert risk.guesses.tolist() == pytest.approx([50])
    assert risk.share_recovered == 1


def test_one_who_assumes_ten_times_the_level_misses_the_cell():
    problem = one_row([50, 60], {"a": (4, 4)})
    risk = tc.attack_adjustment(adjusted(problem), knows="method", assumed_level=0.8)
    assert not risk.recovered.any()
    assert np.abs(risk.errors)[0] > 4


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("knows", ["levels", "directions"])
def test_every_guess_lies_as_far_from_the_published_value_as_is_known(seed, knows):
    problem = random_problem(seed)
    one = tc.adjust(problem, weights="unit")
    risk = tc.attack_adjustment(one, knows=knows)
    moved = np.abs(risk.guesses - risk.published)
    least = np.minimum(problem.lower_protection, problem.upper_protection)[problem.sensitive]
    assert np.all(moved >= least - 1e-6)


@pytest.mark.parametrize(
    ("guesses", "recovered"), [([50, 70], [True, True]), ([53, 70], [True, True]),
                               ([55, 66], [False, False]), ([46.9, 73.9], [False, True])],
)  # fmt: skip
def test_recovered_means_nearer_than_the_level_on_the_side_of_the_guess(guesses, recovered):
    found = TruthGuesses(PROBLEM, np.array(guesses, dtype=float))
    assert found.recovered.tolist() == recovered
    assert found.share_recovered == np.mean(recovered)


def test_no_sensitive_cells_mean_no_share():
    assert TruthGuesses(one_row([50, 60], {}), np.empty(0)).share_recovered == 0


def test_the_frame_puts_each_guess_beside_the_truth():
    risk = AdjustmentRisk(PROBLEM, np.array([51.0, 79.0]), "levels", np.array([55.0, 74.0]), 0.0)
    frame = risk.to_frame()
    assert frame["code"].tolist() == ["a", "c"]
    assert frame["true"].tolist() == [50, 70]
    assert frame["level"].tolist() == [5, 4]
    assert frame["recovered"].tolist() == [True, False]
    assert "1 of 2 sensitive cells guessed to within their level" in risk.summary()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"knows": "level"}, "`knows` is 'level'. Did you mean 'levels'"),
        ({"knows": "method", "assumed_level": 0.0}, "`assumed_level` must be positive"),
    ],
)
def test_what_an_intruder_cannot_know_is_an_error(options, message):
    with pytest.raises(tc.InputError, match=message):
        tc.attack_adjustment(adjusted(), **options)


def test_bounds_that_leave_no_way_back_defeat_the_attack():
    one = adjusted(directions="up")
    with pytest.raises(tc.ModelError):
        tc.attack_adjustment(one, knows="directions", lower_bound=one.values)
    assert place(PROBLEM, "a") == 0
