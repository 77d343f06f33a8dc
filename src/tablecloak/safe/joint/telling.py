"""What is said of a finding: the sum of figures by which it follows, and who comes how close.

A sum of published figures with few terms is named. Where none gives a contribution, somebody may
still estimate it from all figures of a variable.

Amounts are not negative, so that published sums bound every class of records from above, though
none of them may tell it. Who contributed itself knows its own amounts. Source of the rule: p% rule,
Hundepool and others, Statistical Disclosure Control (2012), section 4.2.2: the upper estimate of a
contribution must exceed it by p per cent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import listed
from tablecloak.safe.joint.finding import Finding, Term
from tablecloak.safe.joint.question import Question
from tablecloak.safe.joint.system import System, figures_of_classes
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program

EXACT_SUM = 1e-6
"""How far a combination may be from 0 and 1, and coefficient up to which a figure plays no part."""

RANK = 1e-11
"""Share of the largest singular value up to which figures depend on each other."""

ROWS_PER_FIGURE, SECONDS = 2, 1.0
"""Size of the first program, and limit for all of them."""

LEAST_SECONDS = 0.1
"""Limit of a program that begins just before the end."""

MOST_PARTS = 5
"""Outputs that a computation is built of before it is given up."""

Computation = list[tuple[int, int, float]]
"""(part, figure, coefficient), for each term."""

MOST_ATTACKERS = 20
"""Contributors that are tried against each other one, those with the largest amounts."""

CLOSE = 1e-6
"""Share of an amount by which an estimate may miss the rule."""

EXACT = 1e-6
"""Coefficient of a figure up to which it plays no part."""

MOST_TERMS = 8
"""Terms of a sum that are written out."""


def computation_of(
    system: System, is_in: Flags, asked: Sequence[int], likely: Sequence[int] = ()
) -> Computation | None:
    """Return a sum of figures that gives a group of classes, with few terms.

    Parameters
    ----------
    system : System
    is_in : (c,) array of bool
        The group.
    asked : sequence of int
        Parts of the system that the sum may use in any case.
    likely : sequence of int, default=()
        Parts that are known to be enough together with those asked about.

    Notes
    -----
    Parts are added one by one, that one first which explains most of what is left of the group;
    among them, a linear program finds the sum with the least coefficients.
    """
    chosen = list(dict.fromkeys([*asked, *likely]))
    if not likely:
        found = _least(system, is_in, chosen)
        while found is None and len(chosen) < min(len(system.parts), len(asked) + MOST_PARTS):
            chosen.append(_next_part(system, is_in, chosen))
            found = _least(system, is_in, chosen)
        if found is not None:
            return found
        chosen = list(range(len(system.parts))) if len(system.parts) <= 2 * MOST_PARTS else chosen
    return _least(system, is_in, chosen)


def _told_apart(groups: Sequence[npt.NDArray[np.integer]]) -> tuple[Integers, Integers]:
    """Return one class of each kind that some parts tell apart, and the kind of each class."""
    kind = np.zeros(len(groups[0]), dtype=np.int64)
    for group in groups:
        kind = pd.factorize(kind * (int(group.max(initial=-1)) + 2) + group + 1)[0]
    _, first = np.unique(kind, return_index=True)
    return first, kind.astype(np.int64)


def _kinds(system: System, is_in: Flags, chosen: Sequence[int]) -> tuple[csr_array, Floats] | None:
    groups = [system.groups[number] for number in chosen]
    first, kind = _told_apart(groups)
    target = is_in[first].astype(float)
    if not np.array_equal(target[kind] > 0, is_in):
        return None
    figures = figures_of_classes(
        [system.parts[number] for number in chosen], [g[first] for g in groups]
    )
    return figures, target


def _least(system: System, is_in: Flags, chosen: Sequence[int]) -> Computation | None:
    laid_out = _kinds(system, is_in, chosen)
    if laid_out is None:
        return None
    figures, target = laid_out
    shared = (figures.T @ figures).toarray()
    found = np.linalg.lstsq(shared, figures.T @ target, rcond=RANK)[0]
    if np.abs(figures @ found - target).max() > EXACT_SUM:
        return None
    least = _least_sum(figures, target)
    # Where the program is too long, any combination is as true as the shortest.
    multipliers = found if least is None else least
    lengths = [system.parts[number].sums.shape[0] for number in chosen]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    terms = []
    for number, (start, end) in zip(chosen, pairwise(starts.tolist()), strict=True):
        for figure in np.flatnonzero(np.abs(multipliers[start:end]) > EXACT_SUM):
            terms.append((number, int(figure), float(multipliers[start + figure])))
    return terms


def _least_sum(figures: csr_array, target: Floats) -> Floats | None:
    """Return the combination with the least coefficients; None if the program is too long.

    A few rows settle the combination; others are added while they are broken.
    """
    n = figures.shape[1]
    generator = np.random.default_rng(1)
    rows = np.flatnonzero(target)
    first = generator.permutation(len(target))[: ROWS_PER_FIGURE * n]
    rows = np.unique(np.concatenate([rows, first]))
    budget = Budget.begun(SECONDS)
    while not budget.is_over:
        some = figures[rows]
        program = Program(
            np.ones(2 * n),
            csr_array(hstack([some, -some])),
            target[rows],
            target[rows],
            np.zeros(2 * n),
            np.full(2 * n, np.inf),
        )
        answer = solve(program, time_limit=max(budget.left, LEAST_SECONDS))
        if not len(answer.x):
            return None
        found = answer.x[:n] - answer.x[n:]
        broken = np.flatnonzero(np.abs(figures @ found - target) > EXACT_SUM)
        if not broken.size:
            return np.asarray(found)
        rows = np.unique(np.concatenate([rows, broken[:n]]))
    return None


def _next_part(system: System, is_in: Flags, chosen: Sequence[int]) -> int:
    """Return the part whose groups explain most of what the chosen ones leave of a group."""
    left = is_in.astype(float)
    for number in chosen:
        left = left - _share(system, left, number)
    gains = [
        -np.inf if number in chosen else float(_share(system, left, number) ** 2 @ system.size)
        for number in range(len(system.parts))
    ]
    return int(np.argmax(gains))


def _share(system: System, amounts: Floats, number: int) -> Floats:
    """Return the mean of amounts over each group of a part, 0 outside."""
    group = system.groups[number]
    inside = group >= 0
    n_groups = system.parts[number].sums.shape[1]
    total = np.bincount(group[inside], (amounts * system.size)[inside], minlength=n_groups)
    size = np.bincount(group[inside], system.size[inside], minlength=n_groups)
    mean = total / np.maximum(size, 1)
    return np.where(inside, mean[group], 0.0)


@dataclass(frozen=True, eq=False)
class Estimate:
    """A contribution that somebody estimates too closely.

    Parameters
    ----------
    number : int
        Class of the contribution.
    who : int
        Code of the contributor.
    excess : float
        By how much the estimate exceeds the contribution, as a share of it.
    attacker : int, optional
        Code of the contributor who can; None for everybody.
    multipliers : (f,) array of float
        The sum of figures that is the estimate, before the attacker's own amounts are taken off.
    """

    number: int
    who: int
    excess: float
    attacker: int | None
    multipliers: Floats


class Estimates:
    """Upper estimates of the largest contribution to each class.

    Parameters
    ----------
    figures : csr_array, shape (c, f)
        Which figures each class stands in.
    class_of, who : (n,) array of int
        Class and contributor of each record.
    amounts : (n,) array of float
        None negative.
    share : float
        By what an estimate must exceed a contribution, as a share of it.

    Notes
    -----
    Class by class a linear program asks for the largest total that agrees with all figures. A class
    whose other contributors, without the second largest, have enough between them is safe whatever
    is published, and is not asked for.
    """

    def __init__(
        self, figures: csr_array, class_of: Integers, who: Integers, amounts: Floats, share: float
    ) -> None:
        self.share = share
        self.n_figures = figures.shape[1]
        parts = pd.DataFrame({"number": class_of, "who": who, "amount": amounts})
        self.parts = parts.groupby(["number", "who"], as_index=False).sum()
        self.total = np.bincount(class_of, amounts, minlength=figures.shape[0])
        self.alone = np.bincount(self.parts["number"], minlength=figures.shape[0]) == 1
        positive = self.total[self.total > 0]
        # In units of a typical class, so that the solver's tolerances fit.
        self.unit = float(np.median(positive)) if positive.size else 1.0
        told = figures.T @ (self.total / self.unit)
        n = figures.shape[0]
        self.solver = LinearSolver(
            Program(np.zeros(n), csr_array(figures.T), told, told, np.zeros(n), np.full(n, np.inf)),
            primal=True,
        )
        by_size = self.parts.groupby("who")["amount"].sum().sort_values(ascending=False)
        self.attackers = by_size.index[:MOST_ATTACKERS].tolist()

    def close(self) -> Iterator[Estimate]:
        """Yield the contributions that somebody estimates too closely.

        In each class the largest comes first: where nobody comes too close to it, nobody does to
        the others.
        """
        ordered = self.parts.sort_values(["number", "amount"], ascending=[True, False])
        for _, part in ordered.groupby("number"):
            amounts = part["amount"].to_numpy()
            if amounts[0] <= 0 or amounts[2:].sum() >= self.share * amounts[0]:
                continue
            for number, who in part[["number", "who"]].to_numpy().tolist():
                found = self.of(number, who)
                if found is None:
                    break
                yield found

    def of(self, number: int, who: int) -> Estimate | None:
        """Return how somebody estimates the contribution of one contributor to a class.

        Parameters
        ----------
        number, who : int

        Returns
        -------
        Estimate or None
            None if nobody comes too close.
        """
        part = self.parts[self.parts["number"] == number].sort_values("amount", ascending=False)
        own = float(part.loc[part["who"] == who, "amount"].iloc[0])
        others = part.loc[part["who"] != who, "who"].tolist()[:1]
        attackers = dict.fromkeys([*others, *(one for one in self.attackers if one != who)])
        for attacker in [None, *attackers]:
            known = self.parts[self.parts["who"] == attacker] if attacker is not None else None
            found = self._asked(number, who, own, known, attacker)
            if found is not None:
                return found
        return None

    def _asked(
        self, number: int, who: int, own: float, known: pd.DataFrame | None, attacker: int | None
    ) -> Estimate | None:
        classes, least = np.empty(0, dtype=np.int64), np.empty(0)
        if known is not None:
            classes, least = known["number"].to_numpy(), known["amount"].to_numpy() / self.unit
        within = float(least[classes == number].sum())
        needed = ((1 + self.share) * own * (1 - CLOSE)) / self.unit + within
        column = np.array([number])
        # More than enough is not asked for: the program then has a finite answer.
        at_least = np.zeros(len(classes))
        # Where nobody else is in a class, its total is the attacker's own.
        self.solver.change_bounds(classes, least, np.where(self.alone[classes], least, np.inf))
        most = 2 * max(needed, self.total[number] / self.unit) + 1
        self.solver.change_bounds(column, np.array([within]), np.array([most]))
        self.solver.change_costs(column, np.array([-1.0]))
        answer = self.solver.solve()
        self.solver.change_costs(column, np.zeros(1))
        self.solver.change_bounds(classes, at_least, np.full(len(classes), np.inf))
        self.solver.change_bounds(column, np.zeros(1), np.full(1, np.inf))
        # Only a point that was checked against the figures shows that a contribution is safe.
        largest = -answer.value if len(answer.x) else -np.inf
        if largest >= needed:
            return None
        excess = (largest - within) * self.unit / own - 1
        multipliers = -answer.duals if len(answer.duals) else np.zeros(self.n_figures)
        return Estimate(number, who, max(excess, 0.0), attacker, multipliers)


def told(question: Question, group: Flags, likely: Sequence[int], *, is_explained: bool) -> Finding:
    """Return what is said of a group that follows.

    Parameters
    ----------
    question : Question
    group : array of bool
        Classes of the group.
    likely : sequence of int
        Parts that are known to be enough for the sum.
    is_explained : bool
        Whether the sum is worked out.
    """
    count = question.n_contributors(group)
    rule = "threshold" if count < question.appetite.safe_threshold else question.broken(group)
    terms = computation_of(question.after, group, question.asked, likely) if is_explained else None
    said, asked = _named(question, terms or ())
    if terms is None:
        # No short computation: every figure of what is asked about may be part of it.
        touching = [
            (part, figure, 1.0)
            for part in question.asked
            for figure in _touching(question, part, group)
        ]
        _, asked = _named(question, touching)
    text = _text(question, rule, count, said)
    return Finding(rule, count, question.records(group), said, asked, text)


def _named(
    question: Question, terms: Iterable[tuple[int, int, float]]
) -> tuple[tuple[Term, ...], tuple[tuple[int, int], ...]]:
    """Return terms by the names of outputs, and those of the output asked about."""
    said, asked = [], []
    for part, figure, coefficient in terms:
        figures = question.after.parts[part].figures
        name, which = question.names[id(figures)]
        said.append(Term(name, figures.labels[figure], coefficient))
        if not name:
            asked.append((which, figure))
    return tuple(said), tuple(asked)


def _touching(question: Question, part: int, group: Flags) -> list[int]:
    within = question.after.groups[part][group]
    columns = np.unique(within[within >= 0])
    sums = question.after.parts[part].sums
    return np.flatnonzero(np.asarray(sums[:, columns].sum(axis=1)).ravel()).tolist()


def _text(question: Question, rule: str, count: int, terms: Sequence[Term]) -> str:
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


def estimated(question: Question, found: Sequence[Finding]) -> Iterable[Finding]:
    """Return contributions that somebody estimates too closely, beyond groups that were found."""
    amounts, share = question.amounts, question.appetite.safe_pratio_p
    if not share or (amounts == 1).all():
        return
    if not question.is_small:
        question.undecided.append(
            f"how closely contributions to {question.variable.name} can be estimated from sums "
            "that contain them was not searched across outputs"
        )
        return
    if (amounts < 0).any():
        question.undecided.append(
            f"{question.variable.name} has negative amounts, so that sums bound no contribution"
        )
        return
    after = _estimates(question, question.after, amounts)
    before = _estimates(question, question.before, amounts)
    records = {record for finding in found for record in finding.records.tolist()}
    who = _who(question)
    for estimate in after.close():
        own = np.flatnonzero((question.after.class_of == estimate.number) & (who == estimate.who))
        parent = int(question.parent[estimate.number])
        if records.isdisjoint(own.tolist()) and before.of(parent, estimate.who) is None:
            yield _close(question, estimate, own)


def _who(question: Question) -> Integers:
    n = len(question.after.class_of)
    return np.arange(n) if question.contributors is None else question.contributors[:n]


def _estimates(question: Question, system: System, amounts: Floats) -> Estimates:
    amounts = np.nan_to_num(amounts)
    share = question.appetite.safe_pratio_p
    return Estimates(system.figures, system.class_of, _who(question), amounts, share)


def _close(question: Question, estimate: Estimate, records: Integers) -> Finding:
    """Return what is said of a contribution that somebody estimates too closely."""
    columns = [
        (number, figure)
        for number, part in enumerate(question.after.parts)
        for figure in range(part.sums.shape[0])
    ]
    used = np.flatnonzero(np.abs(estimate.multipliers) > EXACT)
    said, asked = _named(
        question, ((*columns[at], float(estimate.multipliers[at])) for at in used.tolist())
    )
    who = "another contributor" if estimate.attacker is not None else "anybody"
    text = (
        f"from {_sum(said)} {who} estimates the {question.variable.name} of one contributor "
        f"within {question.appetite.safe_pratio_p:.0%}"
    )
    return Finding("p-ratio", 1, records, said, asked, text)


def _sum(terms: Sequence[Term]) -> str:
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
