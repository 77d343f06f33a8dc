"""Which sensitive cells go up and which go down: a start, and the search.

With directions fixed the program is linear and fast. A random choice is usually infeasible
in hierarchies, because directions must cohere; all up is feasible in most tables, since
totals simply grow. The search then leaves it to branch and bound, ours (with a proof) for
few sensitive cells, HiGHS (whose claim we do not take over) for many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array

from tablecloak.cta.formulation import AdjustmentModel
from tablecloak.errors import SolverError
from tablecloak.solve.branch import BranchTree, branch_and_bound
from tablecloak.solve.certify import dual_bound
from tablecloak.solve.highs import LinearSolver, Solution, SolveStatus, solve

__all__ = ["DirectionSearch", "Found", "turn_around"]

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, float, float, int], None]

INTERIOR_ROWS = 5000
"""Rows from which on programs are solved from scratch by the interior point method."""

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

PROOF_CELLS = 60
"""Sensitive cells up to which our own branch and bound is tried before HiGHS."""

FLIPPED = 0.3
"""Share of the promising directions that is turned around at once."""

FLIPPED_ANEW = 0.05
"""The same where each program starts from scratch, so that few can be tried."""

MISSED_AT_MOST = 1e-9
"""Scaled amount by which a statistic may be missed and count as met."""

NOISE = 1.0
"""Standard deviation of the logarithm of what a promise is multiplied by in random choices."""

RELAXED_ROWS = 12_000
"""Rows up to which mixed-integer programs over the whole table are tried."""

RELAXED = 20
"""Directions that are free at first."""

RELAXED_SHARE = 0.15
"""Share of the time for one such program."""

REPEATED = 50
"""Choices that were tried before, in a row, after which the search gives up."""

_NONE = np.empty(0)

WHOLE_REACH = (4.0, 100.0)
"""How far from the fractional point whole numbers are sought, one after the other."""


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
    """

    def __init__(
        self, model: AdjustmentModel, deadline: float, progress: Progress | None = None
    ) -> None:
        self.model = model
        self.deadline = deadline
        self.progress = progress
        self.best: Found | None = None
        self.bound = -np.inf
        self.tree: BranchTree | None = None
        self.root: Solution | None = None
        self.notes: list[str] = []
        table = model.problem.table
        self.is_anew = (
            model.program.n_rows > INTERIOR_ROWS and table.n_relations < REDUNDANT * table.n_cells
        )

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

    def _anew(self, directions: Floats, time_limit: float) -> Solution:
        """Solve with given directions from scratch, without rows that then say nothing."""
        return LinearSolver(self._light.directed(directions)).solve(time_limit)

    @cached_property
    def _light(self) -> AdjustmentModel:
        model = self.model
        if not model.discrepancy:
            return model
        return AdjustmentModel(
            model.problem,
            model.weights,
            model.room,
            model.preserved,
            discrepancy=False,
            maximum=model.maximum,
        )

    def _with(self, directions: Floats, time_limit: float) -> Solution:
        """Solve with given directions."""
        if self.is_anew:
            return self._anew(directions, time_limit)
        columns = self.model.direction_columns
        low, high = self._linear.lower[columns].copy(), self._linear.upper[columns].copy()
        self._linear.change_bounds(columns, directions, directions)
        solution = self._linear.solve(time_limit)
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
        self.root = self._best_proof([relaxed, self.root])
        self.bound = max(self.bound, self.root.bound)
        choices = [] if self.is_anew and self.best is not None else [high, low]
        if len(relaxed.x) and self.model.program.n_rows <= INTERIOR_ROWS:
            choices.append(np.clip(self.model.directions(relaxed.x), low, high))
        for directions in choices:
            if self.best is not None and time.monotonic() > self.deadline:
                return
            self.fixed(directions)
        if self.best is None and self.model.preserved:
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
            model.problem, model.weights, model.room, model.preserved, elastic=True
        )
        search = DirectionSearch(elastic, time.monotonic() + self._left(share))
        search.start()
        missed = slice(-2 * len(model.preserved), None)
        search._relax_some(1.0, enough=lambda x: bool(np.all(x[missed] <= MISSED_AT_MOST)))
        if search.best is not None:
            self.fixed(elastic.directions(search.best.x))
            self.notes.append("statistics were missed at first")

    def improve(self) -> None:
        """Branch and bound until the best point is proved or time is up."""
        if len(self.model.sensitive) <= PROOF_CELLS:
            self._prove(0.3)
        n_rows = self.model.program.n_rows
        if not self._is_closed():
            self._flip(0.1 if n_rows <= RELAXED_ROWS else 0.9)
        few_relations = self.model.problem.table.n_relations <= FEW_RELATIONS
        if not self._is_closed() and (n_rows <= INTERIOR_ROWS or few_relations):
            self._ask_highs(0.65)
        if not self._is_closed() and n_rows <= RELAXED_ROWS:
            self._relax_some(0.7)
        if not self._is_closed():
            # What the search takes longest to prove takes a while to check as well.
            self._prove(0.8)

    def _flip(self, share: float) -> None:
        """Turn directions around where the multipliers of the linear program promise a gain."""
        if self.best is None:
            return
        programs = turn_around(
            self._priced,
            self.model.directions(self.best.x),
            self.model.allowed(),
            deadline=time.monotonic() + self._left(share),
            most=FLIPPED_ANEW if self.is_anew else FLIPPED,
        )
        n = len(self.model.direction_columns)
        self.notes.append(f"directions of {n} cells turned around {programs} times")

    def _relax_some(self, share: float, enough: Callable[[Floats], bool] = lambda _: False) -> None:
        """Leave some directions free at a time and all others as they are (fix and relax).

        The free ones are drawn at random; how many depends on how long such programs take.
        """
        if self.best is None:
            return
        deadline = time.monotonic() + self._left(share)
        random = np.random.default_rng(1)
        program, columns = self.model.program, self.model.direction_columns
        low, high = self.model.allowed()
        size, programs = min(RELAXED, len(columns)), 0
        limit = max(self._left(share) * RELAXED_SHARE, 1.0)
        while time.monotonic() < deadline and not (self._is_closed() or enough(self.best.x)):
            directions = self.model.directions(self.best.x)
            free = random.choice(len(columns), size, replace=False)
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
        solution = self._with(directions, time_limit)
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
        value = self.best.value if self.best else np.inf

        def report(best: float, bound: float, open_nodes: int) -> None:
            if self.progress:
                known = self.model.loss(best) if np.isfinite(best) else np.inf
                self.progress("branch and bound", known, self.model.loss(bound), open_nodes)

        seconds = self._left(share)
        result = branch_and_bound(
            self.model.program, value=value, time_limit=seconds, progress=report
        )
        if len(result.x):
            self.fixed(self.model.directions(result.x))
        if result.bound > self.bound and result.nodes:
            self.bound, self.tree = result.bound, result.tree

    def _offer(self, found: Found, stage: str) -> None:
        if self.best is None or found.value < self.best.value:
            self.best = found
            if self.progress:
                loss, bound = self.model.loss(found.value), self.model.loss(self.bound)
                self.progress(stage, loss, bound, 0)

    def whole(self, time_limit: float) -> Found | None:
        """Solve with the best directions and all changes whole numbers.

        Relations of two-dimensional tables give whole numbers by themselves; in more
        dimensions they have to be asked for. They are sought near the fractional point: whole
        columns with large ranges are slow, and have made HiGHS break off.
        """
        assert self.best is not None
        for reach in WHOLE_REACH:
            solution = self._whole_within(reach, time_limit / len(WHOLE_REACH))
            if solution is not None:
                return solution
        return None

    def _whole_within(self, reach: float, time_limit: float) -> Found | None:
        assert self.best is not None
        program, scaling, columns = (
            self.model.program,
            self.model.scaling,
            self.model.direction_columns,
        )
        # Whole numbers are whole in the table's own unit, so the lengths go back to it.
        near = scaling.point(self.best.x)
        lower = np.maximum(program.lower * scaling.column, np.floor(near) - reach)
        upper = np.minimum(program.upper * scaling.column, np.ceil(near) + reach)
        lower[columns] = upper[columns] = self.model.directions(self.best.x)
        length = self.model.problem.unit
        raw = replace(
            program,
            cost=program.cost / scaling.column * length,
            matrix=csr_array(program.matrix @ diags_array(1 / scaling.column)),
            lower=lower,
            upper=np.maximum(upper, lower),
            integral=np.ones(program.n_columns, dtype=bool),
        )
        # The fractional point tells how good a whole one can be at most.
        value = self.best.value * length
        target = value + 1e-5 * abs(value)
        try:
            solution = solve(raw, time_limit=time_limit, gap=1e-4, target=target)
        except SolverError:
            return None
        if not len(solution.x):
            return None
        x = solution.x / scaling.column
        return Found(x, program.objective(x))


def turn_around(
    priced: Callable[[Floats, float], tuple[float, Floats]],
    directions: Floats,
    allowed: tuple[Floats, Floats],
    *,
    deadline: float,
    most: float = FLIPPED,
) -> int:
    """Turn directions around where that promises a gain; return how many programs were solved.

    The optimal value is convex in the directions, so that the reduced cost of a direction
    bounds from below what turning it can bring; without a promise the directions are optimal.
    The most promising share is turned at once, less after each failure; once even single ones
    fail, random choices among the promising ones follow.

    Parameters
    ----------
    priced : callable
        Given directions and a time limit: their optimal value, and a lower bound on what turning
        each changes.
    directions : numpy.ndarray of float
        1 up, 0 down, to start from.
    allowed : tuple of numpy.ndarray
        Smallest and largest direction of each cell.
    deadline : float
        Moment of `time.monotonic`.
    most : float, default=0.3
        Share of the promising directions that is turned around at once.
    """
    random = np.random.default_rng(0)
    low, high = allowed
    value, promise = priced(directions, np.inf)
    part, noise, programs = most, 0.0, 0
    tried: set[bytes] = set()
    repeated = 0
    while time.monotonic() < deadline and np.isfinite(value) and repeated < REPEATED:
        free = np.where(directions > 0, low < 0.5, high > 0.5)
        gain = np.where(free, promise, 0.0)
        candidates = np.flatnonzero(gain < -1e-9 * max(1.0, abs(value)))
        if not len(candidates):
            break
        drawn = gain[candidates] * np.exp(random.normal(0, 1, len(candidates)) * noise)
        order = candidates[np.argsort(drawn, kind="stable")]
        size = max(1, int(part * len(order)))
        turned = directions.copy()
        turned[order[:size]] = 1 - turned[order[:size]]
        if size == 1:
            part, noise = most, NOISE
        else:
            part /= 2
        if turned.tobytes() in tried:
            repeated += 1
            continue
        tried.add(turned.tobytes())
        programs += 1
        found, new_promise = priced(turned, max(deadline - time.monotonic(), 0.01))
        if found < value - 1e-9 * abs(value):
            directions, value, promise = turned, found, new_promise
            part, repeated = min(2 * part, most), 0
    return programs
