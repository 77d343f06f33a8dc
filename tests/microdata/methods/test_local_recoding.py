"""Local recoding: the least loss over all partitions, bounds that are proved, and the check."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import LocalRecoding, LocalSuppression, Recoding

TREE = tc.Hierarchy.from_dict({"west": {"w1": ["a", "b"], "w2": ["c"]}, "east": ["d", "e"]})
ABOVE = {  # By hand: the values of the tree at each level, and what these lose.
    "a": [("a", 0), ("w1", 1 / 4), ("west", 2 / 4)],
    "b": [("b", 0), ("w1", 1 / 4), ("west", 2 / 4)],
    "c": [("c", 0), ("w2", 0), ("west", 2 / 4)],
    "d": [("d", 0), ("d", 0), ("east", 1 / 4)],
    "e": [("e", 0), ("e", 0), ("east", 1 / 4)],
}


def small_file(seed: int, n: int = 4) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    place = [*"abcde", *random.choice(list("abcde"), n)]
    frame = pd.DataFrame({"place": place, "sex": random.choice(["m", "f"], n + 5)})
    if seed % 2:
        frame = frame.mask(random.random(frame.shape) < 0.1)
    # All values occur, so that groups are those written above.
    for at, value in enumerate("abcde"):
        frame.loc[at, "place"] = value
    frame.loc[:1, "sex"] = ["m", "f"]
    return frame


def loss_of_class(rows: list[tuple], weights: tuple[float, float]) -> float:
    """Take for both keys the finest common group, or a missing value."""
    total = 0.0
    places, sexes = zip(*rows, strict=True)
    if any(pd.isna(place) for place in places):
        total += weights[0] * sum(not pd.isna(place) for place in places)
    else:
        options = [weights[0] * len(places)]
        for level in range(3):
            if len({ABOVE[place][level][0] for place in places}) == 1:
                options.append(weights[0] * sum(ABOVE[place][level][1] for place in places))
        total += min(options)
    if len(set(map(str, sexes))) > 1 or pd.isna(sexes[0]):
        total += weights[1] * sum(not pd.isna(sex) for sex in sexes)
    return total


def least_by_partition(frame: pd.DataFrame, weights: tuple[float, float], k: int) -> float:
    """Try all partitions of the records."""
    rows = list(frame.itertuples(index=False, name=None))

    @cache
    def best(rest: tuple[int, ...]) -> float:
        first, others = rest[0], rest[1:]
        found = [
            loss_of_class([rows[at] for at in (first, *more)], weights)
            + (best(left) if left else 0)
            for size in range(k - 1, len(others) + 1)
            for more in itertools.combinations(others, size)
            for left in [tuple(at for at in others if at not in more)]
        ]
        return min(found, default=np.inf)

    return best(tuple(range(len(rows))))


@pytest.mark.parametrize("seed", range(6))
def test_the_loss_is_the_least_of_all_partitions_and_the_bound_holds(seed):
    frame, k = small_file(seed), 2 + seed % 2
    weights = (1.0, 1.0 + seed % 3)
    method = LocalRecoding(["place", "sex"], {"place": TREE}, k=k, weights={"sex": weights[1]})
    release = method.protect(frame)
    least = least_by_partition(frame, weights, k)
    assert release.bound <= least + 1e-9
    assert release.loss == pytest.approx(least)
    assert release.is_optimal
    assert release.verify(frame) >= release.bound
    assert release.frame.groupby(["place", "sex"], dropna=False).size().min() >= k


def test_single_records_are_recoded_and_less_is_lost_than_by_whole_keys():
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"age": random.binomial(80, 0.5, 500), "sex": random.choice([1, 2], 500)})
    frame["place"] = random.choice(list("abcde"), 500)
    hierarchies = {"age": [5, 10], "place": TREE}
    local = LocalRecoding(["age", "sex", "place"], hierarchies, time_limit=2).protect(frame)
    whole = Recoding(["age", "sex", "place"], hierarchies, suppression=1).protect(frame)
    assert 0 < local.bound <= local.loss < whole.loss / 2
    assert local.verify(frame) >= local.bound
    assert {"place", "age"} <= {name for name in frame if set(local.frame[name]) - set(frame[name])}


def test_without_hierarchies_it_is_local_suppression():
    random = np.random.default_rng(2)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 3, 60) for at in range(3)})
    recoded = LocalRecoding(list(frame), time_limit=2).protect(frame)
    suppressed = LocalSuppression(list(frame), time_limit=2).protect(frame)
    assert recoded.bound <= suppressed.loss and suppressed.bound <= recoded.loss
    assert recoded.frame.dtypes.astype(str).isin(["Int64", "int64"]).all()


def test_without_time_the_release_is_safe_and_says_that_no_bound_is_proved():
    frame = small_file(0, 40)
    release = LocalRecoding(["place", "sex"], {"place": TREE}, time_limit=1e-9).protect(frame)
    assert release.verify(frame) == release.bound == 0
    assert "No bound is proved" in release.notes[0]
    assert "no bound proved" in release.summary()


def test_more_nodes_than_a_whole_number_of_64_bits_counts_are_no_obstacle():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 64, 40) for at in range(28)})
    bands = {key: [2, 4, 8, 16, 32] for key in frame}
    release = LocalRecoding(list(frame), bands, time_limit=2).protect(frame)
    assert release.verify(frame) == release.bound == 0
    assert release.frame.groupby(list(frame), dropna=False).size().min() >= 3


def test_what_was_changed_is_found():
    frame = small_file(4, 30)
    release = LocalRecoding(["place", "sex"], {"place": TREE}, k=4).protect(frame.assign(wage=1.0))
    frame = frame.assign(wage=1.0)
    strange = release.frame.copy()
    strange.loc[3, "place"] = "w1"
    with pytest.raises(tc.VerificationError, match="'place', row 3: .* nor a group"):
        replace(release, frame=strange).verify(frame)
    with pytest.raises(tc.VerificationError, match="'wage' is no key"):
        replace(release, frame=release.frame.assign(wage=2.0)).verify(frame)
    with pytest.raises(tc.VerificationError, match="is equal to"):
        replace(release, frame=frame).verify(frame)
    with pytest.raises(tc.VerificationError, match="The loss is said to be"):
        replace(release, lost=release.loss + 1).verify(frame)
    with pytest.raises(tc.VerificationError, match="The bound is said to be"):
        replace(release, price=release.price * 0.5, tree=None).verify(frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"x": 1}}, "`weights` names 'x', which is not among the keys"),
        ({"hierarchies": {"x": [5]}}, "`hierarchies` names 'x'"),
        ({"weights": {"sex": 0}}, "The weight of 'sex' must be above 0"),
        ({"k": 99}, "There are 9 records, fewer than k = 99"),
    ],
)
def test_questions_that_are_none(options, message):
    with pytest.raises(tc.InputError, match=message):
        LocalRecoding(["place", "sex"], **options).protect(small_file(0))
