"""Branch and bound whose proof can be checked without a solver.

The search tree splits the integral points into leaves. Each leaf has row multipliers whose
weak-duality bound reaches the claimed bound, or which prove that the leaf is empty. Checking the
tree takes sparse products only. Rows may be added during the search (lazy constraints), which
HiGHS itself does not offer.

References
----------
.. [1] Achterberg, Koch, Martin: Branching rules revisited, Operations Research Letters 33 (2005)
   (reliability branching).
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import SolverError, VerificationError
from tablecloak.solve.bounds import dual_bound, proves_infeasible
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.linear import Interior, LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

CANDIDATES = 8
"""Number of columns that are compared before a split."""

RELIABLE = 4
"""Observations in each direction after which a column is no longer probed."""

PROBED_ITERATIONS = 50
"""Simplex iterations of a probe."""

LEAST_GAIN = 1e-9
"""Least expected gain of a side. Without it a side without gain would make the product of both
gains 0, and columns could no longer be compared by their other side."""

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
class BranchNode:
    """One bound on one integral column, added to those of the parent.

    Parameters
    ----------
    parent : int
        Number of the parent; -1 for the root.
    column : int
    is_lower : bool
        Whether `limit` is a lower bound.
    limit : float
    bound : float
        Proved bound of the parent when it was split.
    depth : int
    """

    parent: int
    column: int
    is_lower: bool
    limit: float
    bound: float
    depth: int

    @classmethod
    def root(cls) -> BranchNode:
        """Return the node without any bound."""
        return cls(-1, -1, False, 0.0, -np.inf, 0)


@dataclass(eq=False)
class BranchTree:
    """The proof: a binary tree of column bounds with row multipliers at its leaves.

    Parameters
    ----------
    nodes : list
        Each node adds one bound on one integral column to its parent's; node 0 is the root.
    multipliers : dict of int to numpy.ndarray
        For each leaf the multipliers of the first k rows.
    """

    nodes: list[BranchNode] = field(default_factory=list)
    multipliers: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of_root(cls, multipliers: Floats) -> BranchTree:
        """Return the tree that consists of its root, with multipliers of the first rows."""
        return cls([BranchNode.root()], {0: multipliers})

    def split(self, node: int, column: int, below: float, bound: float) -> tuple[int, int]:
        """Split a node at column <= below and column >= below + 1; return the two numbers."""
        depth = self.nodes[node].depth + 1
        self.nodes.append(BranchNode(node, column, False, below, bound, depth))
        self.nodes.append(BranchNode(node, column, True, below + 1, bound, depth))
        return len(self.nodes) - 2, len(self.nodes) - 1

    def inherit(self, node: int) -> None:
        """Give a node the multipliers of its nearest ancestor that has any."""
        source = node
        while source not in self.multipliers and source > 0:
            source = self.nodes[source].parent
        if source in self.multipliers:
            self.multipliers[node] = self.multipliers[source]

    def box(self, program: Program, node: int) -> tuple[Floats, Floats]:
        """Return the column bounds that hold in a node."""
        lower, upper = program.lower.copy(), program.upper.copy()
        while node > 0:
            entry = self.nodes[node]
            if entry.is_lower:
                lower[entry.column] = max(lower[entry.column], entry.limit)
            else:
                upper[entry.column] = min(upper[entry.column], entry.limit)
            node = entry.parent
        return lower, upper

    def verify(self, program: Program) -> float:
        """Return the lower bound that the tree proves, by sparse products alone.

        Parameters
        ----------
        program : Program
            The program with all rows that the multipliers refer to.

        Raises
        ------
        VerificationError
            If the leaves do not cover all integral points.
        """
        children: dict[int, list[BranchNode]] = {}
        for entry in self.nodes[1:]:
            children.setdefault(entry.parent, []).append(entry)
        for pair in children.values():
            _check_split(program, pair)
        bounds = [
            self._leaf_bound(program, node)
            for node in range(len(self.nodes))
            if node not in children
        ]
        return min(bounds)

    def _leaf_bound(self, program: Program, node: int) -> float:
        lower, upper = self.box(program, node)
        if np.any(lower > upper):
            return np.inf
        duals = self.multipliers.get(node)
        if duals is None:
            return -np.inf
        if proves_infeasible(program, duals, lower=lower, upper=upper):
            return np.inf
        return dual_bound(program, duals, lower=lower, upper=upper)


def _check_split(program: Program, pair: list[BranchNode]) -> None:
    lows = [entry for entry in pair if entry.is_lower]
    highs = [entry for entry in pair if not entry.is_lower]
    fits = (
        len(lows) == len(highs) == 1
        and lows[0].column == highs[0].column
        and lows[0].limit == highs[0].limit + 1
        and bool(program.integral[lows[0].column])
    )
    if not fits:
        raise VerificationError(
            f"The search tree does not cover all integral points: the split of node "
            f"{pair[0].parent} is not into column <= n and column >= n + 1 of one integral "
            "column. Check that the certificate was not changed."
        )


class Pseudocosts:
    """Mean gain of the bound by branching on each column, per unit of its move.

    Parameters
    ----------
    n_columns : int
    """

    def __init__(self, n_columns: int) -> None:
        self.total = np.zeros((2, n_columns))
        self.count = np.zeros((2, n_columns), dtype=np.int64)
        self.moved: dict[int, float] = {}

    def learn(self, node: int, entry: BranchNode, bound: float) -> None:
        """Record the gain of a node's bound over its parent's, per unit of the column's move."""
        distance = self.moved.pop(node, None)
        if distance and np.isfinite(bound) and np.isfinite(entry.bound):
            self.note(entry.column, entry.is_lower, max(bound - entry.bound, 0.0) / distance)

    def note(self, column: int, is_lower: bool, gain: float) -> None:
        """Record one observation."""
        if np.isfinite(gain):
            self.total[int(is_lower), column] += gain
            self.count[int(is_lower), column] += 1

    def is_reliable(self, column: int) -> bool:
        """Whether each direction has enough observations."""
        return bool(np.min(self.count[:, column]) >= RELIABLE)

    def scores(self, columns: Integers, part: Floats, guess: Floats) -> Floats:
        """Product of the expected gains of both sides; scaled guesses for columns never seen."""
        seen = np.min(self.count[:, columns], axis=0) > 0
        mean = self.total[:, columns] / np.maximum(self.count[:, columns], 1)
        below, above = mean[0] * part, mean[1] * (1 - part)
        product = np.maximum(below, LEAST_GAIN) * np.maximum(above, LEAST_GAIN)
        if not np.any(seen):
            return guess
        level = np.mean(product[seen]) / max(float(np.mean(guess)), 1e-300)
        scores: Floats = np.where(seen, product, guess * level)
        return scores


def chosen_column(
    solver: LinearSolver,
    costs: Pseudocosts,
    x: Floats,
    fractional: Integers,
    *,
    bound: float,
    cutoff: float,
    budget: Budget,
) -> int:
    """Return the column with the largest product of gains, after probes of unreliable columns.

    Parameters
    ----------
    solver : LinearSolver
        Its last solve was that of the node to be split.
    costs : Pseudocosts
        Records the results of the probes.
    x : numpy.ndarray of float
        Optimum of the node.
    fractional : numpy.ndarray of int
        Integral columns that are fractional at this optimum.
    bound, cutoff : float
        Proved bound of the node, and the bound at which a node can be closed.
    budget : Budget
        No column is probed once the budget is over.
    """
    part = x[fractional] - np.floor(x[fractional])
    cost = np.abs(solver.program.cost[fractional])
    # Before any split, columns near a half and of high cost are expected to gain most.
    guess = np.minimum(part, 1 - part) * (cost + np.mean(cost) + 1e-12)
    score = costs.scores(fractional, part, guess)
    order = np.argsort(-score, kind="stable")[:CANDIDATES]
    for place in order.tolist():
        column = int(fractional[place])
        if not costs.is_reliable(column) and not budget.is_over:
            _probe(solver, costs, column, float(x[column]), bound, cutoff - bound)
    score = costs.scores(fractional, part, guess)
    return int(fractional[order[np.argmax(score[order])]])


def _probe(
    solver: LinearSolver, costs: Pseudocosts, column: int, x: float, bound: float, most: float
) -> None:
    """Record the gain of rounding a column down and up, estimated by a few iterations each."""
    below = float(np.floor(x))
    ends = float(solver.lower[column]), float(solver.upper[column])
    for is_lower, low, high, distance in (
        (False, ends[0], below, x - below),
        (True, below + 1, ends[1], 1 - (x - below)),
    ):
        gain = solver.probe(column, low, high, PROBED_ITERATIONS) - bound
        costs.note(column, is_lower, max(min(gain, most), 0.0) / distance)


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
        self.tree = BranchTree([BranchNode.root()])
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
                    self.tree.multipliers[visit.node] = np.asarray(outcome.duals, dtype=np.float64)
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
