"""``tablecloak suppress``: which cells to leave out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.display import reporting
from tablecloak.cli.names import LiveCommand
from tablecloak.cli.options import (
    Certificate,
    Hold,
    Insiders,
    Method,
    Output,
    ProblemFile,
    Require,
    Seed,
    Solver,
    Threads,
    TimeLimit,
    Tolerance,
    Weights,
)
from tablecloak.cli.originals import read_original
from tablecloak.cli.published import Between, Earlier, read_earlier
from tablecloak.cli.results import require_writable_result, write_result

Previous = Annotated[
    Path | None,
    typer.Option(
        help="File with codes and status: last period's pattern, whose cells become cheaper. A "
        "wish for stability; releases of the same values are given by --published."
    ),
]
Groups = Annotated[
    bool, typer.Option(help="Protect sums of hidden cells by the rules of a job as well.")
]
Unfreeze = Annotated[
    bool,
    typer.Option(
        "--unfreeze",
        help="Suppress the fewest frozen cells where sensitive ones cannot be protected else.",
    ),
]
Discount = Annotated[
    float, typer.Option(min=0, max=1, help="Share by which cells of --previous become cheaper.")
]


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(cls=LiveCommand)(suppress)


def suppress(
    file: ProblemFile,
    output: Output,
    weights: Weights = "file",
    method: Method = "auto",
    require: Require = "two-sided",
    protect_against: Insiders = None,
    hold: Hold = "strict",
    groups: Groups = False,
    unfreeze: Unfreeze = False,
    published: Earlier = None,
    between: Between = None,
    previous: Previous = None,
    discount: Discount = 0.5,
    time_limit: TimeLimit = 60.0,
    seed: Seed = 0,
    threads: Threads = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
    certificate: Certificate = None,
) -> None:
    """Find a suppression pattern and prove it.

    Writes `cell,status` (published, primary or secondary) for every cell in file order, and
    prints one line with loss, bound, gap and seconds. The statuses tell which cells are
    sensitive: publish only that a cell is suppressed. Exit code 0 only if the proof was checked.

    With --groups, FILE is a job (.toml): its rules must hold for sums of hidden cells as well.

    With --published the pattern protects together with earlier releases. Sensitive cells that these
    disclose by themselves are named, with the sum from which that follows; the output is secret.

    Example: tablecloak suppress table.jj -o pattern.csv --weights value --time-limit 30

    Example: tablecloak suppress year.csv -o year_pattern.csv --published q1.csv=q1_problem.csv
    """
    from tablecloak.publish.released_cells import read_previous
    from tablecloak.suppression.suppress import suppress as run

    with reporting() as reporter:
        problem, rules = read_original(file, tolerance, groups=groups)
        require_writable_result(output, certificate)
        pattern = run(
            problem,
            method=method,
            require=require,
            weights=weights,
            protect_against=protect_against or (),
            hold=hold,
            groups=rules,
            unfreeze=unfreeze,
            published=read_earlier(problem, published, between),
            previous=None if previous is None else read_previous(problem, previous),
            discount=discount,
            time_limit=time_limit,
            seed=seed,
            threads=threads,
            solver=solver,
            progress=reporter,
        )
        frame = problem.table.keys.assign(status=pattern.statuses()[pattern.given_cells])
        write_result(pattern, frame, output, certificate, secret=True)
    typer.echo(pattern.summary())
    for statement in pattern.insiders.statements() if pattern.insiders else ():
        typer.echo(statement)
    for cell in pattern.before.disclosed if pattern.before else ():
        typer.echo(f"disclosed before: {cell}")
