"""Public searches and their commands take limits, threads, seeds and callbacks in the same way."""

from __future__ import annotations

import inspect

import pytest
import typer
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app

SEARCHES = [
    getattr(tc, name)
    for name in tc.__all__
    if inspect.isfunction(getattr(tc, name))
    and "time_limit" in inspect.signature(getattr(tc, name)).parameters
]

MADE_OF_OTHERS = {"compare", "adjust_together"}
"""An executor says where the first one works; the second passes options of `adjust` on."""

OF_THEIR_OWN = [search for search in SEARCHES if search.__name__ not in MADE_OF_OTHERS]

ONE_AFTER_THE_OTHER = {"attack_counts", "controlled_rounding", "publish_intervals", "reconcile"}
"""Each program asks about what the last one left: there is nothing to do at once."""


@pytest.mark.parametrize("search", OF_THEIR_OWN, ids=lambda search: search.__name__)
def test_every_search_can_be_limited_followed_and_done_by_another_solver(search):
    parameters = inspect.signature(search).parameters
    assert parameters["progress"].default is None
    assert parameters["solver"].default is None
    if search.__name__ in ONE_AFTER_THE_OTHER:
        assert "threads" not in parameters
    else:
        assert parameters["threads"].default is None


COMMANDS = {
    "suppress": {"time_limit", "threads", "seed", "solver"},
    "adjust": {"time_limit", "threads", "seed", "solver"},
    "audit": {"time_limit", "threads", "seed", "solver"},
    "round": {"time_limit", "threads", "solver"},
    "intervals": {"time_limit", "seed", "solver"},
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_the_options_of_what_it_calls(name):
    command = typer.main.get_command(app).get_command(None, name)
    assert COMMANDS[name] <= {each.name for each in command.params}


def test_threads_of_a_command_reach_its_search_and_its_audit(tmp_path, budgets_begun):
    tc.write_jj(tc.examples.cox_rounded(), tmp_path / "cox.jj")
    words = [str(tmp_path / "cox.jj"), "-o", str(tmp_path / "out.csv"), "--threads", "3"]
    CliRunner().invoke(app, ["round", *words, "--base", "25"])
    CliRunner().invoke(app, ["small-counts", *words])
    # Controlled rounding does one program after the other, and its verdict rests on the audit;
    # small counts are attacked first, and then the cells that are sensitive otherwise.
    assert [budget.threads for budget in budgets_begun] == [1, 3, 3, 3, 3]
