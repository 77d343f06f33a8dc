"""The search: open nodes, their programs, and what they prove."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import SolverError
from tablecloak.solve.branch.pseudocosts import Pseudocosts, chosen_column
from tablecloak.solve.branch.tree import BranchTree, Node
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.linear import Interior, LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

__all__ = ["BranchResult", "BranchSearch", "Rows", "Separate", "branch_and_bound"]

Rows = tuple[csr_array, Floats, Floats]
"""Matrix, lower and upper sides of rows that every wanted point satisfies."""

Separate = Callable[[Floats, bool], Rows | None]
"""Takes a point, and whether it is integral; returns rows that it violates, or None."""

Report = Callable[[float, float, int], None]
"""Called now and then with the best value, the bound, and the number of open nodes."""

INTEGRALITY_TOLERANCE = 1e-6
"""Distance to a whole number within which a column counts as whole."""

RELATIVE_GAP = 1e-8
"""A node whose bound is within this share of the best value is closed."""

STEP_SLACK = 1e-6
"""Share of a step by which a bound may exceed a multiple of the step and still be rounded to that
multiple, not to the next."""

TAIL = ((10, 2e-3), (1, 1e-3))
"""No more rows are added to a node when its last rounds (first number) raised its bound by less
than a share (second number); at the root, and below it."""

PURGED_ROWS = 500
"""Number of added rows from which slack rows are dropped at the root."""

PURGED_SLACK = 0.05
"""Slack above which a row may be dropped, where right-hand sides are 1."""

PURGED_SHARE = 0.3
"""Least share of all rows that must be slack before they are dropped: dropping costs a basis."""

LEAST_SECONDS = 0.01
"""Least time limit, in seconds, of a node's program, also when the search's time is over."""

PROOF_SECONDS = 0.1
"""Least time limit, in seconds, of the elastic program that proves a node empty."""


@dataclass(frozen=True, eq=False)
class BranchResult:
    """The result of a search: its best point and its proof.

    Parameters
    ----------
    x : numpy.ndarray of float
        Best integral point; empty if none is better than the given value.
    value : float
        Objective of the point, or the given value.
    bound : float
        Proved lower bound.
    tree : BranchTree
    program : Program
        The program with all added rows.
    nodes : int
        Number of processed nodes.
    is_complete : bool
        Whether no node is left open.
    """

    x: Floats
    value: float
    bound: float
    tree: BranchTree
    program: Program
    nodes: int
    is_complete: bool


def branch_and_bound(
    program: Program,
    *,
    value: float | Callable[[], float] = np.inf,
    separate: Separate | None = None,
    purge: Callable[[Integers], None] | None = None,
    step: float = 0.0,
    budget: Budget | None = None,
    node_limit: int = 1_000_000,
    root_rounds: int = 200,
    progress: Report | None = None,
) -> BranchResult:
    """Minimise over the integral points of a program, with a proof.

    Parameters
    ----------
    program : Program
        Scaled; integral columns need finite bounds.
    value : float or callable, default=inf
        Objective of a known point. A function is called before each comparison, since `separate`
        may find better points itself.
    separate : callable, optional
        Returns further rows that every wanted point satisfies and the given one does not. An
        integral point is accepted only if None is returned for it. A TimeoutError ends the search
        like the time limit.
    purge : callable, optional
        Called when slack rows are dropped at the root, with the positions, among the added rows,
        of those that stay; without it no row is dropped.
    step : float, default=0
        If positive, the objectives of all wanted points are multiples of it.
    budget : Budget, optional
        Ends the search, by its deadline or by a stop; by default there is no limit.
    node_limit : int, default=1000000
        Largest number of nodes to process.
    root_rounds : int, default=200
        Largest number of rounds of added rows at the root; deeper nodes get a tenth.
    progress : callable, optional
        Called after each node. A TimeoutError ends the search, as for `separate`.

    Returns
    -------
    BranchResult
        The bound is valid whenever the search stops.
    """
    search = BranchSearch(
        program,
        value=value,
        separate=separate,
        purge=purge,
        step=step,
        root_rounds=root_rounds,
        progress=progress,
    )
    search.run(budget, node_limit)
    return search.result()


def _say_nothing(value: float, bound: float, open_nodes: int) -> None:
    del value, bound, open_nodes


@dataclass
class _Visit:
    """A node that is being processed, and its bound after each round of added rows."""

    node: int
    depth: int
    bound: float
    rounds: int
    reached: list[float] = field(default_factory=list)

    def tails_off(self) -> bool:
        """Whether the last rounds of rows raised the bound too little to add more (`TAIL`)."""
        window, least = TAIL[0] if self.depth == 0 else TAIL[1]
        if len(self.reached) <= window or not np.isfinite(self.reached[-1 - window]):
            return False
        gain = self.reached[-1] - self.reached[-1 - window]
        return gain < least * abs(self.reached[-1])


class BranchSearch:
    """A branch and bound that can be stopped and continued.

    The parameters are those of `branch_and_bound`, and `interior`, which is that of
    `LinearSolver`: "first" suits large programs.
    """

    def __init__(
        self,
        program: Program,
        *,
        value: float | Callable[[], float] = np.inf,
        separate: Separate | None = None,
        purge: Callable[[Integers], None] | None = None,
        step: float = 0.0,
        root_rounds: int = 200,
        interior: Interior = "never",
        progress: Report | None = None,
    ) -> None:
        self.base = program
        self.best_elsewhere = value if callable(value) else lambda: value
        self.value = self.best_elsewhere()
        self.x = np.empty(0)
        self.separate = separate
        self.purge = purge
        self.report = progress or _say_nothing
        self.step = step
        self.root_rounds = root_rounds
        self.processed = 0
        self.budget = Budget.of()
        self.solver = LinearSolver(program, interior=interior)
        self.integral = np.flatnonzero(program.integral)
        self.tree = BranchTree([Node.root()])
        self.open = [(-np.inf, 0, 0)]
        self.leaf_bounds = np.inf
        self.pseudocosts = Pseudocosts(program.n_columns)

    def run(self, budget: Budget | None = None, node_limit: int = 1_000_000) -> None:
        """Process nodes until the budget ends or no node is open."""
        self.budget = budget or Budget.of()
        with contextlib.suppress(TimeoutError):
            while self.open and self.processed < node_limit and not self.budget.is_over:
                self._process_next()
                self.report(self.value, self.bound(), len(self.open))

    def cutoff(self) -> float:
        """Bound at which a node cannot hold a better point."""
        self.value = min(self.value, self.best_elsewhere())
        if not np.isfinite(self.value):
            return np.inf
        if self.step:
            return self.value - self.step * (1 - STEP_SLACK)
        return self.value - RELATIVE_GAP * max(1.0, abs(self.value))

    def bound(self) -> float:
        """Lowest bound of all closed leaves and open nodes."""
        lowest = min(self.leaf_bounds, min((entry[0] for entry in self.open), default=np.inf))
        if self.step and np.isfinite(lowest):
            lowest = float(np.ceil(lowest / self.step - STEP_SLACK) * self.step)
        return min(lowest, self.value)

    def result(self) -> BranchResult:
        """Return the result; open nodes become leaves with the multipliers of their parents."""
        for _, _, node in self.open:
            self.tree.inherit(node)
        program = replace(self.solver.program, integral=self.base.integral)
        return BranchResult(
            self.x,
            self.value,
            self.bound(),
            self.tree,
            program,
            nodes=self.processed,
            is_complete=not self.open,
        )

    def _process_next(self) -> None:
        inherited, _, node = self.open[0]
        if inherited >= self.cutoff():
            self._close_all()
            return
        heapq.heappop(self.open)
        depth = self.tree.nodes[node].depth
        rounds = self.root_rounds if depth == 0 else max(self.root_rounds // 10, 1)
        visit = _Visit(node, depth, inherited, rounds)
        try:
            self._process(visit)
        except TimeoutError:
            # The bound from the rounds before the interruption still holds.
            self._reopen(visit)
            raise

    def _process(self, visit: _Visit) -> None:
        """Solve a node, adding rows as long as they raise its bound, then close or split it."""
        self.processed += 1
        self._set_box(visit.node)
        while True:
            solution = self.solver.solve(max(self.budget.left, LEAST_SECONDS))
            if not len(solution.x):
                if self.budget.is_over:
                    self._reopen(visit)
                else:
                    self._close_empty(visit, solution)
                return
            self._take_note(visit, solution)
            if visit.bound >= self.cutoff():
                self.leaf_bounds = min(self.leaf_bounds, visit.bound)
                return
            fractional = self._fractional(solution.x)
            if visit.depth == 0:
                self._drop_slack_rows(solution.x)
                self.report(self.value, visit.bound, 1)
            if not self._add_rows(visit, solution.x, fractional):
                break
            if self.budget.is_over:
                self._reopen(visit)
                return
        self._finish(visit, solution.x, fractional)

    def _take_note(self, visit: _Visit, solution: Solution) -> None:
        """Keep the bound and the multipliers of a round if they are the best so far."""
        node = visit.node
        if not visit.reached:
            self.pseudocosts.learn(node, self.tree.nodes[node], solution.bound)
        if solution.bound <= visit.bound:
            # A program that was cut short may prove less than its parent.
            self.tree.inherit(node)
        if solution.bound > visit.bound or node not in self.tree.multipliers:
            visit.bound = max(visit.bound, solution.bound)
            self.tree.multipliers[node] = solution.duals
        visit.reached.append(visit.bound)
        if visit.tails_off():
            visit.rounds = 0

    def _add_rows(self, visit: _Visit, x: Floats, fractional: Integers) -> bool:
        """Add rows that a point violates; return whether there were any."""
        is_whole = not len(fractional)
        if self.separate is None or not (visit.rounds > 0 or is_whole):
            return False
        rows = self.separate(self._rounded(x) if is_whole else x, is_whole)
        if rows is None or not rows[0].shape[0]:
            return False
        # Even after the deadline: the separator has already recorded them.
        self.solver.add_rows(*rows)
        visit.rounds -= 1
        return True

    def _finish(self, visit: _Visit, x: Floats, fractional: Integers) -> None:
        """Split a node if its point is fractional; otherwise the point is the node's optimum."""
        if not len(fractional):
            self._accept(x)
            self.leaf_bounds = min(self.leaf_bounds, visit.bound)
            return
        column = chosen_column(
            self.solver,
            self.pseudocosts,
            x,
            fractional,
            bound=visit.bound,
            cutoff=self.cutoff(),
            budget=self.budget,
        )
        below = float(np.floor(x[column]))
        for child in self.tree.split(visit.node, column, below, visit.bound):
            self.pseudocosts.moved[child] = abs(self.tree.nodes[child].limit - float(x[column]))
            heapq.heappush(self.open, (visit.bound, -visit.depth - 1, child))

    def _reopen(self, visit: _Visit) -> None:
        heapq.heappush(self.open, (visit.bound, -visit.depth, visit.node))

    def _drop_slack_rows(self, x: Floats) -> None:
        """Drop rows with slack and no multiplier in the root's proof, once there are many."""
        program, first = self.solver.program, self.base.n_rows
        if self.purge is None or program.n_rows - first < PURGED_ROWS:
            return
        activity = program.matrix @ x
        slack = np.minimum(activity - program.row_lower, program.row_upper - activity)
        proof = np.zeros(program.n_rows)
        proof[: len(self.tree.multipliers[0])] = self.tree.multipliers[0]
        useful = (slack <= PURGED_SLACK) | (proof != 0)
        useful[:first] = True
        kept = np.flatnonzero(useful)
        if len(kept) > (1 - PURGED_SHARE) * program.n_rows:
            return
        self.solver.keep_rows(kept)
        self.tree.multipliers[0] = proof[kept]
        self.purge(kept[first:] - first)

    def _close_all(self) -> None:
        """Close all open nodes: their parents' multipliers prove that none has a better point."""
        for bound, _, node in self.open:
            self.leaf_bounds = min(self.leaf_bounds, bound)
            self.tree.inherit(node)
        self.open.clear()

    def _close_empty(self, visit: _Visit, solution: Solution) -> None:
        """Close a node without a point: as empty if proved, otherwise with its parent's bound."""
        if solution.status is SolveStatus.INFEASIBLE:
            # If no proof is found in time, the parent's bound still holds.
            with contextlib.suppress(SolverError):
                left = max(self.budget.left, PROOF_SECONDS)
                outcome = find_infeasibility(self.solver.current, time_limit=left)
                if outcome.confirmed:
                    self.tree.multipliers[visit.node] = outcome.duals
                    return
        self.tree.inherit(visit.node)
        self.leaf_bounds = min(self.leaf_bounds, visit.bound)

    def _set_box(self, node: int) -> None:
        lower, upper = self.tree.box(self.base, node)
        columns = self.integral
        changed = columns[
            (self.solver.lower[columns] != lower[columns])
            | (self.solver.upper[columns] != upper[columns])
        ]
        if len(changed):
            self.solver.change_bounds(changed, lower[changed], upper[changed])

    def _fractional(self, x: Floats) -> Integers:
        values = x[self.integral]
        return self.integral[np.abs(values - np.rint(values)) > INTEGRALITY_TOLERANCE]

    def _rounded(self, x: Floats) -> Floats:
        rounded = x.copy()
        rounded[self.integral] = np.rint(x[self.integral])
        return rounded

    def _accept(self, x: Floats) -> None:
        point = self._rounded(x)
        value = self.base.objective(point)
        if value < self.value:
            self.x, self.value = point, value
