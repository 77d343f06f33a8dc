"""Writing files so that nothing is lost and nothing secret is left readable.

Whoever writes holds a lock on the temporary file or folder beside its output, which the system
lifts when the process ends, however it ends. What nobody holds was left behind; the next who writes
there clears it.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablecloak.errors import InputError
from tablecloak.roles import as_input, as_output, require_no_input_in

SECRET_MODE = 0o600
PUBLIC_MODE = 0o644


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that must exist, and that no output of this run may replace.

    All files that users name are read through this function.

    Raises
    ------
    InputError
        If the file does not exist, is empty, a folder or no regular file, cannot be read, or is an
        output.
    """
    path = readable(path)
    if path.is_dir():
        raise InputError(f"{path}: this is a folder. Give the name of a file in it.")
    if not path.exists():
        raise InputError(f"{path}: this file does not exist. Check the path.")
    if not path.stat().st_size:
        raise InputError(f"{path}: this file is empty. Write it again, or give another one.")
    return as_input(path)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def readable(path: str | os.PathLike[str]) -> Path:
    """Return a path that is a regular file or a folder, or leads to nothing.

    Raises
    ------
    InputError
        If it is a device or a pipe, which may never end, or cannot be looked at.
    """
    path = Path(path)
    try:
        if path.is_file() or path.is_dir() or not path.exists():
            return path
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r}: cannot be read ({error}). Check the path.") from None
    raise InputError(
        f"{path}: this is a device or a pipe, which may never end. Give a regular file; what a "
        f"program writes can be saved in one first."
    )


def require_writable(*paths: str | Path | None) -> None:
    """Refuse names under which no file can be written, before work that may take long.

    Parameters
    ----------
    *paths : str, Path or None
        None is skipped.

    Raises
    ------
    InputError
        If a name is that of a folder or a device, leads through a file, or is that of an input.
    """
    for path in (Path(name) for name in paths if name is not None):
        above = next((folder for folder in path.absolute().parents if folder.exists()), path)
        if path.is_dir() or not above.is_dir():
            what = "is a folder" if path.is_dir() else f"leads through the file {above}"
            raise InputError(f"{path}: {what}. Choose another name for what is written.")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is a device or a pipe. Choose the name of a file.")
        if not os.access(above, os.W_OK | os.X_OK):
            raise InputError(
                f"{path}: cannot be written, since you may not write into {above}. Choose another "
                f"place."
            )
        as_output(path)


def require_own_folder(folder: str | Path, mark: str) -> None:
    """Refuse a folder in which results would lie among other things.

    Parameters
    ----------
    folder : str or Path
        New, empty, or one of earlier results.
    mark : str
        Path in the folder of a file that shows that its results are ours.

    Raises
    ------
    InputError
        If it is the current folder, that of the user or one above, holds what this run has read, or
        something else.
    """
    folder = Path(folder)
    require_writable(folder / mark)
    require_no_input_in(folder)
    places = [Path.cwd(), Path(os.path.expanduser("~"))]  # noqa: PTH111 (there may be no home)
    shared = {place for start in places for place in (start.resolve(), *start.resolve().parents)}
    what = ""
    if folder.resolve() in shared:
        what = "is the current folder, your own one, or above it"
    elif folder.is_dir() and not (folder / mark).is_file() and any(folder.iterdir()):
        what = "holds files that tablecloak did not write"
    if what:
        raise InputError(
            f"{folder}: this folder {what}. Give a new or empty folder for what is written, such "
            f"as {folder / 'results'}."
        )


def private_folder(path: Path) -> Path:
    """Return a folder that only its owner may open; it is made if needed."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


@contextmanager
def replacing(path: str | Path, *, secret: bool = False) -> Iterator[Path]:
    """Give a temporary path beside `path`, and move it into place if all went well.

    Parameters
    ----------
    path : str or Path
        Final path; its folder is created if needed.
    secret : bool, default=False
        Whether only the owner may read the file.

    Yields
    ------
    Path
        Where to write. After an error it is removed and an older file at `path` is untouched.
    """
    path = Path(path)
    require_writable(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_beside(path, is_folder=False) as temporary:
            yield temporary
            temporary.chmod(SECRET_MODE if secret else PUBLIC_MODE)
            temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error}). Choose another place.") from error


def write_text(
    path: str | Path, text: str, *, secret: bool = False, encoding: str = "utf-8"
) -> None:
    """Write a text file through `replacing`: UTF-8 and the same line ends on all systems."""
    with replacing(path, secret=secret) as temporary:
        temporary.write_text(text, encoding=encoding, newline="\n")


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """Give an empty private folder beside `path`, and put it in its place if all went well.

    Other programs see the old folder or the new one, never a part of it. Files of the old folder
    whose names the new one does not have are kept.

    Parameters
    ----------
    path : str or Path
        Final path of the folder.

    Yields
    ------
    Path
        Where to write. After an error it is removed, and the folder at `path` is untouched.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 (links stay links)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: this is a file. Give another name for the folder.")
    require_no_input_in(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_beside(path, is_folder=True) as new:
            yield new
            if path.exists():
                put_in_place(new, path)
            else:
                new.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error}). Choose another place.") from error


WRITING = "writing"
"""Mark of what is incomplete."""

READY = "ready"
"""Mark of a folder that is about to be exchanged, or was: it may hold the only copy of files."""

OLD = "-old"
"""Further ending of a folder that is exchanged in several steps."""

LONGEST = 100
"""Letters of a name that are repeated in a temporary one: names must not be too long."""


@contextmanager
def temporary_beside(path: Path, *, is_folder: bool) -> Iterator[Path]:
    """Give an empty file or folder beside a path, removed in the end; leftovers go first.

    Parameters
    ----------
    path : Path
        What is to be written; its folder must exist.
    is_folder : bool
        Whether a folder is made.
    """
    _clear(path)
    temporary, lock = _made(path, is_folder)
    try:
        yield temporary
    finally:
        _remove(temporary)
        if lock is not None:
            os.close(lock)


def put_in_place(temporary: Path, path: Path) -> None:
    """Let a complete folder take the place of another one, of which other names are kept.

    If the process is killed meanwhile, the next one that writes there keeps what only the folder
    aside still holds.
    """
    aside = temporary.with_name(temporary.name.replace(f"-{WRITING}-", f"-{READY}-"))
    temporary.replace(aside)
    # Locked before the exchange, after which this folder has the name of a leftover.
    lock = _locked(path)
    try:
        try:
            _exchange(aside, path)
        except OSError:
            aside.replace(temporary)
            raise
        _restore(aside, path)
        _remove(aside)
    finally:
        if lock is not None:
            os.close(lock)


def _exchange(one: Path, other: Path) -> None:
    """Exchange two folders, in one step where the system can."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            here, exchange = -100, 2
            rename = ctypes.CDLL(None, use_errno=True).renameat2
            if rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0:
                return
    aside = one.with_name(one.name + OLD)
    other.replace(aside)
    one.replace(other)
    aside.replace(one)


def _made(path: Path, is_folder: bool) -> tuple[Path, int | None]:
    """Make an empty file or folder, and lock it."""
    prefix = f".{path.name[:LONGEST]}-{WRITING}-"
    while True:
        if is_folder:
            temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=prefix))
        else:
            # The suffix is kept, because writers choose their format and compression by it.
            handle, name = tempfile.mkstemp(
                dir=path.parent, prefix=prefix, suffix="".join(path.suffixes)
            )
            os.close(handle)
            temporary = Path(name)
        lock = _locked(temporary)
        # Another process may have taken it for a leftover before it was locked.
        if temporary.exists():
            return temporary, lock
        if lock is not None:
            os.close(lock)


def _clear(path: Path) -> None:
    """Clear what processes that were killed left beside a path."""
    name, suffix = re.escape(path.name[:LONGEST]), re.escape("".join(path.suffixes))
    pattern = re.compile(rf"\.{name}-({WRITING}|{READY})-\w{{8}}(?:{suffix}|{OLD})?")
    with os.scandir(path.parent) as entries:
        leftovers = sorted(entry.name for entry in entries if pattern.fullmatch(entry.name))
    for leftover in leftovers:
        entry = path.with_name(leftover)
        lock = _locked(entry)
        if lock is None:
            continue
        if f"-{READY}-" in leftover and entry.is_dir():
            _restore(entry, path)
        _remove(entry)
        os.close(lock)


@contextmanager
def kept_alone(folder: Path) -> Iterator[None]:
    """Keep a folder for one program, until the context or the process ends, however it ends.

    Where files cannot be locked, it is kept from nobody.

    Raises
    ------
    InputError
        If another program has it.
    """
    handle = os.open(folder / "in_use.lock", os.O_RDWR | os.O_CREAT, SECRET_MODE)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(handle)
        raise InputError(
            f"{folder}: another program that is running uses this folder. End it, or use its "
            f"address; or give another folder."
        ) from None
    except OSError:
        pass
    try:
        yield
    finally:
        os.close(handle)


def _restore(aside: Path, path: Path) -> None:
    """Move what lies aside and is not at a path back to it."""
    # Somebody else may do the same at the same time.
    with contextlib.suppress(FileNotFoundError):
        if not path.exists():
            aside.replace(path)
            return
        for entry in aside.iterdir():
            if not (path / entry.name).exists():
                entry.replace(path / entry.name)


def _locked(path: Path) -> int | None:
    """Lock a file or folder, as long as the returned number is open; None if somebody else has it.

    None as well where files cannot be locked, so that nothing is cleared there.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    handle = None
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.lstat(path)):
            return handle
    except OSError:
        pass
    if handle is not None:
        os.close(handle)
    return None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
