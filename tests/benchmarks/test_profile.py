"""Profiles and summaries count what solvers did."""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from bench.profile import performance_profile, summary, write_bench
from bench.runner import Bench
from tablecloak.errors import TablecloakWarning


def test_performance_profile_by_hand():
    times = {"a": [1.0, 4.0, 9.0], "b": [2.0, 2.0, 1.0]}
    verdicts = {"a": ["solved", "solved", "limit"], "b": ["solved", "solved", "wrong"]}
    table = pd.DataFrame(
        [
            {"instance": f"i{k}", "question": "q", "solver": s, "seconds": times[s][k],
             "verdict": verdicts[s][k]}
            for s in "ab" for k in range(3)
        ]
    )  # fmt: skip
    found = performance_profile(table)
    for solver, factors in (("a", [1, 2]), ("b", [1, 2])):
        part = found[found["solver"] == solver]
        assert part["factor"].tolist() == factors
        # The third question, solved by nobody, counts as one of three.
        assert part["share"].tolist() == pytest.approx([1 / 3, 2 / 3])


def test_the_summary_counts_verdicts_and_names_wrong_answers():
    rows = [
        ("i1", "a", "solved", "", 1.0),
        ("i2", "a", "limit", "", 8.0),
        ("i1", "b", "wrong", "breaks the program", 1.0),
    ]
    names = ["instance", "solver", "verdict", "why", "seconds"]
    table = pd.DataFrame(rows, columns=names).assign(question="audit", memory=50.0)
    text = summary(Bench(table, pd.DataFrame(), 8.0))
    # The geometric mean of 1 + 1 and 8 + 1 is the root of 18, less 1.
    assert "| a | 2 | 1 | 1 | 0 | 0 | 3.24 | 50 |" in text
    assert "- i1, audit, b: breaks the program" in text
    assert "8 s for each answer" in text


@pytest.mark.parametrize("has_plots", [True, False])
def test_answers_are_written_with_plots_where_matplotlib_is_installed(
    tmp_path, monkeypatch, has_plots
):
    if not has_plots:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    rows = [("i1", "a", "solved", 1.0), ("i1", "b", "solved", 2.0)]
    table = pd.DataFrame(rows, columns=["instance", "solver", "verdict", "seconds"]).assign(
        question="audit", memory=50.0, why=""
    )
    history = pd.DataFrame(
        {"instance": ["i1"], "question": ["audit"], "solver": ["a"], "seconds": [0.5],
         "value": [3.0], "bound": [2.0]}
    )  # fmt: skip
    if has_plots:
        written = write_bench(Bench(table, history, 8.0), tmp_path)
    else:
        with pytest.warns(TablecloakWarning, match=r"tablecloak\[plots\]"):
            written = write_bench(Bench(table, history, 8.0), tmp_path)
    pictures = {path.name for path in written if path.suffix == ".svg"}
    expected = {"profile-audit.svg", "course-audit-i1.svg"}
    assert pictures == (expected if has_plots else set())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        {"answers.parquet", "history.parquet", "summary.md"} | pictures
    )
