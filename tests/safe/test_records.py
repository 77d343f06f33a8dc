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
