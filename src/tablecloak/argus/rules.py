"""Safety rules of a batch as rules of tablecloak; what cannot be applied is an error."""

from __future__ import annotations

from tablecloak.argus.batch import Rule
from tablecloak.argus.metadata import Metadata
from tablecloak.errors import InputError
from tablecloak.tables import sensitivity

__all__ = [
    "check_rules",
    "describe",
    "is_active",
    "is_for_holdings",
    "n_largest",
    "numbers_of",
    "sensitivity_rules",
]

CONCENTRATION = ("P", "NK")
PRIMARY = ("P", "NK", "FREQ", "REQ", "ZERO")
"""Rules that make cells unsafe; the others say how they are applied."""


def numbers_of(rules: list[Rule], name: str) -> list[list[float]]:
    """Numbers of all rules with a name, in their order."""
    return [rule.numbers for rule in rules if rule.name == name]


def is_active(rule: Rule) -> bool:
    """Whether a rule can make a cell unsafe; the first number 0 switches P, NK, FREQ off."""
    return rule.name in ("REQ", "ZERO") or (rule.name in PRIMARY and rule.numbers[0] > 0)


def describe(rules: list[Rule]) -> str:
    """Say which rules are in force."""
    if not rules:
        return "no rule: the statuses of the table count"
    off = [str(rule) for rule in rules if rule.name in PRIMARY and not is_active(rule)]
    used = [str(rule) for rule in rules if rule.name not in PRIMARY or is_active(rule)]
    switched = f"; switched off by 0: {', '.join(off)}" if off else ""
    return f"in force: {', '.join(used) or 'none'}{switched}"


def is_for_holdings(rules: list[Rule], rule: Rule) -> bool:
    """Whether a rule looks at holdings: from the third P and NK, the second FREQ and REQ."""
    same = [other for other in rules if other.name == rule.name]
    position = next(at for at, other in enumerate(same) if other is rule)
    return position >= (2 if rule.name in CONCENTRATION else 1)


def check_rules(rules: list[Rule], metadata: Metadata, is_microdata: bool, is_count: bool) -> None:
    """Raise if a rule cannot be applied to the data.

    Parameters
    ----------
    rules : list of Rule
    metadata : Metadata
    is_microdata : bool
        Otherwise the data are cells.
    is_count : bool
        Whether the table counts.

    Raises
    ------
    InputError
        Names the rule, what it needs, and the remedy.
    """
    for rule in rules:
        if rule.name == "WGT" and rule.numbers[0]:
            _need(rule, metadata, "WEIGHT", is_microdata)
        if not is_active(rule):
            continue
        if is_count and rule.name != "FREQ":
            raise InputError(
                f"The rule {rule} looks at amounts, but the table counts. Take FREQ, or another "
                f"response."
            )
        if rule.name == "REQ":
            _need(rule, metadata, "REQUEST", is_microdata)
        if is_for_holdings(rules, rule):
            _need(rule, metadata, "HOLDING", is_microdata)
        if not is_microdata and not metadata.with_tag("FREQUENCY"):
            raise InputError(
                f"The rule {rule} needs the number of contributors of each cell, but "
                f"{metadata.path} describes no variable with <FREQUENCY>. Add it to table and "
                f"metadata, or take the rule away so that the statuses count."
            )
        wanted, given = n_largest([rule]), len(metadata.with_tag("MAXSCORE"))
        if not is_microdata and given < wanted:
            raise InputError(
                f"The rule {rule} needs the {wanted} largest contributions of each cell, but "
                f"{metadata.path} describes {given} variables with <MAXSCORE>. Add them to table "
                f"and metadata, or take the rule away."
            )


def _need(rule: Rule, metadata: Metadata, tag: str, is_microdata: bool) -> None:
    found = len(metadata.with_tag(tag))
    if not is_microdata:
        raise InputError(
            f"The rule {rule} needs records with <{tag}>, but the data are cells of a table. "
            f"Apply it where the table is made, or take it away."
        )
    if found != 1:
        raise InputError(
            f"The rule {rule} needs a variable with <{tag}>, but {metadata.path} describes "
            f"{found or 'none'}. There must be exactly one, or the rule must go."
        )


def n_largest(rules: list[Rule]) -> int:
    """How many of the largest contributions the rules look at."""
    wanted = [0]
    for rule in filter(is_active, rules):
        if rule.name == "NK":
            wanted.append(int(rule.numbers[0]))
        if rule.name == "P":
            wanted.append(1 + (int(rule.numbers[-1]) if len(rule.numbers) > 1 else 1))
    return max(wanted)


def sensitivity_rules(rules: list[Rule]) -> list[sensitivity.Rule]:
    """Return the rules that make cells unsafe."""
    found: list[sensitivity.Rule] = []
    for rule in filter(is_active, rules):
        numbers = rule.numbers
        level: sensitivity.Level = "holding" if is_for_holdings(rules, rule) else "contributor"
        match rule.name:
            case "NK":
                found.append(sensitivity.Dominance(int(numbers[0]), numbers[1], level))
            case "P" if len(numbers) == 3:
                p, q, n = numbers
                found.append(sensitivity.PriorPosterior(p, q, int(n), level))
            case "P":
                coalition = int(numbers[1]) if len(numbers) > 1 else 1
                found.append(sensitivity.PPercent(numbers[0], coalition, level))
            case "FREQ":
                least, margin = numbers
                found.append(sensitivity.MinimumFrequency(int(least), margin, level))
            case "REQ":
                one, two, least, margin = numbers
                found.append(sensitivity.Request(one, two, int(least), margin, level))
            case "ZERO":
                found.append(sensitivity.ZeroUnsafe(numbers[0]))
    return found
