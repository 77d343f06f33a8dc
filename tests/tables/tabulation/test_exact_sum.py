"""Sums as whole numbers: exact, and the same whatever words hold them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.tables.tabulation.exact_sum import MOST_DIGITS, ExactSum

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


def added(exact: ExactSum, terms: np.ndarray) -> np.ndarray:
    return np.array([word.sum() for word in exact.words_of(terms)])


@given(NUMBERS, st.floats(1e-4, 1.0))
def test_short_terms_add_up_to_the_same_in_two_words_as_in_three(numbers, unit):
    terms = np.array(numbers) * unit
    largest = float(np.abs(terms).max())
    is_short = ExactSum.are_short(terms, len(terms), largest)
    two, three = (
        ExactSum.fitting(len(terms), largest, MOST_DIGITS + 1, is_short=short)
        for short in (True, False)
    )
    short = terms[is_short]
    sum_of_two = two.of_arrays(added(two, short)[None])[0]
    assert sum_of_two == three.of_arrays(added(three, short)[None])[0]
    exact = sum(map(Fraction, short.tolist()), Fraction(0))
    # Both round once: the sum is one of the two doubles beside it, and itself where it is one.
    assert abs(Fraction(float(sum_of_two)) - exact) <= Fraction(
        float(np.spacing(abs(float(exact))))
    )
    if Fraction(float(exact)) == exact:
        assert sum_of_two == float(exact)


def test_terms_are_short_where_two_words_hold_each_bit():
    # A thousand terms up to 4,096 leave 62 - 13 - 10 = 39 bits, and 52 more, after the point.
    count, largest = 1_000, 4_096.0
    terms = np.array([1.0, 1 / 3, 2.0**-91, 2.0**-92, 2.0**-37 / 3, 2.0**-38 / 3])
    assert ExactSum.are_short(terms, count, largest).tolist() == [
        True,
        True,
        True,
        False,
        True,
        False,
    ]
