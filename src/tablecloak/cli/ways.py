"""Commands of ways to protect, with options from their parameters.

Options are made when a command is asked for: ways load slowly, and may be registered at run time.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.main import get_command_from_info
from typer.models import CommandInfo

from tablecloak.cli.display import NOT_SAFE, reporting
from tablecloak.cli.entry import MADE, made_later
from tablecloak.cli.names import LiveCommand
from tablecloak.cli.options import Certificate, Output, ProblemFile, Seed, Threads
from tablecloak.cli.originals import read_original_as_asked
from tablecloak.cli.results import require_writable_result, write_result

if TYPE_CHECKING:
    from tablecloak.parameters import Parameter


def register() -> None:
    """Let the entry make commands of the ways that have none by hand, when it is asked for one."""
    if _commands not in MADE:
        MADE.append(_commands)


def register_by_hand(
    app: typer.Typer, name: str, way: str, run: Callable[..., None], **differences: Any
) -> None:
    """Add a command by hand, whose options are parameters of a way to protect and some of its own.

    Parameters
    ----------
    app : typer.Typer
    name, way : str
        Of the command, and of the way.
    run : callable
        Its declared parameters are options as typer reads them. Those of the way come as further
        keywords, where they were typed or have a default.
    **differences
        See `command_of`.
    """
    make = partial(command_of, name, way, run, has_weights=True, **differences)
    app.command(name, cls=LiveCommand)(made_later(make, run))


def command_of(
    name: str,
    way: str,
    run: Callable[..., None],
    *,
    without: Sequence[str] = (),
    defaults: Mapping[str, Any] = {},
    texts: Mapping[str, str] = {},
    has_weights: bool = False,
) -> Any:
    """Return the command of a way to protect.

    Parameters
    ----------
    name, way : str
    run : callable
    without : sequence of str
        Parameters that are no options: a finished problem has no columns of data, for example.
    defaults, texts : mapping of str to object
        Defaults and helps that differ from those of a job.
    has_weights : bool, default=False
        Whether the weights that came with the problem can be chosen; a job has none.
    """
    from tablecloak.cli.method_options import TypedOption, values_of
    from tablecloak.protection import PROTECTIONS

    hints = get_type_hints(run, include_extras=True)
    shared = [
        parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
        for parameter in inspect.signature(run).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    left_out = {*without, *(option.name for option in shared)}
    options = [
        TypedOption(_differing(parameter, defaults, texts, has_weights))
        for parameter in PROTECTIONS.parameters(way)
        if parameter.name not in left_out
    ]

    def run_typed(**typed: Any) -> None:
        given = values_of(options, typed)
        run(**{option.name: typed[option.name] for option in shared}, **given)

    declared = [*shared[:2], *(option.declared for option in options), *shared[2:]]
    run_typed.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    run_typed.__annotations__ = {option.name: option.annotation for option in declared}
    return get_command_from_info(
        CommandInfo(name=name, cls=LiveCommand, callback=run_typed, help=inspect.getdoc(run)),
        pretty_exceptions_short=True,
        rich_markup_mode="markdown",
    )


def _differing(
    parameter: Parameter, defaults: Mapping[str, Any], texts: Mapping[str, str], has_weights: bool
) -> Parameter:
    """Return a parameter of a job as a command has it: keys in its help are options there."""
    from pydantic import Field

    from tablecloak.parameters import Parameter
    from tablecloak.registered import NameIn
    from tablecloak.tables.weights.rule import WEIGHT_RULES

    text = texts.get(parameter.name, parameter.help)
    text = re.sub(r"`(\w+)`", lambda key: "--" + key[1].replace("_", "-"), text)
    is_weights = has_weights and parameter.name == "weights"
    kind = Annotated[str, NameIn(WEIGHT_RULES)] if is_weights else parameter.annotation
    default = defaults.get(parameter.name, parameter.default)
    return Parameter(parameter.name, Annotated[kind, Field(description=text)], default)


def _commands() -> dict[str, Any]:
    from tablecloak.protection import PROTECTIONS

    names = [way.name for way in PROTECTIONS if not (way.command or way.is_alone)]
    return {name.replace("_", "-"): _command(name) for name in names}


def _command(name: str) -> Any:
    """Return the command of a way to protect that has none by hand."""
    from tablecloak.protection import PROTECTIONS

    command = name.replace("_", "-")

    def protect(
        file: ProblemFile,
        output: Output,
        certificate: Certificate = None,
        seed: Seed = 0,
        threads: Threads = None,
        **asked: Any,
    ) -> None:
        from tablecloak.protection import Attackers, Material, Product

        require_writable_result(output, certificate)
        way = PROTECTIONS.build(name, **asked)
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

    protect.__doc__ = (
        f"{PROTECTIONS.summary(name)}\n\nPrints what was found, and what an audit says. What may "
        f"be published is written only if the audit finds it safe; else the exit code is "
        f"{NOT_SAFE}.\n\nExample: tablecloak {command} table.jj -o protected.csv"
    )
    return command_of(command, name, protect)
