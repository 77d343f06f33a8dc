"""Commands for records: each method of the registry is one, with options from its parameters."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command_from_info
from typer.models import CommandInfo

from tablecloak.cli.entry import MADE
from tablecloak.storage import require_writable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from tablecloak.cli.method_options import TypedOption
    from tablecloak.microdata.methods.method import Columns, Method, Release

__all__ = ["register"]


def register() -> None:
    """Let the entry make a command of each method, when it is asked for one."""
    if _commands not in MADE:
        MADE.append(_commands)


def _commands() -> dict[str, Any]:
    from tablecloak.microdata.methods.method import METHODS

    return {name: _command(name) for name in METHODS.names}


def _command(name: str) -> Any:
    """Return the command of a method."""
    from tablecloak.cli.method_options import TypedOption
    from tablecloak.microdata.methods.method import METHODS

    options = [TypedOption(parameter) for parameter in METHODS.parameters(name)]

    def run(
        file: Path,
        output: Path,
        seed: int | None,
        report: Path | None,
        keep_order: bool,
        **typed: Any,
    ) -> None:
        files = _Files(file, output, report, keep_order, seed)
        given = {
            option.parameter.name: option.value(typed[option.name])
            for option in options
            # Lists that were left out are empty, or None, by the version of typer.
            if typed[option.name] not in (None, [])
        }
        typer.echo(files.protect(METHODS.build(name, **given)))

    declared = _declared(options)
    run.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in declared}
    text = f"{METHODS.summary(name)}\n\n{METHODS[name].guide}"
    return get_command_from_info(
        CommandInfo(name=name, callback=run, help=text),
        pretty_exceptions_short=True,
        rich_markup_mode="markdown",
    )


def _declared(options: Sequence[TypedOption]) -> list[inspect.Parameter]:
    """Return all options in the order in which they are shown, those that are required first."""
    own = sorted(
        (option.declared for option in options),
        key=lambda declared: declared.default is not inspect.Parameter.empty,
    )
    files, more = _SHARED[:2], _SHARED[2:]
    return [*files, *own, *more]


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
                "--output", "-o", help="CSV or Parquet file of protected records to write."
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
            typer.Option(help="HTML page on method, utility and risk; not for publication."),
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


@dataclass(frozen=True)
class _Files:
    """Which file records are read from, where they are written, and in which order."""

    source: Path
    output: Path
    report: Path | None
    keep_order: bool
    seed: int | None

    def __post_init__(self) -> None:
        require_writable(self.output, self.report)

    def protect(self, method: Method[Release]) -> str:
        """Read what the method needs, protect it, write it, and print a summary."""
        from tablecloak.microdata.order import OrderWarning
        from tablecloak.tables.formats import column_names

        columns = method.uses(column_names(self.source))
        frame = self._read(columns)
        with warnings.catch_warnings():
            # The order is dealt with when the records are written.
            warnings.simplefilter("ignore", OrderWarning)
            release = method.protect(frame, seed=self.seed)
        self._write(frame, release, columns, method)
        return release.summary()

    def _read(self, columns: Columns) -> pd.DataFrame:
        """Read the columns that are needed; others are copied piece by piece."""
        from tablecloak.tables.formats import read_columns

        if not columns.categories:
            return read_columns(self.source, columns.numbers)
        frame = read_columns(self.source, columns.categories, as_text=True)
        for name in columns.numbers:
            frame[name] = read_columns(self.source, [name])[name]
        return frame

    def _write(
        self, frame: pd.DataFrame, release: Release, columns: Columns, method: Method[Release]
    ) -> None:
        from tablecloak.microdata.order import places, refuse_sorted
        from tablecloak.tables.formats import column_names, read_columns, replace_columns

        changed = list(columns.changed)
        first: npt.NDArray[np.bool_] | slice = slice(None)
        if columns.unit is not None:
            first = ~frame[columns.unit].duplicated().to_numpy()
        refuse_sorted(
            frame.iloc[first],
            changed,
            [name for name in column_names(self.source) if name not in changed],
            lambda name: read_columns(self.source, [name])[name].iloc[first],
            keep_order=self.keep_order,
        )
        if self.report is not None:
            self._write_report(self.report, release, columns, method)
        order = None if self.keep_order else places(len(frame), self.seed)
        replace_columns(self.source, self.output, release.frame[changed], order)

    def _write_report(
        self, path: Path, release: Release, columns: Columns, method: Method[Release]
    ) -> None:
        from tablecloak.render.microdata_report import write_report
        from tablecloak.tables.formats import read_frame

        original = read_frame(self.source)
        new = {name: release.frame[name].to_numpy() for name in columns.changed}
        write_report(
            path,
            original,
            original.assign(**new),
            title=f"{type(method).__name__}: {self.output.name}",
            summary=release.summary(),
            parameters=vars(method),
            keys=columns.keys,
        )
