"""``tablecloak audit`` and ``verify``: attack anybody's release, check anybody's proof."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli import names
from tablecloak.cli.display import NOT_SAFE, reporting
from tablecloak.cli.files import (
    Between,
    Earlier,
    insiders_of_job,
    read_earlier,
    read_original,
    read_with_group_rules,
    require_writable_result,
)
from tablecloak.cli.options import (
    Intruder,
    Made,
    Original,
    Release,
    Require,
    Seed,
    Solver,
    Threads,
    Tolerance,
)
from tablecloak.errors import InputError

if TYPE_CHECKING:
    from tablecloak.budget import Progress
    from tablecloak.publish.audit import AdjustedAudit
    from tablecloak.suppression.attack.audit import Audit

Intervals = Annotated[
    bool, typer.Option("--intervals", help="Compute the exact interval of each cell.")
]
Output = Annotated[
    Path | None,
    names.FRAME_FILES.option(
        "--output", "-o", text="Write all sensitive cells, worst first:", writable=True
    ),
]
Show = Annotated[int, typer.Option(min=0, help="How many cells to print, worst first.")]
Groups = Annotated[
    bool, typer.Option(help="Apply the rules of a job to sums of suppressed cells as well.")
]
Certificate = Annotated[
    Path | None,
    typer.Option(help="Write the certificate (.npz) if the pattern is safe.", writable=True),
]
Plot = Annotated[
    Path | None,
    typer.Option(help="Draw required and achieved protection (.png, .svg).", writable=True),
]
Knows = Annotated[
    str | None,
    names.KNOWLEDGE.option(
        "--knows",
        text="Also guess the true values behind an adjusted release, as who knows the method and:",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(min=0.0, help="Seconds; attacks not finished by then count as undecided."),
]


def audit(
    original: Original,
    release: Release,
    require: Require = "two-sided",
    intervals: Intervals = False,
    output: Output = None,
    show: Show = 10,
    intruder: Intruder = None,
    groups: Groups = False,
    made: Made = None,
    knows: Knows = None,
    published: Earlier = None,
    between: Between = None,
    certificate: Certificate = None,
    plot: Plot = None,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    threads: Threads = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
) -> None:
    """Attack a release, whoever made it.

    The external intruder knows all that is published, all relations and the external bounds.
    Insiders (--intruder) also know their own contributions, true zeros, or that values are whole.
    All output is secret: it names sensitive cells with their true values.

    ORIGINAL may be a job file: its data are tabulated again, with all contributors, and its
    insiders attack unless others are named; --intruder external names none. The release may be the
    code-value output of tau-ARGUS with statuses 1 to 14.

    A release of values without gaps counts as an adjusted table, or as a rounded one, whose readers
    know the base, by --made or where about.json beside it says so.

    With --published the verdict is on all releases together. Guesses of --knows do not change the
    exit code, which is for what an adjustment promises: the distance from the truth.

    Exit code 0: all sensitive cells are protected; 1: some are not; 2: wrong input.

    Example: tablecloak audit table.jj pattern.csv --intervals -o intervals.csv

    Example: tablecloak audit job.toml table.csv --intruder contributors --groups

    Example: tablecloak audit counts.jj rounded.csv --made rounding:3
    """
    from tablecloak.protection import made_as
    from tablecloak.publish.audit import audit as run
    from tablecloak.publish.released_cells import ABOUT, told_beside
    from tablecloak.render.plotting import picture_format
    from tablecloak.solve.solver import using_solver

    with using_solver(solver), reporting() as reporter:
        require_writable_result(output, certificate, plot)
        if plot is not None:
            picture_format(plot)
        problem, rules, job = read_with_group_rules(original, tolerance, groups=groups)
        audited = run(
            problem,
            release,
            require=require,
            intruders=intruder or insiders_of_job(problem, job),
            groups=rules,
            published=read_earlier(problem, published, between, job),
            made=made,
            detail="intervals" if intervals else "verdict",
            time_limit=inf if time_limit is None else time_limit,
            seed=seed,
            threads=threads,
            progress=reporter,
        )
        _write(audited, output, certificate, plot)
        guessed = _guessed(audited, knows, reporter, time_limit)
    typer.echo(audited.summary())
    if made is None and (way := made_as(told_beside(release))):
        typer.echo(f"note: judged as {way}, as {ABOUT} beside it says.")
    if guessed:
        typer.echo(guessed)
    if show and not audited.is_safe:
        _tell(audited, show)
    if not audited.is_safe:
        raise typer.Exit(NOT_SAFE)


def _guessed(
    audited: Audit | AdjustedAudit,
    knows: str | None,
    reporter: Progress | None,
    time_limit: float | None,
) -> str:
    """Run an adjustment backwards if that is asked for, and say how it went."""
    from tablecloak.cta.risk.risk import attack_adjustment
    from tablecloak.errors import ModelError, SolverError
    from tablecloak.publish.audit import AdjustedAudit

    if not isinstance(audited, AdjustedAudit):
        if knows is not None:
            raise InputError("--knows is for adjusted releases. Leave it out.")
        return ""
    if knows is None:
        return (
            "note: judged as an adjusted table; --made tells how rounded values were made. True "
            "values may be guessed by who knows the method; --knows levels tries it."
        )
    seconds = GUESS_SECONDS if time_limit is None else time_limit
    try:
        risk = attack_adjustment(audited, knows=knows, time_limit=seconds, progress=reporter)
    except (ModelError, SolverError) as error:
        return f"attack on the adjusted table, knowing the {knows}: no guess. {error}"
    return risk.summary()


GUESS_SECONDS = 60.0
"""Seconds for guessing the true values of an adjusted release where no limit is given."""


def _tell(audited: Audit | AdjustedAudit, show: int) -> None:
    """Print who learns most, and the worst cells and groups."""
    from tablecloak.publish.audit import AdjustedAudit
    from tablecloak.suppression.attack.groups import named_groups

    groups = [] if isinstance(audited, AdjustedAudit) else audited.groups
    worst = "" if isinstance(audited, AdjustedAudit) else audited.worst()
    if worst:
        typer.echo(worst)
    if groups:
        typer.echo("Sensitive groups, whose sum everybody can compute and a rule finds unsafe:")
        typer.echo(named_groups(audited.problem, groups[:show]).to_string(index=False))
    typer.echo(audited.to_frame().head(show).to_string(index=False))


def _write(
    audited: Audit | AdjustedAudit, output: Path | None, certificate: Path | None, plot: Path | None
) -> None:
    from tablecloak.certificates.file import write_certificate
    from tablecloak.publish.audit import AdjustedAudit
    from tablecloak.tables.formats import write_frame

    if not isinstance(audited, AdjustedAudit):
        if certificate is not None and audited.is_safe:
            write_certificate(audited.certificate(), certificate)
        if plot is not None:
            audited.plot(plot)
    if output is not None:
        write_frame(audited.to_frame(), output, secret=True)


def verify(
    certificate: Annotated[Path, typer.Argument(help="Certificate (.npz) of any release.")],
    original: Annotated[
        Path | None,
        typer.Argument(
            help=f"The true problem ({names.PROBLEM_FILES.placeholder}) or a job (.toml), to "
            f"compare with.",
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Longest that the check may take, counted in steps. By default one minute, and "
            "one for every 8 MiB of the certificate.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Write a page (.html) that checks certificates in a browser as well, by a second "
            "verifier. It holds nothing of this certificate.",
            writable=True,
        ),
    ] = None,
) -> None:
    """Check a certificate by exact products alone; no solver is called.

    Prints what is proved and what was not checked; read all of it. Insiders who know the
    same count as one there. With ORIGINAL, it also checks that the certificate speaks of that
    problem. The same check runs without tablecloak: python verifier.py CERTIFICATE ORIGINAL,
    where ORIGINAL is a JJ file.

    Exit code 0: proved; 1: refused; 2: wrong input; 3: what is claimed is proved,
    but nothing is claimed of the protection of sensitive cells.

    Example: tablecloak verify results/internal/suppression_certificate.npz
    """
    from tablecloak.certificates.verifier import main
    from tablecloak.storage import existing_file, write_text

    for given in filter(None, (certificate, original)):
        existing_file(given)
    if page is not None:
        from tablecloak.render.verify_page import verify_page

        write_text(page, verify_page())
    further = [] if minutes is None else [f"--minutes={minutes:g}"]
    with _as_jj(original) as problem:
        arguments = [str(certificate), *problem, *further]
        code = main(arguments)  # type: ignore[no-untyped-call]
    raise typer.Exit(code)


@contextmanager
def _as_jj(original: Path | None) -> Iterator[list[str]]:
    """Give the verifier, which reads JJ files alone, a problem of any format."""
    from tablecloak.tables.formats import ProblemFormat, format_of, write_problem

    is_job = original is not None and original.suffix == ".toml"
    if original is None or (not is_job and format_of(original, ProblemFormat).name == "jj"):
        yield [] if original is None else [str(original)]
        return
    with TemporaryDirectory() as folder:
        problem, _ = read_original(original, 0.0)
        write_problem(problem, Path(folder) / "problem.jj")
        yield [str(Path(folder) / "problem.jj")]
