"""``tablecloak intervals``: intervals instead of gaps."""

from __future__ import annotations

import typer

from tablecloak.cli.display import reporting
from tablecloak.cli.names import LiveCommand
from tablecloak.cli.options import (
    Blur,
    Certificate,
    Output,
    ProblemFile,
    Require,
    SecretSeed,
    Solver,
    TimeLimit,
    Tolerance,
    Weights,
)
from tablecloak.cli.results import require_writable_result, write_result


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(cls=LiveCommand)(intervals)


def intervals(
    file: ProblemFile,
    output: Output,
    weights: Weights = "relative",
    require: Require = "two-sided",
    blur: Blur = 1.0,
    time_limit: TimeLimit = 60.0,
    seed: SecretSeed = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
    certificate: Certificate = None,
) -> None:
    """Publish intervals instead of gaps (partial suppression), and prove them.

    Writes the codes with `lower` and `upper` for every cell, equal where the value itself is
    published; this file may be published. Prints one line with loss, bound, gap and seconds.

    Example: tablecloak intervals table.jj -o intervals.csv --time-limit 30
    """
    from tablecloak.suppression.intervals.intervals import publish_intervals
    from tablecloak.tables.formats import read_problem

    with reporting() as reporter:
        problem = read_problem(file, tolerance=tolerance)
        require_writable_result(output, certificate)
        published = publish_intervals(
            problem,
            require=require,
            weights=weights,
            blur=blur,
            time_limit=time_limit,
            seed=seed,
            solver=solver,
            progress=reporter,
        )
        write_result(published, published.release(), output, certificate)
    typer.echo(published.summary())
