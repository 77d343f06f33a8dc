"""Options and arguments that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from tablecloak.cli import names
from tablecloak.data_file import AS_USUAL, DataFile, how_read
from tablecloak.errors import InputError

ProblemFile = Annotated[
    Path, typer.Argument(help=f"Problem as written by convert: {names.PROBLEM_FILES.placeholder}.")
]
Original = Annotated[
    Path,
    typer.Argument(help=f"The true problem ({names.PROBLEM_FILES.placeholder}), or a job (.toml)."),
]
Pattern = Annotated[Path, typer.Argument(help="CSV with cell (or codes) and status.")]
Release = Annotated[
    Path,
    typer.Argument(
        help="CSV, Parquet or Excel with cell (or codes) and status, or value if adjusted; or a "
        "cube in PX or JSON-stat.",
    ),
]
Made = Annotated[
    str | None,
    names.MADE.option("--made", text="How the values of a release of values were made, if known:"),
]
Intruder = Annotated[
    list[str] | None,
    names.ATTACKERS.option(
        "--intruder",
        text="Who attacks besides the external intruder; repeat. Default: those of a job.",
    ),
]
Output = Annotated[
    Path, names.FRAME_FILES.option("--output", "-o", text="File to write:", writable=True)
]
TimeLimit = Annotated[
    float,
    typer.Option(
        "--time-limit",
        min=0.1,
        help="Seconds for the search, which then returns the best answer so far, as at Ctrl-C.",
    ),
]
Tolerance = Annotated[
    float,
    typer.Option(
        "--tolerance",
        min=0.0,
        help="Accepted error of a relation, for tables with rounded values.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        help="Number of threads; the answer does not depend on it. Default: all processors.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, help="Seed of random choices: the same seed gives the same answer."
    ),
]
SecretSeed = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, help="Seed of random choices; keep it secret. Default: a new one."
    ),
]
Certificate = Annotated[
    Path | None,
    typer.Option(help="Write all proofs (.npz, secret); see `tablecloak verify`.", writable=True),
]
Require = Annotated[str, names.REQUIREMENTS.option("--require", text="What counts as protected.")]
Solver = Annotated[
    str | None,
    names.SOLVERS.option("--solver", text="Solver of all linear programs, by default highs."),
]
Engine = Annotated[str, names.ENGINES.option("--engine", text="What reads microdata.")]
Executor = Annotated[str, names.EXECUTORS.option("--executor", text="Where work is done.")]
By = Annotated[
    list[str],
    typer.Option(
        "--by", help="Dimension: a column, or COLUMN=FILE.hrc with its hierarchy; repeat."
    ),
]


HOW_READ = {
    option.name: inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=getattr(AS_USUAL, option.name),
        annotation=Annotated[option.kind, typer.Option(help=option.help)],
    )
    for option in how_read()
}
"""Options that say how a file of data is read."""


def options_of(command: Callable[..., None]) -> list[inspect.Parameter]:
    """Return the options that a command declares, with their types."""
    hints = get_type_hints(command, include_extras=True)
    return [
        option.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[option.name])
        for option in inspect.signature(command).parameters.values()
        if option.kind is not option.VAR_KEYWORD
    ]


def with_options(
    run: Callable[..., None], options: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """Let typer read other options than those of the function itself."""
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def reading_data(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `HOW_READ` to a command whose data are its `file`."""

    @wraps(command)
    def run(*, file: Path, **given: Any) -> None:
        how = {name: given.pop(name) for name in HOW_READ}
        command(file=DataFile(file, **how), **given)

    return with_options(run, [*options_of(command), *HOW_READ.values()])


def dimensions_of(by: Sequence[str]) -> dict[str, str | None]:
    """Read what `--by` was given: COLUMN, or COLUMN=FILE.hrc.

    Raises
    ------
    InputError
        If a dimension is named twice, or not at all.
    """
    named: dict[str, str | None] = {}
    for entry in by:
        name, _, file = entry.partition("=")
        if not name or name in named:
            raise InputError(
                f"--by {entry}: give each dimension once, as COLUMN or COLUMN=FILE.hrc."
            )
        named[name] = file or None
    return named


Verbose = Annotated[
    bool,
    typer.Option("--verbose", help="Add the figures of the search: loss, bound, gap, seconds."),
]
