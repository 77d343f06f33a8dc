"""Swapping: hand-computed and published values, exact invariants, and refusals."""

from __future__ import annotations

import itertools
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.loglinear import LogLinearModel, choose_model
from tablecloak.microdata.methods.swapping import (
    DataSwapping,
    PairConstraint,
    SwapTable,
    association,
    draw_pairs,
    sweep,
)
from tablecloak.risk_utility_map import best_below, frontier

CODES = ["000", "000", "000", "010", "011", "100", "101", "111", "111", "200", "210", "211"]


@pytest.fixture
def twelve() -> pd.DataFrame:
    return pd.DataFrame([list(code) for code in CODES], columns=["A", "B", "C"])


COUNTS = [
    44, 40, 112, 67, 129, 145, 12, 23, 35, 12, 80, 33, 109, 67, 7, 9,
    23, 32, 70, 66, 50, 80, 7, 13, 24, 25, 73, 57, 51, 63, 7, 16,
    5, 7, 21, 9, 9, 17, 1, 4, 4, 3, 11, 8, 14, 17, 5, 2,
    7, 3, 14, 14, 9, 16, 2, 3, 4, 0, 13, 11, 5, 14, 4, 4,
]  # fmt: skip
"""1,841 car workers by six traits, the first changing fastest (Edwards and Havranek 1985)."""


@pytest.fixture(scope="session")
def czech() -> pd.DataFrame:
    traits = ["smoke", "mental", "phys", "systol", "protein", "family"]
    cells = [(*cell[::-1], n) for cell, n in zip(product("10", repeat=6), COUNTS, strict=True)]
    frame = pd.DataFrame(cells, columns=[*traits, "n"])
    return frame.loc[frame.index.repeat(frame.n), traits].reset_index(drop=True)


@pytest.fixture(scope="session")
def cps(instances) -> pd.DataFrame:
    return pd.read_csv(instances / "microdata/cps8d.csv.gz", dtype=str)


def mirrored(n: int, m: int) -> np.ndarray:
    """Pairs (i, n - 1 - i)."""
    return np.column_stack([np.arange(m), n - 1 - np.arange(m)])


HAND = {
    "K1": ([], ["A"], 9 / 12, 0.0, 0.0, 0.0),
    "K2": ([(0, 6)], ["A"], 1.0, 0.3077196634, 1 / 6, 0.0436040120),
    "K3": ([(3, 9), (4, 7)], ["A"], 5 / 8, 0.3057347465, 1 / 6, -0.3029695783),
    "K4": ([(0, 11), (5, 8)], ["A", "B"], 1.0, 0.4385458518, 1 / 3, 0.0436040120),
    "K5": ([(0, 1)], ["C"], 0.9, 0.0, 0.0, 0.0),
}


@pytest.mark.parametrize("name", HAND)
def test_hand_example(twelve, name):
    pairs, attributes, risk, hellinger, variation, entropy = HAND[name]
    release = DataSwapping(attributes, rate=0.5).swap(twelve, pairs)
    assert release.before.tolist() == [3, 0, 1, 1, 1, 1, 0, 2, 1, 0, 1, 1]
    report = release.report
    assert report.risk == pytest.approx(risk)
    assert report.hellinger == pytest.approx(hellinger, abs=1e-10)
    assert report.total_variation == pytest.approx(variation)
    assert report.entropy_change == pytest.approx(entropy, abs=1e-10)


def test_hand_example_has_the_stated_utilities_of_models(twelve):
    releases = {
        name: DataSwapping(attributes, rate=0.5).swap(twelve, pairs)
        for name, (pairs, attributes, *_) in HAND.items()
    }
    names = ("A", "B", "C")
    before = releases["K1"].before.reshape(3, 2, 2).astype(float)
    independent = LogLinearModel.of(names)
    assert independent.likelihood(before) == pytest.approx(-29.39876128)
    for release in releases.values():
        assert release.model_utility(independent) == pytest.approx(0, abs=1e-9)
    one = LogLinearModel.of(names, ["AB", "C"])
    assert one.likelihood(before) == pytest.approx(-29.12818468)
    assert releases["K3"].model_utility(one) == pytest.approx(np.log(3))
    assert releases["K3"].model_utility(one, refit=True) == pytest.approx(4 * np.log(2))
    assert releases["K4"].model_utility(one) == pytest.approx(0, abs=1e-9)
    two = LogLinearModel.of(names, ["AB", "BC"])
    assert two.likelihood(before) == pytest.approx(-27.50031775)
    assert releases["K3"].model_utility(two) == pytest.approx(1.0986122887)
    assert releases["K4"].model_utility(two) == pytest.approx(-2 * np.log(10))
    assert releases["K4"].model_utility(two, refit=True) == pytest.approx(-1.4555158302)


@pytest.mark.parametrize(
    ("attributes", "risk", "hellinger", "variation", "entropy", "altered"),
    [
        (["smoke"], 3 / 1657, 0.106717838047, 0.031504617056, -0.019266791670, 114),
        (["mental", "phys"], 3 / 1657, 0.231229597789, 0.087452471483, -0.125614876592, 162),
    ],
)
def test_czech_autoworkers(czech, attributes, risk, hellinger, variation, entropy, altered):
    report = DataSwapping(attributes, 0.1).swap(czech, mirrored(1841, 92)).report
    assert report.risk_before == 5 / 1841
    assert report.risk == risk
    assert report.hellinger == pytest.approx(hellinger, abs=1e-12)
    assert report.total_variation == pytest.approx(variation, abs=1e-12)
    assert report.entropy_change == pytest.approx(entropy, abs=1e-12)
    assert report.n_altered == altered


def test_models_of_czech_autoworkers(czech):
    plain = czech.set_axis(list("ABCDEF"), axis=1)
    releases = [
        DataSwapping(list(attributes), 0.1).swap(plain, mirrored(1841, 92))
        for attributes in ("A", "BC")
    ]
    before = releases[0].before.reshape([2] * 6).astype(float)
    decomposable = LogLinearModel.of("ABCDEF", ["BF", "ABCE", "ADE"])
    other = LogLinearModel.of("ABCDEF", ["AC", "BC"])
    assert LogLinearModel.of("ABCDEF").likelihood(before) == pytest.approx(-7065.11212564)
    assert decomposable.likelihood(before) == pytest.approx(-6665.42771087)
    assert other.likelihood(before) == pytest.approx(-6708.38574490)
    found = [
        (release.model_utility(decomposable), release.model_utility(decomposable, refit=True))
        for release in releases
    ]
    assert np.allclose(found, [(-4.58314035, -0.46351736), (-3.05405191, 69.09677331)], atol=1e-7)
    found = [releases[0].model_utility(other), releases[0].model_utility(other, refit=True)]
    assert np.allclose(found, [-3.92816630, -3.64569356], atol=1e-7)
    chosen = choose_model("ABCDEF", before)
    assert ("B", "C") in chosen.generators


@pytest.mark.parametrize(
    ("attributes", "risk", "hellinger", "variation", "entropy", "altered"),
    [
        (["age"], 611 / 43958, 0.055814150846, 0.024220957373, 0.035908747493, 2278),
        (["edu", "income"], 593 / 43958, 0.062978631817, 0.032922484747, 0.042516165458, 4016),
    ],
)
def test_cps(cps, attributes, risk, hellinger, variation, entropy, altered):
    release = DataSwapping(attributes, 0.1).swap(cps, mirrored(48842, 2442))
    report = release.report
    assert report.risk_before == 730 / 48842
    assert report.risk == risk
    assert report.hellinger == pytest.approx(hellinger, abs=1e-12)
    assert report.total_variation == pytest.approx(variation, abs=1e-12)
    assert report.entropy_change == pytest.approx(entropy, abs=1e-12)
    assert report.n_altered == altered
    counts = release.before
    assert [(counts > 0).sum(), (counts == 1).sum(), (counts == 2).sum()] == [1675, 354, 188]


def test_models_of_cps(cps):
    release = DataSwapping(["edu", "income"], 0.1).swap(cps, mirrored(48842, 2442))
    names = tuple(cps.columns)
    before = release.before.reshape(release.records.sizes).astype(float)
    assert LogLinearModel.of(names).likelihood(before) == pytest.approx(-322189.15531713)
    model = LogLinearModel.of(names, [("age", "edu"), ("edu", "income")])
    assert model.likelihood(before) == pytest.approx(-317576.29948776)
    assert release.model_utility(model) == pytest.approx(-382.91215979)
    assert release.model_utility(model, refit=True) == pytest.approx(-333.67398249)


BANDS = {
    "K30": (["age"], 0.01, "none", (0.014817, 0.000110), (0.01620, 0.00142), (0.00411, 0.00038)),
    "K31": (["age"], 0.01, "all", (0.014621, 0.000136), (0.02421, 0.00156), (0.00877, 0.00058)),
    "K32": (["age"], 0.1, "none", (0.014106, 0.000298), (0.05555, 0.00129), (0.03725, 0.00139)),
    "K33": (["age"], 0.1, "all", (0.013015, 0.000334), (0.08828, 0.00144), (0.07265, 0.00131)),
    "K35": (["race"], 0.1, "all", (0.012895, 0.000376), (0.06307, 0.00137), (0.01354, 0.00054)),
    "K36": (
        ["age", "edu"],
        0.1,
        "none",
        (0.013847, 0.000322),
        (0.06096, 0.00144),
        (0.05092, 0.00143),
    ),
    "K37": (
        ["edu", "hours"],
        0.02,
        "all",
        (0.014541, 0.000187),
        (0.02655, 0.00149),
        (0.01525, 0.00090),
    ),
}


@pytest.mark.parametrize("name", BANDS)
def test_random_swaps_lie_in_their_bands(cps, name):
    attributes, rate, change, *bands = BANDS[name]
    method = DataSwapping(attributes, rate, must_change=change)
    for seed in range(3):
        report = method.protect(cps, seed=seed).report
        values = report.risk, report.hellinger, report.entropy_change
        for value, (mean, deviation) in zip(values, bands, strict=True):
            assert abs(value - mean) <= 4 * deviation


@pytest.mark.parametrize(
    ("name", "highest"),
    [("race", 0.28991), ("income", 0.47856), ("age", 0.60112), ("empl", 0.61160),
     ("sex", 0.66304), ("marital", 0.94361)],
)  # fmt: skip
def test_highest_rate_at_which_every_swapped_value_can_change(cps, name, highest):
    n = len(cps)
    share = cps[name].value_counts().max()
    assert 2 * (n - share) / n == pytest.approx(highest, abs=5e-6)
    pairs = n - share
    DataSwapping([name], 2 * pairs / n, must_change="all").protect(cps, seed=1)
    with pytest.raises(tc.ModelError, match=f"at most {pairs} are possible: too many records agr"):
        DataSwapping([name], 2 * (pairs + 1) / n, must_change="all").protect(cps)


def test_expected_table_of_unconstrained_swaps(cps):
    """E n'_c = (1 - rho) n_c + rho (n_u n_v - n_c) / (n - 1)."""
    n, m = len(cps), 2442
    rate = 2 * m / n
    cell = cps.groupby(list(cps.columns)).size()
    wanted = [
        (("25-55", "Private", "HS", "Married", "White", "Male", "40", "<=50K"), 1273, 1254.1834),
        (("25-55", "Private", "HS", "Other", "White", "Male", "40", "<=50K"), 992, 997.4360),
        (("25-55", "Private", "HS", "Other", "White", "Female", "40", "<=50K"), 860, 862.7588),
    ]
    for key, count, expected in wanted:
        assert cell[key] == count
        rest = int((cps.iloc[:, 1:] == list(key[1:])).all(axis=1).sum())
        own = int((cps.age == key[0]).sum())
        value = (1 - rate) * count + rate * (rest * own - count) / (n - 1)
        assert value == pytest.approx(expected, abs=1e-4)
    method = DataSwapping(["age"], rate)
    coded = CodedRecords.of(cps)
    table = SwapTable(coded)
    draws = [method.draw(coded, np.random.default_rng(seed)) for seed in range(40)]
    first = np.array([table.evaluate(pairs, ["age"])[1] for pairs in draws])
    at = np.argmax(first[0] == first[0].max())
    spread = first[:, at].std() / np.sqrt(40)
    assert abs(first[:, at].mean() - 1254.1834) < 5 * spread


@given(
    st.integers(0, 10_000),
    st.sampled_from(["none", "some", "all"]),
    st.sampled_from([[], ["g"]]),
)
def test_swaps_keep_margins_and_obey_their_constraints(seed, change, equal):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {name: random.integers(0, 4, 60) for name in "abc"} | {"g": random.integers(0, 2, 60)}
    )
    method = DataSwapping(["a", "b"], 0.3, must_change=change, equal_on=equal)
    release = method.protect(frame, seed=seed)
    swapped = release.frame
    assert release.report.n_swapped == 18
    for names in (["a", "b"], ["c", "g"]):
        one, other = (f.groupby(names).size() for f in (frame, swapped))
        assert one.equals(other)
    i, j = release.pairs.T
    differs = frame[["a", "b"]].to_numpy()[i] != frame[["a", "b"]].to_numpy()[j]
    assert change != "all" or differs.all()
    assert change != "some" or differs.any(axis=1).all()
    assert not equal or (frame.g.to_numpy()[i] == frame.g.to_numpy()[j]).all()
    counted = swapped.groupby(list("abcg")).size().to_numpy()
    assert np.array_equal(np.sort(counted), np.sort(release.after[release.after > 0]))


POINTS = {
    "a": (0.30, -0.10),
    "b": (0.20, -0.15),
    "c": (0.20, -0.12),
    "d": (0.10, -0.30),
    "e": (0.25, -0.12),
    "f": (0.05, -0.30),
    "g": (0.30, -0.10),
    "h": (0.40, -0.09),
}


def test_frontier_keeps_ties_and_nothing_that_is_beaten():
    risk, utility = np.array(list(POINTS.values())).T
    assert "".join(np.array(list(POINTS))[frontier(risk, utility)]) == "acfgh"
    for limit, expected in ((0.04, ""), (0.05, "f"), (0.20, "c"), (0.30, "ag"), (0.50, "h")):
        assert "".join(np.array(list(POINTS))[best_below(risk, utility, limit)]) == expected


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_frontier_equals_its_definition(points):
    risk, utility = np.array(points, dtype=float).T
    expected = [
        i
        for i in range(len(points))
        if not any(
            risk[j] <= risk[i]
            and utility[j] >= utility[i]
            and (risk[j] < risk[i] or utility[j] > utility[i])
            for j in range(len(points))
        )
    ]
    assert frontier(risk, utility).tolist() == expected


def test_sweep_does_not_depend_on_the_order_of_replicates(czech):
    candidates = [
        DataSwapping([name], rate) for name in ("smoke", "family") for rate in (0.02, 0.1)
    ]
    found = sweep(czech, candidates, replicates=5, seed=3)
    assert found.table.equals(sweep(czech, candidates, replicates=5, seed=3).table)
    assert found.table.frontier.any()
    assert (found.table.near_frontier | ~found.table.frontier).all()
    assert (found.table.risk_error > 0).all()
    assert found.best(1.0).distortion.iloc[0] == found.table.distortion.min()
    assert not len(found.best(-1.0))


def test_single_replicates_of_many_candidates(cps):
    """108 candidates: ranges of risk and distortion, and a frontier of some 13 points."""
    names = list(cps.columns)
    attributes = [[a] for a in names] + [
        [a, b] for i, a in enumerate(names) for b in names[i + 1 :]
    ]
    candidates = [DataSwapping(a, rate) for a in attributes for rate in (0.01, 0.02, 0.1)]
    table = sweep(cps, candidates, replicates=1, seed=4).table
    assert len(table) == 108
    assert 0.0120 < table.risk.min() < 0.0138
    assert 0.0148 < table.risk.max() < 0.0156
    assert 0.005 < table.distortion.min() < 0.012
    assert 0.062 < table.distortion.max() < 0.078
    assert 6 <= table.frontier.sum() <= 22


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attributes": "A"}, "must be a list"),
        ({"rate": 1.5}, "between 0 and 1"),
        ({"must_change": "most"}, "'none', 'some' or 'all'"),
        ({"equal_on": ["A"]}, "are swapped"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    with pytest.raises(tc.InputError, match=message):
        DataSwapping(**({"attributes": ["A"], "rate": 0.1} | change))


def test_bad_records_are_named(twelve):
    with pytest.raises(tc.InputError, match="There is no column 'D'"):
        DataSwapping(["D"], 0.5).protect(twelve)
    with pytest.raises(tc.InputError, match="one pair only"):
        DataSwapping(["A"], 0.5).swap(twelve, [(0, 1), (1, 2)])
    constant = twelve.assign(A="x")
    with pytest.raises(tc.ModelError, match="at most 0 are possible"):
        DataSwapping(["A"], 0.5, must_change="all").protect(constant)


def test_risk_is_undefined_when_every_record_is_swapped(twelve):
    report = DataSwapping(["A"], 1.0).protect(twelve).report
    assert np.isnan(report.risk)
    assert report.rate == 1


def test_swapping_a_column_that_is_no_key_counts_what_it_changed():
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"region": random.choice(list("ab"), 400)})
    frame["wage"] = random.integers(0, 50, 400)
    release = DataSwapping(["wage"], 0.2, keys=["region"]).protect(frame, seed=1)
    differs = int((release.frame.wage != frame.wage).sum())
    assert differs > 60
    assert release.report.n_altered == differs
    assert release.report.n_swapped == 80


@pytest.mark.parametrize("pairs", [[1, 2, 3], [[1, 2, 3]], [[0.5, 1]], [["a", "b"]]])
def test_pairs_of_another_shape(pairs):
    frame = pd.DataFrame({"a": list("xyxyxy"), "b": list("pqpqqp")})
    with pytest.raises(tc.InputError, match="`pairs` must have two columns"):
        DataSwapping(["a"], 0.5).swap(frame, pairs)


def test_records_without_a_row_or_with_columns_named_by_numbers():
    method = DataSwapping(["a"], 0.5)
    with pytest.raises(tc.InputError, match="no records"):
        method.protect(pd.DataFrame({"a": [], "b": []}))
    with pytest.raises(tc.InputError, match="Column 0 has a name that is no text"):
        method.protect(pd.DataFrame([["x", "y"]]))
    with pytest.raises(tc.InputError, match="must be a frame of pandas"):
        method.protect([["x", "y"]])
    with pytest.raises(tc.InputError, match="`seed` must be a whole number, 0 or more. Got -1"):
        method.protect(pd.DataFrame({"a": list("xyxy")}), seed=-1)


# -- expectations over all releases -------------------------------------------------------


def all_pairings(n: int, m: int):
    """Every set of m disjoint pairs of n records, as often as it is drawn."""
    if not m:
        yield []
        return
    for pair in combinations(range(n), 2):
        for rest in all_pairings(n, m - 1):
            if all(not set(pair) & set(other) for other in rest):
                yield [pair, *rest]


@pytest.mark.parametrize("m", [0, 1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_the_expected_table_of_all_pairings_is_the_formula(seed, m):
    """E n' = (1 - rho) n + rho (n_u n_v - n) / (N - 1), with rho = 2 m / N."""
    random = np.random.default_rng(seed)
    n = 6
    frame = pd.DataFrame({"a": random.integers(0, 2, n), "b": random.integers(0, 2, n)})
    if frame["a"].nunique() < 2 or frame["b"].nunique() < 2:
        frame.loc[0], frame.loc[1] = [0, 1], [1, 0]
    method = DataSwapping(["a"], rate=2 * m / n)
    tables = [
        method.swap(frame, np.array(pairs, dtype=int).reshape(-1, 2)).after
        for pairs in all_pairings(n, m)
    ]
    before = method.swap(frame, []).before.reshape(2, 2).astype(float)
    rho = 2 * m / n
    chance = np.outer(before.sum(1), before.sum(0)) - before
    expected = (1 - rho) * before + rho * chance / (n - 1)
    assert np.mean(tables, axis=0).reshape(2, 2) == pytest.approx(expected)


def test_the_rate_is_a_share_of_records_and_not_of_pairs():
    cases = [(0.0, 10, 0), (0.1, 10, 0), (0.11, 10, 1), (1.0, 9, 4), (0.5, 10, 2)]
    for rate, n, pairs in cases:
        assert DataSwapping(["a"], rate).n_pairs(n) == pairs


def test_what_was_swapped_can_be_swapped_back(twelve):
    method = DataSwapping(["A", "C"], rate=0.5)
    pairs = np.array([[0, 11], [3, 7], [5, 2]])
    once = method.swap(twelve, pairs).frame
    assert not once.equals(twelve)
    assert method.swap(once, pairs).frame.equals(twelve)


def test_associations_are_told_before_and_after(twelve):
    release = DataSwapping(["A"], rate=0.5).swap(twelve, [(3, 9), (4, 7)])
    found = release.association_changes().set_index(["one", "other"])
    # B and C were not swapped.
    assert found.loc[("B", "C"), "cramer"] == found.loc[("B", "C"), "cramer_after"]
    assert found.loc[("A", "B"), "cramer"] != found.loc[("A", "B"), "cramer_after"]


RANDOM = np.random.default_rng(3)
FRAME = pd.DataFrame({name: RANDOM.integers(0, 3, 200) for name in ("a", "b", "c")})
RATES = (0.0, 0.1, 0.4)


def swept(**options):
    candidates = [DataSwapping(["a"], rate) for rate in RATES]
    return sweep(FRAME, candidates, replicates=5, **options)


def test_more_swapping_distorts_more_and_none_not_at_all():
    table = swept().table
    assert table["distortion"].iloc[0] == 0
    assert table["distortion"].is_monotonic_increasing
    assert table["rate"].tolist() == list(RATES)


def test_each_candidate_has_random_numbers_of_its_own():
    """Its row does not depend on which others it is compared with."""
    alone = sweep(FRAME, [DataSwapping(["a"], 0.0), DataSwapping(["a"], 0.1)], replicates=5).table
    together = swept().table
    for column in ("risk", "distortion", "risk_error"):
        assert alone[column].iloc[1] == together[column].iloc[1]


def test_the_best_below_a_risk_is_the_least_distorted_of_the_tolerable():
    found = swept()
    limit = float(found.table["risk"].iloc[0])
    best = found.best(limit)
    tolerable = found.table[found.table["risk"] <= limit]
    assert set(best["distortion"]) == {tolerable["distortion"].min()}
    assert len(found.best(-1.0)) == 0


def test_the_frontier_of_the_means_is_within_two_errors_of_itself():
    table = swept().table
    assert table["frontier"].any()
    assert np.all(table.loc[table["frontier"], "near_frontier"])


def test_one_replicate_has_no_error():
    table = sweep(FRAME, [DataSwapping(["a"], 0.1)], replicates=1).table
    assert np.isnan(table["risk_error"]).all()


@pytest.mark.parametrize(("candidates", "replicates"), [([], 5), ([DataSwapping(["a"], 0.1)], 0)])
def test_nothing_to_compare_is_an_error(candidates, replicates):
    with pytest.raises(tc.InputError, match="At least one candidate and one replicate"):
        sweep(FRAME, candidates, replicates=replicates)


CONSTRAINTS = [
    PairConstraint(["a"]),
    PairConstraint(["a"], "some"),
    PairConstraint(["a", "b"], "some"),
    PairConstraint(["a", "b"], "all"),
    PairConstraint(["a"], equal_on=["c"]),
    PairConstraint(["a"], differ_on=["c"]),
    PairConstraint(["a"], "all", equal_on=["c"], differ_on=["b"]),
]


def coded(seed: int, n: int) -> CodedRecords:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({name: random.integers(0, 3, n) for name in "abc"})
    return CodedRecords.of(frame)


def admitted(records: CodedRecords, constraint: PairConstraint, one: int, other: int) -> bool:
    """By the definition."""
    value = {name: records.codes[records.position(name)] for name in records.names}

    def differ(name: str) -> bool:
        return bool(value[name][one] != value[name][other])

    changes = [differ(name) for name in constraint.attributes]
    wanted = {"none": True, "some": any(changes), "all": all(changes)}[constraint.must_change]
    return (
        wanted
        and not any(differ(name) for name in constraint.equal_on)
        and all(differ(name) for name in constraint.differ_on)
    )


@given(seed=st.integers(0, 500), constraint=st.sampled_from(CONSTRAINTS))
def test_drawn_pairs_are_disjoint_and_satisfy_their_constraint(seed, constraint):
    records = coded(seed, 60)
    limit, _ = constraint.most_pairs(records)
    wanted = limit // 2
    pairs = draw_pairs(records, constraint, wanted, np.random.default_rng(seed))
    assert pairs.shape == (wanted, 2)
    assert len(set(pairs.ravel().tolist())) == 2 * wanted
    assert all(admitted(records, constraint, *pair) for pair in pairs.tolist())


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_a_pair_is_admitted_as_its_definition_says(constraint):
    records = coded(3, 12)
    pairs = np.array(list(itertools.combinations(range(12), 2)))
    expected = [
        admitted(records, PairConstraint(
            constraint.attributes, constraint.must_change, (), constraint.differ_on), *pair)
        for pair in pairs.tolist()
    ]  # fmt: skip
    assert constraint.admits(records, pairs).tolist() == expected


def most_by_search(records: CodedRecords, constraint: PairConstraint) -> int:
    """Largest matching, by trying all."""

    def best(left: frozenset[int]) -> int:
        if len(left) < 2:
            return 0
        one = min(left)
        rest = left - {one}
        found = best(rest)
        for other in rest:
            if admitted(records, constraint, one, other):
                found = max(found, 1 + best(rest - {other}))
        return found

    return best(frozenset(range(records.n_records)))


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_no_more_pairs_are_possible_than_the_limit_says(constraint):
    for seed in range(3):
        records = coded(seed, 8)
        assert most_by_search(records, constraint) <= constraint.most_pairs(records)[0]


def test_the_largest_category_limits_the_pairs_that_must_change():
    for ones, pairs in ((5, 5), (7, 3), (9, 1), (10, 0)):
        frame = pd.DataFrame({"a": ["x"] * ones + ["y"] * (10 - ones)})
        limit, why = PairConstraint(["a"], "all").most_pairs(CodedRecords.of(frame))
        assert limit == pairs
        if pairs < 5:
            assert "records agree in 'a'" in why


def test_the_limit_itself_is_reached_where_all_rare_records_are_needed():
    """Seven x and three y: each y needs an x, and not by chance alone."""
    frame = pd.DataFrame({"a": ["x"] * 7 + ["y"] * 3})
    pairs = draw_pairs(
        CodedRecords.of(frame), PairConstraint(["a"], "all"), 3, np.random.default_rng(0)
    )
    assert sorted(frame["a"].to_numpy()[pairs].ravel()) == ["x"] * 3 + ["y"] * 3


def test_every_unconstrained_pair_is_as_likely_as_any_other():
    records = coded(1, 4)
    random = np.random.default_rng(0)
    seen = [tuple(sorted(draw_pairs(records, CONSTRAINTS[0], 1, random)[0])) for _ in range(1200)]
    counts = [seen.count(pair) for pair in itertools.combinations(range(4), 2)]
    assert sum(counts) == 1200
    # 200 expected; five standard deviations are 65.
    assert all(135 < count < 265 for count in counts)


def test_a_demand_that_cannot_be_met_says_what_was_found():
    frame = pd.DataFrame({"a": ["x"] * 9 + ["y"]})
    with pytest.raises(tc.ModelError, match="Only 1 of 3 pairs were found"):
        draw_pairs(
            CodedRecords.of(frame), PairConstraint(["a"], "all"), 3, np.random.default_rng(0)
        )


def test_records_that_must_agree_are_numbered_by_their_combination():
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 0]})
    records = CodedRecords.of(frame)
    assert PairConstraint(["a"], equal_on=["a", "b"]).strata(records).tolist() == [0, 1, 2, 2]
    assert PairConstraint(["a"]).strata(records).tolist() == [0] * 4


def records(seed: int, n: int = 40) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame({"a": random.integers(0, 3, n), "b": random.integers(0, 4, n)})


def swapped(frame: pd.DataFrame, pairs: np.ndarray, names: list[str]) -> pd.DataFrame:
    after = frame.copy()
    for name in names:
        values = frame[name].to_numpy().copy()
        values[pairs] = values[pairs[:, ::-1]]
        after[name] = values
    return after


@given(seed=st.integers(0, 500), m=st.integers(0, 20), both=st.booleans())
def test_the_report_is_that_of_a_table_counted_anew(seed, m, both):
    frame = records(seed)
    names = ["a", "b"] if both else ["a"]
    order = np.random.default_rng(seed + 1).permutation(len(frame))
    pairs = order[: 2 * m].reshape(-1, 2)
    report, after = SwapTable(CodedRecords.of(frame)).evaluate(pairs, names)
    new = swapped(frame, pairs, names)
    coded = CodedRecords.of(frame)
    strides = coded.strides
    cells = (
        coded.categories[0].searchsorted(new["a"]) * strides[0]
        + coded.categories[1].searchsorted(new["b"]) * strides[1]
    )
    counts = np.bincount(cells.astype(int), minlength=coded.n_cells)
    assert after.tolist() == counts.tolist()
    n = len(frame)
    before = np.bincount(coded.cells(), minlength=coded.n_cells)
    assert report.total_variation == pytest.approx(np.abs(before - counts).sum() / 2 / n)
    distance = np.sqrt(((np.sqrt(before) - np.sqrt(counts)) ** 2).sum() / 2 / n)
    assert report.hellinger == pytest.approx(distance)
    unswapped = np.setdiff1d(np.arange(n), pairs.ravel())
    risky = np.isin(counts[cells.astype(int)], (1, 2))
    if len(unswapped):
        assert report.risk == pytest.approx(risky[unswapped].mean())
    else:
        assert np.isnan(report.risk)
    same = (new == frame).all(axis=1).to_numpy()
    assert report.n_altered == (~same).sum()
    if same.any():
        assert report.strict_risk == pytest.approx(risky[same].mean())


def test_swapping_all_attributes_together_changes_no_count():
    frame = records(1)
    pairs = np.arange(20).reshape(-1, 2)
    report, after = SwapTable(CodedRecords.of(frame)).evaluate(pairs, ["a", "b"])
    assert report.hellinger == report.total_variation == report.entropy_change == 0
    assert after.sum() == 40


@pytest.mark.parametrize(
    ("counts", "contingency", "cramer"),
    [
        ([[10, 0], [0, 10]], np.sqrt(1 / 2), 1.0),
        ([[5, 5], [5, 5]], 0.0, 0.0),
        # chi^2 = 20 (6 * 6 - 4 * 4)^2 / 10^4 = 0.8
        ([[6, 4], [4, 6]], np.sqrt(0.8 / 20.8), 0.2),
    ],
)
def test_association_of_two_by_two_tables(counts, contingency, cramer):
    assert association(np.array(counts)) == pytest.approx((contingency, cramer))


def test_a_constant_attribute_has_no_association():
    assert np.isnan(association(np.array([[3, 4]]))).all()
    assert np.isnan(association(np.array([[3, 4], [0, 0]]))).all()
    assert np.isnan(association(np.zeros((2, 2), dtype=int))).all()


def test_a_file_with_numbers_and_identifiers_is_swapped_without_naming_keys():
    """Risk then refers to the columns that other options name."""
    random = np.random.default_rng(4)
    frame = pd.DataFrame({name: random.permutation(3000) for name in ("id", "home", "income")})
    frame = frame.assign(
        ill=random.choice(list("abc"), 3000), place=random.choice(list("NS"), 3000)
    )
    release = DataSwapping(["ill"], 0.1, equal_on=["place"]).protect(frame, seed=1)
    assert release.records.names == ("ill", "place")
    assert "cells of ill, place" in release.summary()
    assert DataSwapping(["ill"], 0.1).uses(list(frame)).keys == ["ill"]
