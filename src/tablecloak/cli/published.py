"""Options for earlier releases, which several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.errors import InputError

if TYPE_CHECKING:
    from tablecloak.tables.changes.earlier_releases import Published
    from tablecloak.tables.problem import ProtectionProblem

Earlier = Annotated[
    list[str] | None,
    typer.Option(
        "--published",
        help="Earlier release that everybody has: its file, or FILE=PROBLEM with the true table of "
        "that time, if cells or hidden values were others. Repeat for several.",
    ),
]
Between = Annotated[
    list[str] | None,
    typer.Option(
        "--between",
        help="Equation between releases, such as 'now = q1 + q2', where now is the new one and the "
        "others have the names of their files. Repeat.",
    ),
]


def read_earlier(
    problem: ProtectionProblem, given: Sequence[str] | None, between: Sequence[str] | None
) -> Published | tuple[()]:
    """Read the releases of ``--published``, and the equations of ``--between``.

    Raises
    ------
    InputError
        If two files have one name, or a file cannot be read.
    """
    from tablecloak.publish.released_cells import read_published
    from tablecloak.tables.changes.earlier_releases import EarlierRelease, Published
    from tablecloak.tables.formats import read_problem

    if not given:
        if between:
            raise InputError("--between needs the releases of --published. Add them.")
        return ()
    releases: dict[str, EarlierRelease] = {}
    for each in given:
        file, _, truth = each.partition("=")
        name = Path(file).stem
        if name in releases:
            raise InputError(
                f"--published {each}: there is a release {name!r} already. Rename the file."
            )
        if truth:
            releases[name] = read_published(file, read_problem(truth))
        else:
            releases[name] = read_published(file, problem, revised=True)
    return Published(releases, tuple(between or ()))
