"""Tables named by formulas, as users of R write models: ``~ nation + age * continent``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from math import prod
from typing import NoReturn

from tablecloak.errors import InputError
from tablecloak.planning.lines import PublishedTable, Spanning

Term = frozenset[str]

_TOKEN = re.compile(r"\s*(?:(?P<name>[^\W\d][\w.]*)|`(?P<quoted>[^`]+)`|(?P<sign>[-+*:()~01]))")

MOST_TERMS = 10_000
"""Most tables of a formula: each factor of ``*`` doubles them."""

MOST_SHOWN = 200
"""Most letters of a formula in a message."""

MOST_LEVELS = 100
"""Most brackets within each other: deeper ones exhaust the stack of this reader."""

VALUE = "value"
"""Variable of a formula that names none."""


def read_formulas(given: object) -> list[PublishedTable]:
    """Return a table for each term of each formula.

    Parameters
    ----------
    given : str, or a sequence or mapping of str
        Such as ``~ (sex + lms):hst`` or ``turnover ~ region * size``. In a mapping the keys are put
        before the names of the tables.

    Raises
    ------
    InputError
        Names the formula and the character.
    """
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        named = [(f"{name}.", str(formula)) for name, formula in given.items()]
    elif isinstance(given, Iterable):
        named = [("", str(formula)) for formula in given]
    else:
        raise InputError(f"`formulas` must be a text or a list of texts. Got {given!r}.")
    found: dict[str, PublishedTable] = {}
    for prefix, formula in named:
        variable, terms = _read(formula)
        shown = f"{variable}~" if variable != VALUE else ""
        for term in terms:
            name = f"{prefix}{shown}{':'.join(sorted(term))}"
            spannings = tuple(map(Spanning, sorted(term)))
            found.setdefault(name, PublishedTable(name, "", variable, spannings))
    return list(found.values())


def terms_of(formula: str) -> list[frozenset[str]]:
    """Return the dimensions of each term of a formula; that of the total, without any, is left out.

    ``a:b`` is the table over both, ``a*b`` is ``a + b + a:b``, ``-`` takes a term away; ``:`` binds
    more tightly than ``*``, and that more tightly than ``+``.

    Examples
    --------
    >>> [sorted(term) for term in terms_of("~ (sex + lms):hst")]
    [['hst', 'sex'], ['hst', 'lms']]
    """
    return _read(formula)[1]


def _read(formula: str) -> tuple[str, list[Term]]:
    reader = _FormulaReader(formula)
    variable, terms = reader.whole()
    found = [term for term in terms if term]
    if not found:
        raise InputError(f"Formula {formula.strip()!r} has no term. Name at least one dimension.")
    return variable, found


class _FormulaReader:
    """Reads a formula from left to right; terms keep their order."""

    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.tokens: list[tuple[str, str, int]] = []
        at, end = 0, len(formula.rstrip())
        while at < end:
            match = _TOKEN.match(formula, at)
            if match is None or match.lastgroup is None:
                blank = len(formula[at:]) - len(formula[at:].lstrip())
                self._fail(f"{formula[at + blank]!r} cannot be read", at + blank)
            kind = "sign" if match.lastgroup == "sign" else "name"
            self.tokens.append((kind, match[match.lastgroup], match.start(match.lastgroup)))
            at = match.end()
        self.tokens.append(("end", "", end))
        self.next = self.level = 0

    def whole(self) -> tuple[str, dict[Term, None]]:
        """Return the variable and the terms."""
        variable = VALUE
        if self.tokens[0][0] == "name" and self.tokens[min(1, len(self.tokens) - 1)][1] == "~":
            variable = self.tokens[0][1]
            self.next = 2
        elif self._sign() == "~":
            self.next = 1
        terms = self._sum()
        if self.tokens[self.next][0] != "end":
            self._fail(f"{self.tokens[self.next][1]!r} is not expected")
        return variable, terms

    def _sum(self) -> dict[Term, None]:
        terms: dict[Term, None] = {}
        sign = "+"
        if self._sign() in ("+", "-"):
            sign = self._take()
        while True:
            for term in self._product():
                if sign == "+":
                    terms[term] = None
                else:
                    terms.pop(term, None)
            self._require_few(len(terms))
            if self._sign() not in ("+", "-"):
                return terms
            sign = self._take()

    def _product(self) -> dict[Term, None]:
        factors = [self._crossed()]
        while self._sign() == "*":
            self._take()
            factors.append(self._crossed())
        self._require_few(prod(1 + len(terms) for terms in factors) - 1)
        return reduce(lambda one, other: {**one, **other, **_crosses(one, other)}, factors)

    def _crossed(self) -> dict[Term, None]:
        factors = [self._factor()]
        while self._sign() == ":":
            self._take()
            factors.append(self._factor())
        self._require_few(prod(map(len, factors)))
        return reduce(_crosses, factors)

    def _require_few(self, count: int) -> None:
        """Refuse a formula by the number of its terms; a product before they are made."""
        if count > MOST_TERMS:
            raise InputError(
                f"Formula {self._shown()}: asks for {count:,} tables; at most {MOST_TERMS:,} are "
                f"planned. Name those that are published, with ':' and '+' instead of '*'."
            )

    def _factor(self) -> dict[Term, None]:
        kind, text, _ = self.tokens[self.next]
        if kind == "name":
            self.next += 1
            return {frozenset({text}): None}
        if text in ("0", "1"):
            # The total is part of every table.
            self.next += 1
            return {frozenset(): None}
        if text != "(":
            self._fail("a dimension is missing")
        self.level += 1
        if self.level > MOST_LEVELS:
            self._fail(f"more than {MOST_LEVELS} brackets lie within each other")
        self._take()
        terms = self._sum()
        if self._sign() != ")":
            self._fail("')' is missing")
        self._take()
        self.level -= 1
        return terms

    def _sign(self) -> str:
        kind, text, _ = self.tokens[self.next]
        return text if kind == "sign" else ""

    def _take(self) -> str:
        self.next += 1
        return self.tokens[self.next - 1][1]

    def _shown(self) -> str:
        text = self.formula.strip()
        return repr(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...")

    def _fail(self, what: str, at: int | None = None) -> NoReturn:
        place = self.tokens[self.next][2] if at is None else at
        raise InputError(
            f"Formula {self._shown()}: {what} at character {place + 1}. A formula is "
            f"written like '~ nation + age * continent' or '~ (sex + lms):hst'."
        )


def _crosses(terms: Iterable[Term], others: Iterable[Term]) -> dict[Term, None]:
    others = list(others)
    return {one | other: None for one in terms for other in others}
