"""The lines of a batch: arguments read one by one until nothing is left, and what they ask for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tablecloak.errors import InputError, TablecloakError, require_known, suggestion

_TOKEN = re.compile(r'\s*(?:"(?P<quoted>[^"]*)"|(?P<mark>[(),|])|(?P<plain>[^\s"(),|]+))')

_NUMBER = re.compile(r"-?(0|[1-9]\d*)?(\.\d+)?(?<=\d)", re.ASCII)
"""Numbers as tau-ARGUS writes them: "00" may be two numbers without their comma."""


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class Arguments:
    """The arguments of one command, in the order in which they are taken.

    Each method takes what it names or raises, and `end` raises if anything was left: no
    argument can be lost.

    Parameters
    ----------
    where : str
        File and line, for messages.
    text : str
        What follows the command.

    Raises
    ------
    InputError
        If a quotation mark is missing.
    """

    def __init__(self, where: str, text: str) -> None:
        self.where, self.text, self.at = where, text.strip(), 0
        self.tokens: list[_Token] = []
        position = 0
        while position < len(self.text):
            found = _TOKEN.match(self.text, position)
            if not found:
                raise self.fail(f"a quotation mark is missing in {self.text!r}")
            kind = str(found.lastgroup)
            self.tokens.append(_Token(kind, found.group(kind), found.start(kind), found.end(kind)))
            position = found.end()

    def fail(self, message: str) -> InputError:
        """Return an error that names file and line."""
        return InputError(f"{self.where}: {message}.")

    @property
    def is_read(self) -> bool:
        """Whether nothing is left."""
        return self.at == len(self.tokens)

    @property
    def left(self) -> str:
        """What is left."""
        return "" if self.is_read else self.text[self.tokens[self.at].start :]

    def end(self) -> None:
        """Raise if anything is left."""
        if not self.is_read:
            raise self.fail(f"{self.left!r} was not understood; correct or remove it")

    def next_is(self, mark: str) -> bool:
        """Whether a given punctuation mark comes next."""
        return not self.is_read and self.tokens[self.at][:2] == ("mark", mark)

    def maybe(self, mark: str) -> bool:
        """Take a mark if it comes next."""
        found = self.next_is(mark)
        self.at += found
        return found

    def take(self, mark: str) -> None:
        """Take a mark, which must come next."""
        if not self.maybe(mark):
            raise self.fail(f"expected {mark!r}, found {self.left or 'the end of the line'!r}")

    def quoted(self, what: str) -> str:
        """Take a text in quotation marks."""
        if self.is_read or self.tokens[self.at].kind != "quoted":
            raise self.fail(f"expected {what} in quotation marks, found {self.left or 'nothing'!r}")
        self.at += 1
        return self.tokens[self.at - 1].text.strip()

    def optional(self) -> str:
        """Take a text in quotation marks, or words up to the next mark; it may be missing."""
        if self.is_read or self.tokens[self.at].kind == "mark":
            return ""
        first = self.tokens[self.at]
        if first.kind == "quoted":
            self.at += 1
            return first.text.strip()
        while not self.is_read and self.tokens[self.at].kind == "plain":
            self.at += 1
        return self.text[first.start : self.tokens[self.at - 1].end]

    def word(self, what: str) -> str:
        """Take a text that must not be missing."""
        text = self.optional()
        if not text:
            raise self.fail(f"{what} is missing before {self.left or 'the end of the line'!r}")
        return text

    def number(self, what: str, low: float = -math.inf, high: float = math.inf) -> float:
        """Take a number within limits."""
        text = self.word(what)
        number = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not low <= number <= high:
            limits = f" from {low:g}" * (low > -math.inf) + f" to {high:g}" * (high < math.inf)
            raise self.fail(f"{what} must be a number{limits}, found {text!r}")
        return number

    def whole(self, what: str, low: int, high: float = math.inf) -> int:
        """Take a whole number within limits."""
        number = self.number(what, low, high)
        if not number.is_integer():
            raise self.fail(f"{what} must be a whole number, found {number:g}")
        return int(number)


RULES = {
    "P": (1, 3, 4), "NK": (2, 2, 4), "FREQ": (2, 2, 2), "REQ": (4, 4, 2), "ZERO": (1, 1, 1),
    "MIS": (1, 1, 1), "WGT": (1, 1, 1), "MAN": (1, 1, 1),
}  # fmt: skip
"""For each rule the fewest and the most numbers, and how often it may be given."""

FORMS = {
    "P": "P(p), P(p,n) or P(p,q,n): per cent, prior knowledge, intruders together",
    "NK": "NK(n,k): number of largest contributions, per cent of the cell",
    "FREQ": "FREQ(n,r): smallest number of contributors, range in per cent",
    "REQ": "REQ(k1,k2,n,r): per cents of the cell for the two codes of a request, smallest number "
    "of contributors, range in per cent",
}
"""What the numbers of rules mean that take several."""

WHOLE = {("P", 1), ("P", 2), ("NK", 0), ("FREQ", 0), ("REQ", 2)}
"""Numbers of rules that must be whole, since they count; of P with three numbers the last one."""

OPTIONS = ("AS", "FL", "QU", "SE", "SO", "HI", "HL", "AR", "TR", "AO", "AD", "AC")

NEEDLESS = ("AR", "TR", "AO", "AD", "AC")
"""Options of tau-ARGUS that say nothing about any type here."""

NUMBERED_OPTIONS: dict[int, tuple[dict[str, bool], ...]] = {
    1: ({}, {}),
    2: ({}, {"AS": True}),
    3: ({}, {"AS": True}, {"SE": True}, {"AS": True, "SE": True}),
    4: ({}, {}),
    5: ({"SO": True}, {}),
}
"""Options of each type of table as batches up to tau-ARGUS 4.1 number them, from 0 on.

Manual of tau-ARGUS 4.1, WRITETABLE; the numbers of types 1 and 4 mean nothing there.
"""


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
class BatchRule:
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
class SuppressionLine:
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


def read_rules(arguments: Arguments) -> list[BatchRule]:
    """Read ``P(10,1)|FREQ(3,20)|``; empty means that statuses are given.

    Raises
    ------
    InputError
        For an unknown rule, one too many of a kind, or numbers that it does not take.
    """
    rules: list[BatchRule] = []
    while not arguments.is_read:
        name = arguments.word("the name of a rule")
        if not arguments.maybe("("):
            raise arguments.fail(f"{name!r} is no rule such as P(10,1) or FREQ(3,20)")
        require_known(name.upper(), RULES, f"{arguments.where}: there is no rule {name!r}.")
        rules.append(_rule(arguments, name.upper()))
        if sum(rule.name == rules[-1].name for rule in rules) > RULES[rules[-1].name][2]:
            raise arguments.fail(f"there are too many rules {rules[-1].name}")
        if not arguments.is_read:
            arguments.take("|")
    return rules


def _rule(arguments: Arguments, name: str) -> BatchRule:
    """Read the numbers of a rule, from behind the bracket."""
    fewest, most, _ = RULES[name]
    numbers = [arguments.number(f"number 1 of {name}", 0.0)]
    while arguments.maybe(","):
        numbers.append(arguments.number(f"number {len(numbers) + 1} of {name}", 0.0))
    arguments.take(")")
    if not fewest <= len(numbers) <= most:
        wanted = str(most) if fewest == most else f"{fewest} to {most}"
        form = f"; write {FORMS[name]}" if name in FORMS else ""
        counting = "number" if wanted == "1" else "numbers"
        raise arguments.fail(f"{name} takes {wanted} {counting}, found {len(numbers)}{form}")
    if name == "NK" and numbers[0] > numbers[1] > 0:
        raise arguments.fail(
            f"NK({numbers[0]:g},{numbers[1]:g}) has more contributions than per cent; did you mean "
            f"NK({numbers[1]:g},{numbers[0]:g})? Write {FORMS[name]}"
        )
    for at, number in enumerate(numbers):
        counts = (name, at) in WHOLE and (name != "P" or at == len(numbers) - 1)
        if counts and not number.is_integer():
            raise arguments.fail(f"number {at + 1} of {name} must be whole, found {number:g}")
    if name in ("MIS", "WGT") and numbers[0] not in (0, 1):
        raise arguments.fail(f"{name} takes 0 or 1, found {numbers[0]:g}")
    return BatchRule(name, numbers)


def read_writing(arguments: Arguments) -> Writing:
    """Read ``(table, type, options, "file")``."""
    arguments.take("(")
    table = arguments.whole("the number of a table", 1)
    arguments.take(",")
    kind = arguments.whole("the type", 0)
    arguments.take(",")
    text = arguments.optional().upper().replace(" ", "")
    if not arguments.maybe(","):
        raise arguments.fail(
            f"expected ',', found {arguments.left or 'the end of the line'!r}; write WRITETABLE as "
            f'(table, type, options, file), as in (1,3,AS+,"a.txt") or (1,3,,"a.txt")'
        )
    file = arguments.word("the name of a file")
    arguments.take(")")
    arguments.end()
    if text.isdecimal():
        return Writing(table, kind, _numbered_options(arguments, kind, int(text)), file)
    options: dict[str, bool] = {}
    for found in re.finditer(r"([^+-]*)([+-]?)", text):
        if not found.group(0):
            continue
        name, sign = found.groups()
        if name not in OPTIONS or not sign:
            raise InputError(
                f"{arguments.where}: WRITETABLE: {found.group(0)!r} is no option such as AS+ or "
                f"SE-.{suggestion(name, [option for option in OPTIONS if option not in NEEDLESS])}"
            )
        if name in options:
            raise arguments.fail(f"WRITETABLE: the option {name} is given twice")
        options[name] = sign == "+"
    return Writing(table, kind, options, file)


def _numbered_options(arguments: Arguments, kind: int, number: int) -> dict[str, bool]:
    meanings = NUMBERED_OPTIONS.get(kind, ({},))
    if number >= len(meanings):
        raise arguments.fail(
            f"WRITETABLE: type {kind} takes the numbers 0 to {len(meanings) - 1}, found {number}; "
            f"options can also be named, as in AS+SE-"
        )
    return dict(meanings[number])
