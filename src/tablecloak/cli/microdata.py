"""``swap``, ``pram``, ``noise`` and ``neighbours``: records in, protected records out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.display import errors_as_messages
from tablecloak.storage import require_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt
    import pandas as pd

__all__ = ["register"]

Records = Annotated[Path, typer.Argument(help="Records: CSV or Parquet, one row each.")]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="CSV or Parquet file of protected records to write.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0, help="Keep it secret: whoever knows it can undo the release. Default: drawn anew."
    ),
]


KeepOrder = Annotated[
    bool,
    typer.Option(
        "--keep-order",
        help="Write the records in the order of the file instead of a random one; refused if it "
        "tells what changed.",
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


def _protect(method: Any, frame: pd.DataFrame, seed: int | None) -> Any:
    """Protect records; their order is dealt with when they are written."""
    from tablecloak.microdata import OrderWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderWarning)
        return method.protect(frame, seed=seed)


@dataclass(frozen=True)
class _Files:
    """Where records come from and go to, and in which order."""

    source: Path
    output: Path
    report: Path | None
    keep_order: bool
    seed: int | None

    def __post_init__(self) -> None:
        require_writable(self.output, self.report)

    def write(
        self,
        frame: pd.DataFrame,
        release: pd.DataFrame,
        changed: Sequence[str],
        method: object,
        summary: str,
        keys: Sequence[str] = (),
        first: npt.NDArray[np.bool_] | slice = slice(None),
    ) -> None:
        """Write the records, and the page if there is to be one.

        Parameters
        ----------
        frame, release : pandas.DataFrame
            The columns that were read, before and after. Others are copied piece by piece.
        changed : sequence of str
            Columns that the method changes.
        method : object
        summary : str
        keys : sequence of str, default=()
            For the page.
        first : array of bool or slice
            Records that stand for all that change together, such as those of a household.
        """
        from tablecloak.microdata.order import places, refuse_sorted
        from tablecloak.tables.formats import (
            column_names,
            read_columns,
            read_frame,
            replace_columns,
        )

        refuse_sorted(
            frame.iloc[first],
            changed,
            [name for name in column_names(self.source) if name not in changed],
            lambda name: read_columns(self.source, [name])[name].iloc[first],
            keep_order=self.keep_order,
        )
        if self.report is not None:
            from tablecloak.render.microdata_report import write_report

            original = read_frame(self.source)
            new = {name: release[name].to_numpy() for name in changed}
            write_report(
                self.report,
                original,
                original.assign(**new),
                title=f"{type(method).__name__}: {self.output.name}",
                summary=summary,
                parameters=vars(method),
                keys=keys,
            )
        order = None if self.keep_order else places(len(frame), self.seed)
        replace_columns(self.source, self.output, release[list(changed)], order)


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
    keep_order: KeepOrder = False,
) -> None:
    """Exchange attributes within random pairs of records (data swapping).

    Prints risk (share of unswapped records in cells of 1 or 2) and distortion.

    Example: tablecloak swap people.csv -o swapped.csv --attribute age --rate 0.05
    --equal-on region
    """
    from tablecloak.microdata import DataSwapping
    from tablecloak.tables.formats import column_names, read_columns

    with errors_as_messages():
        files = _Files(file, output, report, keep_order, seed)
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
        release = _protect(method, frame, seed)
        summary = release.report.summary()
        keys = release.records.names
        files.write(frame, release.frame, attribute, method, summary, keys)
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
        float, typer.Option(min=0.0, max=1.0, help="Share of households of each area to swap.")
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
    keep_order: KeepOrder = False,
) -> None:
    """Exchange the places of risky households with those of similar ones (targeted swapping).

    Example: tablecloak swap-households census.csv -o swapped.csv --hierarchy state
    --hierarchy county --household home --risk job --risk age
    """
    from tablecloak.microdata import TargetedSwapping
    from tablecloak.tables.formats import read_columns

    with errors_as_messages():
        files = _Files(file, output, report, keep_order, seed)
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
        release = _protect(method, frame, seed)
        summary, keys = release.summary(), [*hierarchy, *risk]
        moved = [*hierarchy, *(carry_along or ())]
        first = ~frame[household].duplicated().to_numpy()
        files.write(frame, release.frame, moved, method, summary, keys, first)
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
    keep_order: KeepOrder = False,
) -> None:
    """Move records between cells of the keys, so that no match is right too often (PRAM).

    Example: tablecloak pram people.csv -o released.csv --key age --key sex --xi 0.75
    """
    from tablecloak.microdata import GuaranteedPRAM
    from tablecloak.tables.formats import read_columns

    with errors_as_messages():
        files = _Files(file, output, report, keep_order, seed)
        method = GuaranteedPRAM(key, xi, blocks=block or ())
        frame = read_columns(file, [*key, *(block or ())], as_text=True)
        release = _protect(method, frame, seed)
        summary = f"PRAM: {release.summary()}"
        files.write(frame, release.frame, key, method, summary, key)
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
    keep_order: KeepOrder = False,
) -> None:
    """Add normal noise with the covariance of the sensitive columns.

    Publish the share: users need it to correct variances and slopes.

    Example: tablecloak noise people.csv -o masked.csv --column wage --column bonus --share 0.15
    """
    from tablecloak.microdata import CovarianceNoise
    from tablecloak.tables.formats import read_columns

    with errors_as_messages():
        files = _Files(file, output, report, keep_order, seed)
        frame, method = read_columns(file, column), CovarianceNoise(column, share)
        release = _protect(method, frame, seed)
        summary = (
            f"noise: {len(release.frame)} records, {len(column)} columns, variances grow by "
            f"{100 * share:.4g} %"
        )
        files.write(frame, release.frame, column, method, summary)
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
    keep_order: KeepOrder = False,
) -> None:
    """Replace each value by that of a random similar record (neighbourhood sampling).

    Example: tablecloak neighbours staff.csv -o masked.csv --eps 0.6 --weight sex=0.2
    """
    from tablecloak.errors import InputError
    from tablecloak.microdata import NeighbourhoodSampling
    from tablecloak.tables.formats import column_names, read_columns

    with errors_as_messages():
        files = _Files(file, output, report, keep_order, seed)
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
        release = _protect(method, frame, seed)
        columns = list(release.frame.columns)
        files.write(frame, release.frame, columns, method, release.summary())
    typer.echo(release.summary())
