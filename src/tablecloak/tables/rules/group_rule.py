"""What rules on groups and their parts in tables of counts have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import Flags
from tablecloak.errors import InputError
from tablecloak.tables.changes.rests import Rests, find_rests
from tablecloak.tables.rules.rule import Rule
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
