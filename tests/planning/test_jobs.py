"""The job of each cluster: what it says follows from the plan and from what all jobs share."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.errors import InputError
from tablecloak.planning.jobs import JobWriter, file_names, moved
from tablecloak.planning.page import plan_page, write_jobs, write_plan
from tablecloak.toml_file import read_toml, toml_text

SHARED = {"data": {"file": "r.csv"}, "rules": [{"rule": "p-percent", "p": 10}], "suppression": {}}


def planned(text: str, **options: object) -> tc.Plan:
    """A plan of lines such as ``T1 2023 turnover hrc_nuts:nuts2 size``."""
    rows = []
    for line in text.strip().splitlines():
        name, field, variable, *levels = line.split()
        row = {"table_name": name, "field": field, "indicator": variable}
        for number in range(3):
            tree, _, level = (levels + [""] * 3)[number].rpartition(":")
            row |= {f"spanning_{number + 1}": level, f"hrc_spanning_{number + 1}": tree}
        rows.append(row)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TablecloakWarning)
        return tc.plan(pd.DataFrame(rows), **options)


def test_one_variable_is_a_job_with_linked_tables():
    plan = planned("A f v hrc_nuts:nuts2 size\nB f v hrc_nuts:nuts3 size\nC f v hrc_nuts:nuts3 cj")
    (job,) = JobWriter(plan, SHARED).jobs().values()
    assert job["data"] == {"file": "r.csv", "value": "v"}
    assert job["tables"] == [{"dimensions": ["cj", "nuts"]}, {"dimensions": ["nuts", "size"]}]
    assert job["dimensions"]["nuts"] == {"levels": ["nuts2", "nuts3"]}
    assert job["dimensions"]["size"] == {"column": "size"}
    assert job["title"] == "f.v"


def test_an_equation_is_a_job_with_several_variables():
    plan = planned("A f a x\nB f b x\nC f c x y", equations={"e": "a = b + c"})
    shared = SHARED | {"variables": {"b": {"unit": "EUR"}}, "title": "All"}
    (job,) = JobWriter(plan, shared, {"c": "column_c"}).jobs().values()
    assert job["variables"] == {
        "a": {"value": "a", "tables": [{"dimensions": ["x"]}]},
        "b": {"value": "b", "unit": "EUR", "tables": [{"dimensions": ["x"]}]},
        "c": {"value": "column_c", "tables": [{"dimensions": ["x", "y"]}]},
    }
    assert job["equations"] == [{"equation": "a = b + c", "name": "e"}]
    assert job["title"] == "All: f.a"
    assert "value" not in job["data"]


def test_what_is_said_of_a_variable_counts_in_its_cluster_alone():
    plan = planned("A f a x\nB f b x")
    rule = [{"rule": "minimum-frequency", "minimum": 3}]
    shared = SHARED | {"variables": {"b": {"unit": "EUR", "rules": rule}}}
    one, other = JobWriter(plan, shared).jobs().values()
    assert "variables" not in one and "variables" not in other
    assert (one["rules"], other["rules"]) == (SHARED["rules"], rule)
    assert (one["data"].get("unit"), other["data"]["unit"]) == (None, "EUR")
    with pytest.raises(tc.InputError, match="has a variable 'c'"):
        JobWriter(plan, SHARED | {"variables": {"c": {}}})


def test_figures_stand_beside_the_cluster_of_their_variables():
    plan = planned("A f a x\nB f b x\nC f c x", equations={"e": "a = b"})
    ratio, share = {"figure": "ratio", "formula": "a / b"}, {"figure": "share", "variable": "c"}
    linked, alone = JobWriter(plan, SHARED | {"derived": [ratio, share]}).jobs().values()
    assert (linked["derived"], alone["derived"]) == ([ratio], [share])
    apart = {"figure": "ratio", "formula": "a / c"}
    with pytest.raises(tc.InputError, match="no cluster has a, c, .*leave the figure out"):
        JobWriter(plan, SHARED | {"derived": [apart]})


def test_variables_of_a_figure_are_one_problem_with_all_their_sums():
    """Also a sum that only the names of linked variables tell, once they are no dimension."""
    lines = pd.DataFrame(
        {"table_name": list("ABCDE"), "field": "f",
         "indicator": ["n_all", "n x", "n_y", "staff", "other"],
         "hrc_indicator": ["hrc_all"] * 3 + [""] * 2, "spanning_1": "a", "hrc_spanning_1": ""}
    )  # fmt: skip
    for figure in (tc.Ratio("n x / staff"), tc.Growth("staff", since="n x"),
                   {"figure": "ratio", "formula": "n x / staff"}):  # fmt: skip
        plan = tc.plan(lines, derived=[figure])
        assert [each.variables for each in plan.clusters] == [
            ("n x", "n_all", "n_y", "staff"), ("other",)
        ]  # fmt: skip
        assert "share a derived figure of n x, staff" in plan.summary()
        joined, _ = JobWriter(plan, SHARED | {"derived": []}).jobs().values()
        (equation,) = joined["equations"]
        assert tc.Equation(equation["equation"]).terms == {"n_all": -1.0, "n x": 1.0, "n_y": 1.0}


def test_a_link_whose_sum_is_known_is_an_equation_too():
    lines = pd.DataFrame(
        {"table_name": list("ABC"), "field": "f", "indicator": ["n_all", "n x", "n_y"],
         "hrc_indicator": "hrc_all", "spanning_1": "a", "hrc_spanning_1": ""}
    )  # fmt: skip
    (job,) = JobWriter(tc.plan(lines), SHARED).jobs().values()
    (equation,) = job["equations"]
    assert tc.Equation(equation["equation"]).terms == {"n_all": -1.0, "n x": 1.0, "n_y": 1.0}


def test_what_is_given_of_a_dimension_stands_under_any_of_its_names():
    plan = planned("A f v hrc_nuts:nuts2\nB f v hrc_nuts:nuts3", totals={"nuts": "FR"})
    for name in ("nuts", "hrc_nuts", "nuts3"):
        shared = SHARED | {"dimensions": {name: {"hierarchy": "n.hrc"}}}
        (job,) = JobWriter(plan, shared).jobs().values()
        assert job["dimensions"] == {
            "nuts": {"column": "nuts3", "hierarchy": "n.hrc", "total": "FR"}
        }
    with pytest.raises(tc.InputError, match="no table of the plan has it. Did you mean 'nuts'"):
        JobWriter(plan, SHARED | {"dimensions": {"nats": {}}})


def test_the_total_of_a_dimension_is_given_under_any_of_its_names():
    for name in ("nuts", "hrc_nuts", "nuts2", "nuts3"):
        plan = planned("A f v hrc_nuts:nuts2\nB f v hrc_nuts:nuts3", totals={name: "FR"})
        (job,) = JobWriter(plan, SHARED).jobs().values()
        assert job["dimensions"]["nuts"] == {"levels": ["nuts2", "nuts3"], "total": "FR"}


def test_several_fields_choose_records_by_a_column():
    plan = planned("A 2022 v x\nB 2023 v x")
    with pytest.raises(tc.InputError, match="several fields, 2022, 2023"):
        JobWriter(plan, SHARED)
    jobs = JobWriter(plan, SHARED, field_column="year").jobs()
    assert [job["data"]["only"] for job in jobs.values()] == [
        {"year": ["2022"]},
        {"year": ["2023"]},
    ]


def test_a_column_of_fields_that_is_given_counts_more_than_that_of_the_template():
    asked = pd.DataFrame({"TIME_PERIOD": ["21", "21", "22", "22"], "a": ["x", "_T"] * 2})
    plan = tc.plan(template=asked)
    for given, column in (("", "TIME_PERIOD"), ("year", "year")):
        jobs = JobWriter(plan, SHARED, field_column=given).jobs()
        assert [job["data"]["only"] for job in jobs.values()] == [
            {column: ["21"]},
            {column: ["22"]},
        ]
    (job,) = JobWriter(tc.plan(template=asked[:2]), SHARED).jobs().values()
    assert "only" not in job["data"]


def test_ready_tables_name_their_files_and_columns(tmp_path):
    lines = pd.DataFrame(
        {"table_name": ["A", "B"], "field": "f", "indicator": "v", "spanning_1": ["nuts2", "nuts3"],
         "hrc_spanning_1": "hrc_nuts", "file": ["a.csv", "b.csv"]}
    )  # fmt: skip
    ready = SHARED | {"data": {"kind": "table"}}
    (job,) = JobWriter(tc.plan(lines), ready).jobs().values()
    assert job["tables"] == [
        {"file": "a.csv", "dimensions": ["nuts"], "columns": {"nuts": "nuts2"}},
        {"file": "b.csv", "dimensions": ["nuts"], "columns": {"nuts": "nuts3"}},
    ]
    with pytest.raises(tc.InputError, match="Table 'B' is ready, but its file is not known"):
        JobWriter(tc.plan(lines.assign(file=["a.csv", ""])), ready).jobs()
    there = moved(job, tmp_path / "x", tmp_path / "y" / "z")
    assert there["tables"][0]["file"] == "../../x/a.csv"
    assert job["tables"][0]["file"] == "a.csv"


def test_a_single_total_has_no_job():
    assert JobWriter(planned("A f v"), SHARED).jobs() == {}


def test_names_of_files_are_safe_and_different():
    plan = planned("A f../../x v x\nB f w/1 x\nC f w_1 x\nD f W:1 x")
    names = file_names(plan.clusters)
    assert len({name.casefold() for name in names}) == len(names) == 4
    assert all(set(name).isdisjoint("/\\:") and name[0] not in "._" for name in names)


def test_written_jobs_are_read_as_they_were_made(tmp_path):
    plan = planned('A f "n" x\nB f b x')
    jobs = JobWriter(plan, SHARED | {"title": 'quo"te\\ ü\n', "transmission": {
        "constants": {"TIME PERIOD": "2026"}}}).jobs()  # fmt: skip
    for path, job in zip(write_jobs(jobs, tmp_path), jobs.values(), strict=True):
        assert tomllib.loads(Path(path).read_text("utf-8")) == job


@pytest.mark.parametrize(
    "tables",
    [
        {"a": 1, "b": {"c": 2.5, "d": {"e": [True, "x"]}}, "f": [{"g": 1}, {"g": {"h": 2}}]},
        {"empty": {}, "list": [], "nested": [[1, 2], ["ä"]], "odd key": {"": "\x7f\t"}},
        {"tables": [{"file": "a", "columns": {"x": "y"}}, {"file": "b"}]},
    ],
)
def test_toml_that_is_written_is_read_again(tables):
    assert tomllib.loads(toml_text(tables)) == tables


def test_the_page_shows_each_cluster_with_its_reasons_and_all_tables(tmp_path):
    plan = planned("A<1> f v hrc_nuts:nuts2 size\nB f v hrc_nuts:nuts3 size\nC f v cj")
    html = plan_page(plan).html()
    assert html.count("<svg ") == len(plan.clusters) == 1
    assert "A&lt;1&gt; (in B)" in html
    assert "A<1>" not in html
    assert "Tables A&lt;1&gt;, B, C share the variable v." in html
    assert [path.name for path in write_plan(plan, tmp_path)] == ["plan.html", "plan.csv"]
    written = pd.read_csv(tmp_path / "plan.csv", keep_default_na=False)
    assert written.contained_in.tolist() == ["B", "", ""]


def test_the_page_prints_names_of_data_as_they_are():
    plan = planned("act_cj f v a cj\nact_size f v a size\nact_other f w a")
    html = plan_page(plan).html()
    assert "act_cj, act_size share the variable v" in html
    assert "Act_" not in html


def test_a_job_that_somebody_changed_is_not_written_over(tmp_path):
    jobs = {"one": {"title": "One"}, "two": {"title": "Two"}}
    one, two = write_jobs(jobs, tmp_path)
    assert write_jobs(jobs, tmp_path) == [one, two]
    later = {"one": {"title": "Later"}, "two": {"title": "Later"}}
    write_jobs(later, tmp_path)
    assert read_toml(one)[1] == {"title": "Later"}
    two.write_text(two.read_text() + "seed = 3\n")
    with pytest.raises(InputError, match=r"two\.toml: was changed since it was planned"):
        write_jobs(jobs, tmp_path)
    assert read_toml(one)[1] == {"title": "Later"}
    assert read_toml(two)[1] == {"title": "Later", "seed": 3}
