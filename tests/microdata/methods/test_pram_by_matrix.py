"""Post-randomisation by a given matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata import ClassicalPRAM
from tablecloak.microdata.methods.pram import (
    _drawn,
    invariant_matrix,
    transition_matrix,
)

FRAME = pd.DataFrame({"sex": list("fmfmffmmfm") * 3, "age": range(30)})


def test_the_identity_moves_nobody():
    release = ClassicalPRAM("sex", np.eye(2)).protect(FRAME, seed=1)
    assert release.frame.equals(FRAME)
    assert not release.moved.any()
    assert release.report["moves"] == 0


def test_a_matrix_that_exchanges_all_moves_everybody():
    release = ClassicalPRAM("sex", [[0, 1], [1, 0]]).protect(FRAME, seed=1)
    assert release.moved.all()
    assert np.array_equal(release.frame["sex"] == "f", FRAME["sex"] == "m")
    assert release.frame["age"].equals(FRAME["age"])


def test_each_record_is_drawn_from_the_row_of_its_category():
    matrix = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [0.6, 0.0, 0.4]])
    codes = np.repeat([0, 1, 2], 20_000)
    found = _drawn(matrix, codes, np.random.default_rng(1))
    for code in range(3):
        shares = np.bincount(found[codes == code], minlength=3) / 20_000
        # Five standard deviations of a share are at most 0.018.
        assert shares == pytest.approx(matrix[code], abs=0.018)
        assert not shares[matrix[code] == 0].any()


@pytest.mark.filterwarnings("ignore::tablecloak.microdata.OrderWarning")
def test_classical_pram_draws_by_its_matrix():
    frame = pd.DataFrame({"job": np.repeat(["a", "b", "c"], 20_000)})
    matrix = np.array([[0.8, 0.1, 0.1], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]])
    release = ClassicalPRAM("job", matrix).protect(frame, seed=1)
    drawn = pd.crosstab(frame.job, release.frame.job, normalize="index").to_numpy()
    assert np.abs(drawn - matrix).max() < 4 * np.sqrt(0.25 / 20_000)
    assert drawn[1].tolist() == [0, 1, 0]
    invariant = ClassicalPRAM("job", matrix, invariant=True, alpha=0.5)
    applied = invariant.released_matrix([1, 1, 1])
    assert np.allclose(np.ones(3) @ applied, 1)
    assert invariant.protect(frame, seed=2).report["smallest diagonal asked for"] == 0.4


def test_the_report_tells_the_diagonal_that_was_applied_beside_the_one_asked_for():
    matrix = [[0.9, 0.1], [0.3, 0.7]]
    release = ClassicalPRAM("sex", matrix, invariant=True).protect(FRAME, seed=1)
    report = release.report
    assert report["smallest diagonal asked for"] == 0.7
    assert report["smallest diagonal applied"] < 0.7
    assert release.summary().startswith("PRAM: attribute: sex, moves: ")


def test_the_matrix_must_have_a_row_for_each_category():
    with pytest.raises(tc.InputError, match=r"`matrix` is 3 x 3, but 'sex' has 2 categories"):
        ClassicalPRAM("sex", np.eye(3)).protect(FRAME)


def test_a_seed_gives_the_same_release():
    method = ClassicalPRAM("sex", [[0.5, 0.5], [0.5, 0.5]])
    assert method.protect(FRAME, seed=4).frame.equals(method.protect(FRAME, seed=4).frame)
    assert not method.protect(FRAME, seed=4).frame.equals(method.protect(FRAME, seed=5).frame)


P = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.15, 0.15, 0.7]])
SHARES = np.array([0.5, 0.3, 0.2])


def matrix(seed: int, size: int) -> np.ndarray:
    found = np.random.default_rng(seed).dirichlet(np.ones(size), size)
    return 0.7 * np.eye(size) + 0.3 * found


def test_the_invariant_matrix_of_the_worked_example():
    """Half of what the way there and back does; its diagonal is far below the one asked for."""
    expected = [
        [0.9023826, 0.05065573, 0.04696168],
        [0.08442621, 0.83605721, 0.07951658],
        [0.1174042, 0.11927487, 0.76332093],
    ]
    assert invariant_matrix(P, SHARES, alpha=0.5) == pytest.approx(np.array(expected), abs=1e-7)
    full = invariant_matrix(P, SHARES, alpha=1.0)
    assert np.diag(full) == pytest.approx([0.80476519, 0.67211443, 0.52664187], abs=1e-7)


@given(seed=st.integers(0, 1000), size=st.integers(2, 6), alpha=st.floats(0, 1))
def test_expected_frequencies_stay_under_an_invariant_matrix(seed, size, alpha):
    p = np.random.default_rng(seed + 1).integers(0, 50, size).astype(float)
    p[0] += 1
    found = invariant_matrix(matrix(seed, size), p, alpha=alpha)
    assert p @ found == pytest.approx(p)
    assert found.sum(axis=1) == pytest.approx(np.ones(size))
    assert np.all(found >= 0)


def test_no_change_is_the_identity():
    assert np.array_equal(invariant_matrix(P, SHARES, alpha=0.0), np.eye(3))


def test_categories_that_do_not_occur_stay_where_they_are():
    found = invariant_matrix(np.eye(3), [1, 0, 2], alpha=1.0)
    assert np.array_equal(found, np.eye(3))


@pytest.mark.parametrize(
    "given",
    [[[1, 0]], [[0.5, 0.4], [0, 1]], [[1.5, -0.5], [0, 1]], [], [1.0], [["a", "b"], ["c", "d"]]],
)
def test_what_is_no_transition_matrix_is_refused(given):
    with pytest.raises(tc.InputError, match="A transition matrix must"):
        transition_matrix(given)


@pytest.mark.parametrize(
    ("frequencies", "alpha", "message"),
    [
        ([1, 2], 0.5, "must hold 3 finite numbers"),
        ([1, 2, np.nan], 0.5, "must hold 3 finite numbers"),
        ([1, 2, -3], 0.5, "must not be negative"),
        ([0, 0, 0], 0.5, "not all 0"),
        ([1, 2, 3], 1.5, "`alpha` must lie between 0 and 1"),
    ],
)
def test_frequencies_and_shares_out_of_range_are_refused(frequencies, alpha, message):
    with pytest.raises(tc.InputError, match=message):
        invariant_matrix(P, frequencies, alpha=alpha)
