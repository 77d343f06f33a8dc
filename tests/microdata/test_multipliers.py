"""Multipliers away from 1: their distribution, directions that cancel, totals that stay."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.microdata.multipliers import ContributorMultipliers, Sizes, balanced, kept

NAMES = [f"f{number}" for number in range(4000)]


def random_groups(seed: int, n: int = 60, n_groups: int = 6, spread: int = 1) -> csr_array:
    """Contributions of n contributors to groups; each belongs to `spread` of them."""
    random = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), spread)
    group = random.integers(0, n_groups, n * spread)
    size = np.ceil(random.lognormal(3, 1.5, n * spread))
    return csr_array((size, (group, who)), shape=(n_groups, n))


@pytest.mark.parametrize("shape", ["ramp", "uniform"])
def test_changes_lie_between_both_bounds_on_either_side_with_the_declared_mean(shape):
    sizes = Sizes(0.1, 0.3, shape)
    drawn = ContributorMultipliers.drawn(NAMES, sizes, seed=1)
    assert drawn.sizes.min() >= 0.1
    assert drawn.sizes.max() <= 0.3
    assert drawn.sizes.mean() == pytest.approx(sizes.mean, abs=0.003)
    assert drawn.directions.mean() == pytest.approx(0, abs=0.05)


def test_a_contributor_has_its_multiplier_in_every_file_with_the_same_seed():
    all_of = ContributorMultipliers.drawn(NAMES, Sizes(), seed=5).changes
    some = ContributorMultipliers.drawn(NAMES[1000:10:-1], Sizes(), seed=5).changes
    assert np.array_equal(some, all_of[1000:10:-1])
    assert not np.any(ContributorMultipliers.drawn(NAMES, Sizes(), seed=6).changes == all_of)


def test_without_a_seed_no_two_draws_agree():
    first, second = (ContributorMultipliers.drawn(["a"], Sizes()).changes for _ in range(2))
    assert first != second


@pytest.mark.parametrize(("least", "most"), [(0, 0.1), (0.2, 0.1), (0.1, 0.1), (0.1, 1)])
def test_bounds_that_do_not_keep_off_1_are_refused(least, most):
    with pytest.raises(tc.InputError, match="`least` must lie above 0 and below `most`"):
        Sizes(least, most)


def test_each_contributor_goes_against_the_noise_of_larger_ones():
    """50 moves up by 5, so that 30 and 20 move down by 3 and, since 2 are left, by 2."""
    directions = balanced(np.ones(4), np.full(4, 0.1), csr_array([[20.0, 50.0, 30.0, 0.0]]))
    assert directions.tolist() == [-1, 1, -1, 1]


def test_a_contributor_in_several_groups_weighs_noise_by_the_share_that_it_disturbs():
    """Of the third, most belongs to the first group, where it is a third of the total."""
    groups = csr_array([[60.0, 0.0, 30.0], [0.0, 1000.0, 5.0]])
    directions = balanced(np.array([1.0, -1.0, 1.0]), np.full(3, 0.1), groups)
    assert directions[2] == -1


@pytest.mark.parametrize("spread", [1, 2])
def test_several_draws_are_balanced_like_each_of_them(spread):
    groups = random_groups(3, spread=spread)
    random = np.random.default_rng(4)
    directions, sizes = random.choice([-1.0, 1.0], (60, 5)), random.uniform(0.1, 0.2, (60, 5))
    several = balanced(directions, sizes, groups)
    one_by_one = [balanced(directions[:, at], sizes[:, at], groups) for at in range(5)]
    assert np.array_equal(several, np.column_stack(one_by_one))


@pytest.mark.parametrize("seed", range(2))
def test_balanced_noise_is_at_most_that_of_the_largest_contributor(seed):
    groups = random_groups(seed)
    drawn = ContributorMultipliers.drawn(range(60), Sizes(0.1, 0.2), seed, balance=groups)
    largest = groups.max(axis=1).toarray().ravel()
    assert np.all(np.abs(groups @ drawn.changes) <= 0.2 * largest * (1 + 1e-12))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("spread", [1, 2])
def test_totals_of_many_contributors_stay_and_no_size_leaves_its_bounds(seed, spread):
    groups = random_groups(seed, n=200, n_groups=5, spread=spread)
    sizes = Sizes(0.05, 0.15)
    drawn = ContributorMultipliers.drawn(range(200), sizes, seed, balance=groups, keep=groups)
    assert np.all(np.abs(groups @ drawn.changes) <= 1e-9 * groups.sum(axis=1))
    assert np.all((drawn.sizes >= sizes.least) & (drawn.sizes <= sizes.most))


def test_a_total_that_sizes_cannot_keep_comes_as_near_as_they_allow():
    """100 up and 10 down: 100 at the least size, 10 at the largest."""
    groups = csr_array([[100.0, 10.0]])
    found = kept(np.array([1.0, -1.0]), np.array([0.1, 0.1]), groups, Sizes(0.05, 0.15))
    assert found.tolist() == [0.05, 0.15]
    alone = kept(np.ones(1), np.array([0.1]), csr_array([[100.0]]), Sizes(0.05, 0.15))
    assert alone.tolist() == [0.05]


def test_sizes_move_no_further_than_needed():
    """Without noise nothing moves; with noise of 1 each of 30 and 20 gives 0.02."""
    groups = csr_array([[30.0, 20.0]])
    bounds = Sizes(0.05, 0.3)
    still = np.array([0.1, 0.15])
    assert np.array_equal(kept(np.array([1.0, -1.0]), still, groups, bounds), still)
    moved = kept(np.array([1.0, -1.0]), np.array([0.1, 0.1]), groups, bounds)
    assert moved == pytest.approx([0.08, 0.12])
