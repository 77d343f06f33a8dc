"""``tablecloak adjust``: other values for sensitive cells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.display import reporting
from tablecloak.cli.options import (
    Certificate,
    Output,
    ProblemFile,
    Solver,
    Threads,
    TimeLimit,
    Tolerance,
)
from tablecloak.cli.results import require_writable_result, write_result
from tablecloak.cli.ways import register_by_hand

if TYPE_CHECKING:
    from tablecloak.cta.result.adjustment import Adjustment

SameDigits = Annotated[
    bool,
    typer.Option(
        "--same-digits",
        help="Round to the digits of the true values, within relations and levels, so that "
        "digits do not show which cells were changed. The loss grows a little.",
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
    without = ("cost", "capacity", "capacity_percent", "measurement_error")
    register_by_hand(app, "adjust", "adjustment", adjust, without=without)


def adjust(
    file: ProblemFile,
    output: Output,
    same_digits: SameDigits = False,
    time_limit: TimeLimit = 60.0,
    seed: SecretSeed = None,
    threads: Threads = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
    certificate: Certificate = None,
    **asked: Any,
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
            **asked,
            seed=seed,
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
    if (asked["repair"] or "recovery" in asked) and adjusted.notes:
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
