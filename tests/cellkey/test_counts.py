"""Perturbed counts: published results, and what holds of every table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from cellkey.golden import ons_records, r_uniform
from tablecloak.cellkey import KeyRows, design_count_table, design_magnitude_table, perturb_counts
from tablecloak.errors import InputError

TABLE = design_count_table(5, 3, blocked=2, stay=0.5)


def _people(n: int = 400, seed: int = 5) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": random.choice(list("NESW"), n),
            "sex": random.choice(["f", "m"], n),
            "age": random.choice(["young", "old"], n, p=[0.9, 0.1]),
            "weight": random.integers(1, 5, n),
            "record_key": random.integers(0, 10**8, n) / 10**8,
        }
    )


def test_the_records_of_cellkey_give_its_published_table(instances):
    people = pd.read_csv(instances / "cellkey" / "testdata.csv.gz")
    keys = np.round(r_uniform(1474937517, len(people)), 5)
    groups = pd.cut(people.age, 6, labels=[f"g{number}" for number in range(1, 7)]).astype(str)
    people = people.assign(record_key=keys, age_group=groups)
    sexes = people.sex.map({1: "male", 2: "female"}) if people.sex.dtype != object else people.sex
    made = perturb_counts(people.assign(sex=sexes), ["sex", "age_group"], TABLE)
    frame = made.to_frame()
    order = ["Total", "female", "male"]
    rows = [frame[frame.sex == sex] for sex in order]
    assert [row.true_count.tolist() for row in rows] == [
        [4580, 1969, 1143, 864, 423, 168, 13],
        [2284, 954, 572, 440, 228, 84, 6],
        [2296, 1015, 571, 424, 195, 84, 7],
    ]
    assert [row.change.tolist() for row in rows] == [
        [0, -2, 4, 0, 0, 0, 0],
        [-1, 4, 1, 0, -3, 0, 0],
        [-1, -1, -2, -1, 0, -2, 3],
    ]
    assert round(frame.cell_key.mean(), 3) == 0.456
    assert round(frame.change.mean(), 3) == -0.048
    assert round(frame.perturbed.mean(), 3) == 872.333


@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_order_of_records_changes_no_released_count(weight):
    for seed in range(2):
        people = _people(seed=seed)
        people["weight"] = np.random.default_rng(seed).choice([0.1, 1.0, 1.5, 7.3], len(people))
        first = perturb_counts(people, ["region", "sex", "age"], TABLE, weight=weight)
        assert (first.changes != 0).sum() >= 10
        for shuffle in range(3):
            other = people.sample(frac=1, random_state=shuffle)
            how = {"weight": weight, "engine": ["duckdb", "pandas"][shuffle % 2]}
            made = perturb_counts(other, ["region", "sex", "age"], TABLE, **how)
            pd.testing.assert_frame_equal(made.release(), first.release(), check_exact=True)


def test_the_test_records_of_the_ons_give_their_published_table():
    made = perturb_counts(ons_records(), ["var1", "var5", "var8"], KeyRows.rounding(), threshold=10)
    frame = made.to_frame()
    leaves = frame[(made.codes != "Total").all(axis=1)]
    leaves = leaves.assign(five=leaves.var5.astype(int)).sort_values(["var1", "five", "var8"])
    first = leaves.head(5)[["true_count", "cell_key", "change"]].to_numpy().tolist()
    assert first == [[10, 173, 0], [10, 88, 0], [7, 180, -7], [14, 66, 1], [11, 190, -1]]
    released = leaves[leaves.perturbed >= 10]
    assert (len(leaves), len(released), released.perturbed.sum()) == (178, 32, 410)
    assert (leaves.true_count.max(), leaves.cell_key.sum()) == (24, 23318)


def test_keys_of_three_records_add_up_modulo_one_as_in_the_handbook():
    three = pd.DataFrame({"region": "N", "record_key": [0.9, 0.3, 0.6]})
    made = perturb_counts(three, ["region"], TABLE)
    np.testing.assert_array_equal(made.cell_keys, [0.8, 0.8])


def test_the_same_cell_has_the_same_count_in_every_table():
    people = _people()
    wide = perturb_counts(people, ["region", "sex", "age"], TABLE)
    narrow = perturb_counts(people, ["sex", "region"], TABLE)
    shared = wide.codes.assign(count=wide.perturbed)[wide.codes.age == "Total"]
    both = shared.merge(narrow.codes.assign(other=narrow.perturbed), on=["region", "sex"])
    assert len(both) == 15
    assert (both["count"] == both.other).all()


def test_keys_of_fifteen_digits_add_up_exactly():
    keys = np.array([0.123456789012345, 0.999999999999999, 0.000000000000001])
    made = perturb_counts(pd.DataFrame({"a": list("xyx"), "record_key": keys}), ["a"], TABLE)
    assert dict(zip(made.codes.a, made.keys.tolist(), strict=True)) == {
        "Total": 123456789012345,
        "x": 123456789012346,
        "y": 999999999999999,
    }


def test_weighted_counts_move_by_whole_persons_of_average_weight():
    people = _people()
    made = perturb_counts(people, ["region", "sex"], TABLE, weight="weight")
    expected = made.weights + made.changes * made.weights / made.counts
    np.testing.assert_allclose(made.values, expected, rtol=1e-12)
    np.testing.assert_array_equal(
        made.changes, perturb_counts(people, ["region", "sex"], TABLE).changes
    )


def test_a_release_lists_neither_false_zeros_nor_what_lies_below_the_threshold():
    people = _people(60)
    made = perturb_counts(people, ["region", "sex", "age"], TABLE, threshold=4)
    released = made.release()
    assert (released["count"] >= 4).all()
    assert len(released) == int((made.perturbed >= 4).sum()) < len(made.counts)
    assert list(released.columns) == ["region", "sex", "age", "count"]
    # Without a threshold a count that became 0 looks like an empty cell.
    plain = perturb_counts(people, ["region", "sex", "age"], TABLE)
    assert plain.utility().false_zeros > 0
    assert (plain.release()["count"] > 0).all()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ([0.5, 1.0], "Row 2: column 'record_key' is 1.0, but must be a record key of 0 or more"),
        ([0.5, -0.1], "Row 2: column 'record_key'"),
        ([np.nan, 0.1], "Row 1: column 'record_key' is missing"),
    ],
)
def test_record_keys_out_of_range_are_named(keys, message):
    with pytest.raises(InputError, match=message):
        perturb_counts(pd.DataFrame({"a": ["x", "y"], "record_key": keys}), ["a"], TABLE)


def test_fractions_do_not_fit_a_table_of_whole_keys():
    with pytest.raises(InputError, match="must be a whole number of 0 or more"):
        perturb_counts(_people(), ["sex"], KeyRows.rounding())


def test_a_table_for_magnitudes_is_refused():
    with pytest.raises(InputError, match="not for counts"):
        perturb_counts(_people(), ["sex"], design_magnitude_table(5, 2, [1, 3, 5]))


def test_true_counts_are_those_of_a_tabulation():
    people = _people()
    made = perturb_counts(people, ["region", "sex"], TABLE)
    table = tc.tabulate(people, ["region", "sex"])
    assert made.codes.equals(table.keys)
    assert made.counts.tolist() == table.values.tolist()
