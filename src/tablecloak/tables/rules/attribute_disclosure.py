"""The rule of attribute disclosure for tables of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tablecloak.tables.rules.group_rule import Attributes, Combinations, GroupRule
from tablecloak.tables.rules.rule import RULES


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
