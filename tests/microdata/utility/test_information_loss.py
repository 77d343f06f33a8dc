"""Information loss in one figure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.microdata import information_loss, propensity


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
