"""Batch files (.arb): one command a line, each read completely into what it asks for."""

from __future__ import annotations

import re
from pathlib import Path

from tablecloak.argus.arguments import Arguments
from tablecloak.argus.command import COMMANDS
from tablecloak.argus.lines import Command, Rule, Specification, Suppression, Writing
from tablecloak.argus.method import METHODS
from tablecloak.argus.places import lines_of
from tablecloak.errors import InputError, suggestion
from tablecloak.storage import existing_file

RULES = {
    "P": (1, 3, 4), "NK": (2, 2, 4), "FREQ": (2, 2, 2), "REQ": (4, 4, 2), "ZERO": (1, 1, 1),
    "MIS": (1, 1, 1), "WGT": (1, 1, 1), "MAN": (1, 1, 1),
}  # fmt: skip
"""For each rule the fewest and the most numbers, and how often it may be given."""

WHOLE = {("P", 1), ("P", 2), ("NK", 0), ("FREQ", 0), ("REQ", 2)}
"""Numbers of rules that must be whole, since they count; of P with three numbers the last one."""

ANY_NUMBER = {"bounds", "scale", "lower", "upper"}
"""Arguments of methods that need not be whole."""

OPTIONS = ("AS", "FL", "QU", "SE", "SO", "AR", "HI", "HL", "TR", "AO", "AD", "AC")


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
            near = suggestion(name, COMMANDS.names)
            raise InputError(f"{path}, line {number}: <{name}> is not known.{near}")
        text = re.split(r'//(?=(?:[^"]*"[^"]*")*[^"]*$)', found.group(2))[0]
        commands.append(Command(path, number, name, text.strip()))
    if not commands:
        raise InputError(
            f"{path}: no command was found. A batch of tau-ARGUS has a command on each line, such "
            "as <OPENMICRODATA>."
        )
    return commands


def read_specification(arguments: Arguments) -> Specification:
    """Read ``"a""b"|"response"|"shadow"|"cost",lambda``."""
    dimensions = [arguments.quoted("a dimension")]
    while not arguments.next_is("|"):
        dimensions.append(arguments.quoted("a dimension"))
        if dimensions[-1] in dimensions[:-1]:
            raise arguments.fail(f"the dimension {dimensions[-1]!r} is there twice")
    arguments.take("|")
    response, shadow, cost, power = arguments.word("the response"), "", "", 1.0
    if arguments.maybe("|"):
        shadow = arguments.optional()
    if arguments.maybe("|"):
        cost = arguments.optional()
        if arguments.maybe(","):
            power = arguments.number("the power of the costs", 0.0)
    arguments.end()
    return Specification(dimensions, response, shadow, cost, power)


def read_rules(arguments: Arguments) -> list[Rule]:
    """Read ``P(10,1)|FREQ(3,20)|``; empty means that statuses are given.

    Raises
    ------
    InputError
        For an unknown rule, one too many of a kind, or numbers that it does not take.
    """
    rules: list[Rule] = []
    while not arguments.is_read:
        name = arguments.word("the name of a rule")
        if not arguments.maybe("("):
            raise arguments.fail(f"{name!r} is no rule such as P(10,1) or FREQ(3,20)")
        if name.upper() not in RULES:
            raise InputError(
                f"{arguments.where}: there is no rule {name!r}.{suggestion(name.upper(), RULES)}"
            )
        rules.append(_rule(arguments, name.upper()))
        if sum(rule.name == rules[-1].name for rule in rules) > RULES[rules[-1].name][2]:
            raise arguments.fail(f"there are too many rules {rules[-1].name}")
        if not arguments.is_read:
            arguments.take("|")
    return rules


def _rule(arguments: Arguments, name: str) -> Rule:
    """Read the numbers of a rule, from behind the bracket."""
    fewest, most, _ = RULES[name]
    numbers = [arguments.number(f"number 1 of {name}", 0.0)]
    while arguments.maybe(","):
        numbers.append(arguments.number(f"number {len(numbers) + 1} of {name}", 0.0))
    arguments.take(")")
    if not fewest <= len(numbers) <= most:
        wanted = str(most) if fewest == most else f"{fewest} to {most}"
        raise arguments.fail(f"{name} takes {wanted} numbers, found {len(numbers)}")
    for at, number in enumerate(numbers):
        counts = (name, at) in WHOLE and (name != "P" or at == len(numbers) - 1)
        if counts and not number.is_integer():
            raise arguments.fail(f"number {at + 1} of {name} must be whole, found {number:g}")
    if name in ("MIS", "WGT") and numbers[0] not in (0, 1):
        raise arguments.fail(f"{name} takes 0 or 1, found {numbers[0]:g}")
    return Rule(name, numbers)


def read_suppression(arguments: Arguments) -> Suppression:
    """Read ``METHOD(table, number, ...)``."""
    method = arguments.word("a method").upper()
    if method == "CKM":
        raise arguments.fail(
            "SUPPRESS: cell keys (CKM) are not supported; take another method, such as MOD or RND"
        )
    if method not in METHODS:
        raise InputError(
            f"{arguments.where}: SUPPRESS: the method {method!r} is not known."
            f"{suggestion(method, METHODS.names)}"
        )
    declared = METHODS[method].arguments
    arguments.take("(")
    table = arguments.whole("the number of a table", 0)
    numbers: dict[str, float] = {}
    for name, low, high in declared:
        if not arguments.maybe(","):
            break
        if name in ("scale", "lower", "upper") and (
            arguments.next_is(",") or arguments.next_is(")")
        ):
            continue
        what = f"{method}: {name}"
        number = arguments.number(what, low, high)
        if name not in ANY_NUMBER and not number.is_integer():
            raise arguments.fail(f"{what} must be a whole number, found {number:g}")
        numbers[name] = number
    if arguments.next_is(","):
        most = 1 + len(declared)
        raise arguments.fail(f"{method} takes at most {most} numbers; {arguments.left!r} is left")
    arguments.take(")")
    arguments.end()
    return Suppression(method, table, numbers)


def read_writing(arguments: Arguments) -> Writing:
    """Read ``(table, type, options, "file")``."""
    arguments.take("(")
    table = arguments.whole("the number of a table", 1)
    arguments.take(",")
    kind = arguments.whole("the type", 0)
    arguments.take(",")
    text = arguments.optional().upper().replace(" ", "")
    arguments.take(",")
    file = arguments.word("the name of a file")
    arguments.take(")")
    arguments.end()
    options: dict[str, bool] = {}
    for found in re.finditer(r"([^+-]*)([+-]?)", text):
        if not found.group(0):
            continue
        name, sign = found.groups()
        if name not in OPTIONS or not sign:
            raise InputError(
                f"{arguments.where}: WRITETABLE: {found.group(0)!r} is no option such as AS+ or "
                f"SE-.{suggestion(name, OPTIONS)}"
            )
        if name in options:
            raise arguments.fail(f"WRITETABLE: the option {name} is given twice")
        options[name] = sign == "+"
    return Writing(table, kind, options, file)
