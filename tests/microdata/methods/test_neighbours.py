"""Neighbourhood sampling: published releases to the last digit, and what must always hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata.methods import neighbours
from tablecloak.microdata.methods.neighbours import NearRecords, NeighbourhoodSampling
from tablecloak.microdata.samplers import LegacySampler
from tablecloak.microdata.utility.comparison import regression_compared

COLUMNS = ["age", "sex", "wkswrkd", "ms", "phd", "wageinc"]


@pytest.fixture(scope="session")
def employees(instances) -> pd.DataFrame:
    """The sample of 5,000 that the paper uses, drawn by the sampler of R before 3.6."""
    frame = pd.read_csv(instances / "prgeng.csv.gz").set_index("row")
    rows = frame.index[frame.occ.between(100, 109)].to_numpy()
    assert len(rows) == 16411
    left, drawn = rows.copy(), []
    for at, u in enumerate(LegacySampler(99999).uniforms(5000)):
        j = int((len(rows) - at) * u)
        drawn.append(left[j])
        left[j] = left[len(rows) - at - 1]
    sample = frame.loc[drawn]
    return sample.assign(ms=sample.educ == 14, phd=sample.educ == 16)[COLUMNS].astype(float)


def published(eps: float, weight: float, nearest: int = 0) -> NeighbourhoodSampling:
    weights = dict.fromkeys(("sex", "ms", "phd"), weight)
    return NeighbourhoodSampling(eps, weights=weights, nearest=nearest)


def fitted(release):
    return regression_compared(release.original, release.frame, "wageinc", COLUMNS[:-1])


def test_legacy_sampler_draws_the_published_sample(employees):
    rows = employees.index.to_numpy()
    assert rows[:5].tolist() == [6489, 17272, 7591, 16540, 3540]
    assert rows[-1] == 9805
    # No two orders of these rows are likely to share this sum.
    assert (rows * np.arange(1, 5001)).sum() == 125400276583


EXACT = {
    "N4": (0.6, 0.2, 37, (246.8224, 206, 715), (466.1, -8423.2, 1270.7, 18593.9, 22161.4)),
    "N6": (0.3, 0.05, 137, (90.4876, 76, 276), (493.9, -8998.7, 1313.2, 18059.7, 23502.9)),
    "N7": (0.3, 0.2, 329, (42.1204, 26, 179), (524.5, -10457.3, 1282.5, 17291.3, 27088.8)),
    "N8": (0.2, 0.05, 374, (32.5024, 25, 112), (536.4, -9552.0, 1296.0, 18720.9, 22997.9)),
    "N9": (0.2, 0.2, 626, (17.8504, 11, 80), (561.5, -11404.7, 1259.2, 18614.0, 26571.6)),
}


@pytest.mark.parametrize("name", EXACT)
def test_published_releases_are_met_to_the_last_digit(employees, name):
    eps, weight, empty, (mean, median, most), coefficients = EXACT[name]
    release = published(eps, weight).protect(employees, seed=LegacySampler(999999))
    assert release.frame.isna().any(axis=1).sum() == empty
    assert release.neighbours.mean() == pytest.approx(mean, abs=1e-4)
    assert np.median(release.neighbours) == median
    assert release.neighbours.max() == most
    found = fitted(release).coefficient_masked.to_numpy()[1:]
    assert np.allclose(found, coefficients, atol=0.05)


def test_original_coefficients(employees):
    release = published(0.6, 0.2).protect(employees, seed=1)
    table = fitted(release)
    expected = [-9553.7029, 447.1604, -9591.6654, 1286.3762, 17333.0401, 21291.3431]
    assert np.allclose(table.coefficient_original, expected, atol=1e-4)
    errors = [3182.30, 52.49, 1288.92, 39.50, 1407.42, 3522.38]
    assert np.allclose(table.standard_error_original, errors, atol=0.005)


MASKED = {
    "age": (193677.740799, 485445221.948497),
    "sex": (6170, 15455489),
    "wkswrkd": (225633, 561502619),
    "ms": (897, 2219294),
    "phd": (121, 291276),
    "wageinc": (287696330, 716114084270),
}
"""Sums over the release of row N4 in R, plain and with the position of each record as a weight."""


def test_the_followed_worker(employees):
    release = published(0.6, 0.2).protect(employees, seed=LegacySampler(999999))
    row = release.follow([7997]).xs("masked", level="version").iloc[0]
    assert row.tolist() == pytest.approx([31.9746, 1, 52, 0, 1, 100000], abs=5e-5)
    young = release.frame.query("sex == 2 and phd == 1 and age < 31")
    assert young.index.tolist() == [12522]
    assert young.iloc[0].age == pytest.approx(30.5725, abs=5e-5)


def test_the_masked_file_equals_that_of_the_reference_code(employees):
    release = published(0.6, 0.2).protect(employees, seed=LegacySampler(999999))
    place = np.arange(1, 5001)
    for column, (plain, weighted) in MASKED.items():
        found = release.frame[column].to_numpy()
        assert np.nansum(found) == pytest.approx(plain, rel=1e-10)
        assert np.nansum(found * place) == pytest.approx(weighted, rel=1e-10)


@pytest.mark.parametrize("weight", [0.05, 0.2])
def test_with_the_smaller_radius_the_followed_worker_is_gone(employees, weight):
    """The paper's second release, eps = 0.2: no woman below 31 with a doctorate is left."""
    release = published(0.2, weight).protect(employees, seed=LegacySampler(999999))
    assert release.frame.loc[7997].isna().all()
    assert release.frame.query("sex == 2 and phd == 1 and age < 31").empty


BANDS = {
    "N20": (0.3, 0.05, (471.4, 551.3), (-10945.9, -6336.4), (1287.5, 1327.8)),
    "N21": (0.2, 0.05, (513.3, 573.0), (-11522.4, -5975.0), (1269.5, 1311.0)),
    "N23": (0.2, 0.2, (546.8, 577.0), (-11591.3, -10915.5), (1251.7, 1264.1)),
    "N22": (0.3, 0.2, (501.8, 556.4), (-10788.4, -9847.3), (1274.9, 1294.3)),
    "N24": (0.6, 0.2, (451.1, 545.7), (-11645.5, -7621.2), (1250.8, 1301.0)),
}


@pytest.mark.parametrize("name", BANDS)
def test_random_releases_lie_in_their_bands(employees, name):
    eps, weight, *bands = BANDS[name]
    found = np.array(
        [
            fitted(published(eps, weight).protect(employees, seed=seed)).coefficient_masked[1:4]
            for seed in range(4)
        ]
    )
    # Bands hold 99 % of single runs; the mean of four lies well inside.
    for values, (low, high) in zip(found.T, bands, strict=True):
        assert low <= values.mean() <= high


@pytest.mark.parametrize(
    ("eps", "weight", "dropped", "nearest"),
    [(0.3, 0.05, 0.147, 0.028), (0.2, 0.05, 0.207, 0.024), (0.3, 0.2, 0.176, 0.052)],
)
def test_nearest_records_instead_of_missing_ones_remove_most_of_the_bias(
    employees, eps, weight, dropped, nearest
):
    for fallback, expected in ((0, dropped), (1, nearest)):
        changes = [
            fitted(published(eps, weight, fallback).protect(employees, seed=seed)).relative_change[
                "age"
            ]
            for seed in range(5)
        ]
        # The published means are of 100 seeds; single runs differ by about 3 per cent.
        assert np.mean(changes) == pytest.approx(expected, abs=0.045)


def test_records_that_took_the_nearest_are_reported(employees):
    release = published(0.2, 0.05, 1).protect(employees, seed=1)
    assert release.fallback.sum() == 374
    assert not release.frame.isna().any().any()
    assert set(release.frame.index[release.fallback]) <= set(release.at_risk().index)


@pytest.mark.filterwarnings("ignore:.*tell")
@given(st.integers(0, 10_000), st.floats(0.2, 1.5), st.integers(1, 3))
def test_every_masked_value_comes_from_a_neighbour(seed, eps, nearest):
    random = np.random.default_rng(seed)
    n = 60
    frame = pd.DataFrame(
        {
            "x": random.normal(size=n),
            "y": random.normal(size=n),
            "kind": random.choice(list("abc"), n),
        }
    )
    method = NeighbourhoodSampling(
        eps, proportion=0.7, groups=[["x", "kind"]], nearest=nearest, weights={"kind": 0.3}
    )
    release = method.protect(frame, seed=seed)
    points = np.hstack(method._points(frame, list(frame.columns)))
    distance = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    np.fill_diagonal(distance, np.inf)
    masked = release.neighbours >= 0
    assert masked.sum() == int(0.7 * n)
    assert release.frame[~masked].equals(frame[~masked])
    for at in np.flatnonzero(masked):
        assert release.neighbours[at] == (distance[at] < eps).sum()
        allowed = set(np.flatnonzero(distance[at] < eps))
        if release.fallback[at]:
            allowed = set(np.argsort(distance[at], kind="stable")[:nearest])
        assert set(release.donors[at]) <= allowed
        # The group is drawn together: donors have the order of its first columns.
        donor = release.donors[at, 0]
        assert release.frame.loc[at, "kind"] == frame.loc[donor, "kind"]
        assert release.frame.loc[at, "x"] == frame.loc[donor, "x"]


def test_radius_of_its_own_for_each_record():
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 10.0], "y": [0.0, 1.0, 2.0, 10.0]})
    release = NeighbourhoodSampling([9, 9, 9, 0.01]).protect(frame, seed=1)
    assert release.neighbours.tolist() == [3, 3, 3, 0]
    assert release.fallback.tolist() == [False, False, False, True]
    assert release.frame.x[3] == 2.0


def test_bad_input_is_named():
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0], "k": [1.0, 1.0, 1.0]})
    with pytest.raises(tc.InputError, match="'k' is constant"):
        NeighbourhoodSampling(0.5).protect(frame)
    with pytest.raises(tc.InputError, match="no column 'z' to mask"):
        NeighbourhoodSampling(0.5, columns=["z"]).protect(frame)
    with pytest.raises(tc.InputError, match="must be positive"):
        NeighbourhoodSampling(0.0)
    with pytest.raises(tc.InputError, match="one group only"):
        NeighbourhoodSampling(1.0, columns=["x"], groups=[["x"], ["x"]]).protect(frame)
    with pytest.raises(tc.InputError, match="no records"):
        NeighbourhoodSampling(1.0, columns=["x"]).protect(frame).follow([9])
    lonely = NeighbourhoodSampling(1e-6, columns=["x"]).protect(frame)
    assert "take a larger one" in lonely.summary()


@pytest.mark.filterwarnings("ignore::tablecloak.microdata.TellingColumnWarning")
@example(seed=1673, eps=1.0, weight=0.4)
@given(
    seed=st.integers(0, 10_000),
    eps=st.sampled_from([0.3, 1.0, 2.5]),
    weight=st.sampled_from([1.0, 0.4]),
)
def test_neighbours_are_all_records_closer_than_eps(seed, eps, weight):
    """Columns with few distant values part the records: that changes nothing but time."""
    random = np.random.default_rng(seed)
    n = int(random.integers(60, 200))
    frame = pd.DataFrame(random.normal(size=(n, 2)), columns=["a", "b"])
    frame = frame.assign(c=random.integers(0, 2, n), d=random.integers(0, 3, n))
    frame.loc[:2, "c"], frame.loc[:2, "d"] = [0, 1, 1], [0, 1, 2]
    own = eps * random.uniform(0.5, 1.5, n)
    method = NeighbourhoodSampling(own, weights={"c": weight}, nearest=0, proportion=0.8)
    release = method.protect(frame, seed=seed)
    points = ((frame - frame.mean()) / frame.std()).to_numpy() * [1, 1, weight, 1]
    distance = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
    np.fill_diagonal(distance, np.inf)
    near = distance < own[:, None]
    masked = release.neighbours >= 0
    assert masked.sum() == int(0.8 * n)
    np.testing.assert_array_equal(release.neighbours[masked], near.sum(axis=1)[masked])
    for column in range(release.donors.shape[1]):
        drawn = release.donors[:, column]
        assert np.all(near[np.flatnonzero(drawn >= 0), drawn[drawn >= 0]])


# -- small files by hand ------------------------------------------------------------------

LINE = pd.DataFrame({"x": [0.0, 1, 2, 10, 11, 30], "y": [5.0, 4, 3, 2, 1, 0]})


def sampled(frame=LINE, seed=1, **options):
    return NeighbourhoodSampling(**{"eps": 0.2, "columns": ["x"], **options}).protect(
        frame, seed=seed
    )


def test_every_value_comes_from_a_record_closer_than_eps_and_never_from_its_own():
    reach = 0.2 * LINE["x"].std()
    for seed in range(20):
        release = sampled(seed=seed)
        donors = release.donors[:, 0]
        assert np.all(donors != np.arange(6))
        near = ~release.fallback
        assert np.all(np.abs(LINE["x"].to_numpy()[donors] - LINE["x"])[near] < reach)
        assert release.frame["y"].equals(LINE["y"])


def test_a_lonely_record_takes_the_nearest_or_becomes_missing():
    release = sampled()
    assert release.fallback.tolist() == [False] * 5 + [True]
    assert release.frame["x"].iloc[5] == 11
    strict = sampled(nearest=0)
    assert np.isnan(strict.frame["x"].iloc[5])
    assert "1 without any" in strict.summary()


@pytest.mark.parametrize(("proportion", "masked"), [(0.0, 0), (0.5, 3), (0.99, 5), (1.0, 6)])
def test_only_a_share_of_the_records_is_masked(proportion, masked):
    release = sampled(proportion=proportion)
    assert (release.neighbours >= 0).sum() == masked
    untouched = release.neighbours < 0
    assert release.frame[untouched].equals(LINE[untouched])


def test_columns_of_a_group_come_from_one_donor():
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(80, 3)), columns=["a", "b", "c"])
    release = NeighbourhoodSampling(eps=1.5, groups=[["a", "c"]]).protect(frame, seed=2)
    pairs = set(zip(frame["a"], frame["c"], strict=True))
    assert set(zip(release.frame["a"], release.frame["c"], strict=True)) <= pairs
    assert not set(zip(release.frame["a"], release.frame["b"], strict=True)) <= set(
        zip(frame["a"], frame["b"], strict=True)
    )


def test_a_column_of_weight_0_does_not_part_the_records():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"x": random.normal(size=60), "far": random.normal(size=60)})
    apart = NeighbourhoodSampling(eps=0.4).protect(frame, seed=1)
    together = NeighbourhoodSampling(eps=0.4, weights={"far": 0.0}).protect(frame, seed=1)
    assert np.all(together.neighbours >= apart.neighbours)
    assert together.neighbours.sum() > apart.neighbours.sum()


def test_records_all_of_whose_values_come_from_one_donor_are_at_risk():
    release = sampled()
    assert release.at_risk()["fallback"].loc[5]
    assert 5 in release.at_risk().index


def test_a_record_is_followed_by_its_label():
    labelled = LINE.set_index(pd.Index(list("abcdef")))
    found = sampled(labelled).follow(["f"])
    assert found.loc[("f", "original"), "x"] == 30
    assert found.loc[("f", "masked"), "x"] == 11
    with pytest.raises(tc.InputError, match=r"There are no records \['z'\]"):
        sampled(labelled).follow(["z"])


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (LINE, {"columns": ["z"]}, "no column 'z' to mask"),
        (LINE, {"weights": {"z": 1.0}}, "no column 'z' to mask"),
        (LINE, {"columns": ["x", "y"], "groups": [["x"], ["x", "y"]]}, "in one group only"),
        (LINE.assign(x=1.0), {}, "Column 'x' is constant"),
        (
            LINE.assign(x=[1, 2, 3, 4, 5, None], y=[None] * 5 + [1.0]),
            {"columns": ["y"]},
            "Column 'y' is constant",
        ),
        (
            pd.DataFrame({"x": [1.0, 2, None, None], "y": [4.0, None, 5, 7]}),
            {"columns": ["x", "y"]},
            r"The record in row 0 is the only one with values in all of \['x', 'y'\]",
        ),
        (LINE.assign(x=[1, 2, 3, 4, 5, np.inf]), {}, "'x' has an infinite value in row 5"),
        (LINE.assign(x=["1", "2", "3", "4", "5", "n/a"]), {}, "holds numbers, but 'n/a' in row 5"),
        (LINE.iloc[:1], {}, "At least two records are needed"),
        (LINE, {"eps": [0.1, 0.2]}, r"`eps` has the shape \(2,\)"),
    ],
)
def test_what_cannot_be_sampled_is_named_by_column_and_row(frame, options, message):
    with pytest.raises(tc.InputError, match=message):
        sampled(frame, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"eps": 0.0}, "`eps` must be positive"), ({"eps": float("inf")}, "`eps`"),
     ({"weights": {"x": -1.0}}, r"weights of \['x'\] are not numbers >= 0")],
)  # fmt: skip
def test_radii_and_weights_out_of_range_are_refused(options, message):
    with pytest.raises(tc.InputError, match=message):
        sampled(**options)


def test_missing_values_stay_and_the_others_come_from_records_with_the_same_columns():
    random = np.random.default_rng(8)
    frame = pd.DataFrame(random.normal(size=(60, 3)), columns=list("abc"))
    frame = frame.mask(random.random((60, 3)) < 0.2)
    release = NeighbourhoodSampling(0.8).protect(frame, seed=3)
    assert (release.frame.isna() == frame.isna()).all(axis=None)
    has = frame.notna().to_numpy()
    drawn = release.donors
    used = 0
    for record, donors in enumerate(drawn):
        for donor in donors[donors >= 0]:
            used += 1
            assert has[donor][has[record]].all()
    assert used == 3 * np.sum(has.any(axis=1))
    kept = (release.frame == frame).to_numpy()[has]
    assert kept.mean() < 0.2


def points_of(seed: int, n: int = 60, n_types: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.column_stack([random.normal(size=n), random.normal(size=n),
                            10.0 * random.integers(0, n_types, n)])  # fmt: skip


def by_definition(points: np.ndarray, record: int, eps: float) -> list[int]:
    far = np.sqrt(((points - points[record]) ** 2).sum(axis=1))
    return [other for other in np.flatnonzero(far < eps).tolist() if other != record]


def collected(parts) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for part, cells, size in parts:
        for record, near in zip(part.tolist(), np.split(cells, np.cumsum(size)[:-1]), strict=True):
            assert record not in found
            found[record] = near.tolist()
    return found


@given(seed=st.integers(0, 200), eps=st.floats(0.1, 3.0))
def test_both_ways_of_looking_find_all_records_closer_than_eps(seed, eps):
    points = points_of(seed)
    order = np.random.default_rng(seed).permutation(len(points))[:40]
    reach = np.full(len(points), eps)
    expected = {record: by_definition(points, record, eps) for record in order.tolist()}
    near = NearRecords(points)
    assert collected(near.in_order(order, reach)) == expected
    strata = collected(near.by_strata(order, reach))
    assert {record: sorted(cells) for record, cells in strata.items()} == expected


def test_records_come_in_the_order_asked_for_and_neighbours_in_increasing_order():
    points = points_of(1)
    order = np.array([5, 3, 50, 7])
    parts = list(NearRecords(points).in_order(order, np.full(60, 2.0)))
    assert np.concatenate([part for part, _, _ in parts]).tolist() == order.tolist()
    for near in collected(parts).values():
        assert near == sorted(near)


def test_each_record_may_have_a_radius_of_its_own():
    points = points_of(2)
    reach = np.where(np.arange(60) % 2, 0.2, 2.0)
    found = collected(NearRecords(points).in_order(np.arange(60), reach))
    for record, near in found.items():
        assert near == by_definition(points, record, reach[record])


def test_many_records_come_in_chunks(monkeypatch):
    monkeypatch.setattr(neighbours, "CHUNK", 7)
    points = points_of(3)
    parts = list(NearRecords(points).in_order(np.arange(60), np.full(60, 1.0)))
    assert [len(part) for part, _, _ in parts] == [7] * 8 + [4]
    assert collected(parts) == {i: by_definition(points, i, 1.0) for i in range(60)}


def test_records_that_have_too_few_neighbours_get_the_nearest():
    points = np.array([[0.0], [1.0], [1.1], [5.0]])
    near = NearRecords(points)
    part, flat, size = np.array([0, 1, 3]), np.array([2]), np.array([0, 1, 0])
    cells, sizes = near.with_nearest(part, flat, size, np.array([0, 2]), 2)
    found = [sorted(each.tolist()) for each in np.split(cells, np.cumsum(sizes)[:-1])]
    # Record 1 keeps its own neighbour; 0 and 3 take their two nearest.
    assert found == [[1, 2], [2], [1, 2]]


def test_no_record_is_its_own_nearest_where_several_lie_at_one_place():
    points = np.zeros((5, 1))
    near = NearRecords(points)
    cells, sizes = near.with_nearest(
        np.arange(5), np.empty(0, dtype=int), np.zeros(5, dtype=int), np.arange(5), 2
    )
    assert sizes.tolist() == [2] * 5
    owner = np.repeat(np.arange(5), 2)
    assert not np.any(owner == cells)


@pytest.mark.parametrize(("eps", "n_strata"), [(5.0, 3), (15.0, 1)])
def test_a_column_of_distant_values_parts_the_records(monkeypatch, eps, n_strata):
    monkeypatch.setattr(neighbours, "LEAST_IN_STRATUM", 10)
    stratum, soft = neighbours._strata(points_of(4), eps)
    assert len(np.unique(stratum)) == n_strata
    assert soft.tolist() == [True, True, n_strata == 1]
