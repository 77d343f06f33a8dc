"""Small linear, whole-number and quadratic programs, solved in fractions: no tolerance, no cut.

Bounds are fractions, or None where there is none. The simplex method keeps a dense table of
fractions, so that coefficients from 1e-4 to 1e4 and values to 1e12 are as harmless as 1 and 2.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

Numbers = list[Fraction]
Ends = list[Fraction | None]

ZERO, ONE = Fraction(0), Fraction(1)

GREEDY = 60
"""Pivots by the steepest column, after which the first one is taken, so that none cycles."""

MOST_STEPS = 200
"""Steps of the quadratic method; the point it has reached by then is feasible all the same."""


class UnboundedError(Exception):
    """The costs fall for ever."""


@dataclass
class Program:
    """min cost x  subject to  rows x = sides,  low <= x <= high.

    Parameters
    ----------
    low, high : list of Fraction or None
        Bounds of each column.
    cost : list of Fraction
    rows : list of dict of int to Fraction
    sides : list of Fraction
    """

    low: Ends = field(default_factory=list)
    high: Ends = field(default_factory=list)
    cost: Numbers = field(default_factory=list)
    rows: list[dict[int, Fraction]] = field(default_factory=list)
    sides: Numbers = field(default_factory=list)

    def column(self, low: Fraction | None, high: Fraction | None, cost: Fraction = ZERO) -> int:
        """Add a column; return its number."""
        self.low.append(low)
        self.high.append(high)
        self.cost.append(cost)
        return len(self.cost) - 1

    def equal(self, terms: dict[int, Fraction], side: Fraction = ZERO) -> None:
        """Add a row."""
        self.rows.append({column: number for column, number in terms.items() if number})
        self.sides.append(side)

    def at_most(self, terms: dict[int, Fraction], side: Fraction = ZERO) -> None:
        """Add a row with a slack."""
        self.equal(terms | {self.column(ZERO, None): ONE}, side)

    def within(self, low: Ends, high: Ends) -> Program:
        """Return the program with other bounds."""
        return replace(self, low=low, high=high)

    def priced(self, cost: Numbers) -> Program:
        """Return the program with other costs."""
        return replace(self, cost=cost)

    def solution(self) -> Numbers | None:
        """Return a point of least cost; None if there is no point.

        Raises
        ------
        UnboundedError
        """
        pairs = zip(self.low, self.high, strict=True)
        if any(low is not None and high is not None and low > high for low, high in pairs):
            return None
        tableau = _Tableau(self)
        if not tableau.is_feasible():
            return None
        tableau.minimise()
        x = tableau.point()
        assert self.holds(x)
        return x

    def holds(self, x: Numbers) -> bool:
        """Say whether a point keeps every bound and every row, without any tolerance."""
        ends = zip(self.low, x, self.high, strict=True)
        rows = zip(self.rows, self.sides, strict=True)
        return all(
            (low is None or low <= at) and (high is None or at <= high) for low, at, high in ends
        ) and all(sum((c * x[j] for j, c in row.items()), ZERO) == side for row, side in rows)

    def price(self, x: Numbers) -> Fraction:
        """Return what a point costs."""
        return sum((c * v for c, v in zip(self.cost, x, strict=True) if c), ZERO)


class _Tableau:
    """A simplex table: each column counts from its lower end, upwards, to a limit or for ever."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.places: list[list[tuple[int, int]]] = []
        self.start: Numbers = []
        self.limits: Ends = []
        for low, high in zip(program.low, program.high, strict=True):
            self.places.append([])
            self.start.append(low if low is not None else high if high is not None else ZERO)
            span = None if low is None or high is None else high - low
            if low is not None:
                self._place(1, span)
            elif high is not None:
                self._place(-1, None)
            else:
                self._place(1, None)
                self._place(-1, None)
        n = len(self.limits)
        self.table: list[Numbers] = []
        self.at: Numbers = []
        for terms, side in zip(program.rows, program.sides, strict=True):
            row = [ZERO] * n
            left = side - sum((c * self.start[j] for j, c in terms.items()), ZERO)
            for column, number in terms.items():
                for place, sign in self.places[column]:
                    row[place] = sign * number
            if left < 0:
                row, left = [-number for number in row], -left
            self.table.append(row)
            self.at.append(left)
        self.n = n
        for i, row in enumerate(self.table):
            row.extend(ONE if i == k else ZERO for k in range(len(self.table)))
        self.limits += [None] * len(self.table)
        self.basis = list(range(n, n + len(self.table)))
        self.turned = [False] * len(self.limits)

    def _place(self, sign: int, limit: Fraction | None) -> None:
        self.places[-1].append((len(self.limits), sign))
        self.limits.append(limit)

    def is_feasible(self) -> bool:
        """Find a first point, by costs of 1 on what is left of each row."""
        prices = [ZERO] * self.n + [ONE] * len(self.basis)
        self._run(prices, len(prices))
        pairs = zip(self.basis, self.at, strict=True)
        if any(at for column, at in pairs if column >= self.n):
            return False
        for i in reversed(range(len(self.basis))):
            if self.basis[i] >= self.n:
                column = next((j for j in range(self.n) if self.table[i][j]), None)
                if column is None:  # the row follows from others
                    del self.table[i], self.at[i], self.basis[i]
                else:
                    self._pivot(i, column)
        return True

    def minimise(self) -> None:
        """Go on to a point of least cost."""
        prices = [ZERO] * len(self.limits)
        for column, places in enumerate(self.places):
            for place, sign in places:
                cost = sign * self.program.cost[column]
                prices[place] = -cost if self.turned[place] else cost
        self._run(prices, self.n)

    def point(self) -> Numbers:
        """Return the values of all columns."""
        y = [ZERO] * len(self.limits)
        for column, at in zip(self.basis, self.at, strict=True):
            y[column] = at
        for j, limit in enumerate(self.limits):
            if self.turned[j]:
                assert limit is not None
                y[j] = limit - y[j]
        return [
            start + sum((sign * y[place] for place, sign in places), ZERO)
            for start, places in zip(self.start, self.places, strict=True)
        ]

    def _run(self, prices: Numbers, n: int) -> None:
        """Pivot until no column has a negative price."""
        prices = list(prices)
        for i, column in enumerate(self.basis):
            if prices[column]:
                factor = prices[column]
                prices = [p - factor * t for p, t in zip(prices, self.table[i], strict=True)]
        for count in itertools.count():
            falling = [j for j in range(n) if prices[j] < 0]
            if not falling:
                return
            j = min(falling, key=lambda j: prices[j]) if count < GREEDY else falling[0]
            i, turns = self._leaving(j)
            if i is None:
                self._turn_free(j, prices)
                continue
            if turns:
                self._turn_basic(i, prices)
            self._pivot(i, j)
            factor = prices[j]
            prices = [p - factor * t for p, t in zip(prices, self.table[i], strict=True)]

    def _leaving(self, j: int) -> tuple[int | None, bool]:
        """Return the row that limits a column, and whether at the upper end; None: its own end."""
        best: tuple[Fraction, int, int, bool] | None = None
        for i, row in enumerate(self.table):
            limit = self.limits[self.basis[i]]
            if row[j] > 0:
                step, turns = self.at[i] / row[j], False
            elif row[j] < 0 and limit is not None:
                step, turns = (self.at[i] - limit) / row[j], True
            else:
                continue
            found = (step, self.basis[i], i, turns)
            best = found if best is None else min(best, found)
        own = self.limits[j]
        if best is None and own is None:
            raise UnboundedError
        if best is None or (own is not None and own <= best[0]):
            return None, False
        return best[2], best[3]

    def _turn_free(self, j: int, prices: Numbers) -> None:
        """Take a column that is not in the basis to its other end, and count from there."""
        limit = self.limits[j]
        assert limit is not None
        for i, row in enumerate(self.table):
            self.at[i] -= row[j] * limit
            row[j] = -row[j]
        prices[j] = -prices[j]
        self.turned[j] = not self.turned[j]

    def _turn_basic(self, i: int, prices: Numbers) -> None:
        """Count a column of the basis from its upper end."""
        column = self.basis[i]
        limit = self.limits[column]
        assert limit is not None
        self.table[i] = [-number for number in self.table[i]]
        self.table[i][column] = ONE
        self.at[i] = limit - self.at[i]
        self.turned[column] = not self.turned[column]

    def _pivot(self, i: int, j: int) -> None:
        row = self.table[i]
        factor = row[j]
        row = self.table[i] = [number / factor if number else ZERO for number in row]
        self.at[i] /= factor
        filled = [(k, number) for k, number in enumerate(row) if number]
        for other, target in enumerate(self.table):
            factor = target[j]
            if other != i and factor:
                for k, number in filled:
                    target[k] -= factor * number
                self.at[other] -= factor * self.at[i]
        self.basis[i] = j


def whole_solution(program: Program, columns: list[int], nodes: int) -> tuple[Numbers | None, bool]:
    """Return the best point with whole numbers in some columns, and whether the search ended.

    Branch and bound, the least bound first. Whatever is returned is a point.
    """
    order = itertools.count()
    best: Numbers | None = None
    least = None
    heap: list[tuple[Fraction, int, Ends, Ends, Numbers]] = []

    def push(low: Ends, high: Ends) -> None:
        x = program.within(low, high).solution()
        if x is not None and (least is None or program.price(x) < least):
            heapq.heappush(heap, (program.price(x), -next(order), low, high, x))

    push(program.low, program.high)
    while heap and nodes > 0:
        nodes -= 1
        price, _, low, high, x = heapq.heappop(heap)
        if least is not None and price >= least:
            break
        torn = [j for j in columns if x[j].denominator > 1]
        if not torn:
            best, least = x, price
            continue
        j = max(torn, key=lambda j: min(x[j] - math.floor(x[j]), math.ceil(x[j]) - x[j]))
        down, up = list(high), list(low)
        down[j], up[j] = Fraction(math.floor(x[j])), Fraction(math.ceil(x[j]))
        push(low, down)
        push(up, high)
    return best, not heap or (least is not None and heap[0][0] >= least)


def least_squares(program: Program, weights: Numbers) -> Numbers | None:
    """Return a point of nearly least sum of w x^2; None if there is no point.

    Primal active sets. Weights of 0 count as a tiny one, so that every step is unique.
    """
    first = program.solution()
    if first is None:
        return None
    positive = [w for w in weights if w]
    tiny = min(positive, default=ONE) / 10**12
    w = [weight or tiny for weight in weights]
    x, n = first, len(weights)
    active: dict[int, int] = {}
    for j in range(n):
        if x[j] == program.low[j]:
            active[j] = -1
        elif x[j] == program.high[j]:
            active[j] = 1
    for _ in range(MOST_STEPS):
        free = [j for j in range(n) if j not in active]
        prices = _multipliers(program, w, x, free)
        slope = [
            2 * w[j] * x[j] + sum((y * row.get(j, ZERO) for y, row in prices), ZERO)
            for j in range(n)
        ]
        step = [-slope[j] / (2 * w[j]) if j not in active else ZERO for j in range(n)]
        if not any(step):
            leaving = [
                j
                for j, side in active.items()
                if slope[j] * side > 0 and program.low[j] != program.high[j]
            ]
            if not leaving:
                break
            del active[min(leaving)]
            continue
        length, hit = ONE, None
        for j in free:
            end = program.high[j] if step[j] > 0 else program.low[j]
            if step[j] and end is not None and (end - x[j]) / step[j] < length:
                length, hit = (end - x[j]) / step[j], j
        x = [at + length * change for at, change in zip(x, step, strict=True)]
        if hit is not None:
            active[hit] = 1 if step[hit] > 0 else -1
    assert program.holds(x)
    return x


def _multipliers(
    program: Program, w: Numbers, x: Numbers, free: list[int]
) -> list[tuple[Fraction, dict[int, Fraction]]]:
    """Return multipliers of the rows for which the step of the free columns keeps all rows."""
    rows = program.rows
    matrix = [
        [sum((a.get(j, ZERO) * b.get(j, ZERO) / (2 * w[j]) for j in free), ZERO) for b in rows]
        + [-sum((a.get(j, ZERO) * x[j] for j in free), ZERO)]
        for a in rows
    ]
    y = [ZERO] * len(rows)
    pivots: list[tuple[int, int]] = []
    for column in range(len(rows)):
        used = {i for i, _ in pivots}
        i = next((i for i, r in enumerate(matrix) if i not in used and r[column]), None)
        if i is None:
            continue
        factor = matrix[i][column]
        matrix[i] = [number / factor for number in matrix[i]]
        for other, target in enumerate(matrix):
            if other != i and target[column]:
                factor = target[column]
                matrix[other] = [t - factor * s for t, s in zip(target, matrix[i], strict=True)]
        pivots.append((i, column))
    for i, column in pivots:
        y[column] = matrix[i][-1]
    return list(zip(y, rows, strict=True))
