"""Equations of a publication: how they are read, and which make one dimension."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.planning.equations import read_equations, spelled, total_of


def total(*texts: str) -> str | None:
    return total_of([tc.Equation(text) for text in texts])


def test_equations_that_are_one_tree_of_sums_have_one_total():
    for texts, expected in [
        (["a = b + c"], "a"),
        (["b + c = a"], "a"),
        (["b = a - c"], "a"),
        (["a = b + c", "c = d + e"], "a"),
        (["c = d + e", "a = b + c"], "a"),
        (["a = b + c", "a = d + e"], None),
        (["a = b + c", "d = b + e"], None),
        (["a = b + c", "x = y + z"], None),
        (["a = b + 2*c"], None),
        (["a + d = b + c"], None),
        (["a = b"], None),
        (["a = b + c", "b = a + d"], None),
        ([], None),
    ]:
        assert total(*texts) == expected


def test_an_equation_for_some_codes_only_is_no_dimension():
    assert total_of([tc.Equation("a = b + c", {"region": ["N"]})]) is None


def test_random_trees_of_sums_have_their_root_as_total_in_any_order():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        leaves, texts, number = ["v0"], [], 1
        for _ in range(5):
            parent = leaves.pop(rng.integers(len(leaves)))
            parts = [f"v{number + each}" for each in range(rng.integers(2, 4))]
            number += len(parts)
            leaves += parts
            texts.append(f"{parent} = {' + '.join(parts)}")
        assert total(*rng.permutation(texts)) == "v0"
        # One more way to add up the total has parts of its own.
        assert total(*texts, "v0 = x + y") is None


def test_equations_are_read_from_files_texts_and_names(tmp_path):
    frame = pd.DataFrame({"EQ NAME": ["e"], "Eq_Indicator": [" a = b + c "], "unit": ["EUR"]})
    frame.to_csv(tmp_path / "e.csv", index=False)
    (read,) = read_equations(tmp_path / "e.csv")
    assert (read.name, read.unit, read.variables) == ("e", "EUR", ("a", "b", "c"))
    assert [each.name for each in read_equations({"e": "a = b + c"})] == ["e"]
    assert read_equations("a = b + c") == read_equations(["a = b + c"])
    assert read_equations(None) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"equation": ["a = b"]}, "line 1: column 'eq_indicator' is missing"),
        ({"eq_indicator": ["a = b + c", "a = +"]}, "line 3: Equation .* at character"),
        (
            {"eq_name": ["e", "e"], "eq_indicator": ["a = b", "a = c"]},
            "line 3: equation 'e' stands",
        ),
        ({"eq_name": ["e"], "eq_indicator": [""]}, "line 2: the equation is missing"),
    ],
)
def test_a_faulty_equation_is_told_with_its_line(rows, message):
    with pytest.raises(tc.InputError, match=f"equations, {message}"):
        read_equations(pd.DataFrame(rows))


def test_variables_are_spelled_as_in_the_tables_and_can_be_read_again():
    found = spelled(tc.Equation("A = 0.5*b - C"), {"a": "The total", "b": "B", "c": "c"})
    assert found.terms == {"The total": -1.0, "B": 0.5, "c": -1.0}
    assert tc.Equation(found.text).terms == found.terms
