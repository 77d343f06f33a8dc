"""Entry point: ``tablecloak``."""

from __future__ import annotations

from typing import Annotated

from tablecloak import __version__
from tablecloak.cli.interrupts import ended_at_once

with ended_at_once():
    import typer

    from tablecloak.cli import (
        agencies,
        argus,
        audit,
        cellkey,
        compare,
        convert,
        example,
        explain,
        init,
        plan,
        protect,
        publish,
        reconcile,
        records,
        register,
        safe,
        serve,
        transmit,
        ways,
    )
    from tablecloak.cli.entry import CommandLine
    from tablecloak.cli.names import LiveCommand


app = CommandLine(
    cls=ways.AllCommands,
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


PANELS = {
    "Begin": (example.example, init.init, protect.protect, serve.app),
    ways.PANEL: (ways.suppress, ways.adjust, argus.argus),
    "Look at a release": (audit.audit, audit.verify, explain.explain, compare.compare),
    "Before and after": (
        plan.plan,
        convert.convert,
        reconcile.reconcile,
        publish.publish,
        transmit.transmit,
    ),
    "For other programs": (serve.serve, serve.call),
}
"""The commands as help lists them; others, made of registries, follow."""

for panel, commands in PANELS.items():
    for command in commands:
        name = command.__name__.strip("_")
        app.command(name, cls=LiveCommand, rich_help_panel=panel)(command)
GROUPS = (records.records, cellkey.cellkey, safe.safe, agencies.agencies, register.register)

for group in GROUPS:
    app.add_typer(group, rich_help_panel="Groups of commands")

if __name__ == "__main__":
    app()
