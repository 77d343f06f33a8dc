"""The lines of a batch after reading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tablecloak.argus.arguments import Arguments
from tablecloak.errors import TablecloakError


@dataclass(frozen=True)
class Command:
    """One line.

    Parameters
    ----------
    path : Path
        The batch file.
    line : int
        Its number, from 1.
    name : str
        In capitals.
    text : str
        What follows.
    """

    path: Path
    line: int
    name: str
    text: str

    def arguments(self) -> Arguments:
        """Return the arguments, to be read one by one."""
        return Arguments(f"{self.path}, line {self.line}", self.text)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name file and line in errors that do not name them yet."""
        try:
            yield
        except TablecloakError as error:
            if str(error).startswith(str(self.path)):
                raise
            text = f"{self.path}, line {self.line}: {error}"
            raise type(error)(text, cells=error.cells) from error


@dataclass(frozen=True)
class Rule:
    """One rule of SAFETYRULE: its name and numbers."""

    name: str
    numbers: list[float]

    def __str__(self) -> str:
        return f"{self.name}({','.join(f'{number:g}' for number in self.numbers)})"


@dataclass(frozen=True)
class Specification:
    """What SPECIFYTABLE asks for.

    Parameters
    ----------
    dimensions : list of str
    response, shadow, cost : str
        Empty if not given; cost can be -1 (frequency), -2 (unity), -3 (distance).
    power : float
        Exponent of the costs; 0 means the logarithm of cost plus one.
    """

    dimensions: list[str]
    response: str
    shadow: str = ""
    cost: str = ""
    power: float = 1.0


@dataclass(frozen=True)
class Suppression:
    """What SUPPRESS asks for.

    Parameters
    ----------
    method : str
    table : int
        0 for all tables.
    numbers : dict of str to float
        The arguments that were given, by the names that the method declares.
    """

    method: str
    table: int
    numbers: dict[str, float]

    def has(self, *names: str) -> bool:
        """Whether one of these was asked for."""
        return any(self.numbers.get(name) for name in names)


@dataclass(frozen=True)
class Writing:
    """What WRITETABLE asks for; `options` holds those that were named."""

    table: int
    kind: int
    options: dict[str, bool]
    file: str
