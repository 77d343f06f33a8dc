"""Commands of ways to protect, with options from their parameters.

Options are made when a command is asked for: ways load slowly, and may be registered at run time.
Commands by hand add options of their own, and say what they write.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.main import get_command_from_info
from typer.models import CommandInfo

from tablecloak.cli.display import NOT_SAFE, reporting
from tablecloak.cli.entry import Program, made_later
from tablecloak.cli.files import (
    Between,
    Earlier,
    read_earlier,
    read_original,
    read_original_as_asked,
    require_writable_result,
    write_result,
)
from tablecloak.cli.names import LiveCommand
from tablecloak.cli.options import (
    Certificate,
    Output,
    ProblemFile,
    SecretSeed,
    Seed,
    Solver,
    Threads,
    TimeLimit,
    Tolerance,
    Verbose,
)

if TYPE_CHECKING:
    from tablecloak.cta.result.adjustment import Adjustment
    from tablecloak.parameters import Parameter


PANEL = "Protect a table"
"""What help lists these commands under."""


def of_way(way: str, **differences: Any) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Let options of a command be parameters of a way to protect, besides some of its own.

    Declared parameters of the command are options as typer reads them. Those of the way come as
    further keywords, where they were typed or have a default.

    Parameters
    ----------
    way : str
    **differences
        See `command_of`.
    """

    def marked(run: Callable[..., None]) -> Callable[[], None]:
        name = run.__name__.strip("_")
        return made_later(partial(command_of, name, way, run, has_weights=True, **differences), run)

    return marked


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
        CommandInfo(
            name=name,
            cls=LiveCommand,
            callback=run_typed,
            help=inspect.getdoc(run),
            rich_help_panel=PANEL,
        ),
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
    from tablecloak.tables.weights import WEIGHT_RULES

    text = texts.get(parameter.name, parameter.help)
    text = re.sub(r"`(\w+)`", lambda key: "--" + key[1].replace("_", "-"), text)
    is_weights = has_weights and parameter.name == "weights"
    kind = Annotated[str, NameIn(WEIGHT_RULES)] if is_weights else parameter.annotation
    default = defaults.get(parameter.name, parameter.default)
    return Parameter(parameter.name, Annotated[kind, Field(description=text)], default)


class AllCommands(Program):
    """All commands, among them one for each way to protect."""

    @staticmethod
    def made() -> dict[str, Any]:
        """Return the commands of the ways that have none by hand."""
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


@of_way(
    "suppression",
    without=("cost",),
    defaults={"weights": "file", "hold": "strict"},
    texts={"hold": "Whether protection against insiders is required."},
)
def suppress(
    file: ProblemFile,
    output: Output,
    published: Earlier = None,
    between: Between = None,
    time_limit: TimeLimit = 60.0,
    seed: Seed = 0,
    threads: Threads = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
    certificate: Certificate = None,
    verbose: Verbose = False,
    **asked: Any,
) -> None:
    """Find a suppression pattern and prove it.

    Writes `cell,status` (published, primary or secondary) for every cell in file order, and
    prints a verdict in four lines; with --verbose also loss, bound, gap and seconds. The statuses
    tell which cells are sensitive: publish only that a cell is suppressed. Exit code 0 only if the
    proof was checked.

    With --groups, FILE is a job (.toml): its rules must hold for sums of hidden cells as well.

    With --published the pattern protects together with earlier releases. Sensitive cells that these
    disclose by themselves are named, with the sum from which that follows; the output is secret.

    Example: tablecloak suppress table.jj -o pattern.csv --weights value --time-limit 30

    Example: tablecloak suppress year.csv -o year_pattern.csv --published q1.csv=q1_problem.csv
    """
    from tablecloak.publish.released_cells import read_previous
    from tablecloak.suppression.suppress import suppress as run

    previous = asked.pop("previous", None)
    with reporting() as reporter:
        problem, rules = read_original(file, tolerance, groups=asked.pop("groups"))
        require_writable_result(output, certificate)
        pattern = run(
            problem,
            **asked,
            groups=rules,
            published=read_earlier(problem, published, between),
            previous=None if previous is None else read_previous(problem, previous),
            time_limit=time_limit,
            seed=seed,
            threads=threads,
            solver=solver,
            progress=reporter,
        )
        frame = problem.table.keys.assign(status=pattern.statuses()[pattern.given_cells])
        write_result(pattern, frame, output, certificate, secret=True)
    typer.echo(pattern.verdict())
    if verbose:
        typer.echo(pattern.summary())
    for statement in pattern.insiders.statements() if pattern.insiders else ():
        typer.echo(statement)
    for cell in pattern.before.disclosed if pattern.before else ():
        typer.echo(f"disclosed before: {cell}")


SameDigits = Annotated[
    bool,
    typer.Option(
        "--same-digits",
        help="Round to the digits of the true values, within relations and levels, so that "
        "digits do not show which cells were changed. The loss grows a little.",
    ),
]
DistanceSeed = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Seed of the distances of --recovery; whoever knows it can compute the truth. "
        "Default: taken from the machine, and known to nobody.",
    ),
]

MARKED = (
    "note: changed values have more digits than the true ones, which tells readers which cells "
    "were changed. Do not publish this file; make another with --same-digits."
)


@of_way("adjustment", without=("cost", "capacity", "capacity_percent", "measurement_error"))
def adjust(
    file: ProblemFile,
    output: Output,
    same_digits: SameDigits = False,
    time_limit: TimeLimit = 60.0,
    seed: DistanceSeed = None,
    threads: Threads = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
    certificate: Certificate = None,
    verbose: Verbose = False,
    **asked: Any,
) -> None:
    """Move sensitive cells to safe values and the rest as little as possible.

    Writes the codes and `value` for every cell, and prints a verdict in four lines; with --verbose
    also loss, bound, gap and seconds. Exit code 0 only if table, levels and bound were checked. To
    publish the file, take --same-digits: without it changed values can have more digits than the
    true ones, and a note says so.

    Example: tablecloak adjust table.jj -o adjusted.csv --preserve regression --preserve mean:all
    """
    from tablecloak.cta.adjust import adjust as run
    from tablecloak.cta.result.decimals import in_decimals
    from tablecloak.solve.solver import using_solver
    from tablecloak.tables.formats import read_problem

    with using_solver(solver), reporting() as reporter:
        problem = read_problem(file, tolerance=tolerance)
        require_writable_result(output, certificate)
        adjusted = run(
            problem,
            **asked,
            seed=seed,
            time_limit=time_limit,
            threads=threads,
            progress=reporter,
        )
        if same_digits:
            adjusted = in_decimals(adjusted, time_limit=time_limit)
        is_marked = _write(adjusted, output, certificate)
    typer.echo(adjusted.verdict())
    if verbose:
        typer.echo(adjusted.summary())
    if is_marked:
        typer.echo(MARKED)
    if (asked["repair"] or "recovery" in asked) and adjusted.notes:
        typer.echo(f"note: {adjusted.notes[-1]}")


def _write(adjusted: Adjustment, output: Path, certificate: Path | None) -> bool:
    """Write table and proofs; return whether digits tell which cells were changed."""
    from tablecloak.cta.result.decimals import marks_changes

    table, is_marked = adjusted.problem.table, marks_changes(adjusted)
    if is_marked:
        frame = table.keys.assign(value=adjusted.values)
    else:
        frame = adjusted.release().rename(columns={table.name: "value"})
    write_result(adjusted, frame, output, certificate, secret=is_marked)
    return is_marked


@of_way("intervals")
def intervals(
    file: ProblemFile,
    output: Output,
    time_limit: TimeLimit = 60.0,
    seed: SecretSeed = None,
    tolerance: Tolerance = 0.0,
    solver: Solver = None,
    certificate: Certificate = None,
    **asked: Any,
) -> None:
    """Publish intervals instead of gaps (partial suppression), and prove them.

    Writes the codes with `lower` and `upper` for every cell, equal where the value itself is
    published; this file may be published. Prints one line with loss, bound, gap and seconds.

    Example: tablecloak intervals table.jj -o intervals.csv --time-limit 30
    """
    from tablecloak.suppression.intervals.intervals import publish_intervals
    from tablecloak.tables.formats import read_problem

    with reporting() as reporter:
        problem = read_problem(file, tolerance=tolerance)
        require_writable_result(output, certificate)
        published = publish_intervals(
            problem,
            **asked,
            time_limit=time_limit,
            seed=seed,
            solver=solver,
            progress=reporter,
        )
        write_result(published, published.release(), output, certificate)
    typer.echo(published.summary())


SmallCounts = Annotated[
    bool,
    typer.Option("--small-counts", help="Round counts below the base only, to 0 or to the base."),
]


@of_way("rounding")
def round_(
    file: ProblemFile,
    output: Output,
    small_counts: SmallCounts = False,
    time_limit: TimeLimit = 60.0,
    threads: Threads = None,
    solver: Solver = None,
    certificate: Certificate = None,
    **asked: Any,
) -> None:
    """Round a table of counts so that it stays additive (controlled rounding), and audit it.

    Writes the codes and `value` for every cell; this file may be published. Prints one
    line with loss, bound, gap and seconds, and one that says how many sensitive cells can be
    computed more precisely than their levels allow. If there are any, nothing is written and the
    exit code is 1. Rounding does not take levels into account, so choose a larger base.

    With --small-counts, the audit checks that no small count can be told from another.

    Example: tablecloak round counts.jj -o rounded.csv --base 5
    """
    from tablecloak.cta.rounding.controlled import controlled_rounding
    from tablecloak.cta.rounding.small_counts import small_count_rounding
    from tablecloak.publish.audit import audit
    from tablecloak.solve.solver import using_solver
    from tablecloak.tables.formats import read_problem

    with using_solver(solver), reporting() as reporter:
        problem = read_problem(file)
        require_writable_result(output, certificate)
        limits: Any = {"time_limit": time_limit, "progress": reporter}
        if small_counts:
            del asked["max_steps"]
            rounded: Any = small_count_rounding(problem, threads=threads, **asked, **limits)
        else:
            rounded = controlled_rounding(problem, **asked, **limits)
        audited = audit(rounded.problem, rounded, threads=threads, **limits)
        if audited.is_safe:
            frame = rounded.release().rename(columns={problem.table.name: "value"})
            write_result(rounded, frame, output, certificate)
    typer.echo(rounded.summary())
    for note in rounded.notes:
        typer.echo(f"note: {note}")
    typer.echo(audited.summary())
    if not audited.is_safe:
        typer.echo("Nothing was written. Take a larger --base.", err=True)
        raise typer.Exit(NOT_SAFE)
