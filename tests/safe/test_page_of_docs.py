"""docs/safe.md works as it stands: Python and commands."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import readme
from tablecloak.cli.main import app

PAGE = Path(__file__).parents[2] / "docs" / "safe.md"


def test_the_page_on_outputs_of_researchers_runs_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said: dict[str, Any] = {}
    commands = programs = 0
    for step in readme.steps(PAGE.read_text("utf-8")):
        if step.is_python:
            exec(compile(step.text, str(PAGE), "exec", dont_inherit=True), said)
            programs += 1
        else:
            done = CliRunner().invoke(app, shlex.split(step.text)[1:])
            assert done.exit_code == 0, done.output
            commands += 1
    assert (programs, commands) == (3, 4)
    assert said["regions"]["count"].isna().sum() == 2
    assert said["incomes"].income.isna().tolist() == [False, False, False, True]
    released = {path.name for path in (tmp_path / "released").iterdir()}
    assert released == {"output_0_0.csv", "output_1_0.csv", "output_3_0.csv", "released.json"}
