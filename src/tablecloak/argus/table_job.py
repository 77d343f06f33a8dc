"""One table of a batch: its specification, and what was done so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tablecloak.argus.gate import Evidence, Key
from tablecloak.argus.lines import Command, Rule, Specification
from tablecloak.argus.metadata import Metadata, Variable
from tablecloak.argus.outputs import Protected
from tablecloak.argus.recode import Recoded
from tablecloak.argus.rules import is_active, numbers_of
from tablecloak.argus.tables import counts
from tablecloak.graph import children_of, parents_first
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.problem import ProtectionProblem

MARGIN = 20.0
"""Protection level of cells with a given status, in per cent, unless MAN says otherwise.

That of tau-ARGUS.
"""


@dataclass
class TableJob:
    """One table of a batch."""

    number: int
    command: Command
    specification: Specification
    metadata: Metadata
    data: Path
    is_microdata: bool
    rules: list[Rule] | None = None
    rules_command: Command | None = None
    trees: dict[str, Hierarchy] = field(default_factory=dict)
    recoded: dict[str, Recoded] = field(default_factory=dict)
    asked: dict[Key, str] = field(default_factory=dict)
    has_apriori: bool = False
    problem: ProtectionProblem | None = None
    evidence: Evidence | None = None
    protected: Protected | None = None

    @property
    def all_rules(self) -> list[Rule]:
        """The rules, none if the command is missing."""
        return self.rules or []

    @property
    def is_count(self) -> bool:
        """Whether the table counts."""
        return counts(self.specification, self.metadata, self.is_microdata)

    @property
    def margin(self) -> float:
        """Per cent for cells with a given status."""
        found = numbers_of(self.all_rules, "MAN")
        return found[0][0] if found else MARGIN

    @property
    def says_what(self) -> bool:
        """Whether anything says which cells are sensitive."""
        by_status = not self.is_microdata and bool(self.metadata.with_tag("STATUS"))
        return self.has_apriori or by_status or any(map(is_active, self.all_rules))

    def variables(self) -> list[Variable]:
        """The dimensions."""
        return [self.metadata.variable(name) for name in self.specification.dimensions]

    def missing(self, variable: Variable) -> tuple[str, ...]:
        """Codes for missing, after recoding."""
        found = self.recoded.get(variable.name)
        return found.missing if found else variable.missing

    def safe_codes(self) -> dict[str, tuple[str, ...]]:
        """Codes that make a cell safe (MIS)."""
        is_on = any(numbers[0] for numbers in numbers_of(self.all_rules, "MIS"))
        return {v.name: self.missing(v) for v in self.variables()} if is_on else {}

    @property
    def decimals(self) -> int:
        """Digits behind the decimal point of the response."""
        response = self.specification.response.lower()
        found = [v.decimals for v in self.metadata.variables if v.name.lower() == response]
        return found[0] if found else 0

    def codes(self) -> list[list[str]]:
        """All codes of each dimension, as tau-ARGUS lists them."""
        assert self.problem is not None
        return [
            _all_codes(tree, self.missing(self.metadata.variable(name)), name not in self.recoded)
            for name, tree in self.problem.table.hierarchies.items()
        ]


def _all_codes(tree: Hierarchy, missing: tuple[str, ...], with_missing: bool) -> list[str]:
    """Codes as tau-ARGUS lists them: in the order of the tree, codes for missing in the end."""
    walk = parents_first([tree.total], children_of(tree.groups))
    found = list(dict.fromkeys(code for code, _ in walk))
    if with_missing:
        found = [code for code in found if code not in missing]
        found += [code for code in dict.fromkeys(missing) if code != tree.total]
    return found
