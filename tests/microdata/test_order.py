"""What the order of records tells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.microdata import (
    CovarianceNoise,
    DataSwapping,
    OrderWarning,
    TargetedSwapping,
    in_random_order,
)
from tablecloak.microdata.order import order_tells


def column(values) -> pd.Series:
    return pd.Series(np.asarray(values))


@pytest.mark.parametrize("seed", range(5))
def test_random_order_tells_nothing(seed):
    random = np.random.default_rng(seed)
    assert not order_tells(column(random.normal(size=200)))
    assert not order_tells(column(random.integers(0, 3, 200)))
    assert not order_tells(column(random.choice(["a", "b"], 200, p=[0.9, 0.1])))
    assert not order_tells(column(np.full(200, 7)))


@pytest.mark.parametrize("seed", range(5))
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
    with pytest.warns(OrderWarning, match="sorted by 'age'"):
        method.protect(frame, seed=1)
    method.protect(in_random_order(frame, seed=2), seed=1)
