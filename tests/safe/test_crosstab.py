"""Tables of a safe room: what is hidden, that it cannot be computed, and that the rest is true."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tablecloak import safe
from tablecloak.errors import InputError


def people(seed=1, n=400):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "area": rng.choice(list("ABCD"), n, p=[0.5, 0.3, 0.15, 0.05]),
            "sector": rng.choice(list("xyz"), n, p=[0.5, 0.35, 0.15]),
            "income": rng.gamma(4, 10, n).round(1),
            "weight": rng.integers(1, 5, n).astype(float),
        }
    )


def bounds_of_gaps(shown):
    """Smallest and largest value of each gap of a table with margins, for all that is shown."""
    values = shown.to_numpy(dtype=float)
    columns = values.shape[1]
    at = np.arange(values.size).reshape(values.shape)
    equations = []
    for lines in (at, at.T):
        for line in lines:
            row = np.zeros(values.size)
            row[line[:-1]], row[line[-1]] = 1, -1
            equations.append(row)
    flat = values.ravel()
    limits = [(0, None) if np.isnan(v) else (v, v) for v in flat]
    found = {}
    for cell in np.flatnonzero(np.isnan(flat)):
        cost = np.zeros(values.size)
        cost[cell] = 1
        ends = []
        for sign in (1, -1):
            solved = linprog(
                sign * cost, A_eq=np.array(equations), b_eq=np.zeros(len(equations)), bounds=limits
            )
            ends.append(sign * solved.fun if solved.status == 0 else sign * -np.inf)
        found[divmod(int(cell), columns)] = tuple(ends)
    return found


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(20, 150), st.integers(2, 4), st.integers(2, 4))
def test_no_count_below_the_threshold_follows_from_a_table_and_margins_are_true(seed, n, r, c):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"a": rng.integers(0, r, n) ** 2, "b": rng.integers(0, c, n) ** 2})
    truth = pd.crosstab(data.a, data.b, margins=True)
    shown = safe.Project().crosstab(data.a, data.b, margins=True)
    assert shown.outcome.status == "pass"
    same = shown.isna() | (shown == truth)
    assert same.all().all()
    small = truth.to_numpy() < 10
    assert np.isnan(shown.to_numpy(dtype=float)[small]).all()
    for place, (low, high) in bounds_of_gaps(shown).items():
        if small[place]:
            assert high >= max(10 if truth.iloc[place] else 1, truth.iloc[place] + 1) - 1e-6
            assert low <= max(truth.iloc[place] - 1, 0) + 1e-6


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(60, 150))
def test_no_sum_of_few_contributors_follows_from_a_table_of_sums(seed, n):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "a": rng.integers(0, 3, n) ** 2,
            "b": rng.integers(0, 3, n),
            "v": rng.lognormal(2, 1.5, n).round(2),
        }
    )
    call = {"values": "v", "index": "a", "columns": "b", "aggfunc": "sum", "margins": True}
    truth = pd.pivot_table(data, **call)
    few = pd.pivot_table(data, **call | {"aggfunc": "count"}).fillna(0).to_numpy() < 10
    shown = safe.Project().pivot_table(data, **call)
    kept = shown.notna().to_numpy()
    assert np.allclose(shown.to_numpy()[kept], truth.to_numpy()[kept])
    assert not kept[few].any()
    for place, (low, high) in bounds_of_gaps(shown).items():
        if few[place]:
            value = 0 if np.isnan(truth.iloc[place]) else truth.iloc[place]
            assert high > value * 1.05
            assert low < value * 0.95 or value == 0


def test_a_mean_is_hidden_where_its_sum_or_its_count_is():
    data = people()
    means = safe.Project().pivot_table(
        data, "income", "area", "sector", aggfunc=["count", "sum", "mean"], margins=True
    )
    gaps = {name: means[name].isna().to_numpy() for name in ("count", "sum", "mean")}
    assert gaps["count"].any()
    assert (gaps["count"] == gaps["sum"]).all()
    assert (gaps["count"] == gaps["mean"]).all()


def test_a_sum_that_one_contributor_dominates_is_hidden_although_many_stand_behind_it():
    data = people()
    data.loc[data.index[(data.area == "A") & (data.sector == "x")][0], "income"] = 10**7
    project = safe.Project({"safe_threshold": 1, "zeros_are_disclosive": False})
    shown = project.pivot_table(data, "income", "area", "sector", aggfunc="sum", margins=True)
    said = shown.outcome.cells
    assert said.loc["A", "x"] == "p-ratio; nk-rule"
    assert said.loc["A", "y"] == "ok"
    assert np.isnan(shown.loc["A", "x"])
    assert np.isnan(shown.loc["All", "All"])  # the same person dominates it


def test_contributors_are_counted_and_not_their_records():
    data = people()
    households = pd.Series(np.arange(len(data)) // 50, index=data.index)
    counted = safe.Project(contributor=households).crosstab(data.area, data.sector)
    assert counted.isna().all().all()
    assert counted.outcome.cells.isin(["threshold"]).all().all()


def test_rules_look_at_contributors_and_figures_at_weights():
    data = people()
    weighted = safe.Project().crosstab(data.area, data.sector, margins=True, weights=data.weight)
    plain = safe.Project().crosstab(data.area, data.sector, margins=True)
    sums = data.pivot_table("weight", "area", "sector", aggfunc="sum", margins=True)
    kept = weighted.notna()
    assert (weighted == sums).to_numpy()[kept.to_numpy()].all()
    assert ((weighted.outcome.cells == "ok") == (plain.outcome.cells == "ok")).all().all()
    assert weighted.loc["D", "y"] != weighted.loc["D", "y"]


def with_an_empty_cell(*, is_disclosive):
    counts = {("A", "x"): 30, ("A", "y"): 20, ("B", "x"): 25, ("C", "x"): 15, ("C", "y"): 40}
    data = pd.DataFrame([key for key, n in counts.items() for _ in range(n)], columns=["a", "b"])
    project = safe.Project({"zeros_are_disclosive": is_disclosive})
    return project.crosstab(data.a, data.b, margins=True)


def test_an_empty_cell_is_shown_if_zeros_are_not_disclosive():
    assert with_an_empty_cell(is_disclosive=False).loc["B", "y"] == 0


def test_an_empty_cell_is_hidden_and_may_be_occupied_if_zeros_are_disclosive():
    shown = with_an_empty_cell(is_disclosive=True)
    assert shown.outcome.cells.loc["B", "y"] == "zeros"
    low, high = bounds_of_gaps(shown)[1, 1]
    assert low == 0
    assert high >= 1


def test_shares_are_hidden_with_their_counts_and_do_not_follow_from_adding_up_to_one():
    data = people()
    shares = safe.Project().crosstab(data.area, data.sector, normalize="index")
    truth = pd.crosstab(data.area, data.sector, normalize="index")
    kept = shares.notna()
    assert np.allclose(shares[kept].fillna(0), truth[kept].fillna(0))
    assert set(shares.isna().sum(axis=1)) <= {0, 2, 3}
    assert shares.isna().loc["D"].sum() >= 2


def test_rounded_counts_are_multiples_that_add_up():
    data = people()
    rounded = safe.Project().crosstab(data.area, data.sector, margins=True, protect="rounding")
    values = rounded.to_numpy()
    truth = pd.crosstab(data.area, data.sector, margins=True).to_numpy()
    assert (values % 5 == 0).all()
    assert (np.abs(values - truth) < 5).all()
    assert (values[:-1].sum(axis=0) == values[-1]).all()
    assert (values[:, :-1].sum(axis=1) == values[:, -1]).all()
    assert set(rounded.marks.to_numpy().ravel()) == {"rounded"}


def test_sums_are_not_rounded():
    data = people()
    with pytest.raises(InputError, match="only counts are rounded"):
        safe.Project().pivot_table(data, "income", "area", aggfunc="sum", protect="rounding")


def test_without_protection_nothing_is_hidden_and_the_output_fails_with_its_cells():
    data = people()
    shown = safe.Project().crosstab(data.area, data.sector, protect=None)
    pd.testing.assert_frame_equal(pd.DataFrame(shown), pd.crosstab(data.area, data.sector))
    assert shown.outcome.status == "fail"
    assert shown.outcome.reasons[0].cells == ("area D, sector y", "area D, sector z")


def test_a_filtered_table_does_not_give_away_whom_the_filter_left_out():
    data = people()
    project = safe.Project({"zeros_are_disclosive": False})
    project.crosstab(data.area, data.sector, margins=True)
    fewer = data.drop(data.index[data.area == "A"][:3])
    second = project.crosstab(fewer.area, fewer.sector, margins=True)
    assert second.outcome.status == "pass"
    assert (second.outcome.cells == "differencing").any().any()
    assert np.isnan(second.loc["All", "All"])


def test_margins_add_up_all_records_where_pandas_drops_some():
    data = people()
    data["other"] = data.income.where(data.index % 7 != 0)
    shown = safe.Project({"safe_threshold": 1}).pivot_table(
        data, ["income", "other"], "area", "sector", aggfunc="sum", margins=True
    )
    assert shown["income"].loc["All", "All"] == pytest.approx(data.income.sum())
    assert any("pandas leaves some out" in note for note in shown.outcome.notes)


def test_values_below_zero_and_missing_ones_are_reviewed():
    data = people()
    data.loc[3, "income"] = -5.0
    data.loc[4, "income"] = np.nan
    project = safe.Project({"check_missing_values": True})
    shown = project.pivot_table(data, "income", "area", aggfunc="mean")
    assert shown.outcome.status == "review"
    assert [reason.rule for reason in shown.outcome.reasons] == ["negative", "missing"]


def test_gaps_that_come_of_missing_values_say_how_all_outputs_get_the_same_records():
    data = people()
    gaps = data.assign(income=data.income.where(data.index >= 3))

    def second(frame):
        project = safe.Project({"zeros_are_disclosive": False})
        project.crosstab(frame.area, np.full(len(frame), "x"))
        return project.pivot_table(frame, "income", "area").outcome

    assert (second(gaps).cells == "differencing").any().any()
    said = f"from the same {len(data) - 3} records, those without missing values in income"
    assert said in second(gaps).notes[-1]
    # What it says helps.
    assert not (second(gaps.dropna()).cells == "differencing").any().any()


def test_statistics_without_a_rule_are_refused_by_name():
    with pytest.raises(InputError, match="aggfunc 'nunique' is not offered"):
        safe.Project().pivot_table(people(), "income", "area", aggfunc="nunique")


def test_an_output_records_the_call_as_it_was_written():
    data = people()
    project = safe.Project()
    shown = project.crosstab(
        data.area,
        data.sector,
    )
    output = project.output(shown.output)
    assert "project.crosstab(" in output.command
    assert "data.sector" in output.command
    assert output.properties["method"] == "crosstab"
    assert output.cells == {"threshold": [[3, 1], [3, 2]]}


def test_what_is_shown_colours_gaps_and_never_holds_what_is_hidden():
    data = people()
    shown = safe.Project().crosstab(data.area, data.sector, margins=True)
    html, text = shown._repr_html_(), repr(shown)
    assert html.count("#f4b6b0") == (shown.marks == "primary").sum().sum()
    assert html.count("#fbe3a6") == (shown.marks == "secondary").sum().sum() > 0
    assert "output_0: pass" in html
    assert "output_0: pass" in text
    assert type(shown + 1) is pd.DataFrame


def test_functions_of_the_module_use_the_project_of_the_session():
    data = people()
    project = safe.new_project({"safe_threshold": 3})
    shown = safe.crosstab(data.area, data.sector)
    assert project is safe.project()
    assert list(project.outputs) == [shown.output]
    assert shown.notna().all().all()


def test_extremes_are_reviewed_and_margins_beside_gaps_do_not_tell_them():
    data = people()
    data.loc[data.index[(data.area == "D") & (data.sector == "z")][0], "income"] = 500.0
    project = safe.Project({"safe_nk_k": 1.0})
    shown = project.pivot_table(data, "income", "area", "sector", aggfunc="max", margins=True)
    assert shown.outcome.status == "review"
    assert not (shown == 500.0).any().any()


def test_a_table_of_too_few_people_is_hidden_as_a_whole():
    data = people(n=8)
    shown = safe.Project().crosstab(data.area, data.sector, margins=True)
    assert shown.isna().all().all()
    shares = safe.Project().crosstab(data.area, data.sector, normalize=True)
    assert shares.isna().all().all()


def test_records_with_missing_values_are_not_counted_as_contributors():
    data = people()
    data.loc[(data.area == "A") & (data.sector == "x"), "income"] = np.nan
    data.loc[data.index[(data.area == "A") & (data.sector == "x")][:4], "income"] = 30.0
    shown = safe.Project().pivot_table(data, "income", "area", "sector")
    assert shown.outcome.cells.loc["A", "x"] == "threshold"
    with pytest.raises(InputError, match="ask for 'count'"):
        safe.Project().crosstab(data.area, data.sector, values=data.income, aggfunc=len)
