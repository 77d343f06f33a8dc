"""``tablecloak argus``: batch files of tau-ARGUS as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.display import reporting


def argus(
    batch: Annotated[Path, typer.Argument(help="Batch file (.arb).")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder for the tables. Default: the batch's own.", writable=True
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.1, help="Seconds for each SUPPRESS, instead of its minutes."),
    ] = None,
) -> None:
    """Run a batch file of tau-ARGUS: rules, hierarchies, a priori lists, tables.

    Prints what every line did. A line that cannot be applied is an error, and no file is written;
    if the line cannot affect what is safe, it is marked "not applied" instead. Files that the batch
    names are looked for in its folder, in capital or small letters, also compressed.

    Tables with statuses, or with true values of hidden cells, are written to the folder "internal"
    there, or beside the others if the batch names them with a folder.

    Exit code 0: everything in the batch was applied and every table is proved safe; 1: a table is
    not proved safe, or a file would have shown what must be protected, and no file for the public
    is written; or all files are written, but the log has lines with "not reached": cells without
    their full levels because of what everybody knows by GH, or single contributors against whom not
    all is proved. The last line says which. 2: the batch stopped at an error, and nothing is
    written; 3: all files are written and every table is proved safe, but the log has lines with
    "not applied".

    Example: tablecloak argus job.arb --out results/
    """
    from tablecloak.argus import run_batch
    from tablecloak.errors import TablecloakError

    try:
        with reporting() as reporter:
            result = run_batch(
                batch, out, time_limit=time_limit, progress=reporter, on_line=typer.echo
            )
    except TablecloakError as error:
        if "Nothing was written" in str(error):
            raise
        raise type(error)(f"{error} Nothing was written.", cells=error.cells) from error
    typer.echo("Written:")
    for path in (*result.files, *result.beside):
        typer.echo(f"    {path}")
    for line in (*result.not_applied, *result.not_reached):
        typer.echo(line, err=True)
    if result.exit_code:
        typer.echo(f"Exit code {result.exit_code}: {result.ending}.", err=True)
        raise typer.Exit(result.exit_code)
