"""``tablecloak round``: multiples of a base that stay additive."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from tablecloak.cli.display import NOT_SAFE, reporting
from tablecloak.cli.names import LiveCommand
from tablecloak.cli.options import (
    Certificate,
    Output,
    ProblemFile,
    Solver,
    Threads,
    TimeLimit,
    Weights,
)
from tablecloak.cli.results import require_writable_result, write_result

Base = Annotated[int, typer.Option(min=2, help="Values become multiples of it.")]
MaxSteps = Annotated[
    int,
    typer.Option(
        min=1, help="Most steps of the base by which a value may move if one step is not enough."
    ),
]
SmallCounts = Annotated[
    bool,
    typer.Option("--small-counts", help="Round counts below the base only, to 0 or to the base."),
]


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(name="round", cls=LiveCommand)(round_)


def round_(
    file: ProblemFile,
    output: Output,
    base: Base = 5,
    max_steps: MaxSteps = 3,
    small_counts: SmallCounts = False,
    weights: Weights = "unit",
    time_limit: TimeLimit = 60.0,
    threads: Threads = None,
    solver: Solver = None,
    certificate: Certificate = None,
) -> None:
    """Round a table of counts so that it stays additive (controlled rounding), and audit it.

    Writes the codes and `value` for every cell; this file may be published. Prints one
    line with loss, bound, gap and seconds, and one that says how many sensitive cells can be
    computed more precisely than their levels allow. If there are any, nothing is written and the
    exit code is 1. Rounding does not take levels into account, so choose a larger base.

    With --small-counts, the audit checks that no small count can be told from another.

    Example: tablecloak round counts.jj -o rounded.csv --base 5
    """
    from tablecloak.cta.rounding.controlled import controlled_rounding
    from tablecloak.cta.rounding.small_counts import small_count_rounding
    from tablecloak.publish.audit import audit
    from tablecloak.solve.solver import using_solver
    from tablecloak.tables.formats import read_problem

    with using_solver(solver), reporting() as reporter:
        problem = read_problem(file)
        require_writable_result(output, certificate)
        if small_counts:
            rounding: Any = partial(small_count_rounding, threads=threads)
        else:
            rounding = partial(controlled_rounding, max_steps=max_steps)
        limits: Any = {"time_limit": time_limit, "progress": reporter}
        rounded = rounding(problem, base=base, weights=weights, **limits)
        audited = audit(rounded.problem, rounded, threads=threads, **limits)
        if audited.is_safe:
            frame = rounded.release().rename(columns={problem.table.name: "value"})
            write_result(rounded, frame, output, certificate)
    typer.echo(rounded.summary())
    for note in rounded.notes:
        typer.echo(f"note: {note}")
    typer.echo(audited.summary())
    if not audited.is_safe:
        typer.echo("Nothing was written. Take a larger --base.", err=True)
        raise typer.Exit(NOT_SAFE)
