"""Log-linear population risk: made populations, identities, and fits by Newton's method."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import population_risk

KEYS = ["a", "b", "c"]


def population(seed: int, *, tied: bool) -> pd.DataFrame:
    """200,000 persons; if tied, most have a value of c that follows from a."""
    random = np.random.default_rng(seed)
    n = 200_000
    a = random.choice(12, n, p=np.arange(1, 13) / 78)
    b = random.choice(400, n, p=np.arange(1, 401) / 80_200)
    c = random.integers(0, 8, n)
    if tied:
        c = np.where(random.random(n) < 0.9, a % 8, c)
    return pd.DataFrame({"a": a, "b": b, "c": c})


def sampled(persons: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, float, float]:
    """A sample of one in fifty, and the true values of tau 1 and tau 2."""
    taken = np.random.default_rng(seed + 100).random(len(persons)) < 0.02
    number = persons.groupby(KEYS)["a"].transform("size").to_numpy()[taken]
    sample = persons[taken].reset_index(drop=True)
    unique = sample.groupby(KEYS)["a"].transform("size").to_numpy() == 1
    return sample, float(np.sum(number[unique] == 1)), float(np.sum(1 / number[unique]))


@pytest.mark.parametrize("seed", range(2))
def test_independent_keys_give_the_true_risk_within_its_sampling_error(seed):
    sample, tau1, tau2 = sampled(population(seed, tied=False), seed)
    found = population_risk(sample, KEYS, fraction=0.02, interactions="none")
    assert abs(found.tau1 - tau1) < 4 * np.sqrt(tau1)
    assert abs(found.tau2 - tau2) < 4 * np.sqrt(tau2)


@pytest.mark.parametrize("seed", range(2))
def test_a_model_without_a_strong_interaction_is_far_off_and_one_with_it_is_near(seed):
    sample, _, tau2 = sampled(population(seed, tied=True), seed)
    without = population_risk(sample, KEYS, fraction=0.02, interactions="none")
    with_it = population_risk(sample, KEYS, fraction=0.02, interactions=[("a", "c")])
    assert abs(with_it.tau2 - tau2) < 0.1 * tau2
    assert abs(without.tau2 - tau2) > 2 * abs(with_it.tau2 - tau2)


def test_in_a_whole_population_every_unique_is_unique():
    sample = population(0, tied=False).head(500)
    found = population_risk(sample, KEYS, fraction=1.0)
    assert found.tau1 == found.tau2 == len(found.unique) > 0


@pytest.mark.parametrize("fraction", [0.001, 0.1, 0.9])
def test_uniques_in_the_population_are_fewer_than_right_matches(fraction):
    sample = population(1, tied=True).head(800)
    found = population_risk(sample, KEYS, fraction=fraction)
    assert 0 <= found.tau1 <= found.tau2 <= len(found.unique)
    assert np.all(found.population_unique <= found.match)
    assert f"of {len(found.unique)} sample uniques" in found.summary()


def test_the_larger_the_share_in_the_file_the_larger_the_risk():
    sample = population(1, tied=True).head(800)
    risks = [
        population_risk(sample, KEYS, fraction=f, interactions="none").tau2
        for f in (0.001, 0.01, 0.1, 0.5, 1)
    ]
    assert risks == sorted(risks)


def test_equal_weights_are_a_fraction_for_all_kinds_of_weighting():
    sample = population(2, tied=False).head(800).assign(w=20.0)
    model = [("a", "c")]
    expected = population_risk(sample, KEYS, fraction=0.05, interactions=model)
    for weighting in ("fraction", "offset", "pseudo"):
        found = population_risk(sample, KEYS, weight="w", weighting=weighting, interactions=model)
        assert found.tau1 == pytest.approx(expected.tau1, rel=1e-3)
        assert found.tau2 == pytest.approx(expected.tau2, rel=1e-3)


def by_newton(design, counts, offset):
    """Poisson regression with a logarithmic link; a slight ridge for dependent columns."""
    beta = np.zeros(design.shape[1])
    beta[0] = np.log(counts.sum() / np.exp(offset).sum())
    for _ in range(100):
        mean = np.exp(design @ beta + offset)
        information = design.T @ (design * mean[:, None]) + 1e-10 * np.eye(len(beta))
        beta = beta + np.linalg.solve(information, design.T @ (counts - mean))
    return np.exp(design @ beta + offset)


@pytest.mark.parametrize("weighting", ["offset", "pseudo", "fraction"])
def test_fits_are_those_of_a_poisson_regression(weighting):
    random = np.random.default_rng(5)
    frame = pd.DataFrame(random.integers(0, 3, (40, 3)), columns=KEYS)
    frame = frame.assign(w=random.integers(5, 30, 40).astype(float))
    cells = pd.DataFrame(itertools.product(range(3), repeat=3), columns=KEYS)
    count = frame.groupby(KEYS)["w"].agg(["size", "sum"]).reset_index()
    cells = cells.merge(count, how="left").fillna(0)
    overall = len(frame) / frame["w"].sum()
    share = np.where(cells["size"] > 0, cells["size"] / cells["sum"].replace(0, 1), overall)
    one, two = (pd.get_dummies(cells[name].astype(str)) for name in ("a", "b"))
    pairs = pd.get_dummies(cells["b"].astype(str) + cells["c"].astype(str))
    design = np.column_stack([np.ones(27), one, two, pairs]).astype(float)
    share = np.full(27, overall) if weighting == "fraction" else share
    offset = np.log(share) if weighting == "offset" else np.zeros(27)
    counts = cells["sum"] if weighting == "pseudo" else cells["size"]
    mean = by_newton(design, counts.to_numpy(), offset)
    mean = mean if weighting == "pseudo" else mean / share
    found = population_risk(frame, KEYS, weight="w", weighting=weighting, interactions=[("b", "c")])
    at = {tuple(row): i for i, row in enumerate(cells[KEYS].to_numpy().tolist())}
    rows = [at[tuple(row)] for row in frame[KEYS].iloc[found.unique].to_numpy().tolist()]
    assert len(rows) > 3
    assert found.expected == pytest.approx(((1 - share) * mean)[rows], rel=1e-4)


# Made with glm of R 4.2 on the full key table, and the formulas of tau 1 and tau 2.
SURVEY = [
    ("fraction", "none", 0.02089799431, 0.76558323489),
    ("pseudo", "none", 0.0208979943, 0.7655832212),
    ("offset", [("roof", "walls")], 0.004853089241, 0.650213961079),
]


@pytest.mark.parametrize(("weighting", "model", "tau1", "tau2"), SURVEY)
def test_risk_of_the_household_survey_is_that_by_models_of_r(
    instances, weighting, model, tau1, tau2
):
    frame = pd.read_csv(instances / "microdata/testdata.csv.gz")
    keys = ["urbrur", "roof", "walls", "relat", "sex"]
    found = population_risk(
        frame, keys, weight="sampling_weight", interactions=model, weighting=weighting
    )
    assert len(found.unique) == 26
    assert (found.tau1, found.tau2) == (
        pytest.approx(tau1, rel=1e-6),
        pytest.approx(tau2, rel=1e-6),
    )


def test_missing_keys_are_a_category():
    frame = pd.DataFrame({"a": ["x", None, "y", "y"], "b": ["u", "u", None, "v"]})
    found = population_risk(frame, ["a", "b"], fraction=0.5)
    assert found.unique.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("model", ["none", "all"])
@pytest.mark.parametrize("weighting", ["fraction", "offset", "pseudo"])
def test_a_suppressed_key_does_not_raise_the_risk(model, weighting):
    """A record that lacks a key may be any person who has its other keys."""
    random = np.random.default_rng(4)
    whole = pd.DataFrame(random.integers(0, 5, (150, 3)), columns=KEYS).astype(float)
    options = {"weight": "w", "interactions": model, "weighting": weighting}
    whole = whole.assign(w=random.uniform(5, 20, 150))
    before = population_risk(whole, KEYS, **options, missing="open")
    assert before.tau1 == pytest.approx(population_risk(whole, KEYS, **options).tau1)
    released = whole.copy()
    released.loc[before.unique[:8], "b"] = np.nan
    after = population_risk(released, KEYS, **options, missing="open")
    assert len(after.unique) < len(before.unique)
    assert after.tau2 < before.tau2


def test_an_open_key_counts_the_persons_with_the_other_keys():
    frame = pd.DataFrame({"a": ["x", "x", "y", "y", "z"], "b": ["u", "v", "u", "v", None]})
    found = population_risk(frame, ["a", "b"], fraction=0.5, interactions="none", missing="open")
    # Ten persons: two in five have x or y, one in five z, and half of those known u.
    assert found.unique.tolist() == [0, 1, 2, 3, 4]
    assert found.expected.tolist() == pytest.approx([1.0] * 4 + [1.0])
    pairs = population_risk(frame, ["a", "b"], fraction=0.5, missing="open")
    assert pairs.expected.tolist() == pytest.approx([1.0] * 5)
    with pytest.raises(tc.InputError, match="A key is missing in all records"):
        population_risk(frame.tail(1), ["a", "b"], fraction=0.5, missing="open")


def test_populations_of_unknown_size_and_tables_too_large_are_refused():
    frame = pd.DataFrame({"a": range(2000), "b": range(2000), "w": 2.0})
    with pytest.raises(tc.InputError, match="size of the population must be known"):
        population_risk(frame, ["a"])
    with pytest.raises(tc.InputError, match="size of the population must be known"):
        population_risk(frame, ["a"], weight="w", fraction=0.1)
    with pytest.raises(tc.InputError, match="`fraction` must be above 0"):
        population_risk(frame, ["a"], fraction=1.5)
    with pytest.raises(tc.InputError, match="needs a column of weights"):
        population_risk(frame, ["a"], fraction=0.5, weighting="pseudo")
    with pytest.raises(tc.InputError, match="4,000,000 combinations"):
        population_risk(frame, ["a", "b"], fraction=0.5)
    with pytest.raises(tc.InputError, match='must be "all", "none"'):
        population_risk(frame, ["a", "b"], fraction=0.5, interactions="some")
    assert population_risk(frame, ["a", "b"], fraction=0.5, interactions="none").tau2 > 0
