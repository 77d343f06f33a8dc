"""Several releases side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from hand_tables import one_row
from tablecloak.comparison.side_by_side import Comparison

PROBLEM = one_row([50, 60, 70], {"a": (3, 5)}, bounds=(0, 1000))


def of(rows: dict[str, tuple[float, float, bool]], limit: float = 0.2, **failures) -> Comparison:
    """A comparison with given shares of right guesses, of value lost, and safety."""
    table = pd.DataFrame(
        {
            "guessed": [row[0] for row in rows.values()],
            "value_lost": [row[1] for row in rows.values()],
            "safe": [row[2] for row in rows.values()],
            "exact": 0.5,
            "slope": 1.0,
            "correlation": 0.9,
        },
        index=list(rows),
    )
    return Comparison(PROBLEM, {}, table, failures, limit)


def test_of_the_safe_releases_with_a_tolerable_risk_the_least_lossy_is_taken():
    found = of({"a": (0.1, 0.5, True), "b": (0.1, 0.3, True), "c": (0.9, 0.0, True)})
    assert found.verdict().startswith("Take b: of the 2 methods with a risk of at most 0.2")


def test_an_unsafe_release_is_not_taken_however_good():
    found = of({"a": (0.1, 0.5, True), "b": (0.0, 0.0, False)})
    assert found.verdict().startswith("Take a")
    assert "Not protected as required: b." in found.verdict()


def test_where_none_is_safe_none_is_taken():
    verdict = of({"b": (0.0, 0.0, False)}).verdict()
    assert verdict.startswith("No release protects every sensitive cell as required.")


def test_where_no_risk_is_tolerable_the_least_is_named():
    verdict = of({"a": (0.8, 0.5, True), "b": (0.6, 0.9, True)}).verdict()
    assert verdict.startswith("No method keeps the risk at or below 0.2; the least is 0.6, by b.")


def test_a_method_that_failed_is_named_with_its_reason():
    verdict = of({"a": (0.0, 0.1, True)}, b="no additive table").verdict()
    assert verdict.endswith("No release: b: no additive table")


def test_the_map_sets_right_guesses_against_the_value_that_is_left():
    found = of({"a": (0.1, 0.5, True), "b": (0.3, 0.2, True), "c": (0.4, 0.6, True)}).map.table
    assert found["utility"].tolist() == pytest.approx([0.5, 0.8, 0.4])
    assert found["frontier"].tolist() == [True, True, False]


def test_a_method_is_applied_once_for_each_factor_of_the_levels():
    levels = []

    def method(problem):
        levels.append(float(problem.lower_protection[0]))
        return tc.adjust(problem, weights="unit")

    found = tc.compare(PROBLEM, {"m": method}, level_factors=[1, 2])
    assert sorted(levels) == [3, 6]
    assert list(found.table.index) == ["m, levels x 1", "m, levels x 2"]
    assert found.table["safe"].all()
    # A finished release stays as it is.
    fixed = tc.compare(PROBLEM, {"r": tc.adjust(PROBLEM)}, level_factors=[1, 2])
    assert list(fixed.table.index) == ["r"]


def test_a_release_made_for_less_than_is_needed_is_called_unsafe():
    found = tc.compare(
        PROBLEM, {"half": lambda problem: tc.adjust(problem, weights="unit")}, level_factors=[0.5]
    )
    assert found.table["safe"].tolist() == [False]


def test_a_method_that_gives_nothing_is_a_failure_and_not_a_row():
    def impossible(problem):
        raise tc.ModelError("no way out")

    found = tc.compare(PROBLEM, {"bad": impossible, "good": tc.adjust(PROBLEM)})
    assert found.failures == {"bad": "no way out"}
    assert list(found.table.index) == ["good"]
    assert list(found.releases) == ["good"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"releases": {}}, "give at least one release or method"),
        ({"level_factors": []}, "`level_factors` must be greater than 0"),
        ({"level_factors": [1, 0]}, "`level_factors` must be greater than 0"),
    ],
)
def test_nothing_to_compare_is_an_error(options, message):
    with pytest.raises(tc.InputError, match=message):
        tc.compare(PROBLEM, **options)


def test_a_release_of_another_table_is_refused_by_its_name():
    other = tc.adjust(one_row([51, 60, 70], {"a": (3, 5)}))
    with pytest.raises(tc.InputError, match="'x' is a release of another table"):
        tc.compare(PROBLEM, {"x": other})


def test_the_frame_is_a_copy():
    found = of({"a": (0.1, 0.5, True)})
    copied = found.to_frame()
    copied.loc["a", "guessed"] = 9.0
    assert found.table.loc["a", "guessed"] == 0.1
    assert np.isfinite(found.table["guessed"]).all()
