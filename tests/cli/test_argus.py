"""``tablecloak argus``: the log of a batch, its files and its exit codes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.argus.run import BatchResult
from tablecloak.cli.main import app

RUN = CliRunner()


@dataclass
class Result:
    """What a batch gives, as far as the command looks at it."""

    log: tuple[str, ...] = ("line 1, OPENMICRODATA: 20 records",)
    files: tuple[Path, ...] = (Path("out/one.csv"),)
    beside: tuple[Path, ...] = (Path("out/one.hrc"),)
    is_safe: bool = True
    not_applied: tuple[str, ...] = ()
    not_reached: tuple[str, ...] = ()
    exit_code: int = 0
    ending = BatchResult.ending


@pytest.fixture
def argus(monkeypatch):
    def run(result: Result):
        def run_batch(*_, on_line, **__) -> Result:
            for line in result.log:
                on_line(line)
            return result

        monkeypatch.setattr("tablecloak.argus.run_batch", run_batch)
        return RUN.invoke(app, ["argus", "job.arb"])

    return run


def test_the_log_and_all_files_are_told(argus):
    done = argus(Result())
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "line 1, OPENMICRODATA: 20 records"
    assert lines[1:] == ["Written:", f"    {Path('out/one.csv')}", f"    {Path('out/one.hrc')}"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("result", "code", "told"),
    [
        (Result(is_safe=False, exit_code=1), 1, "NOT SAFE: a sensitive cell is not protected"),
        (Result(not_applied=("line 7, SUPPRESS: not applied: 2",), exit_code=3), 3, "line 7, SUP"),
        (Result(not_reached=("line 7, SUPPRESS: not reached: 2",), exit_code=1), 1, "line 7, SUP"),
    ],
)
def test_what_was_not_done_or_is_not_safe_is_told_on_stderr(argus, result, code, told):
    done = argus(result)
    assert done.exit_code == code
    assert told in done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"Exit code {code}: ")
    assert ("all files are written" in done.stderr.splitlines()[-1]) == result.is_safe


def test_the_example_of_a_batch_runs_and_writes_what_it_asks_for(tmp_path):
    tc.examples.write("batch", tmp_path)
    words = ["argus", str(tmp_path / "job.arb"), "--out", str(tmp_path / "out")]
    done = RUN.invoke(app, words)
    assert done.exit_code == 0, done.output
    written = (tmp_path / "out" / "turnover.csv").read_text("utf-8")
    # A row for each code, and x where a cell is hidden.
    assert all(f'"{region}"' in written for region in ("Total", "N1", "S2", "W1"))
    assert ",x" in written


def test_a_batch_that_cannot_be_read_writes_nothing(tmp_path):
    (tmp_path / "job.arb").write_text("READTABLE 0\n")
    done = RUN.invoke(app, ["argus", str(tmp_path / "job.arb"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "line 1: expected <COMMAND>" in " ".join(done.output.split())
    assert done.output.rstrip().endswith("Nothing was written.")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["protect", "init", "suppress -o x.csv", "audit x.csv"])
def test_other_commands_say_what_to_do_with_files_of_tau_argus(command, tmp_path):
    for path in tc.examples.write("batch", tmp_path):
        if path.suffix in (".arb", ".rda"):
            name, *options = command.split()
            done = RUN.invoke(app, [name, str(path), *options])
            assert done.exit_code == 2
            assert "`tablecloak argus BATCH.arb`" in done.output
