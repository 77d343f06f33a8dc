"""Search the files of a release for hidden values, whatever their format and spelling.

Every number in a file is read in every way it can be meant: with separators of thousands, with a
decimal point or comma, in scientific notation, rounded, or as the eight bytes of a double. ZIP
archives (Excel) and gzip are opened; Parquet is also read column by column with its metadata.
Tables and pages are read field by field, so that a code and the value beside it are not taken for
one number, and that 701.7 is no part of 3,701.7.

A transmission file (values with flags, for another authority) is found by its columns, whatever its
values are.

This finds values that were written by mistake. Whether a value follows from others is checked by
the audit.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import numpy as np

from tablecloak.errors import InputError
from tablecloak.tables.confidentiality import Confidentiality
from tablecloak.tables.formats.format import (
    FIELD_END,
    FORMATS,
    FilePart,
    Format,
    can_hold,
    format_of,
)

TELLING_DIGITS = 4
"""Least number of significant digits with which a number counts as the hidden value itself."""

LONGEST_HEADER = 2**16
"""Bytes of a first line that are read to see what a file is."""

ROUNDINGS = range(4)
"""Digits behind the decimal point to which a value may have been rounded."""


@dataclass(frozen=True)
class Leak:
    """A hidden value found in a file. Secret.

    Parameters
    ----------
    file : Path
    part : str
        Which part of the file; empty for the file as it is.
    spelling : str
        How it is written there.
    value : float
    place : str, default=""
        Its line and what stands before it, without numbers of more than a few digits.
    """

    file: Path
    part: str
    spelling: str
    value: float
    place: str = ""

    def __str__(self) -> str:
        """Name the file and the place in it, not the value."""
        places = ", ".join(filter(None, [self.part, self.place]))
        return f"{self.file.name}{f' ({places})' if places else ''}"


def find_leaks(
    files: Iterable[str | Path], hidden: Iterable[float], known: Iterable[object] = ()
) -> list[Leak]:
    """Search files for hidden values, and for values that are flagged as confidential.

    Parameters
    ----------
    files : iterable of path
        Files, or folders that are searched with all that is below them.
    hidden : iterable of float
        Values that must not appear. Those with fewer than four digits are skipped: they occur
        by chance.
    known : iterable
        Numbers, codes and titles that are published and may look like a hidden value.

    Returns
    -------
    list of Leak

    Raises
    ------
    InputError
        If a file does not exist.
    """
    wanted = _telling(hidden, _public_numbers(known))
    binary = {struct.pack("<d", value): value for value in set(wanted.values())}
    leaks = []
    for path in _all_files(files):
        for part in _parts(path):
            spelled = _in_bytes(part.content, binary) + _flagged(part.content)
            # Bytes of packed pages can look like digits.
            text = "" if part.is_packed else part.content.decode("utf-8", errors="ignore")
            spelled += _in_text(_fields(path, text), wanted)
            leaks += [
                Leak(path, part.name, spelling, value, _place(text, spelling))
                for spelling, value in spelled
            ]
    return leaks


def _public_numbers(known: Iterable[object]) -> set[float]:
    """Return all numbers that stand in what is published, also rounded."""
    public: set[float] = set()
    for entry in known:
        if isinstance(entry, int | float):
            public.add(float(entry))
        else:
            public.update(*map(_readings, _NUMBER.findall(str(entry))))
    return public | {round(number, digits) for number in public for digits in ROUNDINGS}


def _telling(hidden: Iterable[float], public: set[float]) -> dict[float, float]:
    """Map each number that would disclose a hidden value, without its sign, to that value."""
    return {
        abs(spelled): value
        for value in hidden
        for spelled in (value, *(round(value, digits) for digits in ROUNDINGS))
        if _digits(spelled) >= TELLING_DIGITS and not {spelled, abs(spelled)} & public
    }


def _digits(value: float) -> int:
    """Digits that a reader would recognise: all of a whole number, else the significant ones."""
    if not np.isfinite(value) or value == 0:
        return 0
    if value == round(value):
        return len(f"{abs(value):.0f}")
    return len(f"{abs(value):.14e}".split("e")[0].replace(".", "").rstrip("0"))


def _all_files(files: Iterable[str | Path]) -> Iterator[Path]:
    for entry in map(Path, files):
        if entry.is_dir():
            yield from sorted(path for path in entry.rglob("*") if path.is_file())
        elif entry.exists():
            yield entry
        else:
            raise InputError(f"{entry}: this file does not exist. Check the path.")


def _parts(path: Path) -> Iterator[FilePart]:
    """Each part of a file, unpacked. Its first bytes, not its name, tell its format."""
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        yield FilePart("unpacked", gzip.decompress(content))
        return
    formats = (each() for each in FORMATS if each.signature)
    fitting = (each for each in formats if content.startswith(each.signature))
    yield from next((each.parts(path, content) for each in fitting), [FilePart("", content)])


_BLANK = "'_ \u00a0\u2007\u2009\u2019\u202f"
_NUMBER = re.compile(rf"(?<![\w.])[0-9][0-9.,{_BLANK}]*(?:[eE][+-]?[0-9]+)?")

_WHOLE_NUMBER = re.compile(
    rf"(?<![0-9.,\[])(?<![0-9][{_BLANK}])"
    rf"(?:[0-9]{{1,3}}([.,{_BLANK}])[0-9]{{3}}(?:\1[0-9]{{3}})*(?:(?!\1)[.,][0-9]+)?|[0-9]+,[0-9]+)"
    rf"(?![0-9\]]|[.,{_BLANK}][0-9]|,\S)"
)
"""A number in groups of three, or with a decimal comma, that no list of numbers goes on beside."""

_NO_VALUES = re.compile(
    r"<row r=\"\d+\"|(?:unique)?[cC]ount=\"\d+\"|https?://[^\s\"'<>]+|\d{4}-\d\d-\d\dT[\d:.]+Z?"
    r"|<style>.*?</style>",
    re.DOTALL,
)
"""Addresses of name spaces, times of writing, numbers of rows and of entries, colours."""

_MARKS = re.compile(r"[<>\"]")
"""What ends a field of a page, or of any other text between tags."""

SHOWN_BEFORE = 60
"""Letters before a hidden value that say where it stands."""


def _fields(path: Path, text: str) -> str:
    """Text of a file with its fields kept apart, where its format says what a field is."""
    text = _NO_VALUES.sub(" ", text)
    if text.lstrip("\ufeff \r\n\t").startswith("<"):
        return unescape(_MARKS.sub(FIELD_END, text))
    if not can_hold(path, Format):
        return text
    try:
        return FIELD_END.join(format_of(path, Format).fields(text))
    except (ValueError, RecursionError):
        return text


def _in_text(text: str, wanted: dict[float, float]) -> list[tuple[str, float]]:
    """Wanted numbers that occur in a text."""
    pieces: set[str] = set()
    # Without fields 3,701.7 can be two numbers in a list.
    if FIELD_END in text:
        pieces.update(match.group() for match in _WHOLE_NUMBER.finditer(text))
        text = _WHOLE_NUMBER.sub(FIELD_END, text)
    for token in set(_NUMBER.findall(text)):
        # A match may be one number or a list of several: "1,234,5678" or "12 345 678".
        runs = re.split(rf"[{_BLANK}]+", token)
        pieces |= {token, *runs, *(piece for run in runs for piece in run.split(","))}
    leaks = {
        piece.strip(f",.{_BLANK}"): wanted[number]
        for piece in pieces
        for number in _readings(piece)
        if number in wanted
    }
    return sorted(leaks.items())


def _place(text: str, spelling: str) -> str:
    """Say where a hidden value stands, in words that tell nothing of it."""
    # Without a look behind, plain digits are searched a hundred times as fast.
    starts = (match.start() for match in re.finditer(rf"{re.escape(spelling)}(?![0-9])", text))
    start = next(
        (place for place in starts if not text.endswith(tuple(".,0123456789"), 0, place)), None
    )
    if start is None:
        return ""
    # Read from further back, so that no number is cut.
    before = text[max(start - 5 * SHOWN_BEFORE, 0) : start].rpartition("\n")[2]
    shown = _NUMBER.sub(_without_digits, before)[-SHOWN_BEFORE:].strip()
    line = f"line {text.count(chr(10), 0, start) + 1}"
    return f"{line}, after {shown!r}" if shown else line


def _without_digits(number: re.Match[str]) -> str:
    few = sum(map(str.isdigit, number.group())) < TELLING_DIGITS
    return number.group() if few else "…"


def _in_bytes(content: bytes, wanted: dict[bytes, float]) -> list[tuple[str, float]]:
    """Wanted numbers that stand somewhere as a double, little endian."""
    # Text has no zero bytes.
    if b"\0" not in content:
        return []
    leaks = []
    for offset in range(8):
        whole = (len(content) - offset) // 8
        numbers = np.frombuffer(content, dtype="<f8", count=max(whole, 0), offset=offset)
        finite = numbers[np.isfinite(numbers) & (np.abs(numbers) > 1e-3) & (np.abs(numbers) < 1e18)]
        codes = {struct.pack("<d", number) for number in np.unique(finite).tolist()}
        leaks += [("eight bytes", wanted[code]) for code in codes & wanted.keys()]
    return leaks


def has_flags(path: Path) -> bool:
    """Whether the first line of a file, which may be large, names flags of confidentiality."""
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    with (gzip.open if is_packed else Path.open)(path, "rb") as file:
        return b"CONF_STATUS" in file.readline(LONGEST_HEADER)


def _flagged(content: bytes) -> list[tuple[str, float]]:
    """Return values beside a flag that says they are not free: a transmission file."""
    if b"CONF_STATUS" not in content or b"OBS_VALUE" not in content:
        return []
    text = content.decode("utf-8-sig", errors="ignore")
    separator = max(",;\t", key=text.partition("\n")[0].count)
    leaks = []
    for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=separator):
        flag, value = row.get("CONF_STATUS") or "", row.get("OBS_VALUE") or ""
        if flag not in ("", Confidentiality.FREE.value) and value:
            numbers = sorted(_readings(value.lstrip("-")))
            leaks += [(f"{value} beside the flag {flag}", number) for number in numbers[:1]]
    return leaks


_GROUPED = (
    (re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?"), ",", "."),
    (re.compile(r"\d{1,3}(\.\d{3})+(,\d*)?"), ".", ","),
    (re.compile(r"\d+(\.\d*)?([eE][+-]?\d+)?"), "", "."),
    (re.compile(r"\d+(,\d*)?([eE][+-]?\d+)?"), "", ","),
)
"""Ways to write a number: between thousands, decimal sign."""


def _readings(text: str) -> set[float]:
    """Every number that a text can mean."""
    plain = re.sub(rf"[{_BLANK}]", "", text).strip(",.")
    return {
        float((plain.replace(thousands, "") if thousands else plain).replace(point, "."))
        for pattern, thousands, point in _GROUPED
        if pattern.fullmatch(plain)
    }
