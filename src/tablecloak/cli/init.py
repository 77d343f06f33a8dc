"""``tablecloak init``: a first job file for a file of records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from tablecloak.cli.names import RECORD_FILES
from tablecloak.cli.options import reading_data
from tablecloak.errors import InputError

if TYPE_CHECKING:
    from tablecloak.data_file import DataFile


@reading_data
def init(
    file: Annotated[
        Path, typer.Argument(help=f"Records, one in each row: {RECORD_FILES.placeholder}.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Job file to write.", writable=True)
    ] = Path("job.toml"),
) -> None:
    """Look at the columns of a file of records, and write a first job file with comments.

    Dimensions, levels, value, contributor, decimal sign and encoding are guessed from the first
    100,000 records: look at each line, then run `tablecloak protect`.

    Example: tablecloak init firms.csv
    """
    from tablecloak.jobs.beginning import NUMBERS_BUT, guess
    from tablecloak.storage import write_text

    if output.exists():
        raise InputError(f"{output}: exists already. Move it away, or name another --output.")
    proposal = guess(cast("DataFile", file))
    write_text(output, proposal.job(output.parent))
    dimensions = ", ".join(name for name in proposal.dimensions if name != proposal.year)
    apart = f", each {proposal.year} apart" * bool(proposal.year)
    typer.echo(
        f"{output}: by {dimensions}{apart}. Look at it, then run: tablecloak protect {output}"
    )
    for name, why in proposal.others.items():
        if why.startswith(NUMBERS_BUT):
            typer.echo(f"note: {name!r}: {why}.", err=True)
