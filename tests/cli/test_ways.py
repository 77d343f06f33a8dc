"""Commands of ways to protect, whose options are declared with the ways."""

from __future__ import annotations

from functools import wraps

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from tablecloak.cli.main import app
from tablecloak.protection import PROTECTIONS

OF_JOBS = {"cost", "measurement_error", "capacity", "capacity_percent"}
"""Parameters that need columns of data, or change the problem, which commands take as it is."""

OTHER_DEFAULTS = {"weights": "file", "hold": None}
"""Of `suppress`: a problem file brings weights, and names no insiders by itself."""


def test_every_way_that_protects_a_table_has_a_command_with_its_parameters():
    group = typer.main.get_command(app)
    for way in [way for way in PROTECTIONS if not way.is_alone]:
        command = group.get_command(None, way.command or way.name.replace("_", "-"))
        options = {option.name: option for option in command.params}
        parameters = {given.name: given for given in PROTECTIONS.parameters(way.name)}
        assert not OF_JOBS & options.keys()
        assert parameters.keys() - OF_JOBS <= options.keys()
        other = OTHER_DEFAULTS if way.name == "suppression" else {}
        for name in parameters.keys() - OF_JOBS:
            if not isinstance(parameters[name].default, list):
                assert options[name].default == other.get(name, parameters[name].default)


def test_a_help_speaks_of_other_parameters_as_options():
    command = typer.main.get_command(app).get_command(None, "suppress")
    helps = {option.name: option.help for option in command.params if hasattr(option, "help")}
    assert helps["discount"] == "Share by which cells of --previous become cheaper."


RUN = CliRunner()


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells")
    tc.examples.write("cells", folder)
    return folder


@pytest.fixture
def asked(monkeypatch):
    """Options with which a search is called; it ends there."""
    found = {}

    class End(tc.InputError):
        pass

    def in_place_of(search):
        @wraps(search)
        def called(problem, **options):
            found.update(options, problem=problem)
            raise End("enough")

        return called

    monkeypatch.setattr("tablecloak.suppression.suppress.suppress", in_place_of(tc.suppress))
    monkeypatch.setattr("tablecloak.cta.adjust.adjust", in_place_of(tc.adjust))
    for name in ("publish_intervals", "controlled_rounding", "small_count_rounding"):
        monkeypatch.setattr(tc, name, in_place_of(getattr(tc, name)))
    return found


def run(*words: object):
    return RUN.invoke(app, list(map(str, words)))


def test_all_options_of_a_suppression_reach_it(cells, asked, tmp_path):
    (tmp_path / "last.csv").write_text("row,column,status\nr1,c9,suppressed\n")
    words = "--weights unit --method exact --require width --protect-against zeros --hold possible"
    words += " --discount 0.25 --time-limit 7 --seed 3 --threads 2 --solver highs"
    out = tmp_path / "s.csv"
    done = run("suppress", cells / "table.jj", "-o", out, *words.split())
    assert "enough" in done.output
    problem = asked.pop("problem")
    assert problem.n_sensitive == 7
    assert asked.pop("progress") is not None
    assert asked == {
        "method": "exact", "require": "width", "weights": "unit", "protect_against": ["zeros"],
        "hold": "possible", "groups": (), "published": (), "unfreeze": False,
        "previous": None, "discount": 0.25, "time_limit": 7.0, "seed": 3, "threads": 2,
        "solver": "highs",
    }  # fmt: skip
    assert not out.exists()


def test_weights_of_the_file_are_the_default(cells, asked, tmp_path):
    run("suppress", cells / "table.jj", "-o", tmp_path / "s.csv")
    assert (asked["weights"], asked["hold"]) == ("file", "strict")
    assert "protect_against" not in asked


def test_intervals_take_their_seed_and_blur(cells, asked, tmp_path):
    run("intervals", cells / "table.jj", "-o", tmp_path / "i.csv", "--seed", 5, "--blur", 0.5)
    assert (asked["seed"], asked["blur"], asked["weights"]) == (5, 0.5, "relative")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["round", "--base", 7, "--max-steps", 2], {"base": 7, "max_steps": 2}),
        (["small-counts", "--base", 3, "--threads", 2], {"base": 3, "threads": 2}),
    ],
)
def test_roundings_take_the_options_of_their_kind(cells, asked, tmp_path, words, expected):
    run(*words, cells / "counts.jj", "-o", tmp_path / "r.csv")
    assert expected.items() <= asked.items()
    assert "max_steps" in expected or "max_steps" not in asked


def test_an_adjustment_takes_statistics_and_a_distance(cells, asked, tmp_path):
    words = ["--preserve", "mean:all", "--preserve", "slope", "--distance", "L2", "--no-integer"]
    run("adjust", cells / "table.jj", "-o", tmp_path / "a.csv", *words)
    assert asked["preserve"] == ["mean:all", "slope"]
    assert (asked["distance"], asked["integer"], asked["repair"]) == ("L2", False, False)


@pytest.mark.parametrize("command", ["suppress", "intervals", "adjust", "round"])
def test_a_folder_is_no_name_for_a_result_and_no_search_begins(cells, asked, command, tmp_path):
    done = run(command, cells / "table.jj", "-o", tmp_path)
    assert done.exit_code == 2
    assert "is a folder" in " ".join(done.output.split())
    assert not asked


def test_statuses_are_written_for_the_owner_alone(cells, tmp_path):
    out = tmp_path / "s.csv"
    assert run("suppress", cells / "cells.csv", "-o", out, "--time-limit", 5).exit_code == 0
    assert is_private(out)
    frame = pd.read_csv(out)
    assert list(frame.columns) == ["region", "industry", "status"]
    assert (frame["status"] == "primary").sum() == tc.read_problem(cells / "cells.csv").n_sensitive


def test_last_periods_pattern_is_found_by_its_codes(cells, asked, tmp_path):
    frame = tc.read_problem(cells / "cells.csv").table.keys.assign(status="published")
    frame.loc[3, "status"] = "secondary"
    frame.to_csv(tmp_path / "last.csv", index=False)
    words = ["--previous", tmp_path / "last.csv"]
    run("suppress", cells / "cells.csv", "-o", tmp_path / "s.csv", *words)
    assert asked["previous"].nonzero()[0].tolist() == [3]
