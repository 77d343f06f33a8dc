"""Commands for records: each method of the registry is one, with options from its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command_from_info
from typer.models import CommandInfo

from tablecloak.cli.entry import Commands
from tablecloak.cli.options import HOW_READ
from tablecloak.data_file import DataFile
from tablecloak.storage import require_writable

if TYPE_CHECKING:
    import pandas as pd

    from tablecloak.cli.method_options import TypedOption
    from tablecloak.microdata.methods.method import Columns, Method, Release


class Records(Commands):
    """One command for each method."""

    @staticmethod
    def made() -> dict[str, Any]:
        """Return the commands of all methods."""
        from tablecloak.microdata.methods.method import METHODS

        return {name: _command(name) for name in METHODS.names}


records = typer.Typer(
    name="records",
    cls=Records,
    no_args_is_help=True,
    help="Protect records of people or firms by one method; by several with protect.",
)


def _command(name: str) -> Any:
    """Return the command of a method."""
    from tablecloak.cli.method_options import TypedOption, values_of
    from tablecloak.microdata.methods.method import METHODS
    from tablecloak.microdata.record_files import RecordFiles

    options = [TypedOption(parameter) for parameter in METHODS.parameters(name)]

    def run(
        file: Path,
        output: Path,
        seed: int | None,
        report: Path | None,
        keep_order: bool,
        **typed: Any,
    ) -> None:
        source = DataFile(file, **{name: typed.pop(name) for name in HOW_READ})
        require_writable(output, report)
        method = METHODS.build(name, **values_of(options, typed))
        page = None if report is None else partial(_write_report, report, output.name, method)
        release = RecordFiles(source, output, keep_order, seed).protect(method, page)
        typer.echo(release.summary())

    declared = _declared(options)
    run.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in declared}
    text = f"{METHODS.summary(name)}\n\n{METHODS[name].guide}"
    return get_command_from_info(
        CommandInfo(name=name, callback=run, help=text),
        pretty_exceptions_short=True,
        rich_markup_mode="markdown",
    )


def _write_report(
    path: Path,
    title: str,
    method: Method[Release],
    original: pd.DataFrame,
    released: pd.DataFrame,
    release: Release,
    columns: Columns,
) -> None:
    from tablecloak.microdata.assessment import assess
    from tablecloak.microdata.assessment_report import write_report

    write_report(
        path,
        original,
        released,
        title=f"{type(method).__name__}: {title}",
        summary=release.summary(),
        parameters=method.get_params(),
        assessment=assess(original, released, keys=columns.keys, household=columns.unit),
    )


def _declared(options: Sequence[TypedOption]) -> list[inspect.Parameter]:
    """Return all options in the order in which they are shown, those that are required first."""
    own = sorted(
        (option.declared for option in options),
        key=lambda declared: declared.default is not inspect.Parameter.empty,
    )
    files, more = _SHARED[:2], _SHARED[2:]
    return [*files, *own, *more, *HOW_READ.values()]


def _shared(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


_SHARED = [
    _shared(
        "file",
        Annotated[Path, typer.Argument(help="CSV or Parquet file with one record in each row.")],
    ),
    _shared(
        "output",
        Annotated[
            Path,
            typer.Option(
                "--output",
                "-o",
                help="CSV or Parquet file of protected records to write.",
                writable=True,
            ),
        ],
    ),
    _shared(
        "seed",
        Annotated[
            int | None,
            typer.Option(
                min=0,
                help="Seed of random choices. Keep it secret, since it allows to undo the release. "
                "Default: a new one.",
            ),
        ],
        None,
    ),
    _shared(
        "report",
        Annotated[
            Path | None,
            typer.Option(
                help="HTML page on method, utility and risk; not for publication.", writable=True
            ),
        ],
        None,
    ),
    _shared(
        "keep_order",
        Annotated[
            bool,
            typer.Option(
                "--keep-order",
                help="Write the records in the order of the file instead of a random one; refused "
                "if the order shows what changed.",
            ),
        ],
        False,
    ),
]
"""Options of every method besides its own parameters; files first."""
