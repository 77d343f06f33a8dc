"""Batch files (.arb): one command a line, read into commands with their arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tablecloak.argus.places import lines_of
from tablecloak.errors import InputError, suggestion
from tablecloak.storage import existing_file

__all__ = ["Command", "Rule", "Specification", "read_batch", "read_rules", "read_specification"]

COMMANDS = (
    "OPENMICRODATA", "OPENTABLEDATA", "OPENMETADATA", "SPECIFYTABLE", "SAFETYRULE",
    "READMICRODATA", "READTABLE", "RECODE", "APRIORI", "SUPPRESS", "WRITETABLE", "CLEAR",
    "SOLVER", "LOGBOOK", "VERSIONINFO", "GOINTERACTIVE",
)  # fmt: skip


@dataclass(frozen=True)
class Command:
    """One line.

    Parameters
    ----------
    line : int
        Its number, from 1.
    name : str
        In capitals.
    text : str
        What follows.
    """

    line: int
    name: str
    text: str

    def arguments(self) -> list[str]:
        """Return the arguments between commas, without brackets and quotes."""
        plain = self.text.strip()
        if plain.startswith("(") and plain.endswith(")"):
            plain = plain[1:-1]
        parts = re.findall(r'\s*("[^"]*"|[^,]*)\s*(?:,|$)', plain)
        return [part.strip().strip('"') for part in parts[: plain_commas(plain) + 1]]


def plain_commas(text: str) -> int:
    """Number of commas outside quotes."""
    return re.sub(r'"[^"]*"', "", text).count(",")


@dataclass(frozen=True)
class Specification:
    """What SPECIFYTABLE asks for.

    Parameters
    ----------
    dimensions : list of str
    response, shadow, cost : str
        Empty if not given; cost can be -1 (frequency), -2 (unity), -3 (distance).
    power : float
        Costs are raised to it; 0 means their logarithm plus one.
    """

    dimensions: list[str]
    response: str
    shadow: str = ""
    cost: str = ""
    power: float = 1.0


@dataclass(frozen=True)
class Rule:
    """One rule of SAFETYRULE: its name and numbers."""

    name: str
    numbers: list[float]


def read_batch(path: str | Path) -> list[Command]:
    """Read a batch file.

    Raises
    ------
    InputError
        For a line that is no command, or an unknown one.
    """
    path = existing_file(path)
    commands = []
    for number, line in lines_of(path):
        found = re.match(r"<\s*([A-Za-z]+)\s*>(.*)$", line)
        if not found:
            raise InputError(f"{path}, line {number}: expected <COMMAND>, found {line[:40]!r}.")
        name = found.group(1).upper()
        if name not in COMMANDS:
            raise InputError(
                f"{path}, line {number}: <{name}> is not known.{suggestion(name, COMMANDS)}"
            )
        text = re.split(r'//(?=(?:[^"]*"[^"]*")*[^"]*$)', found.group(2))[0]
        commands.append(Command(number, name, text.strip()))
    if not commands:
        raise InputError(f"{path}: no command was found.")
    return commands


def read_specification(command: Command, path: Path) -> Specification:
    """Read ``"a""b"|"response"|"shadow"|"cost",lambda``."""
    parts = [part.strip() for part in command.text.split("|")]
    dimensions = re.findall(r'"([^"]*)"', parts[0])
    if not dimensions or len(parts) < 2:
        raise InputError(
            f'{path}, line {command.line}: expected "dimension""dimension"|"response", found '
            f"{command.text!r}."
        )
    response = parts[1].strip('"').strip()
    shadow = parts[2].strip('"').strip() if len(parts) > 2 else ""
    cost, power = "", 1.0
    if len(parts) > 3:
        found = re.match(r'"?([^",]*)"?\s*(?:,\s*([0-9.]+))?', parts[3])
        assert found is not None
        cost = found.group(1).strip()
        power = float(found.group(2)) if found.group(2) else 1.0
    return Specification(dimensions, response, shadow, cost, power)


def read_rules(command: Command, path: Path) -> list[Rule]:
    """Read ``P(10,1)|FREQ(3,20)|``."""
    rules = []
    for part in filter(None, (part.strip() for part in command.text.split("|"))):
        found = re.fullmatch(r"([A-Za-z]+)\s*\(([^)]*)\)", part)
        try:
            assert found is not None
            numbers = [float(number) for number in found.group(2).split(",")]
        except (AssertionError, ValueError):
            raise InputError(
                f"{path}, line {command.line}: {part!r} is no rule such as P(10,1) or FREQ(3,20)."
            ) from None
        rules.append(Rule(found.group(1).upper(), numbers))
    return rules
