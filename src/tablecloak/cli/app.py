"""``tablecloak app``: tables protected by clicking, on a page of this machine only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("app")(serve)


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Keep uploads and results in this folder. Default: remove them at the end.",
            writable=True,
        ),
    ] = None,
) -> None:
    """Open a page on this machine: load a file, choose, protect, look, compare, download.

    Nothing leaves the machine. Every step shows the job file and the Python that do the same.
    Needs the extra `app`.

    Example: tablecloak app
    """
    from tablecloak.app import serve as serve_app

    serve_app(port, open_browser=browser, folder=folder)
