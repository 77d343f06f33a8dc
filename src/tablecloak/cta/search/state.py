"""What a search of directions knows: the best point, the best proof, and its programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget
from tablecloak.cta.search.reserve import Reserve
from tablecloak.cta.search.schedule import (
    CLOSED,
    FIRST_SECONDS,
    INTERIOR_ROWS,
    LEAST_SECONDS,
    REDUNDANT,
    SCRATCH_ROWS,
)
from tablecloak.cta.tight import TightForm
from tablecloak.solve.branch import BranchSearch, BranchTree
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.solver import Solution

__all__ = ["Point", "SearchState"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Point:
    """A feasible point of the scaled program.

    Parameters
    ----------
    x : numpy.ndarray of float
    value : float
        Its scaled objective.
    """

    x: Floats
    value: float


@dataclass(eq=False)
class SearchState:
    """What phases pass on: each takes it, makes it better, and returns it.

    Parameters
    ----------
    form : TightForm
    total : Budget
        Of the whole search.
    reserve : Reserve, optional
        What is kept back of it for what follows.
    is_first : bool, default=False
        Whether there is no table at all without this search: then it gets time for a first point.

    Attributes
    ----------
    tight : TightForm
        The form with balance rows. Its columns are the same.
    proved : TightForm
        The form to whose rows `root` and `tree` refer.
    best : Point or None
    bound : float
        Proved, scaled.
    root : Solution or None
        With the multipliers of the best bound without a tree.
    tree : BranchTree or None
    relaxed : Solution or None
        Of the whole program, without balance rows.
    branching : BranchSearch or None
        To be taken up again.
    added : list of numpy.ndarray of int
        Balance rows that branch and bound has added.
    notes : list of str
    """

    form: TightForm
    total: Budget
    reserve: Reserve = field(default_factory=Reserve)
    is_first: bool = False
    tight: TightForm = field(init=False)
    proved: TightForm = field(init=False)
    best: Point | None = None
    bound: float = -np.inf
    root: Solution | None = None
    tree: BranchTree | None = None
    relaxed: Solution | None = None
    branching: BranchSearch | None = None
    added: list[Integers] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tight = self.proved = self.form

    @cached_property
    def is_from_scratch(self) -> bool:
        """Whether programs with given directions are solved without a warm start."""
        table = self.form.model.problem.table
        is_large = self.form.program.n_rows > SCRATCH_ROWS
        return is_large and table.n_relations < REDUNDANT * table.n_cells

    @cached_property
    def solver(self) -> LinearSolver:
        """The relaxation, kept in memory."""
        is_large = self.form.program.n_rows > INTERIOR_ROWS and not self.is_from_scratch
        return LinearSolver(
            self.form.program,
            interior="always" if is_large else "never",
            crossover=not is_large,
        )

    @cached_property
    def light(self) -> TightForm:
        """The form without rows that say nothing once directions are given."""
        return self.form.directed_only()

    @property
    def budget(self) -> Budget:
        """What is left for the search; a phase asks for a share of it."""
        if not self.reserve.seconds:
            return self.total
        return self.total.within(max(self.total.left - self.reserve.seconds, 0.0))

    @property
    def is_closed(self) -> bool:
        """Whether the best point is proved optimal."""
        if self.best is None:
            return False
        return self.best.value - self.bound <= CLOSED * max(1.0, abs(self.best.value))

    @property
    def best_directions(self) -> Floats:
        """Directions of the best point."""
        assert self.best is not None
        return self.form.directions(self.best.x)

    def left(self, share: float) -> float:
        """Return a share of the seconds that are left."""
        return share * self.budget.left

    @property
    def seconds_for_one(self) -> float:
        """Time limit of a program with given directions, past the time limit if need be."""
        least = LEAST_SECONDS
        if self.is_first and self.best is None and not self.total.is_stopped:
            least = FIRST_SECONDS
        return max(self.budget.left, least)

    def offer(self, point: Point, stage: str) -> None:
        """Take a point if it is better than the best one."""
        if self.best is None or point.value < self.best.value:
            self.best = point
            self.report(stage)

    def report(self, stage: str) -> None:
        """Report progress."""
        loss = self.form.loss(self.best.value) if self.best else np.inf
        self.total.report(stage, loss, self.form.loss(self.bound))
