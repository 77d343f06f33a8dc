"""Recoding: the least loss over all levels, by enumeration, and what is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import Recoding

TREE = tc.Hierarchy.from_dict({"west": {"w1": ["a", "b"], "w2": ["c"]}, "east": ["d", "e"]})
ABOVE = {  # By hand: the values of the tree at each level.
    "a": ["a", "w1", "west", "Total"],
    "b": ["b", "w1", "west", "Total"],
    "c": ["c", "w2", "west", "Total"],
    "d": ["d", "d", "east", "Total"],
    "e": ["e", "e", "east", "Total"],
}


def small_file(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    n = int(random.integers(6, 40))
    # All values occur, so that the levels are those written above.
    place = [*"abcde", *random.choice(list("abcde"), n)]
    frame = pd.DataFrame({"place": place, "age": random.integers(20, 40, n + 5)})
    frame["sex"] = random.choice(["m", "f"], n + 5)
    frame["ill"] = random.choice(["x", "y", "z"], n + 5)
    return frame


def at_levels(frame: pd.DataFrame, place: int, age: int, sex: int) -> pd.DataFrame:
    """Recode by hand."""
    there = frame.copy()
    there["place"] = [ABOVE[value][place] for value in frame.place]
    if age:
        there["age"] = 0 if age == 3 else frame.age // (5 * age)
    if sex:
        there["sex"] = 0
    return there


def lost(before: pd.Series, after: pd.Series) -> float:
    shared = before.groupby(after.to_numpy()).nunique()
    return float(((after.map(shared) - 1) / max(before.nunique() - 1, 1)).sum())


def least_by_enumeration(frame: pd.DataFrame, method: Recoding) -> float:
    best = np.inf
    for node in itertools.product(range(4), range(4), range(2)):
        there = at_levels(frame, *node)
        loss = sum(method.costs[key] * lost(frame[key], there[key]) for key in method.keys)
        if loss >= best:
            continue
        # Local suppression is compared with an enumeration in tests of its own.
        fewest = method.local().protect(there).loss
        if method.suppression is None and fewest:
            continue
        best = min(best, loss + fewest)
    return best


OPTIONS = [
    {},
    {"suppression": 1},
    {"suppression": 0.3, "weights": {"sex": 3.0}, "anonymity": "1-k"},
    {"weights": {"age": 0.1}},
    {"sensitive": "ill", "diversity": 2},
    {"sensitive": "ill", "closeness": 0.3},
    {"sensitive": "ill", "closeness": 0.3, "suppression": 2, "anonymity": "1-k"},
    {"subsets": 2, "suppression": 2, "anonymity": "1-k"},
]


@pytest.mark.parametrize("seed", range(8))
def test_the_loss_is_the_least_of_all_levels_and_the_bound_says_so(seed):
    frame = small_file(seed)
    hierarchies = {"place": TREE, "age": [5, 10]}
    options = OPTIONS[seed % len(OPTIONS)]
    method = Recoding(["place", "age", "sex"], hierarchies, k=2 + seed % 3, **options)
    release = method.protect(frame)
    assert release.loss == pytest.approx(least_by_enumeration(frame, method))
    assert release.is_optimal
    assert release.verify(frame) == release.bound
    assert release.frame.ill.equals(frame.ill)


def test_recoded_values_are_those_of_the_level():
    frame = pd.DataFrame({"place": [*"abcde"] * 2, "age": [21, 22, 23, 24, 25] * 2})
    release = Recoding(["place", "age"], {"place": TREE, "age": [5]}, k=4).protect(frame)
    for key in ("place", "age"):
        level = release.levels[key]
        expected = {
            "place": [ABOVE[value][level] for value in frame.place],
            "age": [frame.age.tolist(), ["20-24"] * 4 + ["25-29"], ["Total"] * 10][level],
        }[key]
        assert release.frame[key].tolist()[: len(expected)] == expected[:10]
    assert release.frame.groupby(["place", "age"]).size().min() >= 4


def test_missing_values_that_are_cheap_replace_recoding():
    frame = pd.DataFrame({"age": [20] * 50 + [30] * 50 + [99], "sex": ["m"] * 101})
    recoded = Recoding(["age", "sex"], k=3).protect(frame)
    assert recoded.levels == {"age": 1, "sex": 0}
    # Two more records lose their age, so that the one who is 99 is not alone without it.
    for anonymity, missing in (("k", 3), ("1-k", 1)):
        mixed = replace(recoded.method, suppression=1, anonymity=anonymity).protect(frame)
        assert mixed.levels == {"age": 0, "sex": 0}
        assert (mixed.loss, int(mixed.suppressed.sum())) == (missing, missing)


def test_without_time_the_release_is_safe_and_the_bound_still_holds():
    frame = small_file(3)
    method = Recoding(["place", "age", "sex"], {"place": TREE, "age": [5, 10]}, k=3)
    hasty = replace(method, time_limit=1e-9).protect(frame)
    assert hasty.bound <= method.protect(frame).loss <= hasty.loss
    assert hasty.verify(frame) == hasty.bound


def test_a_release_that_is_finer_and_a_bound_above_the_truth_are_found():
    frame = small_file(1)
    release = Recoding(["place", "age", "sex"], {"place": TREE, "age": [5, 10]}, k=3).protect(frame)
    with pytest.raises(tc.VerificationError, match="another value than the original"):
        replace(release, frame=frame).verify(frame)
    with pytest.raises(tc.VerificationError, match="is not proved"):
        replace(release, bound=release.bound * 1.01).verify(frame)
    finer = dict.fromkeys(release.levels, 0)
    with pytest.raises(tc.VerificationError, match="is equal to . records"):
        replace(release, frame=frame, levels=finer).verify(frame)


@pytest.mark.parametrize(
    ("hierarchies", "message"),
    [
        ({"region": TREE}, "`hierarchies` names 'region', which is not among the keys"),
        (
            {"place": tc.Hierarchy.flat("abc")},
            "no leaves of .*: d, e, the first in row 3",
        ),
        ({"place": [5]}, "'place' has widths of bands but no numbers"),
        ({"age": [5, 12]}, "must nest: 12 is no multiple of 5"),
        ({"age": [0]}, "must be above 0"),
        ({"place": "none.hrc"}, "none.hrc"),
    ],
)
def test_hierarchies_that_do_not_fit(hierarchies, message):
    frame = pd.DataFrame({"place": [*"abcde"], "age": range(5)})
    with pytest.raises(tc.InputError, match=message):
        Recoding(["place", "age"], hierarchies, k=2).protect(frame)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subsets": 2},
        {"weights": {"sex": 3.0}},
        {"sensitive": "ill", "diversity": 2},
        {"sensitive": "ill", "diversity": 2, "closeness": 0.4},
    ],
)
def test_with_missing_values_released_records_are_in_groups_of_equal_ones(options):
    """Counted by pandas, a missing value being a value, as whoever has the file counts."""
    hierarchies = {"place": TREE, "age": [5, 10]}
    for seed in range(3):
        frame = small_file(seed)
        frame.loc[::9, "sex"] = None
        asked = {"suppression": 0.2, "time_limit": 3, **options}
        method = Recoding(["place", "age", "sex"], hierarchies, k=3, **asked)
        release = method.protect(frame)
        assert release.suppressed.any()
        pairs = itertools.combinations(method.keys, 2)
        for keys in pairs if "subsets" in options else [method.keys]:
            groups = release.frame.groupby(list(keys), dropna=False)["ill"]
            assert groups.size().min() >= 3
            assert groups.nunique().min() >= options.get("diversity", 1)
        assert "groups of at least 3 equal released records" in release.summary()
        proved = release.verify(frame)
        assert proved == release.bound <= release.loss
        # Each record by itself is never dearer, without closeness that counts groups alone.
        if "closeness" not in options:
            assert replace(method, anonymity="1-k").protect(frame).loss <= release.loss


def test_a_false_bound_of_groups_with_missing_values_is_found():
    frame = small_file(3)
    method = Recoding(["place", "age", "sex"], {"place": TREE, "age": [5]}, suppression=0.4)
    release = method.protect(frame)
    assert release.is_optimal
    assert release.proofs
    with pytest.raises(tc.VerificationError, match="is not proved"):
        replace(release, bound=release.bound + 0.1).verify(frame)
    lone = replace(method, anonymity="1-k").protect(frame)
    with pytest.raises(tc.VerificationError, match="is equal to . records"):
        replace(release, frame=lone.frame, levels=lone.levels).verify(frame)


def test_with_missing_values_the_summary_says_for_how_many_persons_one_record_alone_fits():
    """Counted the plain way: a record fits a person if it agrees in each key that it has."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame({name: random.binomial(5, 0.3, 120) for name in ("a", "b", "c")})
    release = Recoding(["a", "b", "c"], k=3, suppression=0.5, anonymity="1-k").protect(frame)
    assert release.suppressed.any()
    assert not any(release.levels.values())
    fits = [
        sum(
            all(pd.isna(value) or value == person[name] for name, value in record.items())
            for _, record in release.frame.iterrows()
        )
        for _, person in frame.iterrows()
    ]
    assert release.fits.tolist() == fits
    assert f"and one alone for {fits.count(1)}" in release.summary()
    assert "one alone" not in Recoding(["a", "b", "c"], k=3).protect(frame).summary()
