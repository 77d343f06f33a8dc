"""Requests: what may stand in them, and where a fault is."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import tablecloak as tc
from serving import CELLS, TABLE
from tablecloak.jobs.load import load_problem
from tablecloak.service.call import CALLS
from tablecloak.service.request import RequestError, asked, keys_of, read_json


def question(tmp_path, call: str = "round", **change):
    body = {key: value for key, value in {**TABLE, **change}.items() if value is not None}
    return asked(CALLS[call], body, tmp_path)


def test_tables_are_files_of_the_job_and_keep_their_codes(tmp_path):
    columns = {**CELLS, "value": [None, 50, 70, 30, 40, 70, 50, 90, 140]}
    _, given = question(tmp_path, files={"cells.csv": columns, "notes.txt": "a\nb"})
    read = pd.read_csv(tmp_path / "cells.csv", dtype=str)
    assert read["size"].tolist()[:3] == ["01", "02", "Total"]
    # A whole number stays whole although one is missing beside it.
    assert read.value.tolist()[1:3] == ["50", "70"]
    assert (tmp_path / "notes.txt").read_text() == "a\nb"
    assert given.job.paths == [tmp_path / "cells.csv"]


def test_the_problem_is_that_of_the_same_job_in_a_file(tmp_path):
    _, given = question(tmp_path)
    problem = load_problem(given.job)
    assert (problem.table.n_cells, problem.n_sensitive) == (9, 1)
    assert problem.upper_protection[problem.sensitive].tolist() == [2.0]


def test_a_table_of_one_row_may_come_without_lists(tmp_path):
    question(tmp_path, files={"cells.csv": CELLS, "one.csv": {"a": 1, "b": "x"}})
    assert pd.read_csv(tmp_path / "one.csv").to_dict("list") == {"a": [1], "b": ["x"]}


def test_parameters_have_the_defaults_of_their_call(tmp_path):
    call, _ = question(tmp_path, base=7)
    assert (call.base, call.max_steps) == (7, 3)


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ({"bse": 5}, "bse", "unknown key. Did you mean 'base'?"),
        ({"suppression": {}}, "suppression", "unknown key"),
        ({"base": 1}, "base", "must be a whole number >= 2. Found 1. Values become multiples"),
        ({"max_steps": "x"}, "max_steps", "must be a whole number >= 1. Found 'x'"),
        ({"weights": "unti"}, "weights", "is 'unti'; expected .*Did you mean 'unit'?"),
        ({"data": None}, "data", "data is missing. Add it"),
        ({"data": {"file": "x.csv"}, "rules": None}, "", "rules"),
        ({"dimensions": {"size": {"totl": "T"}}}, "dimensions.size.totl", "Did you mean 'total'?"),
        ({"rules": [{"rule": "p-percnt"}]}, "rules.0", "Did you mean 'p-percent'?"),
        ({"rules": [{"rule": "p-percent", "p": 0}]}, "rules.0.p-percent.p", "percentage above 0"),
        ({"data": {"connection": "duckdb://", "table": "t", "value": "v"},
          "rules": [{"rule": "p-percent", "p": 5}]}, "data.connection", "brings its own data"),
        ({"files": {"cell.csv": CELLS}}, "files", "Did you mean 'cell.csv'?"),
        ({"files": {}}, "files", "names 'cells.csv', which is not in files. Send it there."),
        ({"files": {"a/cells.csv": CELLS}}, "files", "is no name of a file here"),
        ({"files": {"cells.csv": {"a": [1], "b": [1, 2]}}}, "", "all columns must have one length"),
        ({"files": {"cells.csv": {}}}, "", "files.cells.csv: the table has no columns"),
        ({"files": {"cells.csv": CELLS, "t.xlsx": CELLS}}, "files.t.xlsx", "ends in .csv"),
        ({"files": {"cells.csv": {"a": [[1]]}}}, "files.cells.csv", "openapi"),
    ],
)  # fmt: skip
def test_a_fault_names_its_place_and_the_remedy(tmp_path, change, place, words):
    with pytest.raises(tc.InputError, match=words) as caught:
        question(tmp_path, **change)
    assert getattr(caught.value, "place", "").startswith(place)


@pytest.mark.parametrize("file", ["/etc/passwd", "../cells.csv", "sub/cells.csv", ".."])
def test_no_file_of_this_machine_is_read(tmp_path, file):
    for change in (
        {"data": {**TABLE["data"], "file": file}},
        {"dimensions": {"region": {"hierarchy": file}, "size": {}}},
        {"tables": [{"dimensions": ["region", "size"], "file": file}]},
    ):
        with pytest.raises(RequestError, match="which is not in files"):
            question(tmp_path, **change)
    with pytest.raises(RequestError, match="which is not in files"):
        question(tmp_path, "suppress", suppression={"previous": file})
    with pytest.raises(RequestError, match="which is not in files"):
        question(tmp_path, "suppress", published=[{"file": file}])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "line 1, column 2: no JSON"),
        (b'{"a": 1,\n "a": 2}', "the key 'a' is there twice"),
        (b'{"a": NaN}', "NaN is no number of JSON. Send null"),
        (b"[1]", "a request is one object"),
        (b'"\xff"', "byte 1 is no UTF-8"),
        (b'{"a": ' + b"[" * 10**5, "too deeply nested"),
        (b'{"a": ' + b"9" * 10**5 + b"}", "too many digits"),
    ],
)
def test_what_is_no_request_says_where(text, words):
    with pytest.raises(RequestError, match=words):
        read_json(text)


def test_a_value_of_the_data_is_not_repeated_in_full(tmp_path):
    with pytest.raises(RequestError) as caught:
        question(tmp_path, base=["4711"] * 100)
    assert "4711" not in str(caught.value)


def test_every_call_has_keys_of_its_own_that_no_section_has():
    for kind in CALLS:
        assert len(set(keys_of(kind))) == len(keys_of(kind)) > 1
        assert json.dumps(keys_of(kind))
