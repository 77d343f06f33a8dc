"""Batch files of tau-ARGUS, run as they are, with a log of what is done in another way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.argus.batch import (
    Command,
    Rule,
    Specification,
    read_batch,
    read_rules,
    read_specification,
)
from tablecloak.argus.metadata import Metadata, Variable, read_cells, read_metadata, read_microdata
from tablecloak.argus.outputs import Protected, write_table
from tablecloak.argus.places import find_file, lines_of
from tablecloak.argus.recode import cut_below, cut_to_level, recoded
from tablecloak.cta.adjust import adjust
from tablecloak.cta.rounding import controlled_rounding
from tablecloak.errors import InputError, listed
from tablecloak.release import audit
from tablecloak.suppression.suppress import suppress
from tablecloak.tables import sensitivity
from tablecloak.tables.dimensions import Dimension
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.problem import CellStatus, ProtectionProblem
from tablecloak.tables.table import Table, link
from tablecloak.tables.tabulate import tabulate

__all__ = ["BatchResult", "run_batch"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Progress = Callable[[str, float, float, int], None]

MARGIN = 20.0
"""Protection level of cells with a given status, in per cent, unless MAN says otherwise."""

MOST_CONTRIBUTORS = 10


@dataclass
class _Job:
    """One table of a batch."""

    specification: Specification
    rules: list[Rule] = field(default_factory=list)
    trees: dict[str, Hierarchy] = field(default_factory=dict)
    recodes: list[Command] = field(default_factory=list)
    has_apriori: bool = False
    problem: ProtectionProblem | None = None
    protected: Protected | None = None

    def numbers(self, name: str) -> list[list[float]]:
        """Numbers of all rules with a name."""
        return [rule.numbers for rule in self.rules if rule.name == name]

    @property
    def margin(self) -> float:
        """Per cent for cells with a given status."""
        found = self.numbers("MAN")
        return found[0][0] if found else MARGIN


@dataclass(frozen=True, eq=False)
class BatchResult:
    """What a batch gave.

    Parameters
    ----------
    tables : list of Protected
        In the order of the file.
    files : list of Path
    log : list of str
        What was done, and what was done in another way than by tau-ARGUS, and why.
    is_safe : bool
        Whether every suppression passed its audit.
    """

    tables: list[Protected]
    files: list[Path]
    log: list[str]
    is_safe: bool


def run_batch(
    path: str | Path,
    out: str | Path | None = None,
    *,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> BatchResult:
    """Run a batch file.

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
        Names file and line of what cannot be done.
    """
    path = Path(path)
    runner = _Runner(path, Path(out) if out else path.parent, time_limit, progress)
    for command in read_batch(path):
        try:
            runner.do(command)
        except InputError as error:
            if str(error).startswith(str(path)):
                raise
            raise InputError(f"{path}, line {command.line}: {error}", cells=error.cells) from error
    tables = [job.protected for job in runner.jobs if job.protected is not None]
    return BatchResult(tables, runner.files, runner.log, runner.is_safe)


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
        self.jobs: list[_Job] = []
        self.files: list[Path] = []
        self.log: list[str] = []
        self.is_safe = True

    def say(self, command: Command, text: str) -> None:
        self.log.append(f"line {command.line}, {command.name}: {text}")

    def do(self, command: Command) -> None:
        match command.name:
            case "OPENMICRODATA" | "OPENTABLEDATA" | "OPENMETADATA":
                self._open(command)
            case "SPECIFYTABLE":
                self.jobs.append(_Job(read_specification(command, self.path)))
            case "SAFETYRULE":
                self._last(command).rules = read_rules(command, self.path)
            case "CLEAR":
                self.jobs, self.data, self.metadata, self.frame = [], None, None, None
            case "SOLVER":
                self.say(command, "solved by HiGHS; every answer is checked by its certificate")
            case name if name in _WORK:
                _WORK[name](self, command)
            case _:
                self.say(command, "passed over")

    def _open(self, command: Command) -> None:
        path = find_file(command.text.strip('" '), self.path.parent)
        if command.name == "OPENMETADATA":
            self.metadata = read_metadata(path)
        else:
            self.data, self.is_microdata = path, command.name == "OPENMICRODATA"

    def _last(self, command: Command) -> _Job:
        if not self.jobs:
            raise InputError(f"{self.path}, line {command.line}: SPECIFYTABLE must come first.")
        return self.jobs[-1]

    def _opened(self) -> tuple[Metadata, Path]:
        if self.metadata is None or self.data is None:
            raise InputError("Open data and metadata first (OPENMICRODATA, OPENMETADATA).")
        return self.metadata, self.data

    def _job(self, text: str) -> _Job:
        if not text.strip().isdigit() or not 1 <= int(text) <= len(self.jobs):
            raise InputError(f"There is no table {text!r}; there are {len(self.jobs)}.")
        return self.jobs[int(text) - 1]

    # -- reading --------------------------------------------------------------------------

    def _read_microdata(self, command: Command) -> None:
        metadata, data = self._opened()
        names: list[str] = []
        for job in self.jobs:
            wanted = job.specification
            names += [*wanted.dimensions, wanted.response, wanted.shadow, wanted.cost]
            if job.numbers("WGT"):
                names += [variable.name for variable in metadata.with_tag("WEIGHT")]
        for tag in ("HOLDING", "REQUEST"):
            names += [variable.name for variable in metadata.with_tag(tag)]
        names = [name for name in names if name and not name.startswith(("<", "-"))]
        known = dict.fromkeys(metadata.variable(name).name for name in names)
        self.frame = read_microdata(metadata, data, list(known))
        self.say(command, f"{len(self.frame)} records of {data.name}")
        for job in self.jobs:
            job.trees = {
                variable.name: metadata.hierarchy(variable, set(self.frame[variable.name]))
                for variable in map(metadata.variable, job.specification.dimensions)
            }
            self._tabulate(job)

    def _tabulate(self, job: _Job) -> None:
        assert self.frame is not None
        assert self.metadata is not None
        metadata, wanted, frame = self.metadata, job.specification, self.frame
        dimensions = [metadata.variable(name) for name in wanted.dimensions]
        is_count = wanted.response.lower() in ("<freq>", "", "freq") and not any(
            v.name.lower() == wanted.response.lower() for v in metadata.variables
        )
        for recode in job.recodes:
            variable, tree, codes = self._recoded(job, recode, frame)
            frame = frame.assign(**{variable.name: codes})
            job.trees[variable.name] = tree
        weight = metadata.with_tag("WEIGHT") if job.numbers("WGT") else []
        holding, request = metadata.with_tag("HOLDING"), metadata.with_tag("REQUEST")
        if request and job.numbers("REQ"):
            marks = {mark: at for at, mark in enumerate(request[0].tags["REQUEST"], start=1)}
            asked = frame[request[0].name].str.strip().map(marks).fillna(0).astype(int)
            frame = frame.assign(**{request[0].name: asked})
        table = tabulate(
            frame,
            {v.name: Dimension(v.name, job.trees[v.name]) for v in dimensions},
            None if is_count else metadata.variable(wanted.response).name,
            holding=holding[0].name if holding else None,
            weight=weight[0].name if weight else None,
            shadow=metadata.variable(wanted.shadow).name if wanted.shadow else None,
            request=request[0].name if request and job.numbers("REQ") else None,
            n_largest=MOST_CONTRIBUTORS,
        )
        job.problem = self._with_costs(job, self._protect(job, table))

    def _protect(self, job: _Job, table: Table) -> ProtectionProblem:
        """Apply the rules; statuses that were given stay."""
        rules = _rules(job)
        problem = table.protect(*rules) if rules else _plain_problem(table)
        if job.numbers("MIS") and job.numbers("MIS")[0][0]:
            assert self.metadata is not None
            missing = np.zeros(table.n_cells, dtype=bool)
            for name in table.keys.columns:
                codes = self.metadata.variable(name).missing
                missing |= table.keys[name].isin(codes).to_numpy()
            problem = _with_status(problem, missing & problem.sensitive, CellStatus.SAFE)
        return problem

    def _with_costs(self, job: _Job, problem: ProtectionProblem) -> ProtectionProblem:
        wanted, table = job.specification, problem.table
        cost = np.abs(table.values)
        match wanted.cost:
            case "" | "-3":
                if wanted.cost:
                    self.log.append("costs by distance are not known here; the response is taken")
            case "-1":
                cost = np.abs(table.values) * 0 + 1.0
                if table.contributions is not None:
                    cost = table.contributions.count.astype(np.float64)
            case "-2":
                cost = np.ones(table.n_cells)
            case name:
                cost = self._sums(job, name, table)
        if wanted.power == 0:
            cost = np.log1p(cost)
        elif wanted.power != 1:
            cost = cost**wanted.power
        return problem.with_changes(weights=np.where(cost > 0, cost, 0.0001))

    def _sums(self, job: _Job, name: str, table: Table) -> Floats:
        assert self.metadata is not None
        variable = self.metadata.variable(name)
        if variable.name == table.name or self.frame is None:
            return np.abs(table.values)
        if not self.is_microdata:
            found = self.frame.set_index(list(table.keys.columns))[variable.name]
            index = pd.MultiIndex.from_frame(table.keys)
            given = found.reindex(index).fillna(0.0).to_numpy(dtype=np.float64)
            return np.abs(given)  # type: ignore[no-any-return]
        dimensions = {key: Dimension(key, job.trees[key]) for key in table.keys.columns}
        return np.abs(tabulate(self.frame, dimensions, variable.name).values)

    def _read_table(self, command: Command) -> None:
        metadata, data = self._opened()
        mode = command.text.strip() or "0"
        cells, notes = read_cells(metadata, data)
        self.frame = cells
        for note in notes:
            self.say(command, note)
        for job in self.jobs:
            self._read_one(command, job, metadata, cells, mode)

    def _read_one(
        self, command: Command, job: _Job, metadata: Metadata, cells: pd.DataFrame, mode: str
    ) -> None:
        wanted = job.specification
        dimensions = [metadata.variable(name) for name in wanted.dimensions]
        frequency = metadata.with_tag("FREQUENCY")
        for tag in ("STATUS", "FREQUENCY", "MAXSCORE", "LOWERPL", "UPPERPL"):
            for variable in metadata.with_tag(tag):
                if variable in dimensions:
                    raise InputError(
                        f"{metadata.path}: {variable.name!r} is a dimension and has <{tag}> too."
                    )
        counts = wanted.response.lower() == "<freq>" and frequency
        response = frequency[0] if counts else metadata.variable(wanted.response)
        status = metadata.with_tag("STATUS")
        frame = cells
        for variable in dimensions:
            codes = frame[variable.name].replace("", variable.total)
            frame = frame.assign(**{variable.name: codes})
        empty = frame[response.name].isna()
        if status:
            empty |= frame[status[0].name].isin(["E", "", "14"])
        filled = frame[~empty]
        if not len(filled):
            raise InputError("Every cell is empty.")
        job.trees = {
            v.name: metadata.hierarchy(v, set(cells[v.name]) - {v.total, ""}) for v in dimensions
        }
        top = [variable.name for variable in metadata.with_tag("MAXSCORE")]
        known = frequency and not filled[frequency[0].name].isna().any()
        if mode.startswith("1"):
            self.say(command, "totals are made of the most detailed cells")
            leaf = np.ones(len(filled), dtype=bool)
            for variable in dimensions:
                leaf &= filled[variable.name].isin(job.trees[variable.name].leaves).to_numpy()
            table = tabulate(
                filled[leaf][[*(v.name for v in dimensions), response.name]],
                {v.name: Dimension(v.name, job.trees[v.name]) for v in dimensions},
                response.name,
            )
            table = replace(table, contributions=None)
        else:
            # What was rounded adds up to within half a unit for each part.
            widest = max(len(tree.leaves) for tree in job.trees.values())
            slack = 0.5 * 10.0**-response.decimals * (widest + 1) if mode == "0" else np.inf
            table = Table.from_frame(
                filled,
                {v.name: job.trees[v.name] for v in dimensions},
                response.name,
                frequency=frequency[0].name if known else None,
                largest=top if known else [],
                tolerance=float(np.abs(filled[response.name]).sum()) if mode == "2" else slack,
            )
        problem = self._protect(job, table) if table.contributions else _plain_problem(table)
        if status and (not _rules(job) or table.contributions is None):
            problem = self._given(job, problem, filled, metadata)
        job.problem = self._with_costs(job, problem)

    def _given(
        self, job: _Job, problem: ProtectionProblem, cells: pd.DataFrame, metadata: Metadata
    ) -> ProtectionProblem:
        """Take over the statuses and levels of a file of cells."""
        names = list(problem.table.keys.columns)
        index = pd.MultiIndex.from_frame(problem.table.keys)
        by_cell = cells.set_index(names).reindex(index)
        letter = by_cell[metadata.with_tag("STATUS")[0].name].fillna("S").astype(str)
        letters = metadata.letters
        codes = {
            letters["UNSAFE"]: "u",
            letters["PROTECT"]: "z",
            letters["SAFE"]: "s",
            "M": "m",
        }
        odd = letter[~letter.isin(codes)]
        if len(odd):
            raise InputError(
                f"Status {odd.iloc[0]!r} of cell {odd.index[0]} is not known; the metadata name "
                f"{listed(list(letters.values()))}."
            )
        status = letter.map(codes).to_numpy(dtype=str)
        size = np.abs(problem.table.values)
        levels = []
        for tag in ("LOWERPL", "UPPERPL"):
            found = metadata.with_tag(tag)
            default = np.maximum(size * job.margin / 100, 1.0)
            given = by_cell[found[0].name].to_numpy(dtype=np.float64) if found else default
            levels.append(np.where(status == "u", np.where(np.isnan(given), default, given), 0.0))
        lower = np.minimum(levels[0], problem.table.values - problem.lower_bound)
        return problem.with_changes(
            status=status, lower_protection=lower, upper_protection=levels[1]
        )

    # -- changing -------------------------------------------------------------------------

    def _recode(self, command: Command) -> None:
        arguments = command.arguments()
        if len(arguments) != 3:
            raise InputError("RECODE needs table, variable, and a file or a level.")
        if not self.is_microdata:
            raise InputError("Only microdata can be recoded.")
        job = self._job(arguments[0])
        if job.has_apriori:
            raise InputError("RECODE would undo what APRIORI changed; it must come first.")
        job.recodes.append(command)
        self._tabulate(job)
        job.protected = None

    def _recoded(
        self, job: _Job, command: Command, frame: pd.DataFrame
    ) -> tuple[Variable, Hierarchy, pd.Series]:
        assert self.metadata is not None
        _, name, how = command.arguments()
        variable = self.metadata.variable(name)
        if variable.name not in job.trees:
            raise InputError(f"Table {job.specification.dimensions} has no dimension {name!r}.")
        tree, codes = job.trees[variable.name], frame[variable.name]
        if how.isdigit():
            return variable, *cut_to_level(tree, int(how), codes)
        path = find_file(how, self.path.parent)
        lines = [line for _, line in lines_of(path)]
        if lines and lines[0].upper() == "<TREERECODE>":
            return variable, *cut_below(tree, [variable.padded(c) for c in lines[1:]], codes)
        return variable, *recoded(path, variable, tree, codes)

    def _apriori(self, command: Command) -> None:
        arguments = command.arguments()
        if len(arguments) < 2:
            raise InputError("APRIORI needs a file and the number of a table.")
        name, number = arguments[0], arguments[1]
        separator = arguments[2] if len(arguments) > 2 and arguments[2] else ","
        lenient = len(arguments) > 3 and arguments[3] == "1"
        job = self._job(number)
        if job.problem is None or self.metadata is None:
            raise InputError("Read the data first (READMICRODATA or READTABLE).")
        path = find_file(name, self.path.parent)
        table = job.problem.table
        variables = [self.metadata.variable(key) for key in table.keys.columns]
        index = {key: at for at, key in enumerate(table.keys.itertuples(index=False, name=None))}
        done = 0
        for line, text in lines_of(path):
            parts = [part.strip().strip('"') for part in text.split(separator)]
            if len(parts) <= len(variables):
                raise InputError(f"{path}, line {line}: expected codes and an action: {text!r}.")
            key = tuple(
                _code(job.trees[v.name], v, code) for v, code in zip(variables, parts, strict=False)
            )
            cell = index.get(key)
            if cell is None:
                if not lenient:
                    raise InputError(
                        f"{path}, line {line}: there is no cell {', '.join(key)}. Correct the "
                        f"line, or pass over such lines with 1 as fourth argument."
                    )
                continue
            job.problem = _changed(job, job.problem, cell, parts[len(variables) :], path, line)
            done += 1
        # A pattern that was found before may not protect what is unsafe now.
        job.protected, job.has_apriori = None, True
        self.say(command, f"{done} lines of {path.name}")

    # -- protecting -----------------------------------------------------------------------

    def _suppress(self, command: Command) -> None:
        text = command.text.replace(" ", "")
        method, _, inside = text.partition("(")
        numbers = [part for part in inside.rstrip(")").split(",") if part]
        method = method.upper()
        if not numbers:
            raise InputError(f"Expected METHOD(table, ...), found {command.text!r}.")
        minutes = float(numbers[1]) if len(numbers) > 1 and method in ("MOD", "OPT") else 1.0
        seconds = self.time_limit or max(60 * minutes, 10.0)
        jobs = self.jobs if numbers[0] == "0" else [self._job(numbers[0])]
        if any(job.problem is None for job in jobs):
            raise InputError("Read the data first (READMICRODATA or READTABLE).")
        problems = [job.problem for job in jobs if job.problem is not None]
        problem = problems[0] if len(problems) == 1 else _linked(problems)
        values, suppressed = problem.table.values, np.zeros(problem.table.n_cells, dtype=bool)
        match method:
            case "GH" | "MOD" | "OPT" | "NET":
                suppressed = self._pattern(command, method, numbers, problem, seconds)
            case "CTA":
                adjusted = adjust(problem, time_limit=seconds, progress=self.progress)
                self.say(command, adjusted.summary())
                values = adjusted.values
            case "RND":
                base, steps = int(float(numbers[1])), int(float(numbers[2]))
                rounded = controlled_rounding(
                    problem, base=base, max_steps=steps + 1, time_limit=seconds
                )
                self.say(command, rounded.summary())
                values = rounded.values.astype(np.float64)
            case _:
                raise InputError(f"SUPPRESS: the method {method!r} is not known.")
        for job, own in zip(jobs, problems, strict=True):
            at = _positions(problem.table, own.table)
            job.protected = self._protected(job, own, suppressed[at], values[at])

    def _pattern(
        self,
        command: Command,
        method: str,
        numbers: list[str],
        problem: ProtectionProblem,
        seconds: float,
    ) -> Flags:
        singles = method in ("MOD", "OPT") and any(float(n) for n in numbers[2:5])
        singles |= method == "GH" and len(numbers) > 3 and bool(float(numbers[3]))
        known = problem.table.contributions
        against: list[str] = []
        if singles and known is not None and known.names is not None:
            against = ["contributors"]
            self.say(
                command,
                "single contributors are protected against as intruders who know what they gave, "
                "not by virtual cells",
            )
        elif singles:
            self.say(command, "contributors are not known: nothing is done about single ones")
        pattern = suppress(
            problem, protect_against=against, time_limit=seconds, progress=self.progress
        )
        found = audit(problem, pattern, intruders=against or "external", time_limit=seconds)
        self.is_safe &= found.is_safe
        self.say(command, f"{method} is done as one problem, {pattern.summary()}")
        self.say(command, found.summary())
        return pattern.suppressed

    def _protected(
        self, job: _Job, problem: ProtectionProblem, suppressed: Flags, values: Floats
    ) -> Protected:
        assert self.metadata is not None
        response = job.specification.response
        decimals = next(
            (v.decimals for v in self.metadata.variables if v.name.lower() == response.lower()), 0
        )
        codes = [
            _all_codes(job.trees[name], self.metadata.variable(name), not job.recodes)
            for name in problem.table.keys.columns
        ]
        return Protected(problem, suppressed, values, decimals, codes)

    def _write(self, command: Command) -> None:
        arguments = command.arguments()
        if len(arguments) != 4:
            raise InputError("WRITETABLE needs (table, type, options, file).")
        job = self._job(arguments[0])
        if job.protected is None:
            if job.problem is None:
                raise InputError("Read the data first (READMICRODATA or READTABLE).")
            if arguments[1] not in ("5", "6"):
                raise InputError(
                    "The table was not protected (no SUPPRESS): it would be published with its "
                    "sensitive cells."
                )
            none = np.zeros(job.problem.table.n_cells, dtype=bool)
            job.protected = self._protected(job, job.problem, none, job.problem.table.values)
        text = arguments[2].upper()
        options = {text[at : at + 2]: text[at + 2] == "+" for at in range(0, len(text) - 2, 3)}
        path = self.out / Path(arguments[3].replace("\\", "/")).name
        for note in write_table(job.protected, int(arguments[1]), options, path):
            self.say(command, note)
        self.files.append(path)


_WORK: dict[str, Callable[[_Runner, Command], None]] = {
    "READMICRODATA": _Runner._read_microdata,
    "READTABLE": _Runner._read_table,
    "RECODE": _Runner._recode,
    "APRIORI": _Runner._apriori,
    "SUPPRESS": _Runner._suppress,
    "WRITETABLE": _Runner._write,
}


def _rules(job: _Job) -> list[sensitivity.Rule]:
    """Rules of tablecloak; of NK and P the third and fourth look at holdings."""
    found: list[sensitivity.Rule] = []
    for number, (n, k) in enumerate(job.numbers("NK")):
        if n:
            level = "holding" if number > 1 else "contributor"
            found.append(sensitivity.Dominance(int(n), k, level))  # type: ignore[arg-type]
    for number, numbers in enumerate(job.numbers("P")):
        if not numbers[0]:
            continue
        level = "holding" if number > 1 else "contributor"
        if len(numbers) > 2:
            p, q, n = numbers[:3]
            found.append(sensitivity.PriorPosterior(p, q, int(n), level))  # type: ignore[arg-type]
        else:
            n = numbers[1] if len(numbers) > 1 else 1
            found.append(sensitivity.PPercent(numbers[0], int(n), level))  # type: ignore[arg-type]
    for number, numbers in enumerate(job.numbers("FREQ")):
        if numbers[0]:
            level = "holding" if number else "contributor"
            margin = numbers[1] if len(numbers) > 1 else MARGIN
            found.append(
                sensitivity.MinimumFrequency(int(numbers[0]), margin, level)  # type: ignore[arg-type]
            )
    for number, numbers in enumerate(job.numbers("REQ")):
        first, second, least, margin = (*numbers, *(0.0, 0.0, 0.0, MARGIN)[len(numbers) :])[:4]
        level = "holding" if number else "contributor"
        found.append(
            sensitivity.Request(first, second, int(least), margin, level)  # type: ignore[arg-type]
        )
    found += [sensitivity.ZeroUnsafe(numbers[0]) for numbers in job.numbers("ZERO")]
    return found


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
        lower_bound=sensitivity.not_zero(table, zero + 1.5 * min(low, 0.0)),
        upper_bound=zero + 1.5 * max(high, 0.0),
        weights=np.abs(table.values),
    )


def _with_status(problem: ProtectionProblem, cells: Flags, status: CellStatus) -> ProtectionProblem:
    return problem.with_changes(
        status=np.where(cells, status.value, problem.status),
        lower_protection=np.where(cells, 0.0, problem.lower_protection),
        upper_protection=np.where(cells, 0.0, problem.upper_protection),
        reasons=np.where(cells, "", problem.reasons),
    )


def _changed(
    job: _Job, problem: ProtectionProblem, cell: int, action: list[str], path: Path, line: int
) -> ProtectionProblem:
    """Do one line of an a priori file."""
    one = np.arange(problem.table.n_cells) == cell
    size = abs(float(problem.table.values[cell]))
    try:
        numbers = [float(number) for number in action[1:] if number]
    except ValueError:
        raise InputError(f"{path}, line {line}: {action[1:]} are not numbers.") from None
    word = action[0].lower()
    match word:
        case "s":
            return _with_status(problem, one, CellStatus.SAFE)
        case "p":
            return _with_status(problem, one, CellStatus.FROZEN)
        case "m" | "ml":
            return _with_status(problem, one, CellStatus.FORCED)
        case "u":
            level = max(size * job.margin / 100, 1.0)
            changed = _with_status(problem, one, CellStatus.SENSITIVE)
            room = float(problem.table.values[cell] - problem.lower_bound[cell])
            return changed.with_changes(
                lower_protection=np.where(one, min(level, room), changed.lower_protection),
                upper_protection=np.where(one, level, changed.upper_protection),
                reasons=np.where(one, "manual", changed.reasons),
            )
        case "c" | "w":
            if not numbers or numbers[0] <= 0:
                raise InputError(f"{path}, line {line}: a cost must be greater than 0.")
            return problem.with_changes(weights=np.where(one, numbers[0], problem.weights))
        case "pl":
            if len(numbers) != 2 or min(numbers) < 0 or not problem.sensitive[cell]:
                raise InputError(
                    f"{path}, line {line}: two levels from 0 are needed, of an unsafe cell."
                )
            return problem.with_changes(
                lower_protection=np.where(one, numbers[0], problem.lower_protection),
                upper_protection=np.where(one, numbers[1], problem.upper_protection),
            )
    raise InputError(f"{path}, line {line}: the action {word!r} is not one of u, s, p, c, pl, m.")


def _code(tree: Hierarchy, variable: Variable, code: str) -> str:
    if code in ("", tree.total):
        return tree.total
    return code if code in tree.position else variable.padded(code)


def _all_codes(tree: Hierarchy, variable: Variable, with_missing: bool) -> list[str]:
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
        found = [code for code in found if code not in variable.missing]
        found += [code for code in dict.fromkeys(variable.missing) if code != tree.total]
    return found


def _linked(problems: list[ProtectionProblem]) -> ProtectionProblem:
    """Join tables into one problem; a cell that is unsafe in one is unsafe."""
    table = link(*(problem.table for problem in problems))
    n = table.n_cells
    arrays = {
        "lower_protection": np.zeros(n),
        "upper_protection": np.zeros(n),
        "weights": np.zeros(n),
    }
    status = np.full(n, "s")
    reasons = np.full(n, "", dtype="U20")
    low = np.full(n, min(float(problem.lower_bound.min()) for problem in problems))
    high = max(float(problem.upper_bound.max()) for problem in problems)
    for problem in problems:
        at = _positions(table, problem.table)
        for name, array in arrays.items():
            array[at] = np.maximum(array[at], getattr(problem, name))
        stronger = (problem.status != "s") & (status[at] != "u")
        status[at] = np.where(stronger, problem.status, status[at])
        reasons[at] = np.where(reasons[at] == "", problem.reasons, reasons[at])
    given, low = low, sensitivity.not_zero(table, low)
    room = np.where(low > given, table.values - low, np.inf)
    arrays["lower_protection"] = np.minimum(arrays["lower_protection"], room)
    return ProtectionProblem(
        table=table,
        status=status,
        sliding_protection=np.zeros(n),
        lower_bound=low,
        upper_bound=np.full(n, high),
        reasons=reasons,
        **arrays,
    )


def _positions(whole: Table, part: Table) -> npt.NDArray[np.int64]:
    """Where the cells of a table lie in the linked one."""
    if whole is part:
        return np.arange(part.n_cells)
    keys = part.keys.assign(
        **{
            name: whole.hierarchies[name].total
            for name in whole.keys.columns
            if name not in part.keys.columns
        }
    )
    index = pd.MultiIndex.from_frame(whole.keys)
    wanted = pd.MultiIndex.from_frame(keys[list(whole.keys.columns)])
    return index.get_indexer(wanted).astype(np.int64)
