"""Waves of a panel: what one tells less another one is what those have who are in one alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project
from tablecloak.safe.joint.repeated import factors_by_code
from tablecloak.safe.joint.waves import waves_of

N = 150


def panel(change, *, waves: int = 2, seed: int = 0) -> pd.DataFrame:
    """Persons in several years, whose pension changes alike."""
    random = np.random.default_rng(seed)
    pension = np.round(random.lognormal(7, 0.5, N))
    first = pd.DataFrame(
        {"person": np.arange(N), "year": 2020, "region": random.choice(list("AB"), N),
         "ill": random.random(N) < 0.3, "pension": pension}
    )  # fmt: skip
    parts = [first.assign(year=2020 + k, pension=change(pension, k)) for k in range(waves)]
    return pd.concat(parts, ignore_index=True)


CHANGES = {
    "indexed": lambda pension, k: np.round(pension * 1.03**k, 2),
    "another currency": lambda pension, k: pension * (1.95583 if k else 1.0),
    "lump sum": lambda pension, k: pension + 100 * k,
    "noise of a per cent": lambda pension, k: (
        pension * np.random.default_rng(k).normal(1.02, 0.01, N) ** k
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_one_who_leaves_is_not_told_by_amounts_that_change_alike(change):
    data = panel(change)
    leaver = data.loc[data.region == "A", "person"].iloc[0]
    shown = data[(data.year == 2020) | (data.person != leaver)]
    table = Project(data=data, contributor="person").pivot_table(
        shown, values="pension", index="region", columns="year", aggfunc="sum"
    )
    assert table.loc["A"].isna().any()
    assert table.loc["B"].notna().all()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_balanced_panel_keeps_all_its_cells(change):
    data = panel(change)
    project = Project(data=data, contributor="person")
    table = project.pivot_table(
        data, values="pension", index="region", columns="year", aggfunc=["sum", "count"]
    )
    assert table.notna().all(axis=None)
    assert table.outcome.status == "pass"


def test_counts_of_those_who_stay_do_not_tell_what_a_leaver_has():
    data = panel(CHANGES["indexed"])
    leavers = data[(data.region == "A") & data.ill].person.unique()[:3]
    shown = data[(data.year == 2020) | ~data.person.isin(leavers)]
    project = Project(data=data, contributor="person")
    table = project.crosstab([shown.region, shown.ill], shown.year)
    assert table.loc[("A", True)].isna().any()
    assert table.loc["B"].notna().all(axis=None)


def test_those_who_come_and_go_hide_each_other():
    data = panel(CHANGES["indexed"])
    random = np.random.default_rng(1)
    gone, late = random.permutation(N)[:60].reshape(2, 30)
    shown = data[
        ((data.year == 2020) & ~data.person.isin(late))
        | ((data.year == 2021) & ~data.person.isin(gone))
    ]
    project = Project(data=data, contributor="person")
    table = project.pivot_table(
        shown, values="pension", index="region", columns="year", aggfunc=["sum", "count"]
    )
    assert table.notna().all(axis=None)


def without_leaver(data: pd.DataFrame, last: int = 2020) -> pd.DataFrame:
    """Data in which one of region A is there until a year."""
    leaver = data.loc[data.region == "A", "person"].iloc[0]
    return data[(data.year <= last) | (data.person != leaver)].reset_index(drop=True)


def test_periods_of_two_years_are_compared_as_years_are():
    data = without_leaver(panel(CHANGES["indexed"], waves=4), 2021)
    data["period"] = np.where(data.year < 2022, "before", "after")
    project = Project(data=data, contributor="person")
    for aggfunc in ("sum", "count"):
        table = project.pivot_table(
            data, values="pension", index="region", columns="period", aggfunc=aggfunc
        )
        assert table.loc["A"].isna().any()
        assert table.loc["B"].notna().all()


def test_a_year_is_compared_with_all_years_together():
    data = without_leaver(panel(CHANGES["indexed"], waves=3))
    project = Project(data=data, contributor="person")
    tables = [
        project.pivot_table(some, values="pension", index="region", aggfunc="sum")
        for some in (data[data.year == 2021], data)
    ]
    assert "A" not in tables[1].index or tables[1].loc["A"].isna().all()


def test_a_record_that_stands_twice_does_not_end_the_comparison():
    data = without_leaver(panel(CHANGES["indexed"]))
    data = pd.concat([data, data[data.region == "B"].iloc[:1]], ignore_index=True)
    project = Project(data=data, contributor="person")
    table = project.pivot_table(
        data, values="pension", index="region", columns="year", aggfunc="sum"
    )
    assert table.loc["A"].isna().any()


def test_hours_of_few_values_have_no_factors():
    random = np.random.default_rng(6)
    who, year = np.tile(np.arange(N), 4), np.repeat(np.arange(4), N)
    hours = random.choice([20.0, 30.0, 35.0, 40.0], 4 * N)
    codes = [year, np.unique(hours, return_inverse=True)[1], random.integers(0, 50, 4 * N)]
    assert (factors_by_code(hours, who, codes) == 1).all()
    wages = np.tile(random.lognormal(7, 0.5, N), 4) * 1.03**year
    np.testing.assert_allclose(
        factors_by_code(wages, who, [codes[2], year]) / 1.03**year,
        1 / 1.03 ** year[factors_by_code(wages, who, [year]) == 1][0],
    )


def test_rows_of_a_firm_that_add_up_do_not_tell_the_one_that_is_left_out():
    random = np.random.default_rng(3)
    home, abroad = np.round(random.lognormal(5, 1, (2, N)))
    rows = {"home": home, "abroad": abroad, "total": home + abroad}
    data = pd.concat(
        [pd.DataFrame({"firm": np.arange(N), "item": item, "turnover": amounts})
         for item, amounts in rows.items()],
        ignore_index=True,
    )  # fmt: skip
    shown = data[(data.firm != 7) | (data["item"] != "total")]
    project = Project(data=data, contributor="firm")
    table = project.pivot_table(shown, values="turnover", index="item", aggfunc="sum")
    assert table.outcome.status != "pass"


def test_balances_on_a_line_over_three_waves_are_reviewed():
    random = np.random.default_rng(4)
    rate = np.round(random.lognormal(5.5, 1, N))
    data = panel(lambda pension, k: pension - k * rate, waves=3)
    shown = data[(data.year < 2022) | (data.person != 5)]
    project = Project(data=data, contributor="person")
    table = project.pivot_table(shown, values="pension", index="year", aggfunc="sum")
    assert table.outcome.status == "review"


def test_a_wave_is_what_no_contributor_has_twice():
    who = np.array([0, 0, 1, 1, 2])
    year, area = np.array([5, 6, 5, 6, 6]), np.array([1, 1, 2, 2, 1])
    assert waves_of([area, year], who).tolist() == [0, 1, 0, 1, 1]
    assert waves_of([area], who) is None
    assert waves_of([area, year], np.arange(5)) is None
    # A quarter of a year is two columns.
    many = pd.MultiIndex.from_product([range(3), range(2), range(4)], names=["who", "y", "q"])
    codes = many.to_frame(index=False)
    waves = waves_of([codes.y.to_numpy(), codes.q.to_numpy()], codes.who.to_numpy())
    assert waves.tolist() == list(range(8)) * 3
