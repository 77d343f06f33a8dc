"""``tablecloak bench``: solvers side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli import names
from tablecloak.cli.display import NOT_SAFE
from tablecloak.cli.names import LiveCommand

__all__ = ["register"]


Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")]
Solver = Annotated[
    list[str] | None,
    typer.Option(
        help="Name, or module:function for one of your own; repeat it. By default all that are "
        f"installed: {names.BENCH_SOLVERS.placeholder}."
    ),
]
Question = Annotated[
    list[str] | None, names.QUESTIONS.option("--question", text="Repeat it; by default all:")
]
Instances = Annotated[
    Path | None, typer.Option(help="Folder with JJ files to be asked about as well.")
]
Only = Annotated[
    list[str] | None, typer.Option(help="Names of instances; repeat it. By default all.")
]
Quick = Annotated[bool, typer.Option(help="Small instances only: less than five minutes.")]
TimeLimit = Annotated[
    float | None, typer.Option(min=0.1, help="Seconds for each answer; 60, or 3 if quick.")
]
MemoryLimit = Annotated[float, typer.Option(min=256, help="MiB for each process.")]


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command(cls=LiveCommand)(bench)


def bench(
    out: Out = Path("bench"),
    solver: Solver = None,
    question: Question = None,
    instances: Instances = None,
    only: Only = None,
    quick: Quick = False,
    time_limit: TimeLimit = None,
    memory_limit: MemoryLimit = 4096.0,
) -> None:
    """Ask solvers the questions behind protection, and judge their answers.

    Each answer comes from a process of its own and is checked: a point that breaks the program,
    or a claim that another's point refutes, counts as wrong. Writes answers and their history as
    Parquet, performance profiles, and a summary in Markdown.

    Exit code 1 if any answer is wrong.

    Example: tablecloak bench --quick --out bench
    """
    from tablecloak.bench.instances import instances as known_instances
    from tablecloak.bench.profile import summary, write_bench
    from tablecloak.bench.runner import run_bench
    from tablecloak.bench.solvers import available_solvers
    from tablecloak.errors import InputError, suggestion

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
