"""Perturbed magnitudes: published values, and what holds of every table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.cellkey import (
    Constant,
    Flex,
    MagnitudeNoise,
    PerturbationTable,
    design_magnitude_table,
    perturb_magnitudes,
)
from tablecloak.cellkey.magnitudes import rotated
from tablecloak.errors import InputError

TABLE = design_magnitude_table(5, 2, [1, 3, 5], step=0.25)
SMALL = design_magnitude_table(5, 1, [1, 3, 5], step=0.2, kind="small_cells")


def _firms(seed: int = 3, n: int = 200, **columns) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "region": random.choice(list("NES"), n),
            "turnover": np.round(random.lognormal(6, 1.5, n)),
            "weight": random.integers(1, 4, n),
            "record_key": random.integers(0, 10**8, n) / 10**8,
        }
    )
    return frame.assign(**columns)


@pytest.mark.parametrize(
    ("power", "size", "share"),
    [(2, 500, 0.3), (2, 1000, 0.3), (2, 2000, 0.28333), (2, 10000, 0.12818), (3, 10000, 0.04785)],
)
def test_the_flex_function_has_its_published_values(power, size, share):
    found = Flex(1000, 0.3, 0.03, power).at(np.array([float(size)]))
    assert found[0] == pytest.approx(share, abs=5e-6)


@pytest.mark.parametrize(("delta", "published"), [(0.5, 400), (0.6, 360)])
def test_the_example_of_the_handbook(delta, published):
    # x = 300, its largest contribution 200, cell key .8: row 3 adds 1 there, row 2 nothing.
    one = np.array([-1.0, 0.0, 1.0])
    rows = {0: (np.zeros(1), np.ones(1)), 1: (one, np.array([0.3, 0.4, 0.3]))}
    rows |= {2: (one, np.array([0.1, 0.8, 0.1])), 3: (one, np.array([0.2, 0.5, 0.3]))}
    noise = MagnitudeNoise(PerturbationTable.of_rows(rows), Constant(delta))
    firms = pd.DataFrame({"a": "x", "v": [200.0, 100.0], "record_key": [0.5, 0.3]})
    made = perturb_magnitudes(firms, ["a"], "v", noise)
    np.testing.assert_allclose(made.perturbed, published)


def test_digits_of_keys_rotate():
    key = np.array([123456780000000])
    turns = [int(rotated(key, times)[0]) // 10**7 for times in range(9)]
    assert turns == [12345678, 23456781, 34567812, 45678123, 56781234, 67812345, 78123456, 81234567,
                     12345678]  # fmt: skip


def test_the_noise_is_never_larger_than_its_shares_allow():
    weights, flex = (1.0, 0.5, 0.3), Flex(500, 0.2, 0.03, 2)
    made = perturb_magnitudes(
        _firms(), ["region"], "turnover", MagnitudeNoise(TABLE, flex, weights=weights)
    )
    largest = made.table.contributions.largest[:, :3]
    limit = flex.at(largest) * largest * np.array(weights) * 5
    assert (np.abs(made.noise) <= limit + 1e-9).all()
    assert (made.noise != 0).any()


def test_a_sum_never_changes_its_sign():
    values = np.round(np.random.default_rng(8).normal(0, 100, 200))
    noise = MagnitudeNoise(TABLE, Constant(1.0), weights=(1.0, 1.0, 1.0))
    with pytest.warns(tc.TablecloakWarning):
        made = perturb_magnitudes(_firms(turnover=values), ["region"], "turnover", noise)
    assert (made.table.values < 0).any() and (made.table.values > 0).any()
    assert (made.perturbed * made.table.values >= 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {"weights": (1.0,)},
        {"weights": (1.0, 0.6, 0.3)},
        {"base": "mean"},
        {"base": "range"},
        {"base": "sum"},
    ],
)
def test_the_order_of_records_changes_no_released_sum(options):
    random, n = np.random.default_rng(10), 150
    # Few sizes and many weights: the largest contributions of most cells tie in size.
    records = _firms(
        0,
        n,
        branch=random.choice(list("pqrs"), n),
        turnover=random.choice([0.0, 10.0, 20.0, 30.0], n),
        weight=random.choice([0.1, 1.0, 1.5, 2.25, 7.3], n),
    )
    noise = MagnitudeNoise({"all": TABLE, "small_cells": SMALL}, Flex(15, 0.3, 0.03), **options)

    def made(order, engine):
        how = {"weight": "weight", "engine": engine}
        return perturb_magnitudes(order, ["region", "branch"], "turnover", noise, **how)

    first = made(records, "duckdb")
    cells = records.groupby(["region", "branch"])
    largest = records[records.turnover == cells.turnover.transform("max")]
    weights = largest.groupby(["region", "branch"]).weight
    ties = weights.max() > weights.min()
    assert ties.sum() >= 8 and (first.changes != 0).sum() >= 10
    for shuffle, engine in enumerate(["duckdb", "pandas"]):
        other = made(records.sample(frac=1, random_state=shuffle), engine)
        pd.testing.assert_frame_equal(other.release(), first.release(), check_exact=True)


def test_contributions_below_the_separation_point_use_their_own_table():
    noise = MagnitudeNoise({"all": TABLE, "small_cells": SMALL}, Constant(0.3), weights=(1.0, 0.5))
    assert noise.separation_point == pytest.approx(1 / (np.sqrt(1.25) * 0.3), rel=1e-4)
    made = perturb_magnitudes(
        _firms(n=12, turnover=2.0), ["region"], "turnover", noise, record_key="record_key"
    )
    # The unit is 1 and only the first contribution counts: changes of a fifth, up to 5.
    assert (made.noise[:, 1] == 0).all()
    assert (np.abs(made.noise[:, 0]) <= 5).all()


def test_even_and_odd_cells_have_tables_of_their_own():
    still = {0: (np.zeros(1), np.ones(1)), 1: (np.zeros(1), np.ones(1))}
    rises = {0: (np.zeros(1), np.ones(1)), 1: (np.array([0.5]), np.ones(1))}
    noise = MagnitudeNoise(
        {
            "even": PerturbationTable.of_rows(still, "even"),
            "odd": PerturbationTable.of_rows(rises, "odd"),
        },
        Constant(0.1),
    )
    firms = pd.DataFrame({"a": list("xxy"), "v": [10.0, 20.0, 40.0], "record_key": 0.25})
    made = perturb_magnitudes(firms, ["a"], "v", noise)
    found = dict(zip(made.table.keys.a, made.changes, strict=True))
    assert found == pytest.approx({"Total": 2.0, "x": 0.0, "y": 2.0})


def test_sensitive_cells_move_further():
    firms = _firms()
    plain, more = (MagnitudeNoise(TABLE, Constant(0.1), extra=extra) for extra in (0.0, 2.0))
    rule = tc.Dominance(1, 5)
    made = perturb_magnitudes(firms, ["region"], "turnover", more, sensitive_by=[rule])
    without = perturb_magnitudes(firms, ["region"], "turnover", plain)
    assert made.sensitive.any()
    moved = np.abs(made.changes) - np.abs(without.changes)
    unit = 0.1 * made.table.contributions.largest[:, 0]
    np.testing.assert_allclose(moved[made.sensitive], 2 * unit[made.sensitive])
    np.testing.assert_allclose(moved[~made.sensitive], 0, atol=1e-9)


def test_records_of_value_zero_count_in_the_key_only_if_asked():
    firms = pd.DataFrame({"a": "x", "v": [5.0, 0.0], "record_key": [0.25, 0.5]})
    keys = [
        perturb_magnitudes(
            firms, ["a"], "v", MagnitudeNoise(TABLE, Constant(0.1), all_keys=every)
        ).keys[0]
        for every in (False, True)
    ]
    assert keys == [25 * 10**13, 75 * 10**13]


@pytest.mark.parametrize(("base", "unit"), [("mean", 30.0), ("range", 40.0), ("sum", 60.0)])
def test_noise_is_proportional_to_the_base(base, unit):
    always = {0: (np.zeros(1), np.ones(1)), 1: (np.ones(1), np.ones(1))}
    noise = MagnitudeNoise(PerturbationTable.of_rows(always), Constant(0.1), base=base)
    firms = pd.DataFrame({"a": "x", "v": [10.0, 50.0], "record_key": 0.25})
    made = perturb_magnitudes(firms, ["a"], "v", noise)
    np.testing.assert_allclose(made.changes, 0.1 * unit)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": (0.5,)}, "`weights` must begin with 1"),
        ({"weights": (1.0, 0.3, 0.5)}, "never rise"),
        ({"base": "median"}, "`base` must be one of"),
        ({"base": "sum", "weights": (1.0, 0.5)}, "Several `weights` need the base 'largest'"),
        ({"extra": -1.0}, "`extra` must be 0 or more"),
        ({"tables": {"even": TABLE}}, "It needs 'all', or both 'even' and 'odd'"),
    ],
)
def test_parameters_that_do_not_fit_are_named(options, message):
    with pytest.raises(InputError, match=message):
        MagnitudeNoise(**{"tables": TABLE, "multiplier": Constant(0.1), **options})


def test_shares_of_a_flex_function_must_fall():
    with pytest.raises(InputError, match="0 < large < small <= 1"):
        Flex(1000, 0.03, 0.3)
