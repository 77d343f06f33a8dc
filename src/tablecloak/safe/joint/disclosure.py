"""What is said of a finding: the sum of figures by which it follows, and who comes how close.

A sum of published figures with few terms is named. Where none gives a contribution, somebody may
still estimate it from all figures of a variable.

Amounts are not negative, so that published sums bound every class of records from above, though
none of them may tell it. Who contributed itself knows its own amounts. Source of the rule: p% rule,
Hundepool and others, Statistical Disclosure Control (2012), section 4.2.2: the upper estimate of a
contribution must exceed it by p per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import listed
from tablecloak.safe.joint.question import (
    MOST_ATTACKERS,
    VariableQuestion,
    largest_of,
)
from tablecloak.safe.joint.search_work import SearchWork
from tablecloak.safe.joint.system import FigureSystem, figures_of_classes
from tablecloak.safe.output import Reason
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program

EXACT = 1e-6
"""How far a combination may be from 0 and 1, and coefficient up to which a figure plays no part."""

ROWS_PER_FIGURE, MOST_LAID_OUT, MOST_ROUNDS = 2, 500, 10
"""Size of the first program, figures beyond which none is laid out, and programs for one sum."""

MOST_OUTPUTS = 20
"""Outputs that are tried, the last ones of those that no sum names."""

MOST_PARTS = 5
"""Outputs that a computation is built of before it is given up."""

MOST_WEIGHTED = 1500
"""Figures of a variable up to which it is looked at how far totals can move."""

MOST_PRODUCTS, LEAST_PROGRAMS = 200_000, 20
"""Classes of records times programs that one question may take, and programs while there are no
more classes than that."""

MOST_MOVES, LEAST_MOVE = 6, 1e-3
"""Moves that are made for classes that those drawn at random do not raise far enough, and share of
what is asked for beyond which a move is no rounding error."""

RIDGE, NEARLY = 1e-11, 1e-6
"""What tells dependent figures apart, and by how much a leverage may be wrong."""

CLOSE = 1e-6
"""Share of an amount by which an estimate may miss the rule."""

NOBODY: Integers = np.zeros(0, dtype=np.int64)
"""Contributions of everybody who contributed nothing."""

HANDED_OVER = " (handed over)"
"""What is said behind the name of an output that a checker was given."""

MOST_TERMS = 8
"""Terms of a sum that are written out."""


@dataclass(frozen=True)
class FigureTerm:
    """One figure of a computation.

    Parameters
    ----------
    output : str
        Name of the output the figure stands in; "" for the one that is asked about.
    label : str
        The figure within it.
    coefficient : float
        By what it is multiplied.
    """

    output: str
    label: str
    coefficient: float


@dataclass(frozen=True)
class Disclosure:
    """A group of too few contributors that follows from figures of several outputs.

    Parameters
    ----------
    rule : {"threshold", "p-ratio"}
    n_contributors : int
        How many contributors stand behind what follows.
    records : (n,) array of int
        Positions of their records. For inside use only.
    terms : tuple of Term
        The computation, as a sum of published figures.
    new_terms : tuple of (int, int)
        Those of its terms that stand in the output asked about: (which of its `Figures`, which
        figure). Hiding one of them breaks the computation.
    text : str
        One sentence for the researcher and the checker: the outputs, and the sum.
    ways_out : tuple of tuple of str, default=()
        Earlier outputs that are enough to take back, each of these ways by itself; none if that was
        not worked out.
    """

    rule: str
    n_contributors: int
    records: Integers
    terms: tuple[FigureTerm, ...]
    new_terms: tuple[tuple[int, int], ...]
    text: str
    ways_out: tuple[tuple[str, ...], ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the earlier outputs that the computation uses, or that are to be taken back."""
        named = [term.output for term in self.terms if term.output]
        return tuple(dict.fromkeys(named or [name for way in self.ways_out for name in way]))


def why_hidden(findings: Iterable[Disclosure], figures: Sequence[str] = ()) -> str:
    """Return why figures were hidden, by the names of outputs and of these figures.

    How many contributors a finding has is not said: where its figures are hidden, that number is.
    """
    names = list(dict.fromkeys(name for finding in findings for name in finding.outputs))
    others = f"together with {listed(names, limit=20)} " if names else ""
    which = f" ({'; '.join(figures[:MOST_TERMS])}{'; ...' * (len(figures) > MOST_TERMS)})"
    return (
        f"hidden by differencing{which if figures else ''}: {others}more would be told of few "
        "contributors than may be"
    )


def failures(
    findings: Iterable[Disclosure], base: Callable[[Disclosure], str] = lambda _: ""
) -> list[Reason]:
    """Return why an output fails: what follows although nothing of it can be hidden, each once.

    Parameters
    ----------
    findings : iterable of Disclosure
    base : callable, optional
        How other outputs get the same records.
    """
    texts = [
        ". ".join(filter(None, [finding.text, remedy([finding]), base(finding)]))
        for finding in findings
    ]
    return [Reason("fail", "differencing", text) for text in dict.fromkeys(texts)]


def unsearched(undecided: Iterable[str]) -> list[Reason]:
    """Return reasons for review: what a search that was cut off may have missed."""
    return [Reason("review", "search", text) for text in undecided]


def remedy(findings: Sequence[Disclosure], wanted: str = "this output instead") -> str:
    """Return which earlier outputs a researcher can take back, and whether one of them is enough.

    Parameters
    ----------
    findings : sequence of Disclosure
        All of them are to be broken.
    wanted : str
        What there is then.
    """
    findings = [finding for finding in findings if finding.outputs or finding.ways_out]
    ways = [set(finding.ways_out) for finding in findings if finding.ways_out]
    if not findings:
        return ""
    common = sorted(set.intersection(*ways)) if ways else []
    start = f"To have {wanted}, take back or coarsen"
    if len(ways) < len(findings):
        blamed = dict.fromkeys(name for finding in findings for name in finding.outputs)
        removable = [name for name in blamed if not name.endswith(HANDED_OVER)]
        if not removable:
            return ""
        one = "it" if len(removable) == 1 else "one of these"
        return f"{start} {one}, and ask again, as others may tell the same: {_calls(removable)}"
    if common:
        names = [name for way in common if len(way) == 1 for name in way] or list(common[0])
        one = "one of these, whichever" if len(common[0]) == 1 else "all of these"
    else:
        names = list(dict.fromkeys(name for way in ways for name in min(way, key=_length)))
        one = "all of these"
    return f"{start} {'it' if len(names) == 1 else one}: {_calls(names)}"


def _length(way: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    return len(way), way


def _calls(names: Iterable[str]) -> str:
    return listed([f"remove_output({name!r})" for name in names], limit=20)


def same_records(number: int, columns: Sequence[str]) -> str:
    """Return how other outputs get the records of one that leaves out missing values."""
    return (
        f"Or make all outputs from the same {number} records, those without missing values in "
        f"{listed(columns, limit=20)}: filter the frame once, with dropna, before the first output"
    )


Computation = list[tuple[int, int, float]]
"""(part, figure, coefficient), for each term."""


def computation_of(
    system: FigureSystem, is_in: Flags, new: Sequence[int], likely: Sequence[int] = ()
) -> Computation | None:
    """Return a sum of figures that gives a group of classes, with few terms.

    Parameters
    ----------
    system : FigureSystem
    is_in : (c,) array of bool
        The group.
    new : sequence of int
        Parts of the output asked about, which the sum may use in any case.
    likely : sequence of int, default=()
        Parts that are enough together with those.

    Notes
    -----
    Parts are added one by one, that one first which explains most of what is left of the group;
    among them, a linear program finds the sum with the least coefficients.
    """
    chosen = list(dict.fromkeys([*new, *likely]))
    if not likely:
        terms = _least(system, is_in, chosen)
        while terms is None and len(chosen) < min(len(system.parts), len(new) + MOST_PARTS):
            chosen.append(_next_part(system, is_in, chosen))
            terms = _least(system, is_in, chosen)
        if terms is not None:
            return terms
        chosen = list(range(len(system.parts))) if len(system.parts) <= 2 * MOST_PARTS else chosen
    return _least(system, is_in, chosen)


def _least(system: FigureSystem, is_in: Flags, chosen: Sequence[int]) -> Computation | None:
    # One class of each kind that the chosen parts tell apart is enough.
    kind = np.zeros(system.n_classes, dtype=np.int64)
    for number in chosen:
        group = system.group(number)
        kind = pd.factorize(kind * (int(group.max(initial=-1)) + 2) + group + 1)[0]
    # Kinds are numbered in the order in which they come.
    first = np.flatnonzero(np.diff(np.maximum.accumulate(kind), prepend=-1))
    target = is_in[first].astype(float)
    if not np.array_equal(target[kind] > 0, is_in):
        return None
    parts = [system.parts[number] for number in chosen]
    figures = figures_of_classes(parts, [system.group(number, first) for number in chosen])
    multipliers = _combination(figures, (figures.T @ figures).toarray(), target)
    if multipliers is None:
        return None
    least = _least_sum(figures, target)
    # Where the program is too long, any combination is as true as the shortest.
    multipliers = multipliers if least is None else least
    lengths = [part.sums.shape[0] for part in parts]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    terms = []
    for number, (start, end) in zip(chosen, pairwise(starts.tolist()), strict=True):
        for figure in np.flatnonzero(np.abs(multipliers[start:end]) > EXACT):
            terms.append((number, int(figure), float(multipliers[start + figure])))
    return terms


def _combination(
    figures: csr_array, shared: Floats, target: Floats, kept: Integers | None = None
) -> Floats | None:
    """Return a combination of figures that gives a group; None if there is none.

    Parameters
    ----------
    figures : (c, f) sparse matrix
    shared : (f, f) array of float
        Their products with each other.
    target : (c,) array of 0 and 1
    kept : array of int, optional
        Figures that may play a part; by default all.
    """
    kept = np.arange(len(shared)) if kept is None else kept
    multipliers: Floats = np.zeros(len(shared))
    if len(kept):
        within, products = shared[np.ix_(kept, kept)], (figures.T @ target)[kept]
        # Figures that depend on each other are told apart by as little as rounding does.
        ridge = RIDGE * (float(np.diag(within).max()) or 1.0) * np.eye(len(kept))
        factor = cho_factor(within + ridge)
        found = cho_solve(factor, products)
        multipliers[kept] = found + cho_solve(factor, products - within @ found)
    return None if np.abs(figures @ multipliers - target).max() > EXACT else multipliers


def _least_sum(figures: csr_array, target: Floats) -> Floats | None:
    """Return the combination with the least coefficients; None if the program is too long.

    A few rows settle the combination; others are added while they are broken.
    """
    n = figures.shape[1]
    if n > MOST_LAID_OUT:
        return None
    generator = np.random.default_rng(1)
    rows = np.flatnonzero(target)
    first = generator.permutation(len(target))[: ROWS_PER_FIGURE * n]
    rows = np.unique(np.concatenate([rows, first]))
    for _ in range(MOST_ROUNDS):
        some = figures[rows]
        program = Program(
            np.ones(2 * n),
            csr_array(hstack([some, -some])),
            target[rows],
            target[rows],
            np.zeros(2 * n),
            np.full(2 * n, np.inf),
        )
        answer = solve(program)
        if not len(answer.x):
            return None
        multipliers = np.asarray(answer.x[:n] - answer.x[n:])
        broken = np.flatnonzero(np.abs(figures @ multipliers - target) > EXACT)
        if not broken.size:
            return multipliers
        rows = np.unique(np.concatenate([rows, broken[:n]]))
    return None


def _next_part(system: FigureSystem, is_in: Flags, chosen: Sequence[int]) -> int:
    """Return the part whose groups explain most of what the chosen ones leave of a group."""
    left, size = is_in.astype(np.float64), system.size.astype(np.float64)
    for number in chosen:
        total, held = _totals(system, left * size, slice(None), number)
        # A class that is in no group of the part takes the last mean, of nothing.
        left = left - np.append(total / np.maximum(held, 1), 0.0)[system.group(number)]
    there = np.flatnonzero(left)
    weighted = left[there] * size[there]
    gains = np.full(len(system.parts), -np.inf)
    for number in np.setdiff1d(np.arange(len(system.parts)), chosen).tolist():
        total, held = _totals(system, weighted, there, number)
        gains[number] = (total**2 / np.maximum(held, 1)).sum()
    return int(np.argmax(gains))


def _totals(
    system: FigureSystem, amounts: Floats, classes: Integers | slice, number: int
) -> tuple[Floats, Floats]:
    """Return amounts of some classes added up over each group of a part, and its records."""
    part = system.parts[number]
    total = np.bincount(system.group(number, classes) + 1, amounts, part.sums.shape[1] + 1)
    return total[1:].astype(np.float64), part.held


@dataclass(frozen=True, eq=False)
class Estimate:
    """A contribution that somebody estimates too closely.

    Parameters
    ----------
    number : int
        Class of the contribution.
    who : int
        Code of the contributor.
    attacker : int, optional
        Code of the contributor who can; None for everybody.
    multipliers : (f,) array of float
        The sum of figures that is the estimate, before the attacker's own amounts are taken off.
    """

    number: int
    who: int
    attacker: int | None
    multipliers: Floats


class Estimates:
    """Upper estimates of the largest contribution to each class.

    Parameters
    ----------
    system : FigureSystem
    who : (n,) array of int
        Contributor of each record.
    amounts : (n,) array of float
        None negative.
    share : float
        By what an estimate must exceed a contribution, as a share of it.

    Notes
    -----
    Class by class a linear program asks for the largest total that agrees with all figures. A class
    whose other contributors, without the second largest, have enough between them is safe whatever
    is published, and is not asked for. Nor is one that can be seen to reach far enough: all moves d
    that keep the figures and have sum of (d_i / x_i)^2 <= 1 leave every total positive, and the
    largest of class c among them is x_c sqrt(1 - h_c), with h_c the leverage of its row in the
    figures weighted by totals (Dikin's ellipsoid; Boyd and Vandenberghe, Convex Optimization, 2004,
    section 8.5).
    """

    def __init__(self, system: FigureSystem, who: Integers, amounts: Floats, share: float) -> None:
        self.system, self.share = system, share
        self.n_figures, n = system.n_figures, system.n_classes
        self.is_repeated = not pd.Index(who).is_unique
        number, parts = system.class_of, amounts
        if self.is_repeated:
            by_class = pd.DataFrame({"number": number, "who": who, "amount": amounts})
            by_class = by_class.groupby(["number", "who"], as_index=False).sum()
            number, who_of_part, parts = (by_class[name].to_numpy() for name in by_class)
        order = np.lexsort((-parts, number))
        self.number: Integers = number[order]
        self.who: Integers = (who_of_part if self.is_repeated else who)[order]
        self.amount: Floats = parts[order]
        self.starts = np.searchsorted(self.number, np.arange(n + 1))
        self.total = np.bincount(system.class_of, amounts, minlength=n)
        self.alone = np.diff(self.starts) == 1
        positive = self.total[self.total > 0]
        # In units of a typical class, so that the solver's tolerances fit.
        self.unit = float(np.median(positive)) if positive.size else 1.0
        least = LEAST_PROGRAMS * (n <= MOST_PRODUCTS)
        self.work = SearchWork(int(max(MOST_PRODUCTS // max(n, 1), least)))
        self.is_complete = True
        self._solved: dict[int, Floats] = {}
        self._parts: dict[int | None, Integers] = {None: NOBODY}
        self.attackers = largest_of(
            np.bincount(who, amounts).astype(float), MOST_ATTACKERS
        ).tolist()

    @cached_property
    def figures(self) -> csr_array:
        """Which figures each class stands in."""
        return csr_array(self.system.figures)

    @cached_property
    def solver(self) -> LinearSolver:
        """Totals of classes that agree with all figures."""
        n, figures = len(self.total), csr_array(self.figures.T)
        sums = figures @ (self.total / self.unit)
        program = Program(np.zeros(n), figures, sums, sums, np.zeros(n), np.full(n, np.inf))
        return LinearSolver(program, primal=True)

    def _parts_of(self, attacker: int | None) -> Integers:
        """Return which contributions are an attacker's own; None is anybody, who has none."""
        if attacker not in self._parts:
            self._parts[attacker] = np.flatnonzero(self.who == attacker)
        return self._parts[attacker]

    def close(self) -> Iterator[Estimate]:
        """Yield the contributions that somebody estimates too closely.

        In each class the largest comes first: where nobody comes too close to it, nobody does to
        the others.
        """
        rank = np.arange(len(self.number)) - self.starts[self.number]
        two = np.bincount(self.number[rank < 2], self.amount[rank < 2], len(self.total))
        largest = self.amount[self.starts[:-1]]
        at_risk = (largest > 0) & (self.total - two < self.share * largest)
        numbers = np.flatnonzero(at_risk)
        for each in numbers[~self._surely_far(numbers)].tolist():
            for who in self.who[self.starts[each] : self.starts[each + 1]].tolist():
                estimate = self.of(each, who)
                if estimate is None:
                    break
                yield estimate
            if not self.is_complete:
                # Without programs nothing more can be found.
                return

    def _surely_far(self, numbers: Integers) -> Flags:
        """Return the classes for whose largest contribution moves show that nobody comes close.

        A move that keeps all figures and leaves no total negative is one that nobody can rule out;
        the largest contributions of all stay where they are, so that it does not help to know them.
        """
        leeway = self.system.leeway
        far = np.zeros(len(numbers), dtype=np.bool_)
        if leeway is None or self.is_repeated or not len(numbers):
            return far
        places = np.concatenate([np.zeros(0, np.int64), *map(self._parts_of, self.attackers)])
        held = np.bincount(self.number[places], self.amount[places], len(self.total))
        room = np.maximum(self.total - held, 0.0)
        first = self.starts[numbers]
        several = np.diff(self.starts)[numbers] > 1
        second = np.where(several, self.amount[np.minimum(first + 1, len(self.amount) - 1)], 0.0)
        # The second largest of a class knows the own amount.
        needed = (1 + CLOSE) * (
            (1 + self.share) * self.amount[first] + second - self.total[numbers]
        )

        def try_out(moves: Floats, places: Integers, size: Floats) -> None:
            with np.errstate(divide="ignore"):
                for move in moves[:, leeway.is_unchanged(moves)].T:
                    # Made as often as it takes until some class has no room left.
                    falls = np.divide(-move, room, out=np.zeros_like(room), where=move < 0)
                    rise = move[numbers[places]]
                    is_real = rise > LEAST_MOVE * size
                    far[places] |= is_real & (rise >= needed[places] * falls.max())

        moves = np.hstack([leeway.moves, -leeway.moves])
        try_out(moves, np.arange(len(numbers)), np.sqrt(leeway.size[numbers]))
        is_held = held[numbers] > 0
        for _ in range(MOST_MOVES):
            # What some classes need, all at once; the next time what they still need.
            left = np.flatnonzero(~far & ~is_held)
            if not len(left):
                break
            try_out(leeway.near(numbers[left], needed[left, None]), left, needed[left])
        # Who is known to others rises alone, while these stay.
        left = np.flatnonzero(~far & is_held)
        moves = leeway.near(numbers[left], np.eye(len(left)))
        for column, place in enumerate(left):
            try_out(moves[:, [column]], np.array([place]), np.ones(1))
        return far

    def of(self, number: int, who: int) -> Estimate | None:
        """Return how somebody estimates a contribution to a class; None if nobody can."""
        part = slice(*self.starts[number : number + 2])
        is_own = self.who[part] == who
        amount = float(self.amount[part][is_own][0])
        others = self.who[part][~is_own].tolist()[:1]
        attackers = dict.fromkeys([*others, *(one for one in self.attackers if one != who)])
        for attacker in [None, *attackers]:
            multipliers = self._by(attacker, number, amount)
            if multipliers is not None:
                return Estimate(number, who, attacker, multipliers)
        return None

    @cached_property
    def _weighted(self) -> tuple[csr_array, Any]:
        """Return the figures weighted by totals, and their products as a factor."""
        rows = csr_array(self.figures * (self.total / self.unit)[:, None])
        products = (rows.T @ rows).toarray()
        scale = np.sqrt(np.maximum(np.diag(products), np.finfo(float).tiny))
        products /= scale[:, None] * scale
        # Figures that depend on each other are told apart by as little as rounding does.
        products[np.diag_indices_from(products)] += RIDGE
        return csr_array(rows / scale), cho_factor(products)

    def _reach(self, attacker: int | None, number: int) -> float:
        """Return a total that a class can surely have, for all that an attacker knows."""
        if self.n_figures > MOST_WEIGHTED:
            return -np.inf
        total = self.total[number] / self.unit
        of_attacker = self._parts_of(attacker)
        if len(of_attacker) > 1 or not total:
            return -np.inf
        h = self._shared(number, number)
        kept = 1.0
        for row in of_attacker:
            other = int(self.number[row])
            left = 1 - float(self.amount[row]) / self.total[other] if self.total[other] else 1.0
            off = 1 - left**2
            room = 1 - off * self._shared(other, other)
            if room < NEARLY:
                return -np.inf
            h += off * self._shared(number, other) ** 2 / room
            kept = left if other == number else 1.0
        return float(total * (1 + kept * max(1 - kept**2 * h - NEARLY, 0.0) ** 0.5))

    def _shared(self, one: int, other: int) -> float:
        rows, factor = self._weighted
        if one not in self._solved:
            row = rows[[one]].toarray().ravel()
            self._solved[one] = cho_solve(factor, row)
        start, end = rows.indptr[other : other + 2]
        return float(rows.data[start:end] @ self._solved[one][rows.indices[start:end]])

    def _by(self, attacker: int | None, number: int, amount: float) -> Floats | None:
        """Return the sum by which an attacker estimates an amount of a class too closely."""
        own = self._parts_of(attacker)
        classes, least = self.number[own], self.amount[own] / self.unit
        within = float(least[classes == number].sum())
        needed = ((1 + self.share) * amount * (1 - CLOSE)) / self.unit + within
        if self._reach(attacker, number) >= needed:
            return None
        if self.work.is_over():
            self.is_complete = False
            return None
        column = np.array([number])
        # More than enough is not asked for: the program then has a finite answer.
        # Where nobody else is in a class, its total is the attacker's own.
        self.solver.change_bounds(classes, least, np.where(self.alone[classes], least, np.inf))
        most = 2 * max(needed, self.total[number] / self.unit) + 1
        self.solver.change_bounds(column, np.array([within]), np.array([most]))
        self.solver.change_costs(column, np.array([-1.0]))
        answer = self.solver.solve()
        self.solver.change_costs(column, np.zeros(1))
        self.solver.change_bounds(classes, np.zeros(len(classes)), np.full(len(classes), np.inf))
        self.solver.change_bounds(column, np.zeros(1), np.full(1, np.inf))
        # Only a point that was checked against the figures shows that a contribution is safe.
        largest = -answer.value if len(answer.x) else -np.inf
        if largest >= needed:
            return None
        return -answer.duals if len(answer.duals) else np.zeros(self.n_figures)


def disclosure_of(
    question: VariableQuestion, group: Flags, likely: Sequence[int], *, is_explained: bool
) -> Disclosure:
    """Return what is said of a group that follows.

    Parameters
    ----------
    question : VariableQuestion
    group : array of bool
        Classes of the group.
    likely : sequence of int
        Parts that are known to be enough for the sum.
    is_explained : bool
        Whether the sum is worked out.
    """
    count = question.n_contributors(group)
    rule = "threshold" if count < question.appetite.safe_threshold else question.broken(group)
    computation = None
    if is_explained:
        computation = computation_of(question.after, group, question.new_parts, likely)
    terms, new_terms = _named(question, computation or ())
    if computation is None:
        # No short computation: every figure of what is asked about may be part of it.
        _, new_terms = _named(question, _of_new_figures(question, group))
    text = _text(question, rule, count, terms)
    records = question.records(group)
    ways_out = _ways_out(question, group, terms) if is_explained else ()
    return Disclosure(rule, count, records, terms, new_terms, text, ways_out)


def _ways_out(
    question: VariableQuestion, group: Flags, terms: Sequence[FigureTerm]
) -> tuple[tuple[str, ...], ...]:
    """Return which earlier outputs to take back so that a group follows no longer.

    Each output that is enough alone; or else several that are enough together, none of which can be
    left out. None if they are not enough, or figures are too many to try.
    """
    system, whole = question.after, question.figures_and_products
    if whole is None:
        return ()
    parts = [question.names.get(id(part.figures), ("", 0))[0] for part in system.parts]
    output = np.repeat(np.array(parts), [part.sums.shape[0] for part in system.parts])

    def follows_without(some: Iterable[str]) -> bool:
        kept = np.flatnonzero(~np.isin(output, list(some)))
        target = group.astype(np.float64)
        return _combination(*whole, target, kept) is not None

    def can_go(name: str) -> bool:
        return bool(name) and not name.endswith(HANDED_OVER)

    every = [name for name in reversed(dict.fromkeys(parts)) if can_go(name)]
    in_sum = [name for name in dict.fromkeys(term.output for term in terms) if can_go(name)]
    tried = in_sum if terms else every[:MOST_OUTPUTS]
    alone = [(name,) for name in tried if not follows_without([name])]
    if alone or not tried:
        return tuple(sorted(alone))
    gone = list(tried)
    for name in [each for each in every[:MOST_OUTPUTS] if each not in gone]:
        if not follows_without(gone):
            break
        gone.append(name)
    if follows_without(gone):
        return ()
    for name in list(gone):
        rest = [each for each in gone if each != name]
        if not follows_without(rest):
            gone = rest
    return (tuple(sorted(gone)),)


def _named(
    question: VariableQuestion, terms: Iterable[tuple[int, int, float]]
) -> tuple[tuple[FigureTerm, ...], tuple[tuple[int, int], ...]]:
    """Return terms by the names of outputs, and those of the output asked about."""
    named, new = [], []
    # A difference that earlier outputs told is named by one of them.
    earlier = next(((name, 0) for name, _ in question.names.values() if name), ("", 0))
    for part, figure, coefficient in terms:
        figures = question.after.parts[part].figures
        name, which = question.names.get(id(figures), earlier)
        named.append(FigureTerm(name, figures.labels[figure], coefficient))
        if not name:
            new.append((which, figure))
    return tuple(named), tuple(new)


def _of_new_figures(question: VariableQuestion, group: Flags) -> Computation:
    """Return the new figures in some sum of all figures that gives a group, or those near it."""
    system, multipliers = question.after, None
    if question.figures_and_products is not None:
        multipliers = _combination(*question.figures_and_products, group.astype(np.float64))
    every = [
        (part, figure)
        for part, entry in enumerate(system.parts)
        for figure in range(entry.sums.shape[0])
    ]
    new = [number for number, (part, _) in enumerate(every) if part in question.new_parts]
    if multipliers is not None:
        new = [number for number in new if abs(multipliers[number]) > EXACT]
    touching = {
        (part, figure) for part in question.new_parts for figure in _touching(question, part, group)
    }
    # Records that the new output lacks are told by figures that do not have them.
    near = [number for number in new if every[number] in touching] or new
    return [(*every[number], 1.0) for number in near]


def _touching(question: VariableQuestion, part: int, group: Flags) -> list[int]:
    within = question.after.group(part)[group]
    columns = np.unique(within[within >= 0])
    sums = question.after.parts[part].sums
    return np.flatnonzero(np.asarray(sums[:, columns].sum(axis=1)).ravel()).tolist()


def _text(question: VariableQuestion, rule: str, count: int, terms: Sequence[FigureTerm]) -> str:
    who = f"{count} contributor{'s' * (count != 1)}"
    limits = {
        "threshold": f"fewer than {question.appetite.safe_threshold}",
        "p-ratio": f"of which the two largest break the p% rule with "
        f"{question.appetite.safe_pratio_p:.0%}",
        "nk-rule": f"of which the {question.appetite.safe_nk_n} largest hold more than "
        f"{question.appetite.safe_nk_k:.0%}",
    }
    what = f"{question.variable.name} of {who}, {limits[rule]}"
    if not terms:
        return f"{what}, follow from all outputs together"
    return f"{_sum(terms)} = {what}"


def estimates_of(
    question: VariableQuestion, disclosures: Sequence[Disclosure]
) -> Iterable[Disclosure]:
    """Return contributions that somebody estimates too closely, beyond groups that follow."""
    amounts, share = question.amounts, question.appetite.safe_pratio_p
    if not share or (amounts == 1).all():
        return
    if (amounts < 0).any():
        # Nothing bounds them: an amount that is not told may lie anywhere.
        return
    class_of = question.after.class_of
    n = len(class_of)
    who = np.arange(n) if question.contributors is None else question.contributors[:n]
    amounts = np.nan_to_num(amounts)
    after = Estimates(question.after, who, amounts, share)
    before: Estimates | None = None
    disclosed = {record for group in disclosures for record in group.records.tolist()}
    for estimate in after.close():
        records = np.flatnonzero((class_of == estimate.number) & (who == estimate.who))
        parent = int(question.parent[estimate.number])
        if not disclosed.isdisjoint(records.tolist()):
            continue
        before = before or Estimates(question.before, who, amounts, share)
        if before.of(parent, estimate.who) is None:
            yield _close(question, estimate, records)
    if not after.is_complete:
        question.undecided.append(
            f"how closely contributions to {question.variable.name} can be estimated from sums "
            "that contain them was not searched to the end"
        )


def _close(question: VariableQuestion, estimate: Estimate, records: Integers) -> Disclosure:
    """Return what is said of a contribution that somebody estimates too closely."""
    columns = [
        (number, figure)
        for number, part in enumerate(question.after.parts)
        for figure in range(part.sums.shape[0])
    ]
    pairs = zip(columns, estimate.multipliers.tolist(), strict=True)
    terms, new_terms = _named(question, [(*at, y) for at, y in pairs if abs(y) > EXACT])
    who = "another contributor" if estimate.attacker is not None else "anybody"
    text = (
        f"from {_sum(terms)} {who} estimates the {question.variable.name} of one contributor "
        f"within {question.appetite.safe_pratio_p:.0%}"
    )
    return Disclosure("p-ratio", 1, records, terms, new_terms, text)


def _sum(terms: Sequence[FigureTerm]) -> str:
    text = ""
    ordered = sorted(terms, key=lambda term: (-term.coefficient, term.output))
    for term in ordered[:MOST_TERMS]:
        share = abs(Fraction(term.coefficient).limit_denominator(1000))
        times = "" if share == 1 else f"{share} x "
        sign = " - " if term.coefficient < 0 else " + " if text else ""
        where = term.output or "this output"
        text += f"{sign}{times}{where} [{term.label}]"
    rest = ordered[MOST_TERMS:]
    if rest:
        names = sorted({term.output or "this output" for term in rest})
        text += f" and {len(rest)} more figures of {listed(names)}"
    return text.strip()
