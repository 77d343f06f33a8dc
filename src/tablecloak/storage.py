"""Writing files so that nothing is lost and nothing secret is left readable."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tablecloak.errors import InputError

__all__ = ["replacing", "write_text"]

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
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str, *, secret: bool = False) -> None:
    """Write a text file through `replacing`."""
    with replacing(path, secret=secret) as temporary:
        temporary.write_text(text, encoding="utf-8")
