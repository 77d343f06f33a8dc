"""The command refuses what it cannot do, in a message, and writes nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.command import app

ROOT = Path(__file__).parents[2]

WORDS = ("--quick", "--only", "cox", "--question", "audit", "--solver", "tablecloak",
         "--out", "out", "--time-limit", "5")  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        *(("--question", "why"), ("--solver", "magic"), ("--only", "no")),
        *(("--solver", word) for word in ("os:none", "nomodule:f", ":", "a:b:c")),
        *(("--instances", name) for name in ("none", "p.jj", "jobs")),
        *(("--time-limit", "0"), ("--time-limit", "nan"), ("--memory-limit", "1")),
        ("--out", "p.jj"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_told_in_a_message(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "p.jj").write_text("no problem")
    done = CliRunner().invoke(app, [*WORDS, *words])
    assert done.exit_code in (1, 2), done.output
    assert isinstance(done.exception, SystemExit)
    assert "Traceback" not in done.output
    assert (tmp_path / "p.jj").read_text() == "no problem"


def test_it_is_called_from_the_root_of_the_repository():
    words = [sys.executable, "-m", "benchmarks", "--help"]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=ROOT, env={"COLUMNS": "200"}
    )
    assert done.returncode == 0, done.stderr
    assert "Usage: python -m benchmarks" in done.stdout
    assert "suppression-master" in done.stdout
    assert "highs-mip" in done.stdout
