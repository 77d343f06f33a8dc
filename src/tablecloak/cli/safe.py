"""``tablecloak safe``: decide on the outputs of a bundle, and release what was approved."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.entry import Commands
from tablecloak.errors import InputError, plain

if TYPE_CHECKING:
    from tablecloak.safe.decisions import Bundle, State

Folder = Annotated[Path, typer.Argument(help="Bundle: the folder that Project.finalise wrote.")]
Approve = Annotated[list[str] | None, typer.Option(help="Output to approve; repeat.")]
Reject = Annotated[list[str] | None, typer.Option(help="Output to reject; repeat.")]
Comment = Annotated[
    list[str] | None, typer.Option(help="OUTPUT=TEXT: comment of the checker; repeat.")
]
ApprovePassed = Annotated[
    bool, typer.Option("--approve-passed", help="Approve what passed and is undecided.")
]
Who = Annotated[str, typer.Option(help="Who decides; by default the name of the user.")]
Release = Annotated[
    Path | None, typer.Option(help="New folder for the files of approved outputs.", writable=True)
]


safe = typer.Typer(
    name="safe",
    cls=Commands,
    no_args_is_help=True,
    help="Check the outputs of researchers in a safe room.",
)


@safe.command()
def check(
    folder: Folder,
    approve: Approve = None,
    reject: Reject = None,
    comment: Comment = None,
    approve_passed: ApprovePassed = False,
    who: Who = "",
    release: Release = None,
) -> None:
    """List, approve and reject the outputs of a researcher's bundle, and release the approved ones.

    The same can be done in the page check.html of the bundle, which shows tables and reasons; put
    the decisions.json that it saves into the bundle. An output that failed can be approved with a
    comment only. With --release the files of approved outputs are copied into a new folder, after
    all outputs are decided and every checksum is the one that was decided on.

    Example: tablecloak safe check outputs

    Example: tablecloak safe check outputs --approve-passed --reject output_3
    --comment "output_3=few"

    Example: tablecloak safe check outputs --release released
    """
    from tablecloak.safe.decisions import Bundle

    bundle = Bundle(folder)
    comments = _comments(comment)
    states = _states(bundle, approve or [], reject or [], approve_passed)
    for name in dict.fromkeys([*states, *comments]):
        bundle.decide(name, states.get(name), comment=comments.get(name), who=who or _user())
    bundle.require_unchanged()
    if release is not None:
        bundle.require_releasable(release)
    if states or comments:
        typer.echo(f"written: {bundle.write()}")
    if release is not None:
        released = bundle.release(release)
        for path in released:
            typer.echo(f"released: {path}")
        if not released:
            typer.echo("released: nothing, since no output is approved")
        return
    for line in _listing(bundle):
        typer.echo(plain(line))


def _states(
    bundle: Bundle, approve: Sequence[str], reject: Sequence[str], passed: bool
) -> dict[str, State]:
    both = set(approve) & set(reject)
    if both:
        raise InputError(f"{sorted(both)[0]!r} is to be approved and rejected: give one of both")
    states: dict[str, State] = dict.fromkeys(approve, "approved")
    states |= dict.fromkeys(reject, "rejected")
    if passed:
        for name in bundle.undecided:
            if bundle.outputs[name]["status"] == "pass":
                states.setdefault(name, "approved")
    return states


def _comments(given: Sequence[str] | None) -> dict[str, str]:
    comments = {}
    for entry in given or ():
        name, sign, text = entry.partition("=")
        if not sign or not name:
            raise InputError(f"--comment {entry}: give it as OUTPUT=TEXT")
        comments[name] = text
    return comments


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _listing(bundle: Bundle) -> list[str]:
    """Return a line for each output, and below it what speaks against it."""
    lines = []
    for name, output in bundle.outputs.items():
        decision = bundle.decision(name)
        by = f" by {decision.who}" if decision.state and decision.who else ""
        state = decision.state or "undecided"
        lines.append(f"{name}: {output['kind']}, {output['status']}; {state}{by}")
        lines += [
            f"  {each['status']} ({each['rule']}): {each['text']}" for each in output["reasons"]
        ]
        if output["exception"]:
            lines.append(f"  wanted all the same: {output['exception']}")
        if decision.comment:
            lines.append(f"  comment: {decision.comment}")
    left = len(bundle.undecided)
    lines.append(f"{len(bundle.outputs) - left} of {len(bundle.outputs)} outputs are decided")
    return lines
