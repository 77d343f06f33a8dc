"""What can go wrong, as types.

::

    TablecloakError
    |-- InputError(ValueError)     the data, a file or an argument is not what it should be
    |-- ModelError                 the question has no answer: levels and bounds conflict
    |-- SolverError                a solver broke off or contradicted itself
    `-- VerificationError          an answer failed its own check; it is never returned

    TablecloakWarning(UserWarning) the answer stands, but the reader must know something

Every message says what was found, where, what was expected, and what to do.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path


class TablecloakError(Exception):
    """Root of all errors raised on purpose by this package.

    Parameters
    ----------
    message : str
        What was found, where, what was expected, what to do.
    cells : iterable of int, default=()
        Indices of the offending cells, where cells are concerned.
    """

    def __init__(self, message: str, *, cells: Iterable[int] = ()) -> None:
        super().__init__(plain(message))
        self.cells = tuple(int(cell) for cell in cells)


WITHOUT_LINES = (".parquet", ".pq", ".dta", ".sas7bdat", ".xpt")
"""Ends of the names of files of rows that nobody reads as lines."""


def first_row(source: object) -> int:
    """Return the number of the first row: the line below the header of a file that has lines."""
    suffix = Path(str(source)).suffix.lower()
    if not suffix or suffix in WITHOUT_LINES or "://" in str(source):
        return 1
    return 1 + max(1, getattr(source, "header", 1))


def line_of(source: object, row: int) -> str:
    """Say where a row of a file stands: on the line that an editor or a spreadsheet shows.

    Parameters
    ----------
    source : str, path, or anything else
        A file with a header, or what has rows but no lines, such as a frame or a database.
    row : int
        Counted from 0.
    """
    first = first_row(source)
    return f"{source}, {'row' if first == 1 else 'line'} {row + first}"


class InputError(TablecloakError, ValueError):
    """The data, a file or an argument is not what it should be.

    Parameters
    ----------
    message : str
    cells : iterable of int, default=()
    row : int, optional
        Row of the data, counted from 0, that is wrong. The message begins with it.
    source : str or path, optional
        Where the data lie, with which it begins then.
    """

    def __init__(
        self,
        message: str,
        *,
        cells: Iterable[int] = (),
        row: int | None = None,
        source: object = None,
    ) -> None:
        place = "" if row is None else f"Row {row + 1}: "
        if source is not None:
            place = f"{source if row is None else line_of(source, row)}: "
        super().__init__(f"{place}{message}", cells=cells)
        self.what, self.row, self.source = message, row, source

    def of(self, source: object) -> InputError:
        """Return the error of data that lie in a file, which it names, with the line of its row."""
        if str(self).startswith(str(source)):
            return self
        if self.source is not None:
            return InputError(str(self), cells=self.cells, source=source)
        return InputError(self.what, cells=self.cells, row=self.row, source=source)


class NotAdditiveError(InputError):
    """The values of a table do not satisfy its relations: `finding` says which, then a remedy."""

    def __init__(self, finding: str, remedy: str = "", cells: Iterable[int] = ()) -> None:
        super().__init__(f"{finding} {remedy}".strip(), cells=cells)
        self.finding = finding


class ModelError(TablecloakError):
    """Protection levels, bounds and fixed cells conflict: no release can satisfy them."""


class SolverError(TablecloakError):
    """A solver broke off, or contradicted itself even after a cold restart."""


class InterruptedSearch(SolverError):  # noqa: N818
    """Work was stopped, by Ctrl-C or otherwise, before anything was proved."""


class VerificationError(TablecloakError):
    """An answer failed its own certificate; it is never returned."""


def plain(text: str) -> str:
    r"""Write control characters out, as in ``\x1b``: text of strangers must not steer a terminal.

    Also the marks that turn the direction of writing, with which a text can look like another.
    """
    return _CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode(), str(text))


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class TablecloakWarning(UserWarning):
    """The answer stands, but the reader must know something about it."""


def listed(items: Sequence[object], limit: int = 5) -> str:
    """Join the first `limit` items for a message and count the rest."""
    shown = ", ".join(str(item) for item in items[:limit])
    rest = len(items) - limit
    return f"{shown} and {rest} more" if rest > 0 else shown


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which has an s unless the number is 1."""
    return f"{number} {noun}{'s' * (number != 1)}"


CHANGED = "Check that the result was not changed, and that it belongs to this problem."
"""What to do after a failed verification; the end of its messages."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known word, or list what is known."""
    import difflib

    known = sorted(known)
    near = difflib.get_close_matches(str(word), known, n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else f" Known are: {', '.join(known)}."


def require_known(word: object, known: Collection[object], refused: str) -> None:
    """Refuse a word that is not known.

    Raises
    ------
    InputError
        Says what is refused, and which word was likely meant.
    """
    if word not in known:
        raise InputError(f"{refused}{suggestion(str(word), map(str, known))}")


def where_raised(error: BaseException) -> str:
    """Return `` in FILE, line N`` of this package for an internal error; empty if outside of it.

    For reports of faults: the message of the error itself may be confidential.
    """
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "tablecloak" in Path(frame.filename).parts]
    return f" in {Path(ours[-1].filename).name}, line {ours[-1].lineno}" if ours else ""
