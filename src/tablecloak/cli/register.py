"""``tablecloak register``: what has left the office, and to whom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.display import NOT_SAFE
from tablecloak.cli.names import PROBLEM_FILES, LiveCommand
from tablecloak.cli.options import Made
from tablecloak.errors import InputError, listed

if TYPE_CHECKING:
    from tablecloak.publish.register import Overlap, Register

register = typer.Typer(
    name="register",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help=(
        "Keep what has left, so that new releases are protected together with it.\n\n"
        "A job with a section [register] finds the earlier releases that share cells, is protected "
        "together with them, and enters its own. These commands enter what left otherwise, list, "
        "find, recall and check. The folder is secret. See docs/register.md."
    ),
)

Folder = Annotated[Path, typer.Argument(help="Folder of the register; made by the first entry.")]
Series = Annotated[
    str, typer.Option(help="What is measured, where and when, as in 'turnover 2025'.")
]
Receiver = Annotated[str, typer.Option(help="Who gets it; 'public' is everybody.")]


NO_BOUNDS = (
    "A file of values without gaps is read as an adjusted table. Of a rounded table or one with "
    "small counts changed say so by --made; or enter it with --already-out: other releases of its "
    "cells are then refused."
)
"""What is said of a release that tells no bounds of its cells."""


def _begun(folder: Path) -> Register:
    """Return a register with entries: a name that was mistyped must not look like an empty one."""
    from tablecloak.publish.register import Register

    kept = Register(folder)
    if not kept.last:
        raise InputError(
            f"{folder}: there is no register. Check the name; the first entry makes the folder."
        )
    return kept


@register.command(name="list")
def list_(folder: Folder) -> None:
    """List all entries.

    Example: tablecloak register list register
    """
    for entry in _begun(folder).entries:
        what = entry.kind if not entry.recalls else f"recall of {entry.recalls} ({entry.reason})"
        if entry.recalls and not entry.has_left:
            what += ", which nobody received"
        revised = f", revises {listed(list(map(str, entry.revises)))}" if entry.revises else ""
        chosen = "".join(f", {c}={' or '.join(v)}" for c, v in (entry.only or {}).items())
        names = f", {listed(list(entry.variables))}" if entry.variables else ""
        safe = "" if entry.is_safe else ", NOT SAFE with those before"
        typer.echo(
            f"{entry.number}  {entry.date}  {what} to {entry.receiver}: {entry.title} "
            f"[{entry.series}{chosen}]{names}{revised}{safe}"
        )


@register.command()
def check(
    folder: Folder,
    receipt: Annotated[
        str, typer.Option(help="Receipt of an entry, as it was printed when it was entered.")
    ] = "",
) -> None:
    """Look for entries and files that are lost or were altered.

    Without a receipt of the last entry its loss cannot be noticed.

    Exit code 0: all is there; 1: something is not.

    Example: tablecloak register check register
    """
    from tablecloak.publish.register import Register

    # Who has a receipt is told that the entry is lost.
    kept = Register(folder) if receipt else _begun(folder)
    faults = kept.faults(receipt)
    for fault in faults:
        typer.echo(fault, err=True)
    if faults:
        raise typer.Exit(NOT_SAFE)
    entries = kept.entries
    last = f", the last with the receipt {entries[-1].receipt}" if entries else ""
    typer.echo(f"{len(entries)} entries are as they were entered{last}.")


@register.command()
def find(
    folder: Folder,
    job: Annotated[Path, typer.Argument(help="Job file (TOML) with a section [register].")],
) -> None:
    """Say which earlier releases share cells with a job, without protecting it.

    Example: tablecloak register find register job.toml
    """
    from tablecloak.jobs.job_file import read_job
    from tablecloak.jobs.load import load_problem
    from tablecloak.publish.records import restriction
    from tablecloak.publish.register import PUBLIC

    named = read_job(job)
    receiver = PUBLIC if named.registered is None else named.registered.receiver
    kept, problem = _begun(folder), load_problem(named)
    only = restriction(named.data.only)
    overlaps, refusals = kept.compared(problem, named.series, receiver, only)
    for overlap in overlaps:
        typer.echo(_said(overlap))
    typer.echo(f"{len(overlaps)} earlier releases count.")
    for refusal in refusals:
        typer.echo(refusal, err=True)
    if refusals:
        raise typer.Exit(NOT_SAFE)


def _said(overlap: Overlap) -> str:
    entry = overlap.entry
    if not overlap.shared:
        return f"{entry.number}: {entry.title} shares cells with one of the others"
    revised = f", {overlap.revised} of them revised" if overlap.revised else ""
    return (
        f"{entry.number}: {entry.title} shares {overlap.shared} cells{revised}, and has "
        f"{overlap.further} others"
    )


@register.command(cls=LiveCommand)
def add(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="What left: a release, or a transmission file.")],
    problem: Annotated[
        Path, typer.Option(help=f"The true table behind it: {PROBLEM_FILES.placeholder}.")
    ],
    series: Series = "",
    variable: Annotated[
        str | None,
        typer.Option(
            help="Name of the variable, as in jobs of the series. Default: as the release names it."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=CODE: `only` of its job, records with this code; repeat."),
    ] = None,
    receiver: Receiver = "public",
    title: Annotated[str, typer.Option(help="Title, for people.")] = "",
    made: Made = None,
    transmission: Annotated[
        bool, typer.Option("--transmission", help="It holds all values, hidden ones too.")
    ] = False,
    has_left: Annotated[
        bool, typer.Option("--already-out", help="Enter it even if it discloses something.")
    ] = False,
) -> None:
    """Enter what left without a job that did it.

    A release is audited together with those that share cells, and refused if it is not safe with
    them, unless it is out already. A receiver of a transmission file knows all values: what is sent
    to it later need not hold against it.

    Exit code 0: entered; 1: not, since it would disclose something; 2: wrong input.

    Example: tablecloak register add register table.csv --problem problem.csv --series "firms 2024"

    Example: tablecloak register add register rounded.csv --problem problem.csv --variable count
    --made rounding:5

    Example: tablecloak register add register transmission.csv --problem problem.csv
    --variable turnover --transmission --receiver Eurostat --series "firms 2025"
    """
    from dataclasses import replace

    from tablecloak.publish.audit import audit, known_ends, told_by
    from tablecloak.publish.besides import besides, besides_in, refuse_besides
    from tablecloak.publish.register import PUBLIC, Entry, Register, UnrelatedError
    from tablecloak.publish.released_cells import FIGURES, measure_of
    from tablecloak.tables.formats import read_problem

    if transmission and receiver == PUBLIC:
        raise InputError("--transmission: a file with all values is not public. Give --receiver.")
    if transmission and made:
        raise InputError("--transmission: its values are the true ones. Leave --made out.")
    truth = read_problem(problem)
    if variable is None and truth.table.variables is None:
        variable = measure_of(file, [str(name) for name in truth.table.keys.columns])
        if variable is None:
            raise InputError(
                f"{file}: it does not say which variable it is of. Name it by --variable as jobs "
                f"of this series do: with another name it counts for none of them."
            )
    figures = file.with_name(FIGURES)
    further = (*besides([truth], ()), *besides_in(figures))
    truth = replace(truth, table=replace(truth.table, name=variable or truth.table.name))
    kept, chosen = Register(folder), _chosen(only or [])
    ends, is_bounded, is_safe = (truth.table.values, truth.table.values), True, True
    if not transmission:
        try:
            refuse_besides(kept, further, series, receiver)
        except InputError:
            if not has_left:
                raise
            is_safe = False
        ends, is_bounded = known_ends(truth, told_by(truth, file, made))
        try:
            earlier = kept.published(truth, series, receiver, only=chosen)
        except UnrelatedError:
            if not has_left:
                raise
            is_safe = False
        else:
            audited = audit(truth, file, published=earlier, made=made)
            is_safe = is_safe and audited.is_safe
        if not is_safe and not has_left:
            together = f" together with {listed(list(earlier))}" if earlier and is_bounded else ""
            typer.echo(f"Not entered: it is not safe{together}. {audited.summary()}", err=True)
            if not is_bounded:
                typer.echo(NO_BOUNDS, err=True)
            raise typer.Exit(NOT_SAFE)
    entry = Entry(
        kind="transmission" if transmission else "release",
        title=title or file.stem,
        receiver=receiver,
        series=series,
        only=chosen,
        is_bounded=is_bounded,
        is_safe=is_safe,
        besides=further or None,
    )
    left = [file, *(path for path in [figures] if path.is_file())]
    entered = kept.enter(entry, truth, ends, left)
    typer.echo(f"Entered as {entered.number}. Receipt: {entered.receipt}")


def _chosen(only: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return which records a release is about."""
    from tablecloak.publish.records import restriction

    codes: dict[str, list[str]] = {}
    for given in only:
        column, sign, code = given.partition("=")
        if not column or not sign:
            raise InputError(f"--only {given}: give COLUMN=CODE.")
        codes.setdefault(column, []).append(code)
    return restriction(codes)


@register.command()
def recall(
    folder: Folder,
    number: Annotated[int, typer.Argument(min=1, help="Number of the entry.")],
    reason: Annotated[str, typer.Option(help="Why, for people.")],
    unsent: Annotated[
        bool, typer.Option("--unsent", help="Nobody received it: it counts no more.")
    ] = False,
) -> None:
    """Enter that a release is recalled, or that it never left.

    What somebody received cannot be taken back: new releases are protected together with a
    recalled one as before, unless nobody received it.

    Example: tablecloak register recall register 3 --reason "wrong year"
    """
    from tablecloak.publish.register import Register

    entered = Register(folder).recall(number, reason, has_left=not unsent)
    typer.echo(f"Entered as {entered.number}. Receipt: {entered.receipt}")
