"""Temporary names beside outputs, and what processes that were killed left under them.

Whoever writes holds a lock on the temporary file or folder, which the system lifts when the process
ends, however it ends. What nobody holds was left behind; the next who writes there clears it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
