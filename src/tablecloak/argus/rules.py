"""Safety rules of a batch as rules of tablecloak; a rule that cannot be applied is an error."""

from __future__ import annotations

from tablecloak.argus.lines import BatchRule
from tablecloak.argus.metadata import Metadata
from tablecloak.errors import InputError
from tablecloak.tables.rules.rule import RULES, Level, Rule


def numbers_of(rules: list[BatchRule], name: str) -> list[list[float]]:
    """Numbers of all rules with a name, in their order."""
    return [rule.numbers for rule in rules if rule.name == name]


def is_primary(rule: BatchRule) -> bool:
    """Whether a rule makes cells unsafe; the others say how they are applied."""
    return bool(_kinds(rule))


def is_active(rule: BatchRule) -> bool:
    """Whether a rule can make a cell unsafe; the first number 0 switches P, NK, FREQ off."""
    return rule.name in ("REQ", "ZERO") or (is_primary(rule) and rule.numbers[0] > 0)


def describe(rules: list[BatchRule]) -> str:
    """Say which rules are in force."""
    if not rules:
        return "no rule: the statuses of the table count"
    off = [str(rule) for rule in rules if is_primary(rule) and not is_active(rule)]
    used = [str(rule) for rule in rules if not is_primary(rule) or is_active(rule)]
    switched = f"; switched off by 0: {', '.join(off)}" if off else ""
    return f"in force: {', '.join(used) or 'none'}{switched}"


def is_for_holdings(rules: list[BatchRule], rule: BatchRule) -> bool:
    """Whether a rule looks at holdings: from the third P and NK, the second FREQ and REQ."""
    same = [other for other in rules if other.name == rule.name]
    position = next(at for at, other in enumerate(same) if other is rule)
    return position >= (2 if any(kind.applies_to_sums for kind in _kinds(rule)) else 1)


def check_rules(
    rules: list[BatchRule], metadata: Metadata, is_microdata: bool, is_count: bool
) -> None:
    """Raise if a rule cannot be applied to the data.

    Parameters
    ----------
    rules : list of BatchRule
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
            weighted = any(numbers[0] for numbers in numbers_of(rules, "WGT"))
            if weighted and not _as_ours(rule, "holding").weighs_holdings:
                raise InputError(
                    f"The rule {rule} looks at holdings, for which it is not defined where records "
                    f"have weights. Take WGT(0), or drop the holdings: switch the rule off by a "
                    f"first number 0."
                )
        looks_at_sizes = any(kind.applies_to_sums for kind in _kinds(rule))
        if not (is_microdata or looks_at_sizes or metadata.with_tag("FREQUENCY")):
            raise InputError(
                f"The rule {rule} needs the number of contributors of each cell, but "
                f"{metadata.path} describes no variable with <FREQUENCY>. Add it to table and "
                f"metadata, or remove the rule so that the statuses count."
            )
        wanted, given = n_largest([rule]), len(metadata.with_tag("MAXSCORE"))
        if not is_microdata and given < wanted:
            raise InputError(
                f"The rule {rule} needs the {wanted} largest contributions of each cell, but "
                f"{metadata.path} describes {given} variables with <MAXSCORE>. Add them to table "
                f"and metadata, or remove the rule."
            )


def _need(rule: BatchRule, metadata: Metadata, tag: str, is_microdata: bool) -> None:
    found = len(metadata.with_tag(tag))
    if not is_microdata:
        raise InputError(
            f"The rule {rule} needs records with <{tag}>, but the data are cells of a table. "
            f"Apply it where the table is made, or remove it."
        )
    if found != 1:
        raise InputError(
            f"The rule {rule} needs a variable with <{tag}>, but {metadata.path} describes "
            f"{found or 'none'}. Describe exactly one, or remove the rule."
        )


def n_largest(rules: list[BatchRule]) -> int:
    """How many of the largest contributions the rules look at."""
    return max([0, *(_as_ours(rule, "contributor").n_largest for rule in filter(is_active, rules))])


def sensitivity_rules(rules: list[BatchRule]) -> list[Rule]:
    """Return the rules that make cells unsafe."""
    return [
        _as_ours(rule, "holding" if is_for_holdings(rules, rule) else "contributor")
        for rule in filter(is_active, rules)
    ]


def _kinds(rule: BatchRule) -> list[type[Rule]]:
    """Return the kinds of rules of tablecloak that one of a batch can stand for."""
    return [kind for kind in RULES if kind.argus == rule.name]


def _as_ours(rule: BatchRule, level: Level) -> Rule:
    """Return the rule of tablecloak that says the same."""
    for kind in _kinds(rule):
        found = kind.from_argus(rule.numbers, level)
        if found is not None:
            return found
    raise InputError(f"The rule {rule} is not known here. Remove it.")
