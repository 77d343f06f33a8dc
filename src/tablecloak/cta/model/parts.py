"""Parts of a table that no relation connects.

What can move in one part has no influence on the others, so that losses and bounds of the parts
add up. A hierarchy is connected through its total unless that is frozen; tables published side by
side, or with frozen margins, fall apart.
"""

from __future__ import annotations

from tablecloak.arrays import Integers
from tablecloak.cta.model.room import Room
from tablecloak.graph import components_of_cells
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["parts_of"]


def parts_of(problem: ProtectionProblem, room: Room) -> Integers:
    """Return the number of the part of each cell; -1 for cells that cannot move.

    Parameters
    ----------
    problem : ProtectionProblem
    room : Room
    """
    return components_of_cells(problem.table.relations, (room.up > 0) | (room.down > 0))
