"""A sensitive cell of a pattern: its rule, its contributors, its interval, and who attacks best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.explaining.explanation import Explanation, shown
from tablecloak.explaining.pattern_question import Interval, PatternQuestion
from tablecloak.suppression.attack.intruder import insiders_of
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import RULES, Rule, levels_asked
from tablecloak.tables.table import Table

MOST_INSIDERS = 200
"""Insiders that are tried for one cell, those first who know most of it. Chosen by trial; not
measured."""


def rule_text(problem: ProtectionProblem, cell: int, rules: Sequence[Rule] = ()) -> str:
    """Return the rule of a sensitive cell in words, with its parameters where they are given.

    Of rules that are not, only the first that found a cell is known, and the level that they set.

    Parameters
    ----------
    problem : ProtectionProblem
    cell : int
    rules : sequence of Rule, default=()
        The rules of the job, which alone know their parameters.
    """
    name, table = str(problem.reasons[cell]), problem.table
    asked = levels_asked(problem, cell, rules)
    if len(asked) > 1:
        (first, level), *others = asked
        words = f"{_in_words(first)}, which asks for the largest level, {shown(level)}"
        words += "".join(f"; also {_in_words(rule)}, with {shown(less)}" for rule, less in others)
    else:
        words = _in_words(name, rules)
        if not any(rule.name == name for rule in rules):
            words += f"{', the first that found it' * bool(name)}; {_given_level(problem, cell)}"
    found = table.contributions
    if found is not None and found.count[cell]:
        n = int(found.count[cell])
        words += f"; {n} contributor{'s' * (n != 1)}"
        largest = found.largest[cell] * found.largest_weight[cell]
        if largest.size and largest[0] > 0 and found.total[cell] > 0:
            share = 100 * float(largest[0]) / float(found.total[cell])
            words += f", the largest with {shown(round(share, 1))} % of the value"
    return words


def _given_level(problem: ProtectionProblem, cell: int) -> str:
    low, high = problem.lower_protection[cell], problem.upper_protection[cell]
    width = float(problem.sliding_protection[cell])
    more = f", {shown(width)} in width" * bool(width)
    return f"its level was given as {shown(float(low))} below and {shown(float(high))} above{more}"


def _in_words(rule: Rule | str, rules: Sequence[Rule] = ()) -> str:
    """Return a rule, or that of a name, in words."""
    if not rule:
        return "it was given as sensitive, without the name of a rule"
    name = rule if isinstance(rule, str) else rule.name
    given = [one for one in rules if one.name == name] if isinstance(rule, str) else [rule]
    if given:
        return f"{RULES.summary(name).removesuffix('.')}, as {given[0]!r}"
    return RULES.summary(name).removesuffix(".") if name in RULES.names else f"rule {name!r}"


def largest_contributors(table: Table, cell: int) -> tuple[dict[str, Any], ...]:
    """Return the largest contributors of a cell, the largest first; empty if unknown. Secret."""
    found = table.contributions
    if found is None:
        return ()
    return tuple(
        {
            "name": str(found.name_of(n)) if n >= 0 and found.names is not None else f"no. {k + 1}",
            "contribution": float(found.largest[cell, k]),
            "weight": float(found.largest_weight[cell, k]),
        }
        for k, n in enumerate(found.largest_contributor[cell].tolist())
        if found.largest_weight[cell, k] > 0
    )


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveCell(Explanation):
    """Why a cell is sensitive, and what intruders can compute of it. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
    cell : int
    is_hidden : bool
    rule : str
        The rule that made it sensitive, in words.
    contributors : tuple of dict
        Its largest contributors, the largest first: who, and the contribution.
    external : Interval
        What the external intruder can compute.
    insider : Interval or None
        What the insider can compute who comes closer than all others; None if nobody comes closer
        than the external intruder.
    insider_name : str
    tried, left : int
        Numbers of insiders that were tried, and that were not, for lack of time.
    """

    problem: ProtectionProblem
    cell: int
    is_hidden: bool
    rule: str
    contributors: tuple[dict[str, Any], ...]
    external: Interval
    insider: Interval | None
    insider_name: str
    tried: int
    left: int

    @property
    def kind(self) -> str:
        """Return whether the cell is hidden."""
        return "sensitive, hidden" if self.is_hidden else "sensitive, but published"

    @property
    def best(self) -> Interval:
        """The interval of whoever comes closest."""
        return self.external if self.insider is None else self.insider

    @property
    def best_attacker(self) -> str:
        """Who comes closest."""
        return "external" if self.insider is None else self.insider_name

    def lines(self) -> list[str]:
        """Return rule, contributors, interval and best attack."""
        lines = [f"Why it is sensitive: {self.rule}."]
        if self.contributors:
            lines.append(f"Largest contributors: {'; '.join(map(_given, self.contributors))}.")
        lines += self.external.lines("The external intruder")
        if self.insider is not None:
            lines += self.insider.lines(f"Closer comes {self.insider_name}, who")
        elif self.tried:
            lines.append(f"None of {self.tried} insiders tried comes closer.")
        if self.left:
            lines.append(f"{self.left} insiders were not tried: time or their number ended it.")
        return lines

    def facts(self) -> dict[str, Any]:
        """Return the same as plain numbers."""
        return {
            "rule": self.rule,
            "contributors": list(self.contributors),
            "external": self.external.facts(),
            "best_attacker": self.best_attacker,
            "best": self.best.facts(),
            "insiders_tried": self.tried,
            "insiders_left": self.left,
        }


def _given(contributor: dict[str, Any]) -> str:
    """Write a contribution, times its sampling weight if that is not 1."""
    weight = contributor["weight"]
    times = f" x {weight:.6g}" if weight != 1 else ""
    return f"{contributor['name']} {shown(contributor['contribution'])}{times}"


def explain_sensitive(question: PatternQuestion, cell: int, rules: Sequence[Rule]) -> SensitiveCell:
    """Explain a sensitive cell of a pattern."""
    external = question.interval(cell)
    name, insider, tried, left = _best_insider(question, cell, external)
    return SensitiveCell(
        problem=question.problem,
        cell=cell,
        is_hidden=bool(question.hidden[cell]),
        rule=rule_text(question.problem, cell, rules),
        contributors=largest_contributors(question.problem.table, cell),
        external=external,
        insider=insider,
        insider_name=name,
        tried=tried,
        left=left,
    )


def _best_insider(
    question: PatternQuestion, cell: int, external: Interval
) -> tuple[str, Interval | None, int, int]:
    """Return who comes closer than the external intruder, and the closest interval."""
    members = _members(question.problem, question, cell)
    best: tuple[str, Interval | None] = ("", None)
    least, tried = external.share, 0
    for name, knowledge in members[:MOST_INSIDERS]:
        if question.budget.is_over:
            break
        tried += 1
        question.budget.report("explain: insiders tried", tried, np.nan, len(members) - tried)
        found = question.interval(cell, knowledge)
        if found.share < least * (1 - 1e-9):
            best, least = (f"{name}: {knowledge.name}", found), found.share
    return *best, tried, len(members) - tried


def _members(
    problem: ProtectionProblem, question: PatternQuestion, cell: int
) -> list[tuple[str, Knowledge]]:
    """Return the insiders who know cells connected with a cell, those who know it itself first."""
    inside = np.zeros(problem.table.n_cells, dtype=bool)
    inside[question.ranges.component(cell)] = True
    found = [
        (kind, knowledge)
        for kind, knowledge in insiders_of(question.intruders, problem, question.hidden)
        if np.any(inside[knowledge.cells])
    ]
    return sorted(
        found,
        key=lambda each: (not np.any(each[1].cells == cell), -int(inside[each[1].cells].sum())),
    )
