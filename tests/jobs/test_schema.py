"""What a job file may say: keys, limits, and what does not go together."""

from __future__ import annotations

import math

import pytest
from pydantic import ValidationError

from tablecloak.cta.search.distance import DISTANCES
from tablecloak.jobs.schema import Data, DimensionSpec, Job
from tablecloak.protection import PROTECTIONS
from tablecloak.tables.formats import FORMATS, ReleaseFormat
from tablecloak.tables.rules.rule import RULES

SMALLEST = {
    "data": {"file": "a.csv"},
    "dimensions": {"region": {}},
    "rules": [{"rule": "minimum-frequency", "minimum": 3}],
    "suppression": {},
}

Suppression, Adjustment = PROTECTIONS["suppression"], PROTECTIONS["adjustment"]


def job(**changes) -> Job:
    return Job.model_validate(SMALLEST | changes)


def refused(**changes) -> str:
    with pytest.raises(ValidationError) as caught:
        job(**changes)
    return str(caught.value)


def test_a_job_needs_data_dimensions_rules_and_a_method():
    for key in ("data", "dimensions", "rules"):
        rest = {name: part for name, part in SMALLEST.items() if name != key}
        with pytest.raises(ValidationError, match="Field required"):
            Job.model_validate(rest)
    headers = [f"[{name}]" for name in PROTECTIONS.names]
    assert f"add a section {', '.join(headers[:-1])} or {headers[-1]}" in refused(suppression=None)
    assert "at least 1 item" in refused(rules=[])


def test_what_is_left_out_has_the_defaults_of_the_documentation():
    found = job(adjustment={})
    assert found.seed == 0
    assert found.solver is None
    assert found.data.kind == "microdata"
    assert found.dimensions["region"].total == "Total"
    assert (found.protection.floor, found.protection.lower_factor) == (1.0, 1.0)
    assert found.protection.zeros_published
    assert found.suppression.weights == "value"
    assert found.suppression.time_limit == found.adjustment.time_limit == 60.0
    assert found.adjustment.weights == "relative"
    assert found.adjustment.distance == "L1"
    assert found.audit.time_limit == math.inf
    assert found.output.formats == ["csv"]
    assert found.output.report


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "give either file, or connection and table"),
        ({"file": "a.csv", "connection": "duckdb://x"}, "give either file"),
        ({"connection": "duckdb://x"}, "needs the name of a table"),
        ({"connection": "duckdb://x", "table": "t", "kind": "table"}, "needs the name of a table"),
        ({"file": "a.csv", "frequency": "n"}, "'microdata' has no frequency"),
        ({"file": "a.csv", "largest": ["a"]}, "'microdata' has no largest"),
        ({"file": "a.csv", "kind": "table", "weight": "w"}, "'table' has no weight"),
        ({"file": "a.csv", "decimals": 16}, "less than or equal to 15"),
        ({"file": "a.csv", "tolerance": -1}, "greater than or equal to 0"),
    ],
)
def test_data_come_from_one_place_with_columns_of_their_kind(data, message):
    assert message in refused(data=data)


def test_roles_are_the_columns_of_microdata_that_are_named():
    data = Data(file="a.csv", contributor="firm", weight="w")
    assert data.roles == ["contributor", "weight"]
    assert Data(file="a.csv").roles == []


def test_a_hierarchy_is_a_file_or_nested_tables():
    assert DimensionSpec(hierarchy="a.hrc").hierarchy.name == "a.hrc"
    assert DimensionSpec(hierarchy={"N": ["N1"]}).hierarchy == {"N": ["N1"]}
    with pytest.raises(ValidationError, match=r"path of an \.hrc file, or nested tables"):
        DimensionSpec(hierarchy=3)


def test_one_external_bound_alone_is_refused():
    assert "both lower_bound and upper_bound" in refused(protection={"lower_bound": 0})
    assert job(protection={"lower_bound": 0, "upper_bound": 9}).protection.upper_bound == 9


def test_a_ready_table_has_neither_linked_tables_nor_levels():
    ready = {"file": "a.csv", "kind": "table"}
    assert "has no [[tables]]" in refused(data=ready, tables=[{"dimensions": ["region"]}])
    assert "levels are read from microdata" in refused(
        data=ready, dimensions={"region": {"levels": ["part", "region"]}}
    )


@pytest.mark.parametrize(
    ("section", "given"),
    [
        (Suppression, {"discount": 1.5}),
        (Suppression, {"time_limit": 0}),
        (Suppression, {"time_limit": math.inf}),
        (Adjustment, {"sensitive_limit": 0.5}),
        (Adjustment, {"capacity": -1}),
        (Adjustment, {"capacity_percent": -1}),
        (Adjustment, {"distance": "L3"}),
        (Adjustment, {"preserve": ["median"]}),
    ],
)
def test_numbers_and_names_outside_their_range_are_refused(section, given):
    with pytest.raises(ValidationError):
        section.model_validate(given)


def test_statistics_may_name_a_subset_after_a_colon():
    assert Adjustment(preserve=["mean:all", "regression"]).preserve == [
        "mean:all",
        "regression",
    ]


@pytest.mark.parametrize(
    ("given", "hold"),
    [
        ({}, "possible"),
        ({"protect_against": ["contributors"]}, "strict"),
        ({"protect_against": ["contributors"], "hold": "possible"}, "possible"),
        ({"hold": "off"}, "off"),
    ],
)
def test_whoever_is_named_is_held_against_firmly_unless_it_is_said_otherwise(given, hold):
    assert Suppression.model_validate(given).hold == hold


def test_a_job_holds_the_rules_themselves_and_writes_them_back_as_they_were_given():
    found = job(rules=[{"rule": "p-percent", "p": 15}])
    assert found.rules == [RULES["p-percent"](p=15)]
    assert found.model_dump()["rules"][0] | {"p": 15.0} == found.model_dump()["rules"][0]
    assert job(rules=found.model_dump()["rules"]).rules == found.rules


def test_rules_that_apply_to_sums_are_those_for_groups():
    found = job(
        rules=[
            {"rule": "minimum-frequency", "minimum": 3},
            {"rule": "p-percent", "p": 10},
        ]
    )
    assert [rule.name for rule in found.group_rules] == ["p-percent"]


def test_the_schema_lists_what_is_registered():
    schema = Job.model_json_schema()
    found = schema["properties"]["adjustment"]["properties"]["distance"]
    assert found["enum"] == DISTANCES.names
    formats = schema["$defs"]["OutputSpec"]["properties"]["formats"]["items"]["enum"]
    assert formats == [each.name for each in FORMATS if issubclass(each, ReleaseFormat)]
    assert len(schema["properties"]["rules"]["items"]["anyOf"]) == len(RULES.names)


@pytest.fixture
def file_job(tmp_path):
    (tmp_path / "a.csv").write_text("region,value\nN,1\n")
    (tmp_path / "r.hrc").write_text("N\n")
    return SMALLEST | {
        "data": {"file": tmp_path / "a.csv", "value": "value"},
        "dimensions": {"region": {"hierarchy": tmp_path / "r.hrc"}},
    }


def test_the_fingerprint_changes_with_data_hierarchies_and_keys_and_with_nothing_else(
    file_job, tmp_path
):
    first = Job.model_validate(file_job).fingerprint()
    assert Job.model_validate(file_job).fingerprint() == first
    assert Job.model_validate(file_job | {"threads": 7}).fingerprint() == first
    seen = {first, Job.model_validate(file_job | {"seed": 1}).fingerprint()}
    (tmp_path / "r.hrc").write_text("N\nS\n")
    seen.add(Job.model_validate(file_job).fingerprint())
    (tmp_path / "a.csv").write_text("region,value\nN,2\n")
    seen.add(Job.model_validate(file_job).fingerprint())
    assert len(seen) == 4


def test_the_fingerprint_of_a_file_that_is_not_there_names_it(file_job, tmp_path):
    (tmp_path / "a.csv").unlink()
    with pytest.raises(ValueError, match=r"a\.csv: this file does not exist"):
        Job.model_validate(file_job).fingerprint()


def test_holdings_of_weighted_records_are_refused_before_the_data_are_read():
    data = {"file": "a.csv", "value": "turnover", "weight": "w", "holding": "group"}
    by_size = {"rule": "p-percent", "p": 10}
    assert "not defined for weighted data" in refused(data=data, rules=[by_size])
    own = {"a": {"value": "turnover", "rules": [by_size]}}
    whole = {name: entry for name, entry in data.items() if name != "value"}
    assert "not defined for weighted data" in refused(data=whole, variables=own)
    assert job(data=data).rules, "a minimum frequency counts holdings with their weights"
    assert job(data=data, rules=[by_size | {"level": "contributor"}]).rules
    assert job(data=data | {"weight": None}, rules=[by_size]).rules
