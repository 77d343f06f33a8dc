"""Finding files that were named on another machine, and reading text as tau-ARGUS does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PureWindowsPath

from tablecloak.errors import InputError, listed
from tablecloak.packed import unpacked


def find_file(name: str, folder: Path, others: Sequence[Path] = ()) -> Path:
    """Return the file of this name, in any case, below a folder, also if it is compressed.

    Of a Windows path that does not exist on this machine the last part counts; or, where the batch
    was moved with the folders around it, what follows the name of a folder above the batch. Other
    folders are searched for the last part.

    Raises
    ------
    InputError
        If there is none.
    """
    parts = PureWindowsPath(name)
    if not parts.name or "\0" in name:
        raise InputError(f"{name!r} is no name of a file.")
    # Never the folder in which a program was started: it may hold another file of the name.
    tried = [folder / name, folder.joinpath(*parts.parts[-1:])]
    if not parts.drive and not parts.root:
        tried.insert(0, folder.joinpath(*parts.parts))
    # Where an earlier batch wrote what must stay inside.
    tried.append(folder.joinpath("internal", *parts.parts[-1:]))
    tried += [other.joinpath(*parts.parts[-1:]) for other in others]
    tried += _beside(parts.parts, folder)
    for path in tried:
        for candidate in (path, path.with_name(path.name + ".gz")):
            if candidate.is_file():
                return candidate
        if path.parent.is_dir():
            wanted = {path.name.lower(), path.name.lower() + ".gz"}
            for other in sorted(path.parent.iterdir()):
                if other.name.lower() in wanted and other.is_file():
                    return other
    beside = listed([folder / "internal", *others])
    raise InputError(
        f"{folder / parts.name}: this file does not exist, nor in {beside}. Check the name."
    )


def _beside(parts: tuple[str, ...], folder: Path) -> Iterator[Path]:
    """Yield the path below each folder above the batch that has the name of a part, in any case."""
    names = [part.lower() for part in parts[:-1]]
    for above in folder.absolute().parents:
        if above.name.lower() in names[1:]:
            below = parts[names.index(above.name.lower(), 1) + 1 : -1]
            place: Path | None = above
            for part in below:
                place = _folder_of(place, part) if place else None
            if place:
                yield place / parts[-1]


def _folder_of(place: Path, name: str) -> Path | None:
    """Return the folder of a name in any case."""
    inside = (one for one in sorted(place.iterdir()) if one.is_dir())
    return next((one for one in inside if one.name.lower() == name.lower()), None)


WINDOWS = "cp1252"
"""Code page of Western Windows, in which tau-ARGUS reads and writes."""


def text_of(path: Path) -> str:
    """Read a text file in UTF-8, or else in the code page of Western Windows."""
    return decoded(unpacked(path))


def decoded(content: bytes) -> str:
    """Return the text of a file that was read."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode(WINDOWS, errors="replace")


def encoding_of(paths: Iterable[Path], texts: Iterable[str]) -> str:
    """Return how to write texts: as the files that were read are, if that has all their letters.

    Letters of ASCII say nothing; any file that is not UTF-8 asks for the code page of Windows.
    """
    try:
        for path in paths:
            unpacked(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        try:
            for text in texts:
                text.encode(WINDOWS)
        except UnicodeEncodeError:
            return "utf-8"
        return WINDOWS
    return "utf-8"


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not empty and no comment, tabs as blanks."""
    return plain_lines(text_of(path))


def plain_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text, as `lines_of` does."""
    for number, line in enumerate(text.splitlines(), start=1):
        plain = line.replace("\t", " ").strip()
        if plain and not plain.startswith(("//", "\\\\")):
            yield number, plain


_TOKEN = re.compile(r'"([^"]*)"|(<[^>]*>)|([^\s"<>]+)')


def tokens(line: str) -> list[str]:
    """Split a line at blanks; what is quoted stays together, keywords keep their brackets."""
    return [
        quoted if found.group(1) is not None else (keyword.upper() or plain)
        for found in _TOKEN.finditer(line)
        for quoted, keyword, plain in [(found.group(1), found.group(2) or "", found.group(3) or "")]
    ]
