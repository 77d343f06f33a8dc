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

__all__ = ["existing_file", "replacing", "replacing_folder", "require_writable", "write_text"]

SECRET_MODE = 0o600
PUBLIC_MODE = 0o644


def existing_file(path: str | Path) -> Path:
    """Return the path of a file that must exist.

    Raises
    ------
    InputError
        If the file does not exist, is a folder, or cannot be read.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"{path}: this is a folder. Give the name of a file in it.")
        if path.exists():
            return path
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r}: cannot be read ({error}). Check the path.") from None
    raise InputError(f"{path}: this file does not exist. Check the path.")


def require_writable(*paths: str | Path | None) -> None:
    """Refuse names under which no file can be written, before work that may take long.

    Parameters
    ----------
    *paths : str, Path or None
        None is skipped.

    Raises
    ------
    InputError
        If a name is that of a folder, leads through a file, or is given twice.
    """
    named = [Path(name) for name in paths if name is not None]
    for number, path in enumerate(named):
        if path.absolute() in [other.absolute() for other in named[:number]]:
            raise InputError(f"{path}: is given for two outputs. Choose another name for one.")
        above = next((folder for folder in path.absolute().parents if folder.exists()), path)
        if path.is_dir() or not above.is_dir():
            what = "is a folder" if path.is_dir() else f"leads through the file {above}"
            raise InputError(f"{path}: {what}. Choose another name for what is written.")


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
    """Write a text file through `replacing`: UTF-8 and the same line ends on all systems."""
    with replacing(path, secret=secret) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


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
    """Exchange two folders, in one step where the system can."""
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
    """Whether a process exists; assumed true on systems where this cannot be asked."""
    if sys.platform == "win32":
        # On Windows signal 0 does not ask whether a process exists: it is Ctrl-C.
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
