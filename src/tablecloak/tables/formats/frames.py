"""Problems as CSV or Parquet: one file of cells, and beside it one file of relations.

``cells.csv`` has one row for each cell: its codes, then ``value``, ``status``, levels,
bounds and weights. ``cells.relations.csv`` has one row for each cell of each relation:
``relation, cell, coefficient, right_hand_side``. If contributors are known,
``cells.contributions.csv`` has one row for each cell and level (contributor, holding): the
number of contributors and the largest of them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array, csr_array

from tablecloak.errors import InputError, suggestion
from tablecloak.storage import existing_file, replacing
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.formats.jj import read_jj, relation_matrix, write_jj
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table

__all__ = [
    "harmless",
    "kind_of",
    "numbers",
    "read_frame",
    "read_problem",
    "write_frame",
    "write_problem",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_REQUIRED = (
    "value",
    "status",
    "lower_protection",
    "upper_protection",
    "lower_bound",
    "upper_bound",
)
_OPTIONAL = {"sliding_protection": 0.0, "weights": 1.0, "capacity_down": np.inf, "capacity_up":
             np.inf, "reasons": ""}  # fmt: skip
# Before pandas 3 the default parser may be off in the last digit.
EXACT: Any = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
COMPRESSED = (".gz", ".bz2", ".zip", ".xz", ".zst")
"""Endings after that of the kind of file."""

_RELATIONS = ("relation", "cell", "coefficient", "right_hand_side")


def read_problem(path: str | Path, *, tolerance: float = 0.0) -> ProtectionProblem:
    """Read a problem from a JJ, CSV or Parquet file; the name's ending says which.

    Raises
    ------
    InputError
        For an unknown ending, a table without cells, or what the reader of that format finds.
    """
    path, kind = Path(path), kind_of(Path(path))
    if kind == "jj":
        problem = read_jj(path, tolerance=tolerance)
    else:
        problem = _read_cells(path, kind, tolerance)
    if not problem.table.n_cells:
        raise InputError(f"{path}: the table has no cell. Is it the right file?")
    return problem


def write_problem(problem: ProtectionProblem, path: str | Path) -> None:
    """Write a problem to a JJ, CSV or Parquet file; the name's ending says which. Secret."""
    path = Path(path)
    if kind_of(path) == "jj":
        write_jj(problem, path)
        return
    frame = problem.to_frame()
    if problem.table.is_count and "measure" not in frame:
        frame = frame.assign(measure="count")
    write_frame(frame, path, secret=True)
    block = coo_array(problem.table.relations)
    # A relation without cells says nothing, and would leave a gap in the numbers.
    _, number = np.unique(block.coords[0], return_inverse=True)
    relations = pd.DataFrame(
        {
            "relation": number,
            "cell": block.coords[1],
            "coefficient": block.data,
            "right_hand_side": problem.table.right_hand_side[block.coords[0]],
        }
    )
    write_frame(relations, _beside(path, "relations"), secret=True)
    levels = {"contributor": problem.table.contributions, "holding": problem.table.holdings}
    known = [found.to_frame().assign(level=level) for level, found in levels.items() if found]
    if known:
        write_frame(pd.concat(known), _beside(path, "contributions"), secret=True)
    else:
        _beside(path, "contributions").unlink(missing_ok=True)


def read_frame(path: str | Path, text_columns: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file; the named columns as text, so that "01" stays "01".

    Raises
    ------
    InputError
        If the file does not exist or cannot be read.
    """
    path = existing(path)
    try:
        if kind_of(path) == "parquet":
            return pd.read_parquet(path)
        kinds = dict.fromkeys([*text_columns, *map(marked, text_columns)], str)
        frame: pd.DataFrame = pd.read_csv(path, dtype=kinds, **EXACT)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read ({error}).") from error
    if not isinstance(frame.index, pd.RangeIndex):
        # pandas takes what is too much for names of the rows, and moves all columns.
        raise InputError(
            f"{path}: its rows have more entries than its header. Name all columns, or leave out "
            f"the separator at the end of the rows."
        )
    return frame.rename(columns=unmarked)


def existing(path: str | Path) -> Path:
    """Return the path of a file that must be there.

    Raises
    ------
    InputError
        If it is not, or is a folder.
    """
    return existing_file(path)


def write_frame(frame: pd.DataFrame, path: str | Path, *, secret: bool = False) -> None:
    """Write a frame as CSV or Parquet; the name's ending says which."""
    path = Path(path)
    kind = kind_of(path)
    with replacing(path, secret=secret) as temporary:
        if kind == "parquet":
            frame.to_parquet(temporary, index=False)
        else:
            harmless(frame).to_csv(temporary, index=False)


_CALCULATED = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_MARKED = re.compile(r"''*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in which no text would be calculated by a spreadsheet that opens the CSV.

    Text that begins like a formula gets an apostrophe in front, in names of columns too; numbers
    stay. `original_codes` takes it away again.
    """
    plain = frame.rename(columns=marked)
    for at, column in enumerate(plain.columns):
        if not pd.api.types.is_numeric_dtype(plain.dtypes.iloc[at]):
            plain[column] = plain[column].map(marked)
    return plain


def marked(entry: Any) -> Any:
    """Put an apostrophe in front of text that begins like a formula."""
    if isinstance(entry, str) and _CALCULATED.match(entry):
        return f"'{entry}"
    return entry


def unmarked(entry: Any) -> Any:
    """Take away the apostrophe that `marked` put in front."""
    return entry[1:] if isinstance(entry, str) and _MARKED.match(entry) else entry


def original_codes(column: pd.Series) -> pd.Series:
    """Undo what `harmless` did to a column of codes."""
    return column.astype(str).map(unmarked)


def _read_cells(path: Path, kind: str, tolerance: float) -> ProtectionProblem:
    frame = read_frame(path)
    for column in _REQUIRED:
        if column not in frame.columns:
            raise InputError(
                f"{path}: column {column!r} is missing."
                f"{suggestion(column, map(str, frame.columns))}"
            )
    is_count = "measure" in frame and bool((frame["measure"] == "count").all())
    known = {*_REQUIRED, *_OPTIONAL, *(["measure"] if is_count else [])}
    codes = [column for column in frame.columns if column not in known]
    frame = read_frame(path, tuple(codes)) if kind == "csv" else frame
    for column in codes:
        empty = np.flatnonzero(frame[column].isna())
        if len(empty):
            raise InputError(
                f"{path}, row {empty[0] + 1}: the code in column {column!r} is missing."
            )
    relations = read_frame(_beside(path, "relations"))
    for column in _RELATIONS:
        if column not in relations.columns:
            raise InputError(f"{_beside(path, 'relations')}: column {column!r} is missing.")
    n_cells = len(frame)
    _check_order(frame, path)
    matrix, right_hand_side = _read_relations(relations, _beside(path, "relations"), n_cells)
    keys = (
        frame[codes].apply(original_codes)
        if codes
        else pd.DataFrame({"cell": np.arange(n_cells).astype(str)})
    )
    arrays: dict[str, Any] = {"status": frame["status"].astype(str).to_numpy()}
    for name in _REQUIRED:
        if name not in ("value", "status"):
            arrays[name] = numbers(frame[name], path)
    for name, default in _OPTIONAL.items():
        given: Any = frame[name] if name in frame else pd.Series([default] * n_cells)
        given = given.astype(object).where(given.notna(), default)
        arrays[name] = given.astype(str).to_numpy() if name == "reasons" else numbers(given, path)
    known_contributions = _read_contributions(_beside(path, "contributions"), n_cells)
    table = Table(
        keys=keys,
        values=numbers(frame["value"], path),
        relations=matrix,
        right_hand_side=right_hand_side,
        name="count" if is_count else "value",
        tolerance=tolerance,
        contributions=known_contributions.get("contributions"),
        holdings=known_contributions.get("holdings"),
    )
    return ProtectionProblem(table=table, **arrays)


def numbers(column: pd.Series, path: Path) -> Floats:
    """Return a column as numbers; empty entries become NaN.

    Raises
    ------
    InputError
        Names the row of an entry that is no number.
    """
    found = pd.to_numeric(column, errors="coerce")
    odd = np.flatnonzero(found.isna() & column.notna() & (column.astype(str).str.lower() != "nan"))
    if len(odd):
        raise InputError(
            f"{path}, row {odd[0] + 1}: {column.name} is {column.iloc[odd[0]]!r}, which is not a "
            f"number."
        )
    return found.to_numpy(dtype=np.float64)


def _check_order(frame: pd.DataFrame, path: Path) -> None:
    """Rows that carry the numbers of their cells must stand in that order."""
    if "cell" not in frame:
        return
    found = pd.to_numeric(frame["cell"], errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero(found != np.arange(len(frame)))
    if len(wrong) and np.array_equal(np.sort(found), np.arange(len(frame))):
        raise InputError(
            f"{path}: row {wrong[0] + 1} holds cell {found[wrong[0]]:g}, but relations number "
            f"cells by their rows, from 0. Sort the rows by `cell`."
        )


def _read_relations(relations: pd.DataFrame, path: Path, n_cells: int) -> tuple[csr_array, Floats]:
    """Return coefficients and right-hand sides from one row for each cell of each relation."""
    found = {name: numbers(relations[name], path) for name in _RELATIONS}
    # Numbers without gaps, so that no number in a file asks for memory.
    n_relations = len(np.unique(found["relation"]))
    for name, end in (("relation", n_relations), ("cell", n_cells)):
        column = found[name]
        outside = np.flatnonzero(~((column >= 0) & (column < end) & (column == np.floor(column))))
        if len(outside):
            raise InputError(
                f"{path}, row {outside[0] + 1}: there is no {name} {column[outside[0]]:g}; they "
                f"are numbered from 0 to {end - 1}, without gaps."
            )
    for name in ("coefficient", "right_hand_side"):
        odd = np.flatnonzero(~np.isfinite(found[name]))
        if len(odd):
            raise InputError(f"{path}, row {odd[0] + 1}: {name} is missing or infinite.")
    row, cell = (found[name].astype(np.int64) for name in ("relation", "cell"))
    side = found["right_hand_side"]
    _, first = np.unique(row, return_index=True)
    right_hand_side = side[first]
    odd = np.flatnonzero(side != right_hand_side[row])
    if len(odd):
        raise InputError(
            f"{path}, row {odd[0] + 1}: relation {row[odd[0]]} has the right-hand side "
            f"{side[odd[0]]:g}, but {right_hand_side[row[odd[0]]]:g} before. Repeat the same one."
        )
    matrix = relation_matrix(row, cell, found["coefficient"], (n_relations, n_cells))
    return matrix, right_hand_side


def _beside(path: Path, what: str) -> Path:
    """``cells.csv.gz`` -> ``cells.relations.csv.gz``."""
    stem = path.name[: -len("".join(path.suffixes))] if path.suffixes else path.name
    return path.with_name(f"{stem}.{what}{''.join(path.suffixes)}")


def _read_contributions(path: Path, n_cells: int) -> dict[str, Contributions]:
    """Contributions by the name of their attribute; empty if there is no such file."""
    if not path.exists():
        return {}
    first = read_frame(path)
    text = tuple(column for column in first.columns if column.startswith("contributor_"))
    frame = read_frame(path, text)
    for name in text:
        frame[name] = frame[name].map(unmarked)
    found = {}
    for level, attribute in (("contributor", "contributions"), ("holding", "holdings")):
        rows = frame[frame["level"] == level].drop(columns="level").dropna(axis=1, how="all")
        if len(rows) not in (0, n_cells):
            raise InputError(f"{path}: {len(rows)} rows of level {level!r} for {n_cells} cells.")
        if len(rows):
            found[attribute] = Contributions.from_frame(rows)
    return found


def kind_of(path: Path) -> str:
    """Return jj, csv or parquet, by the ending of a name; others are an error."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    match suffixes[-1:]:
        case [".jj" | ".in"]:
            return "jj"
        case [".csv"]:
            return "csv"
        case [".parquet" | ".pq"]:
            return "parquet"
    raise InputError(f"{path}: unknown kind of file. Expected a name in .jj, .csv or .parquet.")
