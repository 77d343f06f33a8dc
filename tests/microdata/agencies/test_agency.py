"""Numbers as integers modulo M."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import FixedPoint

SMALL = FixedPoint(modulus=1000, fraction_bits=0)


def test_negative_numbers_lie_in_the_upper_half():
    codes = {0: 0, 7: 7, -1: 999, 499: 499, -499: 501, 2.4: 2, 2.6: 3}
    for value, code in codes.items():
        assert SMALL.encode(value) == code
        assert SMALL.decode(code) == round(value)


def test_a_sum_beyond_half_of_the_modulus_comes_out_with_the_wrong_sign():
    """The case that must be caught before anything is sent."""
    assert SMALL.decode((SMALL.encode(300) + SMALL.encode(300)) % 1000) == -400


@pytest.mark.parametrize("value", [500, -500, 1e9, float("inf"), float("nan")])
def test_numbers_that_do_not_fit_are_refused(value):
    with pytest.raises(tc.InputError, match="does not fit|missing or infinite"):
        SMALL.encode(value)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=6))
def test_sums_of_multiples_of_the_last_bit_are_exact(numbers):
    arithmetic = FixedPoint(fraction_bits=8)
    values = [number / 256 for number in numbers]
    total = sum(arithmetic.encode(value) for value in values) % arithmetic.modulus
    assert arithmetic.decode(total) == sum(numbers) / 256


def test_what_is_finer_than_the_last_bit_is_rounded():
    for bits in (0, 4, 32):
        arithmetic = FixedPoint(fraction_bits=bits)
        assert abs(arithmetic.decode(arithmetic.encode(1 / 3)) - 1 / 3) <= 2.0 ** -(bits + 1)


def test_the_limit_is_half_of_the_modulus_in_the_unit_of_the_numbers():
    assert FixedPoint(1 << 16, 8).limit == 128
