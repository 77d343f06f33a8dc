"""Questions from file to file."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tablecloak as tc
from serving import CELLS, TABLE
from tablecloak.cli.main import app
from tablecloak.service.request import answer_file


def request(folder: Path, **change) -> Path:
    path = folder / "request.json"
    path.write_text(json.dumps({**TABLE, **change}), "utf-8")
    return path


def call(folder: Path, name: str):
    words = ["call", name, str(folder / "request.json"), "-o", str(folder / "answer.json")]
    return CliRunner().invoke(app, words, env={"COLUMNS": "300"})


def test_the_answer_is_written_for_its_owner_alone(tmp_path):
    output = tmp_path / "answer.json"
    answer = answer_file("round", request(tmp_path, base=5), output)
    assert json.loads(output.read_text("utf-8")) == answer
    assert os.name == "nt" or stat.S_IMODE(output.stat().st_mode) == 0o600


def test_a_search_tells_its_progress(tmp_path):
    told = []
    answer_file("suppress", request(tmp_path), tmp_path / "a.json", lambda *each: told.append(each))
    assert told


def test_a_release_that_is_not_safe_ends_with_code_1_and_an_answer(tmp_path):
    status = ["suppressed" if secret else "published" for secret in CELLS["secret"]]
    release = {"region": CELLS["region"], "size": CELLS["size"], "status": status}
    request(tmp_path, release=release)
    done = call(tmp_path, "audit")
    assert done.exit_code == 1
    assert "NOT SAFE" in done.output
    answer = json.loads((tmp_path / "answer.json").read_text("utf-8"))
    # A single hidden cell is a difference of others.
    assert answer["is_safe"] is False
    assert answer["sensitive"]["verdict"] == ["attackable"]


def test_a_fault_names_the_file_and_the_place_and_writes_nothing(tmp_path):
    request(tmp_path, bse=5)
    done = call(tmp_path, "round")
    assert done.exit_code == 2
    assert "request.json: bse: unknown key. Did you mean 'base'?" in done.output
    assert not (tmp_path / "answer.json").exists()


def test_a_fault_in_the_data_names_the_table_in_the_request(tmp_path):
    cells = {**CELLS, "value": ["many", *CELLS["value"][1:]]}
    path = request(tmp_path, files={"cells.csv": cells})
    with pytest.raises(tc.InputError, match=r"request\.json: cells\.csv, row 1: column 'value'"):
        answer_file("suppress", path, tmp_path / "answer.json")


def test_a_call_that_does_not_exist_is_told_with_the_likely_one(tmp_path):
    request(tmp_path)
    done = call(tmp_path, "supress")
    assert done.exit_code == 2
    assert "Did you mean 'suppress'?" in done.output


def test_help_lists_all_calls():
    assert (
        "write_hrc2" in CliRunner().invoke(app, ["call", "--help"], env={"COLUMNS": "200"}).output
    )
