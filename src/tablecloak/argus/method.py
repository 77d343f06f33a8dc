"""The methods of SUPPRESS: one class each, with its numbers and what it does here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from tablecloak.argus.lines import Command, Suppression
from tablecloak.argus.outputs import Protected
from tablecloak.argus.state import BatchState
from tablecloak.argus.table_job import TableJob
from tablecloak.registry import Registry
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is to protect.

    Parameters
    ----------
    batch : BatchState
    command : Command
        The line.
    wanted : Suppression
        What it says.
    jobs : list of TableJob
        The tables.
    problem : ProtectionProblem
        All of them as one.
    seconds : float
    """

    batch: BatchState
    command: Command
    wanted: Suppression
    jobs: list[TableJob]
    problem: ProtectionProblem
    seconds: float

    def say(self, text: str) -> None:
        """Log what is done."""
        self.batch.say(self.command, text)


class ProtectionMethod(ABC):
    """What one method does."""

    name: ClassVar[str]

    arguments: ClassVar[tuple[tuple[str, float, float], ...]] = ()
    """Its numbers after that of the table: name, least and largest value."""

    minutes: ClassVar[float] = 1.0
    """How long it takes at most, if the batch does not say."""

    @abstractmethod
    def protect(self, task: Task) -> Protected:
        """Return the tables as they are published, with all cells of the problem."""


METHODS: Registry[ProtectionMethod] = Registry("method", "tablecloak.argus.methods")
"""All methods by name."""
