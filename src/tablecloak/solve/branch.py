"""Branch and bound whose proof can be checked by a stranger.

The search tree splits the integral points into leaves; each leaf carries row multipliers
whose weak-duality bound reaches the claim, or which prove that the leaf is empty. Checking
the tree needs sparse products and no solver. Rows may be added on the way (lazy
constraints), which HiGHS itself does not offer.
"""

from __future__ import annotations

import contextlib
import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.errors import SolverError, VerificationError
from tablecloak.solve.bounds import dual_bound, proves_infeasible
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.linear import Interior, LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Solution, SolveStatus

__all__ = ["BranchResult", "BranchSearch", "BranchTree", "Rows", "branch_and_bound"]

Floats = npt.NDArray[np.float64]

Rows = tuple[csr_array, Floats, Floats]
"""Matrix, lower and upper sides of rows that hold for every wanted point."""

Separate = Callable[[Floats, bool], Rows | None]
"""Given a point, and whether it is integral: rows that it violates, or None."""

Progress = Callable[[float, float, int], None]
"""Called now and then with the best value, the bound, and the number of open nodes."""

INTEGRALITY_TOLERANCE = 1e-6
RELATIVE_GAP = 1e-8

CANDIDATES = 8
"""Columns that are compared before a split."""

RELIABLE = 4
"""Observations in both directions after which a column is no longer probed."""

PROBED_ITERATIONS = 50
"""Simplex iterations of a probe."""

TAIL = ((10, 2e-3), (1, 1e-3))
"""Rounds to look back on, and least relative gain; at the root, and below it."""

PURGED_ROWS = 500
"""Added rows from which on slack ones are dropped at the root."""

PURGED_SLACK = 0.05
"""Slack, as a share of the right-hand side 1, from which on a row may be dropped."""


@dataclass(frozen=True, eq=False)
class _Node:
    parent: int
    column: int
    is_lower: bool
    limit: float
    bound: float
    depth: int


@dataclass(eq=False)
class BranchTree:
    """The proof: a binary tree over column bounds with row multipliers at its leaves.

    Parameters
    ----------
    nodes : list
        Each node adds one bound on one integral column to its parent's; node 0 is the root.
    multipliers : dict of int to numpy.ndarray
        For each leaf the multipliers of the first k rows.
    """

    nodes: list[_Node] = field(default_factory=list)
    multipliers: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of_root(cls, multipliers: Floats) -> BranchTree:
        """Return the tree that is only its root, with the multipliers of the first rows."""
        return cls([_Node(-1, -1, False, 0.0, -np.inf, 0)], {0: multipliers})

    def box(self, program: Program, node: int) -> tuple[Floats, Floats]:
        """Column bounds that hold in a node."""
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
            With all rows that the multipliers refer to.

        Raises
        ------
        VerificationError
            If the leaves do not cover all integral points.
        """
        children: dict[int, list[_Node]] = {}
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


@dataclass(frozen=True, eq=False)
class BranchResult:
    """What a search found and proved.

    Parameters
    ----------
    x : numpy.ndarray of float
        Best integral point; empty if none better than the given value was found.
    value : float
        Its objective, or the given one.
    bound : float
        Proved lower bound.
    tree : BranchTree
    program : Program
        The program with all rows added on the way.
    nodes : int
        Nodes processed.
    is_complete : bool
        Whether no node is left open.
    is_interrupted : bool
        Whether the keyboard ended the search.
    """

    x: Floats
    value: float
    bound: float
    tree: BranchTree
    program: Program
    nodes: int
    is_complete: bool
    is_interrupted: bool


def branch_and_bound(
    program: Program,
    *,
    value: float | Callable[[], float] = np.inf,
    separate: Separate | None = None,
    purge: Callable[[npt.NDArray[np.int64]], None] | None = None,
    step: float = 0.0,
    time_limit: float = np.inf,
    node_limit: int = 1_000_000,
    root_rounds: int = 200,
    progress: Progress | None = None,
) -> BranchResult:
    """Minimise over the integral points of a program, with a proof.

    Parameters
    ----------
    program : Program
        Scaled; integral columns need finite bounds.
    value : float or callable, default=inf
        Objective of a point that is already known; a function is asked again and again, since
        `separate` may find better points itself.
    separate : callable, optional
        Returns further rows that every wanted point satisfies and the given one does not; an
        integral point counts as found only if it returns None for it. It may raise
        TimeoutError, which ends the search like the time limit.
    purge : callable, optional
        Told, by their order, which of the rows added so far stay when slack ones are dropped at
        the root; without it none is dropped.
    step : float, default=0
        If positive, all wanted points have objectives that are multiples of it.
    time_limit : float, default=inf
        Seconds of wall time.
    node_limit : int, default=1000000
        Largest number of nodes to process.
    root_rounds : int, default=200
        Largest number of rounds of added rows at the root; deeper nodes get a tenth.
    progress : callable, optional
        Called after each node.

    Returns
    -------
    BranchResult
        Its bound is valid whenever the search stops; an interruption from the keyboard ends
        the search like the time limit.
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
    search.run(time_limit, node_limit)
    return search.result()


def _say_nothing(value: float, bound: float, open_nodes: int) -> None:
    del value, bound, open_nodes


class BranchSearch:
    """A search that can be stopped and taken up again.

    Parameters as for `branch_and_bound`; and `interior`, as for `LinearSolver`: "first" for large
    programs.
    """

    def __init__(
        self,
        program: Program,
        *,
        value: float | Callable[[], float] = np.inf,
        separate: Separate | None = None,
        purge: Callable[[npt.NDArray[np.int64]], None] | None = None,
        step: float = 0.0,
        root_rounds: int = 200,
        interior: Interior = "never",
        progress: Progress | None = None,
    ) -> None:
        self.base = program
        self.known = value if callable(value) else lambda: value
        self.value = self.known()
        self.x = np.empty(0)
        self.separate = separate
        self.purge = purge
        self.report = progress or _say_nothing
        self.step = step
        self.root_rounds = root_rounds
        self.processed = 0
        self.reached = -np.inf
        self.is_interrupted = False
        self.deadline = -np.inf
        self.solver = LinearSolver(program, interior=interior)
        self.integral = np.flatnonzero(program.integral)
        self.tree = BranchTree([_Node(-1, -1, False, 0.0, -np.inf, 0)])
        self.open = [(-np.inf, 0, 0)]
        self.leaf_bounds = np.inf
        self.history = _History(program.n_columns)

    def run(self, time_limit: float = np.inf, node_limit: int = 1_000_000) -> None:
        """Go on for some time, or until no node is left open."""
        self.deadline = time.monotonic() + time_limit
        try:
            while self.open and self.processed < node_limit and time.monotonic() < self.deadline:
                self._process_next(self.deadline)
                self.report(self.value, self.bound(), len(self.open))
        except TimeoutError:
            pass
        except KeyboardInterrupt:
            self.is_interrupted = True

    def cutoff(self) -> float:
        """Bound from which on a node cannot hold a better point."""
        self.value = min(self.value, self.known())
        if not np.isfinite(self.value):
            return np.inf
        if self.step:
            return self.value - self.step * (1 - 1e-6)
        return self.value - RELATIVE_GAP * max(1.0, abs(self.value))

    def bound(self) -> float:
        """Lower bound over closed leaves and open nodes."""
        lowest = min(self.leaf_bounds, min((entry[0] for entry in self.open), default=np.inf))
        if self.step and np.isfinite(lowest):
            lowest = float(np.ceil(lowest / self.step - 1e-6) * self.step)
        return min(lowest, self.value)

    def result(self) -> BranchResult:
        """Close the books: nodes left open are leaves with what their parents proved."""
        for _, _, node in self.open:
            self._inherit(node)
        program = replace(self.solver.program, integral=self.base.integral)
        return BranchResult(
            self.x,
            self.value,
            self.bound(),
            self.tree,
            program,
            nodes=self.processed,
            is_complete=not self.open,
            is_interrupted=self.is_interrupted,
        )

    def _process_next(self, deadline: float) -> None:
        inherited, _, node = self.open[0]
        if inherited >= self.cutoff():
            self._close_all()
            return
        heapq.heappop(self.open)
        self.reached = inherited
        try:
            self._process(node, inherited, deadline)
        except (KeyboardInterrupt, TimeoutError):
            # What the rounds before the interruption proved still holds.
            heapq.heappush(self.open, (self.reached, -self.tree.nodes[node].depth, node))
            raise

    def _process(self, node: int, inherited: float, deadline: float) -> None:
        self.processed += 1
        lower, upper = self.tree.box(self.base, node)
        self._set_box(lower, upper)
        depth = self.tree.nodes[node].depth
        rounds = self.root_rounds if depth == 0 else max(self.root_rounds // 10, 1)
        bound = inherited
        first, reached = True, list[float]()
        while True:
            solution = self.solver.solve(max(deadline - time.monotonic(), 0.01))
            if not len(solution.x) and time.monotonic() >= deadline:
                heapq.heappush(self.open, (bound, -depth, node))
                return
            if not len(solution.x):
                self._close_empty(node, solution, bound)
                return
            if first:
                self.history.learn(node, self.tree.nodes[node], solution.bound)
                first = False
            if solution.bound > bound or node not in self.tree.multipliers:
                bound = max(bound, solution.bound)
                self.tree.multipliers[node] = solution.duals
                self.reached = bound
            reached.append(bound)
            if _tails_off(reached, depth):
                rounds = 0
            if bound >= self.cutoff():
                self.leaf_bounds = min(self.leaf_bounds, bound)
                return
            fractional = self._fractional(solution.x)
            rows = None
            if depth == 0:
                self._drop_slack_rows(solution.x)
                self.report(self.value, bound, 1)
            if self.separate and (rounds > 0 or not len(fractional)):
                rows = self.separate(self._rounded(solution.x, fractional), not len(fractional))
            if rows is None or not rows[0].shape[0]:
                break
            # Also at the end of the time: who found them counts on it.
            self.solver.add_rows(*rows)
            rounds -= 1
            if time.monotonic() >= deadline:
                heapq.heappush(self.open, (bound, -depth, node))
                return
        if len(fractional):
            self._branch(node, bound, solution.x, fractional)
            return
        self._accept(solution.x)
        # The leaf holds its optimum; nothing in it is better than what it proves.
        self.leaf_bounds = min(self.leaf_bounds, bound)

    def _drop_slack_rows(self, x: Floats) -> None:
        """Drop rows that neither bind nor prove the root's bound, once there are many."""
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
        if len(kept) > 0.7 * program.n_rows:
            return
        self.solver.keep_rows(kept)
        self.tree.multipliers[0] = proof[kept]
        self.purge(kept[first:] - first)

    def _close_all(self) -> None:
        """No open node can hold a better point: the parents' multipliers prove it."""
        for bound, _, node in self.open:
            self.leaf_bounds = min(self.leaf_bounds, bound)
            self._inherit(node)
        self.open.clear()

    def _inherit(self, node: int) -> None:
        source = node
        while source not in self.tree.multipliers and source > 0:
            source = self.tree.nodes[source].parent
        if source in self.tree.multipliers:
            self.tree.multipliers[node] = self.tree.multipliers[source]

    def _close_empty(self, node: int, solution: Solution, bound: float) -> None:
        """Close an infeasible node with a proof; without one it stays as a leaf of its bound."""
        program = self.solver.current
        if solution.status is SolveStatus.INFEASIBLE:
            # Without a proof in time the node stays open to what its parent proved.
            with contextlib.suppress(SolverError):
                left = max(self.deadline - time.monotonic(), 0.1)
                found = find_infeasibility(program, time_limit=left)
                if found.confirmed:
                    self.tree.multipliers[node] = found.duals
                    return
        self._inherit(node)
        self.leaf_bounds = min(self.leaf_bounds, bound)

    def _set_box(self, lower: Floats, upper: Floats) -> None:
        columns = self.integral
        changed = columns[
            (self.solver.lower[columns] != lower[columns])
            | (self.solver.upper[columns] != upper[columns])
        ]
        if len(changed):
            self.solver.change_bounds(changed, lower[changed], upper[changed])

    def _fractional(self, x: Floats) -> npt.NDArray[np.int64]:
        values = x[self.integral]
        return self.integral[np.abs(values - np.rint(values)) > INTEGRALITY_TOLERANCE]

    def _rounded(self, x: Floats, fractional: npt.NDArray[np.int64]) -> Floats:
        if len(fractional):
            return x
        rounded = x.copy()
        rounded[self.integral] = np.rint(x[self.integral])
        return rounded

    def _branch(
        self, node: int, bound: float, x: Floats, fractional: npt.NDArray[np.int64]
    ) -> None:
        """Split on the column whose rounding raises the bound most either way."""
        column = self._chosen(bound, x, fractional)
        below = float(np.floor(x[column]))
        depth = self.tree.nodes[node].depth + 1
        for is_lower, limit in ((False, below), (True, below + 1)):
            self.tree.nodes.append(_Node(node, column, is_lower, limit, bound, depth))
            child = len(self.tree.nodes) - 1
            self.history.moved[child] = abs(limit - float(x[column]))
            heapq.heappush(self.open, (bound, -depth, child))

    def _chosen(self, bound: float, x: Floats, fractional: npt.NDArray[np.int64]) -> int:
        """Return the column with the best product of gains; try those of which little is known.

        References
        ----------
        .. [1] Achterberg, Koch, Martin: Branching rules revisited, Operations Research Letters
           33 (2005) (reliability branching).
        """
        part = x[fractional] - np.floor(x[fractional])
        cost = np.abs(self.base.cost[fractional])
        guess = np.minimum(part, 1 - part) * (cost + np.mean(cost) + 1e-12)
        score = self.history.scores(fractional, part, guess)
        order = np.argsort(-score, kind="stable")[:CANDIDATES]
        most = self.cutoff() - bound
        for at in order.tolist():
            column = int(fractional[at])
            if self.history.is_reliable(column):
                continue
            below = float(np.floor(x[column]))
            ends = float(self.solver.lower[column]), float(self.solver.upper[column])
            for is_lower, low, high, distance in (
                (False, ends[0], below, part[at]),
                (True, below + 1, ends[1], 1 - part[at]),
            ):
                gain = self.solver.probe(column, low, high, PROBED_ITERATIONS) - bound
                self.history.note(column, is_lower, max(min(gain, most), 0.0) / distance)
        score = self.history.scores(fractional, part, guess)
        return int(fractional[order[np.argmax(score[order])]])

    def _accept(self, x: Floats) -> None:
        found = self._rounded(x, np.empty(0, dtype=np.int64))
        value = self.base.objective(found)
        if value < self.value:
            self.x, self.value = found, value


def _tails_off(reached: list[float], depth: int) -> bool:
    """Whether the last rounds of rows raised the bound too little to go on with them."""
    window, least = TAIL[0] if depth == 0 else TAIL[1]
    if len(reached) <= window or not np.isfinite(reached[-1 - window]):
        return False
    return reached[-1] - reached[-1 - window] < least * abs(reached[-1])


class _History:
    """What branching on each column has gained, for each unit of its move."""

    def __init__(self, n_columns: int) -> None:
        self.total = np.zeros((2, n_columns))
        self.count = np.zeros((2, n_columns), dtype=np.int64)
        self.moved: dict[int, float] = {}

    def learn(self, node: int, entry: _Node, bound: float) -> None:
        """Take note of what the bound of a node turned out to be, for the move of its column."""
        distance = self.moved.pop(node, None)
        if distance and np.isfinite(bound) and np.isfinite(entry.bound):
            self.note(entry.column, entry.is_lower, max(bound - entry.bound, 0.0) / distance)

    def note(self, column: int, is_lower: bool, gain: float) -> None:
        """Add one observation."""
        if np.isfinite(gain):
            self.total[int(is_lower), column] += gain
            self.count[int(is_lower), column] += 1

    def is_reliable(self, column: int) -> bool:
        """Whether both directions were seen often enough."""
        return bool(np.min(self.count[:, column]) >= RELIABLE)

    def scores(self, columns: npt.NDArray[np.int64], part: Floats, guess: Floats) -> Floats:
        """Product of the gains expected on both sides; of unknown columns, scaled guesses."""
        seen = np.min(self.count[:, columns], axis=0) > 0
        mean = self.total[:, columns] / np.maximum(self.count[:, columns], 1)
        small = 1e-9
        known = np.maximum(mean[0] * part, small) * np.maximum(mean[1] * (1 - part), small)
        if not np.any(seen):
            return guess
        level = np.mean(known[seen]) / max(float(np.mean(guess)), 1e-300)
        found: Floats = np.where(seen, known, guess * level)
        return found


def _check_split(program: Program, pair: list[_Node]) -> None:
    lows = [entry for entry in pair if entry.is_lower]
    highs = [entry for entry in pair if not entry.is_lower]
    fits = (
        len(lows) == len(highs) == 1
        and lows[0].column == highs[0].column
        and lows[0].limit == highs[0].limit + 1
        and bool(program.integral[lows[0].column])
    )
    if not fits:
        raise VerificationError("The search tree does not cover all integral points.")
