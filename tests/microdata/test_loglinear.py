"""Log-linear models, against closed forms and the worked example of twelve records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata.loglinear import LogLinearModel, choose_model

TWELVE = np.array([3, 0, 1, 1, 1, 1, 0, 2, 1, 0, 1, 1], dtype=float).reshape(3, 2, 2)
"""Counts of the hand example of data swapping, A x B x C."""


def random_counts(seed: int, shape=(3, 2, 2)) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 30, shape).astype(float)


@pytest.mark.parametrize(
    ("generators", "likelihood"),
    [
        (None, -29.39876128),
        ([("A", "B"), ("C",)], -29.12818468),
        ([("A", "B"), ("B", "C")], -27.50031775),
    ],
)
def test_likelihoods_of_the_hand_example(generators, likelihood):
    model = LogLinearModel.of("ABC", generators)
    assert model.likelihood(TWELVE) == pytest.approx(likelihood, abs=1e-8)


@pytest.mark.parametrize("seed", range(2))
def test_independence_fits_the_product_of_its_margins(seed):
    counts = random_counts(seed)
    n = counts.sum()
    a, b, c = counts.sum((1, 2)), counts.sum((0, 2)), counts.sum((0, 1))
    expected = a[:, None, None] * b[None, :, None] * c[None, None, :] / n**3
    assert LogLinearModel.of("ABC").fit(counts) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(2))
def test_a_decomposable_model_has_a_closed_form(seed):
    """[AB][BC]: p = n(ab) n(bc) / (n(b) n)."""
    counts = random_counts(seed)
    ab, bc, b = counts.sum(2), counts.sum(0), counts.sum((0, 2))
    expected = ab[:, :, None] * bc[None, :, :] / b[None, :, None] / counts.sum()
    assert LogLinearModel.of("ABC", ["AB", "BC"]).fit(counts) == pytest.approx(expected)


@given(st.integers(0, 1000))
def test_without_a_closed_form_all_margins_of_the_model_are_met(seed):
    counts = random_counts(seed)
    fitted = LogLinearModel.of("ABC", ["AB", "BC", "AC"]).fit(counts) * counts.sum()
    for axis in range(3):
        assert fitted.sum(axis) == pytest.approx(counts.sum(axis), rel=1e-8)


def test_the_saturated_model_fits_every_cell():
    assert LogLinearModel.of("ABC", ["ABC"]).fit(TWELVE) == pytest.approx(TWELVE / 12)


@pytest.mark.parametrize("seed", range(2))
def test_a_release_that_keeps_the_margins_of_a_model_keeps_its_likelihood(seed):
    before = random_counts(seed)
    after = before.copy()
    # Two records exchange their C within B = 0: all margins AB and BC stay but those of AC.
    after[0, 0] += [1, -1]
    after[1, 0] += [-1, 1]
    model = LogLinearModel.of("ABC", ["AB", "BC"])
    assert model.utility(before, after) == pytest.approx(0, abs=1e-9)
    assert LogLinearModel.of("ABC", ["AC", "B"]).utility(before, after) != pytest.approx(0)


def test_records_in_a_cell_that_cannot_be_cost_everything():
    after = TWELVE.copy()
    after[0, 0] = [2, 1]
    assert LogLinearModel.of("ABC", ["ABC"]).utility(TWELVE, after) == -np.inf


@pytest.mark.parametrize(
    ("generators", "parameters"),
    [(None, 2 + 1 + 1), (["AB"], 2 + 1 + 2 + 1), (["AB", "BC"], 2 + 1 + 1 + 2 + 1), (["ABC"], 11)],
)
def test_parameters_are_counted_without_the_constant(generators, parameters):
    assert LogLinearModel.of("ABC", generators).n_parameters((3, 2, 2)) == parameters


def test_attributes_in_no_generator_stand_alone():
    assert LogLinearModel.of("ABC", ["AC"]).generators == (("A", "C"), ("B",))
    with pytest.raises(tc.InputError, match="names 'D', which is no attribute"):
        LogLinearModel.of("ABC", ["AD"])


@pytest.mark.parametrize("criterion", ["AIC", "BIC"])
def test_an_interaction_that_is_there_is_chosen_and_others_are_not(criterion):
    counts = np.full((2, 2, 2), 50.0)
    counts[0, 0] += 100
    counts[1, 1] += 100
    chosen = choose_model("ABC", counts, criterion=criterion)
    assert set(chosen.generators) == {("A", "B"), ("C",)}


def test_independent_attributes_are_left_apart():
    assert choose_model("AB", np.outer([10.0, 30], [20, 20])).generators == (("A",), ("B",))
