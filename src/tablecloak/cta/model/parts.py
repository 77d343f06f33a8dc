"""Parts of a table that no relation connects.

What can move in one part has no influence on the others, so that losses and bounds of the parts
add up. A hierarchy is connected through its total unless that is frozen; tables published side by
side, or with frozen margins, fall apart.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Integers
from tablecloak.cta.model.room import Room
from tablecloak.tables.graphs import components_of_columns
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["parts_of"]


def parts_of(problem: ProtectionProblem, room: Room) -> Integers:
    """Return the number of the part of each cell; -1 for cells that cannot move.

    Parameters
    ----------
    problem : ProtectionProblem
    room : Room
    """
    movable = np.flatnonzero((room.up > 0) | (room.down > 0))
    relations = csr_array(problem.table.relations[:, movable])
    relations.eliminate_zeros()
    part = np.full(problem.table.n_cells, -1, dtype=np.int64)
    part[movable] = components_of_columns(relations)
    return part
