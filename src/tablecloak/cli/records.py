"""Commands for records: each method of the registry is one, with options from its parameters."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tablecloak.cli.entry import Commands
from tablecloak.cli.options import reading_data
from tablecloak.storage import require_writable

if TYPE_CHECKING:
    import pandas as pd

    from tablecloak.data_file import DataFile
    from tablecloak.microdata.methods.method import Columns, Method, Release
    from tablecloak.microdata.record_files import WrittenRecords


class MethodCommands(Commands):
    """One command for each method."""

    @staticmethod
    def made() -> dict[str, Any]:
        """Return the commands of all methods."""
        from tablecloak.microdata.methods.method import METHODS

        return {name: _command(name) for name in METHODS.names}


Records = Annotated[Path, typer.Argument(help="CSV or Parquet file with one record in each row.")]
Protected = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        help="CSV or Parquet file of protected records to write.",
        writable=True,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Seed of random choices. Keep it secret, since it allows to undo the release. "
        "Default: a new one.",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(help="HTML page on method, utility and risk; not for publication.", writable=True),
]
KeepOrder = Annotated[
    bool,
    typer.Option(
        "--keep-order",
        help="Write the records in the order of the file instead of a random one; refused "
        "if the order shows what changed.",
    ),
]

Drop = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out of the release, such as a number of household."),
]

records = typer.Typer(
    name="records",
    cls=MethodCommands,
    no_args_is_help=True,
    help="Protect records of people or firms by one method; by several with protect.",
)


def _command(name: str) -> Any:
    """Return the command of a method."""
    from tablecloak.cli.method_options import TypedOption, made_command
    from tablecloak.microdata.methods.method import METHODS
    from tablecloak.microdata.record_files import RecordFiles

    @reading_data
    def protect(
        file: Records,
        output: Protected,
        seed: Seed = None,
        report: Report = None,
        keep_order: KeepOrder = False,
        drop: Drop = None,
        **given: Any,
    ) -> None:
        require_writable(output, report)
        method = METHODS.build(name, **given)
        page = None if report is None else partial(_write_report, report, output.name, method)
        source = cast("DataFile", file)
        files = RecordFiles(source, output, keep_order, seed, tuple(drop or ()))
        typer.echo(files.protect(method, page).summary())

    text = f"{METHODS.summary(name)}\n\n{METHODS[name].guide}"
    options = [TypedOption(parameter) for parameter in METHODS.parameters(name)]
    return made_command(name, protect, options, text=text)


def _write_report(
    path: Path,
    title: str,
    method: Method[Release],
    original: pd.DataFrame,
    released: pd.DataFrame,
    written: WrittenRecords,
    columns: Columns,
) -> None:
    from tablecloak.microdata.assessment import assess
    from tablecloak.microdata.assessment_report import write_report

    write_report(
        path,
        original,
        released,
        title=f"{type(method).__name__}: {title}",
        summary=written.summary(),
        parameters=method.get_params(),
        assessment=assess(
            original,
            released,
            keys=columns.keys,
            sensitive=columns.sensitive,
            weight=columns.weight,
            household=columns.unit,
        ),
    )
