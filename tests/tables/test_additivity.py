"""Tables of sums that cancel: what binary numbers leave of them is no error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc

CANCELLING = pd.DataFrame(
    [("a1", "b1", 0.1), ("a1", "b1", 0.2), ("a1", "b2", -0.3), ("a2", "b1", 1), ("a2", "b2", -1)],
    columns=["a", "b", "v"],
)  # fmt: skip
"""The margins of a are 0 in decimal numbers, and 5.55e-17 and 0 in binary ones."""


@pytest.mark.filterwarnings("ignore::tablecloak.TablecloakWarning")
@pytest.mark.parametrize("decimals", [None, 1])
def test_contributions_that_cancel_leave_no_error(decimals):
    table = tc.tabulate(CANCELLING, ["a", "b"], "v", decimals=decimals)
    assert table.n_relations == 6
    assert abs(table.values[table.cell(a="a1", b="Total")]) < 1e-16


@pytest.mark.filterwarnings("ignore::tablecloak.TablecloakWarning")
def test_weighted_contributions_that_cancel_over_three_levels_leave_no_error():
    random = np.random.default_rng(1)
    codes = [f"{region}{town}{street}" for region in "NS" for town in "abc" for street in "123"]
    tree = {r: {r + t: [r + t + s for s in "123"] for t in "abc"} for r in "NS"}
    value = np.round(random.uniform(-100, 100, 20), 2)
    frame = pd.DataFrame(
        {
            "place": random.choice(codes, 40),
            "kind": random.choice(["x", "y"], 40),
            "v": [*value, *-value],
            "w": np.repeat(0.7, 40),
        }
    )
    frame.loc[20:, "place"] = frame["place"].iloc[:20].str[:2].to_numpy() + "1"
    frame.loc[20:, "kind"] = frame["kind"].iloc[:20].to_numpy()
    table = tc.tabulate(frame, {"place": tree, "kind": None}, "v", weight="w")
    assert abs(table.values[table.cell(place="Total", kind="Total")]) < 1e-12


def test_linked_tables_may_differ_by_the_dust_of_what_was_added():
    frame = pd.DataFrame({"a": ["Total", "x", "y", "z"], "v": [0.1 + 0.2 - 0.3, 0.1, 0.2, -0.3]})
    first = tc.Table.from_frame(frame, ["a"], "v")
    other = pd.DataFrame({"b": ["Total", "m", "n"], "v": [0.0, 0.7, -0.7]})
    assert tc.link(first, tc.Table.from_frame(other, ["b"], "v")).n_cells == 6


def test_dust_of_decimal_numbers_is_rounded_away_where_they_cancel():
    frame = pd.DataFrame({"a": ["Total", "x", "y", "z"], "v": [0.1 + 0.2 - 0.3, 0.1, 0.2, -0.3]})
    assert tc.Table.from_frame(frame, ["a"], "v", decimals=1).values[0] == 0


def test_a_wrong_total_of_parts_that_cancel_is_refused():
    values = {"Total": 1e-8, "x": 0.0, "x1": 1e3, "x2": 2e3, "x3": -3e3}
    frame = pd.DataFrame({"a": list(values), "v": list(values.values())})
    with pytest.raises(tc.InputError, match=r"relation 0, \(a=Total\) = \(a=x\)"):
        tc.Table.from_frame(frame, {"a": {"x": ["x1", "x2", "x3"]}}, "v")


def test_an_adjusted_table_of_zeros_can_be_attacked():
    """Relations of the true table leave binary dust that its own terms explain, not those of 0."""
    values = {
        "x": 0.12,
        "x1": 0.12,
        "y": 0.27,
        "y1": 0.15,
        "y2": 0.12,
        "z": 0.3,
        "z1": 0.1,
        "z2": 0.2,
    }
    total = pd.DataFrame({"a": ["Total", *values], "v": [0.69, *values.values()]})
    tree = {"x": ["x1"], "y": ["y1", "y2"], "z": ["z1", "z2"]}
    table = tc.Table.from_frame(total, {"a": tree}, "v")
    assert np.any(table.right_hand_side != 0)
    zeros = table.with_values(np.zeros(table.n_cells))
    assert np.all(zeros.values == 0)
    assert np.all(np.abs(zeros.right_hand_side) < 1e-16)
    with pytest.raises(tc.InputError, match="not additive"):
        table.with_values(np.arange(table.n_cells, dtype=float))


@pytest.mark.parametrize("share", [2e-8, 1e-6])
def test_a_figure_that_is_wrong_in_its_eighth_digit_is_no_dust(share):
    """Dust of a sum of three terms is below 1e-15 of it; a wrong figure of nine digits is 1e-8."""
    values = np.array([300_000_000.0, 100_000_000, 90_000_000, 110_000_000])
    values[0] += share * np.abs(values).sum()
    frame = pd.DataFrame({"a": ["Total", "x", "y", "z"], "v": values})
    with pytest.raises(tc.InputError, match="is not additive"):
        tc.Table.from_frame(frame, ["a"], "v")
