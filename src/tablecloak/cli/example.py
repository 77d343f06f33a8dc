"""``tablecloak example``: files to try the other commands on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli import names


def example(
    name: Annotated[str, names.EXAMPLES.argument("Which files to write.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder to write to.", writable=True)
    ] = Path(),
) -> None:
    """Write small files of invented data, to try the other commands on.

    A file that exists already is never overwritten by another.

    Example: tablecloak example firms
    """
    from tablecloak.examples import write

    for path in write(name, out):
        typer.echo(path)
