"""``tablecloak compare``: suppression and adjustment of one table side by side."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.display import errors_as_messages

__all__ = ["register"]


class KnowledgeName(StrEnum):
    """What an intruder knows of an adjustment."""

    METHOD = "method"
    LEVELS = "levels"
    DIRECTIONS = "directions"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(compare)


def compare(
    file: Annotated[
        Path, typer.Argument(help="The true problem: a JJ file, CSV / Parquet, or a job (TOML).")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the measures (CSV).")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page with the map; not for publication.")
    ] = None,
    knows: Annotated[
        KnowledgeName, typer.Option(help="What the intruder knows of an adjustment.")
    ] = KnowledgeName.LEVELS,
    risk_limit: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Tolerable share of right guesses.")
    ] = 0.2,
    level: Annotated[
        list[float] | None,
        typer.Option(help="Multiply all protection levels by this; repeat it for a sweep."),
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0.0, help="Seconds for each method.")] = 60.0,
    executor: Annotated[
        str,
        typer.Option(help="Where methods run: serial, threads:2, processes:2, dask, dask:ADDRESS."),
    ] = "serial",
) -> None:
    """Compare suppression, adjustment, and adjustment that keeps statistics.

    Prints what an intruder guesses and what analysts lose, and a verdict.

    Example: tablecloak compare table.jj --report comparison.html

    Example: tablecloak compare job.toml --level 0.5 --level 1 --level 2 --report sweep.html
    """
    from tablecloak.comparison import compare as compare_methods
    from tablecloak.executors import executor_named
    from tablecloak.jobs.load import load_problem, read_job
    from tablecloak.storage import require_writable
    from tablecloak.tables.formats import read_problem, write_frame

    with errors_as_messages():
        require_writable(output, report)
        is_job = file.suffix == ".toml"
        problem = load_problem(read_job(file)) if is_job else read_problem(file)
        found = compare_methods(
            problem,
            level_factors=level or [1.0],
            knows=knows.value,
            risk_limit=risk_limit,
            time_limit=time_limit,
            executor=executor_named(executor),
        )
        if output is not None:
            write_frame(found.table.reset_index(names="release"), output, secret=True)
        if report is not None:
            found.to_html(report)
    typer.echo(found.table.drop(columns="kind").T.to_string(float_format="{:.6g}".format))
    typer.echo(found.verdict())
