"""What a search of directions knows: the best point, the best proof, its programs and its times.

Every point of a search is the optimum of a linear program with given directions. The simplex method
can cycle, so that each of these programs has a time limit. Times are measured in the same search,
on the same machine; from them follow the seconds that a search keeps back for what comes after it:
making the table exact, and its proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.cta.first_order.packing import Packing
from tablecloak.cta.model.answer import LossProof
from tablecloak.cta.model.tight import INTERIOR_ROWS, TightForm
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.branch import BranchSearch, BranchTree
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

SCRATCH_ROWS = 5000
"""Rows above which programs with given directions are solved from scratch, with presolve, if few
relations are redundant. See docs/decisions, "Programs from scratch"."""

REDUNDANT = 0.75
"""Relations per cell above which many are redundant, so that a warm start saves more than presolve;
below, presolve saves more. See docs/decisions, "Programs from scratch"."""

RELAXATION_SHARE = 0.6
"""Share of the time limit for the root relaxation of tables with few redundant relations."""

SIMPLEX_SHARE = 0.5
"""Share of the time for the simplex method if directions are given; the interior point method gets
the rest."""

LEAST_SECONDS = 2.0
"""Time limit in seconds for a program with given directions, past the time limit if need be."""

SPARE_SECONDS = 0.25
"""Time limit in seconds for a program that may improve a known table, past the time limit if need
be. See docs/decisions, "Time kept back"."""

FIRST_SECONDS = 20.0
"""Time limit in seconds for a program with given directions as long as no table is known: an answer
that is late, and says so, is worth more than none. Chosen by trial; not measured."""

CLOSED = 1e-7
"""Largest relative difference between loss and bound at which a point counts as optimal."""

LAYOUTS = 2.0
"""Time of the final check without its multipliers, as a multiple of the time for building the
program: the check builds the problem again and compares the table. See docs/decisions, "Time
kept back"."""

CLOSING_PROGRAMS = 2.0
"""Time of the programs after the search, as a multiple of the longest with given directions: one
breaks ties, one makes the table exactly additive. See docs/decisions, "Time kept back"."""

MOST_SHARE = 0.1
"""Largest share of the time limit that is kept for programs after the search: the longest program
so far may have been an exception."""

_NONE = np.empty(0)


@dataclass(eq=False)
class Reserve:
    """Times measured so far in a search, and the time to keep back that follows from them.

    Parameters
    ----------
    layout : float, default=0
        Seconds for building model and program, without the choice of independent relations.
    kept : float, default=0
        Seconds that the caller keeps back already.
    program : float, default=0
        Seconds of the longest program with given directions.
    product : float, default=0
        Seconds for computing the bound that one set of multipliers proves.
    leaves : int, default=0
        Leaves of the tree of branch and bound; each has multipliers of its own.
    limit : float, default=inf
        Seconds for the whole search.
    """

    layout: float = 0.0
    kept: float = 0.0
    program: float = 0.0
    product: float = 0.0
    leaves: int = 0
    limit: float = math.inf

    @property
    def verification(self) -> float:
        """Seconds for the final check."""
        return LAYOUTS * self.layout + (1 + self.leaves) * self.product

    @property
    def correction(self) -> float:
        """Seconds for the program that makes the table exactly additive."""
        return min(self.program, MOST_SHARE * self.limit)

    @property
    def needed(self) -> float:
        """Seconds for all that follows the search."""
        programs = min(CLOSING_PROGRAMS * self.program, MOST_SHARE * self.limit)
        return self.verification + programs

    @property
    def seconds(self) -> float:
        """How many seconds before its own deadline the search must end."""
        return max(self.needed - self.kept, 0.0)

    def observe_program(self, seconds: float) -> None:
        """Record the seconds that a program with given directions took."""
        self.program = max(self.program, seconds)


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
class DirectionState:
    """State of a search. Each phase takes it, improves it, and returns it.

    Parameters
    ----------
    form : TightForm
    total : Budget
        Time for the whole search.
    reserve : Reserve, optional
        Time kept back for what follows the search.
    is_first : bool, default=False
        Whether no table is known before this search: then it gets extra time for a first point.

    Attributes
    ----------
    tight : TightForm
        The form with balance rows added. Its columns are those of `form`.
    proved : TightForm
        The form to whose rows `root` and `tree` refer.
    best : Point or None
    bound : float
        Proved bound on the scaled objective.
    root : Solution or None
        Solution whose multipliers prove the best bound without a tree.
    tree : BranchTree or None
    relaxed : Solution or None
        Solution of the relaxation, without balance rows.
    branching : BranchSearch or None
        Interrupted branch and bound, for a later phase to continue.
    added : list of numpy.ndarray of int
        Balance rows that branch and bound has added.
    charged : LossProof or None
        Proof of the best bound by charges of relations, if it is better than that of `root`.
    packing : Packing or None
        The program of these charges, for a later phase to continue.
    is_cooled : bool
        Whether directions have cooled down, so that regions of them may cool again.
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
    charged: LossProof | None = None
    packing: Packing | None = None
    is_cooled: bool = False
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
        """The form without the rows that are redundant once directions are given."""
        return self.form.directed_only()

    @property
    def budget(self) -> Budget:
        """Time left for the search; each phase gets a share of it."""
        if not self.closing_seconds:
            return self.total
        return self.total.within(max(self.total.left - self.closing_seconds, 0.0))

    @property
    def closing_seconds(self) -> float:
        """Seconds to keep back for what follows the search."""
        return self.reserve.seconds

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

    @property
    def seconds_for_one(self) -> float:
        """Time limit of a program with given directions, past the time limit if need be."""
        least = LEAST_SECONDS
        if self.is_first and self.best is None and not self.total.is_stopped:
            least = FIRST_SECONDS
        return self.budget.past(least)

    def offer(self, point: Point, stage: str) -> None:
        """Take a point if it is better than the best one."""
        if self.best is None or point.value < self.best.value:
            self.best = point
            self.report(stage)

    def report(self, stage: str) -> None:
        """Report progress."""
        loss = self.form.loss(self.best.value) if self.best else np.inf
        self.total.report(stage, loss, self.form.loss(self.bound))


def with_directions(
    state: DirectionState, directions: Floats, time_limit: float = np.inf
) -> Point | None:
    """Solve with given directions and offer the point; None if they are infeasible."""
    solution = _solved(state, directions, time_limit)
    if solution.status not in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
        return None
    if state.is_from_scratch and state.root is None:
        state.root = solution
    point = Point(solution.x, solution.value)
    state.offer(point, "directions")
    return point


def given(state: DirectionState, directions: Floats) -> DirectionState:
    """Solve once with given directions, if need be by the interior point method."""
    solution = _from_scratch(state, directions, SIMPLEX_SHARE * state.budget.left)
    if solution.status is SolveStatus.UNKNOWN:
        program = state.form.directed(directions)
        solver = LinearSolver(program, interior="always", crossover=False)
        solution = solver.solve(state.seconds_for_one)
    state.root = solution
    if solution.status in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
        state.offer(Point(solution.x, solution.value), "directions")
    return state


def priced(
    state: DirectionState, directions: Floats, time_limit: float = np.inf
) -> tuple[float, Floats]:
    """Return the optimal value for given directions, and the price of turning each.

    The price is the reduced cost of the direction alone. Where cells have no room beyond their
    levels it is a lower bound on the change; elsewhere it is an estimate, since turning a
    direction also opens the room on the other side.
    """
    columns = state.form.direction_columns
    solution = _solved(state, directions, time_limit, confirm=False)
    if not len(solution.x) or not len(solution.duals):
        return np.inf, np.zeros(len(columns))
    state.offer(Point(solution.x, solution.value), "turning directions")
    program = (state.light if state.is_from_scratch else state.form).program
    reduced = (program.cost - program.matrix.T @ solution.duals)[columns]
    return solution.value, np.where(directions > 0, -reduced, reduced)


def _solved(
    state: DirectionState, directions: Floats, time_limit: float, *, confirm: bool = True
) -> Solution:
    watch = Stopwatch()
    time_limit = min(time_limit, state.seconds_for_one)
    if state.is_from_scratch:
        solution = _from_scratch(state, directions, time_limit, confirm=confirm)
    else:
        solution = _warm(state, directions, time_limit, confirm=confirm)
    if len(solution.x):
        state.reserve.observe_program(watch.seconds)
    return solution


def _warm(
    state: DirectionState, directions: Floats, time_limit: float, *, confirm: bool
) -> Solution:
    """Solve from the last basis of the whole program."""
    solver = state.solver
    columns, *ends = state.form.direction_bounds(directions)
    low, high = solver.lower[columns].copy(), solver.upper[columns].copy()
    solver.change_bounds(columns, *ends)
    solution = solver.solve(time_limit, confirm=confirm)
    solver.change_bounds(columns, low, high)
    return solution


def _from_scratch(
    state: DirectionState, directions: Floats, time_limit: float, *, confirm: bool = True
) -> Solution:
    """Solve from scratch, without the rows that are redundant once directions are given."""
    solver = LinearSolver(state.light.directed(directions))
    return solver.solve(time_limit, confirm=confirm)


def solved_relaxation(state: DirectionState) -> Solution:
    """Solve the relaxation, and keep the best proof."""
    part = state.budget.share(RELAXATION_SHARE if state.is_from_scratch else 1.0)
    # If a table is known already, the relaxation serves only for a proof.
    relaxed = state.solver.solve(part.past(1.0 if state.best is None else SPARE_SECONDS))
    state.relaxed = relaxed
    watch = Stopwatch()
    state.root = _best_proof(state.form.program, [relaxed, state.root])
    state.reserve.product = watch.seconds
    state.bound = max(state.bound, state.root.bound)
    return relaxed


def _best_proof(program: Program, solutions: Sequence[Solution | None]) -> Solution:
    """Return the solution whose multipliers prove the highest bound of the whole program.

    The multipliers of an interrupted program can prove less than multipliers of zero do.
    """
    best = Solution(SolveStatus.UNKNOWN, _NONE, _NONE, np.inf, dual_bound(program, _NONE))
    for solution in solutions:
        if solution is None or not len(solution.duals):
            continue
        bound = dual_bound(program, solution.duals)
        if bound > best.bound:
            best = replace(solution, bound=bound)
    return best
