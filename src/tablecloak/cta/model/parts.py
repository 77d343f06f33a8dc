"""Parts of a table that no relation connects.

What can move in one part has no influence on the others, so that losses and bounds of the parts
add up. A hierarchy is connected through its total unless that is frozen; tables published side by
side, or with frozen margins, fall apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array

from tablecloak.arrays import Flags, Integers
from tablecloak.cta.model.room import Room
from tablecloak.graph import components_of_cells
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.change import Change
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class Part(Change):
    """The problem of one part: all other cells are frozen.

    What protects the part leaves sensitive cells of other parts as they are: a table protects the
    given problem if the moves of all parts are added up.
    """

    @classmethod
    def of(cls, given: ProtectionProblem, cells: Flags) -> Part:
        """Return the change of a problem to that of some cells.

        Parameters
        ----------
        given : ProtectionProblem
        cells : numpy.ndarray of bool, shape (n_cells,)
        """
        problem = given.with_changes(
            status=np.where(cells, given.status, CellStatus.FROZEN.value),
            lower_protection=np.where(cells, given.lower_protection, 0.0),
            upper_protection=np.where(cells, given.upper_protection, 0.0),
            sliding_protection=np.where(cells, given.sliding_protection, 0.0),
        )
        return cls.within(given, problem, cells=csr_array(diags_array(cells.astype(np.float64))))


def parts_of(problem: ProtectionProblem, room: Room) -> Integers:
    """Return the number of the part of each cell; -1 for cells that cannot move.

    Parameters
    ----------
    problem : ProtectionProblem
    room : Room
    """
    return components_of_cells(problem.table.relations, (room.up > 0) | (room.down > 0))
