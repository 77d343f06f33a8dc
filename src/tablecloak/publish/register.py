"""The register: what has left the office, with receiver, date, digests and the release itself.

An entry is a folder that appears complete in one step under the next number; nothing is changed or
removed later, and each entry holds the digest of the one before it. A recall or a revision is an
entry as well. No process holds a lock: of two that write at once one finds its number taken and
takes the next. All of it is secret, since it keeps the true table behind each release.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, TablecloakError, listed
from tablecloak.publish.released_cells import read_published
from tablecloak.storage import checksum, existing_file, temporary_beside, write_text
from tablecloak.tables.changes.earlier_releases import SAME, EarlierRelease, totals_of
from tablecloak.tables.formats import read_frame, read_problem, write_frame, write_problem
from tablecloak.tables.keys import are_rests, number_rows
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table, TableVariables

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

    @property
    def text(self) -> str:
        """What stands in the file of the entry."""
        return self.model_dump_json(indent=2) + "\n"

    @property
    def digest(self) -> str:
        """Digest of the entry, on which the next one builds."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def receipt(self) -> str:
        """Number and digest: who keeps it notices if this entry or one before it is lost."""
        return f"{self.number}:{self.digest}"

    def names(self, table: Table) -> Table:
        """Return a table of this entry with the names of its variables, which its file lacks."""
        if not self.dimension:
            return replace(table, name=self.variables[0])
        units, measures = dict.fromkeys(self.variables, ""), dict.fromkeys(self.variables, 0)
        return replace(table, variables=TableVariables(self.dimension, units, measures))


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
        counted = self.counted(series, receiver)
        new = _Cells.of(problem.table)
        cells = [new, *(_Cells.read(entry, self._place(entry.number) / TOLD) for entry in counted)]
        place = _numbered(cells)
        reached, waiting, linked = set(place[0]), set(range(len(counted))), set[int]()
        while met := {n for n in waiting if not reached.isdisjoint(place[n + 1])}:
            linked |= met
            waiting -= met
            reached.update(*(place[n + 1] for n in met))
        value_of = dict(zip(place[0], new.values, strict=True))
        overlaps = []
        for n in sorted(linked):
            values = cells[n + 1].values
            both = [(v, value_of[key]) for key, v in zip(place[n + 1], values, strict=True)
                    if key in value_of]  # fmt: skip
            revised = sum(bool(abs(a - b) > SAME * max(abs(a), abs(b))) for a, b in both)
            overlaps.append(Overlap(counted[n], len(both), revised, len(values) - len(both)))
        return overlaps

    def published(self, overlaps: Iterable[Overlap]) -> dict[str, EarlierRelease]:
        """Return what entries tell, by the names under which a job knows them.

        Raises
        ------
        InputError
            If one of them tells no bounds, or its files are lost or altered.
        """
        return {
            f"register {overlap.entry.number}": self._told(overlap.entry) for overlap in overlaps
        }

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
        problem = read_problem(place / PROBLEM)
        problem = replace(problem, table=entry.names(problem.table))
        return read_published(place / TOLD, problem)

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
        variables, table = problem.table.variables, problem.table
        entry = entry.model_copy(update={
            "variables": variables.names if variables else (table.name,),
            "dimension": variables.dimension if variables else "",
            "totals": totals_of(table),
        })  # fmt: skip

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
                same = [e for e in entries if _is_same(e, entry, files)]
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
    keys : DataFrame
        With a column of variables only where there are several.
    values : numpy.ndarray of float
    variable : str
        The variable, where there is one.
    dimension : str
        Column of several variables, or empty.
    totals : mapping of str to str
        Code of the total of each dimension.
    """

    keys: pd.DataFrame
    values: Floats
    variable: str
    dimension: str
    totals: Mapping[str, str]

    @classmethod
    def of(cls, table: Table) -> _Cells:
        shown = ~are_rests(table.keys)
        dimension = table.variables.dimension if table.variables else ""
        return cls(table.keys[shown], table.values[shown], table.name, dimension, totals_of(table))

    @classmethod
    def read(cls, entry: Entry, path: Path) -> _Cells:
        frame = read_frame(path, tuple(entry.totals))
        frame = frame[~are_rests(frame[list(entry.totals)])]
        values = frame["value"].to_numpy(dtype=np.float64)
        keys = frame[list(entry.totals)].astype(str)
        return cls(keys, values, entry.variables[0], entry.dimension, entry.totals)


def _numbered(cells: Sequence[_Cells]) -> list[list[int]]:
    """Number the cells of all tables, so that equal numbers mean one cell."""
    column = next((table.dimension for table in cells if table.dimension), "variable")
    totals: dict[str, str] = {}
    for table in cells:
        totals = {**table.totals, **totals}
    names = [column, *(name for name in totals if name != column)]
    keys = pd.concat([
        table.keys.assign(
            **{name: totals[name] for name in names[1:] if name not in table.keys},
            **({} if table.dimension else {column: table.variable}),
        )[names]
        for table in cells
    ])  # fmt: skip
    ends = np.cumsum([len(table.keys) for table in cells])[:-1]
    return [part.tolist() for part in np.split(number_rows(keys)[1], ends)]


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


def _is_same(entry: Entry, other: Entry, files: Mapping[str, str]) -> bool:
    """Whether an entry has the files of another one, for the same receiver."""
    names = ("kind", "receiver", "series", "variables", "recalls", "has_left")
    return entry.files == files and all(getattr(entry, n) == getattr(other, n) for n in names)
