"""The three tables of G-Confid as they stand in their files, and what they say of cells.

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

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Texts
from tablecloak.errors import InputError, suggestion
from tablecloak.storage import existing_file, replacing_folder
from tablecloak.tables.formats.format import reading
from tablecloak.tables.text_numbers import numbers_of

__all__ = ["OURS", "GConfidTables"]

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

    needed: ClassVar[dict[str, tuple[str, ...]]] = _NEEDED

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
