"""``tablecloak app``, ``serve`` and ``call``: pages for people, and JSON for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli import names
from tablecloak.cli.display import NOT_SAFE, reporting


def app(
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
    typer.echo("tablecloak starts; the address of its page follows in some seconds.", err=True)
    from tablecloak.app import serve as serve_app

    serve_app(port, open_browser=browser, folder=folder)


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 0,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. Any other one sends tables unencrypted."),
    ] = "127.0.0.1",
    jobs: Annotated[int, typer.Option(min=1, help="Questions answered at a time.")] = 2,
    most: Annotated[int, typer.Option(min=1, help="Most megabytes of a request.")] = 256,
    attached: Annotated[
        bool,
        typer.Option(
            "--attached", help="End with the standard input, so with the program that gave it."
        ),
    ] = False,
) -> None:
    """Answer questions of other programs in JSON over HTTP, on this machine.

    Prints the address and a token, which every request must carry. Each call takes what
    a job file says, as JSON, with its tables under `files`, and is answered by a job: its state,
    its progress, and the answer when there is one. /openapi.json describes all of it, and
    `tablecloak call --help` lists the calls. Needs the extra `app`.

    Example: tablecloak serve --port 8765

    Example of a question: curl "http://127.0.0.1:8765/v1/suppress?wait=60" -H "Authorization:
    Bearer TOKEN" -H "Content-Type: application/json" -d @request.json
    """
    from tablecloak.service import serve as run
    from tablecloak.service.server import MEGABYTE

    run(port, host=host, at_once=jobs, most_bytes=most * MEGABYTE, attached=attached)


def call(
    name: Annotated[str, names.CALLS.argument("Call:")],
    request: Annotated[Path, typer.Argument(help="The request, as `serve` takes it (.json).")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Answer to write (.json).", writable=True)
    ],
) -> None:
    """Answer one question of `serve` without a server: a request from a file, the answer to one.

    For programs in other languages, such as the R package. The answer is secret.

    Exit code 0: answered; 1: answered, but a release is not proved safe; 2: wrong input.

    Example: tablecloak call suppress request.json -o answer.json

    Example of request.json: {"data": {"kind": "table", "file": "cells.csv", "flags": "secret"},
    "dimensions": {"region": {}}, "files": {"cells.csv": {"region": ["N", "S", "Total"], "value":
    [3, 9, 12], "secret": [true, false, false]}}}
    """
    from tablecloak.service.request import answer_file

    with reporting() as reporter:
        answer = answer_file(name, request, output, reporter)
    typer.echo(f"written: {output}")
    if answer.get("is_safe") is False:
        typer.echo("NOT SAFE: a sensitive cell is not protected.", err=True)
        raise typer.Exit(NOT_SAFE)
