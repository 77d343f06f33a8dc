"""``tablecloak cellkey``: tables with noise that follows from the records behind each cell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.entry import Commands
from tablecloak.cli.files import require_writable_result
from tablecloak.cli.names import FRAME_FILES, LiveCommand
from tablecloak.cli.options import By, Engine, Output, TimeLimit, dimensions_of, reading_data
from tablecloak.errors import InputError, suggestion

if TYPE_CHECKING:
    from tablecloak.cellkey.perturbation import Perturbation


class CellKeyCommands(Commands):
    """A command for each kind of perturbation, besides those by hand."""

    @staticmethod
    def made() -> dict[str, Any]:
        """Return the commands of all kinds."""
        from tablecloak.cellkey import PERTURBATIONS

        return {kind.command or kind.name: _command(kind) for kind in PERTURBATIONS}


cellkey = typer.Typer(
    name="cellkey",
    cls=CellKeyCommands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help=(
        "Perturb tables by cell keys, as census offices do.\n\n"
        "`secret` and `keys` give each record its key, once; `design` makes a perturbation table; "
        "`count` and `sum` make tables; `attack` tells what an intruder can infer from them."
    ),
)

RecordFile = Annotated[
    Path, typer.Argument(help=f"Records: {FRAME_FILES.placeholder}. They stay inside.")
]
Value = Annotated[str | None, typer.Argument(help="Column to add up, where sums are perturbed.")]
Weight = Annotated[str | None, typer.Option(help="Column with sampling weights.")]
Inside = Annotated[
    Path | None,
    FRAME_FILES.option(
        "--inside", text="Write true values, keys and changes, which are secret:", writable=True
    ),
]


@cellkey.command()
def secret(
    path: Annotated[Path, typer.Argument(help="File to write; keep it safe.", writable=True)],
) -> None:
    """Make the secret from which record keys are computed, once for an office.

    Example: tablecloak cellkey secret office.key
    """
    from tablecloak.cellkey import make_secret

    make_secret(path)
    typer.echo(f"{path}: keep it, and keep it secret. Another secret changes every table.")


@cellkey.command(cls=LiveCommand)
@reading_data
def keys(
    file: RecordFile,
    output: Output,
    identifier: Annotated[
        str, typer.Option("--id", help="Column that identifies each record for ever.")
    ],
    secret: Annotated[
        Path | None,
        typer.Option(help="File made by `secret`: a record then has the same key in every file."),
    ] = None,
    column: Annotated[str, typer.Option(help="Column to write the keys to.")] = "record_key",
    whole: Annotated[
        int | None,
        typer.Option(min=2, help="Draw whole keys below this number, as the ONS does."),
    ] = None,
) -> None:
    """Add a column of record keys to a file of records, which must stay inside.

    Example: tablecloak cellkey keys people.csv -o keyed.csv --id person --secret office.key
    """
    from tablecloak.cellkey import draw_record_keys, read_secret
    from tablecloak.tables.formats import column_names, read_columns, write_frame
    from tablecloak.tables.formats.format import NO_RECORDS

    require_writable_result(output)
    if not column.strip():
        raise InputError("--column: the column of the keys needs a name, such as record_key.")
    if column in column_names(file):
        raise InputError(
            f"{file}: has a column {column!r} already. New keys would change every table; name "
            f"another --column if you want that."
        )
    identifiers = read_columns(file, [identifier], as_text=True)[identifier]
    if not len(identifiers):
        raise InputError(f"{file}: {NO_RECORDS}")
    drawn = draw_record_keys(
        identifiers, secret=None if secret is None else read_secret(secret), n_keys=whole
    )
    copied = read_columns(file, column_names(file), as_text=True)
    write_frame(copied.assign(**{column: drawn}), output, secret=True)
    typer.echo(f"{len(drawn):,} record keys in column {column!r} of {output}: keep it inside.")


@cellkey.command(cls=LiveCommand)
def design(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="CSV file to write.", writable=True)
    ],
    deviation: Annotated[int, typer.Option(min=1, help="Largest change of a count (D).")] = 5,
    variance: Annotated[float, typer.Option(min=0.0, help="Variance of the change (V).")] = 3.0,
    blocked: Annotated[
        int, typer.Option(min=0, help="Publish no count from 1 to this number (js).")
    ] = 2,
    stay: Annotated[
        float, typer.Option(min=0.0, max=0.99, help="Least chance of no change (pstay).")
    ] = 0.0,
    monotone: Annotated[
        bool, typer.Option(help="Make larger negative changes never more likely than smaller ones.")
    ] = True,
    shuffle: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Mix the intervals by this seed, so that keys do not tell whether counts rise.",
        ),
    ] = None,
) -> None:
    """Design a perturbation table of largest entropy, in the layout of ptable and tau-ARGUS.

    Example: tablecloak cellkey design -o ptable.csv --deviation 5 --variance 3 --blocked 2
    """
    from tablecloak.cellkey import design_count_table, write_perturbations
    from tablecloak.storage import require_writable

    require_writable(output)
    table = design_count_table(
        deviation, variance, blocked=blocked, stay=stay or None, monotone=monotone
    )
    if shuffle is not None:
        table = table.shuffled(seed=shuffle)
    write_perturbations(table, output)
    typer.echo(table.moments().to_string(index=False))
    typer.echo(f"Written: {output}. Keep it inside.")


def _command(kind: type[Perturbation]) -> Any:
    """Return the command of a kind of perturbation."""
    from tablecloak.cellkey import PERTURBATIONS
    from tablecloak.cli.method_options import TypedOption, made_command

    @reading_data
    def perturb(
        file: RecordFile,
        output: Output,
        by: By,
        value: Value = None,
        weight: Weight = None,
        inside: Inside = None,
        engine: Engine = "duckdb",
        **given: Any,
    ) -> None:
        from tablecloak.protection import Records
        from tablecloak.tables.formats import write_frame

        require_writable_result(output, inside)
        design = PERTURBATIONS.build(kind.name, **given)
        asked = Records(file, [dimensions_of(by)], value=value, weight=weight, engine=engine)
        design.check(asked)
        made = design.perturb(asked)
        (table,) = made.tables
        write_frame(table.release(), output)
        if inside is not None:
            write_frame(table.to_frame(), inside, secret=True)
        typer.echo(table.summary())
        lost = made.utility()
        typer.echo(
            f"False zeros: {lost.false_zeros:,}. Mean distance {lost.distances.d1['mean']:.3g}, "
            f"relative {100 * lost.distances.d2['mean']:.3g} %."
        )

    options = [
        TypedOption(parameter)
        for parameter in PERTURBATIONS.parameters(kind.name)
        if parameter.name not in kind.by_rules
    ]
    text = f"{PERTURBATIONS.summary(kind.name)}\n\n{kind.guide}"
    return made_command(kind.command or kind.name, perturb, options, text=text)


@cellkey.command(cls=LiveCommand)
def attack(
    files: Annotated[list[Path], typer.Argument(help="Perturbed tables of the same records.")],
    by: By,
    ptable: Annotated[
        Path | None, typer.Option(help="Perturbation table, if the intruder knows it.")
    ] = None,
    deviation: Annotated[
        int | None, typer.Option(min=0, help="Largest change that the intruder assumes.")
    ] = None,
    threshold: Annotated[int, typer.Option(min=0, help="Counts below were not published.")] = 0,
    output: Annotated[
        Path | None,
        FRAME_FILES.option(
            "--output", "-o", text="Intervals of all cells (secret):", writable=True
        ),
    ] = None,
    time_limit: TimeLimit = 60.0,
) -> None:
    """Infer the interval of each true count from perturbed tables that do not add up.

    The tables have a column for each dimension, and `count`. Exit code 1 if a true count is
    determined exactly.

    Example: tablecloak cellkey attack counts.csv --by region=region.hrc --by sex --deviation 5
    """
    from tablecloak.cellkey import attack_counts, read_perturbations
    from tablecloak.cli.display import NOT_SAFE, reporting
    from tablecloak.tables.formats import read_frame, write_frame
    from tablecloak.tables.hierarchy import as_dimensions

    require_writable_result(output)
    specified = as_dimensions(dimensions_of(by))
    frames = [read_frame(file, tuple(specified)) for file in files]
    import pandas as pd

    trees = {}
    for name, dimension in specified.items():
        found = [frame[name].astype(str) for frame in frames if name in frame]
        if not found:
            known = dict.fromkeys(str(column) for frame in frames for column in frame)
            raise InputError(f"No table has a column {name!r}.{suggestion(name, known)}")
        trees[name] = dimension.resolve(pd.DataFrame({name: pd.concat(found)}))
    with reporting() as reporter:
        attacked = attack_counts(
            *frames,
            perturbations=None if ptable is None else read_perturbations(ptable),
            deviation=deviation,
            hierarchies=trees,
            threshold=threshold,
            time_limit=time_limit,
            progress=reporter,
        )
    if output is not None:
        write_frame(attacked.to_frame(), output, secret=True)
    typer.echo(attacked.summary())
    if attacked.determined[attacked.listed].any():
        raise typer.Exit(NOT_SAFE)
