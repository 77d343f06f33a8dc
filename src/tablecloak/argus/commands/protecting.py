"""Protecting tables by one of the methods of SUPPRESS."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from tablecloak.argus.arguments import Arguments
from tablecloak.argus.batch import read_suppression
from tablecloak.argus.command import COMMANDS, BatchCommand
from tablecloak.argus.lines import Command, Suppression
from tablecloak.argus.linked import linked, positions
from tablecloak.argus.method import METHODS, Task
from tablecloak.argus.outputs import Protected
from tablecloak.argus.state import BatchState
from tablecloak.argus.table_job import TableJob
from tablecloak.errors import InputError
from tablecloak.tables.problem import ProtectionProblem

UNUSED = {
    "scale": "the largest cost (MSC): costs are not scaled",
    "lower": "LOWERMARG: the whole table is one problem, no subtable has levels of its own",
    "upper": "UPPERMARG: the whole table is one problem, no subtable has levels of its own",
    "size": "the size of the model: there is one for all tables",
    "partitions": "partitions: the whole table is rounded at once",
}
"""Arguments of methods that have no effect here, and why."""


@COMMANDS.register
class Suppress(BatchCommand):
    """Protect one table, or all as one."""

    name: ClassVar[str] = "SUPPRESS"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        wanted = read_suppression(arguments)
        jobs = batch.jobs if wanted.table == 0 else [batch.job(wanted.table)]
        problems = [batch.known(job) for job in jobs]
        if not problems:
            raise InputError("Read the data first (READMICRODATA or READTABLE).")
        problem = problems[0] if len(problems) == 1 else linked(problems)
        problem = _bounded(batch, command, wanted, problem)
        _say(batch, command, wanted)
        method = METHODS[wanted.method]()
        minutes = wanted.numbers.get("minutes") or method.minutes
        seconds = batch.time_limit or 60 * minutes
        done = method.protect(Task(batch, command, wanted, jobs, problem, seconds))
        for job, own in zip(jobs, problems, strict=True):
            job.protected = _part(done, problem, job, own)


def _part(
    done: Protected, problem: ProtectionProblem, job: TableJob, own: ProtectionProblem
) -> Protected:
    """Return what was decided on the cells of one table."""
    at = positions(problem.table, own.table)
    return replace(
        done,
        problem=own,
        suppressed=done.suppressed[at],
        values=done.values[at] if done.is_changed else own.table.values,
        decimals=job.decimals,
        codes=job.codes(),
    )


def _say(batch: BatchState, command: Command, wanted: Suppression) -> None:
    given = "".join(f", {name} {number:g}" for name, number in wanted.numbers.items())
    batch.say(command, f"{wanted.method} of table {wanted.table or 'all'}{given}")
    if batch.time_limit and "minutes" in wanted.numbers:
        batch.say(command, f"{batch.time_limit:g} seconds by option instead of the minutes")
    for name, text in UNUSED.items():
        if wanted.numbers.get(name):
            batch.skip(command, text)
    if wanted.numbers.get("stop") == 1:
        batch.skip(command, "stop at the first rounding: the best one in time is taken")


def _bounded(
    batch: BatchState, command: Command, wanted: Suppression, problem: ProtectionProblem
) -> ProtectionProblem:
    """Apply what an intruder knows beforehand (GH), in per cent of each value."""
    if "bounds" not in wanted.numbers:
        return problem
    room = wanted.numbers["bounds"] / 100 * np.abs(problem.table.values)
    batch.say(command, f"everybody knows each value up to {wanted.numbers['bounds']:g} %")
    return problem.with_changes(
        lower_bound=np.maximum(problem.lower_bound, problem.table.values - room),
        upper_bound=np.minimum(problem.upper_bound, problem.table.values + room),
    )
