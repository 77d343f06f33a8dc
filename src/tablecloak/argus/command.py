"""The commands of a batch: one class each, found by the name in the file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tablecloak.argus.arguments import Arguments
from tablecloak.argus.lines import Command
from tablecloak.argus.state import BatchState
from tablecloak.registry import Registry


class BatchCommand(ABC):
    """What one command does."""

    name: ClassVar[str]
    """As it stands in brackets, in capitals."""

    @abstractmethod
    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply a line.

        Parameters
        ----------
        batch : BatchState
        command : Command
            The line.
        arguments : Arguments
            What follows the command. Whatever is not taken is an error.
        """


COMMANDS: Registry[BatchCommand] = Registry("command", "tablecloak.argus.commands")
"""All commands by name."""
