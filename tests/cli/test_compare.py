"""``tablecloak compare``: its options reach the comparison, its verdict is printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from tablecloak.cli.main import app
from tablecloak.executors import ThreadExecutor

RUN = CliRunner()


@dataclass
class Comparison:
    """A comparison of one release, as far as the command looks at it."""

    table: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(
            {"kind": ["suppression"], "risk": [0.125], "utility": [0.75]}, index=["suppression"]
        )
    )
    pages: list[Path] = field(default_factory=list)

    def verdict(self) -> str:
        return "Take suppression."

    def to_html(self, path: Path) -> None:
        self.pages.append(path)


@pytest.fixture
def compare(monkeypatch, tmp_path):
    tc.examples.write("firms", tmp_path)
    tc.write_jj(tc.examples.cox_rounded(), tmp_path / "table.jj")
    found, asked = Comparison(), {}

    def called(problem, **options):
        asked.update(options, problem=problem)
        return found

    monkeypatch.setattr("tablecloak.comparison.compare", called)

    def run(file: str, *words: object):
        return RUN.invoke(app, ["compare", str(tmp_path / file), *map(str, words)]), asked, found

    return run


def test_figures_and_verdict_are_printed(compare):
    done, asked, _ = compare("table.jj")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == "Take suppression."
    assert "0.125" in done.stdout
    assert "kind" not in done.stdout
    assert asked["level_factors"] == [1.0]
    assert (asked["knows"], asked["risk_limit"], asked["time_limit"]) == ("levels", 0.2, 60.0)


def test_options_reach_the_comparison(compare):
    words = ["--level", 0.5, "--level", 2, "--knows", "levels", "--risk-limit", 0.3]
    _, asked, _ = compare("table.jj", *words, "--time-limit", 7, "--executor", "threads:2")
    assert asked["level_factors"] == [0.5, 2.0]
    assert (asked["risk_limit"], asked["time_limit"]) == (0.3, 7.0)
    assert isinstance(asked["executor"], ThreadExecutor)


def test_a_job_file_is_tabulated_first(compare):
    _, asked, _ = compare("job.toml")
    assert asked["problem"].table.name == "turnover"
    assert asked["problem"].table.contributions is not None


def test_records_of_a_job_reach_the_comparison_and_a_table_alone_has_none(compare, tmp_path):
    done, asked, _ = compare("job.toml")
    assert asked["records"].sizes.sum() == asked["problem"].table.values.max()
    assert "Noise of records" not in done.output
    done, asked, _ = compare("table.jj")
    assert asked["records"] is None
    assert "Noise of records is left out: it needs a job" in done.output


def test_what_is_written_is_for_the_owner_alone(compare, tmp_path):
    done, _, found = compare("table.jj", "-o", tmp_path / "c.csv", "--report", tmp_path / "c.html")
    assert done.exit_code == 0
    assert is_private(tmp_path / "c.csv")
    assert pd.read_csv(tmp_path / "c.csv")["release"].tolist() == ["suppression"]
    assert found.pages == [tmp_path / "c.html"]


def test_an_output_that_cannot_be_written_is_refused_before_the_comparison(compare, tmp_path):
    done, asked, _ = compare("table.jj", "-o", tmp_path / "c.docx")
    assert done.exit_code == 2
    assert not asked
