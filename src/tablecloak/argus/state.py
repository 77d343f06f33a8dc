"""What a batch has done so far, and its log."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from tablecloak.argus.lines import Command
from tablecloak.argus.metadata import Metadata
from tablecloak.argus.outputs import Output, Protected
from tablecloak.argus.places import find_file
from tablecloak.argus.table_job import TableJob
from tablecloak.budget import Progress
from tablecloak.errors import InputError
from tablecloak.storage import require_writable
from tablecloak.tables.problem import ProtectionProblem


@dataclass
class BatchState:
    """What the commands of a batch have opened, specified, read and protected so far.

    Parameters
    ----------
    path, out : Path
        The batch file, and the folder for what it writes.
    time_limit : float, optional
        Seconds for each SUPPRESS, instead of the minutes in the file.
    progress : callable, optional
    """

    path: Path
    out: Path
    time_limit: float | None = None
    progress: Progress | None = None
    data: Path | None = None
    is_microdata: bool = True
    metadata: Metadata | None = None
    frame: pd.DataFrame | None = None
    recodes: dict[str, tuple[Command, str]] = field(default_factory=dict)
    jobs: list[TableJob] = field(default_factory=list)
    inputs: set[Path] = field(default_factory=set)
    outputs: list[Output] = field(default_factory=list)
    published: list[tuple[Path, str, Protected]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    not_applied: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.inputs.add(self.path.resolve())

    def say(self, command: Command, text: str) -> None:
        """Log what was done."""
        self.log.append(f"line {command.line}, {command.name}: {text}")

    def skip(self, command: Command, text: str) -> None:
        """Log what is not applied; only for what cannot affect which cells are safe."""
        self.say(command, f"not applied: {text}")
        self.not_applied.append(self.log[-1])

    def input_path(self, name: str) -> Path:
        """Return the path of an input file, and record that it must not be overwritten."""
        path = find_file(name, self.path.parent)
        self.inputs.add(path.resolve())
        return path

    def output_path(self, name: str) -> Path:
        """Return where a file of a name is written.

        Raises
        ------
        InputError
            If it is no name of a file, or belongs to a file that is read or written already.
        """
        last = Path(name.replace("\\", "/")).name
        if last in ("", "..") or "\0" in last:
            raise InputError(f"{name!r} is no name of a file.")
        path = self.out / last
        if path.resolve() in self.inputs:
            raise InputError(f"{path} is read by this batch. Choose another name for the output.")
        if any(path == output.path for output in self.outputs):
            raise InputError(f"{path} is written twice by this batch. Choose another name.")
        require_writable(path)
        return path

    @property
    def is_read(self) -> bool:
        """Whether the data of a table were read."""
        return any(job.problem is not None for job in self.jobs)

    def before_reading(self) -> None:
        """Raise if the data were read already."""
        if self.is_read:
            raise InputError("The data were read already. Put CLEAR before this line.")

    def job(self, number: int) -> TableJob:
        """Return a table by its number."""
        if not 1 <= number <= len(self.jobs):
            raise InputError(f"There is no table '{number}'; there are {len(self.jobs)}.")
        return self.jobs[number - 1]

    def known(self, job: TableJob) -> ProtectionProblem:
        """Return what is to be protected of a table that was read."""
        if job.problem is None:
            raise InputError("Read the data first (READMICRODATA or READTABLE).")
        return job.problem
