"""``tablecloak suppress``: which cells to leave out."""

from __future__ import annotations

from typing import Any

import typer

from tablecloak.cli.display import reporting
from tablecloak.cli.options import (
    Certificate,
    Output,
    ProblemFile,
    Seed,
    Solver,
    Threads,
    TimeLimit,
    Tolerance,
)
from tablecloak.cli.originals import read_original
from tablecloak.cli.published import Between, Earlier, read_earlier
from tablecloak.cli.results import require_writable_result, write_result
from tablecloak.cli.ways import register_by_hand


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    register_by_hand(
        app,
        "suppress",
        "suppression",
        suppress,
        without=("cost",),
        defaults={"weights": "file", "hold": "strict"},
        texts={"hold": "Whether protection against insiders is required."},
    )


def suppress(
    file: ProblemFile,
    output: Output,
    published: Earlier = None,
    between: Between = None,
    time_limit: TimeLimit = 60.0,
    seed: Seed = 0,
    threads: Threads = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
    certificate: Certificate = None,
    **asked: Any,
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
    from tablecloak.publish.earlier import read_previous
    from tablecloak.suppression.suppress import suppress as run

    previous = asked.pop("previous", None)
    with reporting() as reporter:
        problem, rules = read_original(file, tolerance, groups=asked.pop("groups"))
        require_writable_result(output, certificate)
        pattern = run(
            problem,
            **asked,
            groups=rules,
            published=read_earlier(problem, published, between),
            previous=None if previous is None else read_previous(problem, previous),
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
