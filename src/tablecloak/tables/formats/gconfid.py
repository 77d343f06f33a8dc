"""G-Confid of Statistics Canada: a folder with its tables of cells, relations and patterns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Floats, Texts
from tablecloak.errors import InputError
from tablecloak.tables.formats.format import FORMATS, ProblemFormat
from tablecloak.tables.formats.gconfid_tables import OURS, GConfidTables
from tablecloak.tables.formats.relation_terms import relation_matrix
from tablecloak.tables.keys import SUM
from tablecloak.tables.problem import CellStatus, ProtectionProblem
from tablecloak.tables.table import Table

__all__ = ["GConfid", "GConfidProblem", "gconfid_tables"]

STATUSES = {
    "S": CellStatus.SENSITIVE.value,
    "V": CellStatus.SAFE.value,
    "X": CellStatus.FORCED.value,
    "P": CellStatus.FROZEN.value,
}
"""Sensitive; not sensitive; to be suppressed in any case; to be published in any case."""

SCALE = 2.0
"""A sensitivity is the width of what must be possible, half of it on each side; external bounds lie
half the total away. G-Confid calls both the constraint scale, 2 by default."""

AGGREGATE = SUM
"""Beginning of the codes of aggregates: no release shows them, every pattern hides them."""


@dataclass(frozen=True, eq=False)
class GConfidProblem(ProtectionProblem):
    """A problem that was read from G-Confid, with its tables, which are written again as they were.

    Parameters
    ----------
    tables : GConfidTables
        Those of the folder. See `ProtectionProblem` for the other parameters.
    """

    tables: GConfidTables = None  # type: ignore[assignment]


@FORMATS.register
class GConfid(ProblemFormat):
    """Folders with outcell, outconstraint, outsuppress of G-Confid, as CSV; SAS files are read."""

    name = "gconfid"
    suffixes = (".gconfid",)

    def recognises(self, path: Path) -> bool:
        """Whether a folder holds cells of G-Confid, whatever its name."""
        return GConfidTables.are_in(path)

    def read_problem(self, path: Path, tolerance: float) -> ProtectionProblem:
        """Read a problem; a pattern in the folder stays in its tables."""
        return _problem_of(GConfidTables.read(path), tolerance)

    def write_problem(self, problem: ProtectionProblem, path: Path) -> None:
        """Write a problem; one that was read from such a folder and not changed as it was."""
        gconfid_tables(problem).write(path)

    def in_our_words(
        self, frame: pd.DataFrame, dimensions: list[str], path: Path
    ) -> pd.DataFrame | None:
        """Translate ``outsuppress``, whose aggregates are in no release."""
        del path
        if not {"OutStatus", "Type", *dimensions} <= set(frame.columns):
            return None
        shown = frame[frame["Type"].astype(str).str.upper() != "A"]
        status = np.where(shown["OutStatus"].str.upper() == "X", "suppressed", "published")
        value = shown["TotalVar" if "TotalVar" in shown else "TotalNoise"]
        found = shown[dimensions].assign(value=value.to_numpy(), status=status)
        return found.reset_index(drop=True)


def gconfid_tables(problem: ProtectionProblem) -> GConfidTables:
    """Return the tables of a problem; what a folder said is kept where it still holds."""
    if not isinstance(problem, GConfidProblem) or problem.table.n_cells != len(
        problem.tables.cells
    ):
        return GConfidTables(_frames(problem), {})
    before = _problem_of(problem.tables, problem.table.tolerance)
    names = [each.name for each in fields(ProtectionProblem) if each.name not in _NOT_WRITTEN]
    changed = [n for n in names if not np.array_equal(getattr(before, n), getattr(problem, n))]
    if not changed:
        return problem.tables
    cells, now = problem.tables.cells, _columns(problem)
    if set(OURS) & set(cells):
        now |= {column: getattr(problem, name) for column, name in OURS.items()}
    written: dict[str, Any] = {
        name: list(map(_written, column.tolist())) for name, column in now.items()
    }
    # A sensitivity below 0 tells how far a cell is from being sensitive; our levels do not.
    same = (before.sensitive == problem.sensitive) & (
        before.upper_protection == problem.upper_protection
    )
    written["Sensitivity"] = np.where(same, cells["Sensitivity"], written["Sensitivity"])
    return problem.tables.with_cells(**written)


_NOT_WRITTEN = ("table", "capacity_down", "capacity_up", "reasons")


def _problem_of(tables: GConfidTables, tolerance: float) -> GConfidProblem:
    """Return what the tables say."""
    cells = tables.cells
    total = np.abs(tables.numbers("outcell", "TotalNoise"))
    # Sensitivities are cut at the total, as G-Confid does.
    needed = np.minimum(tables.numbers("outcell", "Sensitivity"), total)
    values = tables.numbers("outcell", "TotalVar") if "TotalVar" in cells else total
    level = np.maximum(needed, 0.0) / SCALE
    given: dict[str, Any] = {
        "lower_protection": level,
        "upper_protection": level,
        "lower_bound": values - total / SCALE,
        "upper_bound": values + total / SCALE,
        "weights": np.where(tables.is_aggregate, 0.0, total),
    }
    has_levels = "UpperProtection" in cells
    for column, name in OURS.items():
        if column in cells:
            given[name] = tables.numbers("outcell", column)
    table = Table(
        keys=_keys(tables),
        values=values,
        **_relations(tables),
        tolerance=tolerance,
    )
    return GConfidProblem(
        table=table, status=_statuses(tables, needed, has_levels), **given, tables=tables
    )


def _statuses(tables: GConfidTables, needed: Floats, has_levels: bool) -> Texts:
    """Return the status of each cell: a positive sensitivity counts more than a letter."""
    letters = tables.words("outcell", "Status", "SVXP")
    tables.words("outcell", "Type", "CA")
    public = np.flatnonzero((letters == "P") & (needed > 0))
    if len(public) and not has_levels:
        raise InputError(
            f"outcell, row {public[0] + 1}: the cell is sensitive, but its status P says that it "
            f"is published. Change one of them."
        )
    if not has_levels:
        letters = np.where(needed > 0, "S", np.where(letters == "S", "V", letters))
    return np.array([STATUSES[letter] for letter in letters])


def _keys(tables: GConfidTables) -> pd.DataFrame:
    """Return the codes of cells; aggregates, which have none, are named by their numbers."""
    names, cells = tables.dimensions, tables.cells
    if not names:
        names, cells = ["cell"], cells.assign(cell=cells["CellId"])
    keys = cells[names].reset_index(drop=True)
    marked = AGGREGATE + cells["CellId"].reset_index(drop=True)
    for name in names:
        bare = tables.is_aggregate & ((keys[name] == "") | (names == ["cell"])).to_numpy()
        bare &= ~keys[name].str.startswith(AGGREGATE).to_numpy()
        keys[name] = keys[name].where(~bare, marked)
    if keys.duplicated().any():
        return pd.DataFrame({"cell": np.where(tables.is_aggregate, marked, cells["CellId"])})
    return keys


def _relations(tables: GConfidTables) -> dict[str, Any]:
    numbers = pd.Index(tables.numbers("outcell", "CellId"))
    if numbers.has_duplicates:
        raise InputError(f"outcell: CellId {numbers[numbers.duplicated()][0]:g} is given twice.")
    cell = numbers.get_indexer(pd.Index(tables.numbers("outconstraint", "CellId")))
    unknown = np.flatnonzero(cell < 0)
    if len(unknown):
        told = tables.constraints["CellId"].iloc[unknown[0]]
        raise InputError(f"outconstraint, row {unknown[0] + 1}: outcell has no cell {told}.")
    _, first, row = np.unique(
        tables.numbers("outconstraint", "ConstraintId"), return_index=True, return_inverse=True
    )
    coefficients = tables.numbers("outconstraint", "Coefficient")
    side = np.zeros(len(first))
    if "RightHandSide" in tables.constraints:
        side = tables.numbers("outconstraint", "RightHandSide")[first]
    matrix = relation_matrix(row, cell.astype(np.int64), coefficients, (len(first), len(numbers)))
    return {"relations": csr_array(matrix), "right_hand_side": side}


def _frames(problem: ProtectionProblem) -> dict[str, pd.DataFrame]:
    """Return the tables of a problem that was never in G-Confid."""
    table = problem.table
    columns = _columns(problem)
    taken = {"CellId", "TotalVar", "TotalNoise", *columns, *OURS} & set(table.keys.columns)
    if taken:
        raise InputError(f"A dimension is named {sorted(taken)[0]!r}, like a column of G-Confid.")
    cells = pd.DataFrame(
        {
            "CellId": np.arange(1, table.n_cells + 1),
            "TotalVar": table.values,
            "Sensitivity": columns.pop("Sensitivity"),
            "Status": columns.pop("Status"),
            "Type": np.where(table.rests, "A", "C"),
            "TotalNoise": np.abs(table.values),
            **columns,
            **{str(name): table.keys[name].to_numpy() for name in table.keys},
        }
    )
    block = coo_array(table.relations)
    order = np.lexsort([block.coords[1], block.data < 0, block.coords[0]])
    _, number = np.unique(block.coords[0], return_inverse=True)
    constraints = pd.DataFrame(
        {
            "ConstraintId": number[order] + 1,
            "CellId": block.coords[1][order] + 1,
            "Coefficient": block.data[order],
        }
    )
    if table.right_hand_side.any():
        constraints["RightHandSide"] = table.right_hand_side[block.coords[0]][order]
    return {"outcell": cells.map(_written), "outconstraint": constraints.map(_written)}


def _columns(problem: ProtectionProblem) -> dict[str, Any]:
    """Return status, sensitivity, and what these do not tell of levels, bounds and weights."""
    total = np.abs(problem.table.values)
    sensitivity = SCALE * np.maximum(problem.lower_protection, problem.upper_protection)
    sensitivity = np.where(problem.sensitive, sensitivity, 0.0)
    back = {letter: word for word, letter in STATUSES.items()}
    columns: dict[str, Any] = {
        "Sensitivity": sensitivity,
        "Status": np.array([back[letter] for letter in problem.status.tolist()]),
    }
    level = sensitivity / SCALE
    implied: dict[str, Floats] = {
        "lower_protection": level,
        "upper_protection": level,
        "sliding_protection": np.zeros(len(total)),
        "lower_bound": problem.table.values - total / SCALE,
        "upper_bound": problem.table.values + total / SCALE,
        "weights": np.where(problem.table.rests, 0.0, total),
    }
    odd = problem.sensitive & ((sensitivity <= 0) | (sensitivity > total))
    told = all(np.array_equal(getattr(problem, name), implied[name]) for name in implied)
    if not told or odd.any():
        columns |= {column: getattr(problem, name) for column, name in OURS.items()}
    return columns


def _written(entry: Any) -> str:
    """Return an entry as G-Confid writes it: whole numbers with a point, which it asks for."""
    return repr(float(entry)) if isinstance(entry, int | float) else str(entry)
