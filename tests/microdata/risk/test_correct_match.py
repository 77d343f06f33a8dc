"""The probability of a correct match: values of the paper, and enumeration of all releases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata.methods.pram import LEAST_XI, correct_match_probability, retention


def by_enumeration(counts, cell: int, theta: float, most: int) -> list[float]:
    """Over which records end in the cell: P(target among a) / a, given a."""
    k = len(counts)
    target, others = 1 - theta / counts[cell], []
    for other, t in enumerate(counts):
        stay = 1 - theta / t if other == cell else theta / ((k - 1) * t)
        others += [stay] * (t - (other == cell))
    right, there = np.zeros(most + 1), np.zeros(most + 1)
    for is_in, *rest in itertools.product([0, 1], repeat=1 + len(others)):
        chance = target if is_in else 1 - target
        for p, here in zip(others, rest, strict=True):
            chance *= p if here else 1 - p
        number = is_in + sum(rest)
        if 0 < number <= most:
            there[number] += chance
            right[number] += chance * is_in / number
    return (right[1:] / there[1:]).tolist()


@pytest.mark.parametrize(
    ("xi", "theta"),
    [(3 / 7, 2 / 3), (0.5, 0.618033988750), (2 / 3, 0.5), (0.75, 0.434258545911),
     (0.9, 0.282375696128), (0.99, 0.095580095178)],
)  # fmt: skip
def test_moves_that_each_guarantee_asks_for(xi, theta):
    assert retention(xi) == pytest.approx(theta, abs=1e-12)


@settings(max_examples=25)
@given(st.floats(LEAST_XI, 0.999))
def test_theta_solves_the_equation_of_the_guarantee(xi):
    """A lone record among many others: (1 - theta) / (1 - theta + theta^2) = xi."""
    theta = retention(xi)
    assert (1 - theta) / (1 - theta + theta**2) == pytest.approx(xi)


@pytest.mark.parametrize("xi", [0.42, 1.0, 1.5, float("nan")])
def test_guarantees_out_of_reach_are_refused(xi):
    with pytest.raises(tc.InputError, match="`xi` must lie between 3/7 and 1"):
        retention(xi)


@pytest.mark.parametrize(
    ("counts", "theta", "cell"),
    [((1, 1), 0.4, 0), ((1, 2, 3), 0.434258545911, 0), ((1, 2, 3), 0.434258545911, 2),
     ((2, 3, 5), 0.4, 0), ((1, 1, 1, 1, 1), 0.4, 3)],
)  # fmt: skip
def test_each_probability_is_that_over_all_releases(counts, theta, cell):
    most = 4 if sum(counts) > 3 else 2
    found = correct_match_probability(counts, cell, theta, most)
    assert found == pytest.approx(by_enumeration(counts, cell, theta, most))


def test_numbers_of_records_that_cannot_occur_have_no_probability():
    found = correct_match_probability((1, 1), 0, 0.4, 4)
    assert np.isfinite(found[:2]).all()
    assert np.isnan(found[3])


def test_two_lone_records_are_told_apart_by_chance_alone():
    """Where both records lie in one cell a pick is right in half of the cases, for every theta."""
    for theta in (0.1, 0.4, 2 / 3):
        assert correct_match_probability((1, 1), 0, theta, 2)[1] == pytest.approx(0.5)
