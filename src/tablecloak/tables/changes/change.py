"""A problem made of a problem, with its way back.

A search works on the changed problem and need not know how it came about. What it finds there, the
cells that it hides, the witnesses and the multipliers of its proofs, comes back through three
maps: between cells, between relations, and between units.

Changes of tables lie beside this module. What only one method asks for lies with that method, in
`suppression/search/`, `suppression/attack/`, `cta/model/` and `argus/`. The tests of what a change
promises, `tests/tables/changes/test_contract.py` and `tests/cta/model/test_changes.py`, list them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, eye_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import ModelError
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class Change:
    """A problem made of a given one.

    Guarantees, tested for every change on random tables:

    - A given cell moves with one changed cell at most, up to sign and unit.
    - A deviation of the changed problem that keeps its relations and bounds, brought back, keeps
      those of the given one: a witness there is a witness here.
    - Cells that are hidden in a protected pattern of the changed problem, brought back, protect the
      given one.
    - Where `relations` is given, the multipliers that prove a limit there, brought back, prove one
      that is no wider here, with the rooms of the changed cells.

    Parameters
    ----------
    given, problem : ProtectionProblem
        The problem before and after the change.
    cells : scipy.sparse.csr_array, shape (given.table.n_cells, problem.table.n_cells)
        What a given cell moves by, in terms of the moves of changed cells.
    relations : scipy.sparse.csr_array or None, shape (given.table.n_relations, \
problem.table.n_relations)
        Multipliers of given relations, in terms of those of changed ones. None where the changed
        problem says more than the given one, such as an earlier release, or less room to move in,
        so that a limit proved there need not hold here.
    unit : float, default=1
        1 of the changed problem, in the unit of the given one.
    remarks : mapping of str to object, default={}
        What a result says of the change, by the attribute of the result that holds it.
    notes : tuple of str, default=()
        What it says of the change in words.
    """

    given: ProtectionProblem
    problem: ProtectionProblem
    cells: csr_array
    relations: csr_array | None
    unit: float = 1.0
    remarks: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    @classmethod
    def within(cls, given: ProtectionProblem, problem: ProtectionProblem, **more: Any) -> Self:
        """Return the change to a problem that begins with the given cells and relations.

        Parameters
        ----------
        given, problem : ProtectionProblem
        **more
            As of the class; by default multipliers of further relations are left out.
        """
        one, other = given.table, problem.table
        cells = csr_array(eye_array(one.n_cells, other.n_cells))
        relations = csr_array(eye_array(one.n_relations, other.n_relations))
        return cls(given, problem, **{"cells": cells, "relations": relations, **more})

    @property
    def is_needed(self) -> bool:
        """Whether the two problems differ."""
        return self.problem is not self.given

    def then(self, change: Change) -> Change:
        """Return both changes as one: this one, and then one of the problem that it makes."""
        one, other = self.relations, change.relations
        return Change(
            self.given,
            change.problem,
            csr_array(self.cells @ change.cells),
            None if one is None or other is None else csr_array(one @ other),
            self.unit * change.unit,
            remarks={**self.remarks, **change.remarks},
            notes=(*self.notes, *change.notes),
        )

    @cached_property
    def counterparts(self) -> Integers:
        """The changed cell that each given cell moves with; -1 for a cell that cannot move."""
        places = np.full(self.given.table.n_cells, -1, dtype=np.int64)
        entries = self.cells.tocoo()
        places[entries.coords[0]] = entries.coords[1]
        return places

    # -- the way back ---------------------------------------------------------------------

    def flags(self, flags: Flags) -> Flags:
        """Return for each given cell what holds for a changed cell that it moves with."""
        return np.append(flags, False)[self.counterparts]

    def deviation(self, moves: Floats) -> Floats:
        """Return the moves of given cells where changed cells move by `moves`."""
        back: Floats = self.unit * (self.cells @ moves)
        return back

    def deviations(self, moves: csr_array) -> csr_array:
        """Return the moves of given cells for many deviations, one in each row."""
        return csr_array(self.unit * (moves @ self.cells.T))

    def values(self, values: Floats) -> Floats:
        """Return the values of given cells in a release of the changed problem."""
        return self.given.table.values + self.deviation(values - self.problem.table.values)

    def multipliers(self, multipliers: Floats) -> Floats:
        """Return multipliers of given relations that prove what those of changed ones do.

        Raises
        ------
        ValueError
            If limits of the changed problem need not hold in the given one.
        """
        if self.relations is None:
            raise ValueError("The changed problem says more than the given one.")
        back: Floats = self.relations @ multipliers
        return back

    def members(self, cells: npt.ArrayLike) -> Integers:
        """Return the given cells that move with some changed cells."""
        chosen = np.zeros(self.problem.table.n_cells, dtype=bool)
        chosen[np.asarray(cells, dtype=np.int64)] = True
        return np.flatnonzero(self.flags(chosen))

    def refusal(self, error: ModelError) -> ModelError:
        """Return an error about changed cells as one about given cells."""
        return ModelError(str(error), cells=self.members(error.cells))

    def noted(self, result: Any) -> Any:
        """Return a result that says what was changed."""
        return replace(result, notes=(*result.notes, *self.notes), **self.remarks)


class ChangeRequest(Protocol):
    """A change that is asked for, whatever the problem."""

    def change(self, problem: ProtectionProblem, budget: Budget) -> Change:
        """Return the change of a problem."""


def changed(
    problem: ProtectionProblem, requests: Iterable[ChangeRequest], budget: Budget
) -> Change:
    """Return all changes that are asked for as one, each applied to what the last one made."""
    change = Change.within(problem, problem)
    for request in requests:
        change = change.then(request.change(change.problem, budget))
    return change
