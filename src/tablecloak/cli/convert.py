"""``tablecloak convert``: between file formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.display import errors_as_messages

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(convert)


def convert(
    source: Annotated[Path, typer.Argument(help="File to read: .jj, .csv or .parquet, also .gz.")],
    target: Annotated[Path, typer.Argument(help="File to write, in the format of its name.")],
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="Accepted error of a relation, if rounded.")
    ] = 0.0,
) -> None:
    """Convert a protection problem between JJ, CSV and Parquet, without loss.

    CSV and Parquet come as two files: the cells, and beside them NAME.relations.csv.

    Example: tablecloak convert table.jj table.csv
    """
    from tablecloak.tables.formats import read_problem, write_problem

    with errors_as_messages():
        problem = read_problem(source, tolerance=tolerance)
        write_problem(problem, target)
    typer.echo(f"{target}: {problem.summary()}")
