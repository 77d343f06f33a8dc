"""Changing tables that were read: other codes, or other statuses."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.argus.apriori import apply_apriori
from tablecloak.argus.arguments import Arguments
from tablecloak.argus.command import COMMANDS, BatchCommand
from tablecloak.argus.lines import Command
from tablecloak.argus.preparation import tabulate_records
from tablecloak.argus.state import BatchState
from tablecloak.errors import InputError


@COMMANDS.register
class Recode(BatchCommand):
    """Take fewer codes of a dimension."""

    name: ClassVar[str] = "RECODE"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        number = arguments.whole("the number of a table", 0)
        arguments.take(",")
        name = arguments.word("a variable")
        arguments.take(",")
        how = arguments.word("a file or a level")
        arguments.end()
        if not batch.is_microdata:
            raise InputError(
                "Only microdata can be recoded, but the batch reads a table. Open microdata "
                "(OPENMICRODATA), or remove RECODE."
            )
        job = batch.job(number)
        batch.known(job)
        variable = job.metadata.variable(name)
        if variable.name not in job.trees:
            raise InputError(
                f"Table {job.specification.dimensions} has no dimension {name!r}. Name one of "
                f"these."
            )
        users = [other for other in batch.jobs if variable.name in other.trees]
        if any(other.protected is not None for other in users):
            raise InputError("A protected table cannot be recoded. Put RECODE before SUPPRESS.")
        if any(other.has_apriori for other in users):
            raise InputError("RECODE would undo what APRIORI changed. Put RECODE before APRIORI.")
        if variable.name in batch.recodes:
            earlier = batch.recodes[variable.name][0]
            batch.skip(
                command,
                f"the recoding of {variable.name} in line {earlier.line}: this one takes its "
                f"place, as in τ-ARGUS",
            )
        batch.recodes[variable.name] = (command, how)
        for other in users:
            tabulate_records(batch, command, other)
        found = job.recoded[variable.name]
        for note in found.notes:
            batch.skip(command, note)
        also = [str(other.number) for other in users if other is not job]
        beside = f", in table {' and '.join(also)} too, as in τ-ARGUS" if also else ""
        batch.say(
            command,
            f"table {number}, {variable.name} by {how}: {len(found.tree.codes)} codes instead of "
            f"{len(job.trees[variable.name].codes)}{beside}",
        )


@COMMANDS.register
class Apriori(BatchCommand):
    """Change statuses, levels and costs by a file."""

    name: ClassVar[str] = "APRIORI"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        name = arguments.word("the name of a file")
        arguments.take(",")
        number = arguments.whole("the number of a table", 0)
        arguments.take(",")
        separator = arguments.word("a separator in quotation marks")
        flags = [0, 0]
        for at, what in enumerate(("the flag for errors", "the flag for trivial levels")):
            if arguments.maybe(",") and not (arguments.next_is(",") or arguments.is_read):
                flags[at] = arguments.whole(what, 0, 1)
        arguments.end()
        job = batch.job(number)
        problem = batch.known(job)
        path = batch.input_path(name)
        done = apply_apriori(
            path,
            problem,
            [job.metadata.variable(key) for key in problem.table.keys.columns],
            separator=separator,
            lenient=flags[0] == 1,
            expand=flags[1] == 1,
            margin=job.margin,
        )
        for text in done.skipped:
            batch.skip(command, text)
        # An earlier pattern may not protect cells that became unsafe.
        job.problem, job.protected, job.has_apriori = done.problem, None, True
        job.asked.update(done.asked)
        chains = ", what cannot be done is named" if flags[0] else ""
        chains += ", with trivial levels" if flags[1] else ""
        batch.say(command, f"table {number}: {done.done} lines of {path.name}{chains}")


@COMMANDS.register
class Apriory(Apriori):
    """Change statuses, levels and costs by a file, as older batches spell it."""

    name: ClassVar[str] = "APRIORY"
