"""All tables that were opened, each under an address of its own."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any

from flask import g

from tablecloak.app.given_away import GivenAway
from tablecloak.app.given_file import kind_named, kind_of
from tablecloak.app.reading import in_the_app, on_its_sheet
from tablecloak.app.session import OPENED, TABLES, Session, kept_in, without_folder
from tablecloak.data_file import DataFile
from tablecloak.errors import InputError
from tablecloak.web.tasks import noting

MOST_OPEN = 20
"""Most tables in memory. The one that was not asked for longest makes room: its address opens it
again, with its decisions and without its searches."""


class TablePages:
    """Answers of the app about one table.

    Parameters
    ----------
    tables : OpenTables
    session : Session
    """

    def __init__(self, tables: OpenTables, session: Session) -> None:
        self.tables, self.session = tables, session


class GoneError(InputError):
    """No table has such an address."""


class OpenTables:
    """All tables of a folder.

    Parameters
    ----------
    home : Path
        Private folder.
    is_kept : bool
        Whether it stays when the app ends.
    """

    def __init__(self, home: Path, *, is_kept: bool) -> None:
        self.home, self.is_kept = home, is_kept
        self.given = GivenAway(home / "given_away.json")
        self.typed = ""
        """Path that was typed last on the first page."""
        self._tried: dict[str, DataFile] = {}
        self._open: dict[str, Session] = {}
        self._lock = threading.Lock()

    def opened(self, file: DataFile, kind: str) -> str:
        """Open a file as a kind that is named, or found out; return the address that follows."""
        session = Session(self.home, self.given)
        with noting(session.unsaid):
            file = on_its_sheet(file)
            asked = kind_named(kind) if kind else kind_of(file)
            session.open(file, asked)
        self.add(session)
        return session.address + asked.next

    def try_out(self, file: DataFile, kind: str) -> str:
        """Open a file as `opened` does; if it cannot be read so, its page of errors knows it."""
        g.tried = secrets.token_hex(4)
        self._tried[g.tried] = file
        for name in list(self._tried)[:-MOST_OPEN]:
            del self._tried[name]
        return self.opened(file, kind)

    def tried(self, name: str) -> DataFile | None:
        """Return a file that was to be opened, by its name on the page of errors."""
        return self._tried.get(name)

    def add(self, session: Session) -> None:
        """Keep a table."""
        session.save()
        with self._lock:
            self._remember(session)

    def __getitem__(self, name: str) -> Session:
        """Return the table of an address; one that is not in memory is opened again.

        Raises
        ------
        GoneError
            If there is none.
        """
        with self._lock:
            session = self._open.pop(name, None)
            if session is None:
                session = Session(self.home, self.given, name)
                if not name.isalnum() or not (session.folder / OPENED).exists():
                    raise GoneError(
                        "The table of this address is gone: the program was started anew, or its "
                        "folder was removed. Open the file again on the first page."
                    )
                session.open_again()
            self._remember(session)
        return session

    def _remember(self, session: Session) -> None:
        """Keep a table in memory, as the last one that was asked for."""
        self._open[session.name] = session
        idle = [name for name, one in self._open.items() if not one.is_busy]
        for name in idle[: max(len(self._open) - MOST_OPEN, 0)]:
            del self._open[name]

    def listed(self) -> Iterator[dict[str, Any]]:
        """Yield what can be opened, the last one first: tables, and files without one."""
        paths = (self.home / TABLES).glob(f"*/{OPENED}")
        dated = sorted(((path.stat().st_mtime, path) for path in paths), reverse=True)
        for changed, path in dated:
            # What cannot be read says so at its own address.
            with contextlib.suppress(InputError):
                kept = kept_in(path.parent)
                yield {
                    "address": f"/table/{path.parent.name}/", "title": kept["title"],
                    "file": Path(kept["file"]).name, "decisions": len(kept["marks"]),
                    "is_table": bool(kept["table"]),
                    "when": f"{datetime.fromtimestamp(changed):%Y-%m-%d %H:%M}",
                }  # fmt: skip

    def told(self, error: Exception) -> tuple[str, int]:
        """Return what is said of an error, and the status of the answer."""
        session, message = g.get("session"), in_the_app(error)
        text = session.plain(message) if session else without_folder(message, self.home)
        return text, 404 if isinstance(error, GoneError) else 400

    def answered(self, pages: type[TablePages], name: str) -> Callable[..., Any]:
        """Return a view: a method of pages, about the table of the address."""

        @wraps(getattr(pages, name))
        def answer(table: str, **given: Any) -> Any:
            g.session = self[table]
            with noting(g.session.unsaid):
                return getattr(pages(self, g.session), name)(**given)

        return answer
