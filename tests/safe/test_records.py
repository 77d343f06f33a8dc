"""Two outputs of different columns: whether they are of the same records."""

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project


@pytest.fixture
def people():
    random = np.random.default_rng(4)
    n = 1000
    return pd.DataFrame(
        {
            "income": random.lognormal(10, 0.5, n).round(-2),
            "sex": random.choice(["men", "women"], n),
            "tenure": random.choice(["owner", "tenant"], n),
            "age": random.integers(16, 90, n),
        }
    )


def second(first, other):
    """The status of a table of two columns, after quantiles of another column."""
    project = Project({"safe_threshold": 10})
    project.quantile(first.income, [0.25, 0.5, 0.75], base=5000)
    return project.crosstab(other.sex, other.tenure).outcome


def test_columns_of_one_frame_are_of_the_same_records(people):
    assert second(people, people).status == "pass"
    assert second(people, people.assign(old=people.age > 60)).status == "pass"


def test_a_survival_table_has_the_records_of_its_frame(people):
    project = Project({"safe_threshold": 10})
    project.surv_func(people.age, (people.age % 2).rename("ill"))
    project.crosstab(people.sex, people.tenure)
    assert project.output("output_1").outcome.status == "pass"


def test_a_regression_has_the_records_of_its_frame(people):
    pytest.importorskip("statsmodels")
    project = Project({"safe_threshold": 10})
    project.crosstab(people.sex, people.tenure)
    project.olsr("income ~ age", people)
    assert project.output("output_1").outcome.status == "pass"


def test_a_filter_that_is_written_twice_gives_the_same_records(people):
    assert second(people[people.age < 65], people[people.age < 65]).status == "pass"
    by_name = people.set_index(pd.Index([f"p{row}" for row in range(len(people))]))
    assert second(by_name, by_name).status == "pass"


OTHERS = {
    "renumbered": lambda data: data.drop(index=[3, 7, 9]).reset_index(drop=True),
    "as many": lambda data: pd.concat([data.drop(index=[3, 7]), data[:2]], ignore_index=True),
    "renumbered, then filtered": lambda data: (
        data.drop(index=[3, 7, 9]).reset_index(drop=True).loc[lambda some: some.age < 65]
    ),
    "renumbered, every second one": lambda data: data.drop(index=3).reset_index(drop=True)[::2],
    "sorted and renumbered": lambda data: data.sort_values("age", ignore_index=True),
}


@pytest.mark.parametrize("name", OTHERS)
def test_numbers_from_0_on_do_not_say_which_records_these_are(people, name):
    whole = people[people.age < 65] if "filtered" in name else people
    whole = people[::2] if "second" in name else whole
    (reason,) = second(whole, OTHERS[name](people)).reasons
    assert (reason.status, reason.rule) == ("review", "records")


def test_an_index_that_was_put_on_other_records_is_seen_through(people):
    """The incomes say which records these are, whatever their labels and names."""
    fewer = pd.concat([people.drop(index=[3, 7]), people[:2]]).set_axis(people.index)
    project = Project({"safe_threshold": 10, "zeros_are_disclosive": False})
    project.pivot_table(people, values="income", index="sex", aggfunc="sum", margins=True)
    fewer = fewer.rename(columns=lambda name: f"{name}2")
    shown = project.pivot_table(fewer, values="income2", index="sex2", aggfunc="sum", margins=True)
    assert shown.outcome.status != "pass" or shown.isna().to_numpy().any()


@pytest.fixture
def persons():
    random = np.random.default_rng(11)
    n = 5000
    return pd.DataFrame(
        {
            "person": random.permutation(np.arange(100_000, 100_000 + n)),
            "region": random.choice(["North", "South", "East", "West"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "sex": random.choice(["men", "women"], n),
            "edu": random.integers(1, 6, n),
            "ill": random.integers(0, 4, n) // 3,
            "income": random.lognormal(10.2, 0.7, n).round(),
        }
    )


def north_but_one(persons):
    """The North as a merge with a panel leaves it that lacks one person there: numbered anew."""
    panel = persons[["person"]].drop(index=persons.index[persons.region == "North"][0])
    merged = persons.merge(panel, on="person")
    return merged[merged.region == "North"].assign(female=lambda some: (some.sex == "women") * 1)


def by_person(persons):
    some = persons.set_index("person")
    return some[some.region == "North"][1:]


def sorted_by_income(persons):
    merged = north_but_one(persons)
    return merged.sort_values("income", ignore_index=True)


def _after(*calls, **options):
    """Whether all outputs of a project leave, and the last without a gap."""
    project = Project(**options)
    for call in calls:
        shown = call(project)
    pass_all = all(output.outcome.status == "pass" for output in project.outputs.values())
    return pass_all and not (isinstance(shown, pd.DataFrame) and shown.isna().to_numpy().any())


@pytest.mark.parametrize("renumbered", [north_but_one, by_person, sorted_by_income])
@pytest.mark.parametrize("key", ["edu", "ill"])
def test_a_filter_of_renumbered_records_after_a_table_of_all(persons, renumbered, key):
    """The region of all records and the total of the filter differ by one person."""
    north = renumbered(persons)
    calls = (
        lambda project: project.crosstab(persons.region, persons[key], margins=True),
        lambda project: project.crosstab(north.edu, north.ill, margins=True),
    )
    assert not _after(*calls)
    assert not _after(
        *calls, contributor=pd.concat([persons.person, by_person(persons).index.to_series()])
    )


def test_a_filter_before_and_after_it_was_renumbered_beside_a_table_of_all(persons):
    north, merged = persons[persons.region == "North"], north_but_one(persons)
    tables = [
        lambda project, some=some: project.crosstab(some.sex, some.edu, margins=True)
        for some in (persons, north, merged)
    ]
    assert _after(*tables[:2])
    assert not _after(*tables)
    whole, filtered, renumbered = tables
    assert not _after(whole, renumbered, filtered)


def test_what_may_leave_in_doubt_speaks_against_later_outputs_of_nearly_as_many(persons):
    north, merged = persons[persons.region == "North"], north_but_one(persons)
    project = Project()
    project.crosstab(persons.sex, persons.edu, margins=True)
    project.crosstab(merged.sex, merged.edu, margins=True)
    project.crosstab(north.sex, north.edu, margins=True)
    assert [one.outcome.status for one in project.outputs.values()] == ["pass", *["review"] * 2]
    project.remove_output("output_1")
    project.remove_output("output_2")
    shown = project.crosstab(north.sex, north.edu, margins=True)
    assert shown.outcome.status == "pass"


def test_parts_of_a_frame_that_no_two_share_pass(persons):
    """Labels of the second fill the gaps of the first."""
    assert _after(
        *[
            lambda project, some=some: project.crosstab(some.edu, some.ill, margins=True)
            for _, some in persons[persons.region != "West"].groupby("sex")
        ]
    )


def test_another_file_with_labels_of_its_own_passes_with_contributors(persons):
    firms = pd.DataFrame({"size": ["s", "l"] * 300, "branch": ["a", "a", "b"] * 200})
    firms.index += 50_000
    who = pd.concat([persons.person, pd.Series(firms.index, firms.index)])
    tables = (
        lambda project: project.crosstab(persons.region, persons.edu),
        lambda project: project.crosstab(firms["size"], firms.branch),
    )
    assert not _after(*tables)
    assert _after(*tables, contributor=who)


def test_means_of_renumbered_records_after_a_regression_of_all(persons):
    pytest.importorskip("statsmodels")
    north = north_but_one(persons)
    assert not _after(
        lambda project: project.olsr("income ~ C(region)", persons),
        lambda project: project.pivot_table(
            north, values="income", index="edu", aggfunc=["mean", "count"], margins=True
        ),
    )


def test_a_regression_of_renumbered_records_after_means_of_all(persons):
    pytest.importorskip("statsmodels")
    north = north_but_one(persons)
    assert not _after(
        lambda project: project.pivot_table(
            persons, values="income", index="region", aggfunc=["mean", "count"]
        ),
        lambda project: project.olsr("income ~ female", north),
    )


@pytest.mark.parametrize("first", [0, 10_000])
def test_groups_of_other_names_in_a_shuffled_frame(persons, first):
    whole = persons[:1000]
    fewer = whole.drop(index=whole.index[whole.region == "North"][0])
    mixed = fewer[fewer.region != "South"].sample(frac=1, random_state=3, ignore_index=True)
    some = pd.DataFrame({"group": np.where(mixed.region == "North", "A", "B"), "y": mixed.income})
    some.index += first
    assert not _after(
        lambda project: project.pivot_table(whole, values="income", index="region", margins=True),
        lambda project: project.pivot_table(some, values="y", index="group"),
    )


def test_sorted_records_agree_with_those_next_to_them(persons):
    """Without one of the last region every label has the region that it had before."""
    whole = persons.sort_values("region", ignore_index=True)
    fewer = whole.drop(index=whole.index[whole.region == "West"][0]).reset_index(drop=True)
    assert not _after(
        lambda project: project.crosstab(whole.region, whole.edu, margins=True),
        lambda project: project.crosstab(fewer.region, fewer.edu, margins=True),
    )


def test_a_merge_of_all_records_whose_values_say_who_they_are_passes(persons):
    merged = persons.merge(persons[["person"]], on="person")[::-1].reset_index(drop=True)
    assert _after(
        lambda project: project.pivot_table(
            persons, values="income", index="region", aggfunc="mean", margins=True
        ),
        lambda project: project.pivot_table(
            merged, values="income", index="sex", aggfunc="mean", margins=True
        ),
    )


def test_a_split_at_the_median_is_no_sign_that_records_were_renumbered():
    random = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            "person": np.arange(1000),
            "area": random.choice(list("NSEW"), 1000),
            "ill": random.integers(0, 2, 1000),
            "income": random.lognormal(10, 0.6, 1000).round(),
        }
    )
    # A comparison keeps the name of its column; as many are ill as have more than the median.
    project = Project(data=people, contributor="person")
    table = project.crosstab(people.income > 22_000, people.area)
    assert table.outcome.status == "pass"
    assert (table.sum().to_numpy() == people.area.value_counts()[table.columns]).all()
