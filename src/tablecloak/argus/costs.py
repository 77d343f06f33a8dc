"""Costs of suppressing each cell, as SPECIFYTABLE asks for them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tablecloak.argus.metadata import Variable
from tablecloak.argus.state import BatchState
from tablecloak.argus.table_job import TableJob
from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.tables.dimensions import Dimension
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.tabulate import tabulate

__all__ = ["with_costs"]

Trees = dict[str, Hierarchy]


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
        case "-1" if table.contributions is not None:
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
