"""``tablecloak compare``: suppression and adjustment of one table side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli import names
from tablecloak.cli.files import note_idle, read_original, refuse_earlier, require_writable_result
from tablecloak.cli.options import Executor, Original

Output = Annotated[
    Path | None,
    names.FRAME_FILES.option("--output", "-o", text="Write the measures:", writable=True),
]
Report = Annotated[
    Path | None,
    typer.Option(help="Write an HTML page with the map; not for publication.", writable=True),
]
Knows = Annotated[
    str, names.KNOWLEDGE.option("--knows", text="What the intruder knows of an adjustment:")
]
RiskLimit = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Share of right guesses that is acceptable.")
]
Level = Annotated[
    list[float] | None,
    typer.Option(help="Multiply all protection levels by this; repeat it to compare several."),
]
TimeLimit = Annotated[float, typer.Option(min=0.0, help="Seconds for each method.")]


NO_RECORDS = (
    "Noise of records is left out: it needs a job of one variable with a value and a column of "
    "contributors; a table alone does not tell who contributed what."
)
"""What is said where noise of records cannot be compared."""


def compare(
    file: Original,
    output: Output = None,
    report: Report = None,
    knows: Knows = "levels",
    risk_limit: RiskLimit = 0.2,
    level: Level = None,
    time_limit: TimeLimit = 60.0,
    executor: Executor = "serial",
) -> None:
    """Compare suppression, adjustment, and adjustment that keeps statistics.

    A table of counts is also rounded to base 3 and perturbed by cell keys, and the share of
    sensitive counts that follow exactly is shown. Where a job names records with a column of
    contributors, these also get multiplicative noise, plain and balanced. Prints what an intruder
    guesses, what analysts lose, and a verdict.

    Example: tablecloak compare table.jj --report comparison.html

    Example: tablecloak compare job.toml --level 0.5 --level 1 --level 2 --report sweep.html
    """
    from tablecloak.comparison import compare as compare_methods
    from tablecloak.executors import executor_named
    from tablecloak.jobs.load import contributed_records
    from tablecloak.tables.formats import write_frame

    require_writable_result(output, report)
    problem, job = read_original(file, 0.0)
    refuse_earlier(file, job)
    note_idle(problem, job, (), "methods are compared by what readers of a release learn.")
    records = None if job is None else contributed_records(job)
    if records is None:
        typer.echo(NO_RECORDS, err=True)
    comparison = compare_methods(
        problem,
        records=records,
        level_factors=level or [1.0],
        knows=knows,
        risk_limit=risk_limit,
        time_limit=time_limit,
        executor=executor_named(executor),
    )
    if output is not None:
        write_frame(comparison.table.reset_index(names="release"), output, secret=True)
    if report is not None:
        comparison.to_html(report)
    typer.echo(comparison.table.drop(columns="kind").T.to_string(float_format="{:.6g}".format))
    typer.echo(comparison.verdict())
