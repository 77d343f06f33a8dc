"""Capacity rows that a pattern, whole or fractional, violates; or witnesses that meet its needs.

Each need of each sensitive cell is a question: how far can the cell move? Most answers are known
beforehand. A witness of an earlier round often still fits; a deviation found for one cell often
moves others far enough; and a need that was met in several rounds is mostly met in the next one.
Linear programs answer only the questions that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.solve.exact import WholeRows
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.moves_program import Extreme
from tablecloak.suppression.rows.master import CapacityRow
from tablecloak.suppression.system.system import System

Move = tuple[Integers, Floats]
"""Cells that a deviation moves, increasing, and by how much each."""

Judge = Callable[[CapacityRow], bool]

NO_MOVE: Move = (np.zeros(0, dtype=np.int64), np.zeros(0))

MULTIPLIER_NOISE = 1e-11
"""Multipliers below this share of the largest are dropped; every gamma gives a valid row."""

PRICE_NOISE = 1e-8
"""Share of its terms up to which the price of a cell is taken for 0, if its room is infinite."""

MOVE_NOISE = 1e-10
"""Moves below this share of the largest are rounding errors of the solver."""

LONGEST_REST = 8
"""Most rounds for which a need that was met repeatedly is not asked about, as long as other needs
give rows. docs/decisions, "Rows, then a program over all of them"."""

MET = 1 - 1e-9
"""Share of a need at which it counts as met; the difference to 1 allows for binary rounding."""


@dataclass(frozen=True, eq=False)
class Questions:
    """The questions: one for each side of each sensitive cell on which it has a need.

    Parameters
    ----------
    index : numpy.ndarray of int, shape (n_questions,)
        Position of the need.
    cell : numpy.ndarray of int, shape (n_questions,)
        Position of the cell in the system.
    sign : numpy.ndarray of int, shape (n_questions,)
        Up (1) or down (-1).
    need : numpy.ndarray of float, shape (n_questions,)
    """

    index: Integers
    cell: Integers
    sign: Integers
    need: Floats

    @classmethod
    def of(cls, system: System) -> Questions:
        """Return the questions of a system, without widths, which concern both sides at once."""
        needs = system.needs
        alone = needs.width <= 0
        up = np.flatnonzero(alone & (needs.upper > 0))
        down = np.flatnonzero(alone & (needs.lower > 0))
        index = np.concatenate([up, down])
        return cls(
            index,
            needs.cells[index],
            np.repeat([1, -1], [len(up), len(down)]),
            np.concatenate([needs.upper[up], needs.lower[down]]),
        )


@dataclass(eq=False)
class _Round:
    """One pattern, and the answers known for it so far."""

    share: Floats
    judge: Judge
    integral: bool
    answered: Flags
    found: bool = False
    doubtful: list[int] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)


class CapacityFinder:
    """Asks how far sensitive cells can move within a pattern, as seldom as possible.

    Parameters
    ----------
    system : System
    budget : Budget
        No question is asked after it has ended.
    """

    def __init__(self, system: System, budget: Budget) -> None:
        self.system = system
        self.budget = budget
        self.attack = Attack(system, checked=False)
        self.questions = Questions.of(system)
        self.widths = np.flatnonzero(system.needs.width > 0)
        self._endless = np.isinf(system.low) | np.isinf(system.high)
        self._whole = WholeRows.of(system.matrix, system.factor)
        n = len(self.questions.index)
        self._known: list[Move] = [NO_MOVE] * n
        self._is_capped = np.zeros(n, dtype=bool)
        self._rest, self._next_rest = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
        self._last_asked = np.zeros(n, dtype=np.int64)
        self._round = 0

    def ask(
        self, share: Floats, judge: Judge, skipped: Flags, *, integral: bool, seconds: float
    ) -> list[Move]:
        """Look for rows that a pattern violates.

        Parameters
        ----------
        share : numpy.ndarray of float, shape (n_unknown,)
            How much of each cell is suppressed.
        judge : callable
            Keeps a row if the pattern violates it, and returns whether it does.
        skipped : numpy.ndarray of bool, shape (n_needs,)
            Needs that are known to be met, and are not asked about.
        integral : bool
            Whether shares are 0 or 1. Then every need gets an answer, unless time is up.
        seconds : float
            Seconds after which a round ends if it has found a row.

        Returns
        -------
        list of (cells, moves)
            Witnesses of the needs that are met, if the shares are 0 or 1.

        Raises
        ------
        TimeoutError
            If the budget ended before all needs got an answer, and no row was found.
        """
        self._round += 1
        self.attack.hide(share)
        one_round = _Round(share, judge, integral, self._answered(share, integral))
        one_round.answered |= skipped[self.questions.index]
        watch = Stopwatch()
        for question in self._in_turn(one_round):
            if self.budget.is_over or (one_round.found and watch.seconds > seconds):
                break
            if not one_round.answered[question]:
                self._ask_one(question, one_round)
        else:
            self._ask_widths(one_round, skipped)
        if self.budget.is_over and not one_round.found:
            raise TimeoutError
        return self._witnesses(one_round, skipped) if integral else []

    def _in_turn(self, one_round: _Round) -> Iterator[int]:
        """Yield questions not at rest, then the resting and doubtful ones if no row is found."""
        waiting = ~one_round.answered
        asleep = waiting & (self._rest > 0) & (not one_round.integral)
        self._rest[asleep] -= 1
        for group in (waiting & ~asleep, asleep):
            some = np.flatnonzero(group)
            yield from some[np.argsort(self._last_asked[some], kind="stable")].tolist()
            if one_round.found and not one_round.integral:
                return
        self.attack.cap(np.inf)
        for question in one_round.doubtful:
            self._ask_without_cap(question, one_round)

    def _ask_one(self, question: int, one_round: _Round) -> None:
        """Attack one cell, with the moves of all cells capped at the need of the attacked one.

        The cap costs nothing: a row cuts its coefficients at the need anyway, and is rebuilt from
        the multipliers with the true rooms.
        """
        asked = self.questions
        need = float(asked.need[question])
        self._last_asked[question] = self._round
        self.attack.cap(need)
        extreme = self._extreme(int(asked.cell[question]), int(asked.sign[question]), need)
        if extreme.reach >= need * MET:
            self._rest[question] = self._next_rest[question]
            self._next_rest[question] = min(2 * self._next_rest[question], LONGEST_REST)
            self._learn(question, extreme.deviation, one_round, capped=True)
        elif self._has_row(question, extreme, one_round):
            self._rest[question], self._next_rest[question] = 0, 1
        elif one_round.integral:
            self.attack.cap(np.inf)
            self._ask_without_cap(question, one_round)
        else:
            one_round.doubtful.append(question)

    def _ask_without_cap(self, question: int, one_round: _Round) -> None:
        asked = self.questions
        need = float(asked.need[question])
        extreme = self._extreme(int(asked.cell[question]), int(asked.sign[question]), need)
        if extreme.reach >= need * MET:
            self._learn(question, extreme.deviation, one_round, capped=False)
        else:
            self._has_row(question, extreme, one_round)

    def _has_row(self, question: int, extreme: Extreme, one_round: _Round) -> bool:
        side = self._side(int(self.questions.cell[question]), extreme)
        up, down = (side, None) if self.questions.sign[question] > 0 else (None, side)
        proof = CapacityRow(int(self.questions.index[question]), up, down)
        is_violated = one_round.judge(proof)
        one_round.found |= is_violated
        return is_violated

    def _ask_widths(self, one_round: _Round, skipped: Flags) -> None:
        """Attack cells that need a width, to which both sides contribute."""
        needs = self.system.needs
        self.attack.cap(np.inf)
        for index in self.widths[~skipped[self.widths]].tolist():
            if self.budget.is_over:
                return
            cell, reached = int(needs.cells[index]), 0.0
            sides = {}
            for sign, need in ((1, needs.upper[index]), (-1, needs.lower[index])):
                extreme = self._extreme(cell, sign, max(float(needs.width[index]), float(need)))
                reached += extreme.reach
                sides[sign] = self._side(cell, extreme)
                if extreme.reach < need * MET:
                    up, down = (sides[1], None) if sign > 0 else (None, sides[-1])
                    one_round.found |= one_round.judge(CapacityRow(index, up, down))
                one_round.moves.append(_moved(extreme.deviation))
            if reached < needs.width[index] * MET:
                proof = CapacityRow(index, sides[1], sides[-1])
                one_round.found |= one_round.judge(proof)

    def _extreme(self, cell: int, sign: int, need: float) -> Extreme:
        # A move without end has no length, which a witness needs.
        enough = need if np.any(self._endless) else np.inf
        return self.attack.extreme(cell, sign, enough=enough, time_limit=self.budget.left)

    def _learn(self, question: int, deviation: Floats, one_round: _Round, *, capped: bool) -> None:
        """Keep a witness for its question, and for all other questions that it answers."""
        asked, system = self.questions, self.system
        cells, moves = _moved(deviation, int(asked.cell[question]))
        place = np.searchsorted(cells, asked.cell).clip(max=max(len(cells) - 1, 0))
        own = np.where(cells[place] == asked.cell, moves[place], 0.0) if len(cells) else place * 0.0
        others = np.flatnonzero(~one_round.answered & (own != 0))
        others = np.append(others[others != question], question)
        # Scale the witness to the need of each question, mirrored where the direction is opposite.
        factor = asked.sign[others] * asked.need[others] / own[others]
        scaled = moves * factor[:, None]
        cap = asked.need[others][:, None] if capped else np.inf
        slack = 1e-9 * asked.need[others][:, None]
        low, high = _rooms(one_round.share[cells], system.low[cells], system.high[cells], cap)
        fits = np.all((scaled <= high + slack) & (scaled >= low - slack), axis=1)
        fits[-1] = True
        for row in np.flatnonzero(fits).tolist():
            self._known[others[row]] = cells, scaled[row]
        one_round.answered[others[fits]] = True
        self._is_capped[others[fits]] = capped

    def _answered(self, share: Floats, integral: bool) -> Flags:
        """Flag the questions that witnesses of earlier rounds still answer."""
        asked, system = self.questions, self.system
        size = np.array([len(cells) for cells, _ in self._known], dtype=np.int64)
        if not np.any(size):
            return np.zeros(len(size), dtype=bool)
        question = np.repeat(np.arange(len(size)), size)
        cells = np.concatenate([cells for cells, _ in self._known])
        moves = np.concatenate([moves for _, moves in self._known])
        need = asked.need[question]
        cap = np.where(self._is_capped, asked.need, np.inf)[question]
        low, high = _rooms(share[cells], system.low[cells], system.high[cells], cap)
        beyond = (moves > high + 1e-9 * need) | (moves < low - 1e-9 * need)
        fits = np.bincount(question, beyond, minlength=len(size)) == 0
        # In a fractional pattern, a need that is met only by moves beyond the cap may give a row.
        answered: Flags = fits & (size > 0) & (self._is_capped | integral)
        return answered

    def _witnesses(self, one_round: _Round, skipped: Flags) -> list[Move]:
        asked = one_round.answered & ~skipped[self.questions.index]
        found = [self._known[question] for question in np.flatnonzero(asked).tolist()]
        return [*found, *one_round.moves]

    def _side(self, cell: int, extreme: Extreme) -> tuple[Integers, Floats]:
        """Return relations of the table with their multipliers, without those that are noise.

        An infinite room counts unless its price is exactly 0, so that prices that are nearly 0 are
        made so. The attacked cell is left out: in its row it has a price of 1.
        """
        largest = float(np.max(np.abs(extreme.duals), initial=0.0))
        rows = np.flatnonzero(np.abs(extreme.duals) > MULTIPLIER_NOISE * largest)
        gamma = extreme.duals[rows]
        if len(rows) and np.any(self._endless):
            price = np.abs(self._whole.combined(rows, gamma))
            size = abs(self.system.matrix).T @ np.abs(extreme.duals)
            none = self._endless & (size > 0) & (price <= PRICE_NOISE * size)
            none[cell] = False
            settled = self._whole.settled(rows, gamma, np.flatnonzero(none))
            gamma = gamma if settled is None else settled
        return self.system.rows[rows], gamma


def _rooms(share: Floats, low: Floats, high: Floats, cap: Floats | float) -> tuple[Floats, Floats]:
    """Return how far cells may move down and up; no share of an infinite room is none."""
    high, low = np.minimum(high, cap), np.maximum(low, -cap)
    shares, some = np.broadcast_to(share, high.shape), np.broadcast_to(share > 0, high.shape)
    return (
        np.multiply(shares, low, out=np.zeros(high.shape), where=some),
        np.multiply(shares, high, out=np.zeros(high.shape), where=some),
    )


def _moved(deviation: Floats, asked: int | None = None) -> Move:
    """Return the cells that a deviation moves, and by how much.

    The move of the cell that was asked about is never noise, however far coefficients such as 1e9
    carry it to other cells.
    """
    size = np.abs(deviation)
    is_moved = size > MOVE_NOISE * np.max(size, initial=0.0)
    if asked is not None:
        is_moved[asked] = size[asked] > 0
    cells = np.flatnonzero(is_moved)
    return cells, deviation[cells]
