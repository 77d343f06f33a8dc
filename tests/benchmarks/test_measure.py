"""Every instance, method and limit is one run; what it measures is stored at once."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import tablecloak as tc
from bench.claims import Setting, claims_in
from bench.command import app
from bench.measure import Choice, all_open, asked, measure, smoke, timed
from bench.records import Source, add_records, read_records

TOY = """
import time
from tablecloak import budget
from bench.claims import Claim, Column, Instance, Method

def square(number, setting):
    is_processor = budget.time.monotonic is time.process_time
    return {"square": number**2, "limit": setting.limit, "seed": setting.seed, "cpu": is_processor}

def fail(number, setting):
    raise RuntimeError("no licence")

CLAIM = Claim(
    name="toy", title="Toy", text="A toy.", said_in=("README.md",),
    methods=(Method("square", square), Method("fail", fail, limits=(9.0,))),
    instances=lambda folder: [
        Instance("two", lambda: 2), Instance("three", lambda: 3, limits=(5.0,)),
    ],
    smallest=Instance("one", lambda: 1), columns=(Column("square", "square", ",d"),),
    limits=(1.0, 2.0),
)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "toy.py").write_text(TOY)
    return tmp_path


def test_limits_are_those_asked_for_then_of_the_method_the_instance_and_the_claim(folder):
    claim = claims_in(folder / "claims")["toy"]

    def runs(choice):
        return [
            (run.method, run.instance, run.setting.limit)
            for run in asked(claim, folder / "claims", Setting(0.0), choice)
        ]

    assert runs(Choice()) == [
        ("square", "two", 1.0), ("square", "two", 2.0), ("square", "three", 5.0),
        ("fail", "two", 9.0), ("fail", "three", 9.0),
    ]  # fmt: skip
    assert runs(Choice(only=["three"], methods=["square"], limits=[7.0])) == [
        ("square", "three", 7.0)
    ]
    with pytest.raises(tc.InputError, match="There is no clock 'sun'"):
        asked(claim, folder / "claims", Setting(0.0), Choice(clock="sun"))


def test_the_command_stores_figures_failures_and_what_runs_used(folder):
    words = ["toy", "--folder", str(folder), "--limit", "4", "--seed", "7"]
    done = CliRunner().invoke(app, [*words, "--only", "three", "--workers", "2", "--write-results"])
    assert done.exit_code == 0, done.output
    found = {record.method: record for record in read_records(folder / "results" / "toy.jsonl")}
    square = found["square"]
    assert square.figures == {"square": 9, "limit": 4.0, "seed": 7, "cpu": True}
    assert square.limit == 4.0 and square.seed == 7 and square.clock == "processor"
    assert square.cpu_seconds > 0 and square.peak_mib > 20
    assert found["fail"].figures == {"failure": "RuntimeError: no licence"}
    page = (folder / "RESULTS.md").read_text()
    assert "| three | square | 9 |" in page and "failed: RuntimeError: no licence" in page


def test_all_claims_are_measured_at_one_commit_and_taken_up_again_after_an_interrupt(
    folder, monkeypatch
):
    (folder / "claims" / "slow.py").write_text(
        TOY.replace('name="toy"', 'name="slow"').replace("lambda: 2)", "lambda: 2, limits=(3.0,))")
    )
    commits = {"safe": "abc1234", "all": "def5678"}
    monkeypatch.setattr(
        "bench.claims.commit_of", lambda apart: commits["safe" if "safe" in apart else "all"]
    )
    claims = claims_in(folder / "claims")
    here = Source("2 cores", "Python 3", "", "python -m benchmarks all", "2026-11-26")

    def names():
        runs = all_open(claims, folder, Setting(0.0), Choice(methods=["square"]))
        return [(run.claim, run.instance, run.setting.limit) for run in runs], runs

    first, runs = names()
    assert first == [
        ("toy", "two", 1.0), ("toy", "two", 2.0), ("slow", "two", 3.0), ("slow", "three", 5.0),
        ("toy", "three", 5.0),
    ]  # fmt: skip
    for record in measure(runs[:2], claims, here):
        add_records(folder / "results" / f"{record.claim}.jsonl", [record])
        assert record.seconds > 0 and record.source.commit == "abc1234"
    assert names()[0] == first[2:]
    # Parts of the package that a claim does not measure may change.
    commits["all"] = "0123456"
    claims = claims_in(folder / "claims")
    assert names()[0] == first[2:]
    commits["safe"] = "abc1234+"
    claims = claims_in(folder / "claims")
    with pytest.raises(tc.InputError, match="Commit them first"):
        names()


def test_a_folder_of_instances_named_from_here_is_found_by_runs_elsewhere(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "files").mkdir()
    (folder / "files" / "four.txt").write_text("4")
    toy = TOY.replace(
        "lambda folder: [",
        "lambda folder: [Instance(f.stem, lambda: 4) for f in folder.glob('*.txt')] + [",
    )
    (folder / "claims" / "toy.py").write_text(toy)
    words = ["toy", "--folder", ".", "--instances", "files", "--only", "four"]
    done = CliRunner().invoke(app, [*words, "--method", "square", "--limit", "4"])
    assert done.exit_code == 0, done.output
    (found,) = read_records(folder / "results" / "toy.jsonl")
    assert found.figures["square"] == 16
    assert f"tablecloak {tc.__version__}" in found.source.versions


def test_a_misspelt_claim_is_refused_before_anything_is_measured(folder):
    done = CliRunner().invoke(app, ["tyo", "--folder", str(folder)])
    assert done.exit_code != 0
    assert "There is no claim 'tyo'" in f"{done.output}{done.exception}"
    assert not (folder / "results").exists()


def test_a_smoke_run_asks_every_method_about_the_smallest_instance(folder):
    (folder / "claims" / "toy.py").write_text(
        TOY.replace('raise RuntimeError("no licence")', "return {}")
    )
    found = smoke(claims_in(folder / "claims")["toy"])
    assert found["square"]["square"] == 1 and found["fail"] == {}
    json.dumps(found)


def test_seconds_of_the_wall_and_of_the_processor_are_told_apart():
    result, spent = timed(lambda: sum(range(1000)))
    assert result == 499_500
    assert set(spent) == {"seconds", "cpu"} and min(spent.values()) >= 0
