"""The rule of k-disclosure for tables of counts, and that without a coalition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags
from tablecloak.errors import InputError
from tablecloak.tables.changes.rests import Rests, find_rests
from tablecloak.tables.rules.rule import RULES, Rule
from tablecloak.tables.table import Table

Attributes = Annotated[
    Sequence[str], Field(description="Dimensions that nobody may learn of a group; else all.")
]
Combinations = Annotated[
    Sequence[Mapping[str, Sequence[str]]],
    Field(description='Codes that mean something together, as in [{health = ["bad", "ill"]}].'),
]


@dataclass(frozen=True)
class GroupRule(Rule):
    """A rule on what is left of a group without one of its parts; not a rule itself.

    Rules of this kind have `attributes` and `combinations`; see `KDisclosure`. They find no cell
    sensitive, but rests: sums of cells that must be able to grow.
    """

    @property
    def _most(self) -> int:
        """Largest rest that tells too much."""
        raise NotImplementedError

    def unsafe(self, table: Table) -> Flags:
        """Return no cell: what is sensitive is a rest."""
        return np.zeros(table.n_cells, dtype=bool)

    def rests(self, table: Table) -> Rests:
        """Return the rests that must be able to grow beyond what the rule allows to be known.

        Raises
        ------
        InputError
            If the table does not hold counts, or does not have a dimension or code of the rule.
        """
        if not table.is_count:
            raise InputError(
                f"The rule {self.name!r} needs a table of counts. Tabulate without a `value`, or "
                f"name the measure 'count'."
            )
        attributes: Sequence[str] = getattr(self, "attributes", ())
        combinations: Sequence[Mapping[str, Sequence[str]]] = getattr(self, "combinations", ())
        return find_rests(table, self._most, attributes, combinations)


@RULES.register
@dataclass(frozen=True)
class KDisclosure(GroupRule):
    """k-disclosure: all persons of a group but k, the coalition, are in one part of it.

    For tables of counts. A part c > 0 of a group p discloses if p - c <= k: k persons of the rest
    who pool what they know learn that everybody else of the group is in c. The rest p - c must
    then be able to be k + 1 or more. Groups and parts are those of the relations of the table.

    Parameters
    ----------
    coalition : int, default=1
        k, the number of persons who pool what they know; 0 is `AttributeDisclosure`.
    attributes : sequence of str, default=()
        Dimensions that nobody may learn of a group, such as health; by default all of them.
    combinations : sequence of mapping of str to sequence of str, default=()
        Codes of one group that mean something together, such as
        ``{"health": ["bad", "very bad"]}``: nobody may learn that a person has one of them, nor,
        of a person known to have one of them, which it is.

    References
    ----------
    .. [1] Hundepool et al., Handbook on Statistical Disclosure Control, 2nd ed., section 5.9.

    Examples
    --------
    >>> import pandas as pd, tablecloak as tc
    >>> persons = pd.DataFrame({"region": ["N"] * 4 + ["S"] * 4, "ill": list("yyynynyn")})
    >>> table = tc.tabulate(persons, ["region", "ill"], empty_cells=True)
    >>> problem = table.protect(tc.KDisclosure(1, attributes=["ill"]), zeros="candidates")
    >>> rest = problem.table.keys[problem.sensitive]  # of 4 persons in N all but 1 are ill
    >>> rest.to_numpy().tolist(), problem.upper_protection[problem.sensitive].tolist()
    ([['N', '~not~y']], [1.0])
    """

    coalition: Annotated[
        int, Field(ge=0, description="Persons who pool what they know.", examples=[1])
    ] = 1
    attributes: Attributes = ()
    combinations: Combinations = ()
    name: ClassVar[str] = "k-disclosure"
    precedence: ClassVar[int] = 7

    @property
    def _most(self) -> int:
        return self.coalition


@RULES.register
@dataclass(frozen=True)
class AttributeDisclosure(GroupRule):
    """Attribute disclosure: all persons of a group are in one part of it, which tells on each.

    For tables of counts: a row whose only non-zero cell tells the attribute. Some other cell of the
    row must then be able to be above 0. This is `KDisclosure` without a coalition.

    Parameters
    ----------
    attributes : sequence of str, default=()
        Dimensions that nobody may learn of a group, such as health; by default all of them.
    combinations : sequence of mapping of str to sequence of str, default=()
        Codes of one group that mean something together; see `KDisclosure`.
    """

    attributes: Attributes = ()
    combinations: Combinations = ()
    name: ClassVar[str] = "attribute-disclosure"
    precedence: ClassVar[int] = 8

    @property
    def _most(self) -> int:
        return 0
