"""Errors as JSON: kind, message, place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from tablecloak.errors import (
    InputError,
    ModelError,
    SolverError,
    TablecloakError,
    VerificationError,
    where_raised,
)

Kind = Literal[
    "input", "impossible", "solver", "verification", "internal", "token", "host", "origin",
    "address", "method", "type", "size", "busy", "request",
]  # fmt: skip

KINDS: dict[type[TablecloakError], Kind] = {
    ModelError: "impossible",
    SolverError: "solver",
    VerificationError: "verification",
    InputError: "input",
}
"""The kind of each error of the package."""


class Fault(BaseModel):
    """What went wrong, where, and what to do."""

    kind: Annotated[Kind, Field(description="`impossible`: no release can meet what is asked.")]
    message: Annotated[
        str, Field(description="What was found, where, what was expected, what to do.")
    ]
    place: Annotated[
        str, Field(description="Key of the request, such as `data.value`, where known.")
    ] = ""


def told_of(error: Exception, folder: Path) -> str:
    """Return what an error says to who sent a request.

    Files have their names in the request. Tables are sent as columns, so that rows are counted and
    not the lines of a file.
    """
    text = str(error)
    if isinstance(error, InputError) and error.source is not None and error.row is not None:
        text = f"{error.source}, row {error.row + 1}: {error.what}"
    return text.replace(f"{folder}{os.sep}", "")


def fault_of(error: Exception, folder: Path) -> Fault:
    """Return what the asker is told of an error.

    Parameters
    ----------
    error : Exception
        The message of an internal error may hold values of any request; it is left out.
    folder : Path
        Of the request; messages name its files without it.
    """
    if isinstance(error, TablecloakError):
        kind: Kind = next(
            (kind for base, kind in KINDS.items() if isinstance(error, base)), "input"
        )
        message = told_of(error, folder).replace(str(folder), "files")
        return Fault(kind=kind, message=message, place=getattr(error, "place", ""))
    if isinstance(error, MemoryError):
        return Fault(kind="input", message="Not enough memory for this. Send a smaller problem.")
    return Fault(
        kind="internal",
        message=f"Internal error: {type(error).__name__}{where_raised(error)}. This is a fault of "
        f"tablecloak: please report it, without data.",
    )
