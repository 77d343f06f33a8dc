"""``tablecloak explain``: why a cell is hidden or changed."""

from __future__ import annotations

from typing import Annotated

import typer

from tablecloak.cli.display import reporting
from tablecloak.cli.files import read_original_as_asked
from tablecloak.cli.options import (
    Intruder,
    Original,
    Release,
    Require,
    Seed,
    Solver,
    Threads,
    TimeLimit,
    Tolerance,
)

Cells = Annotated[
    list[str],
    typer.Argument(
        metavar="CELL...",
        help="Codes in the order of the dimensions, as in 'N, 47', or 'region=N, branch=47'; "
        "repeat for several cells.",
    ),
]
Alternative = Annotated[
    bool, typer.Option(help="Search the cheapest other release, without this cell hidden.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def explain(
    original: Original,
    release: Release,
    cells: Cells,
    require: Require = "two-sided",
    intruder: Intruder = None,
    alternative: Alternative = True,
    json: Json = False,
    time_limit: TimeLimit = 30.0,
    seed: Seed = 0,
    threads: Threads = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
) -> None:
    """Say why a cell of a release is hidden or changed, whoever made the release.

    For a sensitive cell: its rule, its largest contributors, what the best attack can compute, as
    a sum. For a secondary suppression: the sensitive cells that need it, the attack that would
    succeed without it, and what publishing it would cost. For a changed value: what moved it, and
    how far it had to move.

    Insiders (--intruder) are those of a job, if ORIGINAL is one. All output is secret: it names
    hidden values.

    Example: tablecloak explain table.jj pattern.csv 'N, 47'

    Example: tablecloak explain job.toml table.csv 'region=N, branch=47' --json
    """
    from json import dumps

    from tablecloak.explaining.cells import cell_asked
    from tablecloak.publish.explain import explain as run

    with reporting() as reporter:
        problem, rules, insiders = read_original_as_asked(original, tolerance)
        numbers = [cell_asked(problem.table, cell) for cell in cells]
        found = [
            run(
                problem,
                release,
                number,
                require=require,
                intruders=intruder or insiders or None,
                rules=rules,
                alternative=alternative,
                time_limit=time_limit,
                seed=seed,
                threads=threads,
                progress=reporter,
                solver=solver,
            )
            for number in numbers
        ]
    if json:
        typer.echo(dumps([each.to_dict() for each in found], indent=2, allow_nan=False))
    else:
        typer.echo("\n\n".join(each.text() for each in found))
