"""``tablecloak reconcile``: a table that does not add up, made additive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.display import reporting
from tablecloak.cli.files import require_writable_result, write_result
from tablecloak.cli.names import FRAME_FILES, NEARNESS
from tablecloak.cli.options import By, Output, TimeLimit, dimensions_of, reading_data


@reading_data
def reconcile(
    file: Annotated[
        Path, typer.Argument(help=f"Table, totals included: {FRAME_FILES.placeholder}.")
    ],
    output: Output,
    by: By,
    value: Annotated[str, typer.Option(help="Column with the values.")] = "value",
    distance: Annotated[str, NEARNESS.option("--distance", text="What is minimised.")] = "L2",
    variance: Annotated[
        str | None, typer.Option(help="Column with the variance of the noise of each cell.")
    ] = None,
    least: Annotated[
        float | None, typer.Option("--lower", help="Lower bound of all values, such as 0.")
    ] = None,
    lower: Annotated[
        str | None, typer.Option("--lower-column", help="Column with lower bounds.")
    ] = None,
    upper: Annotated[
        str | None, typer.Option("--upper-column", help="Column with upper bounds.")
    ] = None,
    fixed: Annotated[
        str | None,
        typer.Option(help="Column of true and false: true for cells that must not change."),
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Make all values whole numbers.")] = False,
    time_limit: TimeLimit = 60.0,
) -> None:
    """Make a table additive with least change, with a proved bound.

    For tables with noise: from a privacy mechanism, cell keys, seasonal adjustment or weights.
    Writes the codes and the values.

    Example: tablecloak reconcile noisy.csv -o additive.csv --by region=region.hrc --by sex
    --value count --lower 0 --whole
    """
    from tablecloak.errors import InputError
    from tablecloak.reconciliation import reconcile as reconciled
    from tablecloak.tables.formats import read_frame
    from tablecloak.tables.tabulation.records import lines_named

    require_writable_result(output)
    if least is not None and lower is not None:
        raise InputError("Give --lower or --lower-column, not both.")
    dimensions = dimensions_of(by)
    with reporting() as reporter, lines_named(file):
        result = reconciled(
            read_frame(file, tuple(dimensions)),
            dimensions,
            value,
            distance=distance,
            variance=variance,
            lower=least if least is not None else lower,
            upper=upper,
            fixed=fixed,
            whole=whole,
            time_limit=time_limit,
            progress=reporter,
        )
    write_result(result, result.release(), output, None)
    typer.echo(result.summary())
