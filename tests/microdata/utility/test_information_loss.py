"""Information loss in one figure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import eigenvalue_loss, information_loss, propensity


def frame(*columns) -> pd.DataFrame:
    return pd.DataFrame({f"x{at}": np.asarray(c, float) for at, c in enumerate(columns)})


def test_the_loss_is_a_sum_of_shifts_in_deviations():
    original, released = frame([0, 2, 4]), frame([1, 2, 4])
    # The standard deviation of 0, 2, 4 is 2.
    assert information_loss(original, released, ["x0"]) == pytest.approx(1 / (np.sqrt(2) * 2))
    assert information_loss(original, original, ["x0"]) == 0


def test_losses_of_columns_add_up_whatever_their_units():
    one, other = frame([0, 2, 4], [0, 200, 400]), frame([1, 2, 4], [100, 200, 400])
    together = information_loss(one, other, ["x0", "x1"])
    assert together == pytest.approx(2 * information_loss(one, other, ["x0"]))


@pytest.mark.parametrize("seed", range(3))
def test_a_permuted_file_cannot_be_told_from_the_original_by_one_column(seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=200)
    assert propensity(frame(x), frame(random.permutation(x)), ["x0"]) == pytest.approx(0, abs=1e-10)


def test_files_that_lie_apart_are_told_without_fail():
    x = np.linspace(0, 1, 50)
    assert propensity(frame(x), frame(x + 5), ["x0"]) == pytest.approx(0.25, abs=0.01)


def test_more_noise_is_told_more_surely():
    random = np.random.default_rng(1)
    x, noise = random.normal(size=500), random.normal(size=500)
    told = [propensity(frame(x), frame(x + s * noise), ["x0"]) for s in (0.0, 1.0, 3.0)]
    assert told == sorted(told)
    assert told[0] == pytest.approx(0)


def test_values_that_are_missing_before_or_after_are_left_out():
    original, released = frame([0, 2, 4, np.nan]), frame([1, np.nan, 4, 9])
    # Half a deviation in one of two known values; the deviation is that of 0, 2, 4.
    assert information_loss(original, released, ["x0"]) == pytest.approx(1 / (np.sqrt(2) * 2))
    average = information_loss(original, released, ["x0"], average=True)
    assert average == pytest.approx(1 / (np.sqrt(2) * 4))


def test_the_eigenvalue_loss_of_two_columns_by_hand():
    """The eigenvalues of two columns are 1 + r and 1 - r for a correlation of r."""
    random = np.random.default_rng(0)
    one, other = (random.multivariate_normal([0, 0], [[1, r], [r, 1]], 50) for r in (0.8, 0.3))
    r, s = (np.corrcoef(values.T)[0, 1] for values in (one, other))
    found = eigenvalue_loss(frame(*one.T), frame(*other.T), ["x0", "x1"])
    assert found == pytest.approx(abs(r - s) / (1 + r) + abs(r - s) / (1 - r))
    assert eigenvalue_loss(frame(*one.T), frame(*(5 * one.T + 3)), ["x0", "x1"]) < 1e-12


def test_eigenvalues_take_missing_values_and_dependent_columns():
    x = np.arange(5.0)
    same = frame(x, 2 * x)
    assert eigenvalue_loss(same, same, ["x0", "x1"]) == 0
    assert eigenvalue_loss(same, frame(x, x**2), ["x0", "x1"]) > 1e6
    holes = frame([0, 1, np.nan, 3, 4], [0, 2, 4, 6, 9])
    assert eigenvalue_loss(holes, holes, ["x0", "x1"]) == 0
    with pytest.raises(tc.InputError, match=r"Columns \['x1'\] are constant"):
        eigenvalue_loss(same, frame(x, 0 * x), ["x0", "x1"])
