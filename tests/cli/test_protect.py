"""``tablecloak protect``: what it says of a job, and its exit codes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app
from tablecloak.executors import chosen_executor
from tablecloak.jobs.campaign import JobOutcome
from tablecloak.jobs.result import JobResult
from tablecloak.protection import PROTECTIONS, Material, Product

RUN = CliRunner()


@dataclass
class Part:
    """A release, an audit or a table that says one line of itself."""

    text: str
    insiders: object = None
    intruders: dict[str, int] = field(default_factory=dict)
    is_safe: bool = True
    problem: object = field(
        default_factory=lambda: SimpleNamespace(table=SimpleNamespace(figures=()))
    )
    before: None = None

    def summary(self) -> str:
        return self.text


@dataclass
class Problem:
    table = Part("12 cells")
    reasons = np.array(["", "p-percent", "p-percent", "request"])


@dataclass(frozen=True, eq=False)
class Made(Product):
    """A release of a way to protect that is known by its name."""

    name: str = "suppression"

    @property
    def way(self):
        return PROTECTIONS[self.name]


PATTERN, SAFE = Part("10 cells suppressed"), Part("all protected")


def result(
    pattern: Part = PATTERN,
    pattern_audit: Part = SAFE,
    adjustment: Part | None = None,
    **others,
) -> JobResult:
    """What a job gives, as far as the command looks at it."""
    products = {"suppression": Made(pattern, pattern_audit)}
    if adjustment is not None:
        products["adjustment"] = Made(adjustment, name="adjustment")
    files = [Path("out/release/table.csv")]
    return JobResult(Material.of(Problem()), products, files=files, **others)


@pytest.fixture
def protect(monkeypatch, tmp_path):
    """Run the command on a job that gives a result."""

    def run(result: JobResult, *words: str):
        asked = {}

        def run_job(job, out, **options):
            asked.update(options, job=job, out=out, executor=chosen_executor())
            return result

        monkeypatch.setattr("tablecloak.jobs.run.run_job", run_job)
        # No more than that it is no whole publication is read of it.
        (tmp_path / "job.toml").write_text("[data]\n")
        done = RUN.invoke(app, ["protect", str(tmp_path / "job.toml"), *words])
        return done, asked

    return run


def test_a_safe_job_is_told_with_its_reasons_and_files(protect):
    done, asked = protect(result(), "--out", "there")
    assert done.exit_code == 0
    assert "sensitive cells: 2 by p-percent, 1 by request" in done.stdout
    assert "10 cells suppressed" in done.stdout
    assert str(Path("out/release/table.csv")) in done.stdout
    assert "Suppression: It is proved that nobody who knows" in done.stdout
    assert "never both" not in done.stdout
    assert asked["out"] == Path("there")
    assert asked["engine"] == "duckdb"


def test_of_two_releases_one_may_be_published(protect):
    done, _ = protect(result(adjustment=Part("3 cells changed")))
    assert "Publish one of the two releases, never both" in done.stdout


def test_a_job_that_is_not_safe_has_exit_code_1(protect):
    done, _ = protect(result(pattern_audit=Part("1 open", is_safe=False)))
    assert done.exit_code == 1
    assert "NOT SAFE: see the audit in the internal folder." in done.stderr
    assert "It is proved" not in done.stdout


def test_a_release_that_was_withheld_is_named_and_not_called_unsafe_twice(protect):
    done, _ = protect(result(withheld={"suppression": "a hidden value"}))
    assert done.exit_code == 1
    assert "The release of the suppression was WITHHELD: a hidden value" in done.stderr
    assert "NOT SAFE" not in done.stderr


def test_a_method_without_an_answer_has_exit_code_2_although_the_other_is_released(protect):
    done, _ = protect(result(failures={"adjustment": "no table satisfies it"}))
    assert done.exit_code == 2
    assert "No adjustment: no table satisfies it" in done.stderr
    assert "It is proved that nobody who knows" in done.stdout


def test_insiders_that_an_audit_tried_are_named(protect):
    tried = Part("all protected", intruders={"contributors": 7})
    done, _ = protect(result(pattern_audit=tried))
    assert "The suppression is also proved safe against: contributors." in done.stdout


@dataclass
class Told:
    intruders = {"contributors": 20, "holdings": 10}  # noqa: RUF012
    successful = 2
    unsettled = 1

    def statements(self) -> list[str]:
        return ["Two contributors can tell one cell."]


def test_what_cannot_be_hidden_from_insiders_is_counted_and_said(protect):
    done, _ = protect(result(pattern=Part("10 cells suppressed", insiders=Told())))
    assert "It is proved safe against 27 of 30 insiders (contributors, holdings)." in done.stdout
    assert "Two contributors can tell one cell." in done.stdout


@pytest.fixture
def campaign(monkeypatch, tmp_path):
    def run(*outcomes: JobOutcome):
        asked = {}

        def run_campaign(jobs, out, *, executor, said):
            asked.update(jobs=jobs, out=out, executor=executor)
            for outcome in outcomes:
                said(outcome)
            return list(outcomes)

        monkeypatch.setattr("tablecloak.jobs.campaign.run_campaign", run_campaign)
        words = ["protect", "--all", str(tmp_path), "--out", "there", "--executor", "threads:3"]
        return RUN.invoke(app, words), asked

    return run


SAFE = JobOutcome("2024", True, True, "loss 3")


def test_each_job_of_a_campaign_is_told_and_whether_it_was_there_already(campaign):
    done, asked = campaign(SAFE, replace(SAFE, name="2025", is_new=False))
    assert done.exit_code == 0
    assert "2024: safe: loss 3" in done.stdout
    assert "2025: safe (was there already): loss 3" in done.stdout
    assert "2 of 2 jobs are done and safe, in there." in done.stdout
    assert asked["executor"].workers == 3


def test_a_campaign_with_one_unsafe_job_has_exit_code_1(campaign):
    done, _ = campaign(SAFE, JobOutcome("2025", False, True, "a.csv: no column 'x'."))
    assert done.exit_code == 1
    assert "2025: NOT SAFE: a.csv: no column 'x'." in done.stdout
    assert "1 of 2 jobs are done and safe" in done.stdout


def test_the_parts_of_a_single_job_are_searched_where_the_executor_says(protect):
    assert protect(result())[1]["executor"] is None
    assert protect(result(), "--executor", "threads:2")[1]["executor"].workers == 2


def test_an_engine_that_does_not_exist_is_refused_before_anything_is_read(protect):
    done, asked = protect(result(), "--engine", "sparc")
    assert done.exit_code == 2
    assert not asked
