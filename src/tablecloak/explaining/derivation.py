"""A sum that bounds a cell: relations added up, in exact fractions, as a person can follow it.

The unknowns are deviations d from a table that agrees with all that somebody knows: A d = 0 and
lower <= point + d <= upper. Multipliers of the relations that bound a cell come from one linear
program; a second one looks for the fewest relations that bound it as well.

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
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array, hstack, vstack

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import listed
from tablecloak.explaining.explanation import exact, shown, times
from tablecloak.graph import components_of_columns
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program, Scaling
from tablecloak.solve.solver import SolveStatus
from tablecloak.tables.table import Table

SIMPLIFIED_CELLS = 5_000
"""Most unknown cells among which the fewest relations are looked for; what that gains is in
docs/decisions, "Few relations". The number was chosen by trial; not measured."""

COST_OF_TERM = 0.01
"""Cost of one more term of a sum, where one more relation costs 1: few relations come first."""

COST_OF_END = 0.2
"""Cost of using an end of an unknown cell that is not 0: a reader must look it up as well."""

SPARE = 1e-9
"""Share of the room of a bound by which a simpler combination may first miss it. The numbers are
then read as fractions, which misses nothing."""

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


@dataclass(frozen=True, eq=False)
class Limit:
    """How far a cell can lie at most, and the multipliers of the relations that prove it.

    Parameters
    ----------
    end : float
        Largest value upwards, smallest value downwards; infinite if nothing bounds the cell.
    choices : tuple of (numpy.ndarray of int, numpy.ndarray of float)
        Relations and their multipliers, the simplest combination first.
    is_exact : bool
        Whether the program was solved: if not, the end is a bound, and perhaps not attained.
    """

    end: float
    choices: tuple[tuple[Integers, Floats], ...]
    is_exact: bool


@dataclass(frozen=True, eq=False)
class CellRanges:
    """All that somebody knows: relations that hold, and two ends for each cell.

    Parameters
    ----------
    table : Table
        Its relations hold.
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Ends between which each cell lies; equal where it is known.
    point : numpy.ndarray of float, shape (n_cells,)
        Values that agree with all that is known, such as the true ones.
    unit : float
        Length by which programs are scaled.
    are_changes : bool, default=False
        Whether the unknowns are changes of the cells, whose relations have a right-hand side of 0.
    """

    table: Table
    lower: Floats
    upper: Floats
    point: Floats
    unit: float
    are_changes: bool = False

    def with_ends(self, cells: Integers, lower: Floats, upper: Floats) -> CellRanges:
        """Return what somebody knows who has other ends for some cells."""
        low, high = self.lower.copy(), self.upper.copy()
        low[cells], high[cells] = lower, upper
        return CellRanges(self.table, low, high, self.point, self.unit, self.are_changes)

    @cached_property
    def unknown(self) -> Integers:
        """Cells whose ends differ, increasing."""
        return np.flatnonzero(self.lower < self.upper)

    @cached_property
    def _labels(self) -> Integers:
        """Number of the component of each unknown cell."""
        return components_of_columns(csr_array(csc_array(self.table.relations)[:, self.unknown]))

    def component(self, cell: int) -> Integers:
        """Return the unknown cells that relations connect with a cell, itself included."""
        place = np.searchsorted(self.unknown, cell)
        if place >= len(self.unknown) or self.unknown[place] != cell:
            return np.zeros(0, dtype=np.int64)
        found: Integers = self.unknown[self._labels == self._labels[place]]
        return found

    def limit(self, cell: int, sign: int, seconds: float = np.inf, *, simple: bool = True) -> Limit:
        """Return how far a cell can lie up (sign = 1) or down (sign = -1).

        Parameters
        ----------
        cell : int
        sign : {1, -1}
        seconds : float, default=inf
            Time limit of the program.
        simple : bool, default=True
            Whether to look for the fewest relations that prove the same.
        """
        own = float((self.upper if sign > 0 else self.lower)[cell])
        nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
        cells = self.component(cell)
        if not len(cells) or own == self.point[cell]:
            return Limit(own, (nothing,), True)
        program = _Extreme(self, cells, cell, sign)
        distance, multipliers, is_exact = program.solved(seconds)
        end = float(self.point[cell]) + sign * distance
        if not np.isfinite(distance):
            return Limit(sign * np.inf, (nothing,), is_exact)
        room = sign * (own - float(self.point[cell]))
        if distance >= room * (1 - SPARE):
            return Limit(own, (nothing,), is_exact)
        choices = [program.named(multipliers)]
        if simple and len(cells) <= SIMPLIFIED_CELLS:
            choices = [*map(program.named, program.simpler(distance, seconds)), *choices]
        return Limit(end, tuple(choices), is_exact)


class _Extreme:
    """max s d_p over A d = 0 and the room of each unknown cell of a component."""

    def __init__(self, ranges: CellRanges, cells: Integers, cell: int, sign: int) -> None:
        columns = csr_array(csc_array(ranges.table.relations)[:, cells])
        self.rows = np.flatnonzero(np.diff(columns.indptr)).astype(np.int64)
        self.matrix = csr_array(columns[self.rows, :])
        self.length = np.diff(csr_array(ranges.table.relations[self.rows, :]).indptr)
        self.low = np.minimum(ranges.lower[cells] - ranges.point[cells], 0.0)
        self.high = np.maximum(ranges.upper[cells] - ranges.point[cells], 0.0)
        self.ends = ranges.lower[cells], ranges.upper[cells]
        self.unit, self.sign = ranges.unit, sign
        self.goal = np.zeros(len(cells))
        self.goal[np.searchsorted(cells, cell)] = sign

    def named(self, multipliers: Floats) -> tuple[Integers, Floats]:
        """Return multipliers by relations of the table."""
        used = np.flatnonzero(multipliers)
        return self.rows[used], multipliers[used]

    def solved(self, seconds: float) -> tuple[float, Floats, bool]:
        """Return the farthest distance, multipliers that prove it, and whether it is attained."""
        nothing = np.zeros(len(self.rows))
        program = Program(-self.goal, self.matrix, nothing, nothing, self.low, self.high)
        scaling = Scaling.by_units(program, np.full(len(self.goal), self.unit))
        solution = LinearSolver(scaling.apply(program)).solve(seconds)
        if not len(solution.duals):
            return np.inf, nothing, solution.status is SolveStatus.UNBOUNDED
        bound = -solution.bound * scaling.objective
        duals = -scaling.duals(solution.duals)
        return max(bound, 0.0), duals, solution.status is SolveStatus.OPTIMAL

    def simpler(self, distance: float, seconds: float) -> list[Floats]:
        """Return multipliers of few relations that prove the same distance; none if none is found.

        min sum_i c_i |y_i| + sum_j (cost of the end used) over y, alpha, beta >= 0 with
        alpha - beta = goal - A^T y and sum_j (alpha_j high_j - beta_j low_j) <= distance.
        """
        n_rows, n = self.matrix.shape
        matrix = csr_array(self.matrix.T)
        one = eye_array(n, format="csr")
        high, low = self.high / self.unit, -self.low / self.unit
        price = [np.where(np.isfinite(each), each, 0.0) for each in (high, low)]
        spent = csr_array(np.concatenate([np.zeros(2 * n_rows), *price])[None, :])
        rows = vstack([hstack([matrix, -matrix, one, -one]), spent], format="csr")
        most = distance / self.unit
        top = most + SPARE * max(most, 1.0)
        of_row = 1.0 + COST_OF_TERM * self.length
        of_end = [np.where(end == 0, COST_OF_TERM, COST_OF_END) for end in self.ends[::-1]]
        free = np.full(2 * n_rows, np.inf)
        usable = [np.where(np.isfinite(each), np.inf, 0.0) for each in (high, low)]
        program = Program(
            cost=np.concatenate([of_row, of_row, *of_end]),
            matrix=csr_array(rows),
            row_lower=np.append(self.goal, -np.inf),
            row_upper=np.append(self.goal, top),
            lower=np.zeros(2 * n_rows + 2 * n),
            upper=np.concatenate([free, *usable]),
        )
        found = LinearSolver(program).solve(seconds)
        if not len(found.x):
            return []
        return [found.x[:n_rows] - found.x[n_rows : 2 * n_rows]]


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

    def lines(self, word: str = "") -> list[str]:
        """Return the sum and the relations that were added up for it."""
        if not math.isfinite(self.limit):
            return [f"  nothing bounds it from {'above' if self.sign > 0 else 'below'}"]
        lines = [f"  {word or self.word} {self.sum_text()}"]
        if len(self.relations) > 1:
            lines.append("    by adding up " + ", ".join(self.relation_texts()))
        if not self.is_exact:
            lines.append("    (time ended: the sum holds, but another one may come closer)")
        return lines

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


def derived(ranges: CellRanges, cell: int, sign: int, seconds: float = np.inf) -> Derivation:
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
    limit = ranges.limit(cell, sign, seconds)
    best: Derivation | None = None
    for relations, multipliers in _candidates(limit):
        found = _summed(ranges, cell, sign, relations, multipliers, is_exact=limit.is_exact)
        if best is None or sign * (best.limit - found.limit) > 0:
            best = found
        off = sign * (float(found.limit) - limit.end)
        if off <= ACCEPTED * max(abs(limit.end - ranges.point[cell]), ranges.unit):
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
    ranges: CellRanges,
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
    constant, matrix = Fraction(0), ranges.table.relations
    for relation, multiplier in zip(relations.tolist(), multipliers, strict=True):
        span = slice(matrix.indptr[relation], matrix.indptr[relation + 1])
        entries = zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True)
        for j, coefficient in entries:
            left[j] -= multiplier * exact(coefficient)
            if not ranges.are_changes:
                constant += multiplier * exact(coefficient) * exact(ranges.point[j])
    terms = [_term(ranges, j, r, sign) for j, r in left.items() if r]
    is_open = any(term is None for term in terms)
    found = tuple(term for term in terms if term is not None)
    total = sum((term.amount for term in found), Fraction(0))
    return Derivation(
        table=ranges.table,
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


def _term(ranges: CellRanges, cell: int, left: Fraction, sign: int) -> Term | None:
    """Return a cell of the sum; None if no end of it is finite on the side that counts."""
    end = float((ranges.upper if left > 0 else ranges.lower)[cell])
    if not math.isfinite(end):
        return None
    is_known = bool(ranges.lower[cell] == ranges.upper[cell])
    return Term(cell, sign * left, exact(end), is_known)


def _signed(number: Fraction, text: str) -> str:
    return f"{'-' if number < 0 else '+'} {text}"
