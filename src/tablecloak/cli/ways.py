"""Commands of ways to protect that have none by hand, with options from their parameters."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command_from_info
from typer.models import CommandInfo

from tablecloak.cli.display import NOT_SAFE, reporting
from tablecloak.cli.entry import MADE
from tablecloak.cli.names import LiveCommand
from tablecloak.cli.options import Certificate, Output, ProblemFile, Seed, Threads
from tablecloak.cli.originals import read_original_as_asked
from tablecloak.cli.results import require_writable_result, write_result


def register() -> None:
    """Let the entry make a command of each way, when it is asked for one."""
    if _commands not in MADE:
        MADE.append(_commands)


def _commands() -> dict[str, Any]:
    from tablecloak.protection import PROTECTIONS

    ways = [way for way in PROTECTIONS if not (way.command or way.is_alone)]
    return {way.name.replace("_", "-"): _command(way.name) for way in ways}


def _command(name: str) -> Any:
    """Return the command of a way to protect."""
    from tablecloak.cli.method_options import TypedOption
    from tablecloak.protection import PROTECTIONS

    options = [TypedOption(parameter) for parameter in PROTECTIONS.parameters(name)]

    def run(
        file: Path,
        output: Path,
        certificate: Path | None,
        seed: int,
        threads: int | None,
        **typed: Any,
    ) -> None:
        require_writable_result(output, certificate)
        given = {
            option.parameter.name: option.value(typed[option.name])
            for option in options
            # Lists that were left out are empty, or None, by the version of typer.
            if typed[option.name] not in (None, [])
        }
        _protect(name, given, file, output, certificate, seed, threads)

    shared = [
        _keyword("file", ProblemFile),
        _keyword("output", Output),
        _keyword("certificate", Certificate, None),
        _keyword("seed", Seed, 0),
        _keyword("threads", Threads, None),
    ]
    declared = [*shared[:2], *(option.declared for option in options), *shared[2:]]
    run.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in declared}
    command = name.replace("_", "-")
    text = (
        f"{PROTECTIONS.summary(name)}\n\nPrints what was found, and what an audit says. What may "
        f"be published is written only if the audit finds it safe; else the exit code is "
        f"{NOT_SAFE}.\n\nExample: tablecloak {command} table.jj -o protected.csv"
    )
    return get_command_from_info(
        CommandInfo(name=command, cls=LiveCommand, callback=run, help=text),
        pretty_exceptions_short=True,
        rich_markup_mode="markdown",
    )


def _protect(
    name: str,
    given: dict[str, Any],
    file: Path,
    output: Path,
    certificate: Path | None,
    seed: int,
    threads: int | None,
) -> None:
    from tablecloak.protection import PROTECTIONS, Attackers, Material, Product

    way = PROTECTIONS.build(name, **given)
    problem, _, _ = read_original_as_asked(file, 0.0)
    objection = way.unfit(problem)
    if objection:
        raise typer.BadParameter(objection)
    with reporting() as reporter:
        material = Material.of(problem, seed=seed, is_seeded=True, threads=threads)
        release = way.run(material, reporter)
        product = Product(release, way.audited(release, material, Attackers()))
    for line in way.lines(product):
        typer.echo(line)
    if not product.audit.is_safe:
        typer.echo(f"{way.refusal(product)} Nothing was written.", err=True)
        raise typer.Exit(NOT_SAFE)
    proof = way.certificate(product)
    write_result(proof, release.release(), output, certificate if proof is not None else None)


def _keyword(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
