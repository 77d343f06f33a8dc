"""PRAM: the guarantee in closed form, exact probabilities, and invariance."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata.methods.pram import GuaranteedPRAM, retention
from tablecloak.microdata.methods.swapping import DataSwapping


def correct_match_probability(counts, cell, theta, most):
    """Return the exact probability of a correct match, for each number of released records.

    Parameters
    ----------
    counts : sequence of int
        T_1..T_k of the non-empty cells, k >= 2.
    cell : int
        Position j of the cell of the target.
    theta : float
    most : int
        Largest number a of released records in that cell.

    Returns
    -------
    numpy.ndarray of float, shape (most,)
        IR(j, a) for a = 1..most; NaN where a cannot occur.

    Notes
    -----
    IR(j, a) = (1/a) / (1 + e_a / (e_{a-1} beta_j)), with e_m the elementary symmetric functions
    of the odds beta_i of all other records: equation (6), as a product of polynomials.
    """
    odds, others = _odds(counts, cell, theta)
    e = _symmetric(odds, others, most)
    a = np.arange(1, most + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        probability = (1 / a) / (1 + e[1:] / (e[:-1] * odds[cell]))
    return np.where(e[:-1] > 0, probability, np.nan)


def _odds(counts, cell, theta):
    """Return the odds that a record of each cell moves to `cell`, and the number of such records.

    The target itself is not counted in its cell.
    """
    t = np.asarray(counts, dtype=np.float64)
    k = len(t)
    odds = theta / ((k - 1) * t - theta)
    odds[cell] = (t[cell] - theta) / theta
    others = np.asarray(counts, dtype=np.int64).copy()
    others[cell] -= 1
    return odds, others


def _symmetric(odds, multiplicity, most):
    """Return the elementary symmetric functions e_0..e_most of odds with multiplicities.

    They are coefficients of a product of polynomials, cut at degree `most`. All terms are positive,
    so that no digits cancel. Equal odds are one power, by the binomial theorem.
    """
    values, inverse = np.unique(odds, return_inverse=True)
    number = np.bincount(inverse.ravel(), weights=multiplicity).astype(np.int64)
    e = np.zeros(most + 1)
    e[0] = 1.0
    for value, power in zip(values, number.tolist(), strict=True):
        factor = np.zeros(most + 1)
        factor[0] = 1.0
        for m in range(1, min(most, power) + 1):
            factor[m] = factor[m - 1] * (power - m + 1) / m * value
        e = np.convolve(e, factor)[: most + 1]
    return e


@pytest.mark.parametrize(
    ("xi", "theta"),
    [
        (3 / 7, 0.666666666667),
        (0.5, 0.618033988750),
        (2 / 3, 0.5),
        (0.75, 0.434258545911),
        (0.9, 0.282375696128),
        (0.99, 0.095580095178),
    ],
)
def test_theta_of_the_guarantee(xi, theta):
    assert retention(xi) == pytest.approx(theta, abs=1e-12)
    # psi(1, theta) = 1 / (1 + theta^2 / (1 - theta)) is the bound that theta meets.
    assert 1 / (1 + theta**2 / (1 - theta)) == pytest.approx(xi, abs=1e-9)


EXACT = {
    "P20": ((1, 1), retention(0.75), [0.6292484919, 0.5], 0.44290242, 0.24567806),
    "P21": ((1, 1), 0.4, [0.6923076923, 0.5], 0.48, 0.24),
    "P22": (
        (1, 2, 3),
        retention(0.75),
        [0.7317242886, 0.4367547203, 0.3110863383, 0.2414653316],
        0.45611095,
        0.27545041,
    ),
    "P24": (
        (1, 1, 1, 1, 1),
        0.4,
        [0.7714285714, 0.45, 0.3176470588, 0.2454545455],
        0.49141200,
        0.26244000,
    ),
    "P25": (
        (1, 4, 10, 25),
        retention(0.75),
        [0.7463888030, 0.4301455136, 0.3020730941, 0.2327347120],
        0.45834421,
        0.28012021,
    ),
    "P27": (
        (2, 3, 5),
        retention(0.75),
        [0.4699526050, 0.4465677155, 0.3162305659, 0.2424996661],
        0.40335787,
        0.03014014,
    ),
    "P28": (
        (2, 3, 5),
        0.4,
        [0.4749116608, 0.4545749194, 0.3190209000, 0.2437571384],
        0.41226047,
        0.02651713,
    ),
}


def released_in(counts, cell, theta) -> np.ndarray:
    """Distribution of the number of records released in a cell, by convolution."""
    k, found = len(counts), np.ones(1)
    for i, count in enumerate(counts):
        p = 1 - theta / count if i == cell else theta / ((k - 1) * count)
        for _ in range(count):
            found = np.convolve(found, [1 - p, p])
    return found


@pytest.mark.parametrize("name", EXACT)
def test_exact_probability_of_a_correct_match(name):
    counts, theta, values, correct, empty = EXACT[name]
    found = correct_match_probability(counts, 0, theta, sum(counts))
    assert np.allclose(found[: len(values)], values, atol=1e-10)
    chances = released_in(counts, 0, theta)
    assert chances[0] == pytest.approx(empty, abs=1e-8)
    assert chances[1:] @ found == pytest.approx(correct, abs=1e-8)


def test_worst_case_over_many_tables_stays_below_the_guarantee():
    for xi, expected in ((0.75, 0.7469474941), (0.9, 0.8990498039)):
        theta = retention(xi)
        worst = max(
            np.nanmax(correct_match_probability(counts, j, theta, 4))
            for k in (2, 3, 4)
            for counts in itertools.product((1, 2, 3, 5, 9), repeat=k)
            for j in range(k)
        )
        assert worst == pytest.approx(expected, abs=1e-10)
    counts = (1, 9, 9, 9)
    assert correct_match_probability(counts, 0, retention(0.75), 1)[0] == pytest.approx(
        0.7469474941, abs=1e-10
    )


@given(
    st.lists(st.integers(1, 30), min_size=3, max_size=8),
    st.sampled_from([3 / 7, 0.45, 0.5, 0.6, 0.75, 0.9]),
)
def test_guarantee_holds_for_random_tables(counts, xi):
    theta = retention(xi)
    for j in range(len(counts)):
        found = correct_match_probability(counts, j, theta, min(6, sum(counts)))
        assert np.nanmax(found) <= xi + 1e-12


def test_two_cells_fail_below_one_half():
    for theta in (0.1, 0.4, 0.5, 0.6, 0.66):
        assert correct_match_probability((1, 1), 0, theta, 2)[1] == pytest.approx(0.5)
    frame = pd.DataFrame({"key": ["a", "b"]})
    with pytest.raises(tc.ModelError, match="with 2 non-empty cells"):
        GuaranteedPRAM(["key"], xi=0.45).protect(frame)
    GuaranteedPRAM(["key"], xi=0.5).protect(frame)


@pytest.fixture(scope="session")
def cps(instances) -> pd.DataFrame:
    return pd.read_csv(instances / "microdata/cps8d.csv.gz", dtype=str)


@pytest.mark.parametrize(
    ("xi", "one", "two"),
    [
        (
            0.75,
            [0.74998303, 0.42857865, 0.30000979, 0.23077872],
            [0.47159744, 0.44884243, 0.31474056, 0.24044317],
        ),
        (0.8, [0.79998698, 0.44445072, 0.30770025, 0.23530164], None),
        (0.9, [0.89999470, 0.47368794, 0.32143268, 0.24324697], None),
    ],
)
def test_exact_probabilities_on_cps(cps, xi, one, two):
    counts = np.sort(cps.groupby(list(cps.columns)).size().to_numpy())
    assert len(counts) == 1675
    found = correct_match_probability(counts, 0, retention(xi), 4)
    assert np.allclose(found, one, atol=1e-8)
    if two:
        at = int(np.flatnonzero(counts == 2)[0])
        assert np.allclose(correct_match_probability(counts, at, retention(xi), 4), two, atol=1e-8)


@pytest.mark.parametrize(("xi", "moves"), [(0.75, 727.383), (0.8, 653.900), (0.9, 472.979)])
def test_moves_on_cps(cps, xi, moves):
    releases = [GuaranteedPRAM(list(cps.columns), xi).protect(cps, seed=seed) for seed in range(2)]
    for release in releases:
        assert release.report["expected moves"] == pytest.approx(moves, abs=1e-3)
        assert abs(release.report["moves"] - moves) < 4 * 25
        assert release.report["moves"] == release.moved.sum()
    counted = [frame.groupby(list(cps.columns)).size() for frame in (cps, releases[0].frame)]
    before, after = counted[0].align(counted[1], fill_value=0)
    hellinger = np.sqrt(np.sum((np.sqrt(before) - np.sqrt(after)) ** 2) / 2 / len(cps))
    if xi == 0.75:
        assert abs(hellinger - 0.04262) < 4 * 0.00118


def test_simulated_matches_on_cps_meet_the_exact_probability(cps):
    keys = list(cps.columns)
    cell = cps.groupby(keys).ngroup().to_numpy()
    size = np.bincount(cell)
    right = tried = 0
    for seed in range(6):
        release = GuaranteedPRAM(keys, 0.75).protect(cps, seed=100 + seed)
        both = pd.concat([cps, release.frame]).groupby(keys).ngroup().to_numpy()
        old, new = both[: len(cps)], both[len(cps) :]
        released = np.bincount(new, minlength=both.max() + 1)
        single = (size[cell] == 1) & (released[old] == 1)
        tried += int(single.sum())
        right += int((single & (old == new)).sum())
    error = np.sqrt(0.75 * 0.25 / tried)
    assert abs(right / tried - 0.749983) < 4 * error


def test_blocks_are_never_left(cps):
    release = GuaranteedPRAM(["edu", "race"], 0.75, blocks=["sex", "age"]).protect(cps, seed=2)
    for names in (["sex", "age"], ["marital"]):
        assert release.frame[names].equals(cps[names])
    moved = (release.frame[["edu", "race"]] != cps[["edu", "race"]]).any(axis=1).to_numpy()
    assert np.array_equal(moved, release.moved)
    assert moved.sum() > 0


def test_blocks_without_a_guarantee_are_named():
    frame = pd.DataFrame({"region": ["n", "n", "n", "s"], "key": ["a", "b", "b", "a"]})
    with pytest.raises(tc.ModelError, match="In 1 blocks .* {'region': 's'}, with 1 non-empty"):
        GuaranteedPRAM(["key"], blocks=["region"]).protect(frame)
    # Two records in one cell: a random pick is right with probability 1/2 <= xi.
    safe = pd.concat([frame, frame.tail(1)])
    assert not GuaranteedPRAM(["key"], blocks=["region"]).protect(safe).moved[3:].any()


def test_guarantees_out_of_reach_are_refused():
    for xi in (0.42, 1.0, 1.5, -1, float("nan")):
        with pytest.raises(tc.InputError, match="`xi` must lie between 3/7 and 1"):
            retention(xi)
        with pytest.raises(tc.InputError, match="between 3/7 and 1"):
            GuaranteedPRAM(["key"], xi=xi)


def test_pram_moves_as_much_as_swapping_sex_at_a_tenth(cps):
    release = DataSwapping(["sex"], 0.1).protect(cps, seed=1)
    assert abs(release.report.hellinger - 0.043) < 0.006


# -- all releases of a few records --------------------------------------------------------


def test_over_all_releases_of_four_records_the_guarantee_holds_and_counts_stay():
    """Cells of 1 and 3 records: every record moves or stays, one chance for each release."""
    theta = retention(0.75)
    counts, target = (1, 3), 0
    stay = [1 - theta / counts[cell] for cell in (0, 1, 1, 1)]
    expected, right, there = np.zeros(2), np.zeros(5), np.zeros(5)
    for moved in itertools.product([False, True], repeat=4):
        chance = np.prod([1 - p if move else p for p, move in zip(stay, moved, strict=True)])
        cells = [cell ^ move for cell, move in zip((0, 1, 1, 1), moved, strict=True)]
        after = np.bincount(cells, minlength=2)
        expected += chance * after
        released = after[target]
        if released:
            there[released] += chance
            right[released] += chance * (not moved[0]) / released
    assert expected == pytest.approx(counts)
    exact = correct_match_probability(counts, target, theta, 4)
    assert right[1:] / there[1:] == pytest.approx(exact)
    assert np.nanmax(exact) <= 0.75 + 1e-12


@pytest.mark.parametrize("seed", range(2))
def test_only_keys_change_and_a_record_that_moved_is_elsewhere(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": random.integers(0, 4, 200), "b": random.integers(0, 3, 200),
                          "wage": random.normal(size=200)})  # fmt: skip
    release = GuaranteedPRAM(["a", "b"], xi=0.6).protect(frame, seed=seed)
    assert release.frame["wage"].equals(frame["wage"])
    changed = (release.frame[["a", "b"]] != frame[["a", "b"]]).any(axis=1).to_numpy()
    assert np.array_equal(changed, release.moved)
    known = set(frame[["a", "b"]].itertuples(index=False, name=None))
    assert set(release.frame[["a", "b"]].itertuples(index=False, name=None)) <= known
    assert release.report["moves"] == changed.sum()
    assert release.report["expected moves"] == pytest.approx(retention(0.6) * len(known))


def by_enumeration(counts, cell: int, theta: float, most: int) -> list[float]:
    """Over which records end in the cell: P(target among a) / a, given a."""
    k = len(counts)
    target, others = 1 - theta / counts[cell], []
    for other, t in enumerate(counts):
        stay = 1 - theta / t if other == cell else theta / ((k - 1) * t)
        others += [stay] * (t - (other == cell))
    right, there = np.zeros(most + 1), np.zeros(most + 1)
    for is_in, *rest in itertools.product([0, 1], repeat=1 + len(others)):
        chance = target if is_in else 1 - target
        for p, here in zip(others, rest, strict=True):
            chance *= p if here else 1 - p
        number = is_in + sum(rest)
        if 0 < number <= most:
            there[number] += chance
            right[number] += chance * is_in / number
    return (right[1:] / there[1:]).tolist()


@pytest.mark.parametrize(
    ("counts", "theta", "cell"),
    [((1, 1), 0.4, 0), ((1, 2, 3), 0.434258545911, 0), ((1, 2, 3), 0.434258545911, 2),
     ((2, 3, 5), 0.4, 0), ((1, 1, 1, 1, 1), 0.4, 3)],
)  # fmt: skip
def test_each_probability_is_that_over_all_releases(counts, theta, cell):
    most = 4 if sum(counts) > 3 else 2
    found = correct_match_probability(counts, cell, theta, most)
    assert found == pytest.approx(by_enumeration(counts, cell, theta, most))


def test_numbers_of_records_that_cannot_occur_have_no_probability():
    found = correct_match_probability((1, 1), 0, 0.4, 4)
    assert np.isfinite(found[:2]).all()
    assert np.isnan(found[3])
