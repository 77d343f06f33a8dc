"""File formats, and how the format of a file is found by its name.

A format is one class in one file of this package. What it can hold is said by its base class:
`ProblemFormat` (a table with all that protects it), `ReleaseFormat` (what may be published),
`FrameFormat` (rows and columns: records, results, and through them problems and releases too).
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

import pandas as pd

from tablecloak.data_file import AS_USUAL, DataFile, ReadingError, about_batches
from tablecloak.errors import InputError
from tablecloak.extras import required
from tablecloak.packed import require_sound_ratio
from tablecloak.registry import Registry
from tablecloak.tables.formats.layouts import MOST_COLUMNS, WideTable
from tablecloak.tables.problem import ProtectionProblem

GZIP = b"\x1f\x8b"
"""How packed files begin."""

MOST_LINE = 1 << 24
"""Most bytes of the first lines of text."""

BROKEN = (
    ValueError, OSError, EOFError, RuntimeError, ImportError,
    zlib.error, lzma.LZMAError, zipfile.BadZipFile,
)  # fmt: skip
"""What readers raise for files that are not what their names say, or are packed in a way that needs
another library."""

COMPRESSED = (".gz", ".bz2", ".zip", ".xz", ".zst")
"""Endings of compressed files; the ending before tells the format."""

FIELD_END = "\x1f"
"""Separator of fields in a file that is searched; no number can extend across it."""


@dataclass(frozen=True)
class FilePart:
    """An unpacked part of a file that is searched for values.

    Parameters
    ----------
    name : str
        Empty for the file as it is.
    content : bytes
    is_packed : bool, default=False
        Whether its text is not meant as digits, so that only doubles are looked for.
    """

    name: str
    content: bytes
    is_packed: bool = False


class Format(ABC):
    """A kind of files; siblings are registered in `FORMATS`."""

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    """Endings of names, in lower case; the first is given to files that are written."""
    holds: ClassVar[str]
    """What it can hold, in words, for the docs."""
    signature: ClassVar[bytes] = b""
    """First bytes of every such file, if the format has fixed ones."""
    has_wide: ClassVar[bool] = False
    """Whether a release in it can have some dimensions along the columns."""
    has_labels: ClassVar[bool] = False
    """Whether a release in it can hold labels of codes."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """Libraries of extras that it needs."""
    how: DataFile = AS_USUAL
    """How files are read; its path says nothing."""

    @classmethod
    def require(cls) -> None:
        """Check that all libraries it needs are installed, before work that may take long.

        Raises
        ------
        InputError
            Names the one that is missing, and what to type.
        """
        for library in cls.libraries:
            required(library, f"Files in the format {cls.name!r}")

    def parts(self, path: Path, content: bytes) -> Iterator[FilePart]:
        """Yield all parts of a file, unpacked."""
        del path
        yield FilePart("", content)

    def fields(self, text: str) -> Iterable[str]:
        """Return a text with its fields apart, so that a code and a value are not one number.

        Raises
        ------
        ValueError
            If the text is not of this format.
        """
        return [text]

    def recognises(self, path: Path) -> bool:
        """Whether a folder is of this format although its name does not say so."""
        del path
        return False

    def in_our_words(
        self, frame: pd.DataFrame, dimensions: list[str], path: Path
    ) -> pd.DataFrame | None:
        """Translate a release that was read as a frame; None if it is not of this format.

        Parameters
        ----------
        frame : pandas.DataFrame
            As it was read, its columns named as in the file.
        dimensions : list of str
        path : Path
            From which the frame was read.

        Returns
        -------
        pandas.DataFrame or None
            Columns named by the dimensions, ``value`` and, for suppression, ``status``.
        """
        del frame, dimensions, path
        return None


class TableFormat(Format):
    """A format whose files can be read as rows and columns, as those of releases are."""


class ProblemFormat(Format):
    """A format that holds protection problems."""

    holds = "problems"

    @abstractmethod
    def read_problem(self, path: Path, tolerance: float) -> ProtectionProblem:
        """Read a problem; `tolerance` is the accepted absolute error of a relation."""

    @abstractmethod
    def write_problem(self, problem: ProtectionProblem, path: Path) -> None:
        """Write a problem, readable by its owner alone."""


class ReleaseFormat(Format):
    """A format that releases are written in."""

    holds = "releases (written)"

    @abstractmethod
    def write_release(
        self, released: pd.DataFrame, about: Mapping[str, object], path: Path
    ) -> None:
        """Write a release.

        Parameters
        ----------
        released : pandas.DataFrame
            What `SuppressionPattern.release` or `Adjustment.release` returns: codes, the value,
            and for suppression a column ``status``.
        about : mapping of str to object
            What readers are told: ``measure``, ``title``, ``unit``, ``decimals``, ``reading``;
            and where `has_labels` says so, the ``labels`` of the codes of each dimension.
        path : Path
        """

    def write_wide(self, table: WideTable, about: Mapping[str, object], path: Path) -> None:
        """Write a release with some dimensions along the columns, where `has_wide` says so."""
        raise NotImplementedError


FORMATS: Registry[Format] = Registry("format", "tablecloak.tables.formats")
"""All file formats."""

F = TypeVar("F", bound=Format)


def formats_holding(kind: type[F]) -> list[F]:
    """Return the formats that derive from a class, such as `ReleaseFormat`."""
    return [each() for each in FORMATS if issubclass(each, kind)]


NO_PROBLEM = (
    "This takes a problem, as `tablecloak convert` writes it. For records `tablecloak init` "
    "writes a first job; a finished table is opened by `tablecloak app`."
)
"""What is said of another file where a problem is expected."""


def format_of(path: str | os.PathLike[str], kind: type[F], *, otherwise: str | None = None) -> F:
    """Return the format that the name of a file asks for.

    Parameters
    ----------
    path : str, path or DataFile
        The format reads as a `DataFile` says.
    kind : type
        Base class of the formats considered; among these the longest ending counts.
    otherwise : str, optional
        Name of the format of all other files.

    Raises
    ------
    InputError
        For an unknown ending; names those that are known. If the format needs a library that is
        not installed.
    """
    known = formats_holding(kind)
    if isinstance(path, DataFile):
        for each in known:
            each.how = path
    ending = _ending(Path(path))
    fitting = [(len(s), f) for f in known for s in f.suffixes if ending.endswith(s)]
    fitting = fitting or [(0, each) for each in known if each.recognises(Path(path))]
    if fitting:
        file_format = max(fitting, key=lambda pair: pair[0])[1]
        file_format.require()
        return file_format
    if otherwise is not None:
        return next(each for each in known if each.name == otherwise)
    *first, last = [each.suffixes[0] for each in known]
    expected = f"{', '.join(first)} or {last}" if first else last
    finding = f"{path}: unknown kind of file. Expected a name in {expected}."
    if kind is ProblemFormat and not about_batches(path):
        raise ReadingError(finding, NO_PROBLEM)
    raise InputError(f"{finding}{about_batches(path)}")


def can_hold(path: str | Path, kind: type[Format]) -> bool:
    """Whether the name of a file is one of a format that derives from a class."""
    ending = _ending(Path(path))
    return any(ending.endswith(s) for each in formats_holding(kind) for s in each.suffixes)


def _ending(path: Path) -> str:
    """All endings of a name in lower case, without that of a packed file."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return "".join(suffixes)


OTHER_ROW = (
    "If the names of the columns stand in another row than the first one, say it by `header`."
)
"""What else may be wrong where lines have more entries than the header."""


class UnevenError(ReadingError):
    """A line of text has more entries than the header has names of columns.

    Parameters
    ----------
    source : path
    line, seen, expected : int
    """

    def __init__(self, source: object, line: int, seen: int, expected: int) -> None:
        super().__init__(
            f"{source}, line {line}: it has {seen} entries, but the header names {expected} "
            f"columns. Put an entry that holds the separator in quotes, or take out the separator "
            f"that is one too many.",
            OTHER_ROW,
        )


UNNAMED = re.compile(r"Unnamed: \d+")
"""How a column is called above which nothing stands: a title is there, or further headers."""

NO_RECORDS = "holds no record, at most the names of columns. Give the one with the records."
"""What is said of a file or a frame without a row."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn any error while a file is read into an InputError that names the file."""
    try:
        require_few_columns(path)
        yield
    except InputError:
        raise
    except UnicodeDecodeError:
        raise not_utf_8(path) from None
    except BROKEN as error:
        raise InputError(f"{path}: cannot be read ({str(error).strip()}).") from error


def uneven(source: object, error: Exception) -> UnevenError | None:
    """Return our error for what readers say of a line with too many entries; none for another."""
    text = str(error)
    of_pandas = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text)
    if of_pandas:
        expected, line, seen = map(int, of_pandas.groups())
        return UnevenError(source, line, seen, expected)
    place = re.search(r"on Line: (\d+)", text)
    of_duckdb = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if place and of_duckdb:
        return UnevenError(source, int(place[1]), int(of_duckdb[2]), int(of_duckdb[1]))
    return None


def not_utf_8(source: object) -> ReadingError:
    """Return the error for letters that are written in another way, mostly that of an office."""
    return ReadingError(f"{source}: its letters are not UTF-8.", encoding="cp1252")


def require_few_columns(path: Path) -> None:
    """Refuse text with more columns than readers can take in seconds; other files are let through.

    Raises
    ------
    InputError
        Names the line and the number of columns.
    """
    if not path.is_file():
        return
    with path.open("rb") as stream:
        is_packed = stream.read(2) == GZIP
    if is_packed:
        require_sound_ratio(path)
    with (gzip.open if is_packed else Path.open)(path, "rb") as stream:
        # Surplus entries of the first row are taken for names of rows.
        for number in (1, 2):
            line = stream.readline(MOST_LINE + 1)
            if b"\0" in line:
                return
            columns = 1 + max(line.count(separator) for separator in (b",", b";", b"\t"))
            if columns > MOST_COLUMNS or len(line) > MOST_LINE:
                what = f"{columns:,} columns" if columns > MOST_COLUMNS else "too long a line"
                raise InputError(
                    f"{path}, line {number}: {what}; at most {MOST_COLUMNS:,} columns in "
                    f"{MOST_LINE >> 20} MiB are read. Write one row for each cell."
                )
