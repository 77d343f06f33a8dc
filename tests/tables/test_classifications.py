"""Classifications and code lists: the published counts, the rule of their codes, labels kept."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.tables.classifications import CLASSIFICATIONS
from tablecloak.tables.hierarchy import Dimension

PUBLISHED = {"nace-2.1": (22, 87, 287, 651), "isic-4": (21, 88, 238, 419), "nace-2": (21, 88)}
"""Sections, divisions, groups and classes."""


def tree(name: str, *codes: str) -> tc.Hierarchy:
    return Dimension("code", name).resolve(pd.DataFrame({"code": codes}))


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_listed_classification_has_as_many_codes_as_were_published(name):
    known = CLASSIFICATIONS[name]()
    lengths = Counter(len(code.replace(".", "")) for code in known.entries)
    assert tuple(lengths[level] for level in sorted(lengths)) == PUBLISHED[name]
    whole = tree(name, *known.entries)
    assert whole.leaves and all(label for label in whole.labels.values())


@pytest.mark.parametrize(
    ("name", "code", "above"),
    [
        ("nace-2.1", "47.11", ["47.1", "47", "G"]),
        ("nace-2", "01.11", ["01.1", "01", "A"]),
        ("cpa-2.2", "01.11.11", ["01.11.1", "01.11", "01.1", "01", "A"]),
        ("nuts", "DE111", ["DE11", "DE1", "DE"]),
        ("age", "7", ["5-9", "0-14"]),
        ("age", "90", ["85+", "65+"]),
    ],
)
def test_codes_above_follow_from_a_code(name, code, above):
    chain = [code, *above, "Total"]
    assert set(tree(name, code).groups) == {(p, (c,)) for c, p in itertools.pairwise(chain)}
    assert CLASSIFICATIONS[name].licence


@pytest.mark.parametrize(
    ("name", "code"), [("nace-2.1", "45"), ("nace-2", "04"), ("nuts", "de1"), ("age", "4-7")]
)
def test_a_code_of_another_classification_is_named(name, code):
    with pytest.raises(tc.InputError, match=f"'{code}' is no "):
        tree(name, code)


def test_a_code_list_of_sdmx_comes_back_with_its_labels(tmp_path):
    given = tree("nace-2.1", "01.11", "01.12", "47.1")
    tc.write_code_lists({"industry": given}, tmp_path / "codes.xml")
    back = tc.read_code_list(tmp_path / "codes.xml")
    assert set(back.groups) == set(given.groups)
    assert given.labels.items() <= back.labels.items()
    with pytest.raises(tc.InputError, match="no code list 'CL_AREA'"):
        tc.read_code_list(tmp_path / "codes.xml", "CL_AREA")


def test_other_versions_of_sdmx_name_the_parent_in_their_own_way(tmp_path):
    for number, parent in enumerate(
        ('<Code id="B"><Parent>A</Parent>', '<Code id="B" parentCode="A">')
    ):
        path = tmp_path / f"{number}.xml"
        names = '<Name xml:lang="fr">bas</Name><Name xml:lang="en">low</Name>'
        path.write_text(f'<S><Codelist id="C"><Code id="A"/>{parent}{names}</Code></Codelist></S>')
        assert tc.read_code_list(path).groups == (("Total", ("A",)), ("A", ("B",)))
        assert tc.read_code_list(path).labels["B"] == "low"


def test_a_code_list_that_declares_entities_is_refused(tmp_path):
    path = tmp_path / "codes.xml"
    path.write_text(
        '<!DOCTYPE S [<!ENTITY a "b">]><S><Codelist id="C"><Code id="&a;"/></Codelist></S>'
    )
    with pytest.raises(tc.InputError, match="declares entities of its own"):
        tc.read_code_list(path)


def test_labels_reach_reports_and_every_format(tmp_path):
    firms = pd.DataFrame(
        {
            "nace": ["01.11", "01.12", "47.11"] * 4,
            "turnover": [5, 7, 1234, 11, 3, 8, 9, 4, 6, 2, 5, 7],
        }
    )
    table = tc.tabulate(firms, {"nace": "nace-2.1"}, "turnover")
    pattern = tc.suppress(table.protect(tc.PPercent(10)))
    formats = ("csv", "json-stat", "px", "excel")
    tc.write_release(pattern, tmp_path, formats=formats)
    label = "Growing of rice"
    named = json.loads((tmp_path / "table.json").read_text("utf-8"))["dimension"]["nace"]
    assert named["category"]["label"]["01.12"] == label
    sheet = pd.read_excel(tmp_path / "table.xlsx", dtype=str)
    assert set(sheet.loc[sheet["nace"] == "01.12", "nace, label"]) == {label}
    for name in ("report.html", "table.px", "codes.csv"):
        assert label in (tmp_path / name).read_text("utf-8")
