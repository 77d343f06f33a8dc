"""Formats are found by the endings of names; the docs list what is registered."""

from __future__ import annotations

from pathlib import Path

import pytest

import tablecloak as tc
from doc_tables import formats_table
from tablecloak.executors import EXECUTORS
from tablecloak.tables.formats import (
    FORMATS,
    Format,
    FrameFormat,
    ProblemFormat,
    ReleaseFormat,
    can_hold,
    format_of,
    formats_holding,
    record_endings,
)
from tablecloak.tables.tabulation.engines import ENGINES

DOCS = Path(__file__).parents[3] / "docs" / "formats.md"


@pytest.mark.parametrize(
    ("name", "kind", "found"),
    [
        ("a.jj.gz", ProblemFormat, "jj"),
        ("a.IN", ProblemFormat, "jj"),
        ("v1.2.csv", FrameFormat, "csv"),
        ("a.csv.zst", FrameFormat, "csv"),
        ("a.pq", ProblemFormat, "parquet"),
        ("table.sdmx.csv", FrameFormat, "csv"),
        ("table.sdmx.csv", ReleaseFormat, "sdmx-csv"),
    ],
)
def test_the_longest_ending_among_what_can_hold_it_counts(name, kind, found):
    assert format_of(name, kind).name == found


def test_an_unknown_ending_is_told_with_those_that_are_known():
    expected = r"a.xyz: unknown kind of file. Expected a name in .csv, .gconfid, .jj or .parquet\."
    with pytest.raises(tc.InputError, match=expected):
        format_of("a.xyz", ProblemFormat)
    assert format_of("a.xyz", FrameFormat, otherwise="csv").name == "csv"
    assert not can_hold("a.xyz", Format)
    assert not can_hold("csv", Format)


def test_no_two_formats_claim_the_same_ending():
    endings = [suffix for each in FORMATS for suffix in each.suffixes]
    assert len(endings) == len(set(endings))


def test_records_come_under_more_endings_than_are_written():
    assert {".csv", ".csv.gz", ".txt", ".parquet"} <= set(record_endings())
    assert {each.name for each in formats_holding(FrameFormat)} == {"csv", "parquet"}


def test_the_docs_list_all_formats_engines_and_executors():
    text = DOCS.read_text(encoding="utf-8")
    for table in (formats_table(), ENGINES.table(), EXECUTORS.table()):
        assert table in text
