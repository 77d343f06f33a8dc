"""Random numbers of R before 3.6."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.microdata.samplers import LegacySampler


def test_the_first_numbers_of_r_after_set_seed_42():
    """runif(3) in any version of R."""
    found = LegacySampler(42).uniforms(3)
    assert found == pytest.approx([0.914806, 0.9370754, 0.2861395], abs=1e-7)


def test_the_first_numbers_of_r_after_set_seed_1():
    found = LegacySampler(1).uniforms(5)
    expected = [0.2655087, 0.3721239, 0.5728534, 0.9082078, 0.2016819]
    assert found == pytest.approx(expected, abs=1e-7)


def test_rounding_sampling_of_r_before_3_6():
    """set.seed(1, sample.kind = "Rounding"); sample(10)."""
    assert (LegacySampler(1).permutation(10) + 1).tolist() == [3, 4, 5, 7, 2, 8, 9, 6, 10, 1]


def test_a_permutation_holds_everyone_once_and_the_same_seed_draws_the_same():
    found = LegacySampler(7).permutation(100)
    assert sorted(found.tolist()) == list(range(100))
    assert not np.array_equal(found, np.arange(100))
    assert np.array_equal(LegacySampler(5).random(20), LegacySampler(5).uniforms(20))
    assert not np.array_equal(LegacySampler(5).uniforms(20), LegacySampler(6).uniforms(20))


def test_numbers_lie_strictly_between_0_and_1():
    found = LegacySampler(99999).uniforms(20_000)
    assert 0 < found.min() < found.max() < 1
    assert found.mean() == pytest.approx(0.5, abs=0.01)
