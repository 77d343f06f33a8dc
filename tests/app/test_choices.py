"""From a filled-in form to a job file, and to the same in Python."""

from __future__ import annotations

import tomllib

import pytest

import tablecloak as tc
from tablecloak.app.choices import Choices
from tablecloak.data_file import DataFile

COLUMNS = ["part", "region", "industry", "turnover", "firm"]
FORM = {
    "value": "turnover",
    "dimension:region": "1",
    "levels:region": " part , ",
    "p-percent": "1",
    "p-percent:p": "10",
    "suppression": "1",
    "time_limit": "5",
}


def choices(**change: str) -> Choices:
    return Choices.of_form(DataFile("data.csv"), {**FORM, **change}, COLUMNS)


def job(**change: str) -> dict:
    return tomllib.loads(choices(**change).job())


def test_a_form_becomes_a_job_that_says_only_what_was_chosen():
    assert job() == {
        "data": {"file": "data.csv", "value": "turnover"},
        "dimensions": {"region": {"levels": ["part", "region"]}},
        "rules": [{"rule": "p-percent", "p": 10}],
        "suppression": {"time_limit": 5},
        "output": {"formats": ["csv", "excel"]},
    }


def test_title_decimals_and_roles_are_written_where_they_belong():
    found = job(title="Sales", decimals="2", contributor="firm", **{"column:shadow": "turnover"})
    assert found["title"] == "Sales"
    assert found["data"]["decimals"] == 2
    assert found["data"]["contributor"] == "firm"
    assert found["data"]["shadow"] == "turnover"


def test_dimensions_without_levels_above_are_flat():
    found = job(**{"dimension:industry": "1"})
    assert found["dimensions"]["industry"] == {}
    assert list(found["dimensions"]) == ["region", "industry"]


def test_both_methods_have_sections_of_their_own():
    found = job(adjustment="1", **{"adjustment:preserve": "mean:all"}, preserve="1")
    assert found["adjustment"]["preserve"] == ["mean:all"]
    assert found["suppression"] == {"time_limit": 5}


def test_statistics_that_are_not_named_are_the_usual_ones():
    assert job(adjustment="1", preserve="1")["adjustment"]["preserve"] == ["mean:all", "regression"]
    assert "preserve" not in job(adjustment="1")["adjustment"]


def test_texts_that_would_end_a_string_stay_in_it():
    title = 'a"\n[data]\nfile = "/etc/passwd'
    assert job(title=title)["title"] == title
    assert job(title=title)["data"]["file"] == "data.csv"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimension:region": ""}, "at least one dimension"),
        ({"p-percent": ""}, "at least one rule"),
        ({"suppression": ""}, "at least one method"),
        ({"time_limit": ""}, "“Seconds for each”: '' is not a number"),
        ({"decimals": "x"}, "“Digits to publish”: 'x' is not a number"),
    ],
)
def test_what_is_missing_is_asked_for(change, message):
    with pytest.raises(tc.InputError, match=message):
        choices(**change)


def test_the_program_that_is_shown_is_python_and_calls_what_the_job_asks_for():
    program = choices(title="T", decimals="0", adjustment="1").python()
    compile(program, "shown", "exec")
    assert "dimensions={'region': ['part', 'region']}" in program
    assert "tc.PPercent(p=10)" in program
    assert "decimals=0," in program
    assert "pattern = tc.suppress(problem, time_limit=5)" in program
    assert "adjusted = tc.adjust(problem, time_limit=5)" in program


def test_a_job_with_contributors_names_in_python_whom_it_holds_against_by_itself():
    program = choices(contributor="firm").python()
    assert "protect_against=[" in program
    assert "protect_against=" not in choices().python()


def test_a_rule_that_is_no_name_of_the_package_is_imported():
    found = choices()
    found.rules = [{"rule": "zero-unsafe", "level": 3.0}]
    lines = found.python().splitlines()
    compile("\n".join(lines), "shown", "exec")
    assert any("ZeroUnsafe(level=3.0)" in line for line in lines)


def test_how_the_file_is_read_stands_in_the_job_and_in_the_program():
    file = DataFile("data.csv", decimal=",", encoding="cp1252")
    chosen = Choices.of_form(file, FORM, COLUMNS)
    data = tomllib.loads(chosen.job())["data"]
    assert (data["decimal"], data["encoding"]) == (",", "cp1252")
    assert "tc.DataFile('data.csv', decimal=',', encoding='cp1252')," in chosen.python()
