"""Tables before they are protected: made of records or cells, with rules, statuses and costs.

Costs are those that SPECIFYTABLE asks for. Records and cells are kept as they were read: they are
the data of the last check.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tablecloak.argus.apriori import with_status
from tablecloak.argus.gate import Evidence, Key
from tablecloak.argus.lines import BatchRule, Command, Specification
from tablecloak.argus.metadata import Metadata, Variable
from tablecloak.argus.recode import recode
from tablecloak.argus.rules import check_rules, is_active, sensitivity_rules
from tablecloak.argus.state import BatchState, TableJob
from tablecloak.argus.tables import TableCells, from_cells, from_records, read_statuses
from tablecloak.arrays import Floats, Texts
from tablecloak.errors import InputError, counted
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.hierarchy import Dimension, Hierarchy
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import not_zero
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.tabulate import tabulate

Trees = dict[str, Hierarchy]

SUMS = ["count", "weighted", "total", "value"]


def with_costs(
    batch: BatchState,
    job: TableJob,
    problem: ProtectionProblem,
    trees: Trees,
    frame: pd.DataFrame,
) -> ProtectionProblem:
    """Return a problem with the costs that its table asks for."""
    wanted, table = job.specification, problem.table
    tagged = (
        []
        if job.is_microdata
        else [*job.metadata.with_tag("COST"), *job.metadata.with_tag("COSTVAR")]
    )
    cost = np.abs(table.values)
    match wanted.cost:
        case "-3":
            batch.skip(job.command, "costs by distance; the response is taken")
        case "-2":
            cost = np.ones(table.n_cells)
        case "-1" if table.contributions is not None and job.has_counts:
            cost = table.contributions.count.astype(np.float64)
        case "-1":
            batch.skip(job.command, "costs by frequency, which is not known; the response is")
        case "" if tagged:
            cost = _sums(job, tagged[0], table, trees, frame)
        case "":
            pass
        case name:
            cost = _sums(job, job.metadata.variable(name), table, trees, frame)
    if wanted.power == 0:
        cost = np.log1p(cost)
    elif wanted.power != 1:
        cost = cost**wanted.power
    return problem.with_changes(weights=np.where(cost > 0, cost, 0.0001))


def _sums(
    job: TableJob,
    variable: Variable,
    table: Table,
    trees: Trees,
    frame: pd.DataFrame,
) -> Floats:
    """Add up a variable over the cells of a table."""
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
        raise InputError(
            f"The cost {variable.name!r} of cell {label} is negative. Costs must be 0 or more: "
            "correct the data, or take another variable."
        )
    return found


def of_records(
    frame: pd.DataFrame,
    wanted: Specification,
    rules: list[BatchRule],
    metadata: Metadata,
    trees: Mapping[str, Hierarchy],
    is_count: bool,
    safe_codes: Mapping[str, tuple[str, ...]],
) -> Evidence:
    """Return one contribution for each record."""
    names, n = list(trees), len(frame)
    codes = _numbered(frame, names)

    def column(name: str) -> np.ndarray:
        return frame[metadata.variable(name).name].to_numpy(dtype=np.float64)

    value = np.ones(n) if is_count else column(wanted.response)
    size = column(wanted.shadow) if wanted.shadow else value
    is_weighted = any(rule.name == "WGT" and rule.numbers[0] for rule in rules)
    weight = column(metadata.with_tag("WEIGHT")[0].name) if is_weighted else np.ones(n)
    holding, request = metadata.with_tag("HOLDING"), metadata.with_tag("REQUEST")
    asked = np.zeros(n, dtype=np.int64)
    if request and any(rule.name == "REQ" for rule in rules):
        letters = frame[request[0].name].str.strip()
        for code, mark in enumerate(request[0].tags["REQUEST"], start=1):
            asked[(letters == mark).to_numpy()] = code
    units = codes.assign(
        size=size,
        weight=weight,
        request=asked,
        holding=frame[holding[0].name].to_numpy() if holding else np.arange(n),
    )
    cells = codes.assign(count=1.0, weighted=weight, total=size * weight, value=value * weight)
    return Evidence(names, trees, units, cells, False, set(), safe_codes)


def of_cells(
    cells: TableCells, mode: str, unsafe: set[Key], safe_codes: Mapping[str, tuple[str, ...]]
) -> Evidence:
    """Return the largest contributions of each cell."""
    names, frame = cells.names, cells.frame
    if mode.startswith("1"):
        frame = frame[cells.is_leaf]
    if not cells.frequency:
        empty = pd.DataFrame(
            columns=[*range(len(names)), "size", "weight", "request", "holding", *SUMS]
        )
        return Evidence(names, cells.trees, empty, empty, True, unsafe, safe_codes)
    count = frame[cells.frequency].to_numpy(dtype=np.float64)
    value = frame[cells.response.name].to_numpy(dtype=np.float64)
    total = frame[cells.shadow].to_numpy(dtype=np.float64) if cells.shadow else value
    codes = _numbered(frame, names)
    units = [
        codes.assign(size=frame[top].fillna(0.0), weight=1.0, request=0, holding="")
        for top in cells.largest
    ]
    none = codes.iloc[:0].assign(size=0.0, weight=1.0, request=0, holding="")
    sums = codes.assign(count=count, weighted=count, total=total, value=value)
    return Evidence(
        names,
        cells.trees,
        pd.concat([none, *units], ignore_index=True),
        sums,
        not mode.startswith("1"),
        unsafe,
        safe_codes,
    )


def _numbered(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Codes in columns 0, 1, ...: a dimension may have any name."""
    return frame[names].set_axis(range(len(names)), axis=1)


def tabulate_records(batch: BatchState, command: Command, job: TableJob) -> None:
    """Make a table of the records; all recodings start from the codes of the data."""
    assert batch.frame is not None
    frame, trees, job.recoded = batch.frame, dict(job.trees), {}
    for name, tree in job.trees.items():
        if name in batch.recodes:
            how = batch.recodes[name][1]
            variable = job.metadata.variable(name)
            found = recode(how, batch.path.parent, variable, tree, frame[name])
            frame, trees[name] = frame.assign(**{name: found.codes}), found.tree
            job.recoded[name] = found
    with (job.rules_command or command).named():
        table = from_records(frame, job.specification, job.all_rules, job.metadata, trees)
        problem = by_rules(job, table)
    job.problem = with_costs(batch, job, problem, trees, frame)
    safe = job.safe_codes()
    job.evidence = of_records(
        frame, job.specification, job.all_rules, job.metadata, trees, job.is_count, safe
    )
    job.protected = None


def by_rules(job: TableJob, table: Table) -> ProtectionProblem:
    """Return the problem that the rules of a table pose."""
    rules = sensitivity_rules(job.all_rules)
    problem = table.protect(*rules) if rules else _plain_problem(table)
    safe = np.zeros(table.n_cells, dtype=bool)
    for name, codes in job.safe_codes().items():
        safe |= table.keys[name].isin(codes).to_numpy()
    return with_status(problem, safe & problem.sensitive, CellStatus.SAFE)


def take_cells(
    batch: BatchState, command: Command, job: TableJob, frame: pd.DataFrame, mode: str
) -> None:
    """Make a table of the cells that were read."""
    rules = job.all_rules
    with (job.rules_command or command).named():
        check_rules(rules, job.metadata, job.is_microdata, job.is_count)
        cells = TableCells.of(job.metadata, frame, job.specification, rules)
    table = from_cells(cells, mode)
    with (job.rules_command or command).named():
        problem = by_rules(job, table)
    by_rule = any(map(is_active, rules))
    unsafe: set[Key] = set()
    if job.metadata.with_tag("STATUS"):
        letters, by_cell = read_statuses(cells, table)
        given = letters == "u"
        if by_rule and np.any(given & ~problem.sensitive):
            n_left = int(np.sum(given & ~problem.sensitive))
            batch.skip(
                command, f"the status of {counted(n_left, 'cell')}, which the rules find safe"
            )
        if not by_rule:
            problem = given_statuses(job, problem, letters, by_cell)
            keys = table.keys.itertuples(index=False, name=None)
            unsafe = {key for key, is_given in zip(keys, given, strict=True) if is_given}
            totals = np.zeros(table.n_cells, dtype=bool)
            for name, tree in cells.trees.items():
                totals |= ~table.keys[name].isin(tree.leaves).to_numpy()
            if mode in ("1", "1F") and np.any(totals & (letters != "s")):
                n_kept = int(np.sum(totals & (letters != "s")))
                batch.skip(
                    command,
                    f"totals that were made anew are safe in τ-ARGUS; {n_kept} of them keep "
                    f"the status of the file here, as with 1T",
                )
    job.trees = cells.trees
    job.problem = with_costs(batch, job, problem, job.trees, cells.frame)
    job.evidence = of_cells(cells, mode, unsafe, job.safe_codes())


def given_statuses(
    job: TableJob,
    problem: ProtectionProblem,
    status: Texts,
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
    return problem.with_changes(status=status, lower_protection=lower, upper_protection=levels[1])


def _plain_problem(table: Table) -> ProtectionProblem:
    """A table without any rule."""
    low, high = float(table.values.min()), float(table.values.max())
    zero = np.zeros(table.n_cells)
    return ProtectionProblem(
        table=table,
        status=np.full(table.n_cells, "s"),
        lower_protection=zero,
        upper_protection=zero,
        lower_bound=not_zero(table, zero + 1.5 * min(low, 0.0)),
        upper_bound=zero + 1.5 * max(high, 0.0),
        weights=np.abs(table.values),
    )
