"""Example files: written whole, the same each time, and never over something else."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app
from tablecloak.examples.files import EXAMPLES, Example
from tablecloak.jobs.job_file import read_job

NAMES = EXAMPLES.names


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_the_same_each_time_and_names_what_it_wrote(name, tmp_path):
    written = tc.examples.write(name, tmp_path / "one")
    tc.examples.write(name, tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert sorted(written) == sorted(
        path for path in (tmp_path / "one").rglob("*") if path.is_file()
    )
    assert tc.examples.write(name, tmp_path / "one") == written


def test_all_examples_together_fit_into_one_folder_and_stay_small(tmp_path):
    for name in NAMES:
        tc.examples.write(name, tmp_path)
    assert sum(map(len, contents(tmp_path).values())) < 500_000


def test_a_file_of_the_user_is_never_overwritten(tmp_path):
    (tmp_path / "job.toml").write_text("title = 'mine'\n")
    with pytest.raises(tc.InputError, match=r"job\.toml: another file of this name exists already"):
        tc.examples.write("firms", tmp_path)
    assert contents(tmp_path) == {"job.toml": b"title = 'mine'\n"}


def test_an_unknown_example_is_answered_with_the_likely_one(tmp_path):
    with pytest.raises(tc.InputError, match="There is no example 'firm'. Did you mean 'firms'?"):
        tc.examples.write("firm", tmp_path)


def test_the_job_of_the_firms_finds_all_that_it_names(tmp_path):
    tc.examples.write("firms", tmp_path)
    job = read_job(tmp_path / "job.toml")
    table = tc.tabulate(
        tmp_path / job.data.file,
        {"region": str(tmp_path / "region.hrc"), "industry": str(tmp_path / "industry.hrc")},
        job.data.value,
        contributor=job.data.contributor,
        holding=job.data.holding,
    )
    assert set(table.keys["region"]) == {"Total", "N", "S", "W", "N1", "N2", "N3", "S1", "S2", "W1"}
    assert {"Total", "goods", "services", "mining"} < set(table.keys["industry"])


def test_the_cells_are_problems_with_something_to_protect(tmp_path):
    tc.examples.write("cells", tmp_path)
    sensitive = {
        name: tc.read_problem(tmp_path / name).n_sensitive
        for name in ("table.jj", "counts.jj", "cells.csv")
    }
    assert sensitive["table.jj"] == 7
    assert min(sensitive.values()) > 0
    assert tc.read_problem(tmp_path / "cells.csv").table.contributions is not None


def test_records_have_rare_people_to_protect():
    people = tc.examples.people()
    alone = people.groupby(["region", "age", "sex", "edu"]).size().eq(1).sum()
    assert 0 < alone < len(people) / 2
    assert (people.wage[people.job == "none"] == 0).all()
    census = tc.examples.census()
    assert census.groupby(["town", "job"]).size().min() < 3
    # A household lives in one town, and a town lies in one county.
    assert (census.groupby("home")[["county", "town"]].nunique() == 1).all(axis=None)
    assert (census.groupby("town")["county"].nunique() == 1).all()


def test_a_registered_example_is_a_command(tmp_path):
    class Note(Example):
        """A note."""

        name = "note"

        def write(self, folder: Path) -> None:
            (folder / "note.txt").write_text("hello\n")

    with EXAMPLES.including(Note):
        done = CliRunner().invoke(app, ["example", "note", "--out", str(tmp_path)])
        assert done.exit_code == 0
        assert "note: A note" in CliRunner().invoke(app, ["example", "--help"]).output
    assert contents(tmp_path) == {"note.txt": b"hello\n"}
    refused = CliRunner().invoke(app, ["example", "note"], env={"COLUMNS": "200"})
    assert refused.exit_code == 2
    assert "There is no example 'note'." in refused.output
