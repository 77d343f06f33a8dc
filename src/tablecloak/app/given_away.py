"""Which release of a table was given away: of one table one, however it was found."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError
from tablecloak.protection import required_way
from tablecloak.publish.figures import released_figures
from tablecloak.storage import write_text
from tablecloak.tables.table import Table

NEVER_TWO = "Publish one of them, never more: together they reveal hidden values."
"""What is said of two releases of one table."""

OLD_JOB = "It is of before the decisions in the grid."
"""What is said of the results of a job once cells were decided by hand."""


def beside(verdict: str, refusal: str) -> str:
    """Return a verdict, without its next step where another one, or nothing, is to be published."""
    if NEVER_TWO not in refusal and OLD_JOB not in refusal:
        return verdict
    return "\n".join(line for line in verdict.splitlines() if not line.startswith("Next: "))


@dataclass(frozen=True)
class Given:
    """A release that was downloaded.

    Parameters
    ----------
    table, release : str
        Fingerprints.
    what : str
        For people.
    date : str
        Day and time, UTC.
    has_left : bool
        False if nobody received it: it then counts no more.
    """

    table: str
    release: str
    what: str
    date: str
    has_left: bool = True

    def __str__(self) -> str:
        return f"{self.what}, downloaded {self.date}"


class GivenAway:
    """What was given away of all tables of a folder, kept in a file.

    Two releases of one table, be they two patterns or a pattern and adjusted values, tell together
    what each of them hides. Tables that share only some cells are what a register is for.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
        If the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._all()

    def of(self, table: str) -> list[Given]:
        """Return what was given away of a table, the oldest first."""
        return [given for given in self._all() if given.table == table]

    def objection(self, table: str, release: str) -> str:
        """Return why a release may not be given away besides another one; nothing if it may."""
        others = [other for other in self._sent(table) if other.release != release]
        if not others:
            return ""
        return (
            f"Another release of this table was given away: {others[-1]}. {NEVER_TWO} Send that "
            f"one. If nobody received it, say so in the grid, under Given away."
        )

    def give(self, table: str, release: str, what: str) -> None:
        """Note that a release is given away.

        Raises
        ------
        InputError
            If another one of the table was.
        """
        with self._lock:
            if objection := self.objection(table, release):
                raise InputError(objection)
            if not self._sent(table):
                now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
                self._keep([*self._all(), Given(table, release, what, now)])

    def unsent(self, table: str) -> None:
        """Note that nobody received what was given away of a table."""
        with self._lock:
            self._keep(
                replace(given, has_left=given.has_left and given.table != table)
                for given in self._all()
            )

    def _all(self) -> list[Given]:
        """Read the file afresh: another program may have written it."""
        try:
            text = self.path.read_text(encoding="utf-8") if self.path.exists() else "[]"
            return [Given(**entry) for entry in json.loads(text)]
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"{self.path}: cannot be read ({error}). It says which releases were given away. "
                f"Bring it back from a backup, or take another folder."
            ) from None

    def _sent(self, table: str) -> list[Given]:
        return [given for given in self.of(table) if given.has_left]

    def _keep(self, entries: Iterable[Given]) -> None:
        text = json.dumps([asdict(entry) for entry in entries], indent=1)
        write_text(self.path, f"{text}\n", secret=True)


def fingerprint_of_table(table: Table) -> str:
    """Return what tells a table from others: its codes and values, in any order."""
    return _fingerprint(table.keys.assign(value=table.values)[~table.rests])


def fingerprint_of_release(release: Any) -> str:
    """Return what tells a release from others: all that its readers see."""
    way = required_way(release)
    frames = [way.leaving(release).released]
    if "derived" in way.sections and release.problem.table.figures:
        frames.append(released_figures(release))
    return "".join(map(_fingerprint, frames))


def _fingerprint(frame: pd.DataFrame) -> str:
    columns = [frame[name].map(str) for name in sorted(frame.columns)]
    rows = sorted(map("\x1f".join, zip(*columns, strict=True)))
    return hashlib.sha256("\x1e".join(rows).encode()).hexdigest()
