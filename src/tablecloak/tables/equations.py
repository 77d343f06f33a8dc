"""Equations between variables, as in ``active = births + survivors``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NoReturn

from tablecloak.errors import InputError

__all__ = ["Equation"]

LARGEST_WHOLE = 2**31
"""Coefficients below this are read exactly where witnesses are made exact (`whole_factors`)."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<name>[^\W\d]\w*)
  | "(?P<quoted>[^"]+)"
  | (?P<sign>[+\-*=])
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Equation:
    """A linear equation between variables that holds wherever their cells have the same codes.

    Parameters
    ----------
    text : str
        Such as ``active = births + survivors``, ``toe = 0.086*gas + 1.02*oil`` or ``a + b = c``.
        A name with other characters than letters, digits and ``_`` stands in double quotes.
    where : mapping of str to sequence of str, default={}
        Codes of dimensions to which the equation is limited, as in ``{"region": ["N", "S"]}``.
    name : str, default=""
        What messages call it; by default its text.
    unit : str, default=""
        Unit of both sides, for people.
    tolerance : float, default=0
        Accepted difference of the two sides, for values that were rounded.

    Raises
    ------
    InputError
        If the text is no such equation. The message names the equation and the character.

    Examples
    --------
    >>> import tablecloak as tc
    >>> tc.Equation("active = births + survivors").terms
    {'active': -1.0, 'births': 1.0, 'survivors': 1.0}
    """

    text: str
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    name: str = ""
    unit: str = ""
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        limits = {
            str(dimension): (codes,) if isinstance(codes, str) else tuple(map(str, codes))
            for dimension, codes in self.where.items()
        }
        object.__setattr__(self, "where", limits)
        empty = next((dimension for dimension, codes in limits.items() if not codes), None)
        if empty is not None:
            raise InputError(
                f"Equation {self.label}: `where` gives no code of {empty!r}. Give at least one, or "
                f"leave {empty!r} out."
            )
        if not (isinstance(self.tolerance, int | float) and 0 <= self.tolerance < float("inf")):
            raise InputError(
                f"Equation {self.label}: `tolerance` must be a number of 0 or more. Got "
                f"{self.tolerance!r}."
            )
        _ = self.terms

    @classmethod
    def of(cls, given: Equation | str) -> Equation:
        """Return an equation that was given as such or as its text."""
        return given if isinstance(given, Equation) else cls(given)

    @property
    def label(self) -> str:
        """What messages call the equation."""
        shown = repr(str(self.text).strip())
        return f"{self.name} ({shown})" if self.name else shown

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of its variables, in the order of the text."""
        return tuple(self.terms)

    @cached_property
    def left(self) -> dict[str, float]:
        """Variables of the left side with their coefficients."""
        return self._sides[0]

    @cached_property
    def right(self) -> dict[str, float]:
        """Variables of the right side with their coefficients."""
        return self._sides[1]

    @cached_property
    def terms(self) -> dict[str, float]:
        """Coefficients of the relation *right side - left side = 0*, by variable."""
        left, right = self._sides
        found: dict[str, float] = {}
        for side, sign in ((left, -1.0), (right, 1.0)):
            for name, coefficient in side.items():
                found[name] = found.get(name, 0.0) + sign * coefficient
        gone = next((name for name, coefficient in found.items() if coefficient == 0), None)
        if gone is not None:
            raise InputError(
                f"Equation {self.label}: {gone!r} cancels out. Give each variable once, with a "
                f"coefficient other than 0."
            )
        return found

    @cached_property
    def factor(self) -> int:
        """Smallest number by which all coefficients become whole; 1 if they would be too large.

        Searches can merge cells and add up rows without rounding only in whole relations.
        """
        shares = [Fraction(repr(coefficient)) for coefficient in self.terms.values()]
        factor = math.lcm(*(share.denominator for share in shares))
        return factor if max(abs(share * factor) for share in shares) < LARGEST_WHOLE else 1

    @property
    def is_sum(self) -> bool:
        """Whether it is a plain sum: one variable equals several others, all in one unit."""
        return len(self.left) == 1 and self.is_plain

    @property
    def is_plain(self) -> bool:
        """Whether all coefficients are 1 or -1, so that its variables can be added up."""
        return all(abs(each) == 1 for each in self.terms.values())

    def written(self, side: Mapping[str, float]) -> str:
        """Write one side out, such as ``births + survivors``."""
        found = ""
        for name, coefficient in side.items():
            size = "" if abs(coefficient) == 1 else f"{abs(coefficient):g}*"
            found += f" {'-' if coefficient < 0 else '+'} {size}{name}"
        return found.removeprefix(" + ").strip()

    def __str__(self) -> str:
        return self.label

    @cached_property
    def _sides(self) -> tuple[dict[str, float], dict[str, float]]:
        return _Reader(self).sides()


class _Reader:
    """Reads the text of an equation from left to right."""

    def __init__(self, equation: Equation) -> None:
        self.equation = equation
        self.text = str(equation.text)
        self.tokens = self._tokens()
        self.next = 0

    def sides(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the terms of both sides."""
        left = self._side()
        if self._kind() != "=":
            self._fail("'=' is missing" if self._kind() == "end" else "expected '+', '-' or '='")
        self.next += 1
        right = self._side()
        if self._kind() == "=":
            self._fail("there is a second '='")
        if self._kind() != "end":
            self._fail("expected '+', '-' or the end")
        return left, right

    def _tokens(self) -> list[tuple[str, str, int]]:
        """Return kind, text and position of each token; the last one marks the end."""
        found, at, end = [], 0, len(self.text.rstrip())
        while at < end:
            match = _TOKEN.match(self.text, at)
            start = at + len(self.text[at:]) - len(self.text[at:].lstrip())
            if match is None:
                self._fail(f"unexpected {self.text[start]!r}", start)
            kind = str(match.lastgroup)
            text = match.group(kind)
            kind = text if kind == "sign" else kind.replace("quoted", "name")
            found.append((kind, text, start))
            at = match.end()
        return [*found, ("end", "", end)]

    def _side(self) -> dict[str, float]:
        side: dict[str, float] = {}
        sign = self._sign(first=True)
        while sign:
            name, coefficient = self._term()
            side[name] = side.get(name, 0.0) + sign * coefficient
            sign = self._sign(first=False)
        gone = next((name for name, coefficient in side.items() if coefficient == 0), None)
        if gone is not None:
            raise InputError(
                f"Equation {self.equation.label}: the coefficients of {gone!r} add up to 0. Give "
                f"each variable once, with a coefficient other than 0."
            )
        return side

    def _sign(self, *, first: bool) -> int:
        """Return the sign of the next term; 0 if there is none."""
        kind = self._kind()
        if kind in ("+", "-"):
            self.next += 1
            return 1 if kind == "+" else -1
        return int(first)

    def _term(self) -> tuple[str, float]:
        """Read a variable, a number times a variable, or a variable times a number."""
        kinds = self._kind(), self._kind(1), self._kind(2)
        if kinds == ("number", "*", "name"):
            number, name, used = self._text(), self._text(2), 3
        elif kinds == ("name", "*", "number"):
            number, name, used = self._text(2), self._text(), 3
        elif kinds[0] == "name" and kinds[1] != "*":
            number, name, used = "1", self._text(), 1
        elif kinds[0] == "number" and kinds[1] != "*":
            self._fail(
                f"the number {self._text()} belongs to no variable (write {self._text()}*name)"
            )
        else:
            after_number = kinds[:2] == ("number", "*")
            after_name = kinds[:2] == ("name", "*")
            self.next += 2 * (after_number or after_name)
            wanted = "a number" if after_name else "a variable"
            self._fail(f"{wanted} is missing")
        self.next += used
        return name, float(number)

    def _kind(self, ahead: int = 0) -> str:
        return self.tokens[min(self.next + ahead, len(self.tokens) - 1)][0]

    def _text(self, ahead: int = 0) -> str:
        return self.tokens[self.next + ahead][1]

    def _fail(self, what: str, at: int | None = None) -> NoReturn:
        place = self.tokens[self.next][2] if at is None else at
        raise InputError(
            f"Equation {self.equation.label}: {what} at character {place + 1}. An equation is "
            f"written like 'active = births + survivors' or 'toe = 0.086*gas + 1.02*oil'."
        )
