"""The commands of a batch: one function each, found by the name in the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from tablecloak import __version__
from tablecloak.argus.apriori import apply_apriori
from tablecloak.argus.gate import check, check_together
from tablecloak.argus.lines import (
    Arguments,
    Command,
    SuppressionLine,
    Writing,
    read_rules,
    read_specification,
    read_writing,
)
from tablecloak.argus.linked import linked, positions
from tablecloak.argus.metadata import read_cells, read_metadata, read_microdata, specification_of
from tablecloak.argus.methods import METHODS, Task, read_suppression
from tablecloak.argus.outputs import OPTIONS_OF, SBS, BatchOutput, BatchTable, OutputLayout, made_of
from tablecloak.argus.preparation import tabulate_records, take_cells
from tablecloak.argus.rules import check_rules, describe, is_active, n_largest, numbers_of
from tablecloak.argus.state import BatchState, TableJob
from tablecloak.errors import InputError, VerificationError, counted
from tablecloak.tables.problem import ProtectionProblem

Action = Callable[[BatchState, Command, Arguments], None]
"""Applies a line to a batch. What follows the command and is not taken is an error."""

COMMANDS: dict[str, Action] = {}
"""All commands by their names, as they stand in brackets, in capitals."""


def command_named(*names: str) -> Callable[[Action], Action]:
    """Add a function as a command; use it as a decorator."""

    def added(action: Action) -> Action:
        COMMANDS.update(dict.fromkeys(names, action))
        return action

    return added


@command_named("SPECIFYTABLE")
def specify_table(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Specify a table: its dimensions, its response, its costs."""
    batch.before_reading()
    if batch.metadata is None or batch.data is None:
        raise InputError("Open data and metadata first (OPENMICRODATA, OPENMETADATA).")
    wanted = read_specification(arguments)
    for name in (wanted.response, wanted.shadow, wanted.cost):
        if name and not name.startswith(("<", "-")):
            batch.metadata.variable(name)
    for name in wanted.dimensions:
        batch.metadata.code_list(batch.metadata.variable(name))
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


@command_named("SAFETYRULE")
def safety_rule(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Give the table specified last its rules."""
    rules = read_rules(arguments)
    batch.before_reading()
    if not batch.jobs:
        raise InputError("SAFETYRULE needs a table. Put SPECIFYTABLE before it.")
    job = batch.jobs[-1]
    if job.rules is not None:
        raise InputError(f"Table {job.number} has rules already. Put all of them into one line.")
    check_rules(rules, job.metadata, job.is_microdata, job.is_count)
    job.rules, job.rules_command = rules, command
    batch.say(command, f"table {job.number}, {describe(rules)}")


@command_named("OPENMICRODATA", "OPENTABLEDATA")
def open_data(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Open a file of records, or one of cells."""
    is_microdata = command.name == "OPENMICRODATA"
    if batch.data is not None and batch.metadata is None:
        raise InputError(f"{batch.data.name} was opened already and has no metadata yet.")
    if batch.jobs and (is_microdata or batch.is_microdata or batch.is_read):
        raise InputError("Other data are open already. Put CLEAR before this line.")
    batch.data = batch.input_path(arguments.word("the name of a file"))
    batch.is_microdata, batch.metadata = is_microdata, None
    batch.say(command, batch.data.name)


@command_named("OPENMETADATA")
def open_metadata(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Open the description of the data."""
    if batch.data is None or batch.metadata is not None:
        raise InputError("Open data before their metadata, and metadata only once.")
    path = batch.input_path(arguments.word("the name of a file"))
    batch.metadata = read_metadata(path)
    batch.say(command, path.name)


@command_named("CLEAR")
def clear(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Close all tables, data and metadata."""
    batch.jobs, batch.recodes = [], {}
    batch.data = batch.metadata = batch.frame = None
    batch.say(command, "tables, data and metadata are closed")


@command_named("READMICRODATA")
def read_records(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Read the records, and make all tables of them."""
    batch.before_reading()
    if not batch.jobs or not batch.is_microdata:
        raise InputError("Open microdata and specify a table first (OPENMICRODATA).")
    names: list[str] = []
    for job in batch.jobs:
        if job.rules is None:
            raise InputError(
                f"Table {job.number} has no SAFETYRULE: every cell would be safe. Add one."
            )
        wanted = job.specification
        response = "" if job.is_count else wanted.response
        names += [*wanted.dimensions, response, wanted.shadow, wanted.cost]
        if any(numbers[0] for numbers in numbers_of(job.rules, "WGT")):
            names += [variable.name for variable in job.metadata.with_tag("WEIGHT")]
    metadata, data = batch.jobs[0].metadata, batch.jobs[0].data
    for tag in ("HOLDING", "REQUEST"):
        names += [variable.name for variable in metadata.with_tag(tag)]
    names = [name for name in names if name and not name.startswith(("<", "-"))]
    known = dict.fromkeys(metadata.variable(name).name for name in names)
    batch.frame, notes = read_microdata(metadata, data, list(known))
    batch.say(command, f"{len(batch.frame)} records of {data.name}")
    for note in notes:
        batch.say(command, note)
    for job in batch.jobs:
        job.trees = {
            variable.name: metadata.hierarchy(variable, set(batch.frame[variable.name]))
            for variable in job.variables()
        }
        tabulate_records(batch, command, job)


@command_named("READTABLE")
def read_table(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Read the cells of all tables."""
    mode = (arguments.optional() or "0").upper()
    if mode not in ("0", "1", "1T", "1F", "2"):
        raise InputError(f"READTABLE takes 0, 1, 1T, 1F or 2, found {mode!r}.")
    batch.before_reading()
    if batch.metadata is None or batch.data is None or batch.is_microdata:
        raise InputError("Open a table and its metadata first (OPENTABLEDATA, OPENMETADATA).")
    if not batch.jobs:
        wanted = specification_of(batch.metadata)
        batch.jobs.append(TableJob(1, command, wanted, batch.metadata, batch.data, False))
        batch.say(
            command,
            f"table 1 by the metadata: {' x '.join(wanted.dimensions)}, response {wanted.response}",
        )
    how = {"0": "totals must add up", "2": "totals need not add up"}
    batch.say(command, f"{mode}: {how.get(mode, 'totals are made of the most detailed cells')}")
    for job in batch.jobs:
        cells, notes = read_cells(job.metadata, job.data)
        for note in notes:
            batch.say(command, note)
        take_cells(batch, command, job, cells, mode)


@command_named("RECODE")
def recode(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Take fewer codes of a dimension."""
    number = arguments.whole("the number of a table", 0)
    arguments.take(",")
    name = arguments.word("a variable")
    arguments.take(",")
    how = arguments.word("a file or a level")
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
            f"Table {job.specification.dimensions} has no dimension {name!r}. Name one of these."
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


@command_named("APRIORI", "APRIORY")
def apriori(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Change statuses, levels and costs by a file."""
    name = arguments.word("the name of a file")
    arguments.take(",")
    number = arguments.whole("the number of a table", 0)
    arguments.take(",")
    separator = arguments.word("a separator in quotation marks")
    flags = [0, 0]
    for at, what in enumerate(("the flag for errors", "the flag for trivial levels")):
        if arguments.maybe(",") and not (arguments.next_is(",") or arguments.is_read):
            flags[at] = arguments.whole(what, 0, 1)
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
    batch.say(command, f"table {number}: {counted(done.done, 'line')} of {path.name}{chains}")


UNUSED = {
    "scale": "the largest cost (MSC): costs are not scaled",
    "lower": "LOWERMARG: the whole table is one problem, no subtable has levels of its own",
    "upper": "UPPERMARG: the whole table is one problem, no subtable has levels of its own",
    "size": "the size of the model: there is one for all tables",
    "partitions": "partitions: the whole table is rounded at once",
}
"""Arguments of methods that have no effect here, and why."""


@command_named("SUPPRESS")
def suppress(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Protect one table, or all as one."""
    wanted = read_suppression(arguments)
    jobs = batch.jobs if wanted.table == 0 else [batch.job(wanted.table)]
    problems = [batch.known(job) for job in jobs]
    if not problems:
        raise InputError("Read the data first (READMICRODATA or READTABLE).")
    problem = problems[0] if len(problems) == 1 else _joined(jobs, problems)
    _say(batch, command, wanted)
    method = METHODS[wanted.method]()
    minutes = wanted.numbers.get("minutes") or method.minutes
    seconds = batch.time_limit or 60 * minutes
    done = method.protect(Task(batch, command, wanted, jobs, problem, seconds))
    for job, own in zip(jobs, problems, strict=True):
        job.protected = replace(_part(done, problem, job, own), line=command.line)
        if done.method == "suppressed":
            hidden, unsafe = job.protected.suppressed, own.sensitive
            batch.say(
                command,
                f"table {job.number}: {counted(int(hidden.sum()), 'cell')} hidden, "
                f"{int((hidden & unsafe).sum())} unsafe and {int((hidden & ~unsafe).sum())} "
                f"secondary",
            )


def _joined(jobs: list[TableJob], problems: list[ProtectionProblem]) -> ProtectionProblem:
    """Return all tables as one; of several responses only where their values agree."""
    try:
        return linked(problems)
    except InputError as error:
        responses = list(dict.fromkeys(job.specification.response for job in jobs))
        if len(responses) == 1:
            raise
        raise InputError(
            f"Table 0 joins tables of one response, but these are tables of "
            f"{' and '.join(responses)}. Protect each by a SUPPRESS with its own number, or "
            f"specify those of each response after a CLEAR."
        ) from error


def _part(
    done: BatchTable, problem: ProtectionProblem, job: TableJob, own: ProtectionProblem
) -> BatchTable:
    """Return what was decided on the cells of one table."""
    at = positions(problem.table, own.table)
    return replace(
        done,
        problem=own,
        suppressed=done.suppressed[at],
        values=done.values[at] if done.is_changed else own.table.values,
        decimals=job.decimals,
        codes=job.codes(),
        has_counts=job.has_counts,
    )


def _say(batch: BatchState, command: Command, wanted: SuppressionLine) -> None:
    given = "".join(f", {name} {number:g}" for name, number in wanted.numbers.items())
    batch.say(command, f"{wanted.method} of table {wanted.table or 'all'}{given}")
    if batch.time_limit and "minutes" in wanted.numbers:
        batch.say(command, f"{batch.time_limit:g} seconds by option instead of the minutes")
    for name, text in UNUSED.items():
        if wanted.numbers.get(name):
            batch.say(command, f"not needed: {text}")
    if wanted.numbers.get("stop") == 1:
        batch.skip(command, "stop at the first rounding: the best one in time is taken")


@command_named("WRITETABLE")
def write_table(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Write a table in one of the formats of tau-ARGUS."""
    wanted = read_writing(arguments)
    job = batch.job(wanted.table)
    problem = batch.known(job)
    layout = _layout(job, wanted)
    protected = _ready(job, problem, wanted, layout)
    _check(batch, command, job, protected, layout)
    for name in sorted(wanted.options.keys() - set(OPTIONS_OF.get(wanted.kind, ()))):
        text = f"the option {name}, which says nothing about type {wanted.kind}"
        batch.say(command, f"not needed: {text}")
    files = made_of(
        protected, layout, batch.output_path(wanted.file, is_internal=layout.is_internal)
    )
    for output in files:
        batch.require_free(output.path)
        batch.outputs.append(output)
    options = "".join(f"{name}{'+' if on else '-'}" for name, on in wanted.options.items())
    batch.say(command, f"table {job.number}, type {wanted.kind} {options}: {files[0].path.name}")
    if not layout.is_public:
        inner = files[0].path.relative_to(batch.out)
        where = "it must stay inside"
        if wanted.kind == SBS:
            where = "for the authority that receives it, and for no reader"
        batch.say(
            command, f"{inner}: tells which cells are sensitive, or their true values; {where}"
        )


def _layout(job: TableJob, wanted: Writing) -> OutputLayout:
    return OutputLayout(
        wanted.kind,
        wanted.options,
        "Freq" if job.is_count else job.metadata.variable(job.specification.response).name,
        n_largest(job.all_rules),
        job.is_count,
        "F" if any(is_active(rule) for rule in job.all_rules if rule.name == "P") else "B",
    )


def _check(
    batch: BatchState, command: Command, job: TableJob, protected: BatchTable, layout: OutputLayout
) -> None:
    """Raise if the file would show what must be protected, alone or beside others."""
    assert job.evidence is not None
    published = check(protected, job.evidence, job.all_rules, job.asked, is_public=layout.is_public)
    if published and layout.is_public:
        batch.skip(
            command,
            f"the rules on {counted(len(published), 'cell')} that APRIORI declares safe: "
            f"{'; '.join(published)}",
        )
    if protected.line:
        _check_beside_others(batch, job, protected)


def _check_beside_others(batch: BatchState, job: TableJob, protected: BatchTable) -> None:
    """Check a table beside those of the same response that other lines protected.

    A file with statuses stays inside, and says all the same what somebody will publish.
    """
    response = job.specification.response.lower()
    others = [
        other
        for name, other in batch.published
        if name == response and other.line != protected.line
    ]
    check_together(protected, others)
    batch.published.append((response, protected))


def _ready(
    job: TableJob, problem: ProtectionProblem, wanted: Writing, layout: OutputLayout
) -> BatchTable:
    """Return the protected table; an unprotected one only for internal formats."""
    inner = wanted.kind in (5, 6)
    if job.protected is None:
        if not inner:
            raise InputError(
                "The table was not protected (no SUPPRESS): it would be published with its "
                "sensitive cells."
            )
        return BatchTable(
            problem,
            np.zeros(problem.table.n_cells, dtype=bool),
            problem.table.values,
            job.decimals,
            job.codes(),
            has_counts=job.has_counts,
        )
    if not inner and not job.says_what:
        raise InputError(
            f"Nothing says which cells of table {job.number} are sensitive: there is no rule "
            f"in force, no <STATUS> and no APRIORI. Give it rules by SAFETYRULE."
        )
    if layout.is_public and not job.protected.is_proved:
        raise VerificationError(
            f"Nothing was written: table {job.number} is not proved to be safe. Give SUPPRESS "
            f"more time, or remove cells."
        )
    return job.protected


@dataclass(frozen=True, eq=False)
class _Log(BatchOutput):
    """The log of the batch, written at its end."""

    lines: list[str] = field(default_factory=list)

    def write(self, encoding: str) -> None:
        """Write it."""
        text = "".join(f"{line}\n" for line in self.lines)
        BatchOutput(self.path, text, True).write(encoding)


@command_named("SOLVER")
def solver(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Name the solver."""
    name = arguments.word("the name of a solver").upper()
    if name not in ("FREE", "CPLEX", "XPRESS"):
        raise InputError(f"SOLVER takes FREE, CPLEX or XPRESS, found {name!r}.")
    licence = arguments.word("a licence") if arguments.maybe(",") else ""
    if name == "FREE":
        batch.say(command, "FREE: HiGHS; every answer is checked by its certificate")
    else:
        batch.skip(command, f"{name}: HiGHS solves; every answer is checked by its certificate")
    if licence:
        batch.skip(command, f"the licence {licence!r}: none is needed")


@command_named("LOGBOOK")
def logbook(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Write the log to a file."""
    path = batch.output_path(arguments.word("the name of a file"))
    batch.say(command, f"log in {path.name}")
    batch.outputs.append(_Log(path, "", True, is_table=False, lines=batch.log))


@command_named("VERSIONINFO")
def version_info(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Write the version to a file."""
    path = batch.output_path(arguments.word("the name of a file"))
    batch.say(command, f"version in {path.name}")
    text = f"tablecloak version: {__version__}\n"
    batch.outputs.append(BatchOutput(path, text, False, is_table=False))


@command_named("GOINTERACTIVE")
def go_interactive(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Open a window; not applied, since there is none."""
    what = "there is no window; see `tablecloak app`"
    if not any(output.is_table for output in batch.outputs):
        lines = '<WRITETABLE> (1,4,AS+,"table.sbs")'
        if not any(job.protected for job in batch.jobs):
            lines = f"<SUPPRESS> MOD(1) and {lines}"
        what += f". No table is written: write {lines} above this line"
    batch.skip(command, what)


@command_named("SILENT")
def silent(batch: BatchState, command: Command, arguments: Arguments) -> None:
    """Run without windows, as this program always does."""
    batch.say(command, "no window is opened")
