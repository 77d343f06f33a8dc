"""A cell of a pattern that is not sensitive: hidden or published, and what the other would cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from tablecloak.arrays import Flags, Integers
from tablecloak.errors import ModelError, listed
from tablecloak.explaining.explanation import Explanation, frozen_at, shown, trial_search
from tablecloak.explaining.pattern_question import Interval, PatternQuestion
from tablecloak.suppression.attack.audit import Audit, attacked, audit_pattern
from tablecloak.suppression.attack.finding import Finding, Verdict
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.search.groups_search import PatternSearch
from tablecloak.suppression.search.method import SearchMethod
from tablecloak.tables.problem import ProtectionProblem

FULL_SHARE = 0.6
"""Share of the time for a search from scratch; the rest is for one from the present pattern, which
finds more on large tables. Chosen by trial; not measured."""

NAMED = 8
"""Cells that are named in one line of text. All are in the JSON."""

SHOWN_ATTACKS = 3
"""Sensitive cells whose attack is written out as a sum; all are named in the JSON."""

AUDIT_SHARE = 0.5
"""Share of the time for finding the sensitive cells that need the cell."""


class AlternativeStatus(Enum):
    """What is known of patterns that publish the cell."""

    CHEAPEST = "cheapest"
    """A protected pattern was found, and none that publishes the cell loses less: proved."""
    FOUND = "found"
    """A protected pattern was found; a cheaper one may exist."""
    IMPOSSIBLE = "impossible"
    """No pattern that publishes the cell protects all others: proved by an attack on the pattern
    that hides everything else."""
    NONE_FOUND = "none found"
    """None was found in time, or none that holds against all insiders; that proves nothing."""
    NOT_ASKED = "not asked"
    """No search was made; the note says why."""


@dataclass(frozen=True, eq=False)
class Alternative:
    """The cheapest pattern found that publishes a cell.

    Parameters
    ----------
    problem : ProtectionProblem
    outcome : AlternativeStatus
    present : numpy.ndarray of bool, shape (n_cells,)
        The pattern that is explained.
    hidden : numpy.ndarray of bool, shape (n_cells,), or None
        The pattern found.
    bound : float
        Proved lower bound on the loss of any protected pattern that publishes the cell.
    attack : Interval or None
        The attack on a sensitive cell that succeeds though all else is hidden.
    note : str
    """

    problem: ProtectionProblem
    outcome: AlternativeStatus
    present: Flags
    hidden: Flags | None = None
    bound: float = 0.0
    attack: Interval | None = None
    note: str = ""

    @property
    def loss(self) -> float:
        """Loss of the pattern found; infinite if there is none."""
        return np.inf if self.hidden is None else _loss(self.problem, self.hidden)

    @property
    def present_loss(self) -> float:
        """Loss of the pattern that is explained."""
        return _loss(self.problem, self.present)

    @property
    def cost(self) -> float:
        """What publishing the cell adds to the loss; negative where it lowers it."""
        return self.loss - self.present_loss

    def lines(self) -> list[str]:
        """Say what publishing the cell would cost."""
        if self.outcome is AlternativeStatus.IMPOSSIBLE:
            assert self.attack is not None
            label = self.problem.table.label(self.attack.upper.cell)
            head = "Publishing it: impossible. Even if all else were hidden that may be,"
            return [head, *self.attack.lines(f"everybody who looks at ({label})")]
        if self.outcome is AlternativeStatus.NOT_ASKED:
            return [f"Publishing it: not searched, since {self.note}."] * bool(self.note)
        if self.hidden is None:
            return ["Publishing it: no other pattern was found within the limits."]
        return [self._price(), *self._differences()]

    def _price(self) -> str:
        proved = self.outcome is AlternativeStatus.CHEAPEST
        losses = f"loss {shown(self.loss)} instead of {shown(self.present_loss)}"
        if self.cost < 0:
            text = f"Publishing it lowers the loss by {shown(-self.cost)}: {losses}"
        else:
            text = f"Publishing it costs {'' if proved else 'at most '}{shown(self.cost)} more: "
            text += losses
        if proved:
            return f"{text}, proved to be the cheapest way."
        least = f", and no way loses less than {shown(self.bound)}" * bool(self.bound > 0)
        return f"{text}{least}."

    def _differences(self) -> list[str]:
        assert self.hidden is not None
        table = self.problem.table
        hides = np.flatnonzero(self.hidden & ~self.present)
        shows = np.flatnonzero(self.present & ~self.hidden)
        lines = [f"  it would also hide {listed(table.labels(hides), NAMED)}"] * bool(len(hides))
        return [*lines, f"  it would publish {listed(table.labels(shows), NAMED)}"]

    def facts(self) -> dict[str, Any]:
        """Return the same as plain numbers."""
        keys, is_found = self.problem.table.keys, self.hidden is not None
        hidden = self.present if self.hidden is None else self.hidden
        return {
            "outcome": self.outcome.value,
            "loss": self.loss if is_found else None,
            "present_loss": self.present_loss,
            "cost": self.cost if is_found else None,
            "bound": self.bound if np.isfinite(self.bound) else None,
            "also_hides": keys[hidden & ~self.present].to_dict("records"),
            "publishes": keys[self.present & ~hidden].to_dict("records"),
            "attack": None if self.attack is None else self.attack.facts(),
            "note": self.note,
        }


def _loss(problem: ProtectionProblem, hidden: Flags) -> float:
    return float(problem.weights[hidden].sum())


def _alternative(
    question: PatternQuestion, outcome: AlternativeStatus, **facts: Any
) -> Alternative:
    return Alternative(question.problem, outcome, question.hidden, **facts)


def cheapest_without(question: PatternQuestion, cell: int) -> Alternative:
    """Search the cheapest protected pattern that publishes a cell.

    From scratch first; where that does not end with a proof, from the present pattern as well.
    Every pattern is proved or audited before it counts.
    """
    problem = frozen_at(question.problem, cell)
    pattern, bound, is_best = _searched(question, problem, FULL_SHARE)
    if pattern is None:
        attack = _attack_on_all_else(question, problem)
        if attack is not None:
            return _alternative(question, AlternativeStatus.IMPOSSIBLE, bound=np.inf, attack=attack)
    if not is_best and not question.budget.is_over:
        near = _from_present(question, problem, cell)
        patterns = [pattern for pattern in (pattern, near) if pattern is not None]
        pattern = min(patterns, key=partial(_loss, problem), default=None)
    if pattern is None:
        return _alternative(question, AlternativeStatus.NONE_FOUND, bound=bound)
    outcome = AlternativeStatus.CHEAPEST if is_best else AlternativeStatus.FOUND
    return _alternative(question, outcome, hidden=pattern, bound=bound)


def _from_present(question: PatternQuestion, problem: ProtectionProblem, cell: int) -> Flags | None:
    """Hide more beside the present pattern until all is protected; None if that was not found.

    What is hidden already costs nothing in this search, so that it ends near the present pattern.
    """
    kept = question.hidden.copy()
    kept[cell] = False
    cheap = problem.with_changes(weights=np.where(kept, 0.0, problem.weights))
    more, _, _ = _searched(question, cheap, 1.0)
    if more is None:
        return None
    is_safe = audit_pattern(
        problem, more | kept, require=question.requirement, intruders=question.intruders
    ).is_safe
    return more | kept if is_safe else None


def _attack_on_all_else(question: PatternQuestion, problem: ProtectionProblem) -> Interval | None:
    """Return an attack that succeeds though all is hidden that may be; None if none is found.

    A pattern that hides less tells more, so that no pattern protects this cell.
    """
    free = ~problem.frozen
    low, high = problem.ends(free)
    everything = replace(
        question, problem=problem, lower=low, upper=high, hidden=free, intruders=(), witnesses=()
    )
    try:
        audit = audit_pattern(
            problem, free, require=question.requirement, time_limit=question.budget.share(0.3).left
        )
    except ModelError:
        return None
    for index, sensitive in enumerate(audit.needs.cells.tolist()):
        if audit.verdicts[index].value == "attackable":
            interval = everything.interval(sensitive)
            if interval.is_too_narrow:
                return interval
    return None


def _searched(
    question: PatternQuestion, problem: ProtectionProblem, share: float
) -> tuple[Flags | None, float, bool]:
    """Search a pattern; return it, its bound, and whether it is proved to be the cheapest."""
    # Not `suppress`, which would name the frozen cells that prevent a pattern: that takes seconds.
    method, budget = SearchMethod.parse("auto"), question.budget
    search = PatternSearch(method, question.requirement, question.intruders, "strict", budget.left)
    pattern = trial_search(budget, share, partial(search, problem))
    if pattern is None:
        return None, 0.0, False
    return pattern.suppressed, pattern.bound, pattern.is_optimal


@dataclass(frozen=True, eq=False, repr=False)
class HiddenCell(Explanation):
    """Why a cell is hidden that is not sensitive. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
    cell : int
    is_forced : bool
        Whether it must be hidden anyway.
    is_interval : bool
        Whether the release tells an interval that holds it.
    needed_by : tuple of int
        Sensitive cells that the external intruder could attack if this cell were published.
    attacks : dict of int to Interval
        The attacks on the first of them, as sums.
    insiders : tuple of (str, int)
        Insiders who could attack then, and whom.
    insider_attacks : dict of (str, int) to Interval
        The attacks of the first of these, as sums.
    undecided : tuple of int
        Sensitive cells of which time did not allow to say.
    open_before : tuple of int
        Sensitive cells that can be attacked as things stand, whatever happens to this cell.
    judged : tuple of str
        Kinds of insiders that were tried.
    alternative : Alternative
    """

    problem: ProtectionProblem
    cell: int
    is_forced: bool
    is_interval: bool
    needed_by: tuple[int, ...]
    attacks: dict[int, Interval]
    insiders: tuple[tuple[str, int], ...]
    insider_attacks: dict[tuple[str, int], Interval]
    undecided: tuple[int, ...]
    open_before: tuple[int, ...]
    judged: tuple[str, ...]
    alternative: Alternative

    @property
    def kind(self) -> str:
        """Return why it is hidden."""
        if self.is_interval:
            return "published as an interval"
        return "must be hidden by declaration" if self.is_forced else "secondary suppression"

    @property
    def is_needed(self) -> bool:
        """Whether a sensitive cell is known to need it."""
        return bool(self.needed_by or self.insiders)

    def lines(self) -> list[str]:
        """Return who needs it, the attacks without it, and what publishing it would cost."""
        lines = self._need_lines()
        for cell, interval in self.attacks.items():
            lines += self._attack_lines("everybody", cell, interval)
        for (name, cell), interval in self.insider_attacks.items():
            lines += self._attack_lines(name, cell, interval)
        if self.undecided:
            lines.append(f"Not settled in time: {self._named(self.undecided)}.")
        if self.open_before:
            lines.append(f"Attackable as things stand: {self._named(self.open_before)}.")
        return lines + self.alternative.lines()

    def _attack_lines(self, who: str, cell: int, interval: Interval) -> list[str]:
        """Say what somebody could compute of a sensitive cell, as sums."""
        low, high = interval.ends
        lies = "exactly" if low == high else f"to lie {interval.span()}"
        named = f"({self._label(cell)}) = {shown(interval.value)}"
        lines = [f"If it were published, {who} could compute {named} {lies}:"]
        for each in interval.failing():
            lines += each.lines("exactly" if interval.is_point else "")
        return [*lines, f"  {interval.verdict()}"]

    def _need_lines(self) -> list[str]:
        lines = []
        if self.needed_by:
            lines.append(f"Needed by {self._named(self.needed_by)}.")
        if self.insiders:
            told = [
                f"{name} would come too close to ({self._label(c)})" for name, c in self.insiders
            ]
            lines.append(f"Needed against insiders: {listed(told, NAMED)}.")
        if not lines and not self.undecided:
            judged = " and ".join(["the external intruder", *self.judged])
            lines.append(
                f"No sensitive cell needs it: all stay protected from {judged} if it is published."
            )
        return lines

    def _label(self, cell: int) -> str:
        return self.problem.table.label(cell)

    def _named(self, cells: tuple[int, ...]) -> str:
        return listed(self.problem.table.labels(np.array(cells)), NAMED)

    def facts(self) -> dict[str, Any]:
        """Return the same as plain numbers."""
        return {
            "needed_by": [self.codes(cell) for cell in self.needed_by],
            "attacks": [
                {"cell": self.codes(cell), **interval.facts()}
                for cell, interval in self.attacks.items()
            ],
            "insiders": [
                {"insider": name, "cell": self.codes(cell)} for name, cell in self.insiders
            ],
            "insider_attacks": [
                {"insider": name, "cell": self.codes(cell), **interval.facts()}
                for (name, cell), interval in self.insider_attacks.items()
            ],
            "insiders_tried": list(self.judged),
            "undecided": [self.codes(cell) for cell in self.undecided],
            "open_before": [self.codes(cell) for cell in self.open_before],
            "alternative": self.alternative.facts(),
        }


def explain_secondary(
    question: PatternQuestion, cell: int, *, with_price: bool = True
) -> HiddenCell:
    """Explain a hidden cell that is not sensitive.

    Parameters
    ----------
    question : PatternQuestion
    cell : int
    with_price : bool, default=True
        Whether to search the cheapest other pattern.
    """
    without = question.publishing(cell)
    near = question.ranges.component(cell)
    audit = _audited(without, near)
    fallen, undecided = (_with(audit, each) for each in (Verdict.ATTACKABLE, Verdict.UNDECIDED))
    before, open_to = _before(question, near) if fallen or audit.attacks else ([], set())
    needed = [p for p in fallen if p not in before]
    found = [each for each in audit.attacks if (each.intruder, each.cell) not in open_to]
    return HiddenCell(
        problem=question.problem,
        cell=cell,
        is_forced=bool(question.problem.forced[cell]),
        is_interval=question.is_of_intervals,
        needed_by=tuple(needed),
        attacks={p: without.interval(p) for p in needed[:SHOWN_ATTACKS]},
        insiders=tuple((each.intruder, each.cell) for each in found),
        insider_attacks=_insider_attacks(without, found),
        undecided=tuple(undecided),
        open_before=tuple(before),
        judged=tuple(audit.intruders),
        alternative=_price(question, cell, with_price=with_price),
    )


def _audited(without: PatternQuestion, near: Integers) -> Audit:
    """Attack the sensitive cells that relations connect with a cell, all others left out."""
    problem, hidden = without.problem, without.hidden
    judged = np.zeros(len(hidden), dtype=bool)
    judged[near] = problem.sensitive[near]
    local = problem.with_changes(status=np.where(judged & hidden, "u", "s"))
    question = Question.of(local, without.requirement, without.intruders)
    if without.is_of_intervals:
        question = question.knowing(without.ranges.lower, without.ranges.upper)
    budget = without.budget.share(AUDIT_SHARE)
    return attacked(question, hidden, budget, witnesses=list(without.witnesses))


def _insider_attacks(
    without: PatternQuestion, found: list[Finding]
) -> dict[tuple[str, int], Interval]:
    """Return the first attacks of insiders as sums; whole numbers are a search, and no sum."""
    known = (
        (each.intruder, each.cell, each.knowledge) for each in found if each.knowledge is not None
    )
    return {
        (intruder, cell): without.interval(cell, knowledge)
        for intruder, cell, knowledge in islice(known, SHOWN_ATTACKS)
    }


def _with(audit: Audit, verdict: Verdict) -> list[int]:
    """Return the sensitive cells with a verdict."""
    pairs = zip(audit.needs.cells.tolist(), audit.verdicts, strict=True)
    return [cell for cell, found in pairs if found is verdict]


def _before(question: PatternQuestion, near: Integers) -> tuple[list[int], set[tuple[str, int]]]:
    """Return which cells can be attacked as things stand, and by which insiders."""
    audit = _audited(question, near)
    insiders = {(attack.intruder, attack.cell) for attack in audit.attacks}
    return _with(audit, Verdict.ATTACKABLE), insiders


def _price(question: PatternQuestion, cell: int, *, with_price: bool) -> Alternative:
    problem, note = question.problem, ""
    if question.is_of_intervals:
        note = "the release publishes intervals"
    elif problem.forced[cell]:
        note = "it must be hidden by declaration"
    elif problem.table.rests[question.hidden].any():
        note = "sums and rests of groups depend on the pattern"
    elif with_price:
        return cheapest_without(question, cell)
    return _alternative(question, AlternativeStatus.NOT_ASKED, note=note)


@dataclass(frozen=True, eq=False, repr=False)
class PublishedCell(Explanation):
    """A cell that is not sensitive and is published as it is. Secret like all explanations.

    Parameters
    ----------
    problem : ProtectionProblem
    cell : int
    """

    problem: ProtectionProblem
    cell: int

    @property
    def kind(self) -> str:
        """Return that it is published."""
        return "published"

    def lines(self) -> list[str]:
        """Say that it is neither sensitive nor hidden, and what hiding it would cost."""
        if self.problem.frozen[self.cell]:
            return ["Not sensitive, and declared to stay: no pattern may hide it."]
        weight = shown(float(self.problem.weights[self.cell]))
        return [f"Not sensitive, and this pattern does not hide it. Hiding it would cost {weight}."]

    def facts(self) -> dict[str, Any]:
        """Return the same as plain numbers."""
        return {
            "is_frozen": bool(self.problem.frozen[self.cell]),
            "weight": float(self.problem.weights[self.cell]),
        }
