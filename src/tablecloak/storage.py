"""Writing files so that nothing is lost and nothing secret is left readable."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablecloak.errors import InputError

__all__ = ["replacing", "replacing_folder", "write_text"]

SECRET_MODE = 0o600
PUBLIC_MODE = 0o644


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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The suffix is kept, because writers choose their format and compression by it.
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=".writing-", suffix="".join(path.suffixes)
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error}). Choose another place.") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(SECRET_MODE if secret else PUBLIC_MODE)
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error}). Choose another place.") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str, *, secret: bool = False) -> None:
    """Write a text file through `replacing`."""
    with replacing(path, secret=secret) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """Give an empty private folder beside `path`, and put it in its place if all went well.

    Whoever looks sees the old folder or the new one, complete. What else lay in the old one, under
    names that the new one does not have, stays.

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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        new = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-writing-{os.getpid()}-"))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error}). Choose another place.") from error
    try:
        yield new
        if path.exists():
            _exchange(new, path)
            for entry in new.iterdir():
                if not (path / entry.name).exists():
                    entry.replace(path / entry.name)
        else:
            new.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error}). Choose another place.") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _exchange(one: Path, other: Path) -> None:
    """Let two folders change places, in one step where the system can."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            here, exchange = -100, 2
            rename = ctypes.CDLL(None, use_errno=True).renameat2
            if rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0:
                return
    aside = one.with_name(one.name + "-old")
    other.replace(aside)
    one.replace(other)
    aside.replace(one)


def _remove_leftovers(path: Path) -> None:
    """Remove what processes that were killed left behind."""
    start = f".{path.name}-writing-"
    for entry in path.parent.glob(f"{start}*"):
        process = entry.name.removeprefix(start).split("-")[0]
        if process.isdigit() and not _runs(int(process)):
            shutil.rmtree(entry, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
