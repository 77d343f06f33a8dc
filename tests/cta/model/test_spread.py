"""Distances left to chance: what who knows all but the seed can guess."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.cta.model.spread import Spread

ROOMY = {"lower_bound": -1e9, "upper_bound": 1e9}


def roomy() -> tc.ProtectionProblem:
    """Cox's table with bounds that nobody reaches."""
    return tc.examples.cox().with_changes(**ROOMY)


def first_draws(problem: tc.ProtectionProblem, recovery: float, count: int) -> np.ndarray:
    """Moves of the sensitive cells, shape (count, n_sensitive)."""
    spread, moves = Spread.of(problem, recovery), []
    for seed in range(count):
        draw = next(spread.draws(seed))
        up = draw.problem.upper_protection[problem.sensitive]
        down = draw.problem.lower_protection[problem.sensitive]
        assert np.all((up > 0) != (down > 0))
        assert np.array_equal(draw.directions, np.where(up > 0, 1.0, -1.0))
        moves.append(np.where(up > 0, up, -down))
    return np.array(moves)


@pytest.mark.parametrize("recovery", [0.1, 0.3])
def test_no_guess_is_right_more_often_than_asked(recovery):
    problem = roomy()
    moves = first_draws(problem, recovery, 3000)
    lower = problem.lower_protection[problem.sensitive]
    upper = problem.upper_protection[problem.sensitive]
    assert np.all((moves >= upper) | (moves <= -lower))
    for cell in range(moves.shape[1]):
        ends = np.sort(moves[:, cell])
        # The best window that any guesser could choose, knowing the whole distribution.
        inside = np.searchsorted(ends, ends + lower[cell] + upper[cell], "right") - np.arange(3000)
        assert recovery - 0.03 < inside.max() / 3000 < recovery + 0.03


def test_the_mean_distance_is_the_least_that_theory_allows():
    problem = roomy()
    moves = np.abs(first_draws(problem, 0.1, 2000)).mean(axis=0)
    levels = problem.upper_protection[problem.sensitive]
    assert np.array_equal(levels, problem.lower_protection[problem.sensitive])
    assert moves == pytest.approx(6 * levels, rel=0.06)


def test_cells_are_safe_and_the_attack_fails_where_it_recovered_all():
    problem = tc.examples.cox()
    plain = tc.adjust(problem)
    assert tc.attack_adjustment(plain, knows="levels").share_recovered == 1
    recovered, tables = [], set()
    for seed in range(6):
        adjusted = tc.adjust(problem, recovery=0.1, seed=seed)
        adjusted.verify()
        assert adjusted.bound == plain.bound
        assert adjusted.chance.recovery == pytest.approx(0.1, rel=1e-6)
        assert f"{adjusted.loss / plain.loss:.3g} times" in adjusted.notes[-1]
        recovered.append(tc.attack_adjustment(adjusted, knows="levels").share_recovered)
        tables.add(adjusted.values.tobytes())
    assert np.mean(recovered) < 0.25
    assert len(tables) == 6


def test_a_seed_repeats_the_table_and_without_one_nobody_can():
    problem = tc.examples.cox_rounded()
    one, same, other, another = (
        tc.adjust(problem, recovery=0.3, seed=seed).values for seed in (5, 5, None, None)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(other, another)


def test_coupled_cells_move_together_and_bounds_that_tell_the_truth_are_named(instances):
    """Everybody knows the values of targus to within half of themselves, and levels are a third."""
    problem = tc.read_jj(instances / "castro-cta-jj/targus.jj.gz")
    adjusted = tc.adjust(problem, recovery=0.1, seed=1)
    adjusted.verify()
    assert adjusted.chance.recovery > 0.6
    assert f"{100 * adjusted.chance.recovery:.3g} %" in adjusted.notes[-1]


def test_whole_numbers_stay_whole():
    adjusted = tc.adjust(tc.examples.cox_rounded(), recovery=0.2, seed=2)
    assert np.array_equal(adjusted.values, np.rint(adjusted.values))


@pytest.mark.parametrize("recovery", [0, 1, -0.1, float("nan")])
def test_a_share_that_is_none_is_refused(recovery):
    with pytest.raises(tc.InputError, match="share of the sensitive cells.*such as 0.1"):
        tc.adjust(tc.examples.cox(), recovery=recovery)


@pytest.mark.parametrize("option", [{"repair": True}, {"directions": "up"}, {"sensitive_limit": 1}])
def test_chance_chooses_directions_and_distances_itself(option):
    with pytest.raises(tc.InputError, match="Leave out"):
        tc.adjust(tc.examples.cox(), recovery=0.1, **option)
