"""The arguments of a command, read one by one until nothing is left."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from tablecloak.errors import InputError

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
