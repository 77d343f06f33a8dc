"""``tablecloak agencies``: sums and regressions over records that no agency shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.entry import Commands
from tablecloak.cli.names import FRAME_FILES, LiveCommand
from tablecloak.cli.options import reading_data

if TYPE_CHECKING:
    from tablecloak.microdata.agencies import Study
    from tablecloak.microdata.agencies.agency import Agency


class Agencies(Commands):
    """What agencies do for a study."""

    former = "securesum"


agencies = typer.Typer(
    name="agencies",
    cls=Agencies,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help=(
        "Add up, or fit a regression, over several agencies that keep their records.\n\n"
        "Each agency runs `agencies certificate NAME` once and sends the others its .crt file. "
        "All agree on one study file:\n\n"
        '    kind = "regression"\n\n'
        '    response = "wage"\n\n'
        '    predictors = ["age", "sex"]\n\n'
        '    agency = [{name = "north", address = "10.0.0.1:5001", certificate = "north.crt"}, '
        "...]\n\n"
        "and each runs `agencies join STUDY.toml RECORDS --as NAME --key NAME.key`. The first "
        "agency of the file leads. See docs/secure-sums.md for what each agency learns."
    ),
)


@agencies.command()
def certificate(
    name: Annotated[str, typer.Argument(help="Name of the agency in the study.")],
    out: Annotated[Path, typer.Option(help="Folder to write to.", writable=True)] = Path(),
    days: Annotated[int, typer.Option(min=1, help="Days for which it is valid.")] = 365,
) -> None:
    """Make a private key, which stays here, and a certificate for the other agencies."""
    from tablecloak.microdata.agencies import make_certificate

    key, public = make_certificate(name, out, days=days)
    typer.echo(f"{key}: keep it secret\n{public}: send it to the other agencies")


@agencies.command(cls=LiveCommand)
@reading_data
def join(
    study: Annotated[Path, typer.Argument(help="Study file (TOML), the same for all agencies.")],
    file: Annotated[
        Path, typer.Argument(help=f"Own records: {FRAME_FILES.placeholder}. They stay here.")
    ],
    name: Annotated[str, typer.Option("--as", help="Name of this agency in the study.")],
    key: Annotated[Path, typer.Option(help="Private key of this agency.")],
    output: Annotated[
        Path | None,
        FRAME_FILES.option("--output", "-o", text="File to write the result to:", writable=True),
    ] = None,
) -> None:
    """Take part in a study with the records of this agency.

    Example: tablecloak agencies join study.toml staff.csv --as north --key north.key
    """
    import pandas as pd

    from tablecloak.microdata.agencies import read_study, take_part
    from tablecloak.tables.formats import write_frame

    agreed = read_study(study)
    agency = _agency(name, agreed, file)
    result = take_part(agreed, agency, key, notify=lambda text: typer.echo(text, err=True))
    if isinstance(result, dict):
        table = pd.DataFrame({"column": list(result), "sum": list(result.values())})
    else:
        table = result.to_frame().reset_index()
        typer.echo(result.summary())
    typer.echo(table.to_string(index=False))
    if output is not None:
        write_frame(table, output)


def _agency(name: str, study: Study, file: Path) -> Agency:
    """Return the agency with the columns that the study needs."""
    import numpy as np

    from tablecloak.microdata.agencies.agency import Agency, records
    from tablecloak.microdata.columns import numbers_of
    from tablecloak.tables.formats import read_frame

    frame = read_frame(file)
    values = np.column_stack([numbers_of(frame, column) for column in study.predictors])
    if study.kind == "sum":
        return Agency(name, lambda question, argument: values.sum(axis=0))
    return records(name, values, numbers_of(frame, study.response))
