"""The page of results says what the stored results say, and nothing else."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench.claims import Claim, Column, Instance, Method
from bench.page import results_page, stored
from bench.records import Record, Source

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project():
    return stored(ROOT / "benchmarks")


def test_the_page_of_results_is_what_the_stored_results_give(project):
    written = (ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8")
    assert results_page(*project) == written, "run: python -m benchmarks --write-results"


def test_the_page_of_other_tools_is_what_the_stored_results_give(project, tmp_path):
    claims, records = project
    (tmp_path / "docs").mkdir()
    last = records["peers"]
    claims["peers"].draw(last, tmp_path / "benchmarks")
    written = (tmp_path / "docs" / "peers.md").read_text("utf-8")
    assert written == (ROOT / "docs" / "peers.md").read_text("utf-8")


def test_a_run_of_another_tool_that_failed_is_a_message_in_its_table(project, tmp_path):
    claims, records = project
    (tmp_path / "docs").mkdir()
    last = records["peers"]
    failed = replace(last[0], figures={"failure": "RuntimeError: no licence"})
    claims["peers"].draw([failed, *last[1:]], tmp_path / "benchmarks")
    written = (tmp_path / "docs" / "peers.md").read_text("utf-8")
    assert (
        "| tablecloak | 1 | - | - | - | - | - | - | - | - | - | RuntimeError: no licence |"
        in written
    )


def test_every_file_of_results_belongs_to_a_claim_and_every_record_to_its_file(project):
    claims, records = project
    assert {path.stem for path in (ROOT / "benchmarks" / "results").iterdir()} <= set(claims)
    assert all(record.claim == name for name in records for record in records[name])
    assert sum(map(len, records.values())) > 300


def claim(**changes):
    given = {
        "name": "toy", "title": "Toy", "text": "Toys are quick.", "said_in": ("README.md",),
        "methods": (Method("quick", None, "without care"), Method("slow", None)),
        "instances": lambda folder: [], "smallest": Instance("one", None),
        "columns": (Column("loss", "loss", ",.0f"), Column("safe", "safe")),
    }  # fmt: skip
    return Claim(**given | changes)


def record(instance, method, figures, commit="aaa", limit=1.0):
    return Record(
        claim="toy", instance=instance, method=method, limit=limit, seed=0, clock="wall",
        figures=figures, cpu_seconds=2.4, peak_mib=None, seconds=3.1,
        source=Source("2 cores", "Python 3", commit, "python -m benchmarks toy", "2026-11-26"),
    )  # fmt: skip


def section(records, **changes):
    return results_page({"toy": claim(**changes)}, {"toy": records}).partition("## Toy\n")[2]


def test_figures_are_written_in_their_form_and_gaps_as_dashes():
    found = section(
        [
            record("a", "quick", {"loss": 1234.5, "safe": True}),
            record("b", "quick", {"loss": math.nan}),
        ]
    )
    assert "| instance | loss | safe | CPU s | wall s | clock | run |" in found
    assert "| a | 1,234 | yes | 2 | 3 | wall | 1 |" in found
    assert "| b | - | - | 2 | 3 | wall | 1 |" in found


def test_runs_of_several_commits_are_told_apart():
    found = section([record("a", "quick", {"loss": 1}), record("b", "quick", {"loss": 2}, "bbb")])
    assert "| a | 1 | 2 | 3 | wall | 1 |" in found and "| b | 2 | 2 | 3 | wall | 2 |" in found
    runs = found.partition("## Runs\n\n")[2].splitlines()
    assert [line.partition(";")[0] for line in runs] == [
        "1. `python -m benchmarks toy`, commit aaa, 2026-11-26",
        "2. `python -m benchmarks toy`, commit bbb, 2026-11-26",
    ]


def test_of_several_limits_the_longest_is_shown_by_method_in_the_order_of_the_claim():
    given = (("else", 4, None), ("slow", 3, 1.0), ("quick", 1, 9.0), ("quick", 2, 1.0))
    records = [record("a", name, {"loss": loss}, limit=limit) for name, loss, limit in given]
    found = section(records)
    rows = [line.split(" | ")[1:4] for line in found.splitlines() if line.startswith("| a |")]
    assert rows == [["quick", "9", "1"], ["slow", "1", "3"], ["else", "-", "4"]]
    assert "1 more rows, such as those with shorter limits, stand in [results/toy.jsonl]" in found


def test_a_page_of_many_rows_is_cut_and_names_the_files_of_the_rest():
    toys = {f"toy {letter}": claim(name=f"toy {letter}") for letter in "abcdefghijklmnopqrst"}
    rows = [record(f"{number}", "quick", {"loss": number}) for number in range(39)]
    page = results_page(toys, dict.fromkeys(toys, rows))
    assert 470 < page.count("\n") <= 500
    assert page.count("stand in [results/toy") == 20


def test_a_claim_without_figures_is_not_in_the_page():
    assert results_page({"toy": claim()}, {"toy": []}).count("oy") == 0
    assert "(../docs/x.md)" in section([record("a", "quick", {})], page="docs/x.md")


def test_each_claim_has_a_line_on_top_with_its_largest_instance_and_its_command():
    records = [record("small", "quick", {"loss": 1}), record("large", "quick", {"loss": 22}),
               record("large", "slow", {"loss": 3})]  # fmt: skip
    page = results_page({"toy": claim()}, {"toy": records})
    line = "| [Toy](#toy) | large: loss 22 | `python -m benchmarks toy` |"
    assert line in page.partition("## Toy")[0].splitlines()


def test_each_row_says_where_it_comes_from(project):
    claims, records = project
    assert results_page(claims, records).count("\n") <= 500
    assert all(record.source.is_complete for name in records for record in records[name])


NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
CLAIMED = re.compile(  # times, sizes of memory, and numbers of four digits or more
    rf"{NUMBER.pattern}(?= (?:CPU |processor )?(?:s|ms|seconds?|minutes?|hours?|[MG]i?B)\b)"
    r"|(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?"
)


def test_times_sizes_and_large_numbers_of_the_docs_are_measured_or_stand_in_the_code(project):
    """Decisions are left out: they say what a choice gave when it was made."""
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8")
    measured = {float(found.replace(",", "")) for found in NUMBER.findall(results)}
    files = [
        path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*")
    ]
    code = "".join(path.read_text("utf-8") for path in files if path.suffix in (".py", ".md"))

    def has_source(number):
        plain = number.replace(",", "")
        digits = len(plain.partition(".")[2])
        grouped = f"{int(plain):_}" if plain.isdigit() else plain
        return any(round(known, digits) == float(plain) for known in measured) or re.search(
            rf"\b(?:{plain}|{number}|{grouped})\b", code
        )

    drawn = {ROOT / claim.page for claim in project[0].values() if claim.page}
    for page in {ROOT / "README.md", *(ROOT / "docs").glob("*.md")} - drawn:
        prose = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
        odd = [number for number in CLAIMED.findall(prose) if not has_source(number)]
        assert not odd, f"{page}: measure {odd} by a claim of benchmarks, or leave them out"


def test_a_remark_is_computed_from_the_last_records():
    records = [record("a", "quick", {"loss": 3}), record("b", "quick", {"loss": 4}, "bbb")]
    found = section(records, remark=lambda last: f"Sum {sum(r.figures['loss'] for r in last)}.")
    assert "Sum 7." in found
