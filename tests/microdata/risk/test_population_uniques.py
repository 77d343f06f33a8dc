"""Population uniques: populations drawn from each model, and thinning by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import population_uniques
from tablecloak.microdata.risk.population_uniques import slide_moments


def pitman_population(seed: int, theta: float, alpha: float, n: int) -> np.ndarray:
    """Seat persons one by one: a new table with probability (theta + alpha u) / (theta + i)."""
    random = np.random.default_rng(seed)
    tables, seats = [], np.zeros(n, dtype=int)
    for person in range(n):
        if random.random() * (theta + person) < theta + alpha * len(tables):
            seats[person] = len(tables)
            tables.append(1)
        else:
            # Of those seated, each table has its size less alpha; drawn by rejection.
            while True:
                table = seats[random.integers(person)]
                if random.random() < 1 - alpha / tables[table]:
                    break
            seats[person] = table
            tables[table] += 1
    return seats


def test_populations_of_pitmans_model_have_the_estimated_number_of_uniques_on_average():
    theta, alpha, n = 50.0, 0.6, 20_000
    ratios, alphas = [], []
    for seed in range(6):
        people = pitman_population(seed, theta, alpha, n)
        sample = np.random.default_rng(seed).permutation(people)[:2000]
        found = population_uniques(pd.DataFrame({"key": sample}), ["key"], fraction=2000 / n)
        assert found.rule == "pitman"
        ratios.append(found.dankar / np.sum(np.bincount(people) == 1))
        alphas.append(found.pitman_parameters[1])
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)
    assert np.mean(alphas) == pytest.approx(alpha, abs=0.04)


def test_groups_of_one_and_two_records_in_thinned_groups_are_as_many_as_the_formula_says():
    random, alpha, beta, pi, n = np.random.default_rng(0), 0.7, 0.3, 0.25, 400_000
    sizes = 1 + random.negative_binomial(alpha, beta, n)
    drawn = random.binomial(sizes, pi)
    found = slide_moments(n, alpha, beta, pi)
    assert found == pytest.approx([np.sum(drawn == 1), np.sum(drawn == 2)], rel=0.01)


@pytest.mark.parametrize("seed", range(2))
def test_populations_of_the_slide_model_have_about_the_estimated_number(seed):
    random = np.random.default_rng(seed)
    people = np.repeat(np.arange(5000), 1 + random.negative_binomial(0.7, 0.3, 5000))
    taken = people[random.random(len(people)) < 0.5]
    found = population_uniques(pd.DataFrame({"key": taken}), ["key"], fraction=0.5)
    true = int(np.sum(np.bincount(people) == 1))
    assert found.slide == pytest.approx(true, rel=0.15)
    assert found.rule in {"slide", "zayatz"}
    assert found.dankar == min(found.slide, found.zayatz)


def test_by_hand_one_of_two_uniques_is_unique_where_pairs_are_as_frequent():
    """N = 8, n = 4, groups 1, 1, 2: a single is drawn with 1/2, one of two with 4/7."""
    frame = pd.DataFrame({"key": [1, 2, 3, 3]})
    found = population_uniques(frame, ["key"], fraction=0.5)
    assert found.zayatz == pytest.approx(2 * (2 / 2) / (2 / 2 + 4 / 7) / 0.5)


def test_a_whole_population_has_its_own_uniques():
    frame = pd.DataFrame({"key": [1, 2, 3, 3, 4, 4, 4]})
    found = population_uniques(frame, ["key"], fraction=1.0)
    assert found.zayatz == found.slide == 2


def test_without_sample_uniques_none_are_expected():
    found = population_uniques(pd.DataFrame({"key": [1, 1, 2, 2]}), ["key"], fraction=0.05)
    assert found.dankar == found.zayatz == 0
    with pytest.raises(tc.InputError, match="`fraction` must be above 0"):
        population_uniques(pd.DataFrame({"key": [1]}), ["key"], fraction=0)
