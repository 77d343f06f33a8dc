"""``tablecloak convert``: between file formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli import names
from tablecloak.cli.names import LiveCommand
from tablecloak.cli.options import Tolerance

__all__ = ["register"]


Source = Annotated[Path, names.PROBLEM_FILES.argument("File to read, also packed:")]
Target = Annotated[Path, names.PROBLEM_FILES.argument("File to write, in the format of its name:")]


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(cls=LiveCommand)(convert)


def convert(source: Source, target: Target, tolerance: Tolerance = 0.0) -> None:
    """Convert a protection problem from one file format to another, without loss.

    In CSV and Parquet a problem is two files: the cells, and beside them NAME.relations.csv.

    Example: tablecloak convert table.jj table.csv
    """
    from tablecloak.tables.formats import read_problem, write_problem

    problem = read_problem(source, tolerance=tolerance)
    write_problem(problem, target)
    typer.echo(f"{target}: {problem.summary()}")
