"""Entry point: ``tablecloak``."""

from __future__ import annotations

from typing import Annotated

from tablecloak import __version__
from tablecloak.cli.interrupts import ended_at_once

with ended_at_once():
    import typer

    from tablecloak.cli import (
        argus,
        audit,
        cellkey,
        check,
        compare,
        convert,
        example,
        explain,
        microdata,
        plan,
        protect,
        publish,
        reconcile,
        register,
        securesum,
        serve,
        transmit,
        ways,
    )
    from tablecloak.cli.entry import MADE, CommandLine, Commands
    from tablecloak.cli.names import LiveCommand


app = CommandLine(
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


for command in (
    protect.protect,
    plan.plan,
    ways.suppress,
    ways.intervals,
    ways.adjust,
    ways.round_,
    audit.audit,
    audit.verify,
    explain.explain,
    publish.publish,
    transmit.transmit,
    check.check,
    argus.argus,
    compare.compare,
    serve.app,
    serve.serve,
    serve.call,
    convert.convert,
    example.example,
    reconcile.reconcile,
):
    app.command(command.__name__.strip("_"), cls=LiveCommand)(command)
app.add_typer(register.register, name="register")
app.add_typer(securesum.securesum, name="securesum")
app.add_typer(cellkey.cellkey, name="cellkey")
MADE.extend([ways.commands, microdata.commands])

if __name__ == "__main__":
    app()
