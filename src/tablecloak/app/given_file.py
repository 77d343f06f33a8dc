"""The file that a user uploads or names, or an example."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tablecloak.app.kinds import KINDS, FileKind, endings
from tablecloak.errors import InputError
from tablecloak.examples import firms
from tablecloak.examples.files import write_sheet
from tablecloak.storage import existing_file

LONGEST_NAME = 80
"""Most characters of an upload's name that are kept, without its ending."""


def given_file(folder: Path, kind: FileKind = KINDS[0]) -> Path:
    """Return the file that a user uploaded or named, or write the example and return it.

    Parameters
    ----------
    folder : Path
        Private folder for uploads.
    kind : FileKind, optional
        What the file holds, by default records; its name must have a fitting ending.

    Raises
    ------
    InputError
        If no file is given, or it cannot be used.
    """
    from flask import request
    from werkzeug.utils import secure_filename

    uploaded, typed = request.files.get("upload"), request.form.get("path", "").strip()
    if request.form.get("example"):
        return _example(folder, kind)
    if uploaded is not None and uploaded.filename:
        name = secure_filename(uploaded.filename)
        ending = _ending(name, kind)
        path = _own_place(folder) / f"{name.removesuffix(ending)[:LONGEST_NAME] or 'data'}{ending}"
        uploaded.save(path)
        return path
    if typed:
        return _typed_file(typed, kind)
    raise InputError("Choose a file, or type the path of one.")


def _example(folder: Path, kind: FileKind) -> Path:
    """Write the example of a kind of file."""
    if kind.name == "table":
        path = _own_place(folder) / "table.xlsx"
        write_sheet(path)
        return path
    path = _own_place(folder) / "firms.csv"
    firms().to_csv(path, index=False)
    return path


def _own_place(folder: Path) -> Path:
    """Return a new folder for one file, so that files of the same name stay apart."""
    uploads = folder / "uploads"
    uploads.mkdir(mode=0o700, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=uploads))


def _typed_file(typed: str, kind: FileKind) -> Path:
    try:
        path = Path(typed).expanduser()
        if path.exists() and not path.is_file():
            # Reading a device or a pipe may never end.
            raise InputError(f"{path}: this is no file. Give the path of a CSV or Parquet file.")
        _ending(path.name, kind)
        return existing_file(path)
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{typed!r} cannot be read ({error}). Check the path.") from None


def _ending(name: str, kind: FileKind) -> str:
    """Return the ending of a file's name; a file without one is read as CSV."""
    known = endings(kind)
    found = next((ending for ending in known if name.lower().endswith(ending)), "")
    if not found and "." in name.strip("."):
        raise InputError(
            f"{name}: unknown kind of file. Choose a file whose name ends in one of "
            f"{', '.join(known)}, or say on the first page that it holds something else."
        )
    return name[len(name) - len(found) :] if found else ".csv"
