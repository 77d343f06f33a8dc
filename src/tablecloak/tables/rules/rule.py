"""What a sensitivity rule is: the base class of all of them, and their registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Texts
from tablecloak.errors import InputError
from tablecloak.parameters import parameters_of
from tablecloak.registry import Registry
from tablecloak.tables.changes.rests import Rests
from tablecloak.tables.confidentiality import Confidentiality
from tablecloak.tables.contributions import ContributionLevel, Contributions
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.protect import protect
from tablecloak.tables.table import Table

Level = Annotated[ContributionLevel, Field(description="Whose contributions are compared.")]

_Share = Annotated[float, Field(ge=0)]
LevelRange = _Share | tuple[_Share, _Share]
"""A percentage for both sides, or (lower, upper)."""


@dataclass(frozen=True)
class Rule:
    """Base class of all rules.

    A rule has at least a name and `unsafe`, and either `levels` or a parameter `range` from which
    they follow. The first line of its docstring is what users read about it.
    """

    name: ClassVar[str] = ""
    precedence: ClassVar[int] = 100
    """Order in which rules are tested: the first that hits names the cell's reason."""
    looks_at_amounts: ClassVar[bool] = False
    """Whether it applies to amounts only, not to a table of counts."""
    applies_to_sums: ClassVar[bool] = False
    """Whether it also judges sums of suppressed cells, as if each were a cell. It must be a rule by
    which a sum of safe cells is safe; other rules are refused where sums are asked for."""
    heeds_waivers: ClassVar[bool] = False
    """Whether waivers of contributors can make a cell safe."""
    has_floor: ClassVar[bool] = True
    """Whether the smallest protection level applies to its lower levels."""
    is_suggested: ClassVar[bool] = False
    """Whether forms propose it by default."""
    argus: ClassVar[str] = ""
    """Name of the same rule in batches of tau-ARGUS; empty if it has none."""
    confidentiality: ClassVar[Confidentiality] = Confidentiality.CONFIDENTIAL
    """What other authorities are told of a cell of which only the name of the rule is known."""

    def __post_init__(self) -> None:
        for parameter in parameters_of(type(self)):
            given = getattr(self, parameter.name)
            if not parameter.accepts(given):
                raise self.refusal(parameter.name, parameter.expected)
            object.__setattr__(self, parameter.name, parameter.accepted(given))

    def refusal(self, parameter: str, expected: str) -> InputError:
        """Return the error for a parameter that is not what was expected."""
        return InputError(
            f"{type(self).__name__}: `{parameter}` must be {expected}. "
            f"Got {getattr(self, parameter)!r}."
        )

    @property
    def n_largest(self) -> int:
        """How many of the largest contributions of each cell it needs to know."""
        return 0

    def unsafe(self, table: Table) -> Flags:
        """Return which cells the rule finds unsafe."""
        raise NotImplementedError

    def levels(self, table: Table) -> tuple[Floats, Floats]:
        """Return (LPL, UPL) for the cells that this rule alone made unsafe."""
        given = getattr(self, "range", 0.0)
        low, high = given if isinstance(given, tuple) else (given, given)
        size = np.abs(table.values)
        return size * low / 100, size * high / 100

    def safe_distance(self, table: Table) -> Floats | None:
        """Return by how much each cell falls short of being safe, if the rule knows."""
        return None

    def confidentiality_of(self, table: Table) -> Texts:
        """Return what other authorities are told of each cell that the rule finds unsafe.

        Returns
        -------
        numpy.ndarray of str, shape (n_cells,)
            Letters of `Confidentiality`.
        """
        return np.full(table.n_cells, self.confidentiality.value)

    def decided(self, table: Table) -> dict[str, Flags]:
        """Return cells whose status (a letter) overrules all other rules."""
        return {}

    def rests(self, table: Table) -> Rests | None:
        """Return sums of cells that must be able to grow, if the rule judges groups."""
        return None

    def protect(self, table: Table, *others: Rule, **options: Any) -> ProtectionProblem:
        """Protect a table by this rule and others; see `tablecloak.protect`."""
        return protect(table, self, *others, **options)

    @classmethod
    def from_argus(cls, numbers: Sequence[float], level: Level) -> Self | None:
        """Return the rule with the numbers of a rule `argus` of a batch, None if it is another."""
        return None


RULES: Registry[Rule] = Registry(
    "rule", "tablecloak.tables.rules", order=lambda rule: rule.precedence
)
"""All rules, in the order in which they are tested."""


def contributions_of(
    table: Table, level: str, rule: str, weighted_holdings: bool = False
) -> Contributions:
    """Return the contributors of each cell on the level of a rule.

    Raises
    ------
    InputError
        If the table does not have them, or the rule is not defined for them.
    """
    found = table.holdings if level == "holding" else table.contributions
    if found is None:
        what = "holdings" if level == "holding" else "contributors"
        raise InputError(
            f"The rule {rule!r} needs the {what} of each cell, but the table does not have them. "
            f"Tabulate from microdata with `{level}=`, or give `frequency` and `largest`."
        )
    if level == "holding" and found.is_weighted and not weighted_holdings:
        raise InputError(
            f"The rule {rule!r} on the level of holdings is not defined for weighted data. Use "
            f"level='contributor' or leave out the weights."
        )
    return found
