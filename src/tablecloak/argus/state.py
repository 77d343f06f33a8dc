"""What a batch has done so far: its log, and its tables with their specifications."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from tablecloak.argus.gate import Evidence, Key
from tablecloak.argus.lines import BatchRule, Command, Specification
from tablecloak.argus.metadata import Metadata, Variable
from tablecloak.argus.outputs import INTERNAL, BatchOutput, BatchTable
from tablecloak.argus.places import find_file
from tablecloak.argus.recode import Recoded
from tablecloak.argus.rules import is_active, numbers_of
from tablecloak.argus.tables import counts
from tablecloak.budget import Progress
from tablecloak.errors import InputError
from tablecloak.graph import children_of, parents_first
from tablecloak.storage import require_writable
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.problem import ProtectionProblem

MARGIN = 20.0
"""Protection level of cells with a given status, in per cent, unless MAN says otherwise.

That of tau-ARGUS.
"""


@dataclass
class TableJob:
    """One table of a batch."""

    number: int
    command: Command
    specification: Specification
    metadata: Metadata
    data: Path
    is_microdata: bool
    rules: list[BatchRule] | None = None
    rules_command: Command | None = None
    trees: dict[str, Hierarchy] = field(default_factory=dict)
    recoded: dict[str, Recoded] = field(default_factory=dict)
    asked: dict[Key, str] = field(default_factory=dict)
    has_apriori: bool = False
    problem: ProtectionProblem | None = None
    evidence: Evidence | None = None
    protected: BatchTable | None = None

    @property
    def all_rules(self) -> list[BatchRule]:
        """The rules, none if the command is missing."""
        return self.rules or []

    @property
    def is_count(self) -> bool:
        """Whether the table counts."""
        return counts(self.specification, self.metadata, self.is_microdata)

    @property
    def margin(self) -> float:
        """Per cent for cells with a given status."""
        found = numbers_of(self.all_rules, "MAN")
        return found[0][0] if found else MARGIN

    @property
    def has_counts(self) -> bool:
        """Whether the number of contributors of a cell is known, and not only a bound on it."""
        return self.is_microdata or bool(self.metadata.with_tag("FREQUENCY"))

    @property
    def says_what(self) -> bool:
        """Whether anything says which cells are sensitive."""
        by_status = not self.is_microdata and bool(self.metadata.with_tag("STATUS"))
        return self.has_apriori or by_status or any(map(is_active, self.all_rules))

    def variables(self) -> list[Variable]:
        """The dimensions."""
        return [self.metadata.variable(name) for name in self.specification.dimensions]

    def missing(self, variable: Variable) -> tuple[str, ...]:
        """Codes for missing, after recoding."""
        found = self.recoded.get(variable.name)
        return found.missing if found else variable.missing

    def safe_codes(self) -> dict[str, tuple[str, ...]]:
        """Codes that make a cell safe (MIS)."""
        is_on = any(numbers[0] for numbers in numbers_of(self.all_rules, "MIS"))
        return {v.name: self.missing(v) for v in self.variables()} if is_on else {}

    @property
    def decimals(self) -> int:
        """Digits behind the decimal point of the response."""
        response = self.specification.response.lower()
        found = [v.decimals for v in self.metadata.variables if v.name.lower() == response]
        return found[0] if found else 0

    def codes(self) -> list[list[str]]:
        """All codes of each dimension, as tau-ARGUS lists them."""
        assert self.problem is not None
        return [
            _all_codes(tree, self.missing(self.metadata.variable(name)), name not in self.recoded)
            for name, tree in self.problem.table.hierarchies.items()
        ]


def _all_codes(tree: Hierarchy, missing: tuple[str, ...], with_missing: bool) -> list[str]:
    """Codes as tau-ARGUS lists them: in the order of the tree, codes for missing in the end."""
    walk = parents_first([tree.total], children_of(tree.groups))
    found = list(dict.fromkeys(code for code, _ in walk))
    if with_missing:
        found = [code for code in found if code not in missing]
        found += [code for code in dict.fromkeys(missing) if code != tree.total]
    return found


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
    on_line : callable, optional
        Called with each line of the log as soon as it is known.
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
    outputs: list[BatchOutput] = field(default_factory=list)
    published: list[tuple[str, BatchTable]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    not_applied: list[str] = field(default_factory=list)
    not_reached: list[str] = field(default_factory=list)
    on_line: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        self.inputs.add(self.path.resolve())

    def record(self, line: str) -> None:
        """Add a line to the log."""
        self.log.append(line)
        if self.on_line is not None:
            self.on_line(line)

    def say(self, command: Command, text: str) -> None:
        """Log what was done."""
        self.record(f"line {command.line}, {command.name}: {text}")

    def skip(self, command: Command, text: str) -> None:
        """Log what is not applied; only for what cannot affect which cells are safe."""
        self.say(command, f"not applied: {text}")
        self.not_applied.append(self.log[-1])

    def miss(self, command: Command, text: str) -> None:
        """Log which protection nothing can give under what the line says."""
        self.say(command, f"not reached: {text}")
        self.not_reached.append(self.log[-1])

    def input_path(self, name: str) -> Path:
        """Return the path of an input file, and record that it must not be overwritten."""
        inside = [self.out / INTERNAL] if self.out.resolve() != self.path.parent.resolve() else []
        path = find_file(name, self.path.parent, inside)
        self.inputs.add(path.resolve())
        return path

    def output_path(self, name: str, *, is_internal: bool = False) -> Path:
        """Return where a file of a name is written.

        What must stay inside is written to the folder ``internal``, unless the batch names a folder
        for it, as programs do that fetch it from there.

        Raises
        ------
        InputError
            If it is no name of a file, or belongs to a file that is read or written already.
        """
        plain = name.replace("\\", "/")
        last = Path(plain).name
        if last in ("", "..") or "\0" in last:
            raise InputError(f"{name!r} is no name of a file.")
        path = self.out / last if "/" in plain or not is_internal else self.out / INTERNAL / last
        self.require_free(path)
        return path

    def require_free(self, path: Path) -> None:
        """Raise if a file is read or written already, or cannot be written."""
        if path.resolve() in self.inputs:
            raise InputError(f"{path} is read by this batch. Choose another name for the output.")
        if any(path == output.path for output in self.outputs):
            raise InputError(f"{path} is written twice by this batch. Choose another name.")
        require_writable(path)

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
