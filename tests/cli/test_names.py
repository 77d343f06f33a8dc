"""Names that users choose from are asked of registries when they are typed."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from tablecloak.cli import names
from tablecloak.cli.entry import Program
from tablecloak.cli.main import app
from tablecloak.cli.names import ALL, LiveCommand, Names
from tablecloak.errors import InputError
from tablecloak.suppression.system.requirement import REQUIREMENTS

RUN = CliRunner()
WIDE = {"COLUMNS": "250"}


def program(named: Names, *, is_list: bool = False) -> typer.Typer:
    made = typer.Typer(cls=Program)

    def work(value=None) -> None:
        typer.echo(f"took {value}")

    kind = list[str] | None if is_list else str | None
    work.__annotations__["value"] = Annotated[kind, named.option("--value", text="Which one.")]
    made.command(cls=LiveCommand)(work)
    made.command()(lambda: None)
    return made


FRUIT = Names("fruit", lambda: {"apple": "Round.", "pear": ""})


def test_a_name_that_is_known_is_taken_and_another_is_answered_with_the_likely_one():
    assert RUN.invoke(program(FRUIT), ["work", "--value", "pear"]).output == "took pear\n"
    refused = RUN.invoke(program(FRUIT), ["work", "--value", "aple"], env=WIDE)
    assert refused.exit_code == 2
    assert "There is no fruit 'aple'. Did you mean 'apple'?" in refused.output


def test_each_name_of_a_repeated_option_is_checked():
    made = program(FRUIT, is_list=True)
    words = ["work", "--value", "pear", "--value", "plum"]
    assert "There is no fruit 'plum'" in RUN.invoke(made, words, env=WIDE).output


def test_nothing_given_is_nothing_to_check():
    assert RUN.invoke(program(FRUIT), ["work"]).output == "took None\n"


def test_help_lists_the_names_that_are_known_when_it_is_shown(monkeypatch):
    known = {"apple": "Round."}
    growing = Names("growing fruit", lambda: known)
    monkeypatch.setattr(names, "ALL", (growing,))
    made = program(growing)
    assert "Which one. apple: Round" in RUN.invoke(made, ["work", "--help"], env=WIDE).output
    known["pear"] = "Long."
    shown = RUN.invoke(made, ["work", "--help"], env=WIDE).output
    assert "apple: Round; pear: Long" in shown
    assert growing.placeholder not in shown


def test_a_value_that_is_more_than_a_name_is_read_by_what_it_names():
    def read(text: str) -> None:
        if not text.isdigit():
            raise InputError(f"{text!r} is no number of workers.")

    sized = Names("size", lambda: {"3": ""}, read)
    assert RUN.invoke(program(sized), ["work", "--value", "17"]).output == "took 17\n"
    refused = RUN.invoke(program(sized), ["work", "--value", "many"], env=WIDE)
    assert "'many' is no number of workers." in refused.output


@pytest.mark.parametrize("named", ALL, ids=lambda named: named.noun)
def test_every_list_of_names_can_be_loaded_and_shown(named):
    loaded = named.load()
    assert loaded
    assert all(name in named.listed() for name in loaded)


def test_no_two_lists_share_a_placeholder():
    placeholders = [named.placeholder for named in ALL]
    assert len(placeholders) == len(set(placeholders))


def commands_of(group, path=()):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands_of(command, (*path, name))
        else:
            yield (*path, name)


COMMANDS = sorted(commands_of(typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_help_of_every_command_is_complete_and_has_an_example_of_itself(words):
    done = RUN.invoke(app, [*words, "--help"], env=WIDE)
    assert done.exit_code == 0
    assert not [named.placeholder for named in ALL if named.placeholder in done.output]
    if words[0] not in ("agencies", "verify"):
        assert f"tablecloak {' '.join(words)} " in done.output + " "


def test_what_is_registered_at_run_time_can_be_asked_for(tmp_path):
    base = REQUIREMENTS["width"]

    class Wider(base):
        """Twice as wide as needed."""

        name = "wider"

    assert "wider" not in names.REQUIREMENTS.load()
    with REQUIREMENTS.including(Wider):
        assert "wider: Twice as wide as needed" in names.REQUIREMENTS.listed()
        shown = RUN.invoke(app, ["suppress", "--help"], env=WIDE).output
        assert "wider: Twice as wide" in " ".join(shown.replace("│", " ").split())
