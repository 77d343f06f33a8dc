"""``tablecloak publish``: the files of a release, laid out as readers want them."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli import names
from tablecloak.cli.display import NOT_SAFE, reporting
from tablecloak.cli.files import (
    insiders_of_job,
    note_idle,
    read_earlier,
    read_original,
    read_pattern,
)
from tablecloak.cli.options import Original, Pattern, Tolerance
from tablecloak.errors import InputError

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the release.", writable=True)]
Formats = Annotated[list[str], names.RELEASES.option("--format", text="Format; repeat.")]
Title = Annotated[str, typer.Option(help="Title of the release.")]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", help="Dimension along the columns; repeat.")
]
Marker = Annotated[
    str, typer.Option(help="What stands for a hidden cell where dimensions are along the columns.")
]
Totals = Annotated[str, names.TOTALS.option("--totals", text="Where totals stand.")]
Into = Annotated[
    Path | None,
    typer.Option(
        help="Also fill a workbook of yours (.xlsx): layout and looks are kept, figures replaced.",
        exists=True,
    ),
]
Sheet = Annotated[str, typer.Option(help="Sheet of that workbook. Default: where the codes are.")]
Report = Annotated[bool, typer.Option(help="Add a page for readers.")]


def publish(
    original: Original,
    pattern: Pattern,
    out: Out = Path("release"),
    formats: Formats = ["csv"],  # noqa: B006
    title: Title = "",
    columns: Columns = None,
    marker: Marker = "c",
    totals: Totals = "first",
    into: Into = None,
    sheet: Sheet = "",
    report: Report = True,
    tolerance: Tolerance = 0.0,
) -> None:
    """Write the files of a release: what everybody may read of a table and its pattern.

    The pattern is attacked first by somebody outside, and each file is searched for hidden values.
    If ORIGINAL is a job, its earlier releases are known to all who attack, the insiders whom it
    must keep out attack as well, and a section [register] enters what is written, before it
    appears. Figures of [[derived]] are not written. With --columns the table is wide: the codes of
    these dimensions are its columns.

    Exit code 0: written; 1: the pattern does not protect, nothing is written; 2: wrong input.

    Example: tablecloak publish job.toml pattern.csv -o release --columns year --marker :

    Example: tablecloak publish job.toml pattern.csv -o release --into yearbook.xlsx
    """
    from tablecloak.jobs.run import enter_release
    from tablecloak.publish.audit import audit
    from tablecloak.publish.besides import besides
    from tablecloak.publish.publication import write_leaving
    from tablecloak.publish.register import Register
    from tablecloak.publish.released_cells import ABOUT
    from tablecloak.storage import replacing_folder, require_own_folder
    from tablecloak.tables.formats import OfficeWorkbook, ReleaseFormat
    from tablecloak.tables.formats.format import can_hold
    from tablecloak.tables.formats.layouts import Layout
    from tablecloak.tables.leaving import Leaving

    layout = Layout("wide" if columns else "long", columns or (), marker, totals)  # type: ignore[arg-type]
    if can_hold(out, ReleaseFormat):
        raise InputError(
            f"{out}: --out names a folder for all files of the release. Give the name of a folder, "
            f"and the format with --format."
        )
    problem, job = read_original(original, tolerance)
    registered = None if job is None else job.registered
    last = 0 if registered is None else Register(registered.folder).last
    suppressed = read_pattern(problem, pattern)
    require_own_folder(out, ABOUT)
    if layout.is_wide:
        layout.check(list(map(str, problem.table.keys.columns)))
    with reporting() as reporter:
        earlier = read_earlier(problem, None, None, job)
        insiders = insiders_of_job(problem, job, required=True)
        audited = audit(
            problem, suppressed, intruders=insiders, published=earlier, progress=reporter
        )
    note_idle(problem, job, insiders, "the job keeps them out as far as possible. See `audit`.")
    if not audited.is_safe:
        typer.echo(audited.summary())
        typer.echo("NOT SAFE: nothing is written. See `tablecloak audit`.", err=True)
        raise typer.Exit(NOT_SAFE)
    leaving = Leaving.of_pattern(problem, suppressed)
    kinds: list[str | ReleaseFormat] = [*formats]
    if into is not None:
        kinds.append(OfficeWorkbook(into, sheet, marker))
    with nullcontext(out) if registered is None else replacing_folder(out) as folder:
        files = write_leaving(
            leaving, folder, title=title, formats=kinds, report=report, withheld=None, layout=layout
        )
        if job is not None and registered is not None:
            content = problem, problem.ends(suppressed), True
            further = besides([problem], ())
            entry = enter_release(
                job, title or job.title, *content, files, besides=further, after=last
            )
    for file in files:
        typer.echo(str(out / file.relative_to(folder)))
    if registered is not None:
        for statement in entry.statements():
            typer.echo(statement)
