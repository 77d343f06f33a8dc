"""G-Confid of Statistics Canada: a folder with its tables of cells, relations and patterns.

``outcell`` has one row for each cell and for each *aggregate*: a sum of sensitive cells and a few
others of one relation that is sensitive itself. ``outconstraint`` has one row for each cell of each
relation, aggregates included; ``outsuppress`` is ``outcell`` with the pattern.

References
----------
.. [1] Statistics Canada, G-Confid 2.0 user guide: output tables of Sensitivity, Suppression and
   Auditing. The meaning of levels and bounds is that of its audit: a cell T with the sensitivity S
   must be possible from T - S/2 to T + S/2, and everybody knows it within T/2.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Flags, Floats, Texts
from tablecloak.errors import InputError, suggestion
from tablecloak.storage import existing_file, replacing_folder
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.formats.format import FORMATS, ProblemFormat, reading
from tablecloak.tables.keys import SUM
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.relations import relation_matrix
from tablecloak.tables.table import Table
from tablecloak.tables.text_numbers import numbers_of

CELLS, CONSTRAINTS, PATTERN = "outcell", "outconstraint", "outsuppress"

OURS = {
    "LowerProtection": "lower_protection",
    "UpperProtection": "upper_protection",
    "SlidingProtection": "sliding_protection",
    "LowerBound": "lower_bound",
    "UpperBound": "upper_bound",
    "Weight": "weights",
}
"""Columns that are added where sensitivity and total do not tell levels, bounds or weights.

G-Confid passes further columns on."""

_NUMBERS = (
    "CellId", "NbAnonym", "AnonymTotalVar", "NbRespondents", "WeightedNbRespondents", "TotalVar",
    "Sensitivity", "TotalNoise", "TotalProxySize", "SensitivityBeforeWaivers", "FavCost",
    "ShadowTotal", "NetVariation",
)  # fmt: skip
_WORDS = ("Status", "Type", "OutStatus")
_NEEDED = {
    CELLS: ("CellId", "TotalNoise", "Sensitivity", "Status", "Type"),
    CONSTRAINTS: ("ConstraintId", "CellId", "Coefficient"),
    PATTERN: ("CellId", "OutStatus"),
}
SUFFIXES = (".csv", ".sas7bdat")

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
class GConfidTables:
    """The tables of one folder, every entry as text. Secret.

    Parameters
    ----------
    frames : dict of str to pandas.DataFrame
        ``outcell``, ``outconstraint`` and perhaps ``outsuppress``; names of columns in the spelling
        of the user guide.
    content : dict of str to bytes
        Files that were read as CSV, by the name of their table.
    """

    frames: dict[str, pd.DataFrame]
    content: dict[str, bytes]

    @classmethod
    def are_in(cls, folder: Path) -> bool:
        """Whether a folder holds cells of G-Confid."""
        return folder.is_dir() and (_file(folder, CELLS) or _file(folder, PATTERN)) is not None

    @classmethod
    def read(cls, folder: Path) -> GConfidTables:
        """Read a folder with the tables as CSV or SAS files.

        Raises
        ------
        InputError
            Names the file, and the column or row that is wrong.
        """
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "does not exist"
            raise InputError(f"{folder}: {what}. Give a folder with {CELLS}.csv of G-Confid.")
        frames, content = {}, {}
        for name, needed in _NEEDED.items():
            path = _file(folder, name)
            if path is None:
                continue
            frames[name] = _read(path, needed)
            if path.suffix.lower() == ".csv":
                content[name] = path.read_bytes()
        if CELLS not in frames and PATTERN in frames:
            frames[CELLS] = frames[PATTERN].drop(
                columns=["OutStatus", "NetVariation"], errors="ignore"
            )
        for name in (CELLS, CONSTRAINTS):
            if name not in frames:
                raise InputError(f"{folder}: the file {name}.csv is missing. Add it.")
            for column in _NEEDED[name]:
                if column not in frames[name]:
                    raise InputError(f"{folder}: {name} has no column {column!r}.")
        return cls(frames, content)

    def write(self, folder: Path) -> None:
        """Write all tables as CSV, readable by their owner alone."""
        with replacing_folder(folder) as new:
            for name, frame in self.frames.items():
                path = new / f"{name}.csv"
                if name in self.content:
                    path.write_bytes(self.content[name])
                else:
                    frame.to_csv(path, index=False, lineterminator="\n")
                path.chmod(0o600)

    @property
    def cells(self) -> pd.DataFrame:
        """``outcell``."""
        return self.frames[CELLS]

    @property
    def constraints(self) -> pd.DataFrame:
        """``outconstraint``."""
        return self.frames[CONSTRAINTS]

    @property
    def dimensions(self) -> list[str]:
        """Columns that name cells: those of no known meaning, of codes, empty for aggregates.

        A column of amounts, such as a cost variable, must never be one: codes are published.
        """
        known = {*_NUMBERS, *_WORDS, *OURS}
        aggregates = self.is_aggregate
        at = list(self.cells.columns).index("CellId")
        return [
            name
            for place, name in enumerate(map(str, self.cells.columns))
            if name not in known
            and _are_codes(self.cells[name])
            # Variables of BY groups stand in front and name aggregates, too.
            and (place < at or not (self.cells[name][aggregates] != "").any())
        ]

    @property
    def is_aggregate(self) -> Flags:
        """Which rows of ``outcell`` are aggregates."""
        flags: Flags = (self.cells["Type"].str.upper() == "A").to_numpy()
        return flags

    def numbers(self, table: str, column: str) -> Floats:
        """Return a column as numbers.

        Raises
        ------
        InputError
            Names the row of an entry that is none.
        """
        entries = self.frames[table][column]
        found = numbers_of(entries).to_numpy()
        odd = np.flatnonzero(np.isnan(found))
        if len(odd):
            raise InputError(
                f"{table}, row {odd[0] + 1}: {column} is {entries.iloc[odd[0]]!r}, which is no "
                f"number."
            )
        return found

    def words(self, table: str, column: str, known: str) -> Texts:
        """Return a column of letters, in capitals.

        Raises
        ------
        InputError
            Names the row of a letter that is not known.
        """
        entries = self.frames[table][column].str.strip().str.upper()
        odd = np.flatnonzero(~entries.isin(list(known)))
        if len(odd):
            raise InputError(
                f"{table}, row {odd[0] + 1}: {column} is {entries.iloc[odd[0]]!r}."
                f"{suggestion(entries.iloc[odd[0]], known)}"
            )
        return entries.to_numpy(dtype=np.str_)

    def with_cells(self, **columns: Any) -> GConfidTables:
        """Return the tables with other columns in ``outcell``, and without the pattern."""
        frames = {name: frame for name, frame in self.frames.items() if name != PATTERN}
        frames[CELLS] = self.cells.assign(**columns)
        kept = {name: raw for name, raw in self.content.items() if name == CONSTRAINTS}
        return GConfidTables(frames, kept)

    def with_pattern(self, suppressed: Flags, net_variation: Floats | None = None) -> GConfidTables:
        """Return the tables with a pattern in ``outsuppress``.

        Parameters
        ----------
        suppressed : numpy.ndarray of bool, shape (n_cells,)
        net_variation : numpy.ndarray of float, shape (n_cells,), optional
            How far each cell moves in the proof; by default the column is left out.
        """
        pattern = self.cells.assign(OutStatus=np.where(suppressed, "X", "P"))
        if net_variation is not None:
            pattern["NetVariation"] = np.where(suppressed, net_variation, 0.0)
        kept = {name: raw for name, raw in self.content.items() if name != PATTERN}
        return GConfidTables({**self.frames, PATTERN: pattern}, kept)

    def suppressed(self) -> Flags | None:
        """Return which rows of ``outcell`` the pattern hides; None without a pattern.

        Raises
        ------
        InputError
            If the pattern is of other cells.
        """
        if PATTERN not in self.frames:
            return None
        hidden = self.words(PATTERN, "OutStatus", "XP") == "X"
        place = pd.Index(self.numbers(PATTERN, "CellId"))
        rows = place.get_indexer(pd.Index(self.numbers(CELLS, "CellId")))
        if place.has_duplicates or len(place) != len(rows) or (rows < 0).any():
            raise InputError(f"{PATTERN}: its cells are not those of {CELLS}. Check both files.")
        return np.asarray(hidden[rows])


def _file(folder: Path, name: str) -> Path | None:
    """Return the file of a table, in any case."""
    found = {
        path.suffix.lower(): path
        for path in sorted(folder.iterdir())
        if path.stem.lower() == name and path.suffix.lower() in SUFFIXES and path.is_file()
    }
    return next((found[suffix] for suffix in SUFFIXES if suffix in found), None)


def _read(path: Path, needed: tuple[str, ...]) -> pd.DataFrame:
    """Read a table as text, its columns named as in the user guide."""
    with reading(existing_file(path)):
        if path.suffix.lower() == ".sas7bdat":
            frame = pd.read_sas(path, encoding="infer").astype(object)
            frame = frame.where(frame.notna(), "").astype(str)
        else:
            frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if frame.empty:
        raise InputError(f"{path}: the table has no row. Check that it is the right file.")
    known = {name.upper(): name for name in (*_NUMBERS, *_WORDS, *OURS, *_NEEDED[CONSTRAINTS])}
    frame = frame.rename(columns=lambda name: known.get(str(name).upper(), str(name)))
    for column in needed:
        if column not in frame.columns:
            near = suggestion(column, map(str, frame.columns))
            raise InputError(f"{path}: column {column!r} is missing.{near}")
    if frame.columns.has_duplicates:
        raise InputError(f"{path}: a column is named twice. Remove one.")
    return frame


def _are_codes(column: pd.Series) -> bool:
    """Whether entries are codes: text, or whole numbers."""
    entries = pd.to_numeric(column[column != ""], errors="coerce").dropna()
    return bool((entries == np.rint(entries)).all())


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
