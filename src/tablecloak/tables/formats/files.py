"""Problems, frames and records in files; the ending of the name says in which format."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.errors import InputError, require_known
from tablecloak.storage import existing_file, replacing
from tablecloak.tables.formats.format import ProblemFormat, format_of, formats_holding, reading
from tablecloak.tables.formats.frame_format import FrameFormat, RecordFormat
from tablecloak.tables.problem import ProtectionProblem

FilePath = str | os.PathLike[str]
"""Path of a file, or a `DataFile`, which says how it is read."""

PIECE = 200_000
"""Records that are held at once besides the columns that change."""


def read_problem(path: str | Path, *, tolerance: float = 0.0) -> ProtectionProblem:
    """Read a problem from a JJ, CSV or Parquet file; the name's ending says which.

    Raises
    ------
    InputError
        For an unknown ending, a table without cells, or what the reader of that format finds.
    """
    path = Path(path)
    problem = format_of(path, ProblemFormat).read_problem(path, tolerance)
    if not problem.table.n_cells:
        raise InputError(f"{path}: the table has no cell. Check that it is the right file.")
    return problem


def write_problem(problem: ProtectionProblem, path: str | Path) -> None:
    """Write a problem to a JJ, CSV or Parquet file; the name's ending says which. Secret."""
    path = Path(path)
    format_of(path, ProblemFormat).write_problem(problem, path)


def read_frame(path: FilePath, text_columns: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file; the named columns as text, so that "01" stays "01".

    Raises
    ------
    InputError
        If the file does not exist or cannot be read.
    """
    return format_of(path, RecordFormat).read_checked(Path(path), text_columns)


def write_frame(frame: pd.DataFrame, path: str | Path, *, secret: bool = False) -> None:
    """Write a frame as CSV or Parquet; the name's ending says which."""
    path = Path(path)
    format_of(path, FrameFormat).write_whole(frame, path, secret=secret)


def record_endings() -> tuple[str, ...]:
    """Return the endings of names under which records are read."""
    return tuple(
        suffix
        for each in formats_holding(RecordFormat)
        for suffix in (*each.suffixes, *each.record_suffixes)
    )


def column_names(path: FilePath) -> list[str]:
    """Return the names of the columns of a CSV or Parquet file.

    Raises
    ------
    InputError
        If the file does not exist or cannot be read.
    """
    with reading(existing_file(path)):
        return _format_of(path).column_names(Path(path))


def read_columns(path: FilePath, columns: Sequence[str], *, as_text: bool = False) -> pd.DataFrame:
    """Read some columns of a CSV or Parquet file.

    Parameters
    ----------
    path : path
    columns : sequence of str
    as_text : bool, default=False
        Columns of a CSV file as they stand there, so that "01" stays "01".

    Raises
    ------
    InputError
        If the file cannot be read or a column is not there.
    """
    known = column_names(path)
    for name in columns:
        require_known(name, known, f"{path}: there is no column {name!r}.")
    wanted = [name for name in known if name in set(columns)]
    with reading(Path(path)):
        return _format_of(path).read_columns(Path(path), wanted, as_text=as_text)


def _format_of(path: FilePath) -> RecordFormat:
    """Files of records have many endings; those without a known one are read as CSV."""
    return format_of(path, RecordFormat, otherwise="csv")


def replace_columns(
    source: FilePath,
    target: str | Path,
    changed: pd.DataFrame,
    places: Integers | None = None,
    dropped: Sequence[str] = (),
) -> None:
    """Copy a file of records with other values in some columns, piece by piece.

    Parameters
    ----------
    source, target : path
        CSV or Parquet. Other columns are copied unchanged.
    changed : pandas.DataFrame
        One row for each record of the source, in its order.
    places : numpy.ndarray of int, shape (n_records,), optional
        The place of each record in the target; by default the order stays.
    dropped : sequence of str, default=()
        Columns that are left out.

    Raises
    ------
    InputError
        If the source has another number of records.
    """
    target = Path(target)
    written = format_of(target, FrameFormat)
    is_copied = _format_of(source).name == written.name
    if is_copied:
        # Entries are copied as they stand there, so that others have to be written like them.
        written.how = _format_of(source).how
    with replacing(target) as temporary:
        appender = written.appender(temporary)
        with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=".order-") as aside:
            # From CSV to Parquet types must be known, so that the file is read whole.
            replaced = (
                piece.drop(columns=list(dropped))
                for piece in _replaced(source, changed, typed=not is_copied)
            )
            for piece in replaced if places is None else _placed(replaced, places, Path(aside)):
                appender.add(piece)
        appender.close()


def _replaced(source: FilePath, changed: pd.DataFrame, *, typed: bool) -> Iterator[pd.DataFrame]:
    """Yield a file piece by piece, with other values in some columns."""
    end = 0
    with reading(Path(source)):
        for piece in _format_of(source).pieces(Path(source), PIECE, typed=typed):
            part = changed.iloc[end : end + len(piece)]
            end += len(piece)
            if len(part) < len(piece):
                break
            for name in changed.columns:
                piece[name] = part[name].to_numpy()
            yield piece
    if end != len(changed):
        raise InputError(
            f"{source}: the number of records has changed since it was read. Nothing was written."
        )


def _placed(
    pieces: Iterable[pd.DataFrame], places: Integers, aside: Path
) -> Iterator[pd.DataFrame]:
    """Bring records into another order; those beyond memory wait in a private folder."""
    at = 0
    for number, piece in enumerate(pieces):
        piece.index = pd.Index(places[at : at + len(piece)])
        at += len(piece)
        for bucket, part in piece.groupby(piece.index // PIECE):
            part.to_pickle(aside / f"{bucket}-{number}.pickle")
    for bucket in range(-(-len(places) // PIECE)):
        parts = [pd.read_pickle(path) for path in sorted(aside.glob(f"{bucket}-*.pickle"))]
        yield pd.concat(parts).sort_index().reset_index(drop=True)
