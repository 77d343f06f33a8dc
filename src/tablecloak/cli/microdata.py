"""``swap``, ``pram``, ``noise`` and ``neighbours``: records in, protected records out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.display import errors_as_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["register"]

Records = Annotated[Path, typer.Argument(help="Records: CSV or Parquet, one row each.")]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="CSV or Parquet file of protected records to write.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Keep it secret: whoever knows it can undo the release. Default: drawn anew."
    ),
]


Report = Annotated[
    Path | None,
    typer.Option(help="HTML page on what was done, utility and risk; not for publication."),
]


class Change(StrEnum):
    """What must differ within a pair."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (swap, swap_households, pram, noise, neighbours):
        app.command()(command)


def _write(
    file: Path,
    released: pd.DataFrame,
    output: Path,
    report: Path | None,
    method: object,
    summary: str,
    keys: Sequence[str] = (),
) -> None:
    """Write the records, and the page if there is to be one.

    Columns that the method does not need were never read: they are copied piece by piece. The
    page compares all columns.
    """
    from tablecloak.tables.formats import read_frame, replace_columns

    replace_columns(file, output, released)
    if report is not None:
        from tablecloak.microdata.report import write_report

        write_report(
            report,
            read_frame(file),
            read_frame(output),
            title=f"{type(method).__name__}: {output.name}",
            summary=summary,
            parameters=vars(method),
            keys=keys,
        )


def swap(
    file: Records,
    output: Output,
    attribute: Annotated[list[str], typer.Option(help="Attribute to swap; repeat.")],
    rate: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of records in pairs.")],
    must_change: Annotated[
        Change, typer.Option(help="Which swapped attributes must differ within a pair.")
    ] = Change.NONE,
    equal_on: Annotated[
        list[str] | None, typer.Option(help="Attribute in which a pair must agree; repeat.")
    ] = None,
    differ_on: Annotated[
        list[str] | None, typer.Option(help="Attribute in which a pair must differ; repeat.")
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="Attribute by which risk and distortion are measured; default all."),
    ] = None,
    seed: Seed = None,
    report: Report = None,
) -> None:
    """Exchange attributes within random pairs of records (data swapping).

    Prints risk (share of unswapped records in cells of 1 or 2) and distortion.

    Example: tablecloak swap people.csv -o swapped.csv --attribute age --rate 0.05
    --equal-on region
    """
    from tablecloak.microdata import DataSwapping
    from tablecloak.tables.formats import column_names, read_columns

    with errors_as_messages():
        method = DataSwapping(
            attribute,
            rate,
            must_change=must_change.value,
            equal_on=equal_on or (),
            differ_on=differ_on or (),
            keys=key or None,
        )
        keys = key or column_names(file)
        needed = [*attribute, *keys, *(equal_on or ()), *(differ_on or ())]
        frame = read_columns(file, needed, as_text=True)
        release = method.protect(frame, seed=seed)
        summary = release.report.summary()
        _write(file, release.frame, output, report, method, summary, release.records.names)
    typer.echo(summary)


def swap_households(
    file: Records,
    output: Output,
    hierarchy: Annotated[
        list[str], typer.Option(help="Column of the geography, the highest level first; repeat.")
    ],
    household: Annotated[str, typer.Option(help="Column with the name of the household.")],
    risk: Annotated[
        list[str], typer.Option(help="Characteristic by which members may be known; repeat.")
    ],
    k: Annotated[
        float, typer.Option(min=0.0, help="Members are risky among fewer than this many.")
    ] = 3,
    rate: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of households to swap at least.")
    ] = 0.05,
    similar: Annotated[
        list[str] | None,
        typer.Option(help="Columns in which partners agree, as tenure,age; repeat to fall back."),
    ] = None,
    carry_along: Annotated[
        list[str] | None, typer.Option(help="Column that goes with the geography; repeat.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of sampling weights.")] = None,
    seed: Seed = None,
    report: Report = None,
) -> None:
    """Exchange the places of risky households with those of similar ones (targeted swapping).

    Example: tablecloak swap-households census.csv -o swapped.csv --hierarchy state
    --hierarchy county --household home --risk job --risk age
    """
    from tablecloak.microdata import TargetedSwapping
    from tablecloak.tables.formats import read_columns

    with errors_as_messages():
        method = TargetedSwapping(
            hierarchy,
            household,
            risk,
            k=k,
            rate=rate,
            similar=[entry.split(",") for entry in similar or []] or [()],
            carry_along=carry_along or (),
            weight=weight,
        )
        profiles = [name for profile in method.similar for name in profile]
        needed = [household, *hierarchy, *risk, *profiles, *(carry_along or ())]
        frame = read_columns(file, needed, as_text=True)
        if weight is not None:
            frame[weight] = read_columns(file, [weight])[weight]
        release = method.protect(frame, seed=seed)
        summary, keys = release.summary(), [*hierarchy, *risk]
        _write(file, release.frame, output, report, method, summary, keys)
    typer.echo(summary)


def pram(
    file: Records,
    output: Output,
    key: Annotated[list[str], typer.Option(help="Attribute that an intruder knows; repeat.")],
    xi: Annotated[
        float, typer.Option(help="Largest probability of a correct match, from 3/7 to 1.")
    ] = 0.75,
    block: Annotated[
        list[str] | None, typer.Option(help="Attribute within which records move; repeat.")
    ] = None,
    seed: Seed = None,
    report: Report = None,
) -> None:
    """Move records between cells of the keys, so that no match is right too often (PRAM).

    Example: tablecloak pram people.csv -o released.csv --key age --key sex --xi 0.75
    """
    from tablecloak.microdata import GuaranteedPRAM
    from tablecloak.tables.formats import read_columns

    with errors_as_messages():
        method = GuaranteedPRAM(key, xi, blocks=block or ())
        frame = read_columns(file, [*key, *(block or ())], as_text=True)
        release = method.protect(frame, seed=seed)
        summary = f"PRAM: {release.summary()}"
        _write(file, release.frame, output, report, method, summary, key)
    typer.echo(summary)


def noise(
    file: Records,
    output: Output,
    column: Annotated[list[str], typer.Option(help="Sensitive numeric column; repeat.")],
    share: Annotated[
        float, typer.Option(min=0.0, help="Variance of the noise as a share of that of the data.")
    ],
    seed: Seed = None,
    report: Report = None,
) -> None:
    """Add normal noise with the covariance of the sensitive columns.

    Publish the share: users need it to correct variances and slopes.

    Example: tablecloak noise people.csv -o masked.csv --column wage --column bonus --share 0.15
    """
    from tablecloak.microdata import CovarianceNoise
    from tablecloak.tables.formats import read_columns

    with errors_as_messages():
        frame, method = read_columns(file, column), CovarianceNoise(column, share)
        release = method.protect(frame, seed=seed)
        summary = (
            f"noise: {len(release.frame)} records, {len(column)} columns, variances grow by "
            f"{100 * share:.4g} %"
        )
        _write(file, release.frame, output, report, method, summary)
    typer.echo(summary)


def neighbours(
    file: Records,
    output: Output,
    eps: Annotated[float, typer.Option(help="Radius, in standard deviations.")],
    column: Annotated[
        list[str] | None, typer.Option(help="Column to mask, by default all; repeat.")
    ] = None,
    weight: Annotated[
        list[str] | None, typer.Option(help="Weight in the distance, as sex=0.2; repeat.")
    ] = None,
    together: Annotated[
        list[str] | None, typer.Option(help="Columns drawn together, as ms,phd; repeat.")
    ] = None,
    proportion: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the records to mask.")
    ] = 1.0,
    nearest: Annotated[
        int,
        typer.Option(min=0, help="Nearest records for those without neighbours; 0: missing."),
    ] = 1,
    seed: Seed = None,
    report: Report = None,
) -> None:
    """Replace each value by that of a random similar record (neighbourhood sampling).

    Example: tablecloak neighbours staff.csv -o masked.csv --eps 0.6 --weight sex=0.2
    """
    from tablecloak.errors import InputError
    from tablecloak.microdata import NeighbourhoodSampling
    from tablecloak.tables.formats import column_names, read_columns

    with errors_as_messages():
        weights = {}
        for entry in weight or []:
            name, _, value = entry.rpartition("=")
            try:
                weights[name] = float(value)
            except ValueError:
                raise InputError(f"--weight {entry!r} must look like sex=0.2.") from None
        method = NeighbourhoodSampling(
            eps,
            columns=column or None,
            weights=weights,
            proportion=proportion,
            groups=[entry.split(",") for entry in together or []],
            nearest=nearest,
        )
        frame = read_columns(file, column or column_names(file))
        release = method.protect(frame, seed=seed)
        _write(file, release.frame, output, report, method, release.summary())
    typer.echo(release.summary())
