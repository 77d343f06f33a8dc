"""Problems and frames in files; the ending of the name says in which format."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tablecloak.errors import InputError
from tablecloak.storage import existing_file
from tablecloak.tables.formats.format import ProblemFormat, format_of, formats_holding
from tablecloak.tables.formats.frame_format import FrameFormat
from tablecloak.tables.problem import ProtectionProblem

__all__ = [
    "existing",
    "read_frame",
    "read_problem",
    "record_endings",
    "write_frame",
    "write_problem",
]


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


def read_frame(path: str | Path, text_columns: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a CSV or Parquet file; the named columns as text, so that "01" stays "01".

    Raises
    ------
    InputError
        If the file does not exist or cannot be read.
    """
    path = existing(path)
    return format_of(path, FrameFormat).read_checked(path, text_columns)


def existing(path: str | Path) -> Path:
    """Return the path of a file that must exist.

    Raises
    ------
    InputError
        If it does not exist, or is a folder.
    """
    return existing_file(path)


def write_frame(frame: pd.DataFrame, path: str | Path, *, secret: bool = False) -> None:
    """Write a frame as CSV or Parquet; the name's ending says which."""
    path = Path(path)
    format_of(path, FrameFormat).write_whole(frame, path, secret=secret)


def record_endings() -> tuple[str, ...]:
    """Return the endings of names under which records are read."""
    return tuple(
        suffix
        for each in formats_holding(FrameFormat)
        for suffix in (*each.suffixes, *each.record_suffixes)
    )
