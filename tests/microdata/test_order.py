"""What the order of records tells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import (
    CovarianceNoise,
    DataSwapping,
    OrderWarning,
    TargetedSwapping,
    in_random_order,
)
from tablecloak.microdata.order import order_tells, places, refuse_sorted


def column(values) -> pd.Series:
    return pd.Series(np.asarray(values))


@pytest.mark.parametrize("seed", range(2))
def test_random_order_tells_nothing(seed):
    random = np.random.default_rng(seed)
    assert not order_tells(column(random.normal(size=200)))
    assert not order_tells(column(random.integers(0, 3, 200)))
    assert not order_tells(column(random.choice(["a", "b"], 200, p=[0.9, 0.1])))
    assert not order_tells(column(np.full(200, 7)))


@pytest.mark.parametrize("seed", range(2))
def test_sorted_values_tell(seed):
    random = np.random.default_rng(seed)
    values = np.sort(random.integers(0, 60, 200))
    assert order_tells(column(values))
    assert order_tells(column(values[::-1]))
    assert order_tells(column(values.astype(str)))
    # Sorted within ten regions, or all of a kind side by side.
    assert order_tells(column(np.sort(values[random.permutation(200)].reshape(10, 20)).ravel()))
    assert order_tells(column(np.repeat(random.permutation(20), 10)))
    # Sorted but for a tenth of the records.
    moved = random.choice(200, 20, replace=False)
    values[moved] = random.permutation(values[moved])
    assert order_tells(column(values))


def test_a_random_order_has_no_labels_and_can_be_repeated():
    frame = pd.DataFrame({"age": range(100)}, index=range(100, 200))
    one, other = (in_random_order(frame, seed=5) for _ in range(2))
    assert one.equals(other)
    assert list(one.index) == list(range(100))
    assert sorted(one.age) == list(range(100))
    assert not in_random_order(frame).age.equals(in_random_order(frame).age)


@pytest.mark.parametrize(
    "method",
    [
        DataSwapping(["age"], 0.2),
        CovarianceNoise(["age"], 0.1),
        TargetedSwapping(["age"], "home", ["sex"]),
    ],
)
def test_a_method_warns_of_records_that_are_sorted_by_what_it_changes(method):
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"age": np.repeat(np.arange(10), 10), "home": random.permutation(100)})
    frame["sex"] = random.choice(["m", "f"], 100)
    with pytest.warns(OrderWarning, match="'age' is sorted|'age' has equal values side by side"):
        method.protect(frame, seed=1)
    method.protect(in_random_order(frame, seed=2), seed=1)


@pytest.mark.parametrize(
    ("values", "tells"),
    [
        ([1, 2, 3], True),
        ([3, 2, 2, 1], True),
        (["10", "9", "11"], False),
        (["9", "10", "11"], True),
        ([1, 3, 2], False),
        ([5, 5, 5], False),
        ([5], False),
        ([], False),
    ],
)
def test_short_columns_tell_only_if_they_are_sorted_throughout(values, tells):
    assert order_tells(pd.Series(values, dtype=object)) == tells


def test_parts_that_are_sorted_each_tell_too():
    """Four regions, each sorted by age."""
    assert order_tells(column(np.tile(np.arange(25), 4)))
    assert order_tells(column(np.repeat(np.random.default_rng(1).integers(0, 5, 10), 10)))


def refused(frame: pd.DataFrame, *, keep_order: bool, changed=("age",)) -> None:
    others = [name for name in frame.columns if name not in changed]
    refuse_sorted(
        frame[list(changed)], list(changed), others, frame.__getitem__, keep_order=keep_order
    )


def test_a_sorted_column_is_not_released_in_its_order():
    frame = pd.DataFrame({"age": range(30), "town": ["a"] * 30})
    with pytest.raises(tc.InputError, match="'age' is sorted in the file"):
        refused(frame, keep_order=True)
    refused(frame, keep_order=False)


@pytest.mark.parametrize(
    "numbers", [list(range(30)), list(range(30, 0, -1)), [f"id{n:03d}" for n in range(30)],
                [f"{n} b" for n in range(100, 130)]],
)  # fmt: skip
def test_a_column_that_numbers_sorted_records_gives_their_order_away(numbers):
    frame = pd.DataFrame({"age": range(30), "id": numbers})
    with pytest.raises(tc.InputError, match="'id' numbers the records, or groups"):
        refused(frame, keep_order=False)


def households(n: int = 200) -> pd.DataFrame:
    """Persons in the order of their households, all of one in one region."""
    random = np.random.default_rng(4)
    home = np.repeat(np.arange(n), random.integers(1, 5, n))
    region = random.choice(["N", "S", "W"], n)[home]
    return pd.DataFrame({"region": region, "home": [f"H{one:04d}" for one in home]})


@pytest.mark.parametrize("numbers", ["home", "person"])
def test_household_and_person_numbers_give_a_clustered_order_away_alike(numbers):
    """Regions stand side by side without being sorted, and this is what the message says."""
    frame = households().assign(person=lambda made: np.arange(len(made)))
    said = f"'region' has equal values side by side in the file, and {numbers!r} numbers"
    with pytest.raises(tc.InputError, match=said):
        refused(frame[["region", numbers]], keep_order=False, changed=("region",))
    with pytest.raises(tc.InputError, match="'region' has equal values side by side"):
        refused(frame, keep_order=True, changed=("region",))


def test_the_warning_says_how_the_order_tells():
    with pytest.warns(OrderWarning, match="'region' has equal values side by side"):
        DataSwapping(["region"], 0.2).protect(households()[["region"]], seed=1)


def test_numbers_of_few_values_or_in_random_order_do_not():
    frame = pd.DataFrame({"age": range(30), "year": [2020] * 15 + [2021] * 15})
    refused(frame, keep_order=False)
    random = np.random.default_rng(2).permutation(30)
    refused(pd.DataFrame({"age": range(30), "id": random}), keep_order=False)
    refused(pd.DataFrame({"age": random, "id": range(30)}), keep_order=True)


def test_places_are_a_permutation_of_their_own():
    found = places(50, 3)
    assert sorted(found.tolist()) == list(range(50))
    assert np.array_equal(found, places(50, 3))
    # The order does not repeat the random numbers of a method with the same seed.
    assert not np.array_equal(found, np.random.default_rng(3).permutation(50))
