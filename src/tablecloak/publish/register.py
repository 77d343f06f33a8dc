"""The register: what has left the office, with receiver, date, digests and the release itself.

An entry is a folder that appears complete in one step under the next number; nothing is changed or
removed later, and each entry holds the digest of the one before it. A recall or a revision is an
entry as well. No process holds a lock: of two that write at once one finds its number taken and
takes the next. All of it is secret, since it keeps the true table behind each release.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from tablecloak.publish.records import (
    ChosenCells,
    Frame,
    Restriction,
    Sums,
    chosen_in,
    related,
)
from tablecloak.publish.released_cells import ENDS, read_published
from tablecloak.storage import checksum, existing_file, temporary_beside, write_text
from tablecloak.tables.changes.earlier_releases import (
    NOW,
    SAME,
    EarlierRelease,
    detail_cells,
    digits_of,
    half_units,
    totals_of,
)
from tablecloak.tables.formats import read_frame, read_problem, write_frame, write_problem
from tablecloak.tables.keys import are_rests, number_rows
from tablecloak.tables.link import completed_keys
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.manual import Manual
from tablecloak.tables.table import Table, TableVariables

_purpose = attrgetter("kind", "receiver", "series", "only", "variables", "recalls", "has_left")
"""What a release is for: whom it goes to, and as what."""

PUBLIC = "public"
"""The receiver of what is published: everybody."""

NEARLY_ALL, MANY = 0.9, 10
"""Share of many common cells from which revised ones are doubted. Chosen."""

Kind = Literal["release", "transmission", "recall"]

ENTRY, PROBLEM, TOLD, RELEASE = "entry.json", "problem.csv", "told.csv", "release"
"""Files and the folder of an entry: what it says, the true table, the value of each cell with both
ends of what the release tells of it, and the release itself."""


NONE_CHOSEN: Restriction = {}
"""Of a table about all records of its series."""


FAR = 2.0
"""Bounds of sums of chosen records, as a multiple of all values. Those of tables are 1.5."""


class UnrelatedError(InputError):
    """Nobody can tell what an entry discloses together with a new release."""


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
        What is measured, where and when: releases of different series share no record.
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
    only : mapping of str to tuple of str, optional
        Which records of the series it is about; None in entries of older versions, which have that
        in the text of the series.
    decimals : int, optional
        Digits to which its job rounded values; None where it did not.
    revised : mapping of int to tuple of int, optional
        Of each entry that it revises, how many cells are revised, and how many are shared.
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
    only: dict[str, tuple[str, ...]] | None = None
    decimals: int | None = None
    revised: dict[int, tuple[int, int]] | None = None
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

    def statements(self) -> Iterator[str]:
        """Yield what people are told: its number, and how many cells of others it revises."""
        beside = listed([str(number) for number in self.beside])
        together = f", protected together with {beside}" if beside else ""
        yield f"Entered in the register as {self.number}{together}. Receipt: {self.receipt}"
        for number, (revised, shared) in (self.revised or {}).items():
            doubt = ""
            if shared >= MANY and revised >= NEARLY_ALL * shared:
                doubt = " These are nearly all: are both about the same records, in one unit?"
            yield (
                f"Of {shared} cells that it shares with {number}, {revised} count as revised: "
                f"nothing is computed from one value for the other.{doubt}"
            )

    def chosen(self, series: str) -> Restriction | None:
        """Return which records of a series it is about, None if it is of another series."""
        if self.only is None:
            return chosen_in(self.series, series)
        return self.only if self.series == series else None

    def of(self, table: Table) -> Entry:
        """Return the entry with the names of variables, dimensions and totals of a table."""
        variables = table.variables
        return self.model_copy(update={
            "variables": variables.names if variables else (table.name,),
            "dimension": variables.dimension if variables else "",
            "totals": totals_of(table),
            "decimals": table.decimals,
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
        Those of them whose values differ by more than rounding.
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
        entries = [entry for entry in self.entries if entry.chosen(series) is not None]
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
        self,
        problem: ProtectionProblem,
        series: str,
        receiver: str = PUBLIC,
        *,
        only: Restriction = NONE_CHOSEN,
    ) -> list[Overlap]:
        """Return the entries with cells of a new table, and those that share cells with these.

        Parameters
        ----------
        problem : ProtectionProblem
            Of the new table.
        series, receiver, only
            As in `Entry`.
        """
        return self.compared(problem, series, receiver, only)[0]

    def compared(
        self, problem: ProtectionProblem, series: str, receiver: str, only: Restriction
    ) -> tuple[list[Overlap], list[str]]:
        """Return the same, and of which entries nobody can tell what they disclose with the table.

        All entries are read. Parameters are those of `overlaps`.
        """
        cells, refusals = self._cells(problem, series, receiver, only)
        place, _ = _numbered(_completed(cells), cells)
        row_of = dict(zip(place[0].tolist(), range(len(place[0])), strict=True))
        overlaps = []
        for n in sorted(_linked(place)):
            both = [
                (row_of[key], row) for row, key in enumerate(place[n].tolist()) if key in row_of
            ]
            here, there = np.array(both, dtype=np.int64).reshape(-1, 2).T
            revised = int(np.sum(~cells[0].agrees(here, cells[n], there)))
            further = len(place[n]) - len(both)
            overlaps.append(Overlap(cells[n].entry, len(both), revised, further))
        return overlaps, refusals

    def _cells(
        self, problem: ProtectionProblem, series: str, receiver: str, only: Restriction
    ) -> tuple[list[_Cells], list[str]]:
        """Return the cells of a new table, and of each entry that its readers have.

        Codes are those of the new table, and sums over chosen records are cells as well. Refusals
        are about entries whose records are others, without cells that tell how.
        """
        new, refusals = _Cells.of(problem.table, series, only), list[str]()
        counted = self.counted(series, receiver)
        entered = [
            _Cells.read(entry, self._place(entry.number) / TOLD, series) for entry in counted
        ]
        digits = [digits_of(one.values, one.entry.decimals) for one in (new, *entered)]
        units = half_units(digits, [one.entry.decimals for one in (new, *entered)])
        new, cells = new.rounded(units[0], problem.table), list[_Cells]()
        for read, unit in zip(entered, units[1:], strict=True):
            truth = self._place(read.entry.number) / PROBLEM
            one = read.rounded(unit, read_problem(truth).table) if unit else read
            here, there = _comparable(new, one)
            chosen, missing = related(here, there, SAME)
            if missing:
                refusals.append(self._refusal(one, new, missing))
            cells.append(replace(one, only=chosen))
        frame = Frame(only, new.entry.totals)
        cells = [new, *(replace(one, keys=one.placed(frame)) for one in cells)]
        for column, codes in dict.fromkeys(
            chosen for one in cells for chosen in one.only.items() if len(chosen[1]) > 1
        ):
            cells = [one.with_sums(column, codes) for one in cells]
        return cells, refusals

    def _refusal(self, one: _Cells, new: _Cells, columns: Sequence[str]) -> str:
        entry, names = one.entry, listed(list(columns))
        chosen = [
            "all records"
            if not only
            else listed([f"{column}={' or '.join(codes)}" for column, codes in only.items()])
            for only in (one.only, new.only)
        ]
        return (
            f"{self.folder}: entry {entry.number} ({entry.title}) is about {chosen[0]} of this "
            f"series and the new table about {chosen[1]}. What both tell of the difference has no "
            f"cell, since the tables are not broken down by {names} alike, so that nobody can "
            f"prove it safe. Make {names} a dimension of the table with more records, or both "
            f"tables variables or tables of one job. If no record is in both, give the new one "
            f"another `series`."
        )

    def published(
        self,
        problem: ProtectionProblem,
        series: str,
        receiver: str = PUBLIC,
        *,
        only: Restriction = NONE_CHOSEN,
    ) -> dict[str, EarlierRelease]:
        """Return what entries tell, by the names under which a job knows them.

        Of an entry that hides nothing on which the new table, or an entry beside it, throws light,
        only the values that it shows of their cells count. Sums of cells that are cells of another
        table, whose records were chosen, come as further releases, which tell nothing.

        Parameters
        ----------
        problem, series, receiver, only
            As of `overlaps`.

        Raises
        ------
        UnrelatedError
            If nobody can tell what one of them discloses together with the new table.
        InputError
            If the files of one of them are lost or altered.
        """
        cells, refusals = self._cells(problem, series, receiver, only)
        if refusals:
            raise UnrelatedError(refusals[0])
        stands = Frame(only, cells[0].entry.totals).stands
        keys = _completed(cells)
        place, unknown = _numbered(keys, cells)
        linked, hiding = _linked(place), _linked(unknown)
        hiding |= {n for n in linked if not cells[n].entry.is_bounded}
        # Sums show by how much rounding may have changed values, so that all of them are read.
        hiding |= _agreeing(place, cells) & linked
        wanted = np.unique(np.concatenate([place[n] for n in (0, *hiding)]))
        releases = {}
        for n in sorted(linked):
            entry, shown = cells[n].entry, cells[n].is_shown & np.isin(place[n], wanted)
            if n in hiding:
                releases[f"register {entry.number}"] = self._told(cells[n], only, cells[0])
            elif shown.any():
                releases[f"register {entry.number}"] = cells[n].values_alone(
                    keys[n][shown], list(map(str, cells[0].keys))
                )
                wanted = np.setdiff1d(wanted, place[n][shown])
        if not releases:
            return {}
        for n in (0, *sorted(hiding)):
            of = f"register {cells[n].entry.number}" if n else NOW
            for number, sums in enumerate(cells[n].sums, start=1):
                releases[f"sums {number} of {of}"] = cells[n].sums_alone(sums)
        return {name: replace(release, stands=stands) for name, release in releases.items()}

    def _told(self, cells: _Cells, only: Restriction, new: _Cells) -> EarlierRelease:
        entry = cells.entry
        faults = self._faults_of(entry)
        if faults:
            raise InputError(f"{self.folder}: {faults[0]}. Bring the register back from a backup.")
        if not entry.is_bounded:
            raise UnrelatedError(
                f"{self.folder}: entry {entry.number} ({entry.title}) has values near the true "
                f"ones. Nobody can prove what they tell together with another release of the same "
                f"cells. Publish none, or give the new one another `series` if they share no cell."
            )
        place = self._place(entry.number)
        release = read_published(place / TOLD, entry.names(read_problem(place / PROBLEM)))
        table = release.problem.table
        keys = replace(cells, keys=table.keys).placed(Frame(only, new.entry.totals))
        return replace(release, problem=replace(release.problem, table=replace(table, keys=keys)))

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
        entry = entry.of(table).model_copy(update={"only": dict(entry.only or NONE_CHOSEN)})

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
            overlaps = self.overlaps(
                problem, entry.series, entry.receiver, only=entry.only or NONE_CHOSEN
            )
            numbers = [overlap.entry.number for overlap in overlaps]
            if after is not None and max(numbers, default=0) > after:
                new = listed([str(number) for number in numbers if number > after])
                raise OvertakenError(
                    f"{self.folder}: entries {new} came while this release was protected, and "
                    f"share cells with it. Protect it again, together with them."
                )
            revised = {overlap.entry.number: (overlap.revised, overlap.shared)
                       for overlap in overlaps if overlap.revised}  # fmt: skip
            return entry.model_copy(update={
                "beside": tuple(numbers),
                "revises": tuple(revised),
                "revised": revised or None,
            })  # fmt: skip

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
            kind="recall", title=old.title, receiver=old.receiver, series=old.series, only=old.only,
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
    only : mapping of str to tuple of str
        Which records of its series it is about.
    room : numpy.ndarray of float
        The most by which rounding may have changed each value.
    sums : tuple of Sums, default=()
        Of its cells; the last ones.
    """

    entry: Entry
    keys: pd.DataFrame
    values: Floats
    is_shown: Flags
    only: Restriction
    room: Floats
    sums: tuple[Sums, ...] = ()

    @classmethod
    def of(cls, table: Table, series: str, only: Restriction) -> _Cells:
        kept = ~are_rests(table.keys)
        entry = Entry(kind="release", series=series).of(table)
        shown, room = np.zeros(kept.sum(), dtype=bool), np.zeros(kept.sum())
        return cls(entry, table.keys[kept], table.values[kept], shown, only, room)

    @classmethod
    def read(cls, entry: Entry, path: Path, series: str) -> _Cells:
        frame = read_frame(DataFile(path, sep=","), tuple(entry.totals))
        frame = frame[~are_rests(frame[list(entry.totals)])].reset_index(drop=True)
        values, low, high = (frame[name].to_numpy(np.float64) for name in ("value", *ENDS))
        keys = frame[list(entry.totals)].astype(str)
        room = np.zeros(len(values))
        return cls(entry, keys, values, low == high, entry.chosen(series) or {}, room)

    def rounded(self, unit: float, table: Table) -> _Cells:
        """Return the cells of a table whose most detailed ones may be off by so much."""
        room = unit * detail_cells(table) if unit else np.zeros(table.n_cells)
        return replace(self, room=room[~are_rests(table.keys)])

    def agrees(self, rows: AnyIntegers, other: _Cells, others: AnyIntegers) -> Flags:
        """Return which cells have the value of a cell of another table, but for rounding."""
        a, b = self.values[rows], other.values[others]
        room = self.room[rows] + other.room[others]
        near: Flags = np.abs(a - b) <= SAME * np.maximum(np.abs(a), np.abs(b)) + room
        return near

    def placed(self, frame: Frame) -> pd.DataFrame:
        """Return its codes as they read beside a new table."""
        return frame.placed(self.keys, self.only, self.entry.totals)

    def with_sums(self, column: str, codes: Sequence[str]) -> _Cells:
        """Return the cells with their sums over codes of a column, if it is a dimension."""
        if column not in self.entry.totals or self.only.get(column) == codes:
            return self
        sums = Sums.of(self.keys, column, codes)
        if not len(sums.keys):
            return self
        n = len(sums.keys)
        return replace(
            self,
            keys=pd.concat([self.keys, sums.keys], ignore_index=True),
            values=np.append(
                self.values, np.bincount(sums.number, self.values[sums.parts], minlength=n)
            ),
            is_shown=np.append(
                self.is_shown, np.bincount(sums.number, ~self.is_shown[sums.parts], n) == 0
            ),
            room=np.append(self.room, np.bincount(sums.number, self.room[sums.parts], n)),
            sums=(*self.sums, sums),
        )

    def sums_alone(self, sums: Sums) -> EarlierRelease:
        """Return a release that hides all of some sums and of their parts."""
        keys = pd.concat([self.keys.iloc[sums.parts], sums.keys], ignore_index=True)
        parts = self.values[sums.parts]
        values: Floats = np.append(parts, np.bincount(sums.number, parts, len(sums.keys)))
        room = np.bincount(sums.number, self.room[sums.parts]).max()
        bare = Table(keys, values, sums.relations, np.zeros(len(sums.keys)), tolerance=float(room))
        # Wider than the bounds that the table has itself.
        wide = np.full(len(values), FAR * float(np.abs(self.values).sum() + 1))
        problem = bare.protect(Manual([]), external_bounds=(-wide, wide))
        return EarlierRelease(self.entry.names(problem), -wide, wide)

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


def _comparable(*cells: _Cells) -> list[ChosenCells]:
    """Return the cells of tables over the dimensions of all, to see which records are theirs."""
    return [
        ChosenCells(keys, one.values, one.entry.totals, one.only, one.room)
        for keys, one in zip(_completed(cells), cells, strict=True)
    ]


def _completed(cells: Sequence[_Cells]) -> list[pd.DataFrame]:
    """Return the codes of all tables over the dimensions of all, with a column of variables."""
    column = next((table.entry.dimension for table in cells if table.entry.dimension), "variable")
    totals: dict[str, str] = {}
    for table in cells:
        totals = {**table.entry.totals, **totals}
    totals |= Frame(cells[0].only, cells[0].entry.totals).stands
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


def _agreeing(place: Sequence[AnyIntegers], cells: Sequence[_Cells]) -> set[int]:
    """Return the tables with a value that differs from that of another one by rounding alone."""
    of = np.repeat(np.arange(len(place)), [len(numbers) for numbers in place])
    number = np.concatenate(place)
    values, room = (
        np.concatenate([getattr(table, name) for table in cells]) for name in ("values", "room")
    )
    order = np.lexsort((values, number))
    one, other = order[:-1], order[1:]
    off = values[other] - values[one]
    near = (off <= room[one] + room[other]) & (number[one] == number[other])
    near &= off > SAME * np.maximum(np.abs(values[one]), np.abs(values[other]))
    return {int(table) for table in (*of[one[near]], *of[other[near]])} - {0}


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
