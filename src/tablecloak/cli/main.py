"""Entry point: ``tablecloak``."""

from __future__ import annotations

from typing import Annotated

from tablecloak import __version__
from tablecloak.cli.interrupts import ended_at_once

with ended_at_once():
    import typer

    from tablecloak.cli import (
        adjust,
        argus,
        audit,
        cellkey,
        check,
        compare,
        convert,
        example,
        explain,
        intervals,
        microdata,
        plan,
        protect,
        publish,
        reconcile,
        rounding,
        securesum,
        serve,
        suppress,
        transmit,
        ways,
    )
    from tablecloak.cli import app as local_app
    from tablecloak.cli.entry import Commands, Program


app = Program(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help=(
        "Protect statistical tables before they are published, with certificates that anyone can "
        "check.\n\n"
        "Start with `tablecloak protect JOB.toml --out results/`, or with `tablecloak suppress "
        "FILE.jj -o out.csv` if you have a JJ file."
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tablecloak {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Protect statistical tables before they are published."""


protect.register(app)
plan.register(app)
suppress.register(app)
intervals.register(app)
adjust.register(app)
rounding.register(app)
audit.register(app)
explain.register(app)
publish.register(app)
transmit.register(app)
check.register(app)
argus.register(app)
compare.register(app)
local_app.register(app)
serve.register(app)
convert.register(app)
example.register(app)
ways.register()
microdata.register()
securesum.register(app)
cellkey.register(app)
reconcile.register(app)

if __name__ == "__main__":
    app()
