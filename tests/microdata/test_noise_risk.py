"""What outsiders and contributors infer from noisy tables of a few firms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata.multipliers import ContributorMultipliers
from tablecloak.microdata.noise_risk import insiders, insiders_guess, outsiders_guess, windows

FIRMS = pd.DataFrame(
    {
        "firm": ["a", "b", "c", "d", "e", "f"],
        "region": ["N", "S", "S", "W", "W", "W"],
        "sold": [1000.0, 900.0, 100.0, 400.0, 300.0, 200.0],
    }
)
GIVEN = tc.contributed(FIRMS, ["region"], "sold", contributor="firm")
TABLE = tc.tabulate(FIRMS, ["region"], "sold", contributor="firm")
PROBLEM = TABLE.protect(tc.Manual([1, 2], range=8))


def noisy(seed: int = 1, problem: tc.ProtectionProblem = PROBLEM, **options) -> tc.NoisyTable:
    """Published without rounding, so that windows are what bounds alone give."""
    made = tc.noisy_table(problem, GIVEN, least=0.05, most=0.15, seed=seed, **options)
    values = problem.table.values + made.cells @ made.multipliers.changes
    return replace(made, values=values, blur=np.zeros_like(values))


@pytest.mark.parametrize("seed", range(3))
def test_the_truth_lies_in_every_window_and_so_does_it_with_rounding(seed):
    for made in (noisy(seed), tc.noisy_table(PROBLEM, GIVEN, seed=seed)):
        lower, upper = windows(made)
        truth = made.problem.table.values
        assert np.all((lower <= truth + 1e-9) & (truth <= upper + 1e-9))


def test_windows_follow_from_the_largest_change_and_add_up():
    made = noisy()
    lower, upper = windows(made)
    assert lower == pytest.approx(made.values / 1.15)
    assert upper == pytest.approx(made.values / 0.85)
    assert np.abs(TABLE.relations @ upper).max() < 1e-9


def test_a_total_that_is_kept_has_no_window():
    frame = FIRMS.assign(sold=[1000.0, 500.0, 500.0, 400.0, 300.0, 200.0])
    given = tc.contributed(frame, ["region"], "sold", contributor="firm")
    table = tc.tabulate(frame, ["region"], "sold", contributor="firm")
    made = tc.noisy_table(table.protect(tc.Manual([1])), given, keep=["region"], seed=1)
    lower, upper = windows(made)
    assert (upper > lower).tolist() == [True, True, False, False]


def test_losses_and_profits_that_cancel_are_off_by_their_sizes():
    frame = FIRMS.assign(sold=[1000.0, 900.0, -880.0, 1.0, 1.0, 1.0])
    with pytest.warns(tc.TablecloakWarning, match="negative"):
        table = tc.tabulate(frame, ["region"], "sold", contributor="firm")
    given = tc.contributed(frame, ["region"], "sold", contributor="firm")
    made = tc.noisy_table(table.protect(tc.Manual([2])), given, seed=1)
    lower, upper = windows(made)
    south = 2
    assert (upper - lower)[south] >= 2 * 0.15 * 1780
    assert lower[south] <= 20 <= upper[south]


def test_the_second_largest_contributor_takes_its_own_noise_away():
    """In S it has 100 with its own noise, so that 900 is left with unknown noise."""
    made = noisy()
    known = insiders(made)
    assert known.cells.tolist() == [2]
    assert (GIVEN.names[known.who[0]], known.own[0]) == ("c", 100)
    rest = made.values[2] - 100 * (1 + made.multipliers.changes[known.who[0]])
    assert known.lower[0] == pytest.approx(100 + rest / 1.15)
    assert known.upper[0] == pytest.approx(100 + rest / 0.85)


def test_who_knows_the_bounds_guesses_one_contributor_in_two():
    """|m - 1| lies within 8 % of 0.1, on one of two sides: one guess in two is right."""
    right = []
    for seed in range(20):
        made = noisy(seed)
        right.append(abs(outsiders_guess(made)[0] - 1000) < 80)
    assert 0.3 <= np.mean(right) <= 0.75


def test_wide_levels_make_every_guess_right_and_narrow_ones_hardly_any():
    wide = TABLE.protect(tc.Manual([1, 2], range=40))
    narrow = TABLE.protect(tc.Manual([1, 2], range=0.1))
    errors = [np.abs(outsiders_guess(noisy(3, each)) / [1000, 1000] - 1) for each in (wide, narrow)]
    assert np.all(errors[0] < 0.4)
    assert np.all(errors[1] > 0.001)


def test_balanced_noise_of_two_equals_is_told_by_their_sum():
    """Of two equal contributors one goes up and one down: the rest is at most 0.05 of the sum."""
    frame = FIRMS.assign(sold=[1000.0, 500.0, 500.0, 4.0, 3.0, 2.0])
    table = tc.tabulate(frame, ["region"], "sold", contributor="firm")
    given = tc.contributed(frame, ["region"], "sold", contributor="firm")
    problem = table.protect(tc.Manual([2], range=5))
    made = [tc.noisy_table(problem, given, balance=["region"], seed=seed) for seed in range(5)]
    assert all(abs(each.changes[2]) <= 51 for each in made)
    assert all(abs(outsiders_guess(each)[0] - 1000) <= 55 for each in made)


def test_an_insider_knows_the_direction_of_the_others_where_noise_is_balanced():
    """c moves against b, so that its own direction tells that of b: one guess remains of two."""
    problem = TABLE.protect(tc.Manual([2], range=6))
    errors: dict[str, list[float]] = {"plain": [], "balanced": []}
    for seed in range(16):
        for name, options in (("plain", {}), ("balanced", {"balance": ["region"]})):
            made = noisy(seed, problem, **options)
            errors[name].append(abs(insiders_guess(made, insiders(made))[0] - 1000))
    right = {name: np.mean(np.array(each) < 60) for name, each in errors.items()}
    assert right["balanced"] >= 0.9
    assert right["plain"] <= 0.75


def test_multipliers_are_drawn_anew_by_the_same_design():
    made = noisy(1, balance=["region"])
    again = made.design.drawn_again
    assert again.shape == (6, 200)
    south = GIVEN.own[[1]].toarray().ravel()
    assert np.all(np.abs(south @ again) <= 0.15 * 900 - 0.05 * 100 + 1e-9)
    assert isinstance(made.multipliers, ContributorMultipliers)
