"""Commands of ways to protect, whose options are declared with the ways."""

from __future__ import annotations

import typer

from tablecloak.cli.main import app
from tablecloak.protection import PROTECTIONS

OF_JOBS = {"cost", "measurement_error", "capacity", "capacity_percent"}
"""Parameters that need columns of data, or change the problem, which commands take as it is."""

OTHER_DEFAULTS = {"weights": "file", "hold": "strict"}
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
