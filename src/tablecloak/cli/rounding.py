"""``tablecloak round``: multiples of a base that stay additive."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tablecloak.cli.display import NOT_SAFE, reporting
from tablecloak.cli.options import (
    Certificate,
    Output,
    ProblemFile,
    Solver,
    Threads,
    TimeLimit,
)
from tablecloak.cli.results import require_writable_result, write_result
from tablecloak.cli.ways import register_by_hand

SmallCounts = Annotated[
    bool,
    typer.Option("--small-counts", help="Round counts below the base only, to 0 or to the base."),
]


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    register_by_hand(app, "round", "rounding", round_)


def round_(
    file: ProblemFile,
    output: Output,
    small_counts: SmallCounts = False,
    time_limit: TimeLimit = 60.0,
    threads: Threads = None,
    solver: Solver = None,
    certificate: Certificate = None,
    **asked: Any,
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
        limits: Any = {"time_limit": time_limit, "progress": reporter}
        if small_counts:
            del asked["max_steps"]
            rounded: Any = small_count_rounding(problem, threads=threads, **asked, **limits)
        else:
            rounded = controlled_rounding(problem, **asked, **limits)
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
