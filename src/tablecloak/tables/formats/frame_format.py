"""Formats of rows and columns, which hold records, results, problems and releases.

``cells.csv`` has one row for each cell: its codes, then ``value``, ``status``, levels,
bounds and weights. ``cells.relations.csv`` has one row for each cell of each relation:
``relation, cell, coefficient, right_hand_side``. If contributors are known,
``cells.contributions.csv`` has one row for each cell and level (contributor, holding): the
number of contributors and the largest of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Floats
from tablecloak.data_file import ReadingError
from tablecloak.errors import InputError, listed, require_known
from tablecloak.storage import existing_file, replacing
from tablecloak.tables.cell_arrays import CellArrays
from tablecloak.tables.contributions import LEVELS, Contributions
from tablecloak.tables.formats.format import (
    NO_PROBLEM,
    NO_RECORDS,
    ProblemFormat,
    ReleaseFormat,
    TableFormat,
    can_hold,
    reading,
)
from tablecloak.tables.formats.header_row import header_row
from tablecloak.tables.formats.lost_digits import least_level, lost_digits, may_lose, remedy
from tablecloak.tables.formats.spreadsheet_text import original_codes, unmarked
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.relations import relation_matrix
from tablecloak.tables.table import Table
from tablecloak.tables.text_numbers import numbers_of

LOOKED_AT = 100_000
"""Rows from which is told how a file is read."""

_ARRAYS = CellArrays.kinds()
_REQUIRED = ("value", *(name for name, kind in _ARRAYS.items() if kind.default is None))
_RELATIONS = ("relation", "cell", "coefficient", "right_hand_side")
_CONTRIBUTIONS = ("level", "count", "weighted_count", "total")


def part_of_problem(columns: Iterable[object]) -> str:
    """Return which file of a problem in rows and columns has these columns; empty for another."""
    names = set(map(str, columns))
    parts = {"cells": {*_REQUIRED}, "relations": {*_RELATIONS}, "contributions": {*_CONTRIBUTIONS}}
    return next((part for part, needed in parts.items() if needed <= names), "")


def refuse_problem(columns: Iterable[object], path: Path) -> None:
    """Refuse a file of a problem in rows and columns where something else is expected.

    Raises
    ------
    InputError
        Says what the file holds, and who reads it.
    """
    part = part_of_problem(columns)
    is_whole = can_hold(path, ProblemFormat) and not can_hold(path, RecordFormat)
    if part or is_whole:
        held = f"the {part} of a problem" if part else "a problem"
        raise ReadingError(
            f"{path}: holds {held}, whose sums and levels are told already.",
            "Give its file of cells to `tablecloak suppress`, or read it by `tc.read_problem`.",
        )


def beside(path: Path, what: str) -> Path:
    """``cells.csv.gz`` -> ``cells.relations.csv.gz``."""
    stem = path.name[: -len("".join(path.suffixes))] if path.suffixes else path.name
    return path.with_name(f"{stem}.{what}{''.join(path.suffixes)}")


def _relations_frame(table: Table) -> pd.DataFrame:
    block = coo_array(table.relations)
    # A relation without cells is empty, and would leave a gap in the numbers.
    _, number = np.unique(block.coords[0], return_inverse=True)
    return pd.DataFrame(
        {
            "relation": number,
            "cell": block.coords[1],
            "coefficient": block.data,
            "right_hand_side": table.right_hand_side[block.coords[0]],
        }
    )


def _require_columns(frame: pd.DataFrame, path: Path) -> None:
    if not set(_REQUIRED) & set(frame.columns) - {"value"}:
        raise ReadingError(f"{path}: it has no statuses and levels.", NO_PROBLEM)
    for column in _REQUIRED:
        require_known(column, frame.columns, f"{path}: column {column!r} is missing.")


def _require_codes(frame: pd.DataFrame, codes: list[str], path: Path) -> None:
    for column in codes:
        empty = np.flatnonzero(frame[column].isna())
        if len(empty):
            raise InputError(
                f"the code in column {column!r} is missing. Fill it in.",
                row=int(empty[0]),
                source=path,
            )


def _arrays(frame: pd.DataFrame, path: Path) -> dict[str, Any]:
    """What a problem has for each cell besides its value."""
    arrays: dict[str, Any] = {}
    for name, kind in _ARRAYS.items():
        column: Any = frame[name] if name in frame else pd.Series([kind.default] * len(frame))
        if kind.default is not None:
            column = column.astype(object).where(column.notna(), kind.default)
        is_text = kind.dtype is np.str_
        arrays[name] = column.astype(str).to_numpy() if is_text else numbers(column, path)
    return arrays


def numbers(column: pd.Series, path: Path) -> Floats:
    """Return a column as numbers; empty entries become NaN.

    Raises
    ------
    InputError
        Names the row of an entry that is no number.
    """
    entries = numbers_of(column)
    is_given = column.notna() & (column.astype(str).str.lower() != "nan")
    odd = np.flatnonzero(entries.isna() & is_given)
    if len(odd):
        raise InputError(
            f"{column.name} is {column.iloc[odd[0]]!r}, which is not a number.",
            row=int(odd[0]),
            source=path,
        )
    return entries.to_numpy(dtype=np.float64)


def _check_order(frame: pd.DataFrame, path: Path) -> None:
    """Raise if rows that number their cells are not in that order."""
    if "cell" not in frame:
        return
    cells = pd.to_numeric(frame["cell"], errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero(cells != np.arange(len(frame)))
    if len(wrong) and np.array_equal(np.sort(cells), np.arange(len(frame))):
        raise InputError(
            f"it holds cell {cells[wrong[0]]:g}, but relations number "
            f"cells by their rows, from 0. Sort the rows by `cell`.",
            row=int(wrong[0]),
            source=path,
        )


def _read_relations(relations: pd.DataFrame, path: Path, n_cells: int) -> tuple[csr_array, Floats]:
    """Return coefficients and right-hand sides from one row for each cell of each relation."""
    columns = {name: numbers(relations[name], path) for name in _RELATIONS}
    _check_numbers(columns, path, n_cells)
    row, cell = (columns[name].astype(np.int64) for name in ("relation", "cell"))
    side = columns["right_hand_side"]
    _, first = np.unique(row, return_index=True)
    right_hand_side = side[first]
    odd = np.flatnonzero(side != right_hand_side[row])
    if len(odd):
        raise InputError(
            f"relation {row[odd[0]]} has the right-hand side "
            f"{side[odd[0]]:g}, but {right_hand_side[row[odd[0]]]:g} before. Repeat the same one.",
            row=int(odd[0]),
            source=path,
        )
    matrix = relation_matrix(row, cell, columns["coefficient"], (len(first), n_cells))
    return matrix, right_hand_side


def _check_numbers(columns: dict[str, Floats], path: Path, n_cells: int) -> None:
    """Refuse numbers of relations and cells that do not exist, and infinite coefficients."""
    # Numbers must have no gaps: otherwise a single number could ask for any amount of memory.
    n_relations = len(np.unique(columns["relation"]))
    for name, end in (("relation", n_relations), ("cell", n_cells)):
        column = columns[name]
        outside = np.flatnonzero(~((column >= 0) & (column < end) & (column == np.floor(column))))
        if len(outside):
            raise InputError(
                f"there is no {name} {column[outside[0]]:g}; they "
                f"are numbered from 0 to {end - 1}, without gaps.",
                row=int(outside[0]),
                source=path,
            )
    for name in ("coefficient", "right_hand_side"):
        odd = np.flatnonzero(~np.isfinite(columns[name]))
        if len(odd):
            raise InputError(
                f"{name} is missing or infinite. Give a finite number.",
                row=int(odd[0]),
                source=path,
            )


class Appender:
    """Writes frames one after the other to a file; by default all at once in the end.

    Parameters
    ----------
    file_format : FrameFormat
    path : Path
    """

    def __init__(self, file_format: FrameFormat, path: Path) -> None:
        self.file_format = file_format
        self.path = path
        self._frames: list[pd.DataFrame] = []

    def add(self, frame: pd.DataFrame) -> None:
        """Write further rows, with the columns of the first ones."""
        self._frames.append(frame)

    def close(self) -> None:
        """Finish the file."""
        if self._frames:
            self.file_format.write(pd.concat(self._frames, ignore_index=True), self.path)


class RecordFormat(TableFormat):
    """A format of rows and columns that can be read."""

    holds = "records"

    record_suffixes: ClassVar[tuple[str, ...]] = ()
    """Further endings that are read but never written."""
    is_typed: ClassVar[bool] = True
    """Whether a file says the types of its columns."""
    engine_kind: ClassVar[str] = ""
    """Name of the format in databases that can read it themselves: "csv" or "parquet"."""

    @property
    def kind_for_engines(self) -> str:
        """The same, or nothing if files are not read as usual."""
        return "" if self.how.signs else self.engine_kind

    @abstractmethod
    def read(self, path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        """Read a whole file; the named columns as text, so that "01" stays "01"."""

    def records(self, path: Path, text_columns: Sequence[str]) -> pd.DataFrame:
        """Read a whole file as databases do: the code "NA" is not a missing one."""
        frame = self.read(path, text_columns)
        if frame.empty:
            raise InputError(f"{path}: {NO_RECORDS}")
        return frame

    def code_labels(self, path: Path, columns: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return what a file itself says of the codes of some columns, by column and code."""
        del path, columns
        return {}

    def column_names(self, path: Path) -> list[str]:
        """Return the names of the columns."""
        return list(map(str, self.read(path).columns))

    def head(self, path: Path, rows: int) -> pd.DataFrame:
        """Read the first rows, to show them."""
        return self.read(path).head(rows)

    def told_by(self, path: Path, rows: int = LOOKED_AT) -> tuple[Self, pd.DataFrame]:
        """Return the format as the first rows of a file say that it is read, and these rows."""
        with reading(existing_file(path)):
            row = self.how.header or header_row(self.first_rows(Path(path)))
            reader = self if row == 1 else self.read_with(header=row)
            return reader, reader.head(Path(path), rows)

    def read_with(self, **how: Any) -> Self:
        """Return the format with something else said of how files are read."""
        reader = type(self)()
        reader.how = replace(self.how, **how)
        return reader

    def first_rows(self, path: Path) -> list[list[Any]]:
        """Return the first rows as they stand in a file, where something may stand above names."""
        del path
        return []

    def require_header(self, path: Path, rows: Sequence[Sequence[Any]]) -> None:
        """Refuse a file whose names of columns evidently stand in another row than the first one.

        Raises
        ------
        ReadingError
            Names the row.
        """
        row = 1 if self.how.header else header_row(rows)
        if row > 1:
            raise ReadingError(
                f"{path}: row 1 does not name the columns, but row {row} seems to.", header=row
            )

    def read_columns(
        self, path: Path, columns: Sequence[str], *, as_text: bool = False
    ) -> pd.DataFrame:
        """Read some columns; with `as_text` as they stand in the file, unless it is typed."""
        return self.read(path, columns if as_text else ())[list(columns)]

    def pieces(self, path: Path, size: int, *, typed: bool) -> Iterator[pd.DataFrame]:
        """Yield the rows, about `size` at once.

        With `typed`, columns have the types that the whole file gives them; otherwise they may be
        text as it stands there.
        """
        del size, typed
        yield self.read(path)

    def read_checked(self, path: Path, text_columns: tuple[str, ...] = ()) -> pd.DataFrame:
        """Read a file that must exist; errors name it."""
        path = existing_file(path)
        with reading(path):
            return self.read(path, text_columns)


def _require_held(
    reader: FrameFormat, path: Path, columns: dict[str, Floats], level: float
) -> None:
    """Refuse columns of numbers, as they were read, of which doubles lose what counts."""
    doubtful = [name for name, read in columns.items() if len(may_lose(read, level))]
    doubtful = [name for name in doubtful if name in reader.column_names(path)]
    if not doubtful:
        return
    written = reader.read_columns(path, doubtful, as_text=True)
    for name in doubtful:
        texts = written[name].fillna("").to_numpy(dtype=np.str_)
        if reader.how.decimal == ",":
            texts = np.char.replace(np.char.replace(texts, ".", ""), ",", ".")
        lost = lost_digits(texts, columns[name], level)
        if len(lost):
            row = int(lost[0])
            reason = remedy(str(texts[row]), float(columns[name][row]), level, len(lost))
            raise InputError(f"{name} {reason}", row=row, source=path)


class FrameFormat(RecordFormat, ProblemFormat, ReleaseFormat):
    """A format of rows and columns that can be read and written.

    A sibling has to read and write whole frames. Files larger than memory are read and written
    piece by piece where it overrides the other methods as well.
    """

    holds = "records, results, problems, releases"

    @abstractmethod
    def write(self, frame: pd.DataFrame, path: Path) -> None:
        """Write a whole frame, without its index."""

    def appender(self, path: Path) -> Appender:
        """Begin a file that is written piece by piece."""
        return Appender(self, path)

    def read_problem(self, path: Path, tolerance: float) -> ProtectionProblem:
        """Read cells from the file, relations and contributors from those beside it.

        Raises
        ------
        InputError
            Names file, row and column.
        """
        cells = self.told_by(path)[0]
        frame = cells.read_checked(path)
        _require_columns(frame, path)
        is_count = "measure" in frame and bool((frame["measure"] == "count").all())
        known = {*_REQUIRED, *_ARRAYS, *(["measure"] if is_count else [])}
        codes = [column for column in frame.columns if column not in known]
        if not self.is_typed:
            frame = cells.read_checked(path, tuple(codes))
        _require_codes(frame, codes, path)
        relations = self._relation_rows(beside(path, "relations"))
        _check_order(frame, path)
        matrix, right_hand_side = _read_relations(relations, beside(path, "relations"), len(frame))
        numbered = pd.DataFrame({"cell": np.arange(len(frame)).astype(str)})
        table = Table(
            keys=frame[codes].apply(original_codes) if codes else numbered,
            values=numbers(frame["value"], path),
            relations=matrix,
            right_hand_side=right_hand_side,
            name="count" if is_count else "value",
            tolerance=tolerance,
            **self._contributions(beside(path, "contributions"), len(frame)),
        )
        problem = ProtectionProblem(table=table, **_arrays(frame, path))
        if not self.is_typed:
            cells._require_held(problem, path, beside(path, "relations"))
        return problem

    def _require_held(self, problem: ProtectionProblem, path: Path, relations: Path) -> None:
        """Refuse numbers of a text file of which a double loses what counts beside a level."""
        names = ("lower_protection", "upper_protection", "sliding_protection")
        level = least_level(*(getattr(problem, name) for name in names))
        held = {name: getattr(problem, name) for name in (*names, "lower_bound", "upper_bound")}
        held = {"value": problem.table.values, **held}
        _require_held(self, path, held, level)
        reader = self.told_by(relations)[0]
        if len(may_lose(problem.table.right_hand_side, level)):
            side = "right_hand_side"
            rows = numbers(reader.read_columns(relations, [side])[side], relations)
            _require_held(reader, relations, {side: rows}, level)

    def _relation_rows(self, path: Path) -> pd.DataFrame:
        relations = self.told_by(path)[0].read_checked(path)
        for column in _RELATIONS:
            if column not in relations.columns:
                raise InputError(
                    f"{path}: column {column!r} is missing. A file of relations needs "
                    f"{listed(list(_RELATIONS))}."
                )
        return relations

    def _contributions(self, path: Path, n_cells: int) -> dict[str, Any]:
        """Contributions by the name of their attribute; empty if there is no such file."""
        if not path.exists():
            return {}
        reader, first = self.told_by(path)
        if "level" not in first.columns:
            raise InputError(
                f"{path}: column 'level' is missing, which says of each row whether it is about "
                f"the contributors or the holdings of a cell. Write the file again by `tablecloak "
                f"convert`."
            )
        text = tuple(column for column in first.columns if column.startswith("contributor_"))
        frame = reader.read_checked(path, text)
        odd = np.flatnonzero(~frame["level"].isin(list(LEVELS)))
        if len(odd):
            raise InputError(
                f"the level is {frame['level'].iloc[odd[0]]!r}. Known are: {listed(list(LEVELS))}.",
                row=int(odd[0]),
                source=path,
            )
        for name in text:
            frame[name] = frame[name].map(unmarked)
        contributions = {}
        for level, attribute in LEVELS.items():
            rows = frame[frame["level"] == level].drop(columns="level").dropna(axis=1, how="all")
            if len(rows) not in (0, n_cells):
                raise InputError(
                    f"{path}: {len(rows)} rows of level {level!r} for {n_cells} cells."
                )
            if len(rows):
                try:
                    contributions[attribute] = Contributions.from_frame(rows)
                except InputError as error:
                    raise error.of(path) from None
        return contributions

    def write_problem(self, problem: ProtectionProblem, path: Path) -> None:
        """Write cells to the file, relations and contributors beside it."""
        frame = problem.to_frame()
        if problem.table.is_count and "measure" not in frame:
            frame = frame.assign(measure="count")
        self.write_whole(frame, path, secret=True)
        relations = _relations_frame(problem.table)
        self.write_whole(relations, beside(path, "relations"), secret=True)
        frames = [
            contributions.to_frame().assign(level=level)
            for level, attribute in LEVELS.items()
            if (contributions := getattr(problem.table, attribute))
        ]
        if frames:
            self.write_whole(pd.concat(frames), beside(path, "contributions"), secret=True)
        else:
            beside(path, "contributions").unlink(missing_ok=True)

    def write_release(
        self, released: pd.DataFrame, about: Mapping[str, object], path: Path
    ) -> None:
        """Write a release as it is."""
        del about
        self.write_whole(released, path)

    def write_whole(self, frame: pd.DataFrame, path: Path, *, secret: bool = False) -> None:
        """Write a file that is complete or not there at all."""
        with replacing(path, secret=secret) as temporary:
            self.write(frame, temporary)
