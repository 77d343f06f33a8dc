"""Commands about the run itself: solver, log, version, windows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tablecloak import __version__
from tablecloak.argus.arguments import Arguments
from tablecloak.argus.command import COMMANDS, BatchCommand
from tablecloak.argus.lines import Command
from tablecloak.argus.outputs import Output
from tablecloak.argus.state import BatchState
from tablecloak.errors import InputError


@dataclass(frozen=True, eq=False)
class _Log(Output):
    """The log of the batch, written at its end."""

    lines: list[str] = field(default_factory=list)

    def write(self) -> None:
        """Write it."""
        Output(self.path, "".join(f"{line}\n" for line in self.lines), True).write()


@COMMANDS.register
class Solver(BatchCommand):
    """Name the solver."""

    name: ClassVar[str] = "SOLVER"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        name = arguments.word("the name of a solver").upper()
        if name not in ("FREE", "CPLEX", "XPRESS"):
            raise InputError(f"SOLVER takes FREE, CPLEX or XPRESS, found {name!r}.")
        licence = arguments.word("a licence") if arguments.maybe(",") else ""
        arguments.end()
        if name == "FREE":
            batch.say(command, "FREE: HiGHS; every answer is checked by its certificate")
        else:
            batch.skip(command, f"{name}: HiGHS solves; every answer is checked by its certificate")
        if licence:
            batch.skip(command, f"the licence {licence!r}: none is needed")


@COMMANDS.register
class Logbook(BatchCommand):
    """Write the log to a file."""

    name: ClassVar[str] = "LOGBOOK"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        path = batch.output_path(arguments.word("the name of a file"))
        arguments.end()
        batch.say(command, f"log in {path.name}")
        batch.outputs.append(_Log(path, "", True, is_table=False, lines=batch.log))


@COMMANDS.register
class VersionInfo(BatchCommand):
    """Write the version to a file."""

    name: ClassVar[str] = "VERSIONINFO"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        path = batch.output_path(arguments.word("the name of a file"))
        arguments.end()
        batch.say(command, f"version in {path.name}")
        text = f"tablecloak version: {__version__}\n"
        batch.outputs.append(Output(path, text, False, is_table=False))


@COMMANDS.register
class GoInteractive(BatchCommand):
    """Open a window; not applied, since there is none."""

    name: ClassVar[str] = "GOINTERACTIVE"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        arguments.end()
        batch.skip(command, "there is no window; see `tablecloak app`")


@COMMANDS.register
class Silent(BatchCommand):
    """Run without windows, as this program always does."""

    name: ClassVar[str] = "SILENT"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        arguments.end()
        batch.say(command, "no window is opened")
