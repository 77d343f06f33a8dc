"""``tablecloak adjust``: other values for sensitive cells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.display import reporting
from tablecloak.cli.names import LiveCommand
from tablecloak.cli.options import (
    Certificate,
    Distance,
    Output,
    Preserve,
    ProblemFile,
    Solver,
    Threads,
    TimeLimit,
    Tolerance,
    Weights,
)
from tablecloak.cli.results import require_writable_result, write_result

if TYPE_CHECKING:
    from tablecloak.cta.result.adjustment import Adjustment

SensitiveLimit = Annotated[
    float | None,
    typer.Option(help="Largest change of a sensitive cell, as a multiple of its level."),
]
Repair = Annotated[
    bool, typer.Option("--repair", help="If no adjustment exists, lower as few levels as possible.")
]
Integer = Annotated[
    bool | None,
    typer.Option(
        "--integer/--no-integer", help="Adjust to whole numbers. Default: if all values are whole."
    ),
]
SameDigits = Annotated[
    bool,
    typer.Option(
        "--same-digits",
        help="Round to the digits of the true values, within relations and levels, so that "
        "digits do not show which cells were changed. The loss grows a little.",
    ),
]
Recovery = Annotated[
    float | None,
    typer.Option(
        help="Leave distances to chance, so that who knows the method and the levels guesses at "
        "most this share of the sensitive cells, such as 0.1. The loss grows as its inverse."
    ),
]
SecretSeed = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Seed of the distances of --recovery; whoever knows it can compute the truth. "
        "Default: taken from the machine, and known to nobody.",
    ),
]

MARKED = (
    "note: changed values have more digits than the true ones, which tells readers which cells "
    "were changed. Do not publish this file; make another with --same-digits."
)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(cls=LiveCommand)(adjust)


def adjust(
    file: ProblemFile,
    output: Output,
    weights: Weights = "relative",
    preserve: Preserve = None,
    distance: Distance = "L1",
    sensitive_limit: SensitiveLimit = None,
    repair: Repair = False,
    recovery: Recovery = None,
    integer: Integer = None,
    same_digits: SameDigits = False,
    time_limit: TimeLimit = 60.0,
    seed: SecretSeed = None,
    threads: Threads = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
    certificate: Certificate = None,
) -> None:
    """Move sensitive cells to safe values and the rest as little as possible.

    Writes the codes and `value` for every cell, and prints one line with loss, bound, gap and
    seconds. Exit code 0 only if table, levels and bound were checked. To publish the file, take
    --same-digits: without it changed values can have more digits than the true ones, and a note
    says so.

    Example: tablecloak adjust table.jj -o adjusted.csv --preserve regression --preserve mean:all
    """
    from tablecloak.cta.adjust import adjust as run
    from tablecloak.cta.result.decimals import in_decimals
    from tablecloak.solve.solver import using_solver
    from tablecloak.tables.formats import read_problem

    with using_solver(solver), reporting() as reporter:
        problem = read_problem(file, tolerance=tolerance)
        require_writable_result(output, certificate)
        adjusted = run(
            problem,
            weights=weights,
            preserve=preserve or (),
            distance=distance,
            sensitive_limit=sensitive_limit,
            repair=repair,
            recovery=recovery,
            seed=seed,
            integer=integer,
            time_limit=time_limit,
            threads=threads,
            progress=reporter,
        )
        if same_digits:
            adjusted = in_decimals(adjusted, time_limit=time_limit)
        is_marked = _write(adjusted, output, certificate)
    typer.echo(adjusted.summary())
    if is_marked:
        typer.echo(MARKED)
    if (repair or recovery is not None) and adjusted.notes:
        typer.echo(f"note: {adjusted.notes[-1]}")


def _write(adjusted: Adjustment, output: Path, certificate: Path | None) -> bool:
    """Write table and proofs; return whether digits tell which cells were changed."""
    from tablecloak.cta.result.decimals import marks_changes

    table, is_marked = adjusted.problem.table, marks_changes(adjusted)
    if is_marked:
        frame = table.keys.assign(value=adjusted.values)
    else:
        frame = adjusted.release().rename(columns={table.name: "value"})
    write_result(adjusted, frame, output, certificate, secret=is_marked)
    return is_marked
