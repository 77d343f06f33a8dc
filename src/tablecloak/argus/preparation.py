"""Tables before they are protected: made of records or cells, with rules, statuses and costs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tablecloak.argus.apriori import with_status
from tablecloak.argus.costs import with_costs
from tablecloak.argus.evidence import of_cells, of_records
from tablecloak.argus.gate import Key
from tablecloak.argus.lines import Command
from tablecloak.argus.recode import recode
from tablecloak.argus.rules import check_rules, is_active, sensitivity_rules
from tablecloak.argus.state import BatchState
from tablecloak.argus.table_job import TableJob
from tablecloak.argus.tables import Cells, from_cells, from_records, read_statuses
from tablecloak.arrays import Texts
from tablecloak.tables.external_bounds import not_zero
from tablecloak.tables.problem import CellStatus, ProtectionProblem
from tablecloak.tables.table import Table

__all__ = ["by_rules", "given_statuses", "tabulate_records", "take_cells"]


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
        cells = Cells.of(job.metadata, frame, job.specification, rules)
        table = from_cells(cells, mode)
        problem = by_rules(job, table)
    by_rule = any(map(is_active, rules))
    unsafe: set[Key] = set()
    if job.metadata.with_tag("STATUS"):
        letters, by_cell = read_statuses(cells, table)
        given = letters == "u"
        if by_rule and np.any(given & ~problem.sensitive):
            n_left = int(np.sum(given & ~problem.sensitive))
            batch.skip(command, f"the status of {n_left} cells, which the rules find safe")
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
