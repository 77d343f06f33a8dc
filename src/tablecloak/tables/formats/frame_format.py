"""Formats of rows and columns, which hold records, results, problems and releases."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

import pandas as pd

from tablecloak.storage import existing_file, replacing
from tablecloak.tables.formats.cells import problem_from_frames, write_frames
from tablecloak.tables.formats.format import ProblemFormat, ReleaseFormat, reading
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Appender", "FrameFormat"]


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


class FrameFormat(ProblemFormat, ReleaseFormat):
    """A format of rows and columns.

    A sibling has to read and write whole frames. Files larger than memory are read and written
    piece by piece where it overrides the other methods as well.
    """

    holds = "records, results, problems, releases"

    record_suffixes: ClassVar[tuple[str, ...]] = ()
    """Further endings that are read but never written."""
    is_typed: ClassVar[bool] = True
    """Whether a file says the types of its columns."""
    engine_kind: ClassVar[str] = ""
    """Name of the format in databases that can read it themselves: "csv" or "parquet"."""

    @abstractmethod
    def read(self, path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        """Read a whole file; the named columns as text, so that "01" stays "01"."""

    @abstractmethod
    def write(self, frame: pd.DataFrame, path: Path) -> None:
        """Write a whole frame, without its index."""

    def column_names(self, path: Path) -> list[str]:
        """Return the names of the columns."""
        return list(map(str, self.read(path).columns))

    def head(self, path: Path, rows: int) -> pd.DataFrame:
        """Read the first rows, to show them."""
        return self.read(path).head(rows)

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

    def appender(self, path: Path) -> Appender:
        """Begin a file that is written piece by piece."""
        return Appender(self, path)

    def read_problem(self, path: Path, tolerance: float) -> ProtectionProblem:
        """Read cells from the file, relations and contributors from those beside it."""
        return problem_from_frames(
            path, self.read_checked, is_typed=self.is_typed, tolerance=tolerance
        )

    def write_problem(self, problem: ProtectionProblem, path: Path) -> None:
        """Write cells to the file, relations and contributors beside it."""
        write_frames(problem, path, partial(self.write_whole, secret=True))

    def write_release(
        self, released: pd.DataFrame, about: Mapping[str, object], path: Path
    ) -> None:
        """Write a release as it is."""
        del about
        self.write_whole(released, path)

    def read_checked(self, path: Path, text_columns: tuple[str, ...] = ()) -> pd.DataFrame:
        """Read a file that must exist; errors name it."""
        path = existing_file(path)
        with reading(path):
            return self.read(path, text_columns)

    def write_whole(self, frame: pd.DataFrame, path: Path, *, secret: bool = False) -> None:
        """Write a file that is complete or not there at all."""
        with replacing(path, secret=secret) as temporary:
            self.write(frame, temporary)
