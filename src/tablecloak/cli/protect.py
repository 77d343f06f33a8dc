"""``tablecloak protect``: a whole job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.display import BAD_INPUT, NOT_SAFE, reporting
from tablecloak.cli.options import Engine, Executor, Verbose

if TYPE_CHECKING:
    from tablecloak.jobs.campaign import JobOutcome
    from tablecloak.jobs.result import JobResult

JobFile = Annotated[
    Path, typer.Argument(help="Job file (TOML); see docs/job-file.md. With --all a folder.")
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.", writable=True)]
Every = Annotated[
    bool, typer.Option("--all", help="Run all job files of a folder; finished ones are skipped.")
]


def protect(
    job: JobFile,
    out: Out = Path("results"),
    every: Every = False,
    engine: Engine = "duckdb",
    executor: Executor = "serial",
    verbose: Verbose = False,
) -> None:
    """Microdata or a table in; protected tables, audit, certificate and report out.

    OUT/release/METHOD/ holds files that may be published; publish those of one method only.
    OUT/internal/, which only you can read, holds what must stay inside: true values, sensitive
    cells, certificates and the report.

    Ctrl-C means "take what you have": it ends the present search, and the best that is proved by
    then is audited and written as a release, which is said. Before a first proof, at a second
    Ctrl-C, or while files are read, nothing is written; what is being written is finished.

    Exit code 0: every release keeps what its method promises; 1: one does not, or was withheld
    because a hidden value stands in one of its files (it is kept in OUT/internal/withheld/); 2:
    wrong input, or one of two methods found that the problem has no solution (the release of the
    other is written). An adjustment promises a distance from the truth: if that can be guessed all
    the same, its verdict warns, and the code is 0.

    Example: tablecloak protect examples/enterprises/job.toml --out results/enterprises

    A job file with [[steps]] protects the records themselves, by methods such as swap or
    local-suppression, one after the other; `tablecloak example people` writes one.

    A job file with a section [publication] is planned first; each cluster of tables is protected as
    one problem, with a folder OUT/CLUSTER of its own. See docs/publication.md.

    --executor says where jobs are done, or clusters of a publication; of one job, the parts that no
    relation joins, such as years without a sum over them.

    Example: tablecloak protect --all jobs/ --out results/ --executor processes:2
    """
    from tablecloak.executors import using_executor
    from tablecloak.jobs.job_file import kind_of_job
    from tablecloak.jobs.publication import is_publication
    from tablecloak.jobs.run import run_job

    if every:
        _all(job, out, executor)
        return
    if is_publication(job):
        _publication(job, out, engine, executor)
        return
    kind = kind_of_job(job)
    if kind is not None:
        report = kind.run(job, out)
        for line in report.lines():
            typer.echo(line)
        for note in report.notes:
            typer.echo(f"Note: {note}.", err=True)
        _tell_written(report.files)
        return
    with reporting() as reporter, using_executor(None if executor == "serial" else executor):
        result = run_job(job, out, engine=engine, progress=reporter)
    _told(result, verbose)


def _told(result: JobResult, verbose: bool) -> None:
    """Print what a job gave; exit as its results ask for."""
    ways = [product.way for product in result.products.values()]
    if not any(way.is_alone for way in ways):
        typer.echo(f"table:  {result.problem.table.summary()}")
        typer.echo(f"        {_reasons(result.problem.reasons)}")
    for line in result.lines():
        typer.echo(line)
    if verbose:
        typer.echo(result.summary())
    _tell_written(result.files)
    for name, why in result.withheld.items():
        typer.echo(f"The release of the {name} was WITHHELD: {why}", err=True)
    offered = len(ways) - len(result.withheld)
    if offered > 1:
        most = "two releases, never both" if offered == 2 else "releases, never more than one"
        typer.echo(f"Publish one of the {most}: together they reveal hidden values.")
    if not result.is_safe:
        for refusal in result.refusals():
            typer.echo(refusal, err=True)
        raise typer.Exit(NOT_SAFE)
    for name, why in result.failures.items():
        typer.echo(f"No {name}: {why}", err=True)
    for statement in result.statements():
        typer.echo(statement)
    if result.failures:
        raise typer.Exit(BAD_INPUT)


def _publication(job: Path, out: Path, engine: str, executor: str) -> None:
    """Protect a whole publication; each cluster is told once it is on disk."""
    from tablecloak.executors import executor_named
    from tablecloak.jobs.publication import read_publication

    publication = read_publication(job, out)
    typer.echo(publication.plan.summary())
    workers = executor_named(executor)
    done = publication.run(engine=engine, executor=workers, said=_tell_outcome)
    for path in done.files:
        typer.echo(f"    {path}")
    outcomes = done.outcomes.values()
    if any(outcome.has_failed for outcome in outcomes):
        raise typer.Exit(BAD_INPUT)
    if not done.is_safe:
        raise typer.Exit(NOT_SAFE)


def _tell_outcome(outcome: JobOutcome) -> None:
    """Print how the job of a cluster went."""
    again = "" if outcome.is_new else " (was there already)"
    typer.echo(f"\ncluster {outcome.name}: {outcome.state}{again}")
    for line in outcome.report or (outcome.message,):
        typer.echo(indent(line, "  "))


def _tell_written(files: Sequence[Path]) -> None:
    """Print what was written."""
    typer.echo("\nWritten:")
    for file in sorted(files):
        typer.echo(f"    {file}")


def _all(jobs: Path, out: Path, executor: str) -> None:
    """Run all jobs of a folder; each outcome is printed once it is on disk."""
    from tablecloak.executors import executor_named
    from tablecloak.jobs.campaign import run_campaign

    def said(outcome: JobOutcome) -> None:
        state = outcome.state if outcome.is_safe else "NOT SAFE"
        again = "" if outcome.is_new else " (was there already)"
        typer.echo(f"{outcome.name}: {state}{again}: {outcome.message}")

    outcomes = run_campaign(jobs, out, executor=executor_named(executor), said=said)
    unsafe = [outcome.name for outcome in outcomes if not outcome.is_safe]
    safe = len(outcomes) - len(unsafe)
    typer.echo(f"{safe} of {len(outcomes)} jobs are done and safe, in {out}.")
    if unsafe:
        raise typer.Exit(NOT_SAFE)


def _reasons(reasons: object) -> str:
    import numpy as np

    names, counts = np.unique(np.asarray(reasons), return_counts=True)
    counted = [f"{count} by {name}" for name, count in zip(names, counts, strict=True) if name]
    return f"sensitive cells: {', '.join(counted) or 'none'}"
