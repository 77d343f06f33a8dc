"""The rule that made a cell sensitive, and its largest contributors, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablecloak.explaining.numbers import shown
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import RULES, Rule
from tablecloak.tables.table import Table

__all__ = ["largest_contributors", "rule_text"]


def rule_text(problem: ProtectionProblem, cell: int, rules: Sequence[Rule] = ()) -> str:
    """Return the rule of a sensitive cell in words, with its parameters where they are given.

    Parameters
    ----------
    problem : ProtectionProblem
    cell : int
    rules : sequence of Rule, default=()
        The rules of the job, which alone know their parameters.
    """
    name, table = str(problem.reasons[cell]), problem.table
    words = _in_words(name, rules)
    found = table.contributions
    if found is not None and found.count[cell]:
        n = int(found.count[cell])
        words += f"; {n} contributor{'s' * (n != 1)}"
        largest = found.largest[cell] * found.largest_weight[cell]
        if largest.size and largest[0] > 0 and found.total[cell] > 0:
            share = 100 * float(largest[0]) / float(found.total[cell])
            words += f", the largest with {shown(round(share, 1))} % of the value"
    return words


def _in_words(name: str, rules: Sequence[Rule]) -> str:
    if not name:
        return "it was given as sensitive, without the name of a rule"
    given = [rule for rule in rules if rule.name == name]
    if given:
        return f"{RULES.summary(name).removesuffix('.')}, as {given[0]!r}"
    return RULES.summary(name).removesuffix(".") if name in RULES.names else f"rule {name!r}"


def largest_contributors(table: Table, cell: int) -> tuple[dict[str, Any], ...]:
    """Return the largest contributors of a cell, the largest first; empty if unknown. Secret."""
    found = table.contributions
    if found is None:
        return ()
    known = [k for k in range(found.largest.shape[1]) if found.largest_weight[cell, k] > 0]
    return tuple(
        {
            "name": _name(found, int(found.largest_contributor[cell, k]), k),
            "contribution": float(found.largest[cell, k]),
            "weight": float(found.largest_weight[cell, k]),
        }
        for k in known
    )


def _name(found: Any, number: int, rank: int) -> str:
    if number < 0 or found.names is None:
        return f"no. {rank + 1}"
    return str(found.name_of(number))
