"""Tables of sums that cancel: what binary numbers leave of them is no error."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from hand_tables import problem_of
from tablecloak.certificates import verifier
from tablecloak.certificates.file import write_certificate

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
    dust = 0.1 + 0.2 - 0.3
    values = {"Total": 0.0, "x": dust, "x1": 0.1, "x2": 0.2, "x3": -0.3}
    total = pd.DataFrame({"a": list(values), "v": list(values.values())})
    table = tc.Table.from_frame(total, {"a": {"x": ["x1", "x2", "x3"]}}, "v")
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


FREE = {"bounds": (-np.inf, np.inf)}


def test_a_relation_of_decimal_numbers_keeps_its_right_hand_side():
    """-2e11 + 0.49317 + 2e11 is 0.4931640625 in binary numbers; the file says 0.49317."""
    terms, values = [[-1.0, 0.49317, 1.0]], [2e11, 1.0, 2e11]
    problem = problem_of("abc", values, terms, {}, sides=[0.49317], **FREE)
    assert problem.table.right_hand_side.tolist() == [0.49317]


def test_decimal_tables_of_all_sizes_keep_their_right_hand_sides():
    random, rounded = np.random.default_rng(5), 0
    for _ in range(200):
        terms = np.round(10 ** random.uniform(-4, 4, 4), 4)
        values = np.round(10 ** random.uniform(-2, 6, 4), 2)
        exact = sum(Fraction(str(c)) * Fraction(str(v)) for c, v in zip(terms, values, strict=True))
        side = float(exact)
        table = problem_of("abcd", values, [terms], {}, sides=[side], bounds=(0.0, 1e7)).table
        assert table.right_hand_side.tolist() == [side]
        rounded += float(terms @ values) != side
    assert rounded >= 20


def test_an_honest_certificate_holds_for_a_file_whose_sums_round(tmp_path):
    terms, values = [[-1.0, 0.49317, 1.0]], [2e11, 1.0, 2e11]
    problem = problem_of("abc", values, terms, {}, sides=[0.49317], **FREE)
    write_certificate(tc.suppress(problem), tmp_path / "proof.npz")
    lines = ["0", "3"]
    lines += [f"{cell} {value!r} 1 s -inf inf 0 0 0" for cell, value in enumerate(values)]
    lines += ["1", "0.49317 3 : 0 (-1) 1 (0.49317) 2 (1)"]
    (tmp_path / "table.jj").write_text("\n".join(lines) + "\n")
    given = verifier.read(tmp_path / "proof.npz")
    assert verifier.verify(given, tmp_path / "table.jj")[0].startswith("PROVED")


def test_what_is_left_over_beyond_dust_moves_to_the_right_hand_side():
    frame = pd.DataFrame({"a": ["Total", "x", "y"], "v": [10.3, 5.1, 5.1]})
    table = tc.Table.from_frame(frame, ["a"], "v", tolerance=0.2)
    assert table.right_hand_side == pytest.approx([-0.1])
