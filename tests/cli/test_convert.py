"""``tablecloak convert`` and ``example``: files in, files out, nothing lost."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app

RUN = CliRunner()


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells")
    assert RUN.invoke(app, ["example", "cells", "--out", str(folder)]).exit_code == 0
    return folder


def convert(source, target, *words: str):
    return RUN.invoke(app, ["convert", str(source), str(target), *words])


@pytest.mark.parametrize("name", ["there.csv", "there.parquet"])
def test_a_problem_with_contributors_comes_back_as_it_was(cells, tmp_path, name):
    assert convert(cells / "cells.csv", tmp_path / name).exit_code == 0
    assert convert(tmp_path / name, tmp_path / "back.csv").exit_code == 0
    for part in ("", ".relations", ".contributions"):
        back = (tmp_path / f"back{part}.csv").read_bytes()
        assert back == (cells / f"cells{part}.csv").read_bytes()


def test_packed_files_are_read_as_they_are(cells, tmp_path):
    packed = tmp_path / "table.jj.gz"
    packed.write_bytes(gzip.compress((cells / "table.jj").read_bytes()))
    done = convert(packed, tmp_path / "table.jj")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"{tmp_path / 'table.jj'}: ")
    assert (tmp_path / "table.jj").read_bytes() == (cells / "table.jj").read_bytes()


def test_a_rounded_table_needs_a_tolerance(cells, tmp_path):
    problem = tc.read_problem(cells / "table.jj")
    lines = (cells / "table.jj").read_text().splitlines()
    value = f"{problem.table.values[0]:g}"
    number, rest = lines[2].split(maxsplit=1)
    assert rest.split()[0] == value
    lines[2] = f"{number} {float(value) + 1:g} " + rest.split(maxsplit=1)[1]
    (tmp_path / "off.jj").write_text("\n".join(lines) + "\n")
    refused = convert(tmp_path / "off.jj", tmp_path / "off.csv")
    assert refused.exit_code == 2
    assert not (tmp_path / "off.csv").exists()
    done = convert(tmp_path / "off.jj", tmp_path / "off.csv", "--tolerance", "1.5")
    assert done.exit_code == 0
    kept = tc.read_problem(tmp_path / "off.csv", tolerance=1.5).table.values
    assert np.flatnonzero(kept != problem.table.values).tolist() == [0]


def test_an_unknown_ending_is_answered_with_those_that_are_known(cells, tmp_path):
    done = RUN.invoke(
        app,
        ["convert", str(cells / "table.jj"), str(tmp_path / "table.docx")],
        env={"COLUMNS": "200"},
    )
    assert done.exit_code == 2
    assert ".jj" in done.output


def test_an_example_that_would_overwrite_something_says_so(cells, tmp_path):
    (tmp_path / "people.csv").write_text("mine")
    done = RUN.invoke(app, ["example", "people", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "another file of this name exists already" in " ".join(done.output.split())
    assert (tmp_path / "people.csv").read_text() == "mine"
