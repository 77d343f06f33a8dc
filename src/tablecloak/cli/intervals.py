"""``tablecloak intervals``: intervals instead of gaps."""

from __future__ import annotations

from typing import Any

import typer

from tablecloak.cli.display import reporting
from tablecloak.cli.options import (
    Certificate,
    Output,
    ProblemFile,
    SecretSeed,
    Solver,
    TimeLimit,
    Tolerance,
)
from tablecloak.cli.results import require_writable_result, write_result
from tablecloak.cli.ways import register_by_hand


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    register_by_hand(app, "intervals", "intervals", intervals)


def intervals(
    file: ProblemFile,
    output: Output,
    time_limit: TimeLimit = 60.0,
    seed: SecretSeed = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
    certificate: Certificate = None,
    **asked: Any,
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
            **asked,
            time_limit=time_limit,
            seed=seed,
            solver=solver,
            progress=reporter,
        )
        write_result(published, published.release(), output, certificate)
    typer.echo(published.summary())
