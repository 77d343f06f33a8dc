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
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.display import NOT_SAFE, reporting
from tablecloak.cli.entry import Program, made_later
from tablecloak.cli.files import (
    Between,
    Earlier,
    held_against,
    levels_of,
    note_idle,
    read_earlier,
    read_original,
    read_with_group_rules,
    refuse_earlier,
    require_writable_result,
    write_result,
)
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
    from tablecloak.cli.method_options import TypedOption, made_command
    from tablecloak.protection import PROTECTIONS

    left_out = {*without, *inspect.signature(run).parameters}
    options = [
        TypedOption(_differing(parameter, defaults, texts, has_weights))
        for parameter in PROTECTIONS.parameters(way)
        if parameter.name not in left_out
    ]
    return made_command(name, run, options, text=inspect.getdoc(run) or "", panel=PANEL)


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
        """Return the commands of all ways; those by hand are there already."""
        from tablecloak.protection import PROTECTIONS

        commands = [_command(way.name) for way in PROTECTIONS if not way.is_alone]
        return {command.name: command for command in commands}


def _command(name: str) -> Any:
    """Return the command of a way to protect that has none by hand."""
    from tablecloak.protection import PROTECTIONS

    command = PROTECTIONS[name].command or name.replace("_", "-")

    def protect(
        file: ProblemFile,
        output: Output,
        seed: SecretSeed = None,
        threads: Threads = None,
        tolerance: Tolerance = 0.0,
        solver: Solver = None,
        certificate: Certificate = None,
        **asked: Any,
    ) -> None:
        from tablecloak.protection import Attackers, Material, Product
        from tablecloak.solve.solver import using_solver

        require_writable_result(output, certificate)
        way = PROTECTIONS.build(name, **asked)
        problem, job = read_original(file, tolerance)
        refuse_earlier(file, job)
        objection = way.unfit(problem)
        if objection:
            raise typer.BadParameter(objection)
        with using_solver(solver), reporting() as reporter:
            material = Material.of(
                problem, seed=seed or 0, is_seeded=seed is not None, threads=threads
            )
            release = way.run(material, reporter)
            attackers = Attackers() if job is None else job.attackers
            product = Product(release, way.audited(release, material, attackers))
        for line in way.lines(product):
            typer.echo(line)
        attacked_by = getattr(product.audit, "intruders", ())
        note_idle(problem, job, attacked_by, "only [audit] lets them attack such a release.")
        if not product.audit.is_safe:
            typer.echo(f"{way.refusal(product)} Nothing was written.", err=True)
            raise typer.Exit(NOT_SAFE)
        proof = way.certificate(product)
        frame = release.release().rename(columns={problem.table.name: "value"})
        write_result(proof, frame, output, certificate if proof is not None else None)

    protect.__doc__ = (
        f"{PROTECTIONS.summary(name)}\n\nPrints what was found, and what an audit says. What may "
        f"be published is written only if the audit finds it safe; else the exit code is "
        f"{NOT_SAFE}.\n\nExample: tablecloak {command} table.jj -o protected.csv"
    )
    return command_of(command, name, protect)


@of_way(
    "suppression",
    without=("cost",),
    defaults={"weights": "file", "hold": None},
    texts={
        "protect_against": "Insiders against whom the pattern must protect as well, by default "
        "those of a job.",
        "hold": "Whether protection against insiders is required, by default as a job says, else "
        "strict.",
    },
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
    For growth rates on them write a job, with [[derived]] and the `period` of [[published]].

    Example: tablecloak suppress table.jj -o pattern.csv --weights value --time-limit 30

    Example: tablecloak suppress year.csv -o year_pattern.csv --published q1.csv=q1_problem.csv
    """
    from tablecloak.publish.released_cells import read_previous
    from tablecloak.suppression.suppress import suppress as run
    from tablecloak.tables.sums import Groups

    previous, room = asked.pop("previous", None), asked.pop("secondary_room")
    with reporting() as reporter:
        problem, rules, job = read_with_group_rules(file, tolerance, groups=asked.pop("groups"))
        require_writable_result(output, certificate)
        pattern = run(
            problem,
            **asked | held_against(problem, job, asked),
            groups=Groups.asked(rules, secondary_room=room, **levels_of(job)) or (),
            published=read_earlier(problem, published, between, job),
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
