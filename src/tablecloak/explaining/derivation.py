"""A sum that bounds a cell: relations added up, in exact fractions, as a person can follow it.

For multipliers y of the relations A x = b and s = 1 upwards or -1 downwards::

    s x_p = y.b + sum_j r_j x_j   with   r = s e_p - A^T y,

so that s x_p is at most y.b + sum_j max(r_j lower_j, r_j upper_j). Any multipliers give a bound
that holds; they are read as fractions with small denominators, and the bound is computed from
these fractions and from the numbers as they are printed. No tolerance is left.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tablecloak.arrays import Integers
from tablecloak.errors import listed
from tablecloak.explaining.explanation import exact, shown, times
from tablecloak.explaining.known import Known, Limit
from tablecloak.tables.table import Table

DENOMINATORS = (12, 1000, 10**6)
"""Largest denominators of multipliers, tried in this order: relations with coefficients of 1 and
-1 have vertices with small ones."""

ACCEPTED = 1e-7
"""Share of the distance that the sum may lose against the program, by rounding multipliers."""

SEEN = Fraction(1, 10**11)
"""Share of the largest term above which a constant is written out: below, it is the rounding of
values that are no decimal numbers."""

SHOWN_TERMS = 12
"""Terms of a sum that are written out; the rest is added up. All are in the JSON."""

SHOWN_RELATIONS = 4
"""Relations that are written out below a sum."""


@dataclass(frozen=True)
class Term:
    """One cell of a sum.

    Parameters
    ----------
    cell : int
    coefficient : fractions.Fraction
    value : fractions.Fraction
        The value of a known cell, or the end of an unknown one that makes the sum largest.
    is_known : bool
    """

    cell: int
    coefficient: Fraction
    value: Fraction
    is_known: bool

    @property
    def amount(self) -> Fraction:
        """What the cell adds to the sum."""
        return self.coefficient * self.value


@dataclass(frozen=True, eq=False)
class Derivation:
    """How the largest or the smallest value of a cell follows from what is known.

    Parameters
    ----------
    table : Table
    cell : int
    sign : {1, -1}
        1: the cell is at most `limit`; -1: at least.
    limit : fractions.Fraction or float
        The value that follows; infinite if nothing bounds the cell.
    relations : tuple of (int, fractions.Fraction)
        Relations that are added up, each with its multiplier.
    terms : tuple of Term
    constant : fractions.Fraction
        Right-hand sides of the relations, usually 0.
    is_exact : bool
        Whether the value is attained. If not, time ended, and another sum may give a closer one.
    """

    table: Table
    cell: int
    sign: int
    limit: Fraction | float
    relations: tuple[tuple[int, Fraction], ...]
    terms: tuple[Term, ...]
    constant: Fraction
    is_exact: bool

    @property
    def is_known_before(self) -> bool:
        """Whether the bound is known without any relation."""
        return not self.relations

    @property
    def word(self) -> str:
        """Return "at most" or "at least"."""
        return "at most" if self.sign > 0 else "at least"

    def sum_text(self) -> str:
        """Write the sum out, as in ``120 (region=Total) - 30 (region=N) - 40 (region=S) = 50``."""
        if not math.isfinite(self.limit):
            return "nothing bounds it"
        if self.is_known_before:
            return f"{shown(self.limit)}, known of this cell alone"
        counted = [term for term in self.terms if term.amount]
        ranked = sorted(counted, key=lambda term: (term.amount < 0, -abs(term.amount)))
        parts = [self._term_text(term) for term in ranked[:SHOWN_TERMS]]
        rest = ranked[SHOWN_TERMS:]
        if rest:
            total = sum((term.amount for term in rest), Fraction(0))
            parts.append(_signed(total, f"{shown(abs(total))} ({len(rest)} more cells together)"))
        largest = max((abs(term.amount) for term in self.terms), default=Fraction(0))
        if abs(self.constant) > SEEN * largest:
            parts.append(_signed(self.constant, f"{shown(abs(self.constant))} (constant)"))
        text = " ".join(parts).removeprefix("+ ") or "0"
        return f"{text} = {shown(self.limit)}{self._ends_text()}"

    def _ends_text(self) -> str:
        """Name the hidden cells that the sum takes to be 0."""
        ends = [term for term in self.terms if not term.is_known and not term.amount]
        for word in ("at least", "at most"):
            named = [f"({self.table.label(e.cell)})" for e in ends if self._end(e) == word]
            if named:
                are = "is" if len(named) == 1 else "are"
                return f", as {listed(named)} {are} {word} 0"
        return ""

    def _end(self, term: Term) -> str:
        """Return which end of an unknown cell the sum uses."""
        return "at most" if (term.coefficient > 0) == (self.sign > 0) else "at least"

    def relation_texts(self) -> list[str]:
        """Write out the relations that are added up, each with its multiplier."""
        texts = [
            f"{times(multiplier)}[{self.table.describe_relation(relation)}]"
            for relation, multiplier in self.relations[:SHOWN_RELATIONS]
        ]
        more = len(self.relations) - SHOWN_RELATIONS
        return [*texts, f"and {more} more"] if more > 0 else texts

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers of the sum, for JSON. Secret if the release is not public."""
        return {
            "of": self.table.keys.iloc[self.cell].to_dict(),
            "bound": self.word,
            "limit": float(self.limit) if math.isfinite(self.limit) else None,
            "is_exact": self.is_exact,
            "sum": self.sum_text(),
            "constant": float(self.constant),
            "terms": [
                {
                    "cell": self.table.keys.iloc[term.cell].to_dict(),
                    "coefficient": float(term.coefficient),
                    "value": float(term.value),
                    "is_known": term.is_known,
                }
                for term in self.terms
            ],
            "relations": [
                {"relation": relation, "multiplier": float(multiplier)}
                for relation, multiplier in self.relations
            ],
        }

    def _term_text(self, term: Term) -> str:
        label = self.table.label(term.cell)
        if not term.is_known:
            label += f", {self._end(term)} {shown(term.value)}"
        factor = "" if abs(term.coefficient) == 1 else f"{shown(abs(term.coefficient))} x "
        return _signed(term.amount, f"{factor}{shown(abs(term.value))} ({label})")


def derived(known: Known, cell: int, sign: int, seconds: float = np.inf) -> Derivation:
    """Return the sum that bounds a cell, from a linear program, computed anew in fractions.

    Parameters
    ----------
    known : Known
    cell : int
    sign : {1, -1}
        Upwards or downwards.
    seconds : float, default=inf
        Time limit of the programs.
    """
    limit = known.limit(cell, sign, seconds)
    best: Derivation | None = None
    for relations, multipliers in _candidates(limit):
        found = _summed(known, cell, sign, relations, multipliers, is_exact=limit.is_exact)
        if best is None or sign * (best.limit - found.limit) > 0:
            best = found
        off = sign * (float(found.limit) - limit.end)
        if off <= ACCEPTED * max(abs(limit.end - known.point[cell]), known.unit):
            return found
    assert best is not None
    return best


def _candidates(limit: Limit) -> Iterator[tuple[Integers, list[Fraction]]]:
    """Return multipliers as fractions, the most readable ones first."""
    for relations, multipliers in limit.choices:
        for most in DENOMINATORS:
            yield relations, [Fraction(float(y)).limit_denominator(most) for y in multipliers]
    relations, multipliers = limit.choices[-1]
    yield relations, [Fraction(float(y)) for y in multipliers]


def _summed(
    known: Known,
    cell: int,
    sign: int,
    relations: Integers,
    multipliers: list[Fraction],
    *,
    is_exact: bool,
) -> Derivation:
    """Add up relations, and replace each cell that is left by its value or by its worse end."""
    left: defaultdict[int, Fraction] = defaultdict(Fraction)
    left[cell] += sign
    constant, matrix = Fraction(0), known.table.relations
    for relation, multiplier in zip(relations.tolist(), multipliers, strict=True):
        span = slice(matrix.indptr[relation], matrix.indptr[relation + 1])
        entries = zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True)
        for j, coefficient in entries:
            left[j] -= multiplier * exact(coefficient)
            if not known.are_changes:
                constant += multiplier * exact(coefficient) * exact(known.point[j])
    terms = [_term(known, j, r, sign) for j, r in left.items() if r]
    is_open = any(term is None for term in terms)
    found = tuple(term for term in terms if term is not None)
    total = sum((term.amount for term in found), Fraction(0))
    return Derivation(
        table=known.table,
        cell=cell,
        sign=sign,
        limit=sign * math.inf if is_open else sign * constant + total,
        relations=tuple(
            (relation, y) for relation, y in zip(relations.tolist(), multipliers, strict=True) if y
        ),
        terms=() if is_open else found,
        constant=sign * constant,
        is_exact=is_exact,
    )


def _term(known: Known, cell: int, left: Fraction, sign: int) -> Term | None:
    """Return a cell of the sum; None if no end of it is finite on the side that counts."""
    end = float((known.upper if left > 0 else known.lower)[cell])
    if not math.isfinite(end):
        return None
    is_known = bool(known.lower[cell] == known.upper[cell])
    return Term(cell, sign * left, exact(end), is_known)


def _signed(number: Fraction, text: str) -> str:
    return f"{'-' if number < 0 else '+'} {text}"
