"""The rule of k-disclosure for tables of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.tables.rules.group_rule import Attributes, Combinations, GroupRule
from tablecloak.tables.rules.rule import RULES


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
