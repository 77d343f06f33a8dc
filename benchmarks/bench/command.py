"""``python -m benchmarks``: solvers side by side, and what the project claims."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from bench.programs import METHODS, PROGRAMS
from bench.solvers import available_solvers
from tablecloak.cli.display import NOT_SAFE
from tablecloak.cli.entry import errors_as_messages, guard
from tablecloak.cli.names import LiveCommand, Names

if TYPE_CHECKING:
    from bench.claims import Setting
    from bench.measure import Choice

__all__ = ["app"]

COMMAND = "python -m benchmarks"

ALL = "all"
"""The word for all claims."""

QUESTIONS = Names("question", lambda: dict.fromkeys([*PROGRAMS, *METHODS], ""))
SOLVERS = Names("solver of the benchmark", lambda: dict.fromkeys(available_solvers(), ""))

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.", writable=True)]
Solver = Annotated[
    list[str] | None,
    typer.Option(
        help="Name, or module:function for one of your own; repeat it. By default all that are "
        f"installed: {SOLVERS.placeholder}."
    ),
]
Question = Annotated[
    list[str] | None,
    QUESTIONS.option("--question", text="Question to ask; repeat. By default all:"),
]
Claims = Annotated[
    list[str] | None,
    typer.Argument(
        help="Claims to measure, as in benchmarks/README.md, or 'all' for what is not measured yet "
        "at this commit. Without: ask solvers."
    ),
]
Instances = Annotated[
    Path | None, typer.Option(help="Folder with JJ files, or with other instances of a claim.")
]
Only = Annotated[
    list[str] | None, typer.Option(help="Names of instances; repeat it. By default all.")
]
Quick = Annotated[bool, typer.Option(help="Small instances only: less than five minutes.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        "--limit",
        min=0.1,
        help="Seconds for each answer. Default: 60, or 3 with --quick; for a claim, its own.",
    ),
]
MemoryLimit = Annotated[float, typer.Option(min=256, help="MiB for each process of a solver.")]
Method = Annotated[
    list[str] | None, typer.Option(help="Methods of a claim; repeat it. By default all.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of a claim's runs.")]
Workers = Annotated[int, typer.Option(min=1, help="Runs of a claim at the same time.")]
Clock = Annotated[
    str | None,
    typer.Option(help="Clock of limits and seconds: 'processor' or 'wall'. Default: the claim's."),
]
Peers = Annotated[
    str | None, typer.Option(help="Python executable of an environment with the other tools.")
]
Folder = Annotated[
    Path, typer.Option("--folder", help="Folder that holds claims/ and their results/.")
]
Write = Annotated[
    bool, typer.Option("--write-results", help="Write RESULTS.md from the stored results.")
]


class Command(LiveCommand):
    """The command: errors become messages and exit codes, as in ``tablecloak``."""

    names: ClassVar[tuple[Names, ...]] = (QUESTIONS, SOLVERS)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        guard(self)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with errors_as_messages():
            return super().invoke(ctx)


app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.command(cls=Command)
def bench(
    claim: Claims = None,
    out: Out = Path("bench"),
    solver: Solver = None,
    question: Question = None,
    instances: Instances = None,
    only: Only = None,
    quick: Quick = False,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = 4096.0,
    method: Method = None,
    seed: Seed = 0,
    workers: Workers = 1,
    clock: Clock = None,
    peers: Peers = None,
    folder: Folder = Path("benchmarks"),
    write_results: Write = False,
) -> None:
    """Ask solvers the questions behind protection, or measure what the project claims.

    With names of claims, it measures each and stores the results beside earlier ones. Without
    names, it asks solvers. Each answer comes from a process of its own and is checked: a point that
    breaks the program counts as wrong, and so does a bound that another solver's point refutes.
    Writes answers and their history as Parquet, performance profiles, and a summary in Markdown.

    Exit code 1 if any answer is wrong.

    Example: python -m benchmarks --quick --out bench

    Example: python -m benchmarks castro --only table8 --limit 10 --write-results

    Example: python -m benchmarks all --write-results
    """
    if claim or write_results:
        from bench.claims import Setting
        from bench.measure import Choice

        choice = Choice(only or [], method or [], [time_limit] if time_limit else [], clock)
        _measure(claim or [], folder, Setting(0.0, seed, instances, peers), choice, workers)
        if write_results:
            from bench.page import write_results as write

            typer.echo(f"Written: {write(folder)}")
        return
    _contest(out, solver, question, instances, only, quick, time_limit, memory_limit)


def _measure(
    claims: list[str], folder: Path, setting: Setting, choice: Choice, workers: int
) -> None:
    """Measure claims; what is measured is stored at once, so that an interrupt loses nothing."""
    from bench.claims import chosen, claims_in
    from bench.measure import all_open, asked, measure
    from bench.records import add_records, source_here

    source = source_here(" ".join([COMMAND, *sys.argv[1:]]))
    known = claims_in(folder / "claims")
    if claims == [ALL]:
        runs = all_open(known, folder, setting, choice)
    else:
        listed = chosen("claim", claims, known) if claims else []
        runs = [run for one in listed for run in asked(one, folder / "claims", setting, choice)]
    for record in measure(runs, known, source, workers):
        add_records(folder / "results" / f"{record.claim}.jsonl", [record])
        limit = "" if record.limit is None else f", {record.limit:g} s"
        figures = ", ".join(f"{name} {told}" for name, told in record.figures.items())
        typer.echo(f"{record.claim}: {record.instance}, {record.method}{limit}: {figures}")


def _contest(
    out: Path,
    solver: list[str] | None,
    question: list[str] | None,
    instances: Path | None,
    only: list[str] | None,
    quick: bool,
    time_limit: float | None,
    memory_limit: float,
) -> None:
    from bench.instances import instances as known_instances
    from bench.profile import summary, write_bench
    from bench.runner import run_bench
    from tablecloak.errors import InputError, suggestion
    from tablecloak.storage import require_writable

    require_writable(out / "answers.parquet")
    chosen = known_instances(instances, quick=quick)
    for name in only or []:
        if name not in chosen:
            raise InputError(f"There is no instance {name!r}.{suggestion(name, chosen)}")
    answers = run_bench(
        {name: build for name, build in chosen.items() if not only or name in only},
        solver or available_solvers(),
        *([question] if question else []),
        time_limit=time_limit or (3.0 if quick else 60.0),
        memory_limit=memory_limit,
        said=lambda text: typer.echo(text, err=True),
    )
    files = write_bench(answers, out)
    typer.echo(summary(answers))
    typer.echo("Written:")
    for path in files:
        typer.echo(f"    {path}")
    if (answers.table["verdict"] == "wrong").any():
        raise typer.Exit(NOT_SAFE)
