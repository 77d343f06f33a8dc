"""Files of one run of a command: none is an input and an output, and none is two outputs.

Only commands begin a run. In a program, reading a file and then writing it anew is no mistake.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from tablecloak.errors import InputError

Identity = str | tuple[int, int]


class RunFiles:
    """What is read and written in one run, by what the files are and not by their names."""

    def __init__(self) -> None:
        self.inputs: dict[Identity, Path] = {}
        self.outputs: dict[Identity, Path] = {}

    def read(self, path: Path) -> None:
        """Note an input."""
        identities = _identities(path)
        for output in map(self.outputs.get, identities):
            if output is not None:
                raise _both(path, output)
        self.inputs |= dict.fromkeys(identities, path)

    def promise(self, path: Path) -> None:
        """Note an output before anything is done."""
        identities = _identities(path)
        for other in map(self.outputs.get, identities):
            if other is not None:
                raise InputError(
                    f"{path}: is given for two outputs. Choose another name for one of them."
                )
        self.outputs |= dict.fromkeys(identities, path)

    def write(self, path: Path) -> None:
        """Look at an output before it takes the place of what lies there."""
        for file in map(self.inputs.get, _identities(path)):
            if file is not None:
                raise _both(file, path)


_RUN: ContextVar[RunFiles | None] = ContextVar("roles", default=None)
"""Files of the run that this thread works for; None outside of all."""


@contextmanager
def run_with(inputs: Iterable[str | Path], outputs: Iterable[str | Path]) -> Iterator[None]:
    """Begin a run with the files and folders that a command was given.

    Parameters
    ----------
    inputs, outputs : iterable of str or Path

    Raises
    ------
    InputError
        If one of them is both, or two outputs are one file; here, and where a file is read or
        written that another one names.
    """
    roles = RunFiles()
    for path in outputs:
        roles.promise(Path(path))
    for path in inputs:
        roles.read(Path(path))
    token = _RUN.set(roles)
    try:
        yield
    finally:
        _RUN.reset(token)


def as_input(path: Path) -> Path:
    """Return a file that is about to be read.

    Raises
    ------
    InputError
        If the run is to write it.
    """
    roles = _RUN.get()
    if roles is not None:
        roles.read(path)
    return path


def as_output(path: Path) -> Path:
    """Return a file or folder that is about to be written.

    Raises
    ------
    InputError
        If the run has read it.
    """
    roles = _RUN.get()
    if roles is not None:
        roles.write(path)
    return path


def require_no_input_in(folder: Path) -> None:
    """Refuse a folder of results that holds what the run has read.

    Raises
    ------
    InputError
        Names the input and the remedy.
    """
    roles = _RUN.get()
    if roles is None or not folder.is_dir():
        return
    whole = folder.resolve()
    for path in roles.inputs.values():
        if whole in path.resolve().parents:
            raise InputError(
                f"{folder}: this folder holds the input {path}. Give a folder of its own for what "
                f"is written, such as {folder / 'results'}."
            )


def _identities(path: Path) -> list[Identity]:
    """What tells a file from others: its place without links, and its number on the disk."""
    try:
        found: list[Identity] = [os.path.normcase(os.path.realpath(path))]
        state = path.stat()
    except (OSError, ValueError):
        # What is not there, or is no path, is refused by those who open it.
        return [os.path.normcase(os.path.abspath(path))] if "\0" not in str(path) else []  # noqa: PTH100
    return [*found, (state.st_dev, state.st_ino)]


def _both(file: Path, output: Path) -> InputError:
    named = f"{output}" if str(file) == str(output) else f"{output} (the input {file})"
    return InputError(
        f"{named}: would be written over although it is read. Choose another name for the output."
    )
