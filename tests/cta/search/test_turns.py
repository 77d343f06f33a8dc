"""Directions turned by their prices, on values that are known in closed form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.budget import Budget
from tablecloak.cta.search.turns import turn_around


class Prices:
    """sum of up_i or down_i, and a price for each pair of directions that agree."""

    def __init__(self, up, down, together=None) -> None:
        self.up, self.down = np.asarray(up, float), np.asarray(down, float)
        self.together = together
        self.asked: list[tuple[int, ...]] = []
        self.best = np.inf

    def value(self, y: np.ndarray) -> float:
        own = float(np.where(y > 0, self.up, self.down).sum())
        if self.together is None:
            return own
        return own + float(np.sum(self.together * (y[:, None] == y[None, :])) / 2)

    def __call__(self, y: np.ndarray, time_limit: float):
        assert time_limit > 0
        self.asked.append(tuple(y.astype(int).tolist()))
        value = self.value(y)
        self.best = min(self.best, value)
        turned = np.array([self._after(y, i) for i in range(len(y))])
        return value, turned - value

    def _after(self, y: np.ndarray, i: int) -> float:
        other = y.copy()
        other[i] = 1 - other[i]
        return self.value(other)


def free(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(n), np.ones(n)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=9))
def test_directions_that_do_not_depend_on_each_other_end_at_their_best(costs):
    up, down = np.array(costs, dtype=float).T
    prices = Prices(up, down)
    turn_around(prices, np.ones(len(costs)), free(len(costs)), Budget.of(60))
    assert prices.best == np.minimum(up, down).sum()


@pytest.mark.parametrize("seed", range(3))
def test_no_start_gets_worse_and_the_best_is_never_below_enumeration(seed):
    random = np.random.default_rng(seed)
    together = random.integers(0, 10, (6, 6)).astype(float)
    together = np.triu(together, 1) + np.triu(together, 1).T
    prices = Prices(random.integers(0, 20, 6), random.integers(0, 20, 6), together)
    start = np.ones(6)
    turn_around(prices, start, free(6), Budget.of(60))
    least = min(prices.value(np.array(y, float)) for y in itertools.product([0, 1], repeat=6))
    assert least <= prices.best <= prices.value(start)


def test_what_promises_nothing_is_not_tried():
    prices = Prices([1, 2, 3], [1, 5, 3])
    assert turn_around(prices, np.ones(3), free(3), Budget.of(60)) == 0
    assert prices.asked == [(1, 1, 1)]


def test_given_directions_are_not_turned():
    prices = Prices([9, 9], [0, 0])
    turn_around(prices, np.ones(2), (np.array([1.0, 0.0]), np.ones(2)), Budget.of(60))
    assert {y[0] for y in prices.asked} == {1}
    assert prices.best == 9


def test_the_start_itself_is_left_as_it_was():
    start = np.ones(3)
    turn_around(Prices([9, 9, 9], [0, 0, 0]), start, free(3), Budget.of(60))
    assert start.tolist() == [1, 1, 1]


def test_no_directions_are_priced_twice():
    random = np.random.default_rng(7)
    together = np.triu(random.integers(-9, 9, (8, 8)).astype(float), 1)
    prices = Prices(random.normal(size=8), random.normal(size=8), together + together.T)
    turn_around(prices, np.ones(8), free(8), Budget.of(60))
    assert len(prices.asked) == len(set(prices.asked))


def test_a_share_of_the_promising_directions_is_turned_at_once():
    prices = Prices([9] * 10, [0] * 10)
    turn_around(prices, np.ones(10), free(10), Budget.of(60), most=0.5)
    assert sum(prices.asked[1]) == 5
    few = Prices([9] * 10, [0] * 10)
    turn_around(few, np.ones(10), free(10), Budget.of(60), most=0.1)
    assert sum(few.asked[1]) == 9


def test_an_impossible_start_ends_the_search():
    def impossible(y, time_limit):
        return np.inf, np.full(len(y), -1.0)

    assert turn_around(impossible, np.ones(3), free(3), Budget.of(60)) == 0


def test_when_time_is_over_nothing_is_priced():
    prices = Prices([9], [0])
    assert turn_around(prices, np.ones(1), free(1), Budget.of(0.0)) == 0
    assert prices.asked == []
