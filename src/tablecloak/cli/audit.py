"""``tablecloak audit``: attack anybody's release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.display import NOT_SAFE, errors_as_messages, reporting
from tablecloak.cli.problem import RequireName

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(audit)


def audit(
    original: Annotated[
        Path, typer.Argument(help="The true problem: a JJ file, or CSV / Parquet.")
    ],
    release: Annotated[
        Path, typer.Argument(help="CSV with cell (or codes) and status, or value if adjusted.")
    ],
    require: Annotated[
        RequireName, typer.Option(help="What counts as protected.")
    ] = RequireName.TWO_SIDED,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Compute the exact interval of each cell.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all sensitive cells, worst first.")
    ] = None,
    show: Annotated[int, typer.Option(min=0, help="How many cells to print, worst first.")] = 10,
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="Accepted error of a relation, if rounded.")
    ] = 0.0,
) -> None:
    """Attack a release as an external intruder would, whoever made it.

    The intruder knows all that is published, all relations and the external bounds. What is
    printed and written is secret: it names sensitive cells with their true values.

    Exit code 0: all sensitive cells are protected; 1: some are not; 2: wrong input.

    Example: tablecloak audit table.jj pattern.csv --intervals -o intervals.csv
    """
    from tablecloak.release import audit as run
    from tablecloak.tables.formats import read_problem, write_frame

    with errors_as_messages(), reporting():
        problem = read_problem(original, tolerance=tolerance)
        found = run(
            problem,
            release,
            require=require.value,
            detail="intervals" if intervals else "verdict",
        )
        frame = found.to_frame()
        if output is not None:
            write_frame(frame, output, secret=True)
    typer.echo(found.summary())
    if show and not found.is_safe:
        typer.echo(frame.head(show).to_string(index=False))
    if not found.is_safe:
        raise typer.Exit(NOT_SAFE)
