"""Batch files of tau-ARGUS: every command applied, named as not applied, or refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tablecloak.argus.commands import COMMANDS
from tablecloak.argus.lines import Command
from tablecloak.argus.outputs import BatchTable
from tablecloak.argus.places import encoding_of, lines_of
from tablecloak.argus.state import BatchState
from tablecloak.budget import Progress
from tablecloak.errors import InputError, suggestion
from tablecloak.storage import existing_file
from tablecloak.tables.problem import ProtectionProblem

PREPARING = frozenset(
    {
        "OPENMICRODATA", "OPENTABLEDATA", "OPENMETADATA", "SPECIFYTABLE", "SAFETYRULE",
        "READMICRODATA", "READTABLE", "APRIORI", "RECODE",
    }
)  # fmt: skip
"""Commands that only prepare tables; all others protect or write."""

NOT_APPLIED = 3
"""Exit code: all tables are proved safe, but something that was asked for was not applied."""

UNPROVED = 1
"""Exit code: a table is not proved safe, or not in full."""


@dataclass(frozen=True, eq=False)
class BatchResult:
    """What a batch gave.

    Parameters
    ----------
    tables : list of BatchTable
        In the order of the file.
    problems : list of ProtectionProblem
        The protection problem of every table that was read.
    files : list of Path
        What WRITETABLE wrote.
    beside : list of Path
        The log and the version, where they were asked for.
    log : list of str
        What was done, and what was done in another way than by tau-ARGUS, and why.
    not_applied : list of str
        The lines of the log that say what was not applied.
    not_reached : list of str
        Those that name cells whose full protection levels no table reaches.
    """

    tables: list[BatchTable]
    problems: list[ProtectionProblem]
    files: list[Path]
    beside: list[Path]
    log: list[str]
    not_applied: list[str]
    not_reached: list[str]

    @property
    def is_safe(self) -> bool:
        """Whether every table passed its audit."""
        return all(table.is_proved for table in self.tables)

    @property
    def exit_code(self) -> int:
        """0 all applied and proved; 1 not proved, or not in full; 3 see `not_applied`."""
        if self.not_reached or not self.is_safe:
            return UNPROVED
        return NOT_APPLIED if self.not_applied else 0

    @property
    def ending(self) -> str:
        """What its exit code means; "" for 0."""
        if not self.is_safe:
            return "NOT SAFE: a sensitive cell is not protected; no file for the public is written"
        if self.not_reached:
            return (
                'all files are written, but lines above name protection that is "not reached": '
                "decide whether it is enough before you publish"
            )
        if self.not_applied:
            return (
                "all files are written and every table is proved safe, but lines above say what is "
                '"not applied"'
            )
        return ""


def read_batch(path: str | Path) -> list[Command]:
    """Read a batch file.

    Raises
    ------
    InputError
        For a line that is no command, or an unknown one.
    """
    path = existing_file(path)
    commands = []
    for number, line in lines_of(path):
        found = re.match(r"<\s*([A-Za-z]+)\s*>(.*)$", line)
        if not found:
            raise InputError(f"{path}, line {number}: expected <COMMAND>, found {line[:40]!r}.")
        name = found.group(1).upper()
        if name not in COMMANDS:
            near = suggestion(name, COMMANDS)
            raise InputError(f"{path}, line {number}: <{name}> is not known.{near}")
        text = re.split(r'//(?=(?:[^"]*"[^"]*")*[^"]*$)', found.group(2))[0]
        commands.append(Command(path, number, name, text.strip()))
    if not commands:
        raise InputError(
            f"{path}: no command was found. A batch of tau-ARGUS has a command on each line, such "
            "as <OPENMICRODATA>."
        )
    return commands


def run_batch(
    path: str | Path,
    out: str | Path | None = None,
    *,
    time_limit: float | None = None,
    progress: Progress | None = None,
    on_line: Callable[[str], None] | None = None,
) -> BatchResult:
    """Run a batch file.

    Guarantee: for every batch for which this returns, every command and every argument in it was
    applied or is named in `BatchResult.not_applied`, and no file for the public shows a cell
    that the rules, a status or an a priori line of the batch make unsafe; checked by
    `tablecloak.argus.gate.check` before any file is written.

    Parameters
    ----------
    path : str or path
        The .arb file. Files that it names are looked for beside it, in any case.
    out : str or path, optional
        Folder for what WRITETABLE writes; by default that of the batch file.
    time_limit : float, optional
        Seconds for each SUPPRESS, instead of the minutes in the file.
    progress : callable, optional
        Called with stage, loss, bound and what is still open.
    on_line : callable, optional
        Called with each line of the log as soon as it is known.

    Returns
    -------
    BatchResult

    Raises
    ------
    InputError
        Names file and line of what cannot be done. No file was written.
    VerificationError
        If a file would show what must be protected. No file was written.
    """
    path = Path(path)
    batch = BatchState(
        path, Path(out) if out else path.parent, time_limit, progress, on_line=on_line
    )
    for command in read_batch(path):
        _apply(command, batch)
    encoding = encoding_of(batch.inputs, [*batch.log, *(output.text for output in batch.outputs)])
    if encoding != "utf-8":
        batch.record(f"the files are written in {encoding}, as those that were read are")
    for output in batch.outputs:
        output.write(encoding)
    tables = [job.protected for job in batch.jobs if job.protected is not None]
    problems = [job.problem for job in batch.jobs if job.problem is not None]
    files = [output.path for output in batch.outputs if output.is_table]
    beside = [output.path for output in batch.outputs if not output.is_table]
    return BatchResult(
        tables, problems, files, beside, batch.log, batch.not_applied, batch.not_reached
    )


def batch_problems(path: str | Path) -> list[ProtectionProblem]:
    """Return the protection problem of every table of a batch file, before anything is protected.

    Parameters
    ----------
    path : str or path
        The .arb file. Files that it names are looked for beside it.

    Raises
    ------
    InputError
        Names file and line of what cannot be done, or says that no table is read.
    """
    path = Path(path)
    batch = BatchState(path, path.parent)
    for command in read_batch(path):
        if command.name in PREPARING:
            _apply(command, batch)
    problems = [job.problem for job in batch.jobs if job.problem is not None]
    if not problems:
        raise InputError(
            f"{path}: no table is read. A batch needs SPECIFYTABLE, and READMICRODATA or READTABLE."
        )
    return problems


def _apply(command: Command, batch: BatchState) -> None:
    with command.named():
        arguments = command.arguments()
        COMMANDS[command.name](batch, command, arguments)
        # Arguments that a command did not take are an error, so that none is lost.
        arguments.end()
