"""Cubes of statistical offices and our own are read back as the releases that they are."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.errors import InputError
from tablecloak.publish.released_cells import read_previous, read_published, read_release
from tablecloak.tables.rules.manual import Manual

FORMATS = ("px", "json-stat")


@pytest.fixture(scope="module")
def pattern():
    return tc.suppress(tc.examples.cox_rounded(), time_limit=1000)


@pytest.fixture
def files(pattern, tmp_path):
    tc.write_release(pattern, tmp_path, formats=FORMATS)
    return [tmp_path / "table.px", tmp_path / "table.json"]


def test_a_pattern_reads_back_from_each_cube_and_is_judged(pattern, files):
    for file in files:
        assert np.array_equal(read_release(pattern.problem, file)[0], pattern.suppressed)
        assert tc.audit(pattern.problem, file).is_safe
        assert np.array_equal(read_previous(pattern.problem, file), pattern.suppressed)
        ends = read_published(file, pattern.problem)
        assert np.array_equal(ends.upper > ends.lower, pattern.suppressed)


def test_a_pattern_that_tells_a_sensitive_cell_is_judged_unsafe_in_each_cube(pattern, tmp_path):
    problem = pattern.problem
    words = np.where(problem.sensitive, "suppressed", "published")
    values = np.where(problem.sensitive, np.nan, problem.table.values)
    shown = problem.table.keys.assign(**{problem.table.name: values, "status": words})
    about = {"measure": problem.table.name, "decimals": 6}
    for name in FORMATS:
        kind = tc.tables.formats.FORMATS[name]()
        file = tmp_path / f"unsafe{kind.suffixes[0]}"
        kind.write_release(shown, about, file)
        assert not tc.audit(problem, file).is_safe


def test_an_adjusted_table_reads_back_from_each_cube(tmp_path):
    adjusted = tc.adjust(tc.examples.cox_rounded(), time_limit=1000)
    tc.write_release(adjusted, tmp_path, formats=FORMATS)
    for file in (tmp_path / "table.px", tmp_path / "table.json"):
        assert read_release(adjusted.problem, file)[1] == pytest.approx(adjusted.values)
        assert tc.audit(adjusted.problem, file).is_safe


@pytest.fixture
def problem():
    """Hours in two regions and two branches; R1 makes nothing of B, and no R2 of A exists."""
    rows = [("R1", "A", 5), ("R1", "B", 0), ("R1", "T", 5), ("R2", "B", 7), ("R2", "T", 7),
            ("Ö", "A", 5), ("Ö", "B", 7), ("Ö", "T", 12)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["region", "branch", "value"])
    trees = {
        "region": tc.Hierarchy.flat(["R1", "R2"], total="Ö"),
        "branch": tc.Hierarchy.flat(["A", "B"], total="T"),
    }
    return tc.Table.from_frame(frame, trees).protect(Manual([0]))


PX = """CHARSET="ANSI";
AXIS-VERSION="2013";
LANGUAGE="sv";
LANGUAGES="sv","en";
DECIMALS=0;
TITLE="Timmar; DATA efter "
"region";
TITLE[en]="Hours; VALUES=none;";
CONTENTS="Timmar";
STUB="Region","år";
HEADING="Branch";
VALUES("Region")="Norr","Söder",
"Hela "
"landet";
VALUES[en]("Region")="North","South","All";
CODES("Region")="R1","R2","Ö";
VALUES("år")="2024";
TIMEVAL("år")=TLIST(A1),"2024";
VALUES("Branch")="A","B","T";
DATASYMBOL2="Sekretess";
NOTEX("Region","år")="a";
DATA=
".." "-" ".."
"-" 7 7
".." 7
12 ;
"""


def test_a_cube_of_another_office_is_read_with_its_letters_languages_and_signs(problem, tmp_path):
    file = tmp_path / "hours.px"
    file.write_bytes(PX.encode("cp1252"))
    suppressed, _ = read_release(problem, file)
    hidden = problem.table.keys[suppressed].to_numpy().tolist()
    assert hidden == [["R1", "A"], ["R1", "T"], ["Ö", "A"]]
    file.write_bytes(b"\xef\xbb\xbf" + PX.encode())
    assert np.array_equal(read_release(problem, file)[0], suppressed)


def eurostat(**changes):
    dimension = {
        "freq": {"label": "Frequency", "category": {"index": {"A": 0}, "label": {"A": "Annual"}}},
        "geo": {"label": "region", "category": {"index": {"Ö": 2, "R1": 0, "R2": 1}}},
        "branch": {"category": {"index": ["A", "B", "T"]}},
        "time": {"category": {"label": {"2024": "2024"}}},
    }
    dataset = {
        "version": "2.0", "class": "dataset", "id": [*dimension], "size": [1, 3, 3, 1],
        "value": {"1": 0, "4": 7, "5": 7, "7": 7, "8": 12},
        "status": {"0": "c", "2": "c", "3": ":", "6": "c", "4": "p"}, "dimension": dimension,
    }  # fmt: skip
    return {**dataset, **changes}


def test_a_cube_with_values_and_codes_by_their_places_is_read(problem, tmp_path):
    file = tmp_path / "hours.json"
    for content in (eurostat(), {"dataset": eurostat()}):
        file.write_text(json.dumps(content), encoding="utf-8")
        hidden = problem.table.keys[read_release(problem, file)[0]].to_numpy().tolist()
        assert hidden == [["R1", "A"], ["R1", "T"], ["Ö", "A"]]


def two_years():
    content = eurostat()
    content["dimension"]["time"] = {"category": {"index": ["2023", "2024"]}}
    return json.dumps({**content, "value": [1] * 18})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [("a.json", two_years(), "'time' is no dimension of the table, and has the codes 2023, 2024"),
     ("a.json", json.dumps(eurostat(value=[1])), "9 combinations, and its data 1 entries"),
     ("a.json", '{"class": "collection"}', "no dataset of JSON-stat.* such as CSV"),
     ("a.json", "[1]", "no dataset of JSON-stat"),
     ("a.json", "{", "cannot be read"),
     ("a.px", "CHARSET", "no PX file with STUB.* such as CSV"),
     ("a.px", PX.replace("DATA=", 'KEYS("år")=VALUES;\nDATA='), "no PX file"),
     ("a.px", PX.replace("12 ;", ";"), "9 combinations, and its data 8 entries")],
)  # fmt: skip
def test_a_cube_that_cannot_be_read_is_refused_in_a_line(problem, tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text.encode("cp1252"))
    with pytest.raises(InputError, match=message):
        tc.audit(problem, tmp_path / name)


@pytest.mark.parametrize("name", ["release.html", "release.pdf", "release.ods"])
def test_another_kind_of_file_is_refused_with_all_that_are_read(problem, tmp_path, name):
    (tmp_path / name).write_text("a")
    with pytest.raises(InputError, match=r"unknown kind of file.*\.csv.*\.json.*\.px"):
        tc.audit(problem, tmp_path / name)
