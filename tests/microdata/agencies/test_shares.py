"""Shares, and the ways on which they travel."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablecloak.microdata.agencies.shares import random_below, routes, shares_of


@settings(max_examples=25)
@given(st.lists(st.integers(0, 999), max_size=5), st.integers(1, 6))
def test_shares_add_up_to_the_number_modulo_m(numbers, count):
    parts = shares_of(numbers, count, 1000)
    assert len(parts) == count
    assert [sum(column) % 1000 for column in zip(*parts, strict=True)] == numbers
    assert all(0 <= share < 1000 for part in parts for share in part)


@pytest.mark.parametrize("secret", [0, 1, 5])
def test_all_but_one_share_are_uniform_whatever_the_number(secret):
    """Over all draws below 6 each pair of two of three shares occurs once."""
    seen = []
    for draws in itertools.product(range(6), repeat=2):
        queue = iter(draws)
        parts = shares_of([secret], 3, 6, lambda modulus, queue=queue: next(queue))
        seen.append((parts[0][0], parts[2][0]))
    assert sorted(seen) == list(itertools.product(range(6), repeat=2))


@pytest.mark.parametrize(("agencies", "shares"), [(3, 1), (4, 2), (5, 2), (6, 3), (10, 4)])
def test_every_way_passes_all_agencies_once_from_the_first(agencies, shares):
    ways = routes(agencies, shares)
    assert len(ways) == shares
    assert ways[0] == tuple(range(agencies))
    for way in ways:
        assert way[0] == 0
        assert sorted(way) == list(range(agencies))


@pytest.mark.parametrize(("agencies", "neighbours"), [(3, 2), (4, 3), (5, 4), (8, 4)])
def test_with_two_shares_no_two_agencies_stand_beside_a_third_on_both_ways(agencies, neighbours):
    beside = {agency: set() for agency in range(agencies)}
    for way in routes(agencies, 2):
        for at, agency in enumerate(way):
            beside[agency] |= {way[at - 1], way[(at + 1) % agencies]}
    assert all(len(known) == neighbours for known in beside.values())


def test_random_numbers_lie_below_the_modulus():
    found = {random_below(5) for _ in range(200)}
    assert found == set(range(5))
