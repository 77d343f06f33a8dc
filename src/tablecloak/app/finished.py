"""Finished tables: from the form that confirms a proposal to a protection problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from tablecloak.app.choices import imported
from tablecloak.app.fields import FormChoice, FormField, choices_of, fields_of, number
from tablecloak.app.workbench import FEW_SECONDS, methods
from tablecloak.data_file import DataFile
from tablecloak.errors import InputError, listed
from tablecloak.graph import parents_first
from tablecloak.protection import PROTECTIONS, Protection
from tablecloak.tables.code_sums import CodeTree
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.proposal import Proposal
from tablecloak.tables.rules.manual import Manual
from tablecloak.tables.rules.rule import RULES, protect

MADE = "Total"
"""Name of a total that a table lacks and that is made by adding up."""

INDENT = "  "
"""One level in an outline of codes."""

SAFE_WORDS = frozenset({"", "s", "safe", "published", "v", "a", "0", "no", "false", "open", "ok"})
"""Entries of a status column, in small letters, that do not make a cell sensitive."""


@dataclass(frozen=True, eq=False)
class Finished:
    """A finished table as a person confirmed it.

    Parameters
    ----------
    proposal : Proposal
        With the columns that were chosen.
    hierarchies : dict of str to Hierarchy
    rules : list of Rule
    unsafe : list of str
        Entries of the status column that make a cell sensitive.
    level : float
        Protection level of these cells, in per cent.
    ways : dict of str to Protection
        Ways to protect that differ from how they are by default, by their names.
    """

    proposal: Proposal
    hierarchies: dict[str, Hierarchy]
    rules: list[Any]
    unsafe: list[str]
    level: float
    ways: dict[str, Protection] = field(default_factory=dict)

    @classmethod
    def of_form(cls, proposal: Proposal, form: Mapping[str, str]) -> Finished:
        """Read the form.

        Raises
        ------
        InputError
            If a code has no place in its hierarchy, a column is unknown, or a number is not one.
        """
        figures = ("", *proposal.figures)
        chosen = replace(
            proposal,
            value=_one_of(form, "value", figures[1:], proposal.value),
            frequency=_one_of(form, "frequency", figures, ""),
            largest=tuple(part for part in _parts(form.get("largest", "")) if part in figures),
            status=_one_of(form, "status", ("", *map(str, proposal.frame.columns)), ""),
        )
        trees = {
            name: read_outline(form.get(f"tree:{name}", ""), name, list(_codes(proposal, name)))
            for name in proposal.trees
        }
        rules = [
            RULES[rule.name](**rule.read(form)) for rule in choices_of(RULES) if form.get(rule.name)
        ]
        if rules and not chosen.frequency:
            raise InputError(
                f"The rule {rules[0].name!r} needs the number of contributors: choose its column. "
                f"Or untick the rule, and mark sensitive cells by a status column or by hand."
            )
        ways = {}
        for way, fields in offered_ways():
            chosen_by_field = {item: item.read(form) for item in fields if form.get(item.name)}
            unusual = {
                item.parameter.name: value
                for item, value in chosen_by_field.items()
                if value != item.parameter.default
            }
            if unusual:
                ways[way.name] = PROTECTIONS.build(way.name, **unusual, time_limit=FEW_SECONDS)
        unsafe = _parts(form.get("unsafe", ""))
        return cls(chosen, trees, rules, unsafe, number(form, "level"), ways)

    def problem(self) -> ProtectionProblem:
        """Return the protection problem; without any rule, all cells are safe as yet."""
        table = self.proposal.table(self.hierarchies)
        cells = self._told_cells(table.keys)
        by_hand = Manual(cells=cells, range=min(self.level, 100.0))
        return protect(table, *self.rules, by_hand)

    def python(self, path: DataFile) -> str:
        """Return the Python program that makes the same problem."""
        trees = {name: tree.groups for name, tree in self.hierarchies.items()}
        lines = ["import tablecloak as tc", "", f"found = tc.propose({path.program})"]
        lines += ["print(found.summary())", "hierarchies = {"]
        lines += [
            f"    {name!r}: tc.Hierarchy({self.hierarchies[name].total!r}, {groups!r}),"
            for name, groups in trees.items()
        ]
        lines += ["}", "table = found.table(hierarchies)"]
        calls = [imported(type(rule), repr(rule)) for rule in self.rules]
        lines[1:1], given = [line for line, _ in calls if line], [call for _, call in calls]
        if self.proposal.status:
            column, name = self.proposal.status, "sensitive"
            lines.append(f"{name} = found.frame[{column!r}].astype(str).isin({self.unsafe!r})")
            given.append(f"tc.Manual({name}.to_numpy().nonzero()[0], range={self.level:g})")
        lines.append(f"problem = table.protect({', '.join(given) or 'tc.Manual([])'})")
        lines += ["pattern = tc.suppress(problem)", "pattern.verify()"]
        return "\n".join(lines) + "\n"

    def _told_cells(self, keys: pd.DataFrame) -> list[int]:
        """Return the cells that the status column calls sensitive."""
        proposal = self.proposal
        if not proposal.status:
            return []
        told = proposal.frame[proposal.status].astype(str).str.strip().isin(self.unsafe)
        names = list(proposal.trees)
        wanted = pd.MultiIndex.from_frame(proposal.frame.loc[told, names].astype(str))
        found = pd.MultiIndex.from_frame(keys[names].astype(str)).isin(wanted)
        return [int(cell) for cell in found.nonzero()[0]]


def lacks_total(tree: CodeTree) -> bool:
    """Whether no code is the sum of others, so that a total has to be made."""
    return not tree.groups and not tree.total


def outline(tree: CodeTree) -> str:
    """Return a tree as lines, each code indented below its parent; unplaced codes at the end.

    Where nothing adds up, all codes stand below a total that the table lacks.
    """
    if lacks_total(tree):
        total = MADE if MADE not in tree.unplaced else f"{MADE} of all"
        return "\n".join([total, *(INDENT + code for code in tree.unplaced)])
    placed = {code for _, below in tree.groups for code in below}
    tops = [tree.total] if tree.total else []
    tops += [code for code in tree.unplaced if code not in placed and code != tree.total]
    walk = parents_first(tops, dict(reversed(tree.groups)))
    return "\n".join(INDENT * depth + code for code, depth in walk)


def read_outline(text: str, name: str, codes: Sequence[str]) -> Hierarchy:
    """Read lines as `outline` writes them.

    Raises
    ------
    InputError
        If a code of the table is missing, one is given twice, or is unknown and no sum of others,
        or there are several codes that belong to no other one.
    """
    children: dict[str, list[str]] = {}
    above: list[tuple[int, str]] = []
    tops: list[str] = []
    seen: dict[str, int] = {}
    for number_, line in enumerate(text.replace("\t", INDENT).splitlines(), 1):
        code = line.strip()
        if not code:
            continue
        if code in seen:
            raise InputError(f"{name}, line {number_}: {code!r} is given twice. Correct the line.")
        seen[code] = number_
        depth = len(line) - len(line.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        (children.setdefault(above[-1][1], []) if above else tops).append(code)
        above.append((depth, code))
    for code, number_ in seen.items():
        if code not in codes and code not in children:
            raise InputError(
                f"{name}, line {number_}: {code!r} is no code of the table. Correct the line, or "
                f"indent below it the codes that it is the sum of."
            )
    lost = [code for code in codes if code not in seen]
    if lost:
        raise InputError(f"{name}: {listed(lost[:8])} has no line. Put each code below its total.")
    if len(tops) != 1:
        raise InputError(
            f"{name}: {listed(tops[:8])} stand at the left. Exactly one code, the total, belongs "
            f"there: indent all others below the code that they are part of. If the table has no "
            f"total, type one, such as {MADE}, above them: it is made by adding them up."
        )
    groups = [(parent, tuple(below)) for parent, below in children.items()]
    return Hierarchy(tops[0], tuple(groups))


def offered_rules(proposal: Proposal) -> list[tuple[FormChoice, bool]]:
    """Return the rules that a finished table may be judged by, and whether each is suggested.

    Rules need the number of contributors, and those on amounts the largest contributions too, so
    none is offered for which the file has too few figures. Single cells are marked in the grid.
    """
    needed = {"minimum-frequency": bool(proposal.frequency)}
    needed["p-percent"] = bool(proposal.frequency) and len(proposal.largest) > 1
    # A count is the number of its contributors.
    spare = len(proposal.figures) - (proposal.frequency != proposal.value)
    choices = [
        choice
        for choice in choices_of(RULES)
        if choice.name != Manual.name and spare > bool(choice.example().n_largest)
    ]
    return [(choice, needed.get(choice.name, False)) for choice in choices]


def offered_ways() -> list[tuple[type[Protection], list[FormField]]]:
    """Return the ways to protect of the grid that have numbers to choose, with these."""
    fields = {
        way: [item for item in fields_of(name) if item.kind == "number"]
        for name, way in methods().items()
    }
    return [(way, numbers) for way, numbers in fields.items() if numbers]


def unsafe_words(proposal: Proposal) -> str:
    """Return the entries of the status column that seem to make a cell sensitive."""
    if not proposal.status:
        return ""
    found = proposal.frame[proposal.status].astype(str).str.strip()
    return ", ".join(word for word in found.unique() if word.lower() not in SAFE_WORDS)


def _codes(proposal: Proposal, name: str) -> Sequence[str]:
    return list(dict.fromkeys(proposal.frame[name].astype(str)))


def _one_of(form: Mapping[str, str], name: str, known: Sequence[str], otherwise: str) -> str:
    given = form.get(name, otherwise)
    if given not in known:
        raise InputError(
            f"{name}: there is no column {given!r}. Choose one of {listed(list(known))}."
        )
    return given


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
