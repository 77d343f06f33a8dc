"""``tablecloak suppress`` and ``tablecloak adjust``: one problem file in, one CSV out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.display import errors_as_messages, reporting
from tablecloak.cli.solver_option import CommandWithSolver, SolverName

if TYPE_CHECKING:
    from tablecloak.cta.rounding.controlled import RoundedTable
    from tablecloak.cta.rounding.small_counts import SmallCountTable

__all__ = ["register"]


class Weights(StrEnum):
    """Names of the weight rules, for the command line."""

    VALUE = "value"
    UNIT = "unit"
    LOG = "log"
    RELATIVE = "relative"
    FILE = "file"


class MethodName(StrEnum):
    """Methods of suppression."""

    AUTO = "auto"
    SEQUENTIAL = "sequential"
    EXACT = "exact"


class DistanceName(StrEnum):
    """Distances of an adjustment."""

    L1 = "L1"
    L2 = "L2"
    LINF = "Linf"


class InsiderName(StrEnum):
    """Who may know more than everybody."""

    CONTRIBUTORS = "contributors"
    PAIRS = "pairs"
    ALL_PAIRS = "all-pairs"
    HOLDINGS = "holdings"
    ZEROS = "zeros"
    INTEGERS = "integers"


class RequireName(StrEnum):
    """What counts as protected."""

    TWO_SIDED = "two-sided"
    WIDTH = "width"
    UPPER = "upper"


ProblemFile = Annotated[
    Path, typer.Argument(help="Problem: a JJ file, or CSV / Parquet as written by convert.")
]
Output = Annotated[Path, typer.Option("--output", "-o", help="CSV file to write.")]
TimeLimit = Annotated[
    float,
    typer.Option("--time-limit", min=0.1, help="Seconds for the search; then the best so far."),
]
WeightsHelp = (
    "Cost of a cell: value |a|, unit 1, log log(1+|a|), relative 1/|a|, or as in the file."
)
Tolerance = Annotated[
    float, typer.Option("--tolerance", min=0.0, help="Accepted error of a relation, if rounded.")
]
Certificate = Annotated[
    Path | None,
    typer.Option(help="Write all proofs (.npz, secret); see `tablecloak verify`."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(cls=CommandWithSolver)(suppress)
    app.command(cls=CommandWithSolver)(intervals)
    app.command(cls=CommandWithSolver)(adjust)
    app.command(name="round", cls=CommandWithSolver)(round_)


def suppress(
    file: ProblemFile,
    output: Output,
    weights: Annotated[Weights, typer.Option(help=WeightsHelp)] = Weights.FILE,
    method: Annotated[
        MethodName, typer.Option(help="auto: exact for small tables, else sequential, then exact.")
    ] = MethodName.AUTO,
    require: Annotated[
        RequireName, typer.Option(help="What counts as protected; two-sided is the safe default.")
    ] = RequireName.TWO_SIDED,
    protect_against: Annotated[
        list[InsiderName] | None,
        typer.Option(help="Insider against whom the pattern must hold too; repeat."),
    ] = None,
    previous: Annotated[
        Path | None,
        typer.Option(help="CSV of codes and status: last period's pattern, to be kept if cheap."),
    ] = None,
    discount: Annotated[
        float, typer.Option(min=0, max=1, help="By which share cells of --previous get cheaper.")
    ] = 0.5,
    time_limit: TimeLimit = 60.0,
    seed: Annotated[
        int, typer.Option(min=0, help="For random choices; same seed, same answer.")
    ] = 0,
    threads: Annotated[int, typer.Option(min=1, help="Strategies to try at once.")] = 1,
    tolerance: Tolerance = 0.0,
    solver: SolverName = None,
    certificate: Certificate = None,
) -> None:
    """Find a suppression pattern and prove it.

    Writes `cell,status` (published, primary or secondary) for every cell in file order, and
    prints one line with loss, bound, gap and seconds. The statuses tell which cells are
    sensitive: publish only that a cell is suppressed. Exit code 0 only if the proof was checked.

    Example: tablecloak suppress table.jj -o pattern.csv --weights value --time-limit 30
    """
    from tablecloak.certificates.file import write_certificate
    from tablecloak.publish.previous import read_previous
    from tablecloak.solve.solver import using_solver
    from tablecloak.storage import require_writable
    from tablecloak.suppression.suppress import suppress as run
    from tablecloak.tables.formats import read_problem, write_frame

    with errors_as_messages(), using_solver(solver), reporting() as reporter:
        require_writable(output, certificate)
        problem = read_problem(file, tolerance=tolerance)
        pattern = run(
            problem,
            method=method.value,
            require=require.value,
            weights=weights.value,
            protect_against=[name.value for name in protect_against or []],
            previous=None if previous is None else read_previous(problem, previous),
            discount=discount,
            time_limit=time_limit,
            seed=seed,
            threads=threads,
            progress=reporter,
        )
        frame = problem.table.keys.assign(status=pattern.statuses())
        if certificate is not None:
            write_certificate(pattern, certificate)
        write_frame(frame, output, secret=True)
    typer.echo(pattern.summary())


def intervals(
    file: ProblemFile,
    output: Output,
    weights: Annotated[Weights, typer.Option(help=WeightsHelp)] = Weights.RELATIVE,
    require: Annotated[
        RequireName, typer.Option(help="What counts as protected; two-sided is the safe default.")
    ] = RequireName.TWO_SIDED,
    blur: Annotated[
        float,
        typer.Option(min=0.0, help="Widen each side by a random share of the width, up to this."),
    ] = 1.0,
    time_limit: TimeLimit = 60.0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="For the blur; keep it secret. By default drawn anew.")
    ] = None,
    tolerance: Tolerance = 0.0,
    solver: SolverName = None,
    certificate: Certificate = None,
) -> None:
    """Publish intervals instead of gaps (partial suppression), and prove them.

    Writes the codes with `lower` and `upper` for every cell, equal where the value itself is
    published; this file may be published. Prints one line with loss, bound, gap and seconds.

    Example: tablecloak intervals table.jj -o intervals.csv --time-limit 30
    """
    from tablecloak.certificates.file import write_certificate
    from tablecloak.solve.solver import using_solver
    from tablecloak.storage import require_writable
    from tablecloak.suppression.intervals import publish_intervals
    from tablecloak.tables.formats import read_problem, write_frame

    with errors_as_messages(), using_solver(solver), reporting() as reporter:
        require_writable(output, certificate)
        problem = read_problem(file, tolerance=tolerance)
        found = publish_intervals(
            problem,
            require=require.value,
            weights=weights.value,
            blur=blur,
            time_limit=time_limit,
            seed=seed,
            progress=reporter,
        )
        if certificate is not None:
            write_certificate(found, certificate)
        write_frame(found.release(), output)
    typer.echo(found.summary())


def adjust(
    file: ProblemFile,
    output: Output,
    weights: Annotated[Weights, typer.Option(help=WeightsHelp)] = Weights.RELATIVE,
    preserve: Annotated[
        list[str] | None,
        typer.Option(
            help="Statistic to keep: mean, slope, regression or variance, also as mean:all. Repeat."
        ),
    ] = None,
    distance: Annotated[
        DistanceName, typer.Option(help="Sum of changes, of their squares, or the largest.")
    ] = DistanceName.L1,
    sensitive_limit: Annotated[
        float | None,
        typer.Option(help="Largest change of a sensitive cell, as a multiple of its level."),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Lower the fewest levels if there is no adjustment."),
    ] = False,
    integer: Annotated[
        bool | None,
        typer.Option("--integer/--no-integer", help="Whole numbers; by default if all input is."),
    ] = None,
    same_digits: Annotated[
        bool,
        typer.Option(
            "--same-digits",
            help="Round to the digits of the true values, within relations and levels, so that "
            "digits do not tell which cells were changed. The loss grows a little.",
        ),
    ] = False,
    time_limit: TimeLimit = 60.0,
    seed: Annotated[
        int, typer.Option(min=0, help="Accepted for symmetry; the method is not random.")
    ] = 0,
    tolerance: Tolerance = 0.0,
    solver: SolverName = None,
    certificate: Certificate = None,
) -> None:
    """Move sensitive cells to safe values and the rest as little as possible.

    Writes the codes and `value` for every cell, and prints one line with loss, bound, gap and
    seconds. Exit code 0 only if table, levels and bound were checked. To publish the file, take
    --same-digits: without it changed values can have more digits than the true ones, and a note
    says so.

    Example: tablecloak adjust table.jj -o adjusted.csv --preserve regression --preserve mean:all
    """
    from tablecloak.certificates.file import write_certificate
    from tablecloak.cta.adjust import adjust as run
    from tablecloak.cta.decimals import in_decimals, marks_changes
    from tablecloak.solve.solver import using_solver
    from tablecloak.storage import require_writable
    from tablecloak.tables.formats import read_problem, write_frame

    del seed
    with errors_as_messages(), using_solver(solver), reporting() as reporter:
        require_writable(output, certificate)
        problem = read_problem(file, tolerance=tolerance)
        adjusted = run(
            problem,
            weights=weights.value,
            preserve=preserve or (),
            distance=distance.value,
            sensitive_limit=sensitive_limit,
            repair=repair,
            integer=integer,
            time_limit=time_limit,
            progress=reporter,
        )
        if same_digits:
            adjusted = in_decimals(adjusted, time_limit=time_limit)
        marked = marks_changes(adjusted)
        if marked:
            frame = problem.table.keys.assign(value=adjusted.values)
        else:
            frame = adjusted.release().rename(columns={problem.table.name: "value"})
        if certificate is not None:
            write_certificate(adjusted, certificate)
        write_frame(frame, output, secret=marked)
    typer.echo(adjusted.summary())
    if marked:
        typer.echo(
            "note: changed values have more digits than the true ones, which tells readers which "
            "cells were changed. Do not publish this file; make another with --same-digits."
        )
    if repair and adjusted.notes:
        typer.echo(f"note: {adjusted.notes[-1]}")


def round_(
    file: ProblemFile,
    output: Output,
    base: Annotated[int, typer.Option(min=2, help="Values become multiples of it.")] = 5,
    max_steps: Annotated[
        int,
        typer.Option(min=1, help="Largest number of multiples to move where one is not enough."),
    ] = 3,
    small_counts: Annotated[
        bool,
        typer.Option(
            "--small-counts", help="Round counts below the base only, to 0 or to the base."
        ),
    ] = False,
    weights: Annotated[Weights, typer.Option(help=WeightsHelp)] = Weights.UNIT,
    time_limit: TimeLimit = 60.0,
    solver: SolverName = None,
    certificate: Certificate = None,
) -> None:
    """Round a table of counts so that it stays additive (controlled rounding), and audit it.

    Writes the codes and `value` for every cell; this file may be published. Prints one
    line with loss, bound, gap and seconds, and one that says how many sensitive cells can be
    computed more precisely than their levels allow. If there are any, nothing is written and the
    exit code is 1: rounding does not look at the levels, so take a larger base.

    With --small-counts, what is audited is that no small count can be told from another.

    Example: tablecloak round counts.jj -o rounded.csv --base 5
    """
    from tablecloak.certificates.file import write_certificate
    from tablecloak.cta.rounding.controlled import controlled_rounding
    from tablecloak.cta.rounding.small_counts import small_count_rounding
    from tablecloak.publish.audit import audit
    from tablecloak.solve.solver import using_solver
    from tablecloak.storage import require_writable
    from tablecloak.tables.formats import read_problem, write_frame

    with errors_as_messages(), using_solver(solver), reporting() as reporter:
        require_writable(output, certificate)
        problem = read_problem(file)
        rounded: RoundedTable | SmallCountTable
        if small_counts:
            rounded = small_count_rounding(
                problem,
                base=base,
                weights=weights.value,
                time_limit=time_limit,
                progress=reporter,
            )
        else:
            rounded = controlled_rounding(
                problem,
                base=base,
                max_steps=max_steps,
                weights=weights.value,
                time_limit=time_limit,
                progress=reporter,
            )
        found = audit(rounded.problem, rounded, time_limit=time_limit, progress=reporter)
        if found.is_safe:
            frame = rounded.release().rename(columns={problem.table.name: "value"})
            if certificate is not None:
                write_certificate(rounded, certificate)
            write_frame(frame, output)
    typer.echo(rounded.summary())
    for note in rounded.notes:
        typer.echo(f"note: {note}")
    typer.echo(found.summary())
    if not found.is_safe:
        typer.echo("Nothing was written. Take a larger --base.", err=True)
        raise typer.Exit(1)
