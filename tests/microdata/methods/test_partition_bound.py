"""Bounds of microaggregation: partitions of small files are the best, and bounds are true."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import Microaggregation, microaggregation_bound
from tablecloak.microdata.methods import partition_bound
from tablecloak.microdata.methods.microaggregation import optimal_groups
from tablecloak.microdata.methods.partition_bound import GroupPrices, sums_of_squares


def within(points: np.ndarray, groups: np.ndarray) -> float:
    """Sum of squares within groups, from the definition."""
    parts = [points[groups == number] for number in np.unique(groups)]
    return float(sum(np.sum((part - part.mean(axis=0)) ** 2) for part in parts))


def least_of_all(points: np.ndarray, k: int) -> float:
    """Least loss of all partitions, by enumeration."""

    @cache
    def least(left: tuple[int, ...]) -> float:
        best = np.inf if left else 0.0
        for size in range(k, len(left) + 1):
            for others in itertools.combinations(left[1:], size - 1):
                group = [left[0], *others]
                rest = tuple(sorted(set(left) - set(group)))
                loss = np.sum((points[group] - points[group].mean(axis=0)) ** 2)
                best = min(best, loss + least(rest) if len(rest) in (0, *range(k, 99)) else np.inf)
        return float(best)

    return least(tuple(range(len(points))))


@pytest.mark.parametrize(
    ("count", "width", "k"), [(6, 2, 2), (7, 2, 3), (8, 1, 2), (9, 2, 2), (9, 3, 3), (10, 2, 4)]
)
@pytest.mark.parametrize("seed", range(2))
def test_the_partition_of_a_small_file_is_the_best_of_all(count, width, k, seed):
    points = np.random.default_rng(seed).normal(size=(count, width))
    found = microaggregation_bound(points, k)
    best = least_of_all(points, k)
    assert found.is_optimal
    assert found.loss == pytest.approx(best)
    assert found.bound <= best * (1 + 1e-9)
    assert found.verify(points) == pytest.approx(found.bound)


@pytest.mark.parametrize(("count", "k"), [(40, 2), (45, 3), (24, 4)])
def test_bound_and_partition_of_one_column_enclose_the_shortest_path(count, k):
    values = np.random.default_rng(count).lognormal(2, 1, count)
    found = microaggregation_bound(values[:, None], k)
    best = within(values[:, None], optimal_groups(values, k))
    assert found.bound <= best * (1 + 1e-9) <= found.loss * (1 + 2e-9)
    assert found.is_optimal
    assert found.loss == pytest.approx(best)


def test_the_partition_loses_what_is_told_and_no_more_than_mdav():
    points = np.random.default_rng(3).normal(size=(24, 3))
    found = microaggregation_bound(points, 3)
    size = np.bincount(found.groups)
    assert size.min() >= 3
    assert size.sum() == 24
    assert within(points, found.groups) == pytest.approx(found.loss)
    frame = pd.DataFrame(points, columns=list("xyz"))
    standard = ((frame - frame.mean()) / frame.std()).to_numpy()
    mdav = Microaggregation(["x", "y", "z"]).protect(frame)
    other = microaggregation_bound(standard, 3)
    assert other.first_loss == pytest.approx(mdav.loss * np.sum(standard**2))
    assert other.loss < other.first_loss
    assert other.gap < 0.1
    searched = Microaggregation(["x", "y", "z"], grouping="search").protect(frame)
    assert searched.loss == pytest.approx(other.loss / np.sum(standard**2))
    assert searched.bound == pytest.approx(other.bound / np.sum(standard**2))
    assert "at least" in searched.summary()


@pytest.mark.parametrize("seed", range(2))
def test_prices_of_any_kind_prove_a_true_bound(seed, monkeypatch):
    """Also where groups are too many to be searched, as with a limit of ten sets."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(9, 2))
    best = least_of_all(points, 3)
    found = microaggregation_bound(points, 3)
    for spread in (0.0, 0.1, 1.0):
        prices = found.prices * random.lognormal(0, spread, 9)
        for most in (10**6, 10):
            monkeypatch.setattr(partition_bound, "MOST_SETS", most)
            assert replace(found, prices=prices).verify(points) <= best * (1 + 1e-9)


def test_all_groups_below_a_margin_are_found():
    random = np.random.default_rng(1)
    points = random.normal(size=(10, 2))
    distance = np.sum((points[:, None] - points) ** 2, axis=2)
    prices = GroupPrices(distance, 3, random.uniform(0, 1, 10), 1e-9)
    listed = 0
    for members in prices.below(0.2):
        size = members.shape[1]
        every = np.array(list(itertools.combinations(range(10), size)))
        cheap = every[sums_of_squares(distance, every) - prices.price[every].sum(axis=1) < 0.2]
        assert np.array_equal(members, cheap)
        listed += len(cheap)
    assert listed > 20
    losses = [
        np.sum((points[list(group)] - points[list(group)].mean(axis=0)) ** 2) for group in every
    ]
    assert sums_of_squares(distance, every) == pytest.approx(np.array(losses))


def test_a_search_without_time_still_gives_a_valid_bound():
    points = np.random.default_rng(2).normal(size=(30, 2))
    hasty = microaggregation_bound(points, 3, time_limit=0)
    best = microaggregation_bound(points, 3)
    assert 0 <= hasty.bound <= best.loss <= hasty.loss * (1 + 1e-12)
    assert best.bound <= best.loss


def test_equal_points_lose_nothing():
    found = microaggregation_bound(np.ones((7, 2)), 3)
    assert (found.loss, found.bound, found.gap) == (0, 0, 0)


@pytest.mark.parametrize(
    ("points", "k", "message"),
    [
        (np.ones(5), 3, "must be numbers in rows and columns"),
        (np.full((5, 2), np.nan), 3, "missing or infinite"),
        (np.ones((2, 2)), 3, "from 2 to the number of points, 2"),
        (np.ones((9, 2)), 1, "from 2 to the number of points"),
        (np.ones((3001, 1)), 3, "more than 3000"),
    ],
)
def test_points_that_cannot_be_bounded_are_refused(points, k, message):
    with pytest.raises(tc.InputError, match=message):
        microaggregation_bound(points, k)
