"""The risk-utility map of several methods."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import (
    CovarianceNoise,
    DataSwapping,
    Microaggregation,
    NeighbourhoodSampling,
    Topcoding,
    information_loss,
    record_linkage,
    risk_utility_map,
)


@pytest.fixture(scope="module")
def staff() -> pd.DataFrame:
    random = np.random.default_rng(2)
    age = random.normal(40, 10, 300)
    return pd.DataFrame({"age": age, "wage": 50 * age + random.normal(0, 300, 300)})


def linkage(before, after) -> float:
    return record_linkage(before, after, ["age", "wage"])


def slope_kept(before, after) -> float:
    """Minus the relative change of the slope of wage on age."""
    slopes = [frame.cov().loc["age", "wage"] / frame.age.var() for frame in (before, after)]
    return -abs(slopes[1] / slopes[0] - 1)


def noise(*shares) -> dict:
    return {f"noise {share:g}": CovarianceNoise(["age", "wage"], share) for share in shares}


def test_more_noise_less_risk(staff):
    found = risk_utility_map(
        staff, noise(0.01, 0.1, 1.0), risk=linkage, utility=slope_kept, replicates=8
    )
    table = found.table
    assert table.risk.is_monotonic_decreasing
    assert table.frontier.iloc[-1]
    assert (table.risk_error > 0).all()
    assert found.best(1.0) == [table.utility.idxmax()]
    assert found.best(-1.0) == []
    assert "No method keeps the risk" in found.verdict(-1.0)
    assert table.utility.idxmax() in found.verdict(1.0)


def test_methods_of_all_kinds_stand_on_one_map(staff, tmp_path):
    methods = noise(0.25) | {
        "neighbours": NeighbourhoodSampling(0.5),
        "swap": DataSwapping(["age"], 0.2, keys=["age"]),
    }
    found = risk_utility_map(staff, methods, risk=linkage, utility=slope_kept, replicates=4)
    assert list(found.table.index) == list(methods)
    # Swapping leaves four fifths of the records as they are.
    assert found.table.risk["swap"] > 0.8 > found.table.risk["neighbours"]
    alone = risk_utility_map(staff, methods, risk=linkage, utility=slope_kept, replicates=4)
    assert alone.table.equals(found.table)
    pytest.importorskip("matplotlib")
    found.plot(tmp_path / "map.svg")
    assert "<svg" in (tmp_path / "map.svg").read_text()


def test_measures_that_are_no_numbers_are_refused(staff):
    with pytest.raises(tc.InputError, match="'noise 0.1' is not a number"):
        risk_utility_map(staff, noise(0.1), risk=lambda a, b: np.nan, utility=slope_kept)
    with pytest.raises(tc.InputError, match="At least one method"):
        risk_utility_map(staff, {}, risk=linkage, utility=slope_kept)


def test_methods_without_random_numbers_are_compared_too():
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"wage": random.lognormal(8, 0.5, 300), "hours": random.normal(38, 5, 300)}
    )
    found = risk_utility_map(
        frame,
        {"groups of 3": Microaggregation(["wage", "hours"]), "top": Topcoding("wage")},
        risk=lambda a, b: record_linkage(a, b, ["wage", "hours"]),
        utility=lambda a, b: -information_loss(a, b, ["wage", "hours"]),
        replicates=2,
    )
    assert found.table.risk["groups of 3"] < found.table.risk["top"]
