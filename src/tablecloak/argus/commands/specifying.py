"""Saying which tables are made, and which of their cells are sensitive."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.argus.arguments import Arguments
from tablecloak.argus.batch import read_rules, read_specification
from tablecloak.argus.command import COMMANDS, BatchCommand
from tablecloak.argus.lines import Command
from tablecloak.argus.rules import check_rules, describe
from tablecloak.argus.state import BatchState
from tablecloak.argus.table_job import TableJob
from tablecloak.errors import InputError


@COMMANDS.register
class SpecifyTable(BatchCommand):
    """Specify a table: its dimensions, its response, its costs."""

    name: ClassVar[str] = "SPECIFYTABLE"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        batch.before_reading()
        if batch.metadata is None or batch.data is None:
            raise InputError("Open data and metadata first (OPENMICRODATA, OPENMETADATA).")
        wanted = read_specification(arguments)
        number = len(batch.jobs) + 1
        job = TableJob(number, command, wanted, batch.metadata, batch.data, batch.is_microdata)
        batch.jobs.append(job)
        shadow = f", shadow {wanted.shadow}" if wanted.shadow else ""
        cost = f", costs {wanted.cost or 'the response'} to the power {wanted.power:g}"
        batch.say(
            command,
            f"table {number}: {' x '.join(wanted.dimensions)}, response {wanted.response}"
            f"{shadow}{cost}",
        )


@COMMANDS.register
class SafetyRule(BatchCommand):
    """Give the table specified last its rules."""

    name: ClassVar[str] = "SAFETYRULE"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        rules = read_rules(arguments)
        batch.before_reading()
        if not batch.jobs:
            raise InputError("SAFETYRULE needs a table. Put SPECIFYTABLE before it.")
        job = batch.jobs[-1]
        if job.rules is not None:
            raise InputError(
                f"Table {job.number} has rules already. Put all of them into one line."
            )
        check_rules(rules, job.metadata, job.is_microdata, job.is_count)
        job.rules, job.rules_command = rules, command
        batch.say(command, f"table {job.number}, {describe(rules)}")
