"""Finished tables: from the form that confirms a proposal to a protection problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tablecloak.app.choices import imported
from tablecloak.app.fields import FormChoice, choices_of, number
from tablecloak.data_file import DataFile
from tablecloak.errors import InputError, listed
from tablecloak.graph import parents_first
from tablecloak.tables.code_sums import CodeTree
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.proposal import Proposal
from tablecloak.tables.rules.manual import Manual
from tablecloak.tables.rules.rule import RULES, protect

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
    """

    proposal: Proposal
    hierarchies: dict[str, Hierarchy]
    rules: list[Any]
    unsafe: list[str]
    level: float

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
        return cls(chosen, trees, rules, _parts(form.get("unsafe", "")), number(form, "level"))

    def problem(self) -> ProtectionProblem:
        """Return the protection problem; without any rule, all cells are safe as yet."""
        table = self.proposal.table(self.hierarchies)
        cells = self._told_cells(table.keys)
        by_hand = Manual(cells=cells, range=min(self.level, 100.0))
        return protect(table, *self.rules, by_hand)

    def python(self, path: DataFile) -> str:
        """Return the Python program that makes the same problem."""
        trees = {name: tree.groups for name, tree in self.hierarchies.items()}
        lines = ["import tablecloak as tc", "", f"found = tc.propose({str(path)!r})"]
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


def outline(tree: CodeTree) -> str:
    """Return a tree as lines, each code indented below its parent; unplaced codes at the end."""
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
        If a code of the table is missing, one is unknown or given twice, or there are several
        codes that belong to no other one.
    """
    children: dict[str, list[str]] = {}
    above: list[tuple[int, str]] = []
    tops: list[str] = []
    seen: set[str] = set()
    for number_, line in enumerate(text.replace("\t", INDENT).splitlines(), 1):
        code = line.strip()
        if not code:
            continue
        if code in seen or code not in codes:
            why = "is given twice" if code in seen else "is no code of the table"
            raise InputError(f"{name}, line {number_}: {code!r} {why}. Correct the line.")
        seen.add(code)
        depth = len(line) - len(line.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        (children.setdefault(above[-1][1], []) if above else tops).append(code)
        above.append((depth, code))
    lost = [code for code in codes if code not in seen]
    if lost:
        raise InputError(f"{name}: {listed(lost[:8])} has no line. Put each code below its total.")
    if len(tops) != 1:
        raise InputError(
            f"{name}: {listed(tops[:8])} stand at the left. Exactly one code, the total, belongs "
            f"there: indent all others below the code that they are part of."
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
    spare = len(proposal.figures) - 1
    choices = [
        choice
        for choice in choices_of(RULES)
        if choice.name != Manual.name and spare > bool(choice.example().n_largest)
    ]
    return [(choice, needed.get(choice.name, False)) for choice in choices]


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
