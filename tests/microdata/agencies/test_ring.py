"""Shares, and the ways on which they travel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import FixedPoint, Ring, secure_sum
from tablecloak.microdata.agencies.agency import (
    Agency,
    encoded,
    records,
    routes,
    shares_of,
)


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


def test_with_two_shares_no_two_agencies_stand_beside_a_third_on_both_ways():
    for agencies, neighbours in ((3, 2), (4, 3), (5, 4), (8, 4)):
        beside = {agency: set() for agency in range(agencies)}
        for way in routes(agencies, 2):
            for at, agency in enumerate(way):
                beside[agency] |= {way[at - 1], way[(at + 1) % agencies]}
        assert all(len(known) == neighbours for known in beside.values())


WHOLE = FixedPoint(modulus=10**6, fraction_bits=0)


def holders(*values) -> list[Agency]:
    return [
        Agency(f"agency {at}", lambda question, argument, value=value: list(value))
        for at, value in enumerate(values)
    ]


def test_the_messages_of_the_worked_example():
    """R = 739201 and the numbers 1234, 9999, -777, 42."""
    seen = []
    found = secure_sum(
        [1234, 9999, -777, 42],
        arithmetic=WHOLE,
        draw=lambda modulus: 739201,
        listener=lambda sender, receiver, numbers: seen.append(numbers[0]),
    )
    assert seen == [740435, 750434, 749657, 749699]
    assert found == 10498


@given(st.lists(st.integers(-1000, 1000), min_size=3, max_size=7), st.integers(1, 4))
def test_the_sum_is_that_of_all_numbers_whatever_is_drawn(values, shares):
    assert secure_sum(values, arithmetic=WHOLE, shares=shares) == sum(values)


def test_each_agency_hears_from_the_one_before_it_on_each_way():
    seen = []

    def listen(sender, receiver, numbers):
        seen.append((sender, receiver))

    Ring(holders([1], [2], [3], [4]), WHOLE, shares=2, listener=listen).sums("value")
    assert len(seen) == 8
    for start in (0, 4):
        way = seen[start : start + 4]
        assert way[0][0] == "agency 0"
        assert way[-1][1] == "agency 0"
        assert all(way[at][1] == way[at + 1][0] for at in range(3))


@pytest.mark.parametrize(
    ("ring", "message"),
    [
        (lambda: Ring(holders([1], [2])), "2 agencies are too few"),
        (lambda: Ring(holders([1], [2])[:1] * 3), "Every agency needs a name of its own"),
        (lambda: Ring(holders([1], [2], [3]), shares=0), "`shares` must be at least 1. Got 0"),
        (lambda: Ring(holders([1], [2], [3]), WHOLE, largest=2e5), "may add up to the limit"),
    ],
)
def test_rings_that_would_tell_or_overflow_are_refused(ring, message):
    with pytest.raises(tc.InputError, match=message):
        ring()


def test_an_answer_of_another_length_ends_the_round_before_anything_is_sent():
    sent = []
    ring = Ring(holders([1, 2], [3], [4, 5]), WHOLE, listener=lambda *what: sent.append(what))
    with pytest.raises(tc.SolverError, match="'agency 1' answered with 1 numbers instead of 2"):
        ring.sums("value")
    assert sent == []


def test_a_number_beyond_what_was_agreed_is_not_told():
    with pytest.raises(
        tc.InputError, match="A number of agency 'agency 0' is larger than"
    ) as error:
        encoded(holders([123456])[0], "value", None, WHOLE, 3, largest=1000)
    assert "123456" not in str(error.value)


def test_an_agency_that_fails_tells_only_the_kind_of_its_error():
    def broken(question, argument):
        raise KeyError("patient 4711")

    with pytest.raises(tc.SolverError, match="did not answer .KeyError.") as error:
        encoded(Agency("clinic", broken), "value", None, WHOLE, 3)
    assert "4711" not in str(error.value)
    assert error.value.__cause__ is None


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[1.0], [2.0]], [1.0], "one row for each entry of y"),
        ([1.0, 2.0], [1.0, 2.0], "one row for each entry of y"),
        ([[1.0], [np.nan]], [1.0, 2.0], "missing or infinite"),
    ],
)
def test_records_that_do_not_fit_are_refused_by_the_name_of_the_agency(x, y, message):
    with pytest.raises(tc.InputError, match=f"north: .*{message}"):
        records("north", x, y)


def test_moments_are_those_of_the_records_with_an_intercept():
    x, y = np.array([[1.0], [2.0], [4.0]]), np.array([3.0, 5.0, 6.0])
    answer = list(records("north", x, y).values("moments", None))
    # Upper triangle of X'X, X'y, y'y, sum of y.
    assert answer == [3, 7, 21, 14, 37, 70, 14]


def test_the_gradient_of_a_logistic_model_is_that_of_its_deviance():
    random = np.random.default_rng(1)
    x, y = random.normal(size=(30, 2)), (random.random(30) < 0.5).astype(float)
    agency, beta = records("north", x, y), np.array([0.2, -0.3, 0.5])
    answer = np.array(list(agency.values("newton", beta)))
    gradient, deviance = answer[6:9], answer[9]
    for at in range(3):
        step = np.zeros(3)
        step[at] = 1e-6
        up, down = (agency.values("newton", beta + s * step)[9] for s in (1, -1))
        # -2 log likelihood falls by twice the gradient of the log likelihood.
        assert (up - down) / 2e-6 == pytest.approx(-2 * gradient[at], rel=1e-5)
    assert deviance > 0
    assert answer[10] == 30
