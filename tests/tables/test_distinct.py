"""Relations that say what another one says are left out, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.tables.distinct import distinct_rows, without_repeated_rows


def kept_of(rows) -> list[int]:
    return distinct_rows(csr_array(np.array(rows, dtype=float)))[1].tolist()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 1, -1], [1, 1, -1]),
        ([1, 1, -1], [-1, -1, 1]),
        ([1, 2, -3], [2, 4, -6]),
        ([3, 0, -1], [-9, 0, 3]),
        ([0.1, 0.2, 0], [-0.1, -0.2, 0]),
    ],
)
def test_the_second_of_two_relations_that_say_the_same_is_left_out(first, second):
    assert kept_of([first, second]) == [0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 1, -1], [1, -1, 1]),
        ([1, 1, 0], [1, 0, 1]),
        ([1, 2, 0], [1, 3, 0]),
        # Fractions are not divided: their quotients are rounded.
        ([0.1, 0.3, 0], [0.2, 0.6, 0]),
        ([2.0**25, 2.0**25 - 1, 0], [2.0**25 - 1, 2.0**25 - 2, 0]),
        ([2.0**40, 1, 0], [2.0**41, 2, 0]),
    ],
)
def test_relations_that_differ_are_both_kept(first, second):
    assert kept_of([first, second]) == [0, 1]


def test_empty_relations_and_stored_zeros_say_nothing():
    stored = csr_array((np.array([1.0, 0.0, 1.0]), ([0, 0, 2], [0, 1, 0])), shape=(3, 2))
    matrix, rows = distinct_rows(stored)
    assert rows.tolist() == [0]
    assert matrix.toarray().tolist() == [[1, 0]]
    assert distinct_rows(csr_array((3, 2)))[0].shape == (0, 2)


def test_rows_keep_their_numbers_where_repeated_ones_are_emptied():
    given_ = np.array([[0, 0], [2, -1], [-4, 2], [1, 1]], dtype=float)
    found = without_repeated_rows(csr_array(given_))
    assert found.toarray().tolist() == [[0, 0], [2, -1], [0, 0], [1, 1]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_what_is_kept_implies_all_and_no_two_of_it_are_parallel(seed):
    random = np.random.default_rng(seed)
    rows = random.integers(-2, 3, (6, 5)).astype(float)
    scale = random.choice([-3.0, -1.0, 1.0, 2.0], 8)
    matrix = scale[:, None] * rows[random.integers(0, 6, 8)]
    kept, numbers = distinct_rows(csr_array(matrix))
    np.testing.assert_array_equal(kept.toarray(), matrix[numbers])
    ranks = [np.linalg.matrix_rank(each) for each in (matrix, kept.toarray())]
    assert ranks[0] == ranks[1]
    for one in range(len(numbers)):
        for other in range(one):
            assert np.linalg.matrix_rank(kept.toarray()[[one, other]]) == 2
