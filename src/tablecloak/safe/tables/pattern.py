"""One pattern of gaps for all figures of a table, proved for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags
from tablecloak.errors import ModelError, SolverError
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.tables.measures import CellMeasure, levels
from tablecloak.safe.tables.request import TableGrid
from tablecloak.suppression.suppress import suppress
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table

METHOD = "sequential"
"""The search that ends by itself. A clock would give two runs of one program two patterns, and what
one of them hides may follow from both."""


@dataclass(frozen=True)
class Gaps:
    """Which cells are hidden.

    Parameters
    ----------
    hidden : (cells,) array of bool
        Cells that are not shown at all are among them.
    is_proved : bool
        Whether the pattern was proved; otherwise the whole table is hidden.
    notes : tuple of str
    """

    hidden: Flags
    is_proved: bool
    notes: tuple[str, ...] = ()


def find_gaps(
    grid: TableGrid,
    measures: Sequence[CellMeasure],
    appetite: Appetite,
    *,
    primary: Flags,
    absent: Flags,
    known: Flags,
) -> Gaps:
    """Hide cells until no primary cell can be computed too closely from those that are left.

    Parameters
    ----------
    grid, measures, appetite
    primary : (cells,) array of bool
        Cells that may not be published.
    absent : (cells,) array of bool
        Cells that the output does not show, such as margins that were not asked for.
    known : (cells,) array of bool
        Cells that cannot be hidden because everybody knows them: totals of shares.

    Notes
    -----
    Measures are protected one after the other, each with all cells hidden so far. Whoever sees
    less knows less, so that a pattern that protects the first measure still protects it when more
    is hidden for the next.
    """
    hidden = primary | absent
    if not primary.any():
        return Gaps(hidden, True)
    notes = []
    for measure in measures:
        table = table_of(measure)
        problem = _problem(table, measure, appetite, primary, hidden, known)
        try:
            found = suppress(problem, method=METHOD, time_limit=np.inf, threads=1)
        except (ModelError, SolverError):
            text = "no pattern of gaps protects what has to be hidden: the whole table is hidden"
            return Gaps(np.ones(grid.n_cells, dtype=bool), False, (text,))
        hidden = hidden | found.suppressed[: grid.n_cells]
        if not found.is_optimal:
            notes.append(
                f"the gaps of the {measure.adds} are not proved to be the fewest: up to "
                f"{found.gap:.0%} more may be hidden than is needed"
            )
    return Gaps(hidden, True, tuple(notes))


def table_of(measure: CellMeasure) -> Table:
    """Return all cells of a measure with its margins as a table."""
    rows, columns = measure.grid.shape
    row, column = (part.ravel() for part in np.indices((rows, columns)))
    keys = pd.DataFrame(
        {
            "row": np.where(row == rows - 1, "Total", np.char.add("r", row.astype(str))),
            "column": np.where(
                column == columns - 1, "Total", np.char.add("c", column.astype(str))
            ),
        }
    )
    relations = measure.grid.relations
    return Table(
        keys=keys,
        values=measure.values,
        relations=relations,
        right_hand_side=np.zeros(relations.shape[0]),
        name="count" if measure.is_whole else "sum",
        integer=measure.is_whole,
    )


def _problem(
    table: Table,
    measure: CellMeasure,
    appetite: Appetite,
    primary: Flags,
    hidden: Flags,
    known: Flags,
) -> ProtectionProblem:
    status = np.full(table.n_cells, CellStatus.SAFE.value)
    empty = measure.n == 0
    if not appetite.zeros_are_disclosive:
        status[empty] = CellStatus.FROZEN.value
    status[hidden] = CellStatus.FORCED.value
    status[primary] = CellStatus.SENSITIVE.value
    status[known & ~primary] = CellStatus.FROZEN.value
    low, high = levels(measure, primary, appetite)
    lower = np.full(table.n_cells, -np.inf if measure.is_signed else 0.0)
    if measure.is_whole and not appetite.zeros_are_disclosive:
        # Where empty cells are shown, a gap is known to hold somebody.
        lower = np.where(empty, 0.0, 1.0)
        low = np.minimum(low, table.values - lower)
    upper = np.full(table.n_cells, np.inf)
    if measure.is_code:
        ends = np.outer(measure.codes.values[[0, -1]], measure.records)
        # Where all have one end, the sum is there but for a rounding error.
        ends = np.vstack([ends, table.values])
        lower, upper = ends.min(axis=0), ends.max(axis=0)
    return ProtectionProblem(
        table=table,
        status=status,
        lower_protection=low,
        upper_protection=high,
        lower_bound=lower,
        upper_bound=upper,
        weights=measure.absolute + 1.0,
    )
