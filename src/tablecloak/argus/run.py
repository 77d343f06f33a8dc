"""Batch files of tau-ARGUS: every command applied, named as not applied, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak import __version__
from tablecloak.argus.apriori import apply_apriori, with_status
from tablecloak.argus.arguments import Arguments
from tablecloak.argus.batch import (
    Command,
    Rule,
    Specification,
    Suppression,
    Writing,
    read_batch,
    read_rules,
    read_specification,
    read_suppression,
    read_writing,
)
from tablecloak.argus.evidence import of_cells, of_records
from tablecloak.argus.gate import Evidence, Key, check, check_together
from tablecloak.argus.linked import linked, positions
from tablecloak.argus.metadata import Metadata, Variable, read_cells, read_metadata, read_microdata
from tablecloak.argus.outputs import OPTIONS_OF, Layout, Output, Protected, made_of
from tablecloak.argus.places import find_file
from tablecloak.argus.recode import Recoded, recode
from tablecloak.argus.rules import (
    check_rules,
    describe,
    is_active,
    n_largest,
    numbers_of,
    sensitivity_rules,
)
from tablecloak.argus.singletons import with_virtual_cells
from tablecloak.argus.tables import Cells, counts, from_cells, from_records, read_statuses
from tablecloak.cta.adjust import adjust
from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.errors import InputError, TablecloakError, VerificationError
from tablecloak.publish.audit import audit
from tablecloak.suppression.suppress import suppress
from tablecloak.tables.dimensions import Dimension
from tablecloak.tables.external_bounds import not_zero
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.problem import CellStatus, ProtectionProblem
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.tabulate import tabulate
from tablecloak.tables.weights.rule import WeightRule

__all__ = ["NOT_APPLIED", "BatchResult", "run_batch"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Trees = dict[str, Hierarchy]
Progress = Callable[[str, float, float, int], None]

NOT_APPLIED = 3
"""Exit code: all tables are proved safe, but something that was asked for was not applied."""

MARGIN = 20.0
"""Protection level of cells with a given status, in per cent, unless MAN says otherwise."""

MINUTES = {"MOD": 1.0, "OPT": 1.0, "RND": 10.0}
"""Minutes for a method that is given none, where it takes any."""


@dataclass
class _Job:
    """One table of a batch."""

    number: int
    command: Command
    specification: Specification
    metadata: Metadata
    data: Path
    is_microdata: bool
    rules: list[Rule] | None = None
    rules_command: Command | None = None
    trees: dict[str, Hierarchy] = field(default_factory=dict)
    recoded: dict[str, Recoded] = field(default_factory=dict)
    asked: dict[Key, str] = field(default_factory=dict)
    has_apriori: bool = False
    problem: ProtectionProblem | None = None
    evidence: Evidence | None = None
    protected: Protected | None = None

    @property
    def all_rules(self) -> list[Rule]:
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


@dataclass(frozen=True, eq=False)
class BatchResult:
    """What a batch gave.

    Parameters
    ----------
    tables : list of Protected
        In the order of the file.
    problems : list of ProtectionProblem
        What was to be protected, of every table that was read.
    files : list of Path
        What WRITETABLE wrote.
    beside : list of Path
        The log and the version, where they were asked for.
    log : list of str
        What was done, and what was done in another way than by tau-ARGUS, and why.
    not_applied : list of str
        The lines of the log that say what was not applied.
    """

    tables: list[Protected]
    problems: list[ProtectionProblem]
    files: list[Path]
    beside: list[Path]
    log: list[str]
    not_applied: list[str]

    @property
    def is_safe(self) -> bool:
        """Whether every table passed its audit."""
        return all(table.is_proved for table in self.tables)

    @property
    def exit_code(self) -> int:
        """0 all was applied and proved; 1 a table is not proved safe; 3 see `not_applied`."""
        return 1 if not self.is_safe else NOT_APPLIED if self.not_applied else 0


def run_batch(
    path: str | Path,
    out: str | Path | None = None,
    *,
    time_limit: float | None = None,
    progress: Progress | None = None,
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
    runner = _Runner(path, Path(out) if out else path.parent, time_limit, progress)
    for command in read_batch(path):
        with _at(command):
            runner.do(command)
    for output in runner.outputs:
        output.write()
    tables = [job.protected for job in runner.jobs if job.protected is not None]
    problems = [job.problem for job in runner.jobs if job.problem is not None]
    files = [output.path for output in runner.outputs if output.is_table]
    beside = [output.path for output in runner.outputs if not output.is_table]
    return BatchResult(tables, problems, files, beside, runner.log, runner.not_applied)


@contextmanager
def _at(command: Command) -> Iterator[None]:
    """Name file and line in errors that do not name them yet."""
    try:
        yield
    except TablecloakError as error:
        if str(error).startswith(str(command.path)):
            raise
        kind = type(error)
        raise kind(f"{command.path}, line {command.line}: {error}", cells=error.cells) from error


class _Runner:
    """State of a batch."""

    def __init__(
        self, path: Path, out: Path, time_limit: float | None, progress: Progress | None
    ) -> None:
        self.path, self.out = path, out
        self.time_limit, self.progress = time_limit, progress
        self.data: Path | None = None
        self.is_microdata = True
        self.metadata: Metadata | None = None
        self.frame: pd.DataFrame | None = None
        self.recodes: dict[str, tuple[Command, str]] = {}
        self.jobs: list[_Job] = []
        self.inputs: set[Path] = {path.resolve()}
        self.outputs: list[Output] = []
        self.published: list[tuple[Path, str, Protected]] = []
        self.log: list[str] = []
        self.not_applied: list[str] = []

    def say(self, command: Command, text: str) -> None:
        self.log.append(f"line {command.line}, {command.name}: {text}")

    def skip(self, command: Command, text: str) -> None:
        """Say what is not applied; it must not be able to change what is safe."""
        self.say(command, f"not applied: {text}")
        self.not_applied.append(self.log[-1])

    def do(self, command: Command) -> None:
        arguments = command.arguments()
        _WORK[command.name](self, command, arguments)
        # No command can lose an argument: what it did not take is an error.
        arguments.end()

    # -- opening --------------------------------------------------------------------------

    def _open_data(self, command: Command, arguments: Arguments) -> None:
        if self.data is not None and self.metadata is None:
            raise InputError(f"{self.data.name} was opened already and has no metadata yet.")
        is_microdata = command.name == "OPENMICRODATA"
        if self.jobs and (is_microdata or self.is_microdata or self._is_read):
            raise InputError("Other data are open already; CLEAR must come first.")
        self.data = self._input(arguments.word("the name of a file"))
        self.is_microdata, self.metadata = is_microdata, None
        self.say(command, self.data.name)

    def _open_metadata(self, command: Command, arguments: Arguments) -> None:
        if self.data is None or self.metadata is not None:
            raise InputError("Data must be opened first, and its metadata once.")
        path = self._input(arguments.word("the name of a file"))
        self.metadata = read_metadata(path)
        self.say(command, path.name)

    def _input(self, name: str) -> Path:
        path = find_file(name, self.path.parent)
        self.inputs.add(path.resolve())
        return path

    def _output(self, name: str) -> Path:
        path = self.out / Path(name.replace("\\", "/")).name
        if path.resolve() in self.inputs:
            raise InputError(f"{path} is read by this batch and must not be written over.")
        if any(path == output.path for output in self.outputs):
            raise InputError(f"{path} is written twice by this batch. Choose another name.")
        return path

    def _clear(self, command: Command, arguments: Arguments) -> None:
        arguments.end()
        self.jobs, self.recodes = [], {}
        self.data = self.metadata = self.frame = None
        self.say(command, "tables, data and metadata are closed")

    # -- specifying -----------------------------------------------------------------------

    @property
    def _is_read(self) -> bool:
        return any(job.problem is not None for job in self.jobs)

    def _before_reading(self) -> None:
        if self._is_read:
            raise InputError("The data were read already; CLEAR must come first.")

    def _specify(self, command: Command, arguments: Arguments) -> None:
        self._before_reading()
        if self.metadata is None or self.data is None:
            raise InputError("Open data and metadata first (OPENMICRODATA, OPENMETADATA).")
        wanted = read_specification(arguments)
        number = len(self.jobs) + 1
        job = _Job(number, command, wanted, self.metadata, self.data, self.is_microdata)
        self.jobs.append(job)
        shadow = f", shadow {wanted.shadow}" if wanted.shadow else ""
        cost = f", costs {wanted.cost or 'the response'} to the power {wanted.power:g}"
        self.say(
            command,
            f"table {number}: {' x '.join(wanted.dimensions)}, response {wanted.response}"
            f"{shadow}{cost}",
        )

    def _safety_rule(self, command: Command, arguments: Arguments) -> None:
        rules = read_rules(arguments)
        self._before_reading()
        if not self.jobs:
            raise InputError("SPECIFYTABLE must come first.")
        job = self.jobs[-1]
        if job.rules is not None:
            raise InputError(f"Table {job.number} has rules already; one line holds all of them.")
        check_rules(rules, job.metadata, job.is_microdata, job.is_count)
        job.rules, job.rules_command = rules, command
        self.say(command, f"table {job.number}, {describe(rules)}")

    def _job(self, number: int) -> _Job:
        if not 1 <= number <= len(self.jobs):
            raise InputError(f"There is no table '{number}'; there are {len(self.jobs)}.")
        return self.jobs[number - 1]

    def _known(self, job: _Job) -> ProtectionProblem:
        if job.problem is None:
            raise InputError("Read the data first (READMICRODATA or READTABLE).")
        return job.problem

    # -- reading --------------------------------------------------------------------------

    def _read_microdata(self, command: Command, arguments: Arguments) -> None:
        arguments.end()
        self._before_reading()
        if not self.jobs or not self.is_microdata:
            raise InputError("Open microdata and specify a table first (OPENMICRODATA).")
        names: list[str] = []
        for job in self.jobs:
            if job.rules is None:
                raise InputError(
                    f"Table {job.number} has no SAFETYRULE: every cell would be safe. Add one."
                )
            wanted = job.specification
            response = "" if job.is_count else wanted.response
            names += [*wanted.dimensions, response, wanted.shadow, wanted.cost]
            if any(numbers[0] for numbers in numbers_of(job.rules, "WGT")):
                names += [variable.name for variable in job.metadata.with_tag("WEIGHT")]
        metadata, data = self.jobs[0].metadata, self.jobs[0].data
        for tag in ("HOLDING", "REQUEST"):
            names += [variable.name for variable in metadata.with_tag(tag)]
        names = [name for name in names if name and not name.startswith(("<", "-"))]
        known = dict.fromkeys(metadata.variable(name).name for name in names)
        self.frame, notes = read_microdata(metadata, data, list(known))
        self.say(command, f"{len(self.frame)} records of {data.name}")
        for note in notes:
            self.say(command, note)
        for job in self.jobs:
            job.trees = {
                variable.name: metadata.hierarchy(variable, set(self.frame[variable.name]))
                for variable in job.variables()
            }
            self._tabulate(command, job)

    def _tabulate(self, command: Command, job: _Job) -> None:
        """Make a table of the records; all recodings start from the codes of the data."""
        assert self.frame is not None
        frame, trees, job.recoded = self.frame, dict(job.trees), {}
        for name, tree in job.trees.items():
            if name in self.recodes:
                how = self.recodes[name][1]
                variable = job.metadata.variable(name)
                found = recode(how, self.path.parent, variable, tree, frame[name])
                frame, trees[name] = frame.assign(**{name: found.codes}), found.tree
                job.recoded[name] = found
        with _at(job.rules_command or command):
            table = from_records(frame, job.specification, job.all_rules, job.metadata, trees)
            problem = self._by_rules(job, table)
        job.problem = self._with_costs(job, problem, trees, frame)
        safe = self._safe_codes(job)
        job.evidence = of_records(
            frame, job.specification, job.all_rules, job.metadata, trees, job.is_count, safe
        )
        job.protected = None

    def _safe_codes(self, job: _Job) -> dict[str, tuple[str, ...]]:
        """Codes that make a cell safe (MIS)."""
        is_on = any(numbers[0] for numbers in numbers_of(job.all_rules, "MIS"))
        return {v.name: job.missing(v) for v in job.variables()} if is_on else {}

    def _by_rules(self, job: _Job, table: Table) -> ProtectionProblem:
        rules = sensitivity_rules(job.all_rules)
        problem = table.protect(*rules) if rules else _plain_problem(table)
        safe = np.zeros(table.n_cells, dtype=bool)
        for name, codes in self._safe_codes(job).items():
            safe |= table.keys[name].isin(codes).to_numpy()
        return with_status(problem, safe & problem.sensitive, CellStatus.SAFE)

    def _read_table(self, command: Command, arguments: Arguments) -> None:
        mode = (arguments.optional() or "0").upper()
        arguments.end()
        if mode not in ("0", "1", "1T", "1F", "2"):
            raise InputError(f"READTABLE takes 0, 1, 1T, 1F or 2, found {mode!r}.")
        self._before_reading()
        if not self.jobs or self.is_microdata:
            raise InputError("Open a table and specify it first (OPENTABLEDATA).")
        how = {"0": "totals must add up", "2": "totals need not add up"}
        self.say(command, f"{mode}: {how.get(mode, 'totals are made of the most detailed cells')}")
        for job in self.jobs:
            cells, notes = read_cells(job.metadata, job.data)
            for note in notes:
                self.say(command, note)
            self._read_one(command, job, cells, mode)

    def _read_one(self, command: Command, job: _Job, frame: pd.DataFrame, mode: str) -> None:
        rules = job.all_rules
        with _at(job.rules_command or command):
            check_rules(rules, job.metadata, job.is_microdata, job.is_count)
            cells = Cells.of(job.metadata, frame, job.specification, rules)
            table = from_cells(cells, mode)
            problem = self._by_rules(job, table)
        by_rule = any(map(is_active, rules))
        unsafe: set[Key] = set()
        if job.metadata.with_tag("STATUS"):
            letters, by_cell = read_statuses(cells, table)
            given = letters == "u"
            if by_rule and np.any(given & ~problem.sensitive):
                n_left = int(np.sum(given & ~problem.sensitive))
                self.skip(command, f"the status of {n_left} cells, which the rules find safe")
            if not by_rule:
                problem = self._given(job, problem, letters, by_cell)
                keys = table.keys.itertuples(index=False, name=None)
                unsafe = {key for key, is_given in zip(keys, given, strict=True) if is_given}
                totals = np.zeros(table.n_cells, dtype=bool)
                for name, tree in cells.trees.items():
                    totals |= ~table.keys[name].isin(tree.leaves).to_numpy()
                if mode in ("1", "1F") and np.any(totals & (letters != "s")):
                    n_kept = int(np.sum(totals & (letters != "s")))
                    self.skip(
                        command,
                        f"totals that were made anew are safe in τ-ARGUS; {n_kept} of them keep "
                        f"the status of the file here, as with 1T",
                    )
        job.trees = cells.trees
        job.problem = self._with_costs(job, problem, job.trees, cells.frame)
        job.evidence = of_cells(cells, mode, unsafe, self._safe_codes(job))

    def _given(
        self,
        job: _Job,
        problem: ProtectionProblem,
        status: npt.NDArray[np.str_],
        by_cell: pd.DataFrame,
    ) -> ProtectionProblem:
        """Take over the statuses and levels of a file of cells."""
        size = np.abs(problem.table.values)
        levels = []
        for tag in ("LOWERPL", "UPPERPL"):
            found = job.metadata.with_tag(tag)
            default = np.maximum(size * job.margin / 100, 1.0)
            given = by_cell[found[0].name].to_numpy(dtype=np.float64) if found else default
            levels.append(np.where(status == "u", np.where(np.isnan(given), default, given), 0.0))
        lower = np.minimum(levels[0], problem.table.values - problem.lower_bound)
        return problem.with_changes(
            status=status, lower_protection=lower, upper_protection=levels[1]
        )

    # -- costs ----------------------------------------------------------------------------

    def _with_costs(
        self,
        job: _Job,
        problem: ProtectionProblem,
        trees: dict[str, Hierarchy],
        frame: pd.DataFrame,
    ) -> ProtectionProblem:
        wanted, table = job.specification, problem.table
        tagged = [] if job.is_microdata else _cost_variables(job.metadata)
        cost = np.abs(table.values)
        match wanted.cost:
            case "-3":
                self.skip(job.command, "costs by distance; the response is taken")
            case "-2":
                cost = np.ones(table.n_cells)
            case "-1" if table.contributions is not None:
                cost = table.contributions.count.astype(np.float64)
            case "-1":
                self.skip(job.command, "costs by frequency, which is not known; the response is")
            case "" if tagged:
                cost = self._sums(job, tagged[0], table, trees, frame)
            case "":
                pass
            case name:
                cost = self._sums(job, job.metadata.variable(name), table, trees, frame)
        if wanted.power == 0:
            cost = np.log1p(cost)
        elif wanted.power != 1:
            cost = cost**wanted.power
        return problem.with_changes(weights=np.where(cost > 0, cost, 0.0001))

    def _sums(
        self,
        job: _Job,
        variable: Variable,
        table: Table,
        trees: Trees,
        frame: pd.DataFrame,
    ) -> Floats:
        size = np.abs(table.values)
        if variable.name == table.name:
            return size
        if job.is_microdata:
            dimensions = {key: Dimension(key, trees[key]) for key in table.keys.columns}
            found = tabulate(frame, dimensions, variable.name).values
        else:
            given = table.keys.merge(frame, on=list(table.keys.columns), how="left")
            cost = given[variable.name].to_numpy(dtype=np.float64)
            found = np.where(np.isnan(cost), size, cost)
        if np.any(found < 0):
            label = table.label(int(np.flatnonzero(found < 0)[0]))
            raise InputError(f"The cost {variable.name!r} of cell {label} is negative.")
        return found

    # -- changing -------------------------------------------------------------------------

    def _recode(self, command: Command, arguments: Arguments) -> None:
        number = arguments.whole("the number of a table", 0)
        arguments.take(",")
        name = arguments.word("a variable")
        arguments.take(",")
        how = arguments.word("a file or a level")
        arguments.end()
        if not self.is_microdata:
            raise InputError("Only microdata can be recoded.")
        job = self._job(number)
        self._known(job)
        variable = job.metadata.variable(name)
        if variable.name not in job.trees:
            raise InputError(f"Table {job.specification.dimensions} has no dimension {name!r}.")
        users = [other for other in self.jobs if variable.name in other.trees]
        if any(other.protected is not None for other in users):
            raise InputError("A protected table cannot be recoded; RECODE must come first.")
        if any(other.has_apriori for other in users):
            raise InputError("RECODE would undo what APRIORI changed; it must come first.")
        if variable.name in self.recodes:
            earlier = self.recodes[variable.name][0]
            self.skip(
                command,
                f"the recoding of {variable.name} in line {earlier.line}: this one takes its "
                f"place, as in τ-ARGUS",
            )
        self.recodes[variable.name] = (command, how)
        for other in users:
            self._tabulate(command, other)
        found = job.recoded[variable.name]
        for note in found.notes:
            self.skip(command, note)
        also = [str(other.number) for other in users if other is not job]
        beside = f", in table {' and '.join(also)} too, as in τ-ARGUS" if also else ""
        self.say(
            command,
            f"table {number}, {variable.name} by {how}: {len(found.tree.codes)} codes instead of "
            f"{len(job.trees[variable.name].codes)}{beside}",
        )

    def _apriori(self, command: Command, arguments: Arguments) -> None:
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
        job = self._job(number)
        problem = self._known(job)
        path = self._input(name)
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
            self.skip(command, text)
        # A pattern that was found before may not protect what is unsafe now.
        job.problem, job.protected, job.has_apriori = done.problem, None, True
        job.asked.update(done.asked)
        chains = ", what cannot be done is named" if flags[0] else ""
        chains += ", with trivial levels" if flags[1] else ""
        self.say(command, f"table {number}: {done.done} lines of {path.name}{chains}")

    # -- protecting -----------------------------------------------------------------------

    def _suppress(self, command: Command, arguments: Arguments) -> None:
        wanted = read_suppression(arguments)
        jobs = self.jobs if wanted.table == 0 else [self._job(wanted.table)]
        problems = [self._known(job) for job in jobs]
        if not problems:
            raise InputError("Read the data first (READMICRODATA or READTABLE).")
        problem = problems[0] if len(problems) == 1 else linked(problems)
        problem = self._bounded(command, wanted, problem)
        self._say_suppression(command, wanted)
        minutes = wanted.numbers.get("minutes") or MINUTES.get(wanted.method, 1.0)
        seconds = self.time_limit or 60 * minutes
        decimals = min(self._decimals(job) for job in jobs)
        match wanted.method:
            case "CTA":
                adjusted = adjust(problem, time_limit=seconds, progress=self.progress)
                self.say(command, adjusted.summary())
                values, is_proved = adjusted.values, audit(problem, adjusted.values).is_safe
                none = _none(problem)
                done = Protected(problem, none, values, 0, [], "adjusted", 0.0, is_proved)
            case "RND":
                done = self._rounded(command, wanted, jobs, problem, seconds)
            case _:
                least = max(
                    [n[0] for job in jobs for n in numbers_of(job.all_rules, "FREQ")], default=0
                )
                done = self._pattern(command, wanted, problem, seconds, int(least), decimals)
        for job, own in zip(jobs, problems, strict=True):
            at = positions(problem.table, own.table)
            values = done.values[at] if done.is_changed else own.table.values
            job.protected = Protected(
                own,
                done.suppressed[at],
                values,
                self._decimals(job),
                self._codes(job),
                done.method,
                done.reach,
                done.is_proved,
            )

    def _say_suppression(self, command: Command, wanted: Suppression) -> None:
        given = "".join(f", {name} {number:g}" for name, number in wanted.numbers.items())
        self.say(command, f"{wanted.method} of table {wanted.table or 'all'}{given}")
        if self.time_limit and "minutes" in wanted.numbers:
            self.say(command, f"{self.time_limit:g} seconds by option instead of the minutes")
        unused = {
            "scale": "the largest cost (MSC): costs are not scaled",
            "lower": "LOWERMARG: the whole table is one problem, no subtable has levels of its own",
            "upper": "UPPERMARG: the whole table is one problem, no subtable has levels of its own",
            "size": "the size of the model: there is one for all tables",
            "partitions": "partitions: the whole table is rounded at once",
        }
        for name, text in unused.items():
            if wanted.numbers.get(name):
                self.skip(command, text)
        if wanted.numbers.get("stop") == 1:
            self.skip(command, "stop at the first rounding: the best one in time is taken")

    def _bounded(
        self, command: Command, wanted: Suppression, problem: ProtectionProblem
    ) -> ProtectionProblem:
        """Apply what an intruder knows beforehand (GH), in per cent of each value."""
        if "bounds" not in wanted.numbers:
            return problem
        room = wanted.numbers["bounds"] / 100 * np.abs(problem.table.values)
        self.say(command, f"everybody knows each value up to {wanted.numbers['bounds']:g} %")
        return problem.with_changes(
            lower_bound=np.maximum(problem.lower_bound, problem.table.values - room),
            upper_bound=np.minimum(problem.upper_bound, problem.table.values + room),
        )

    def _pattern(
        self,
        command: Command,
        wanted: Suppression,
        problem: ProtectionProblem,
        seconds: float,
        least: int,
        decimals: int,
    ) -> Protected:
        known, n_cells = problem.table.contributions, problem.table.n_cells
        against: list[str] = []
        if wanted.has("single", "multiple", "together"):
            if known is None:
                raise InputError(
                    "Single contributors shall be protected, but their number is not known "
                    "(<FREQUENCY>). Add it, or set these arguments to 0."
                )
            problem = with_virtual_cells(
                problem,
                single=wanted.has("single"),
                multiple=wanted.has("multiple") or wanted.method == "GH",
                minimum=least if wanted.has("together") else 0,
                decimals=decimals,
            )
            extra = problem.table.n_cells - n_cells
            self.say(command, f"{extra} sums of primaries are protected as virtual cells")
            if known.names is not None and wanted.has("single", "multiple"):
                against = ["contributors"]
                self.say(
                    command,
                    "single contributors are protected against as intruders who know what they "
                    "gave, which is more than virtual cells",
                )
        pattern = suppress(
            problem, protect_against=against, time_limit=seconds, progress=self.progress
        )
        found = audit(
            problem, pattern, intruders=against or "external", time_limit=max(seconds, 60.0)
        )
        self.say(command, f"{wanted.method} is done as one problem, {pattern.summary()}")
        self.say(command, found.summary())
        hidden = pattern.suppressed[:n_cells]
        values = problem.table.values
        return Protected(problem, hidden, values, 0, [], "suppressed", 0.0, found.is_safe)

    def _rounded(
        self,
        command: Command,
        wanted: Suppression,
        jobs: list[_Job],
        problem: ProtectionProblem,
        seconds: float,
    ) -> Protected:
        numbers = wanted.numbers
        if "base" not in numbers:
            raise InputError("RND needs a base, as in RND(1,5).")
        base, steps = int(numbers["base"]), int(numbers.get("steps", 0))
        least = float(np.max(problem.lower_protection + problem.upper_protection, initial=0))
        if jobs[0].is_count:
            least = max([n[0] for j in jobs for n in numbers_of(j.all_rules, "FREQ")], default=1)
        if base < least:
            raise InputError(
                f"The base {base} is too small for what must be protected; take {least:g} or more."
            )
        weights = WeightRule.UNIT if numbers.get("unit", 1) else WeightRule.FILE
        rounded = controlled_rounding(
            problem, base=base, max_steps=steps + 1, weights=weights, time_limit=seconds
        )
        self.say(command, rounded.summary())
        values = rounded.values.astype(np.float64)
        reach = float(rounded.steps * base)
        return Protected(problem, _none(problem), values, 0, [], "rounded", reach)

    # -- writing --------------------------------------------------------------------------

    def _decimals(self, job: _Job) -> int:
        response = job.specification.response.lower()
        found = [v.decimals for v in job.metadata.variables if v.name.lower() == response]
        return found[0] if found else 0

    def _codes(self, job: _Job) -> list[list[str]]:
        assert job.problem is not None
        return [
            _all_codes(tree, job.missing(job.metadata.variable(name)), name not in job.recoded)
            for name, tree in job.problem.table.hierarchies.items()
        ]

    def _write(self, command: Command, arguments: Arguments) -> None:
        wanted = read_writing(arguments)
        job = self._job(wanted.table)
        problem = self._known(job)
        layout = Layout(
            wanted.kind,
            wanted.options,
            "Freq" if job.is_count else job.metadata.variable(job.specification.response).name,
            n_largest(job.all_rules),
            job.is_count,
        )
        protected = self._ready(job, problem, wanted, layout)
        assert job.evidence is not None
        published = check(
            protected, job.evidence, job.all_rules, job.asked, is_public=layout.is_public
        )
        if published and layout.is_public:
            self.skip(
                command,
                f"the rules on {len(published)} cells that APRIORI declares safe: "
                f"{'; '.join(published)}",
            )
        if layout.is_public:
            self._beside_others(job, protected)
        unused = [name for name in wanted.options if name not in OPTIONS_OF.get(wanted.kind, ())]
        for name in unused:
            self.skip(command, f"the option {name}, which says nothing about type {wanted.kind}")
        files = made_of(protected, layout, self._output(wanted.file))
        for output in files:
            self._output(output.path.name)
            self.outputs.append(output)
        options = "".join(f"{name}{'+' if on else '-'}" for name, on in wanted.options.items())
        self.say(command, f"table {job.number}, type {wanted.kind} {options}: {files[0].path.name}")
        if not layout.is_public:
            self.say(
                command,
                f"{files[0].path.name}: tells which cells are sensitive, or their values; it must "
                f"stay inside",
            )

    def _beside_others(self, job: _Job, protected: Protected) -> None:
        """Check a table beside those of the same response that will be published too."""
        response = job.specification.response.lower()
        for data, name, other in self.published:
            if (data, name) == (job.data, response):
                check_together(protected, other)
        self.published.append((job.data, response, protected))

    def _ready(
        self, job: _Job, problem: ProtectionProblem, wanted: Writing, layout: Layout
    ) -> Protected:
        """Return the table as it was protected; only inner formats are written without."""
        inner = wanted.kind in (5, 6)
        if job.protected is None:
            if not inner:
                raise InputError(
                    "The table was not protected (no SUPPRESS): it would be published with its "
                    "sensitive cells."
                )
            return Protected(
                problem, _none(problem), problem.table.values, self._decimals(job), self._codes(job)
            )
        if not inner and not job.says_what:
            raise InputError(
                f"Nothing says which cells of table {job.number} are sensitive: there is no rule "
                f"in force (SAFETYRULE), no <STATUS> and no APRIORI. All would be published."
            )
        if layout.is_public and not job.protected.is_proved:
            raise VerificationError(
                f"Nothing was written: table {job.number} is not proved to be safe. Give SUPPRESS "
                f"more time, or remove cells."
            )
        return job.protected

    # -- the rest -------------------------------------------------------------------------

    def _solver(self, command: Command, arguments: Arguments) -> None:
        name = arguments.word("the name of a solver").upper()
        if name not in ("FREE", "CPLEX", "XPRESS"):
            raise InputError(f"SOLVER takes FREE, CPLEX or XPRESS, found {name!r}.")
        licence = arguments.word("a licence") if arguments.maybe(",") else ""
        arguments.end()
        if name == "FREE":
            self.say(command, "FREE: HiGHS; every answer is checked by its certificate")
        else:
            self.skip(command, f"{name}: HiGHS solves; every answer is checked by its certificate")
        if licence:
            self.skip(command, f"the licence {licence!r}: none is needed")

    def _logbook(self, command: Command, arguments: Arguments) -> None:
        path = self._output(arguments.word("the name of a file"))
        arguments.end()
        self.say(command, f"log in {path.name}")
        self.outputs.append(_Log(path, "", True, is_table=False, lines=self.log))

    def _version(self, command: Command, arguments: Arguments) -> None:
        path = self._output(arguments.word("the name of a file"))
        arguments.end()
        self.say(command, f"version in {path.name}")
        text = f"tablecloak version: {__version__}\n"
        self.outputs.append(Output(path, text, False, is_table=False))

    def _interactive(self, command: Command, arguments: Arguments) -> None:
        arguments.end()
        self.skip(command, "there is no window; see `tablecloak app`")

    def _silent(self, command: Command, arguments: Arguments) -> None:
        arguments.end()
        self.say(command, "no window is opened")


@dataclass(frozen=True, eq=False)
class _Log(Output):
    """The log of the batch, as it is in the end."""

    lines: list[str] = field(default_factory=list)

    def write(self) -> None:
        """Write it."""
        Output(self.path, "".join(f"{line}\n" for line in self.lines), True).write()


_WORK: dict[str, Callable[[_Runner, Command, Arguments], None]] = {
    "OPENMICRODATA": _Runner._open_data,
    "OPENTABLEDATA": _Runner._open_data,
    "OPENMETADATA": _Runner._open_metadata,
    "SPECIFYTABLE": _Runner._specify,
    "SAFETYRULE": _Runner._safety_rule,
    "READMICRODATA": _Runner._read_microdata,
    "READTABLE": _Runner._read_table,
    "RECODE": _Runner._recode,
    "APRIORI": _Runner._apriori,
    "APRIORY": _Runner._apriori,
    "SUPPRESS": _Runner._suppress,
    "WRITETABLE": _Runner._write,
    "CLEAR": _Runner._clear,
    "SOLVER": _Runner._solver,
    "LOGBOOK": _Runner._logbook,
    "VERSIONINFO": _Runner._version,
    "GOINTERACTIVE": _Runner._interactive,
    "SILENT": _Runner._silent,
}


def _none(problem: ProtectionProblem) -> Flags:
    return np.zeros(problem.table.n_cells, dtype=bool)


def _cost_variables(metadata: Metadata) -> list[Variable]:
    return [*metadata.with_tag("COST"), *metadata.with_tag("COSTVAR")]


def _plain_problem(table: Table) -> ProtectionProblem:
    """A table without any rule."""
    low, high = float(table.values.min()), float(table.values.max())
    zero = np.zeros(table.n_cells)
    return ProtectionProblem(
        table=table,
        status=np.full(table.n_cells, "s"),
        lower_protection=zero,
        upper_protection=zero,
        sliding_protection=zero,
        lower_bound=not_zero(table, zero + 1.5 * min(low, 0.0)),
        upper_bound=zero + 1.5 * max(high, 0.0),
        weights=np.abs(table.values),
    )


def _all_codes(tree: Hierarchy, missing: tuple[str, ...], with_missing: bool) -> list[str]:
    """Codes as tau-ARGUS lists them: in the order of the tree, codes for missing in the end."""
    below: dict[str, list[str]] = {}
    for parent, parts in tree.groups:
        below.setdefault(parent, []).extend(parts)
    found: list[str] = []

    def visit(code: str) -> None:
        if code not in found:
            found.append(code)
            for part in below.get(code, []):
                visit(part)

    visit(tree.total)
    if with_missing:
        found = [code for code in found if code not in missing]
        found += [code for code in dict.fromkeys(missing) if code != tree.total]
    return found
