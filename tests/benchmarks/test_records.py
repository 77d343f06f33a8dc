"""Stored results keep what is needed to repeat and to compare a run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import tablecloak as tc
from bench.records import Record, Source, add_records, commit_of, latest, read_records, source_here


def record(loss, commit, instance="cox", limit=1.0):
    return Record(
        claim="toy", instance=instance, method="exact", limit=limit, seed=0, clock="wall",
        figures={"loss": loss}, cpu_seconds=0.5, peak_mib=100.0, source=Source(commit=commit),
    )  # fmt: skip


def test_records_come_back_as_they_were_stored(tmp_path):
    path = tmp_path / "results" / "toy.jsonl"
    records = [record(3.0, "aaa"), record(None, "aaa", limit=None)]
    add_records(path, records)
    assert read_records(path) == records
    assert len(path.read_text().splitlines()) == 2
    assert read_records(tmp_path / "none.jsonl") == []


def test_the_last_answer_is_kept_and_the_one_of_the_commit_before(tmp_path):
    path = tmp_path / "toy.jsonl"
    for loss, commit in ((9, "aaa"), (8, "bbb"), (7, "ccc"), (6, "ccc")):
        add_records(path, [record(loss, commit)])
    add_records(path, [record(1, "aaa", instance="other")])
    kept = [(r.instance, r.figures["loss"], r.source.commit) for r in read_records(path)]
    assert kept == [("cox", 8, "bbb"), ("cox", 6, "ccc"), ("other", 1, "aaa")]


def test_figures_that_nobody_can_measure_again_are_no_results():
    whole = Source("2 cores", "Python 3", "aaa", "python -m benchmarks toy", "2026-11-26")
    known = [replace(record(loss, "aaa"), source=whole) for loss in (9, 8)]
    other = replace(known[0], instance="other", source=replace(whole, command=""))
    assert latest([*known, record(7, "bbb"), other]) == [known[1]]


def test_a_line_that_is_no_record_is_named(tmp_path):
    path = tmp_path / "toy.jsonl"
    add_records(path, [record(3.0, "aaa")])
    path.write_text(path.read_text() + '{"claim": "toy"}\n')
    with pytest.raises(tc.InputError, match=r"toy\.jsonl, line 2: not a stored result"):
        read_records(path)


def test_a_source_names_machine_versions_commit_command_and_day():
    folder = Path("private/castro").absolute()
    source = source_here(f"python -m benchmarks toy --instances {folder} --limit 3")
    assert source.command == "python -m benchmarks toy --instances castro --limit 3"
    assert "cores" in source.machine and "Python" in source.versions
    assert "highspy" in source.versions
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", source.date)
    assert re.fullmatch(r"([0-9a-f]{7,}\+?)?", commit_of(()))
