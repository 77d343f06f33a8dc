"""Outputs other than tables: what may leave of each, and why the rest may not."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak import safe
from tablecloak.errors import InputError
from tablecloak.safe import Project
from tablecloak.safe.other.kind import KINDS


@pytest.fixture
def project():
    return Project({"safe_threshold": 5, "survival_safe_threshold": 5})


def last(project):
    return list(project.outputs.values())[-1]


# -- quantiles and extremes ---------------------------------------------------------------


def test_a_quantile_needs_contributors_on_both_sides(project):
    values = pd.Series(np.arange(100.0), name="income")
    told = project.quantile(values, [0.01, 0.5, 0.97], base=10)
    assert told.income.isna().tolist() == [True, False, True]
    assert told.income.iloc[1] == 50
    assert last(project).cells == {"threshold": [[0, 0], [2, 0]]}
    assert last(project).outcome.status == "pass"


def test_gaps_of_quantiles_do_not_tell_how_few_have_a_value(project):
    """Three of 109 are well: gaps up to the third record, and no further, would say so."""
    values = pd.Series(np.repeat([0.0, 1.0], [3, 106]), name="ill")
    told = project.quantile(values, [0.02, 0.025, 0.03, 0.5, 0.99], base=1)
    assert told.ill.isna().tolist() == [True, True, True, False, True]


def test_quantiles_need_contributors_between_them(project):
    values = pd.Series(np.arange(100.0), name="income")
    told = project.quantile(values, [0.5, 0.52, 0.7], base=10)
    assert told.income.isna().tolist() == [False, True, False]


def test_a_quantile_that_is_one_records_value_is_reviewed(project):
    values = pd.Series(np.arange(101.0), name="income")
    assert project.quantile(values, 0.5).income.tolist() == [50.0]
    (reason,) = last(project).outcome.reasons
    assert (reason.status, reason.rule) == ("review", "position")
    # Ages are shared: the median age is nobody's alone.
    project.quantile(pd.Series(np.repeat(np.arange(20), 10), name="age"), 0.5)
    assert last(project).outcome.status == "review"  # 9.5 lies between two ages, and is of nobody
    project.quantile(pd.Series(np.repeat(np.arange(21), 10), name="age2"), 0.5)
    assert last(project).outcome.status == "pass"


def test_a_quantile_that_few_share_is_rounded_further(project):
    """Three or four incomes round to a thousand, six or seven to two thousand."""
    values = pd.Series(300.0 * np.arange(100), name="income")
    told = project.quantile(values, [0.26, 0.4], base=1000)
    assert told.income.tolist() == [8000, 12_000]
    assert last(project).outcome.status == "pass"
    (note,) = last(project).outcome.notes
    assert note == (
        "rounded to multiples of 2000: the quantiles of 0.26, 0.4, which as multiples of 1000 may "
        "be values of fewer than 5 contributors"
    )
    for rounded in told.income:
        assert (values - rounded).abs().lt(1000).sum() >= 5


def test_a_quantile_that_few_share_however_it_is_rounded_is_reviewed(project):
    values = pd.Series([*np.zeros(20), 1e6, 1.2e6, 1.4e6, *np.full(20, 2e6)], name="income")
    project.quantile(values, 0.5, base=10)
    (reason,) = last(project).outcome.reasons
    assert (reason.status, reason.rule) == ("review", "position")
    assert "a larger `base`" in reason.text


def test_quantiles_of_several_roundings_are_compared_as_the_counts_they_tell(project):
    """Incomes are dense below and sparse above: 0.2 keeps the base, 0.9 does not."""
    values = pd.Series([*np.linspace(1000, 2000, 300), *np.linspace(3000, 40_000, 100)])
    project.quantile(values.rename("income"), [0.2, 0.9], base=100)
    (figures,) = last(project).figures
    assert last(project).outcome.status == "pass"
    below, up_to = (
        int((np.rint(values / 100) < 13).sum()),
        int((np.rint(values / 100) <= 13).sum()),
    )
    records = np.bincount(figures.group, minlength=figures.sums.shape[1])
    assert (figures.sums @ records)[:2].tolist() == [below, up_to]
    (note,) = last(project).outcome.notes
    assert note.startswith("rounded to multiples of 2000")


def test_many_records_of_one_contributor_are_one_contributor():
    values = pd.Series(np.arange(100.0), name="income")
    project = Project({"safe_threshold": 5}, contributor=pd.Series([1] * 97 + [2, 3, 4]))
    assert project.quantile(values, 0.5, base=10).income.isna().all()


def test_a_maximum_is_hidden_unless_it_is_shared(project):
    told = project.extremes(pd.Series([0] * 5 + [3, 8, 9], name="children"))
    assert told.children.iloc[0] == 0
    assert np.isnan(told.children.iloc[1])


# -- histograms and pie charts ------------------------------------------------------------


def test_an_edge_that_is_one_persons_value_is_reviewed_unless_anybody_would_choose_it(project):
    values = pd.Series([*range(100, 900, 2)], name="income")
    for edges, status in (
        ([0, 250, 456, 1000], "review"),
        ([0, 457, 1000], "pass"),
        ([0, 250, 500, 1000], "pass"),
        ([0, 125, 400, 1000], "pass"),
    ):
        project.histogram(values, bins=edges)
        assert last(project).outcome.status == status, edges
    project = Project({"safe_threshold": 5})
    project.histogram(
        pd.Series(np.repeat(values.to_numpy(), 5), name="income"), bins=[0, 456, 1000]
    )
    assert "extremes" not in {reason.rule for reason in last(project).outcome.reasons}


def test_edges_of_bins_are_nobodys_value(project):
    values = pd.Series(np.random.default_rng(1).normal(40, 10, 500).round(2), name="age")
    told = project.histogram(values, bins=8)["count"]
    edges = last(project).properties["edges"]
    # The outermost bins are open: not even the round numbers around the extremes are told.
    assert (values < edges[0]).sum() == told.iloc[0] >= 5
    assert (values >= edges[-1]).sum() == told.iloc[-2] >= 5
    assert told.index[0] == f"under {edges[0]:g}"
    assert told.index[-2] == f"{edges[-1]:g} and over"
    inner = np.histogram(values, edges)[0]
    assert told.iloc[1:-2].tolist() == inner.tolist()


def test_edges_of_bins_do_not_follow_the_largest_amounts(project):
    """Neither width nor outermost edge, whatever the number of bins, tells of a few."""
    rest = np.random.default_rng(5).lognormal(7.5, 0.6, 2000).round().clip(0, 7500)
    tails = (
        [8020, *range(9100, 18000, 1000)],
        [8480, *range(9100, 17000, 1000), 37413],
        [7510, *range(9100, 17000, 1000), 1_000_000],
    )
    for bins in (1, 2, 7, 10, 40, 41, 133, 3741, 15000):
        labels = []
        for tail in tails:
            separate = Project({"safe_threshold": 10})
            told = separate.histogram(pd.Series([*rest, *tail], name="income"), bins=bins)
            labels.append(list(told.index))
        assert labels[0] == labels[1] == labels[2], bins
        # No more bins than all records would fill.
        assert len(labels[0]) <= max(2 * len(rest) // 10, 2)


def test_a_number_of_bins_gives_about_as_many(project):
    values = pd.Series(np.random.default_rng(3).integers(16, 90, 3000), name="age")
    for bins in (1, 2, 5, 10, 20):
        told = project.histogram(values, bins=bins)
        assert bins / 2 <= len(told) - 1 <= 2 * bins
        assert told["count"].sum() == 2 * len(values)
    for few in (np.zeros(30), np.repeat(7.5, 30), np.arange(6.0)):
        told = project.histogram(pd.Series(few, name="hours"), bins=10)
        assert list(told.index) == ["any value", "all"]


def test_amounts_on_edges_belong_to_the_bins_that_begin_there(project):
    values = pd.Series(np.repeat(np.arange(-20, 21) / 10, 6), name="change")
    told = project.histogram(values, bins=20)
    for label, count in told["count"].items():
        if " to " in str(label):
            low, high = map(float, label.split(" to "))
            assert count == ((values >= low) & (values < high)).sum()


def test_given_edges_at_the_extremes_of_a_few_fail(project):
    values = pd.Series([1.5, *np.repeat([3.0, 5.0], 20)], name="age")
    project.histogram(values, bins=[1.5, 4, 6])
    (reason,) = last(project).outcome.reasons
    assert reason.status == "fail"
    assert "the first edge is the value of 1 contributors" in reason.text


def test_a_hidden_bin_does_not_follow_from_the_total(project):
    values = pd.Series(np.repeat([0.5, 1.5, 2.5, 3.5], [50, 3, 30, 8]), name="age")
    told = project.histogram(values, bins=[0, 1, 2, 3, 4])["count"]
    assert told.iloc[-1] == 91
    assert told.isna().tolist() == [False, True, False, True, False]
    assert last(project).cells == {"threshold": [[1, 0]], "secondary": [[3, 0]]}
    # What follows is one sum of enough contributors.
    assert told.iloc[-1] - told.iloc[:-1].sum() == 11


@given(st.lists(st.integers(0, 12), min_size=1, max_size=7), st.booleans())
def test_what_follows_of_hidden_bins_is_of_enough_contributors(counts, zeros):
    project = Project({"safe_threshold": 5, "zeros_are_disclosive": zeros})
    values = pd.Series(np.repeat(np.arange(len(counts)) + 0.5, counts), name="age", dtype=float)
    if len(values):
        told = project.histogram(values, bins=list(range(len(counts) + 1)))["count"].iloc[:-1]
        gone = told.isna().to_numpy()
        published = np.array(counts)[~gone]
        assert (told.dropna() == published).all()
        assert ((published >= 5) | ((published == 0) & (not zeros))).all()
        hidden = np.array(counts)[gone]
        assert not len(hidden) or hidden.sum() >= 5 or gone.all() or sum(counts) < 5
    assert len(project.outputs) == (len(values) > 0)


def test_a_histogram_of_a_filtered_frame_does_not_tell_of_who_is_missing(project):
    """Both bins have enough contributors in both outputs; their differences have not."""
    values = pd.Series(np.repeat([0.5, 1.5], [40, 30]), name="age")
    project.histogram(values, bins=[0, 1, 2])
    told = project.histogram(values.iloc[2:], bins=[0, 1, 2])["count"]
    assert last(project).outcome.status == "pass"
    assert "differencing" in last(project).cells
    # 40 - 38 and 70 - 68 would tell of the two who were left out.
    assert told.isna().tolist() == [True, False, True]


def test_slices_of_few_are_hidden_and_drawn_as_hidden(project, tmp_path):
    frame = pd.DataFrame({"kind": ["a"] * 20 + ["b"] * 10 + ["c"] * 2})
    told = project.pie(frame, "kind", filename=tmp_path / "pie.png")
    assert told["count"].isna().tolist() == [False, True, True, False]
    assert last(project).kind == "pie chart"
    folder = project.finalise(tmp_path / "out")
    assert (folder / "pie.png").read_bytes().startswith(b"\x89PNG")
    project.histogram(pd.Series(np.arange(60.0), name="x"), filename=tmp_path / "bars.png")
    assert (tmp_path / "bars.png").stat().st_size > 1000
    with pytest.raises(InputError, match="files in .svg may not leave"):
        project.pie(frame, "kind", filename=tmp_path / "pie.svg")


def test_what_was_handed_over_is_compared_with_although_it_was_taken_back(project, tmp_path):
    values = pd.Series(np.repeat([0.5, 1.5], [40, 30]), name="age")
    project.histogram(values, bins=[0, 1, 2])
    project.finalise(tmp_path / "out")
    project.remove_output("output_0")
    told = project.histogram(values.iloc[2:], bins=[0, 1, 2])["count"]
    assert told.isna().any()
    assert "output_0 (handed over)" in " ".join(last(project).outcome.notes)
    # A bundle that is replaced before anybody decided has not left.
    project.finalise(tmp_path / "out", overwrite=True)
    project.remove_output("output_1")
    project.histogram(values, bins=[0, 1, 2])
    project.finalise(tmp_path / "out", overwrite=True)
    project.remove_output("output_2")
    assert not project.histogram(values, bins=[0, 1, 2])["count"].isna().any()


# -- survival -----------------------------------------------------------------------------


def kaplan_meier(time, status):
    """The product over times, by the definition."""
    share, told = 1.0, {}
    for moment in sorted(set(time)):
        at_risk = sum(t >= moment for t in time)
        events = sum(t == moment and s for t, s in zip(time, status, strict=True))
        share *= 1 - events / at_risk
        told[moment] = share
    return told


def test_survival_steps_are_joined_until_enough_had_the_event(project):
    rng = np.random.default_rng(2)
    time = pd.Series(rng.integers(1, 60, 200), name="months")
    status = pd.Series((rng.random(200) < 0.7).astype(int), name="died")
    told = project.surv_func(time, status)
    exact = kaplan_meier(time.tolist(), status.tolist())
    assert 5 < len(told) < len(exact)
    # Where no times are joined it is that of Kaplan and Meier, and close to it where few are.
    for until, row in told.iloc[:-1].iterrows():
        assert row.survival == pytest.approx(exact[until], abs=0.05)
    coarse = (time / 20).map(np.ceil)
    separate = Project({"safe_threshold": 5, "survival_safe_threshold": 5})
    survival = separate.surv_func(coarse, status).survival
    assert survival.to_dict() == pytest.approx(kaplan_meier(coarse.tolist(), status.tolist()))
    assert (told.events >= 5).all()
    assert ((told.lost == 0) | (told.lost >= 5)).all()
    assert told["at risk"].iloc[0] == 200
    gone = (told.events + told.lost).to_numpy()
    assert (np.diff(told["at risk"]) == -gone[:-1]).all()
    assert told["at risk"].iloc[-1] == told.events.iloc[-1] + told.lost.iloc[-1]


def test_lines_of_two_survival_tables_that_differ_in_few_persons_are_hidden_whole(project):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"months": rng.integers(1, 5, 300), "died": 1})
    project.surv_func(frame.months, frame.died)
    few = frame.index[frame.months == 2][:2]
    told = project.surv_func(frame.drop(few).months, frame.drop(few).died)
    gone = told.isna()
    assert "differencing" in last(project).cells
    assert gone.loc[2].all()
    assert (gone.any(axis=1) == gone.all(axis=1)).all()
    assert not gone.to_numpy().all()


def test_a_survival_table_of_few_persons_is_empty(project):
    frame = pd.DataFrame({"months": [1, 2, 3, 4], "died": [1, 1, 0, 1]})
    assert project.surv_func(frame.months, frame.died).empty
    assert "nothing is left to show" in last(project).outcome.notes[0]


# -- correlations -------------------------------------------------------------------------


def test_a_correlation_of_one_tells_a_column_and_is_hidden(project):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50)})
    frame["c"] = 3 * frame.a + 1
    frame["d"] = frame.b.where(frame.index < 6)
    told = project.corr(frame)
    assert np.isnan(told.loc["a", "c"])
    assert np.isnan(told.loc["d", "a"])
    assert told.loc["a", "b"] == pytest.approx(np.corrcoef(frame.a, frame.b)[0, 1])
    assert {rule: len(places) for rule, places in last(project).cells.items()} == {
        "threshold": 6, "exact relation": 2
    }  # fmt: skip


# -- regressions --------------------------------------------------------------------------


@dataclass
class Fitted:
    """Least squares with the attributes that statsmodels gives a result."""

    endog: np.ndarray
    exog: pd.DataFrame
    has_labels: bool = True

    def __post_init__(self):
        X, y = self.exog.to_numpy(dtype=float), np.asarray(self.endog, dtype=float)
        self.params = np.linalg.lstsq(X, y, rcond=None)[0]
        self.resid = y - X @ self.params
        self.df_resid = len(y) - np.linalg.matrix_rank(X)
        data = SimpleNamespace(row_labels=self.exog.index if self.has_labels else None)
        self.model = SimpleNamespace(exog=X, endog=y, exog_names=[*self.exog.columns], data=data)


def people(n=200, seed=4):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"const": 1.0, "age": rng.normal(40, 10, n)})
    frame["south"] = (rng.random(n) < 0.4).astype(float)
    return frame, 2 * frame.age + 5 * frame.south + rng.normal(size=n)


def rules(output):
    return {reason.rule: reason.status for reason in output.outcome.reasons}


def test_a_regression_of_many_passes_and_its_figures_are_told(project):
    X, y = people()
    output = project.regression(Fitted(y, X))
    assert output.outcome.status == "pass"
    assert output.properties["dof"] == 197
    assert output.frames[0].loc["age", "coefficient"] == pytest.approx(2, abs=0.1)
    assert output.frames[1].loc["observations", "value"] == 200


def test_residual_degrees_of_freedom_count_contributors_not_records():
    X, y = people(30)
    project = Project(contributor=pd.Series(np.arange(30) % 12))
    assert rules(project.regression(Fitted(y, X)))["degrees of freedom"] == "fail"
    assert Project().regression(Fitted(y, X)).outcome.status == "pass"


def test_a_record_with_a_column_of_its_own_is_found_and_its_value_follows(project):
    X, y = people()
    X["only"] = (X.index == 17).astype(float)
    fitted = Fitted(y, X)
    assert X.iloc[17].to_numpy() @ fitted.params == pytest.approx(y[17])
    assert rules(project.regression(fitted))["leverage"] == "fail"


def test_a_record_that_no_single_column_shows_has_leverage_one(project):
    """Two columns whose difference is one record: each singles out many."""
    X, y = people()
    X["some"] = (X.index < 50).astype(float)
    X["others"] = (X.index < 51).astype(float)
    found = rules(project.regression(Fitted(y, X)))
    assert found["leverage"] == "fail"


def singled_out(X, y, group):
    """The attack: the sum of y over the group, from coefficients and columns alone."""
    fitted = Fitted(y, X)
    return (X[group].to_numpy() @ fitted.params).sum(), y[group].sum()


def test_a_small_category_is_found_and_its_sum_follows(project):
    X, y = people()
    X["rare"] = (X.index < 3).astype(float)
    told, true = singled_out(X, y, X.rare == 1)
    assert told == pytest.approx(true)
    output = project.regression(Fitted(y, X))
    (reason,) = (reason for reason in output.outcome.reasons if reason.rule == "saturated")
    assert (reason.status, reason.cells) == ("review", ("rare = 1",))
    # The standard errors tell that three are rare.
    assert rules(output) == {"saturated": "review", "threshold": "review", "differencing": "fail"}
    assert "for whoever knows the other columns" in reason.text


def test_the_category_without_a_column_is_found(project):
    kind = pd.Series(["a"] * 3 + ["b"] * 40 + ["c"] * 50)
    X = pd.get_dummies(kind, dtype=float).drop(columns="a")
    X.insert(0, "const", 1.0)
    y = pd.Series(np.random.default_rng(5).normal(size=93))
    told, true = singled_out(X, y, kind == "a")
    assert told == pytest.approx(true)
    # All columns are 0 and 1: nobody needs to know more than the coefficients.
    assert rules(project.regression(Fitted(y, X)))["saturated"] == "fail"


def test_a_small_cell_of_an_interaction_is_found_and_without_it_is_not_told(project):
    a = pd.Series(np.repeat([0.0, 0, 1, 1], [40, 30, 20, 3]))
    b = pd.Series(np.repeat([0.0, 1, 0, 1], [40, 30, 20, 3]))
    y = pd.Series(np.random.default_rng(6).normal(size=93))
    X = pd.DataFrame({"const": 1.0, "a": a, "b": b})
    told, true = singled_out(X, y, (a == 1) & (b == 1))
    assert told != pytest.approx(true)
    # Their number follows from standard errors, and their sum of y does not.
    assert rules(project.regression(Fitted(y, X))) == {"threshold": "review"}
    X["both"] = a * b
    told, true = singled_out(X, y, (a == 1) & (b == 1))
    assert told == pytest.approx(true)
    assert rules(project.regression(Fitted(y, X)))["saturated"] == "fail"


def test_all_groups_that_an_attack_by_brute_force_finds_are_found_where_columns_are_categories():
    """All groups of patterns of small designs: what one category variable or two say."""
    rng = np.random.default_rng(7)
    n_told = 0
    for _ in range(20):
        first, second = rng.integers(0, 3, 24), rng.integers(0, 2, 24)
        X = pd.DataFrame({"const": 1.0, "one": first == 1, "two": first == 2, "b": second == 1})
        X = X.astype(float)
        if rng.random() < 0.5:
            X["cross"] = X.one * X.b
        basis = np.linalg.svd(X.to_numpy(), full_matrices=False)
        rank = (basis.S > 1e-9).sum()
        U = basis.U[:, :rank]
        patterns, at = np.unique(X.to_numpy(), axis=0, return_inverse=True)
        small = False
        for chosen in itertools.product([False, True], repeat=len(patterns)):
            group = np.array(chosen)[at.ravel()]
            exposed = np.allclose(U @ (U.T @ group), group, atol=1e-9)
            small |= bool(exposed and 0 < group.sum() < 5)
        y = pd.Series(rng.normal(size=24))
        project = Project({"safe_threshold": 5, "safe_dof_threshold": 1})
        found = rules(project.regression(Fitted(y, X)))
        assert ("saturated" in found or "leverage" in found) == small
        n_told += small
    assert 3 < n_told < 20


def test_a_regression_on_categories_is_a_table_of_means_and_dominated_cells_are_found():
    rng = np.random.default_rng(9)
    turnover = pd.Series(rng.lognormal(3, 0.3, 120), name="turnover")
    south = pd.Series((np.arange(120) < 40).astype(float))
    X = pd.DataFrame({"const": 1.0, "south": south})
    fair = Project().regression(Fitted(turnover, X))
    assert fair.outcome.status == "pass"
    turnover.iloc[3] = 1e6
    told, true = singled_out(X, turnover, south == 1)
    assert told == pytest.approx(true)
    # 40 firms, one of which is nearly all: the sum of the group is its turnover.
    output = Project().regression(Fitted(turnover, X))
    assert output.outcome.status == "fail"
    assert "south = 1" in output.outcome.summary


def test_a_perfect_fit_is_found(project):
    X, _ = people()
    output = project.regression(Fitted(3 * X.age + 1, X))
    assert rules(output) == {"perfect fit": "fail"}


def test_two_regressions_that_differ_in_one_record_tell_of_it(project):
    X, y = people()
    project.regression(Fitted(y, X))
    output = project.regression(Fitted(y.iloc[1:], X.iloc[1:]))
    assert rules(output) == {"differencing": "fail"}
    assert "output_0" in output.outcome.reasons[0].text


def test_a_model_without_an_index_is_known_by_its_values(project):
    X, y = people()
    project.regression(Fitted(y, X))
    assert project.regression(Fitted(y, X, has_labels=False)).outcome.status == "pass"
    output = project.regression(Fitted(y.iloc[3:], X.iloc[3:], has_labels=False))
    assert rules(output) == {"differencing": "fail"}


def test_what_is_no_fitted_model_is_refused(project):
    with pytest.raises(InputError, match=r"int has no model.exog, model.endog, params"):
        project.regression(3)
    X, y = people()
    broken = Fitted(y, X)
    broken.model.exog[3, 1] = np.nan
    with pytest.raises(InputError, match="drop missing values first"):
        project.regression(broken)


def test_models_of_statsmodels_are_read(project):
    pytest.importorskip("statsmodels")
    X, y = people()
    y.iloc[3] = np.nan
    result = project.ols(y, X, missing="drop")
    output = last(project)
    assert output.outcome.status == "pass"
    assert output.properties == {"method": "ols", "dof": 196}
    assert output.frames[0]["standard error"].tolist() == pytest.approx(result.bse.tolist())
    assert len(output.figures[0].records) == 199
    # Record 3 has no y, was dropped by the model, and is new to the project.
    assert project.positions(pd.Index([3])).tolist() == [199]
    project = Project({"safe_threshold": 5})
    rare = X.assign(rare=(X.index < 4).astype(float))
    project.logit((y.fillna(0) > y.mean()).astype(float), rare[["const", "rare", "age"]])
    assert rules(last(project))["saturated"] == "review"


def test_without_statsmodels_a_call_says_what_to_install(project, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "statsmodels", None)
    X, y = people()
    with pytest.raises(InputError, match=r'pip install "tablecloak\[regression\]"'):
        project.ols(y, X)


def test_formulas_of_statsmodels_are_read(project):
    pytest.importorskip("statsmodels")
    X, y = people()
    data = X.assign(wage=y, kind=np.repeat(["a", "b", "c"], [3, 90, 107]))
    project.olsr("wage ~ age + C(kind)", data)
    output = last(project)
    assert output.command == "olsr('wage ~ age + C(kind)')"
    assert rules(output)["saturated"] == "review"


def test_findings_keep_naming_an_output_that_is_renamed(project):
    X, y = people()
    project.regression(Fitted(y, X))
    output = project.regression(Fitted(y.iloc[1:], X.iloc[1:]))
    project.rename_output("output_0", "wages of all")
    assert output.outcome.reasons
    for reason in output.outcome.reasons:
        assert "wages of all" in reason.text
        assert "output_0" not in reason.text


# -- the project of a session ---------------------------------------------------------------


def test_calls_of_the_safe_room_are_those_of_the_project_of_the_session(tmp_path):
    mine = safe.new_project({"safe_threshold": 5})
    people = pd.DataFrame({"region": ["N"] * 30 + ["S"] * 20, "income": np.arange(50.0)})
    safe.crosstab(people.region, people.income > 25)
    safe.pie(people, "region")
    safe.add_comments("output_1", "figure 1")
    folder = safe.finalise(tmp_path / "out")
    assert safe.project() is mine
    assert [each.kind for each in mine.outputs.values()] == ["table", "pie chart"]
    assert (folder / "output_1_0.csv").exists()
    with pytest.raises(AttributeError, match="no attribute 'crosstabs'"):
        safe.crosstabs(people.region)


# -- all kinds ----------------------------------------------------------------------------


def test_every_kind_is_registered_with_help():
    assert {"correlation", "extremes", "histogram", "pie", "quantiles", "regression"} < set(
        KINDS.names
    )
    for name in KINDS.names:
        assert KINDS.summary(name).endswith(".")
        assert all(each.help for each in KINDS.parameters(name))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.quantile(pd.Series([1.0, 2]), 1.5), "`q` must be"),
        (lambda p: p.quantile([1, 2], 0.5), "got list"),
        (lambda p: p.histogram(pd.Series([1.0, 2]), bins=0), "must be 1 or more"),
        (lambda p: p.histogram(pd.Series([1.0, 2]), bins=[2, 1]), "must rise"),
        (lambda p: p.histogram(pd.DataFrame({"a": [1]}), "b"), "no column 'b'; it has a"),
        (lambda p: p.histogram(pd.Series([np.nan])), "needs finite numbers"),
        (lambda p: p.pie(pd.Series([], dtype=object)), "no records: look at the filter"),
        (lambda p: p.extremes(pd.Series([1.0]), ["mean"]), "`which` must be"),
        (lambda p: p.corr(pd.DataFrame({"a": [1.0]})), "two or more columns"),
        (lambda p: p.surv_func(pd.Series([1.0], name="t"), pd.Series([2], name="s")), "1 or 0"),
    ],
)  # fmt: skip
def test_wrong_calls_say_what_is_wrong(project, call, message):
    with pytest.raises(InputError, match=message):
        call(project)
    assert not project.outputs
