"""A secondary suppression: which sensitive cells need it, and what publishing it would cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.arrays import Integers
from tablecloak.errors import listed
from tablecloak.explaining.alternative import Alternative, cheapest_without, not_asked
from tablecloak.explaining.explanation import Explanation
from tablecloak.explaining.intervals_text import interval_facts, span, sum_lines, verdict
from tablecloak.explaining.numbers import shown
from tablecloak.explaining.pattern_question import Interval, PatternQuestion
from tablecloak.suppression.attack.audit import Audit, attacked
from tablecloak.suppression.attack.finding import Finding, Verdict
from tablecloak.suppression.attack.question import Question
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["HiddenCell", "explain_secondary"]

SHOWN_ATTACKS = 3
"""Sensitive cells whose attack is written out as a sum; all are named in the JSON."""

NAMED = 8
"""Cells that are named in one line of text."""

AUDIT_SHARE = 0.5
"""Share of the time for finding the sensitive cells that need the cell."""


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
        lies = "exactly" if low == high else f"to lie {span(interval)}"
        named = f"({self._label(cell)}) = {shown(interval.value)}"
        lines = [f"If it were published, {who} could compute {named} {lies}:"]
        for each in interval.failing():
            lines += sum_lines(each, "exactly" if interval.is_point else "")
        return [*lines, f"  {verdict(interval)}"]

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
            lines.append(
                f"No sensitive cell needs it: all stay protected from {self._judged()} if it is "
                f"published."
            )
        return lines

    def _judged(self) -> str:
        """Name all who were tried."""
        return " and ".join(["the external intruder", *self.judged])

    def _label(self, cell: int) -> str:
        return self.problem.table.label(cell)

    def _named(self, cells: tuple[int, ...]) -> str:
        return listed(self.problem.table.labels(np.array(cells)), NAMED)

    def facts(self) -> dict[str, Any]:
        """Return the same as plain numbers."""
        return {
            "needed_by": [self.codes(cell) for cell in self.needed_by],
            "attacks": [
                {"cell": self.codes(cell), **interval_facts(interval)}
                for cell, interval in self.attacks.items()
            ],
            "insiders": [
                {"insider": name, "cell": self.codes(cell)} for name, cell in self.insiders
            ],
            "insider_attacks": [
                {"insider": name, "cell": self.codes(cell), **interval_facts(interval)}
                for (name, cell), interval in self.insider_attacks.items()
            ],
            "insiders_tried": list(self.judged),
            "undecided": [self.codes(cell) for cell in self.undecided],
            "open_before": [self.codes(cell) for cell in self.open_before],
            "alternative": self.alternative.facts(),
        }


def explain_secondary(asked: PatternQuestion, cell: int, *, with_price: bool = True) -> HiddenCell:
    """Explain a hidden cell that is not sensitive.

    Parameters
    ----------
    asked : PatternQuestion
    cell : int
    with_price : bool, default=True
        Whether to search the cheapest other pattern.
    """
    without = asked.publishing(cell)
    near = asked.known.component(cell)
    audit = _audited(without, near)
    fallen, undecided = (_with(audit, each) for each in (Verdict.ATTACKABLE, Verdict.UNDECIDED))
    before, known = _before(asked, near) if fallen or audit.attacks else ([], set())
    needed = [p for p in fallen if p not in before]
    found = [each for each in audit.attacks if (each.intruder, each.cell) not in known]
    return HiddenCell(
        problem=asked.problem,
        cell=cell,
        is_forced=bool(asked.problem.forced[cell]),
        is_interval=asked.is_of_intervals,
        needed_by=tuple(needed),
        attacks={p: without.interval(p) for p in needed[:SHOWN_ATTACKS]},
        insiders=tuple((each.intruder, each.cell) for each in found),
        insider_attacks=_insider_attacks(without, found),
        undecided=tuple(undecided),
        open_before=tuple(before),
        judged=tuple(audit.intruders),
        alternative=_price(asked, cell, with_price=with_price),
    )


def _audited(without: PatternQuestion, near: Integers) -> Audit:
    """Attack the sensitive cells that relations connect with a cell, all others left out."""
    problem, hidden = without.problem, without.hidden
    asked = np.zeros(len(hidden), dtype=bool)
    asked[near] = problem.sensitive[near]
    local = problem.with_changes(status=np.where(asked & hidden, "u", "s"))
    question = Question.of(local, without.requirement, without.intruders)
    if without.is_of_intervals:
        question = question.knowing(without.known.lower, without.known.upper)
    budget = without.budget.share(AUDIT_SHARE)
    return attacked(question, hidden, budget, witnesses=list(without.witnesses))


def _insider_attacks(
    without: PatternQuestion, found: list[Finding]
) -> dict[tuple[str, int], Interval]:
    """Return the first attacks of insiders as sums; whole numbers are a search, and no sum."""
    attacks = {}
    for each in [each for each in found if each.knowledge is not None][:SHOWN_ATTACKS]:
        assert each.knowledge is not None
        interval = without.interval(each.cell, without.knowing(each.knowledge))
        attacks[each.intruder, each.cell] = interval
    return attacks


def _with(audit: Audit, verdict: Verdict) -> list[int]:
    """Return the sensitive cells with a verdict."""
    pairs = zip(audit.needs.cells.tolist(), audit.verdicts, strict=True)
    return [cell for cell, found in pairs if found is verdict]


def _before(asked: PatternQuestion, near: Integers) -> tuple[list[int], set[tuple[str, int]]]:
    """Return which cells can be attacked as things stand, and by which insiders."""
    audit = _audited(asked, near)
    known = {(found.intruder, found.cell) for found in audit.attacks}
    return _with(audit, Verdict.ATTACKABLE), known


def _price(asked: PatternQuestion, cell: int, *, with_price: bool) -> Alternative:
    problem = asked.problem
    if asked.is_of_intervals:
        return not_asked(asked, "the release publishes intervals")
    if problem.forced[cell]:
        return not_asked(asked, "it must be hidden by declaration")
    if problem.table.rests[asked.hidden].any():
        return not_asked(asked, "sums and rests of groups depend on the pattern")
    if not with_price:
        return not_asked(asked)
    return cheapest_without(asked, cell)
