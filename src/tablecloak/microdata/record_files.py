"""Files of records: read what a method needs, write what it releases."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.arrays import Flags
from tablecloak.errors import InputError, first_row, require_known
from tablecloak.microdata.methods.method import Columns, Method, Release
from tablecloak.microdata.order import OrderWarning, places, refuse_sorted
from tablecloak.microdata.telling_columns import TellingColumnWarning, telling_columns
from tablecloak.storage import require_writable
from tablecloak.tables.formats import (
    FilePath,
    column_names,
    read_columns,
    read_frame,
    replace_columns,
)
from tablecloak.tables.formats.format import NO_RECORDS


@dataclass(frozen=True, eq=False)
class WrittenRecords:
    """What a method released, and what columns beside it tell of it.

    Parameters
    ----------
    release : Release
    warnings : tuple of str
        Sentences on released columns that tell hidden or changed values.
    """

    release: Release
    warnings: tuple[str, ...]

    def summary(self) -> str:
        """Return the summary of the release, and what columns tell, in one line."""
        return "; ".join([self.release.summary(), *self.warnings])


Reporter = Callable[[pd.DataFrame, pd.DataFrame, WrittenRecords, Columns], Any]
"""Told the original and the released records, all of their columns."""


@dataclass(frozen=True)
class RecordFiles:
    """Which file records are read from, where they are written, and in which order.

    Parameters
    ----------
    source : Path or DataFile
    output : Path
        CSV or Parquet files, or others of which the formats are registered.
    keep_order : bool, default=False
        Write the records in the order of the file instead of a random one.
    seed : int, optional
        Of all random choices, the order among them.
    dropped : sequence of str, default=()
        Columns that are left out of the release.
    """

    source: FilePath
    output: Path
    keep_order: bool = False
    seed: int | None = None
    dropped: Sequence[str] = ()

    def __post_init__(self) -> None:
        require_writable(self.output)

    def protect(self, method: Method[Any], report: Reporter | None = None) -> WrittenRecords:
        """Read what the method needs, protect it, and write it.

        Parameters
        ----------
        method : Method
        report : callable, optional
            Called before the release is written.

        Raises
        ------
        InputError
            If records cannot be read or protected, or their order would show what changed.
        """
        columns = method.uses(column_names(self.source))
        frame = self._read(columns)
        if frame.empty:
            raise InputError(f"{self.source}: {NO_RECORDS}")
        # Messages name records by their labels, which are the lines of the file.
        frame.index = pd.RangeIndex(len(frame)) + first_row(self.source)
        with warnings.catch_warnings():
            # The order is dealt with when the records are written.
            warnings.simplefilter("ignore", OrderWarning)
            warnings.simplefilter("ignore", TellingColumnWarning)
            release: Release = method.protect(frame, seed=self.seed)
        changed = list(columns.changed)
        others = self._others(changed)
        first: Flags | slice = slice(None)
        if columns.unit is not None:
            first = ~frame[columns.unit].duplicated().to_numpy()
        refuse_sorted(
            frame.iloc[first],
            changed,
            others,
            lambda name: self._column(name).iloc[first],
            keep_order=self.keep_order,
        )
        telling = telling_columns(frame, release.frame, changed, others, self._column)
        for sentence in map(str, telling):
            warnings.warn(f"{sentence}.", TellingColumnWarning, stacklevel=2)
        written = WrittenRecords(release, tuple(map(str, telling)))
        if report is not None:
            # Codes that were read as text, such as "01", are compared as text.
            original = read_frame(self.source).assign(**_columns(frame, changed))
            released = original.assign(**_columns(release.frame, changed))
            report(original, released, written, columns)
        order = None if self.keep_order else places(len(frame), self.seed)
        replace_columns(self.source, self.output, release.frame[changed], order, self.dropped)
        return written

    def _others(self, changed: Sequence[str]) -> list[str]:
        """Return the columns that are released as they are."""
        names = column_names(self.source)
        for name in self.dropped:
            require_known(name, names, f"There is no column {name!r}.")
            if name in changed:
                raise InputError(
                    f"Column {name!r} is to be left out, but {name!r} is what the method changes. "
                    f"Name one of both."
                )
        return [name for name in names if name not in {*changed, *self.dropped}]

    def _column(self, name: str) -> pd.Series:
        return read_columns(self.source, [name])[name]

    def _read(self, columns: Columns) -> pd.DataFrame:
        """Read the columns that are needed; others are copied piece by piece."""
        if not columns.categories:
            return read_columns(self.source, columns.numbers)
        frame = read_columns(self.source, columns.categories, as_text=True)
        for name in columns.numbers:
            frame[name] = read_columns(self.source, [name])[name]
        return frame


def _columns(frame: pd.DataFrame, names: list[str]) -> dict[str, Any]:
    return {name: frame[name].array for name in names}
