"""Probabilistic linkage: made files of known probabilities, and the likelihood itself."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import probabilistic_linkage
from tablecloak.microdata.risk.probabilistic_linkage import agreement_model

SIZES = {"sex": 2, "region": 20, "job": 100, "status": 8}
KEPT = {"sex": 0.98, "region": 0.9, "job": 0.9, "status": 0.7}


def files(seed: int, n: int = 1200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Categories of equal frequency, each kept with its probability and drawn anew otherwise."""
    random = np.random.default_rng(seed)
    one = pd.DataFrame({name: random.integers(0, size, n) for name, size in SIZES.items()})
    drawn = {
        name: np.where(random.random(n) < KEPT[name], one[name], random.integers(0, size, n))
        for name, size in SIZES.items()
    }
    return one.astype(str), pd.DataFrame(drawn).astype(str)


def test_estimates_are_near_the_probabilities_with_which_a_file_was_made():
    estimates = [probabilistic_linkage(*files(seed), list(SIZES)) for seed in range(3)]
    for name, size in SIZES.items():
        m = np.mean([each.columns.loc[name, "m"] for each in estimates])
        u = np.mean([each.columns.loc[name, "u"] for each in estimates])
        assert u == pytest.approx(1 / size, rel=0.05)
        assert m == pytest.approx(KEPT[name] + (1 - KEPT[name]) / size, abs=0.12)
    assert np.mean([each.matches for each in estimates]) == pytest.approx(1 / 1200, rel=0.4)


def likelihood(states, counts, matches, m, u) -> float:
    one, other = (
        np.prod(np.where(states == 1, p, np.where(states == 0, 1 - p, 1)), axis=1) for p in (m, u)
    )
    return float(counts @ np.log(matches * one + (1 - matches) * other))


def test_no_estimate_nearby_has_a_larger_likelihood():
    random = np.random.default_rng(2)
    states = np.array(list(itertools.product(range(3), repeat=3)))
    chance = np.prod(np.where(states == 1, 0.2, np.where(states == 0, 0.7, 0.1)), axis=1)
    counts = random.multinomial(20_000, chance).astype(float)
    counts[(states == 1).all(axis=1)] += 400
    matches, m, u = agreement_model(states, counts, 100)
    best = likelihood(states, counts, matches, m, u)
    for _ in range(60):
        moved = [np.clip(p + random.normal(0, 0.005, 3), 1e-6, 1 - 1e-6) for p in (m, u)]
        share = np.clip(matches * np.exp(random.normal(0, 0.05)), 1e-9, 1 - 1e-9)
        assert likelihood(states, counts, share, *moved) <= best + 1e-3


def test_links_go_to_the_largest_sum_of_weights():
    one, other = files(7, n=60)
    found = probabilistic_linkage(one, other, list(SIZES))
    for row in range(60):
        agree = one.to_numpy() == other.iloc[row].to_numpy()
        weight = np.where(agree, found.columns["agrees"], found.columns["differs"]).sum(axis=1)
        best = weight >= weight.max() - 1e-9
        assert found.right[row] == pytest.approx(best[row] / best.sum())


def test_an_unchanged_file_is_linked_and_an_unrelated_one_is_not():
    one, _ = files(1, n=400)
    unique = 1 / one.groupby(list(SIZES))["sex"].transform("size")
    assert probabilistic_linkage(one, one, list(SIZES)).share == pytest.approx(unique.mean())
    other = one.sample(frac=1, random_state=1).reset_index(drop=True)
    assert probabilistic_linkage(one, other, list(SIZES)).share < 0.05


def test_a_missing_value_says_nothing():
    one, other = files(3, n=300)
    holes = other.assign(job=None)
    found = probabilistic_linkage(one, holes, list(SIZES))
    without = probabilistic_linkage(one, holes, ["sex", "region", "status"])
    assert found.share == pytest.approx(without.share, abs=0.02)
    assert np.isfinite(found.columns.to_numpy()).all()


def test_numbers_agree_within_a_share_of_their_range():
    one = pd.DataFrame({"x": np.arange(101.0)})
    assert probabilistic_linkage(one, one + 1, ["x"], width=0.01).right[50] == pytest.approx(1 / 3)
    assert probabilistic_linkage(one, one + 1, ["x"], width=0.001).right[50] == 0


def test_the_summary_names_the_column_that_tells_most():
    found = probabilistic_linkage(*files(0), list(SIZES))
    assert found.summary().endswith("job tells most")


def test_parameters_out_of_range_are_refused():
    one, other = files(0, n=20)
    with pytest.raises(tc.InputError, match="At most 12 columns"):
        wide = pd.concat([one.add_suffix(str(i)) for i in range(4)], axis=1)
        probabilistic_linkage(wide, wide, list(wide))
    with pytest.raises(tc.InputError, match="`width` must be at least 0"):
        probabilistic_linkage(one, other, ["sex"], width=-1)
