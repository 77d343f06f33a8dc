"""Records of other libraries keep their types, and columns that no method touches their buffers."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tablecloak as tc
from tablecloak import microdata
from tablecloak.microdata import (
    CovarianceNoise,
    DataSwapping,
    LocalRecoding,
    LocalSuppression,
    Recoding,
    Topcoding,
)
from tablecloak.microdata.columns import columns_of
from tablecloak.microdata.library_frames import LibraryFrame

TABLE = pa.table(
    {
        "age": pa.array([30, None, 52, 97, 61, 44], pa.int16()),
        "sex": pa.array(["f", "m", None, "f", "m", "f"]).dictionary_encode(),
        "wage": pa.array([1.5, None, 2.5, 3.0, 4.0, 9.0]),
        "born": pa.array([datetime.date(1990, 1, day) for day in range(1, 7)]),
        "head": pa.array([True, None, False, True, True, False]),
    }
)


@pytest.mark.filterwarnings("ignore::tablecloak.microdata.OrderWarning")
@pytest.mark.parametrize(
    "method",
    [
        DataSwapping(["sex", "head"], 1.0, keys=["sex"]),
        DataSwapping(["born", "age"], 1.0, keys=["age"]),
        Topcoding("wage", threshold=3.5),
    ],
)
def test_every_column_keeps_its_type(method):
    released = method.protect(TABLE, seed=3).frame
    assert released.schema.equals(TABLE.schema)
    frame = pl.from_arrow(TABLE)
    found = method.protect(frame, seed=3).frame
    assert found.schema == frame.schema
    assert found.to_arrow().to_pydict() == released.to_pydict()
    untouched = [name for name in TABLE.column_names if name not in method.uses([]).changed]
    assert untouched
    for name in untouched:
        assert released.column(name) is TABLE.column(name) or released[name].equals(TABLE[name])


def test_whole_numbers_become_fractions_where_a_method_says_so():
    whole = pa.table({"wage": pa.array([1, 5, 9, 4])})
    assert CovarianceNoise(["wage"], 0.5).protect(whole, seed=1).frame["wage"].type == pa.float64()
    frame = pl.from_arrow(whole)
    assert CovarianceNoise(["wage"], 0.5).protect(frame, seed=1).frame["wage"].dtype == pl.Float64


def test_suppressed_whole_numbers_stay_whole_beside_missing_ones():
    whole = pa.table({"age": pa.array([30, 30, 41, 30], pa.int8())})
    released = LocalSuppression(["age"], k=3, anonymity="1-k").protect(whole).frame
    assert released["age"].to_pylist() == [30, 30, None, 30]
    assert released["age"].type == pa.int8()


def written(frame: pd.DataFrame) -> list[list[str]]:
    return [
        ["missing" if pd.isna(value) else str(value) for value in frame[name].tolist()]
        for name in frame
    ]


@pytest.mark.parametrize("kind", [pa.Table.from_pandas, pl.from_pandas], ids=["arrow", "polars"])
@pytest.mark.parametrize(
    "method",
    [
        LocalSuppression(["age", "sex"], k=3),
        Recoding(["age", "sex"], {"age": [2, 4]}, k=3, suppression=0.5),
        LocalRecoding(["age", "sex"], {"age": [2, 4]}, k=3, time_limit=1),
    ],
    ids=lambda method: method.name,
)
def test_what_was_promised_is_verified_in_the_library_of_the_caller(kind, method):
    random = np.random.default_rng(2)
    people = pd.DataFrame({"age": random.integers(0, 9, 40), "sex": random.choice(["f", "m"], 40)})
    given = kind(people)
    release = method.protect(given)
    assert type(release.frame) is type(given)
    assert written(LibraryFrame(release.frame).pandas) == written(method.protect(people).frame)
    assert 0 < release.verify(given) <= release.loss


def test_labels_that_occur_twice_come_back():
    frame = pd.DataFrame({"wage": [1.0, 2.0, 9.0]}, index=["a", "a", "b"])
    released = Topcoding("wage", threshold=5).protect(frame).frame
    assert released.index.tolist() == ["a", "a", "b"]
    assert released.wage.tolist() == [1.0, 2.0, 5.0]
    assert frame.wage.tolist() == [1.0, 2.0, 9.0]


def test_other_things_are_refused_with_a_remedy():
    with pytest.raises(tc.InputError, match="query that has not run yet. Call its `collect"):
        LibraryFrame(pl.from_arrow(TABLE).lazy())
    with pytest.raises(tc.InputError, match="Got ndarray; convert it first"):
        LibraryFrame(np.zeros((2, 2)))
    with pytest.raises(tc.InputError, match="Two columns are called 'a'"):
        LibraryFrame(pa.table([[1], [2]], names=["a", "a"]))


def test_orders_and_measures_take_polars_and_arrow():
    frame = pd.DataFrame({"age": [20, 20, 30, 41] * 9, "ill": ["a", "b", "a", "a"] * 9})
    table = pa.Table.from_pandas(frame)
    expected = microdata.in_random_order(frame, seed=5)
    assert microdata.in_random_order(pl.from_pandas(frame), seed=5).to_pandas().equals(expected)
    assert microdata.in_random_order(table, seed=5).to_pandas().equals(expected)
    for given in (pl.from_pandas(frame), table):
        assert microdata.key_risk(given, ["age"]).sample.tolist() == (
            microdata.key_risk(frame, ["age"]).sample.tolist()
        )
        assert microdata.group_diversity(given, ["age"], "ill") is not None
    with pytest.raises(tc.InputError, match=r"records.to_pandas\(\)"):
        columns_of(table)
    assert microdata.numbers_compared(table, table).index.tolist() == ["age"]
