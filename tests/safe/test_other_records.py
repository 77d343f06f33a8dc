"""Outputs of files that were sorted, merged or put together from other rows: who is in which."""

import numpy as np
import pandas as pd
import pytest

from tablecloak.errors import InputError
from tablecloak.safe import Project


def survey(n=400, seed=5):
    random = np.random.default_rng(seed)
    region = random.choice(["North", "South", "East", "West"], n, p=[0.4, 0.3, 0.2, 0.1])
    return pd.DataFrame(
        {
            "person": random.permutation(np.arange(100_000, 100_000 + n)),
            "region": region,
            "sex": random.choice(["f", "m"], n),
            "edu": random.integers(1, 6, n),
            "income": random.lognormal(10.2, 0.7, n).round(),
            "ill": (random.random(n) < 0.25).astype(int),
        }
    )


def incomes(project, frame, by, values="income", **options):
    return project.pivot_table(frame, values, by, aggfunc=["mean", "count"], **options)


def recoded(frame):
    return frame.assign(
        gender=frame.sex.map({"f": "women", "m": "men"}),
        illness=frame.ill.map({0: "no", 1: "yes"}),
    )


def panel(data):
    random = np.random.default_rng(7)
    n, waves = len(data), []
    for wave in (0, 1):
        income = (data.income * random.lognormal(0, 0.1, n)).round()
        ill = (random.random(n) < 0.2).astype(int)
        waves.append(data.assign(wave=wave, income=income, ill=ill))
    rows = pd.concat(waves, ignore_index=True)
    gone = data.person.iloc[[10, 150, 333]]
    rows = rows[~((rows.wave == 1) & rows.person.isin(gone))]
    earlier = rows.groupby("person")
    return rows.assign(lag=earlier.income.shift(), before=earlier.ill.shift())


def without_one(data):
    """The South but for one who is ill."""
    south = data[data.region == "South"]
    return south.drop(index=south.index[south.ill == 1][0])


def sorted_after_a_small_table(project, data):
    anew = recoded(data.sort_values("person", ignore_index=True))
    anew["trust"] = np.random.default_rng(2).choice(["low", "high"], len(anew))
    incomes(project, data, "region")
    project.crosstab(anew[anew.edu <= 2].trust, anew[anew.edu <= 2].gender)
    return incomes(project, without_one(anew), "gender", margins=True)


def sorted_after_what_was_taken_back(project, data):
    anew = recoded(data.sort_values("person", ignore_index=True))
    incomes(project, data, "region")
    project.crosstab(anew.illness, anew.gender)
    project.remove_output("output_1")
    return incomes(project, without_one(anew), "gender", margins=True)


def the_wave_before(project, data):
    rows = panel(data)
    incomes(project, rows, "wave")
    return incomes(project, rows[rows.wave == 1], "wave", "lag")


def the_state_before(project, data):
    rows = panel(data)
    project.crosstab(rows.wave, rows.ill)
    second = rows[rows.wave == 1]
    return project.crosstab(second.before, second.ill, margins=True)


def counts_of_the_state_before(project, data):
    rows = panel(data)
    project.crosstab(rows.wave, rows.ill)
    return project.pivot_table(rows[rows.wave == 1], "edu", "before", aggfunc="count")


def households(data):
    random = np.random.default_rng(4)
    homes = data.assign(home=np.sort(random.integers(0, len(data) // 2, len(data))))
    first = homes.groupby("home")
    return homes.assign(region=first.region.transform("first"), all=first.income.transform("sum"))


def totals_of_households(project, data):
    homes = households(data)
    incomes(project, homes, "region")
    one_each = without_one(homes.drop_duplicates("home"))
    return incomes(project, one_each, "region", "all")


def two_groups_in_one_file(project, data):
    north = data[data.region == "North"]
    low = north.edu <= 2
    project.crosstab(data.region, data.ill)
    project.crosstab(low, north.ill)
    both = recoded(pd.concat([without_one(data), north[low]], ignore_index=True))
    return project.crosstab(both.gender, both.illness, margins=True)


def a_part_of_a_sorted_file(project, data):
    ordered = data.sort_values("region", ignore_index=True)
    part = recoded(without_one(ordered).reset_index(drop=True))
    project.crosstab(ordered.region, ordered.ill)
    return project.crosstab(part.gender, part.illness, margins=True)


OF_PERSONS = [
    sorted_after_a_small_table,
    sorted_after_what_was_taken_back,
    two_groups_in_one_file,
    a_part_of_a_sorted_file,
]
OF_SEVERAL_ROWS = {
    the_wave_before: lambda data: panel(data).person,
    the_state_before: lambda data: panel(data).person,
    counts_of_the_state_before: lambda data: panel(data).person,
    totals_of_households: lambda data: households(data).home,
}


def is_met(project, shown):
    """Whether the last output goes to a checker, or has a gap for the difference."""
    last = list(project.outputs.values())[-1]
    return last.outcome.status != "pass" or shown.isna().to_numpy().any()


@pytest.mark.parametrize("trick", OF_PERSONS)
@pytest.mark.parametrize("has_contributors", [False, True])
def test_a_file_that_was_numbered_anew_tells_of_nobody(trick, has_contributors):
    data = survey()
    project = Project(contributor=data.person if has_contributors else None)
    assert is_met(project, trick(project, data))


@pytest.mark.parametrize("trick", OF_SEVERAL_ROWS)
def test_a_column_of_other_rows_tells_of_nobody(trick):
    data = survey()
    project = Project(contributor=OF_SEVERAL_ROWS[trick](data))
    assert is_met(project, trick(project, data))


def test_a_regression_on_the_wave_before_goes_to_review():
    pytest.importorskip("statsmodels")
    rows = panel(survey())
    project = Project(contributor=rows.person)
    incomes(project, rows, ["sex", "wave"])
    project.olsr("lag ~ C(sex)", rows[rows.wave == 1])
    assert project.output("output_1").outcome.status != "pass"


def test_totals_of_a_file_of_households_beside_one_of_persons():
    homes = households(survey())
    homes.index = [f"p{row}" for row in range(len(homes))]
    one_each = without_one(homes.drop_duplicates("home"))
    one_each.index = [f"h{home}" for home in one_each.home]
    project = Project(contributor=pd.concat([homes.home, one_each.home]))
    incomes(project, homes, "region")
    incomes(project, one_each, "region", "all")
    assert project.output("output_1").outcome.status != "pass"


def test_visits_beside_persons_pass_where_contributors_link_them():
    data = survey()
    random = np.random.default_rng(3)
    visits = pd.DataFrame({"person": random.choice(data.person, 1200)})
    visits["hospital"] = random.choice(["a", "b", "c"], 1200)
    visits["cost"] = random.lognormal(5, 1, 1200)
    visits.index = [f"v{row}" for row in range(1200)]
    project = Project(contributor=pd.concat([data.person, visits.person]))
    project.crosstab(data.region, data.sex)
    incomes(project, visits, "hospital", "cost")
    assert [one.outcome.status for one in project.outputs.values()] == ["pass", "pass"]


def test_a_frame_given_at_first_says_who_is_meant_by_columns_that_are_new():
    data = recoded(survey())
    young = data[data.edu <= 2]
    statuses = []
    for project in (Project(), Project(data=data)):
        project.crosstab(data.region, data.sex)
        project.crosstab(young.gender, young.illness)
        statuses.append([one.outcome.status for one in project.outputs.values()])
    assert statuses == [["pass", "review"], ["pass", "pass"]]


def test_an_edited_column_is_of_the_same_records():
    data = survey()
    project = Project()
    incomes(project, data, "region")
    data["income"] = data.income.clip(upper=data.income.quantile(0.9))
    incomes(project, data, "sex")
    assert all(one.outcome.status == "pass" for one in project.outputs.values())


def test_codes_that_were_joined_are_of_the_same_records():
    """Also beside a column that is sorted, and where everybody has several rows."""
    rows = panel(survey())
    rows["region"] = rows.region.mask(rows.person % 50 == 0, "Isle")
    joined = rows.region.replace({"Isle": "West"})
    for options in ({}, {"contributor": rows.person}, {"data": rows}):
        project = Project(**options)
        project.crosstab(rows.wave, rows.region)
        project.crosstab(rows.wave, joined)
        project.crosstab(rows.wave, rows.sex)
        statuses = {one.outcome.status for one in project.outputs.values()}
        assert statuses == {"pass"}, options


def test_a_file_without_contributors_is_refused_and_the_project_goes_on():
    data = survey()
    anew = data.sort_values("person").set_index(data.index + 50_000)
    project = Project(contributor=data.person)
    project.crosstab(data.region, data.sex)
    with pytest.raises(InputError, match="no contributor"):
        project.crosstab(anew.region, anew.edu)
    assert project.crosstab(data.region, data.edu).outcome.status == "pass"


def test_a_clipped_column_of_another_name_is_no_echo():
    data = survey(1000)
    project = Project(data=data)
    incomes(project, data, "region")
    clipped = data.assign(most=data.income.clip(upper=data.income.quantile(0.98).round(-3)))
    project.pivot_table(clipped, "most", "sex", aggfunc="mean")
    last = project.output("output_1").outcome
    assert all("other records" not in reason.text for reason in last.reasons)


def test_what_is_reviewed_for_another_column_does_not_speak_against_that_one():
    rows = panel(survey())
    project = Project(contributor=rows.person)
    incomes(project, rows, "wave")
    the_second = rows[rows.wave == 1]
    incomes(project, the_second, "wave", "lag")
    incomes(project, rows, ["region", "wave"])
    statuses = [one.outcome.status for one in project.outputs.values()]
    assert statuses == ["pass", "review", "pass"]


def test_labels_that_are_new_beside_some_that_are_known_are_new_records():
    """Two filters that overlap: few codes of the rest say nothing of who is who."""
    data = survey(1000)
    project = Project()
    some, more = data[data.edu <= 3], data[data.sex == "f"]
    project.crosstab(some.region, some.ill)
    project.crosstab(more.region, more.ill)
    second = project.output("output_1").figures[0].records
    first = project.output("output_0").figures[0].records
    labels = project._records.index
    assert set(labels[second]) == set(more.index) and set(labels[first]) == set(some.index)


def test_a_bundle_that_was_written_anew_counts_as_handed_over(tmp_path):
    """Somebody may have a copy of it."""
    data = survey()
    project = Project()
    incomes(project, data, "region", margins=True)
    project.finalise(tmp_path / "bundle")
    project.remove_output("output_0")
    project.crosstab(data.sex, data.edu)
    project.finalise(tmp_path / "bundle", overwrite=True)
    fewer = data.drop(index=data.index[data.region == "South"][0])
    assert is_met(project, incomes(project, fewer, "region", margins=True))


def test_data_that_is_no_frame_is_refused():
    with pytest.raises(InputError, match="data is no frame"):
        Project(data=[1, 2])
