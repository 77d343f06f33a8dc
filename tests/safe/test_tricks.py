"""What careless and malicious researchers try: nothing below the threshold leaves with "pass"."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app
from tablecloak.errors import InputError
from tablecloak.safe import Project
from tablecloak.safe.joint import leverage

LIMITS = {"safe_threshold": 10, "zeros_are_disclosive": False}


def people(n=400, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "area": rng.choice(list("ABCD"), n),
            "sex": rng.choice(["men", "women"], n),
            "income": rng.lognormal(3, 0.7, n).round(1),
            "age": rng.integers(16, 90, n),
            "ill": (rng.random(n) < 0.3).astype(int),
        }
    )


@pytest.fixture
def project():
    return Project(LIMITS)


# -- what is judged is the set that would leave --------------------------------------------


def whole_and_all_but_two(project, data):
    first = project.crosstab(data.area, data.sex, margins=True)
    fewer = data.drop(index=data.index[:2])
    return first, lambda: project.crosstab(fewer.area, fewer.sex, margins=True, protect=None)


def test_a_refused_output_is_refused_when_the_call_is_made_again(project):
    first, again = whole_and_all_but_two(project, people())
    assert first.outcome.status == "pass"
    assert [again().outcome.status for _ in range(3)] == ["fail"] * 3


def test_a_refusal_names_what_to_take_back_and_then_the_output_passes(project):
    _, again = whole_and_all_but_two(project, people())
    (reason, *_) = again().outcome.reasons
    assert "remove_output('output_0')" in reason.text
    project.remove_output("output_0")
    assert again().outcome.status == "pass"


def test_a_regression_that_failed_fails_again(project):
    sm = pytest.importorskip("statsmodels.api")
    data = people()
    fewer = data.drop(index=data.index[:3])
    project.ols(data.income, sm.add_constant(data[["age"]]))
    for _ in range(2):
        project.ols(fewer.income, sm.add_constant(fewer[["age"]]))
    statuses = [output.outcome.status for output in project.outputs.values()]
    assert statuses == ["pass", "fail", "fail"]


def test_what_is_released_end_to_end_tells_of_no_few_people(project, tmp_path):
    """Reject the first, approve what passed, release: no two released counts are close."""
    _, again = whole_and_all_but_two(project, people())
    again(), again()
    bundle = project.finalise(tmp_path / "outputs")
    run = CliRunner().invoke
    words = ["safe", "check", str(bundle), "--approve-passed", "--reject", "output_1"]
    assert run(app, [*words, "--reject", "output_2"]).exit_code == 0
    words = ["safe", "check", str(bundle), "--release", str(tmp_path / "out")]
    assert run(app, words).exit_code == 0
    released = sorted(path.name for path in (tmp_path / "out").glob("*.csv"))
    assert released == ["output_0_0.csv"]


def test_an_output_beside_a_rejected_one_is_for_the_checker(project, tmp_path):
    """Whether it was rejected says a file that the researcher may have written."""
    _, again = whole_and_all_but_two(project, people())
    bundle = project.finalise(tmp_path / "outputs")
    words = ["safe", "check", str(bundle), "--reject", "output_0", "--comment", "output_0=no"]
    assert CliRunner().invoke(app, words).exit_code == 0
    project.remove_output("output_0")
    later = again()
    assert later.outcome.status == "review"
    assert "did not leave" in later.outcome.reasons[0].text


def test_what_failed_says_what_it_tells_beside_later_outputs(project, tmp_path):
    data = people()
    fewer = data.drop(index=data.index[:2])
    first = project.crosstab(data.area, data.income.round(-2), protect=None)
    assert first.outcome.status == "fail"
    later = project.crosstab(fewer.area, fewer.sex, margins=True)
    assert later.outcome.status == "pass"
    project.finalise(tmp_path / "outputs")
    said = " ".join(reason.text for reason in project.output("output_0").outcome.reasons)
    assert "output_1" in said


# -- columns of few values count -------------------------------------------------------------


def with_few_ill(few=6, area="A", n=400):
    data = people(n)
    inside = data.index[data.area == area]
    data["ill"] = 0
    data.loc[inside[:few], "ill"] = 1
    data.loc[data.index[data.area != area][:150], "ill"] = 1
    return data


COPIES = {
    "0 and 1": lambda ill: ill,
    "turned": lambda ill: 1 - ill,
    "true and false": lambda ill: ill == 1,
    "1 and 2": lambda ill: ill + 1,
    "another unit": lambda ill: ill * 1000.0,
    "three values": lambda ill: ill * np.where(np.arange(len(ill)) % 2, 1, 2),
}


@pytest.mark.parametrize(
    ("copy", "statistic", "margins"),
    [
        *((name, "std", True) for name in COPIES),
        ("1 and 2", "sum", False),
        ("1 and 2", "mean", True),
        ("turned", "mean", False),
    ],
)
def test_sums_of_codes_are_counts(project, copy, statistic, margins):
    data = with_few_ill()
    data["ill"] = COPIES[copy](data.ill)
    shown = project.pivot_table(
        data, values="ill", index="area", aggfunc=statistic, margins=margins
    )
    assert shown.loc["A"].isna().all()
    assert shown.outcome.status == "pass"
    assert shown.notna().to_numpy().any()


def test_a_cell_that_is_full_or_empty_is_hidden_where_zeros_are_disclosive():
    project = Project({"safe_threshold": 10})
    data = with_few_ill(0)
    data.loc[data.area == "B", "ill"] = 1
    shown = project.pivot_table(data, values="ill", index="area", aggfunc="mean")
    assert shown.ill.isna().loc[["A", "B"]].all()
    assert shown.ill.notna().loc[["C", "D"]].any()


def test_sums_of_codes_and_counts_are_compared(project):
    """What the crosstab hides, a sum with fewer people would tell."""
    data = people()
    project.crosstab(data.area, data.ill)
    fewer = data.drop(index=data.index[data.ill == 1][:3])
    shown = project.pivot_table(fewer, values="ill", index="area", aggfunc="sum", margins=True)
    told = shown.outcome.status != "pass" or shown.isna().to_numpy().any()
    assert told


def test_the_income_of_three_in_a_column_of_zeros_is_not_told(project):
    data = people()
    data["mine"] = data.income.where(data.index < 3, 0.0)
    shown = project.pivot_table(data, values="mine", index="sex", aggfunc="sum", margins=True)
    assert shown.isna().to_numpy().all()


@pytest.mark.parametrize("filler", [0.0, 1.0, 1e6])
def test_a_constant_beside_the_income_of_few_hides_nobody(project, filler):
    data = people()
    data["mine"] = data.income.where(data.index < 7, filler)
    shown = project.pivot_table(data, values="mine", index="sex", aggfunc="mean")
    assert shown.isna().to_numpy().any() or shown.outcome.status != "pass"


# -- nested filters, at any size -------------------------------------------------------------


def many(n=5000, seed=3):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["men", "women"], n),
            "area": rng.integers(0, 30, n),
            "trade": rng.integers(0, 20, n),
            "age": rng.integers(16, 90, n),
            "turnover": rng.lognormal(3, 1, n).round(2),
        }
    )


def test_everybody_men_and_women_but_five(project):
    """The five are in classes of their own, so that no two outputs tell them."""
    data = many()
    project.crosstab(data.area, data.trade)
    project.crosstab(data.area, data.age // 5)
    everybody = project.pivot_table(data, values="age", index="sex", aggfunc="count", margins=True)
    assert everybody.outcome.status == "pass"
    but_five = data.drop(index=data.index[data.sex == "women"][:5])
    trade = but_five[but_five.sex == "women"]
    by_turnover = project.histogram(trade, "turnover", bins=[0, 1e6])
    assert by_turnover.isna().to_numpy().all() or "fail" in statuses(project)


def statuses(project):
    return [output.outcome.status for output in project.outputs.values()]


def test_two_halves_and_all_but_seven_in_a_large_project(project):
    """A - B - C where none of the three tells anything beside one other."""
    data = many()
    project.crosstab(data.area, data.trade)
    is_first = data.index < 2500
    for some in (data[is_first], data[~is_first]):
        project.histogram(some, "turnover", bins=[0, 1e6])
    before = len(project.outputs)
    fewer = data.drop(index=data.index[[5, 70, 900, 2600, 3000, 4000, 4500]])
    shown = project.histogram(fewer, "turnover", bins=[0, 1e6])
    assert shown.isna().to_numpy().all() or statuses(project)[before] == "fail"


def test_five_parts_and_all_but_seven_in_a_large_project(project):
    """Six figures of six outputs tell of people of six classes, and no fewer figures do."""
    data = many()
    project.crosstab(data.area, data.trade)
    for part in range(5):
        project.histogram(data[data.index % 5 == part], "turnover", bins=[0, 1e6])
    assert set(statuses(project)) == {"pass"}
    fewer = data.drop(index=data.index[[5, 71, 902, 2603, 3004, 4000, 4501]])
    shown = project.histogram(fewer, "turnover", bins=[0, 1e6])
    assert shown.isna().to_numpy().all() or statuses(project)[-1] == "fail"


def test_a_search_that_is_too_long_is_for_the_checker_and_nested_filters_are_still_found(
    project, monkeypatch
):
    monkeypatch.setattr(leverage, "MOST_PRODUCTS", -1)
    data = many()
    men = data[data.sex == "men"]
    project.crosstab(data.sex, data.trade, margins=True)
    project.histogram(men[men.area < 9], "turnover", bins=[0, 1e6])
    assert statuses(project) == ["review", "review"]
    shown = project.histogram(men.iloc[5:], "turnover", bins=[0, 1e6])
    assert shown.isna().to_numpy().all() or statuses(project)[-1] == "fail"


# -- records are known by their values -------------------------------------------------------

RENUMBERED = {
    "reset": lambda data: data.reset_index(drop=True),
    "moved": lambda data: data.set_index(data.index + 1000),
    "by a column": lambda data: data.set_index(pd.Index([f"p{i}" for i in range(len(data))])),
    "shuffled": lambda data: data.sample(frac=1, random_state=1).reset_index(drop=True),
    "renamed": lambda data: data.reset_index(drop=True).rename(columns=lambda name: f"{name}2"),
    "categories": lambda data: data.reset_index(drop=True).astype(
        {"area": "category", "sex": "category"}
    ),
}


@pytest.mark.parametrize(
    ("renumber", "call"),
    [
        *((name, "crosstab") for name in RENUMBERED),
        *(("shuffled", call) for call in ("pivot_table", "histogram", "ols")),
    ],
)
def test_records_are_found_again_however_they_are_numbered(project, renumber, call):
    data = people()
    area, sex, income = "area", "sex", "income"

    def ask(some, area=area, sex=sex, income=income):
        if call == "crosstab":
            project.crosstab(some[area], some[sex], margins=True, protect=None)
        elif call == "pivot_table":
            project.pivot_table(
                some, values=income, index=sex, aggfunc="sum", margins=True, protect=None
            )
        elif call == "histogram":
            project.histogram(some, income, bins=[0, 1e6])
        else:
            sm = pytest.importorskip("statsmodels.api")
            age = "age" if "age" in some else "age2"
            project.ols(some[income], sm.add_constant(some[[age]]))

    ask(data)
    fewer = RENUMBERED[renumber](data.drop(index=data.index[[30, 200, 250]]))
    names = {each: f"{each}2" for each in (area, sex, income)} if "area2" in fewer else {}
    ask(fewer, **names)
    first, second = project.outputs.values()
    assert first.outcome.status == "pass"
    is_hidden = call == "histogram" and second.frames[0].isna().to_numpy().all()
    assert second.outcome.status != "pass" or is_hidden


def test_arrays_are_records_of_the_frame_they_came_from(project):
    data = people()
    project.crosstab(data.area, data.sex, margins=True)
    fewer = data.drop(index=data.index[[30, 200]])
    shown = project.crosstab(fewer.area.to_numpy(), fewer.sex.to_numpy(), margins=True,
                             protect=None)  # fmt: skip
    assert shown.outcome.status != "pass"


def test_a_column_that_was_changed_under_its_name_is_no_reason_for_review(project):
    data = people()
    project.crosstab(data.area, data.age // 10)
    shown = project.crosstab(data.area, data.age // 20)
    assert shown.outcome.status == "pass"


# -- variables are known by their values -----------------------------------------------------


def with_two_rich():
    data = people()
    data.loc[[3, 7], "income"] = [900.0, 700.0]
    data["income"] = data.income.clip(upper=900).where(data.index.isin([3, 7]), data.income % 150)
    return data


CHANGED = {
    "clipped": lambda income: income.clip(upper=150),
    "clipped and in another unit": lambda income: income.clip(upper=150) * 1000,
    "clipped and moved": lambda income: income.clip(upper=150) + 10,
    "three set to nothing": lambda income: income.where(income.index > 2, 0.0),
    "one is another": lambda income: income.where(income.index != 9, 50.0),
}


@pytest.mark.parametrize(
    ("change", "statistic", "both"),
    [
        *((name, "sum", False) for name in CHANGED),
        ("clipped", "sum", True),
        ("clipped and moved", "mean", False),
        ("one is another", "mean", True),
    ],
)
def test_sums_of_a_column_and_of_a_changed_copy_tell_of_nobody(project, change, statistic, both):
    data = with_two_rich()
    data["copy"] = CHANGED[change](data.income)
    if both:
        shown = project.pivot_table(data, values=["income", "copy"], index="sex",
                                    aggfunc=statistic)  # fmt: skip
    else:
        project.pivot_table(data, values="income", index="sex", aggfunc=statistic)
        shown = project.pivot_table(data, values="copy", index="sex", aggfunc=statistic)
    assert shown.outcome.status != "pass" or shown.isna().to_numpy().any()


@pytest.mark.parametrize(
    "copy",
    [np.log, lambda x: x.round(-1), lambda x: x * 3 + 7, lambda x: -x + 2000, lambda x: x.rank()],
)
def test_a_copy_of_fewer_records_is_compared_with_the_column(copy):
    project = Project(LIMITS)
    data = people()
    data["copy"] = copy(data.income)
    project.olsr("income ~ 1", data)
    before = project.pivot_table(data, values="income", index="sex", aggfunc="sum", margins=True)
    fewer = data.drop(index=data.index[:3])
    shown = project.pivot_table(fewer, values="copy", index="sex", aggfunc="sum", margins=True,
                                protect=None)  # fmt: skip
    assert before.outcome.status == "pass"
    assert any(reason.rule == "differencing" for reason in shown.outcome.reasons)


def test_columns_of_their_own_are_not_compared(project):
    data = people()
    data["cost"] = np.random.default_rng(5).lognormal(2, 0.5, len(data))
    for name in ("income", "cost", "age"):
        shown = project.pivot_table(data, values=name, index="area", aggfunc="mean", margins=True)
        assert shown.outcome.status == "pass"
        assert shown.notna().to_numpy().all()


# -- regressions and order statistics --------------------------------------------------------


def test_a_record_that_weighs_everything_is_found(project):
    sm = pytest.importorskip("statsmodels.api")
    data = people()
    weights = np.where(data.index == 5, 1e9, 1.0)
    project.regression(sm.WLS(data.income, sm.add_constant(data[["age"]]), weights=weights).fit())
    assert statuses(project) == ["fail"]


def test_a_record_of_weight_nothing_is_left_out(project):
    sm = pytest.importorskip("statsmodels.api")
    data = people()
    columns = sm.add_constant(data[["age"]])
    project.ols(data.income, columns)
    weights = np.where(data.index == 5, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        project.regression(sm.WLS(data.income, columns, weights=weights).fit())
    assert statuses(project) == ["pass", "fail"]


def test_a_leverage_near_one_fails_and_the_limit_is_one_of_the_data_centre():
    sm = pytest.importorskip("statsmodels.api")
    data = people()
    data["far"] = np.where(data.index == 5, 1e4, np.arange(len(data)) % 50)
    found = []
    for limit in (0.9, 1.0):
        project = Project(LIMITS | {"safe_leverage": limit})
        project.ols(data.income, sm.add_constant(data[["far", "age"]]))
        found += statuses(project)
    # Nothing goes through the record any more, but it has most of the column.
    assert found == ["fail", "review"]


def test_quantile_regressions_and_medians_are_for_the_checker(project):
    sm = pytest.importorskip("statsmodels.api")
    data = people()
    project.regression(sm.QuantReg(data.income, sm.add_constant(data[["age"]])).fit())
    project.pivot_table(data, values="income", index="sex", aggfunc="median")
    assert statuses(project) == ["review", "review"]


def test_rounded_quantiles_are_compared_as_the_counts_they_tell(project):
    """Share by share, quantiles tell how many incomes lie below a multiple of the base."""
    data = people()
    edge = 20.0
    below = int((np.rint(data.income / 10) * 10 < edge).sum())
    few = data.index[data.income < 10][:3]
    for some, n_below in ((data, below), (data.drop(index=few), below - 3)):
        project.quantile(some.income, (n_below + 2) / len(some), base=10)
    shown = [output.frames[0].iloc[0, 0] for output in project.outputs.values()]
    assert statuses(project) == ["pass", "pass"]
    assert shown[0] == edge
    assert np.isnan(shown[1])


def test_a_regression_and_a_table_of_other_records_tell_of_few(project):
    """The total of y follows from a fit with a constant; the table has seven more."""
    sm = pytest.importorskip("statsmodels.api")
    data = people()
    project.pivot_table(data, values="income", index="sex", aggfunc="sum", margins=True)
    gaps = data.assign(age=data.age.where(data.index > 3).astype(float)).dropna()
    project.ols(gaps.income, sm.add_constant(gaps[["age"]]))
    reason = project.output("output_1").outcome.reasons[0]
    assert reason.status == "fail"
    assert "the same records: this output has 396, output_0 has 400" in reason.text


def test_a_group_of_two_classes_that_two_dominate_is_found():
    project = Project(LIMITS)
    data = people()
    rich = data.index[:2]
    data.loc[rich, "income"] = [1e6, 9e5]
    project.pivot_table(data, values="income", index="sex", aggfunc="sum", protect=None)
    fewer = data[(data.index >= 2) & (data.age > 20)]
    shown = project.pivot_table(fewer, values="income", index="sex", aggfunc="sum", protect=None)
    assert shown.outcome.status != "pass" or project.outputs["output_0"].outcome.status == "fail"


# -- labels, weights, constants --------------------------------------------------------------


def released(project, tmp_path):
    folder = project.finalise(tmp_path / "outputs")
    return "".join(path.read_text() for path in [*folder.glob("*.csv"), folder / "results.json"])


def test_labels_of_hidden_rows_do_not_leave(project, tmp_path):
    data = people()
    data.loc[5, "area"] = "A earns 91817161"
    project.crosstab(data.area, data.sex, margins=True)
    project.crosstab(data.sex, data.area)
    project.pie(data, "area")
    assert statuses(project) == ["pass"] * 3
    assert "91817161" not in released(project, tmp_path)


def test_keys_that_name_records_are_refused(project):
    data = people()
    key = data.index.astype(str) + " " + data.area + " " + data.income.astype(str)
    with pytest.raises(InputError, match="name records"):
        project.crosstab(pd.Series(key, index=data.index, name="who"), data.sex)


def test_keys_that_are_amounts_are_for_the_checker(project):
    data = people()
    top = data.groupby("area").income.transform("max")
    shown = project.crosstab(top, data.sex)
    assert shown.outcome.status == "review"


def test_a_constant_that_is_somebodys_amount_is_for_the_checker(project):
    data = people()
    data["top"] = data.groupby("area").income.transform("max")
    data["highest"] = data.income.max()
    for name in ("top", "highest"):
        shown = project.pivot_table(data, values=name, index="area", aggfunc="mean")
        assert shown.outcome.status == "review" or shown.isna().to_numpy().all()


def test_weights_that_leave_one_record_out_are_compared(project):
    data = people()
    project.crosstab(data.area, data.sex, margins=True)
    data["weight"] = np.where(data.index == 8, 0.0, 1.0)
    shown = project.crosstab(data.area, data.sex, weights=data.weight, margins=True)
    assert shown.outcome.status != "pass" or shown.isna().to_numpy().any()


def test_two_weights_that_differ_at_one_record_are_compared(project):
    data = people()
    data["weight"] = np.random.default_rng(2).uniform(1, 3, len(data))
    project.crosstab(data.area, data.sex, weights=data.weight)
    data["weight"] = data.weight.where(data.index != 8, 0.0)
    shown = project.crosstab(data.area, data.sex, weights=data.weight)
    assert shown.outcome.status != "pass" or shown.isna().to_numpy().any()


def test_a_statistic_without_values_is_an_error(project):
    data = people()
    with pytest.raises(InputError, match="go together"):
        project.crosstab(data.area, data.sex, aggfunc="mean")


def test_a_correlation_with_a_column_of_few_is_hidden(project):
    data = people()
    data["mine"] = (data.index < 4).astype(int)
    shown = project.corr(data[["income", "mine", "age"]])
    assert shown.loc["income", "mine"] != shown.loc["income", "mine"]
    assert shown.loc["income", "age"] == shown.loc["income", "age"]


# -- calls and files of ACRO -----------------------------------------------------------------


def test_calls_of_acro_are_taken(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "mine.yaml").write_text("safe_threshold: 12\n")
    project = Project(config=str(tmp_path / "mine"))
    assert project.appetite.safe_threshold == 12
    data = people()
    project.hist(data, "income", bins=5, grid=True, filename=tmp_path / "histogram.png")
    data.loc[data.index[data.area == "A"][5:], "area"] = "B"
    project.disable_suppression()
    assert project.crosstab(data.area, data.sex).outcome.status == "fail"
    project.enable_suppression()
    assert project.crosstab(data.area, data.sex).outcome.status == "pass"


def test_results_have_what_acro_writes_and_reads(project, tmp_path):
    """Keys that `acro.record.load_records` of ACRO 1.0.2 takes, and the release that it needs."""
    data = people()
    project.crosstab(data.area, data.sex)
    folder = project.finalise(tmp_path / "outputs")
    results = json.loads((folder / "results.json").read_text())
    assert results["version"] == "1.0.2"
    assert results["tool"]["name"] == "tablecloak"
    (output,) = results["results"].values()
    keys = "uid status type properties files outcome command summary timestamp comments exception"
    assert set(output) == {*keys.split(), "fair"}
    assert output["fair"]["mitigation"] == "suppress"
    assert pd.DataFrame.from_dict(output["outcome"]).shape == (4, 2)
    record = pytest.importorskip("acro.record")
    loaded = record.load_records(str(folder))
    assert loaded.get_index(0).status == "pass"


# -- amounts that a contributor has in several records ---------------------------------------


def panel(leaver: int) -> pd.DataFrame:
    """Wages of 300 persons in four quarters, of whom one leaves after the second."""
    random = np.random.default_rng(leaver)
    person = pd.DataFrame(
        {
            "person": np.arange(300),
            "area": random.choice(["North", "South", "East", "West"], 300),
            "wage": random.lognormal(7, 0.5, 300).round(),
        }
    )
    quarters = pd.concat([person.assign(quarter=q) for q in (1, 2, 3, 4)], ignore_index=True)
    is_gone = (quarters.person == leaver) & (quarters.quarter >= 3)
    return quarters[~is_gone].reset_index(drop=True)


@pytest.mark.parametrize("leaver", [3, 50, 200])
@pytest.mark.parametrize("drift", [0.0, 0.002])
def test_the_wage_of_one_who_leaves_does_not_follow_from_two_quarters(leaver, drift):
    data = panel(leaver)
    random = np.random.default_rng(leaver)
    data["wage"] *= random.normal(1, drift, len(data))
    project = Project(data=data, contributor="person")
    shown = project.pivot_table(data, "wage", "area", "quarter", aggfunc="sum")
    area, wage = data.loc[data.person == leaver, ["area", "wage"]].iloc[0]
    told = shown.loc[area, 2] - shown.loc[area, 3]
    assert not abs(told / wage - 1) < 0.1  # A gap is no number.
    assert shown.notna().sum().sum() >= 14


def test_the_turnover_of_a_firm_without_a_branch_does_not_follow_from_heads_and_branches():
    random = np.random.default_rng(1)
    heads = pd.DataFrame(
        {
            "firm": np.arange(200),
            "region": random.choice(["North", "South"], 200),
            "turnover": random.lognormal(7, 0.6, 200).round(),
        }
    )
    data = pd.concat([heads.assign(kind="head"), heads[1:].assign(kind="branch")])
    data = data.reset_index(drop=True)
    project = Project(data=data, contributor="firm")
    shown = project.pivot_table(data, "turnover", "region", "kind", aggfunc=["mean", "count"])
    region = heads.region[0]
    means, counts = shown["mean"].loc[region], shown["count"].loc[region]
    told = means["head"] * counts["head"] - means["branch"] * counts["branch"]
    assert not abs(told / heads.turnover[0] - 1) < 0.1


def test_a_constant_in_a_relation_of_columns_does_not_hide_it():
    """Income is a sum of two columns less 100, but for the one whose income was clipped in one."""
    random = np.random.default_rng(1)
    data = pd.DataFrame(
        {
            "person": np.arange(600),
            "area": random.choice(["North", "South", "East"], 600),
            "income": random.uniform(5, 120, 600).round(1),
            "wealth": random.uniform(5, 90, 600).round(1),
        }
    )
    data.loc[:15, "area"] = "West"
    data.loc[0, "income"] = 210.0
    high = random.choice(np.arange(30, 600), 200, replace=False)
    data.loc[high, "income"] = random.uniform(121, 300, 200).round(1)
    project = Project(data=data, contributor="person")
    told = []
    for name, formula in (
        ("income", ""),
        ("one", "wealth + where(income > 120, 120, income)"),
        ("other", "100 + wealth"),
    ):
        column = project.compute(name, formula) if formula else data[name]
        table = project.pivot_table(data.assign(**{name: column}), name, "area", aggfunc="sum")
        told.append(table.loc["West", name])
    assert project.outputs["output_0"].outcome.status == "pass"
    assert not abs(told[0] - told[1] + told[2] - 16 * 100 + 120 - 210) < 1
