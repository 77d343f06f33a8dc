"""The register: what has left the office, with receiver, date, digests and the release itself.

An entry is a folder that appears complete in one step under the next number; nothing is changed or
removed later, and each entry holds the digest of the one before it. A recall or a revision is an
entry as well. No process holds a lock: of two that write at once one finds its number taken and
takes the next. All of it is secret, since it keeps the true table behind each release.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict
from scipy.sparse import csr_array

from tablecloak.arrays import AnyIntegers, Flags, Floats
from tablecloak.data_file import DataFile
from tablecloak.errors import InputError, TablecloakError, listed
from tablecloak.publish.released_cells import ENDS, read_published
from tablecloak.storage import checksum, existing_file, temporary_beside, write_text
from tablecloak.tables.changes.earlier_releases import SAME, EarlierRelease, totals_of
from tablecloak.tables.formats import read_frame, read_problem, write_frame, write_problem
from tablecloak.tables.keys import are_rests, number_rows
from tablecloak.tables.link import completed_keys
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.manual import Manual
from tablecloak.tables.table import Table, TableVariables

_purpose = attrgetter("kind", "receiver", "series", "variables", "recalls", "has_left")
"""What a release is for: whom it goes to, and as what."""

PUBLIC = "public"
"""The receiver of what is published: everybody."""

Kind = Literal["release", "transmission", "recall"]

ENTRY, PROBLEM, TOLD, RELEASE = "entry.json", "problem.csv", "told.csv", "release"
"""Files and the folder of an entry: what it says, the true table, the value of each cell with both
ends of what the release tells of it, and the release itself."""


class OvertakenError(TablecloakError):
    """Somebody entered a release that shares cells after this one was protected."""


class Entry(BaseModel):
    """One entry of a register.

    Parameters
    ----------
    kind : {"release", "transmission", "recall"}
        A transmission holds all values, hidden ones too.
    number : int
        1 for the first.
    date : str
        Day and time, UTC.
    title : str
    receiver : str
        "public", or who else got it.
    series : str
        What is measured, where and when: releases of different series share no cell.
    variables : tuple of str
        Names of the variables.
    dimension : str
        Column that tells the variable; empty where there is one variable.
    totals : mapping of str to str
        Code of the total of each dimension.
    is_bounded : bool
        Whether the release tells bounds of each cell. Adjusted and perturbed values do not.
    is_safe : bool
        Whether it is proved safe together with the entries with which it shares cells.
    beside : tuple of int
        Entries with which it shares cells, and those that share cells with these.
    revises : tuple of int
        Entries that have other values in cells that it has as well.
    recalls : int
        Entry that is recalled; 0 for none.
    has_left : bool
        False for a recall of what nobody received: it then counts no more.
    reason : str
    files : mapping of str to str
        Digest (SHA-256) of each file of the entry, by its path in the folder.
    previous : str
        Digest of the entry before.
    besides : tuple of str, optional
        What it tells besides its cells; see `tablecloak.publish.besides`. None in entries of older
        versions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    number: int = 0
    date: str = ""
    title: str = ""
    receiver: str = PUBLIC
    series: str = ""
    variables: tuple[str, ...] = ()
    dimension: str = ""
    totals: dict[str, str] = {}
    is_bounded: bool = True
    is_safe: bool = True
    beside: tuple[int, ...] = ()
    revises: tuple[int, ...] = ()
    recalls: int = 0
    has_left: bool = True
    reason: str = ""
    files: dict[str, str] = {}
    previous: str = ""
    besides: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """What stands in the file of the entry."""
        return self.model_dump_json(indent=2, exclude_none=True) + "\n"

    @property
    def digest(self) -> str:
        """Digest of the entry, on which the next one builds."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def receipt(self) -> str:
        """Number and digest: who keeps it notices if this entry or one before it is lost."""
        return f"{self.number}:{self.digest}"

    def of(self, table: Table) -> Entry:
        """Return the entry with the names of variables, dimensions and totals of a table."""
        variables = table.variables
        return self.model_copy(update={
            "variables": variables.names if variables else (table.name,),
            "dimension": variables.dimension if variables else "",
            "totals": totals_of(table),
        })  # fmt: skip

    def names(self, problem: ProtectionProblem) -> ProtectionProblem:
        """Return a problem of this entry with the names of its variables, which its file lacks."""
        if not self.dimension:
            return replace(problem, table=replace(problem.table, name=self.variables[0]))
        units, measures = dict.fromkeys(self.variables, ""), dict.fromkeys(self.variables, 0)
        variables = TableVariables(self.dimension, units, measures)
        return replace(problem, table=replace(problem.table, variables=variables))


@dataclass(frozen=True)
class Overlap:
    """An entry that shares cells with a new table, or with an entry that does.

    Parameters
    ----------
    entry : Entry
    shared : int
        Cells that both have; 0 where only another entry leads from one to the other.
    revised : int
        Those of them whose values differ.
    further : int
        Cells of the entry that the new table does not have.
    """

    entry: Entry
    shared: int
    revised: int
    further: int


@dataclass(frozen=True)
class Register:
    """A folder of what has left.

    Parameters
    ----------
    folder : Path
        Made when the first entry is.
    """

    folder: Path

    def _place(self, number: int) -> Path:
        return self.folder / f"{number:06d}"

    @property
    def last(self) -> int:
        """Number of the last entry; 0 where there is none."""
        if not self.folder.is_dir():
            return 0
        names = (path.name for path in self.folder.iterdir())
        return max((int(name) for name in names if name.isdecimal()), default=0)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in order.

        Raises
        ------
        InputError
            If an entry is lost or was altered; the files beside it are looked at by `faults`.
        """
        entries, previous = list[Entry](), ""
        for number in range(1, self.last + 1):
            try:
                entry = _read_entry(self._place(number) / ENTRY)
            except (OSError, ValueError) as error:
                raise self._damaged(number, f"is lost or cannot be read ({error})") from None
            if entry.number != number or entry.previous != previous:
                raise self._damaged(max(number - 1, 1), "was altered or exchanged")
            entries.append(entry)
            previous = entry.digest
        return tuple(entries)

    def _damaged(self, number: int, what: str) -> InputError:
        return InputError(
            f"{self.folder}: entry {number} {what}. Bring the register back from a backup before "
            f"anything else leaves."
        )

    def faults(self, receipt: str = "") -> list[str]:
        """Say what is lost or was altered; nothing where all is as it was entered.

        Parameters
        ----------
        receipt : str, default=""
            That of an entry, as it was printed: without it the loss of the last entries cannot be
            noticed.
        """
        try:
            entries = self.entries
        except InputError as error:
            return [str(error)]
        faults = [fault for entry in entries for fault in self._faults_of(entry)]
        number, _, digest = receipt.partition(":")
        if receipt and not any(str(e.number) == number and e.digest == digest for e in entries):
            faults.append(f"entry {number} of the receipt is lost, or was altered")
        return faults

    def _faults_of(self, entry: Entry) -> list[str]:
        """Compare the files of an entry with their digests."""
        place, faults = self._place(entry.number), list[str]()
        digests = _digests(place)
        for name in sorted({*digests, *entry.files}):
            if name not in digests:
                faults.append(f"entry {entry.number}: {name} is lost")
            elif digests[name] != entry.files.get(name):
                what = "was altered" if name in entry.files else "was added"
                faults.append(f"entry {entry.number}: {name} {what}")
        return faults

    # -- what a new release must be protected together with ----------------------------------

    def counted(self, series: str, receiver: str) -> tuple[Entry, ...]:
        """Return the releases that readers of a new one have besides.

        Whoever is no public receiver reads what is published as well. What a receiver of all values
        gets need not hold against it, and it tells others nothing: its releases count for nobody
        else, and nothing counts for it. A recall takes nothing back that somebody received.
        """
        entries = [entry for entry in self.entries if entry.series == series]
        gone = {entry.recalls for entry in self.entries if not entry.has_left}
        entries = [entry for entry in entries if entry.number not in gone]
        informed = {entry.receiver for entry in entries if entry.kind == "transmission"} - {PUBLIC}
        if receiver in informed:
            return ()
        return tuple(
            entry
            for entry in entries
            if entry.kind == "release"
            and (entry.receiver in (PUBLIC, receiver) or receiver == PUBLIC)
            and entry.receiver not in informed
        )

    def overlaps(
        self, problem: ProtectionProblem, series: str, receiver: str = PUBLIC
    ) -> list[Overlap]:
        """Return the entries with cells of a new table, and those that share cells with these.

        Parameters
        ----------
        problem : ProtectionProblem
            Of the new table.
        series, receiver : str
            As in `Entry`.
        """
        cells = self._cells(problem, series, receiver)
        place, _ = _numbered(_completed(cells), cells)
        value_of = dict(zip(place[0].tolist(), cells[0].values.tolist(), strict=True))
        overlaps = []
        for n in sorted(_linked(place)):
            pairs = zip(place[n].tolist(), cells[n].values.tolist(), strict=True)
            both = [(value, value_of[key]) for key, value in pairs if key in value_of]
            revised = sum(bool(abs(a - b) > SAME * max(abs(a), abs(b))) for a, b in both)
            further = len(place[n]) - len(both)
            overlaps.append(Overlap(cells[n].entry, len(both), revised, further))
        return overlaps

    def _cells(self, problem: ProtectionProblem, series: str, receiver: str) -> list[_Cells]:
        """Return the cells of a new table, and of each entry that its readers have."""
        counted = self.counted(series, receiver)
        entered = [_Cells.read(entry, self._place(entry.number) / TOLD) for entry in counted]
        return [_Cells.of(problem.table), *entered]

    def published(
        self, problem: ProtectionProblem, series: str, receiver: str = PUBLIC
    ) -> dict[str, EarlierRelease]:
        """Return what entries tell, by the names under which a job knows them.

        Of an entry that hides nothing on which the new table, or an entry beside it, throws light,
        only the values that it shows of their cells count.

        Parameters
        ----------
        problem, series, receiver
            As of `overlaps`.

        Raises
        ------
        InputError
            If one of them tells no bounds, or its files are lost or altered.
        """
        cells = self._cells(problem, series, receiver)
        keys = _completed(cells)
        place, unknown = _numbered(keys, cells)
        linked, hiding = _linked(place), _linked(unknown)
        hiding |= {n for n in linked if not cells[n].entry.is_bounded}
        wanted = np.unique(np.concatenate([place[n] for n in (0, *hiding)]))
        releases = {}
        for n in sorted(linked):
            entry, shown = cells[n].entry, cells[n].is_shown & np.isin(place[n], wanted)
            if n in hiding:
                releases[f"register {entry.number}"] = self._told(entry)
            elif shown.any():
                releases[f"register {entry.number}"] = cells[n].values_alone(
                    keys[n][shown], list(map(str, cells[0].keys))
                )
                wanted = np.setdiff1d(wanted, place[n][shown])
        return releases

    def _told(self, entry: Entry) -> EarlierRelease:
        faults = self._faults_of(entry)
        if faults:
            raise InputError(f"{self.folder}: {faults[0]}. Bring the register back from a backup.")
        if not entry.is_bounded:
            raise InputError(
                f"{self.folder}: entry {entry.number} ({entry.title}) has values near the true "
                f"ones. Nobody can prove what they tell together with another release of the same "
                f"cells. Publish none, or give the new one another `series` if they share no cell."
            )
        place = self._place(entry.number)
        return read_published(place / TOLD, entry.names(read_problem(place / PROBLEM)))

    # -- entries ------------------------------------------------------------------------------

    def enter(
        self,
        entry: Entry,
        problem: ProtectionProblem,
        ends: tuple[Floats, Floats],
        files: Sequence[Path],
        *,
        after: int | None = None,
    ) -> Entry:
        """Enter what leaves.

        Parameters
        ----------
        entry : Entry
            Without number, date, files and what follows from the problem.
        problem : ProtectionProblem
            The true table.
        ends : tuple of numpy.ndarray of float, shape (n_cells,)
            Both ends of what the release tells of each cell.
        files : sequence of Path
            What leaves: files, or folders with all that is in them.
        after : int, optional
            The last entry of which whoever protected the release knew.

        Returns
        -------
        Entry
            Of these files to this receiver, if there is one already.

        Raises
        ------
        OvertakenError
            If another release that shares cells was entered after that.
        """
        table = problem.table
        entry = entry.of(table)

        def fill(place: Path) -> None:
            write_problem(problem, place / PROBLEM)
            told_of = table.keys.assign(value=table.values, lower=ends[0], upper=ends[1])
            write_frame(told_of, place / TOLD, secret=True)
            (place / RELEASE).mkdir()
            for path in files:
                if path.is_dir():
                    shutil.copytree(path, place / RELEASE / path.name)
                else:
                    shutil.copyfile(existing_file(path), place / RELEASE / path.name)

        def beside(entry: Entry) -> Entry:
            overlaps = self.overlaps(problem, entry.series, entry.receiver)
            numbers = [overlap.entry.number for overlap in overlaps]
            if after is not None and max(numbers, default=0) > after:
                new = listed([str(number) for number in numbers if number > after])
                raise OvertakenError(
                    f"{self.folder}: entries {new} came while this release was protected, and "
                    f"share cells with it. Protect it again, together with them."
                )
            revised = tuple(overlap.entry.number for overlap in overlaps if overlap.revised)
            return entry.model_copy(update={"beside": tuple(numbers), "revises": revised})

        return self._added(entry, fill, beside)

    def recall(self, number: int, reason: str, *, has_left: bool = True) -> Entry:
        """Enter that an earlier entry is recalled.

        Parameters
        ----------
        number : int
        reason : str
        has_left : bool, default=True
            False if nobody received it, so that it counts no more.

        Raises
        ------
        InputError
            If there is no such entry.
        """
        entries = self.entries
        if not 1 <= number <= len(entries) or entries[number - 1].kind == "recall":
            raise InputError(f"{self.folder}: there is no release {number} to recall.")
        old = entries[number - 1]
        entry = Entry(
            kind="recall", title=old.title, receiver=old.receiver, series=old.series,
            recalls=number, reason=reason, has_left=has_left,
        )  # fmt: skip
        return self._added(entry, lambda place: None, lambda entry: entry)

    def _added(
        self, entry: Entry, fill: Callable[[Path], None], beside: Callable[[Entry], Entry]
    ) -> Entry:
        """Put a folder in its place under the first free number."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        with temporary_beside(self.folder / "entry", is_folder=True) as temporary:
            fill(temporary)
            files = _digests(temporary)
            while True:
                entries = self.entries
                same = [e for e in entries if e.files == files and _purpose(e) == _purpose(entry)]
                if same:
                    return same[-1]
                added = beside(entry).model_copy(update={
                    "files": files,
                    "number": len(entries) + 1,
                    "date": datetime.now(UTC).isoformat(timespec="seconds"),
                    "previous": entries[-1].digest if entries else "",
                })  # fmt: skip
                write_text(temporary / ENTRY, added.text, secret=True)
                try:
                    # A folder that is there is not empty, so that nothing can take its place.
                    temporary.rename(self._place(added.number))
                except OSError:
                    if self._place(added.number).exists():
                        continue
                    raise
                return added


@dataclass(frozen=True, eq=False)
class _Cells:
    """The codes and true values of a table, without cells that no release shows.

    Parameters
    ----------
    entry : Entry
        With the names of variables and totals.
    keys : DataFrame
        With a column of variables only where there are several.
    values : numpy.ndarray of float
    is_shown : numpy.ndarray of bool
        Which values the release shows; none of those of a new table.
    """

    entry: Entry
    keys: pd.DataFrame
    values: Floats
    is_shown: Flags

    @classmethod
    def of(cls, table: Table) -> _Cells:
        kept = ~are_rests(table.keys)
        entry = Entry(kind="release").of(table)
        return cls(entry, table.keys[kept], table.values[kept], np.zeros(kept.sum(), dtype=bool))

    @classmethod
    def read(cls, entry: Entry, path: Path) -> _Cells:
        frame = read_frame(DataFile(path, sep=","), tuple(entry.totals))
        frame = frame[~are_rests(frame[list(entry.totals)])].reset_index(drop=True)
        values, low, high = (frame[name].to_numpy(np.float64) for name in ("value", *ENDS))
        return cls(entry, frame[list(entry.totals)].astype(str), values, low == high)

    def values_alone(self, keys: pd.DataFrame, names: Iterable[str]) -> EarlierRelease:
        """Return a release of some cells, with values and without relations.

        Parameters
        ----------
        keys : DataFrame
            Codes of these cells, by their numbers, over the dimensions of all tables.
        names : iterable of str
            Dimensions that another table has, which tells their totals.
        """
        values, entry = self.values[keys.index], self.entry
        names = [*names, entry.dimension] if entry.dimension else list(names)
        named = [
            name
            for name in keys.columns
            if name in names or (keys[name] != entry.totals.get(name, keys[name])).any()
        ]
        bare = Table(
            keys[named].reset_index(drop=True), values, csr_array((0, len(keys))), np.zeros(0)
        )
        return EarlierRelease(entry.names(bare.protect(Manual([]))), values, values)


def _completed(cells: Sequence[_Cells]) -> list[pd.DataFrame]:
    """Return the codes of all tables over the dimensions of all, with a column of variables."""
    column = next((table.entry.dimension for table in cells if table.entry.dimension), "variable")
    totals: dict[str, str] = {}
    for table in cells:
        totals = {**table.entry.totals, **totals}
    return [
        codes if column in table.keys else codes.assign(**{column: table.entry.variables[0]})
        for table, codes in zip(
            cells, completed_keys([table.keys for table in cells], totals), strict=True
        )
    ]


def _numbered(
    keys: Sequence[pd.DataFrame], cells: Sequence[_Cells]
) -> tuple[list[AnyIntegers], list[AnyIntegers]]:
    """Number the cells of all tables by their codes, and those of which no release shows the value.

    Returns
    -------
    place, unknown : list of numpy.ndarray of int
        For each table; equal numbers mean one cell, revised or not.
    """
    place = number_rows(pd.concat(keys))[1]
    values = np.concatenate([table.values for table in cells])
    is_shown = np.concatenate([table.is_shown for table in cells])
    order = np.lexsort((values, place))
    one, other = values[order][:-1], values[order][1:]
    differs = np.abs(other - one) > SAME * np.maximum(np.abs(one), np.abs(other))
    starts = np.append(True, (np.diff(place[order]) > 0) | differs)
    group = np.empty(len(place), dtype=np.int64)
    group[order] = np.cumsum(starts) - 1
    unknown = ~np.isin(group, group[is_shown])
    ends = np.cumsum([len(table.values) for table in cells])[:-1]
    parts = zip(np.split(place, ends), np.split(unknown, ends), strict=True)
    split = [(numbers, numbers[flags]) for numbers, flags in parts]
    return [numbers for numbers, _ in split], [numbers for _, numbers in split]


def _linked(place: Sequence[AnyIntegers]) -> set[int]:
    """Return the tables that share a number with the first one, or with others that do."""
    reached, waiting, linked = place[0], set(range(1, len(place))), set[int]()
    while met := {n for n in waiting if np.isin(place[n], reached).any()}:
        linked |= met
        waiting -= met
        reached = np.concatenate([reached, *(place[n] for n in met)])
    return linked


def _digests(folder: Path) -> dict[str, str]:
    """Return the digest of each file of an entry but the one that lists them."""
    named = ((path.relative_to(folder).as_posix(), path) for path in sorted(folder.rglob("*")))
    return {name: checksum(path) for name, path in named if path.is_file() and name != ENTRY}


def _read_entry(path: Path) -> Entry:
    text = path.read_text(encoding="utf-8")
    entry = Entry.model_validate_json(text)
    if entry.text != text:
        raise ValueError("it was written by another program")
    return entry
