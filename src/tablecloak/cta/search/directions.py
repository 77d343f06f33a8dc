"""Which sensitive cells go up and which go down: a start, and the search.

With directions fixed the program is linear and fast. A random choice is usually infeasible
in hierarchies, because directions must cohere; all up is feasible in most tables, since
totals simply grow. The search then leaves it to branch and bound, ours (with a proof) for
few sensitive cells, HiGHS (whose claim we do not take over) for many. The proof has the balance
rows that are violated (see `balance`); the search for better points is quicker without.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tablecloak.cta.formulation import AdjustmentModel
from tablecloak.cta.search.balance import BalanceRows
from tablecloak.cta.search.turning import LocalSearch, Neighbourhoods, turn_around
from tablecloak.errors import SolverError
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.branch import BranchSearch, BranchTree, Rows
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.solver import Solution, SolveStatus

__all__ = ["DirectionSearch", "Found"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Progress = Callable[[str, float, float, int], None]

INTERIOR_ROWS = 3000
"""Rows from which on programs are solved from scratch by the interior point method."""

ANEW_ROWS = 5000
"""The same where few relations are redundant: by the simplex method with presolve."""

FEW_RELATIONS = 1000
"""Relations up to which HiGHS is asked however many sensitive cells there are."""

REDUNDANT = 0.75
"""Relations for each cell from which on the simplex method suffers from redundant ones. Below,
programs with given directions are solved by it from scratch: presolve is worth more than a
basis."""

RELAXATION_SHARE = 0.6
"""Share of the time for the relaxation of such a table."""

SIMPLEX_SHARE = 0.5
"""Share of the time for the simplex method, if directions are given."""

PROOF_CELLS = 200
"""Sensitive cells up to which our own branch and bound is tried before HiGHS."""

FLIPPED_ANEW = 0.05
"""The same where each program starts from scratch, so that few can be tried."""

MISSED_AT_MOST = 1e-9
"""Scaled amount by which a statistic may be missed and count as met."""

RELAXED_ROWS = 6000
"""Rows up to which mixed-integer programs over the whole table are tried."""

RELAXED = 10
"""Directions that are free at first."""

RELAXED_SHARE = 0.15
"""Share of the time for one such program."""

TIGHTENED_GAIN = 1e-4
"""Relative gain of the bound below which no more of them are added."""

SLACK = 0.05
"""Scaled slack from which on a balance row is dropped again."""

BALANCE_ROUNDS = 20
"""Rounds of balance rows at the root of our own search; deeper nodes get a tenth."""

PRICED = 1e-7
"""Scaled reduced cost or multiplier from which on a column or row must stay where it is."""

LEAST_SECONDS = 2.0
"""Seconds for one program with given directions, even where time is up."""

TIED = 1e-9
"""Relative difference between values that count as equal."""

_NONE = np.empty(0)
_NO_ROWS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Found:
    """A feasible point of the scaled program.

    Parameters
    ----------
    x : numpy.ndarray of float
    value : float
        Its scaled objective.
    """

    x: Floats
    value: float


class DirectionSearch:
    """Searches directions for one model, and keeps the best point and the best proof.

    Parameters
    ----------
    model : AdjustmentModel
    deadline : float
        Moment of `time.monotonic` at which to stop.
    progress : callable, optional
        Called with stage, loss, bound and number of open nodes.

    Attributes
    ----------
    tight : AdjustmentModel
        The model with balance rows. Its columns are the same.
    proved : AdjustmentModel
        The model to whose rows `root` and `tree` refer.
    """

    def __init__(
        self, model: AdjustmentModel, deadline: float, progress: Progress | None = None
    ) -> None:
        self.model = model
        self.tight = model
        self.proved = model
        self.deadline = deadline
        self.progress = progress
        self.best: Found | None = None
        self.bound = -np.inf
        self.tree: BranchTree | None = None
        self.root: Solution | None = None
        self._relaxed: Solution | None = None
        self._branching: BranchSearch | None = None
        self._turning: LocalSearch | None = None
        self._added: list[Integers] = []
        self.notes: list[str] = []
        table = model.problem.table
        self.is_anew = (
            model.program.n_rows > ANEW_ROWS and table.n_relations < REDUNDANT * table.n_cells
        )

    def stop(self) -> None:
        """End as soon as the program that is being solved is; from another thread."""
        self.deadline = time.monotonic()
        for inner in (self._branching, self._turning):
            if inner is not None:
                inner.deadline = self.deadline

    @cached_property
    def _linear(self) -> LinearSolver:
        large = self.model.program.n_rows > INTERIOR_ROWS and not self.is_anew
        return LinearSolver(
            self.model.program, interior="always" if large else "never", crossover=not large
        )

    def given(self, directions: Floats) -> None:
        """Solve once with given directions; where that takes long, by the interior point method."""
        solution = self._anew(directions, self._left(SIMPLEX_SHARE))
        if solution.status is SolveStatus.UNKNOWN:
            solver = LinearSolver(
                self.model.directed(directions), interior="always", crossover=False
            )
            solution = solver.solve(max(self._left(1.0), 1.0))
        self.root = solution
        if solution.status in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
            self._offer(Found(solution.x, solution.value), "directions")

    def _anew(self, directions: Floats, time_limit: float, *, confirm: bool = True) -> Solution:
        """Solve with given directions from scratch, without rows that then say nothing."""
        return LinearSolver(self._light.directed(directions)).solve(time_limit, confirm=confirm)

    @cached_property
    def _light(self) -> AdjustmentModel:
        model = self.model
        if not model.free:
            return model
        return AdjustmentModel(
            model.problem,
            model.weights,
            model.room,
            model.preserved,
            free=False,
            maximum=model.maximum,
            like=model,
        )

    def _with(self, directions: Floats, time_limit: float, *, confirm: bool = True) -> Solution:
        """Solve with given directions; simplex methods are known to go round in circles."""
        time_limit = min(time_limit, max(self._left(1.0), LEAST_SECONDS))
        if self.is_anew:
            return self._anew(directions, time_limit, confirm=confirm)
        columns, *ends = self.model.direction_bounds(directions)
        low, high = self._linear.lower[columns].copy(), self._linear.upper[columns].copy()
        self._linear.change_bounds(columns, *ends)
        solution = self._linear.solve(time_limit, confirm=confirm)
        self._linear.change_bounds(columns, low, high)
        return solution

    def fixed(self, directions: Floats, time_limit: float = np.inf) -> Found | None:
        """Solve with given directions; None if they are infeasible."""
        solution = self._with(directions, time_limit)
        if solution.status not in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
            return None
        if self.is_anew and self.root is None:
            self.root = solution
        found = Found(solution.x, solution.value)
        self._offer(found, "directions")
        return found

    def start(self) -> None:
        """Try all up, all down, and the rounded relaxation, as far as bounds allow."""
        low, high = self.model.allowed()
        if self.is_anew:
            self.fixed(high)
        seconds = self._left(RELAXATION_SHARE if self.is_anew else 1.0)
        relaxed = self._linear.solve(max(seconds, 1.0))
        self._relaxed = relaxed
        self.root = self._best_proof([relaxed, self.root])
        self.bound = max(self.bound, self.root.bound)
        choices = [] if self.is_anew and self.best is not None else [high, low]
        if len(relaxed.x) and self.model.program.n_rows <= INTERIOR_ROWS:
            choices.append(np.clip(self.model.directions(relaxed.x), low, high))
        for directions in choices:
            if self.best is not None and time.monotonic() > self.deadline:
                return
            self.fixed(directions)
        if self.best is None and self.model.preserved and not self.model.elastic:
            self._start_elastic(0.6)

    def _best_proof(self, solutions: Sequence[Solution | None]) -> Solution:
        """Return the solution whose multipliers prove most of the whole program.

        What an unfinished program proves may be less than what no multipliers at all prove.
        """
        program = self.model.program
        best = Solution(SolveStatus.UNKNOWN, _NONE, _NONE, np.inf, dual_bound(program, _NONE))
        for solution in solutions:
            if solution is None or not len(solution.duals):
                continue
            bound = dual_bound(program, solution.duals)
            if bound > best.bound:
                best = replace(solution, bound=bound)
        return best

    def _start_elastic(self, share: float) -> None:
        """Let statistics be missed at first, and search directions that do not need it."""
        model = self.model
        elastic = AdjustmentModel(
            model.problem, model.weights, model.room, model.preserved, elastic=True, like=model
        )
        search = DirectionSearch(elastic, time.monotonic() + self._left(share))
        search.start()
        missed = slice(-2 * len(model.preserved), None)
        search._relax_some(1.0, enough=lambda x: bool(np.all(x[missed] <= MISSED_AT_MOST)))
        if search.best is not None:
            self.fixed(elastic.directions(search.best.x))
            self.notes.append("statistics were missed at first")

    def _tighten(self, share: float) -> None:
        """Add the balance rows that the relaxation violates, round by round."""
        if self._relaxed is None or not len(self._relaxed.x):
            return
        balance, first = BalanceRows(self.model), self.model.program.n_rows
        solver, deadline = self._linear, time.monotonic() + self._left(share)
        x, rows = self._relaxed.x, _NO_ROWS
        while time.monotonic() < deadline:
            new = balance.violated(x)
            if not len(new):
                break
            rows = np.concatenate([rows, new])
            solver.add_rows(*balance.rows(new))
            solution = solver.solve(max(deadline - time.monotonic(), 0.01))
            if not len(solution.x):
                break
            x, program = solution.x, solver.program
            slack = (program.matrix @ x - program.row_lower)[first:]
            kept = np.flatnonzero((slack <= SLACK) | (solution.duals[first:] > 0))
            both = np.concatenate([np.arange(first), first + kept])
            solver.keep_rows(both)
            rows, gain = rows[kept], solution.bound - self.bound
            if gain > 0:
                self.root = replace(solution, duals=solution.duals[both])
                self.tight = self.proved = self.model.with_balance(rows)
                self.bound = solution.bound
                self._report("balance rows")
            if gain < TIGHTENED_GAIN * abs(self.bound):
                break
        solver.keep_rows(np.arange(first))
        self.notes.append(f"{self.tight.program.n_rows - first} balance rows")

    def improve(self, *, for_proof: bool = True) -> None:
        """Search until the best point is proved or time is up.

        Parameters
        ----------
        for_proof : bool, default=True
            Whether a good bound is wanted, or only a good point.
        """
        n_rows = self.model.program.n_rows
        is_provable = len(self.model.sensitive) <= PROOF_CELLS and n_rows <= INTERIOR_ROWS
        is_flat = self.model.problem.table.n_relations <= FEW_RELATIONS
        is_large = n_rows > RELAXED_ROWS
        self._tighten((0.4 if is_large else 0.3) if for_proof else 0.05)
        if is_provable:
            self._prove(0.1)
        if not self._is_closed():
            self._turn(0.95 if is_large else 0.1 if is_provable or is_flat else 0.5)
        if not self._is_closed() and (is_provable or is_flat):
            self._ask_highs(0.65)
        if not self._is_closed() and not is_large:
            self._relax_some(1.0 if not for_proof else 0.4 if is_provable else 0.7)
        if for_proof and not self._is_closed():
            # What the search takes longest to prove takes a while to check as well.
            self._prove(0.8)

    def _turn(self, share: float) -> None:
        """Turn directions around, one at a time where programs are quick, else many at once."""
        if self.best is None:
            return
        directions, allowed = self.model.directions(self.best.x), self.model.allowed()
        deadline = time.monotonic() + self._left(share)
        if self.is_anew:
            programs = turn_around(
                self._priced, directions, allowed, deadline=deadline, most=FLIPPED_ANEW
            )
        else:

            def found(solution: Solution) -> None:
                self._offer(Found(solution.x, solution.value), "turning directions")

            self._turning = LocalSearch(self._light, allowed, deadline, found)
            self._turning.run(directions)
            programs = self._turning.programs
        self.notes.append(f"{programs} programs with directions of {len(directions)} cells turned")

    def _relax_some(self, share: float, enough: Callable[[Floats], bool] = lambda _: False) -> None:
        """Leave some directions free at a time and all others as they are (fix and relax).

        The free ones are drawn at random, every other time next to each other; how many depends on
        how long such programs take.
        """
        if self.best is None:
            return
        deadline = time.monotonic() + self._left(share)
        random = np.random.default_rng(1)
        program, columns = self.model.program, self.model.direction_columns
        low, high = self.model.allowed()
        near = Neighbourhoods(self.model, np.arange(len(columns)), random)
        size, programs = min(RELAXED, len(columns)), 0
        limit = max(self._left(share) * RELAXED_SHARE, 1.0)
        while time.monotonic() < min(deadline, self.deadline):
            if self._is_closed() or enough(self.best.x):
                break
            directions = self.model.directions(self.best.x)
            if programs % 2:
                free = random.choice(len(columns), size, replace=False)
            else:
                free = near.draw(size)
            lower, upper = program.lower.copy(), program.upper.copy()
            lower[columns] = upper[columns] = directions
            lower[columns[free]], upper[columns[free]] = low[free], high[free]
            started = time.monotonic()
            programs += 1
            try:
                solution = solve(
                    program.with_bounds(lower, upper),
                    start=self.best.x,
                    time_limit=min(limit, max(deadline - started, 0.5)),
                    gap=1e-4,
                )
            except SolverError:
                break
            if len(solution.x) and solution.value < self.best.value - 1e-9 * abs(self.best.value):
                # The directions are kept, the point is solved again with them exactly 0 or 1.
                self.fixed(self.model.directions(solution.x))
            if solution.status is not SolveStatus.OPTIMAL:
                size = max(int(0.8 * size), 1)
            elif time.monotonic() - started < limit / 3:
                if size == len(columns):
                    break
                size = min(int(1.3 * size) + 1, len(columns))
        self.notes.append(f"{programs} programs with up to {size} directions free")

    def _priced(self, directions: Floats, time_limit: float = np.inf) -> tuple[float, Floats]:
        """Optimal value for given directions, and a lower bound on what turning each changes."""
        columns = self.model.direction_columns
        solution = self._with(directions, time_limit, confirm=False)
        if not len(solution.x) or not len(solution.duals):
            return np.inf, np.zeros(len(columns))
        self._offer(Found(solution.x, solution.value), "turning directions")
        program = (self._light if self.is_anew else self.model).program
        reduced = (program.cost - program.matrix.T @ solution.duals)[columns]
        return solution.value, np.where(directions > 0, -reduced, reduced)

    def _is_closed(self) -> bool:
        if self.best is None:
            return False
        return self.best.value - self.bound <= 1e-7 * max(1.0, abs(self.best.value))

    def _left(self, share: float) -> float:
        return share * max(self.deadline - time.monotonic(), 0.0)

    def _ask_highs(self, share: float) -> None:
        seconds = self._left(share)
        if seconds <= 0 and self.best is not None:
            return
        start = self.best.x if self.best else None
        solution = solve(self.model.program, start=start, time_limit=max(seconds, 1.0))
        if len(solution.x):
            # The directions are kept, the point is solved again with them exactly 0 or 1.
            self.fixed(self.model.directions(solution.x))

    def _prove(self, share: float) -> None:
        """Branch and bound, from where it stopped before."""
        if self._branching is None:
            self._branching = self._branch()
        self._branching.run(self._left(share))
        result = self._branching.result()
        if len(result.x):
            self.fixed(self.model.directions(result.x))
        # The tree goes on growing with the search: its rows must keep in step also where the bound
        # has not risen.
        if result.nodes and (result.bound > self.bound or self.tree is result.tree):
            self.bound, self.tree = max(self.bound, result.bound), result.tree
            self.proved = self.tight.with_balance(np.concatenate([_NO_ROWS, *self._added]))

    def _branch(self) -> BranchSearch:
        balance = BalanceRows(self.model)

        def separate(x: Floats, is_integral: bool) -> Rows | None:
            del is_integral
            new = balance.violated(x)
            if not len(new):
                return None
            self._added.append(new)
            return balance.rows(new)

        def report(best: float, bound: float, open_nodes: int) -> None:
            if self.progress:
                known = self.model.loss(best) if np.isfinite(best) else np.inf
                self.progress("branch and bound", known, self.model.loss(bound), open_nodes)

        return BranchSearch(
            self.tight.program,
            value=lambda: self.best.value if self.best else np.inf,
            separate=separate,
            root_rounds=BALANCE_ROUNDS,
            interior="first" if self.tight.program.n_rows > INTERIOR_ROWS else "never",
            progress=report,
        )

    def _offer(self, found: Found, stage: str) -> None:
        if self.best is None or found.value < self.best.value:
            self.best = found
            self._report(stage)

    def _report(self, stage: str) -> None:
        if self.progress:
            loss = self.model.loss(self.best.value) if self.best else np.inf
            self.progress(stage, loss, self.model.loss(self.bound), 0)

    def with_broken_ties(self, time_limit: float) -> Found | None:
        """Of all points as good with the same directions, one that moves sensitive cells least.

        What multipliers price stays where it is, and with it the value. None for large programs,
        and where that needs more than rounding.
        """
        assert self.best is not None
        program = self._light.directed(self.model.directions(self.best.x)).relaxed()
        if program.n_rows > INTERIOR_ROWS:
            return None
        solution = LinearSolver(program).solve(time_limit)
        if solution.status is not SolveStatus.OPTIMAL:
            return None
        reduced = program.cost - program.matrix.T @ solution.duals
        beyond = np.concatenate([self.model.sensitive, self.model.sensitive + self.model.n_groups])
        cost = np.zeros(program.n_columns)
        cost[beyond] = program.cost[beyond]
        face = replace(
            program,
            cost=cost,
            lower=np.where(reduced < -PRICED, program.upper, program.lower),
            upper=np.where(reduced > PRICED, program.lower, program.upper),
            row_lower=np.where(solution.duals < -PRICED, program.row_upper, program.row_lower),
            row_upper=np.where(solution.duals > PRICED, program.row_lower, program.row_upper),
        )
        second = LinearSolver(face).solve(time_limit)
        if second.status is not SolveStatus.OPTIMAL:
            return None
        found = Found(second.x, program.objective(second.x))
        is_as_good = found.value <= self.best.value + TIED * max(1.0, abs(self.best.value))
        return found if is_as_good else None
