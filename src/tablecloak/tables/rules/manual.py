"""Statuses of single cells, declared by a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from tablecloak.arrays import Flags
from tablecloak.errors import InputError
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.rules.rule import RULES, LevelRange, Rule
from tablecloak.tables.table import Table


def _listed_cells(given: Any) -> Any:
    """Return cells as a list of indices and codes."""
    cells = given.tolist() if isinstance(given, np.ndarray) else given
    if isinstance(cells, str | Mapping) or not isinstance(cells, Sequence):
        raise ValueError("give a list of cells")
    for cell in cells:
        by_codes = isinstance(cell, Mapping) and all(isinstance(c, str) for c in cell.values())
        if not (by_codes or (isinstance(cell, int | np.integer) and not isinstance(cell, bool))):
            raise ValueError('give each cell by its codes, as in {region = "N1", industry = "47"}')
    return [cell if isinstance(cell, Mapping) else int(cell) for cell in cells]


@RULES.register
@dataclass(frozen=True)
class Manual(Rule):
    """Manual: cells that a person declares unsafe, safe, or to be published in any case.

    Parameters
    ----------
    cells : sequence of int or of mappings of str to str
        Indices of cells, or their codes, such as ``{"region": "N1", "industry": "47"}``.
    status : {"unsafe", "safe", "frozen"}, default="unsafe"
        `frozen` cells are never suppressed nor adjusted. These statuses overrule all other
        rules.
    range : float or (float, float), default=20
        Protection level in per cent of the value, for both sides or (lower, upper).
    """

    cells: Annotated[
        Sequence[int | Mapping[str, str]],
        BeforeValidator(_listed_cells),
        Field(description='Codes of each cell, as in [{region = "N1", industry = "47"}].'),
    ]
    status: Annotated[
        Literal["unsafe", "safe", "frozen"],
        Field(description="What they are, whatever other rules say."),
    ] = "unsafe"
    range: LevelRange = 20.0
    name: ClassVar[str] = "manual"
    precedence: ClassVar[int] = 6

    def selected(self, table: Table) -> Flags:
        """Return which cells are meant."""
        flags = np.zeros(table.n_cells, dtype=bool)
        for cell in self.cells:
            if isinstance(cell, Mapping):
                flags[table.cell(**cell)] = True
            elif -table.n_cells <= cell < table.n_cells:
                flags[cell] = True
            else:
                raise InputError(f"Manual: there is no cell {cell}; the table has {table.n_cells}.")
        return flags

    def unsafe(self, table: Table) -> Flags:
        """Return the cells, if they were declared unsafe."""
        return self.selected(table) & (self.status == "unsafe")

    def decided(self, table: Table) -> dict[str, Flags]:
        """Return the cells with their statuses, which overrule other rules."""
        letter = {"unsafe": CellStatus.SENSITIVE, "safe": CellStatus.SAFE}
        return {letter.get(self.status, CellStatus.FROZEN).value: self.selected(table)}
