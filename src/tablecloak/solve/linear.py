"""A linear program that is changed and solved again many times, with every answer checked.

A point is accepted only if it satisfies the program, and the status OPTIMAL only if the row
multipliers prove it by weak duality. Otherwise the program is solved again from scratch by other
algorithms, and if all fail, the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Stopwatch, running
from tablecloak.errors import SolverError
from tablecloak.solve.bounds import ACCEPTED_VIOLATION, dual_bound, is_proved, violation
from tablecloak.solve.program import Program
from tablecloak.solve.solver import (
    Capability,
    Claim,
    LinearMethod,
    Request,
    Solution,
    Solver,
    SolveStatus,
    chosen_solver,
)

Interior = Literal["never", "first", "always"]
"""When to solve from scratch by an interior point method."""


def dual_program(program: Program) -> tuple[Program, Callable[[Floats], Floats]]:
    """Return the dual as a program, and the function from its points to row multipliers.

    The dual has one column for each finite side of a row and each finite bound of a column::

        min -(L.y+ - U.y- + l.r+ - u.r-)   subject to   A'(y+ - y-) + r+ - r- = c,   all >= 0

    Parameters
    ----------
    program : Program
        Whole-number conditions are left out.
    """
    rows = eye_array(program.n_rows, format="csc")
    bounds = eye_array(program.n_columns, format="csc")
    transposed = program.matrix.T.tocsc()
    low, high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    above, below = np.isfinite(program.lower), np.isfinite(program.upper)
    parts = [transposed[:, low], -transposed[:, high], bounds[:, above], -bounds[:, below]]
    cost = np.concatenate(
        [
            -program.row_lower[low],
            program.row_upper[high],
            -program.lower[above],
            program.upper[below],
        ]
    )
    dual = Program(
        cost=cost,
        matrix=csr_array(hstack(parts, format="csr")),
        row_lower=program.cost,
        row_upper=program.cost,
        lower=np.zeros(len(cost)),
        upper=np.full(len(cost), np.inf),
    )
    n_low, n_high = int(low.sum()), int(high.sum())
    back = csr_array(hstack([rows[:, low], -rows[:, high]], format="csr"))
    return dual, lambda x: back @ x[: n_low + n_high]


class LinearSolver:
    """One linear program, kept in memory and solved again after changes.

    Parameters
    ----------
    program : Program
        Scaled: see `Scaling`. Whole-number conditions are left out.
    primal : bool, default=False
        Start with the primal simplex method, for sequences in which only costs change.
    interior : {"never", "first", "always"}, default="never"
        When to solve from scratch by the interior point method with crossover: on large
        degenerate programs the simplex method takes ten times as long without a good basis.
        "first" means the first solve and each one after `restart`. Ignored by solvers without
        such a method.
    crossover : bool, default=True
        Whether the interior point method ends in a vertex. If not, the answer is as accurate and
        several times faster, but the simplex method cannot start from it.
    once : bool, default=False
        Accept the first answer without a check and without multipliers: for heuristics whose
        results are checked where they are used.
    checked : bool, default=True
        Whether points and multipliers are checked. If not, the status is FEASIBLE at most and the
        bound -inf: for callers that a wrong point or multiplier costs time but does no harm.
    solver : Solver, optional
        By default the solver chosen by `using_solver`.
    """

    def __init__(
        self,
        program: Program,
        *,
        primal: bool = False,
        interior: Interior = "never",
        crossover: bool = True,
        once: bool = False,
        checked: bool = True,
        solver: Solver | None = None,
    ) -> None:
        self.program = program.relaxed()
        self.cost = program.cost.copy()
        self.lower = program.lower.copy()
        self.upper = program.upper.copy()
        self.runs = 0
        self._solver = solver or chosen_solver()
        self._once = once
        self._is_checked = checked
        self._interior = interior if self._solver.can(Capability.INTERIOR_POINT) else "never"
        self._from_scratch = LinearMethod.INTERIOR if crossover else LinearMethod.CENTRAL
        self._cold = self._interior != "never"
        self._loaded = self._solver.load(self.program, primal=primal)

    def restart(self) -> None:
        """Solve next time without the last basis, if an interior point method may be used."""
        self._cold = self._interior != "never"

    def change_costs(self, columns: Integers, costs: Floats) -> None:
        """Replace the costs of some columns; the last basis stays primal feasible."""
        self.cost[columns] = costs
        self._loaded.change_costs(columns, costs)

    def change_bounds(self, columns: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the bounds of some columns; the last basis stays dual feasible."""
        self.lower[columns], self.upper[columns] = lower, upper
        self._loaded.change_bounds(columns, lower, upper)

    def change_sides(self, rows: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the sides of some rows; the last basis stays dual feasible."""
        self.program = self.program.with_sides(rows, lower, upper)
        self._loaded.change_sides(rows, lower, upper)

    def add_rows(self, matrix: csr_array, row_lower: Floats, row_upper: Floats) -> None:
        """Append rows."""
        self.program = self.program.with_rows(matrix, row_lower, row_upper)
        self._loaded.add_rows(matrix, row_lower, row_upper)

    def keep_rows(self, kept: Integers) -> None:
        """Drop all rows except some; the last basis stays usable if the dropped rows were slack."""
        dropped = np.delete(np.arange(self.program.n_rows), kept)
        if len(dropped):
            self._loaded.drop_rows(dropped)
            self.program = self.program.only_rows(kept)

    @property
    def current(self) -> Program:
        """The program as it stands after all changes."""
        return self.program.with_columns(self.cost, self.lower, self.upper)

    def solve(
        self, time_limit: float = np.inf, *, confirm: bool = True, from_scratch: bool = False
    ) -> Solution:
        """Solve from the last basis; if the answer fails its check, from scratch.

        Parameters
        ----------
        time_limit : float, default=inf
            Seconds of wall time.
        confirm : bool, default=True
            Whether to try the other algorithms too if the program is found infeasible. A search
            to whose proof that does not matter can save the time.
        from_scratch : bool, default=False
            Whether the last basis is of no use, since costs and bounds of most columns changed.

        Returns
        -------
        Solution
            UNKNOWN if the solver breaks off with every method.
        """
        watch, search = Stopwatch(), running()
        # A program that is begun after a stop is needed to finish the search.
        is_needed = search is not None and search.is_stopped
        method = LinearMethod.COLD if from_scratch else LinearMethod.WARM
        if self._cold:
            method, self._cold = self._from_scratch, self._interior == "always"
        solution = self._attempt(time_limit, method)
        if self._once or (self._from_scratch is LinearMethod.CENTRAL and len(solution.x)):
            return solution
        if solution.status is SolveStatus.INFEASIBLE and not confirm:
            return solution
        # Warm starts sometimes end in points that are infeasible or not optimal, though the solver
        # claims so; a solve from scratch rarely does.
        enough = SolveStatus.OPTIMAL if self._is_checked else SolveStatus.FEASIBLE
        for other in self._loaded.fallbacks:
            left = time_limit - watch.seconds
            is_ended = search is not None and search.is_stopped and not is_needed
            if solution.status is enough or left <= 0 or is_ended:
                break
            solution = self._attempt(left, other)
        return solution

    @property
    def basis(self) -> Any:
        """The last basis of the simplex method, an opaque object for `solve_from`."""
        return self._loaded.basis

    @basis.setter
    def basis(self, basis: Any) -> None:
        self._loaded.basis = basis

    def solve_from(self, basis: Any, cutoff: float, time_limit: float = np.inf) -> Solution:
        """Solve from a basis that is optimal for other bounds, and stop at a cutoff.

        Parameters
        ----------
        basis : object
            The property `basis` after the solve to start from.
        cutoff : float
            Objective at which the dual simplex method stops.
        time_limit : float, default=inf
            Seconds of wall time.

        Returns
        -------
        Solution
            UNKNOWN if its value reaches the cutoff or its check fails. The status INFEASIBLE is
            not confirmed by other algorithms.
        """
        self._loaded.basis = basis
        solution = self._attempt(time_limit, LinearMethod.WARM, cutoff)
        if solution.value >= cutoff and len(solution.x):
            return Solution.without_point(SolveStatus.UNKNOWN)
        return solution

    def probe(self, column: int, lower: float, upper: float, iterations: int) -> float:
        """Return a lower bound after a few iterations with other bounds of one column.

        Only for choices such as that of a column to branch on. Program and basis stay as they
        were.

        Parameters
        ----------
        column : int
        lower, upper : float
        iterations : int

        Returns
        -------
        float
            inf if the solver claims that no point is left; -inf if it returns no multipliers.
        """
        one, basis = np.array([column]), self._loaded.basis
        old = self.lower[one].copy(), self.upper[one].copy()
        self.change_bounds(one, np.array([lower]), np.array([upper]))
        try:
            claim = self._loaded.run(np.inf, iterations=iterations)
        except SolverError:
            claim = Claim(SolveStatus.UNKNOWN)
        has_duals = len(claim.duals) == self.program.n_rows
        bound = dual_bound(self.current, claim.duals) if has_duals else -np.inf
        self.change_bounds(one, *old)
        self._loaded.basis = basis
        return np.inf if claim.status is SolveStatus.INFEASIBLE else bound

    def _attempt(self, seconds: float, method: LinearMethod, cutoff: float = np.inf) -> Solution:
        """Run once and check the claim."""
        self.runs += 1
        try:
            claim = self._loaded.run(seconds, method, cutoff=cutoff, duals=not self._once)
        except SolverError:
            # The caller may still try other algorithms.
            return Solution.without_point(SolveStatus.UNKNOWN)
        is_certain = claim.status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED)
        if is_certain or claim.is_beyond or claim.x is None or len(claim.x) != len(self.cost):
            status = (
                claim.status if claim.status is not SolveStatus.OPTIMAL else SolveStatus.UNKNOWN
            )
            return Solution.without_point(status)
        if self._once:
            return self._unchecked(claim.status, claim.x, np.empty(0))
        duals = claim.duals
        if len(duals) != self.program.n_rows:
            duals = self._multipliers(seconds)
        if not self._is_checked:
            return self._unchecked(claim.status, claim.x, duals)
        return self._checked(claim.x, duals)

    def _unchecked(self, status: SolveStatus, x: Floats, duals: Floats) -> Solution:
        if status is not SolveStatus.OPTIMAL:
            return Solution.without_point(SolveStatus.UNKNOWN)
        clipped = np.clip(x, self.lower, self.upper)
        return Solution(SolveStatus.FEASIBLE, clipped, duals, np.inf, -np.inf)

    def _checked(self, x: Floats, duals: Floats) -> Solution:
        program = self.current
        value = program.objective(x)
        bound = dual_bound(program, duals)
        if violation(program, x).worst > ACCEPTED_VIOLATION:
            return Solution(SolveStatus.UNKNOWN, np.empty(0), duals, np.inf, bound)
        x = np.clip(x, program.lower, program.upper)
        proved = is_proved(program, x, duals, value, bound)
        status = SolveStatus.OPTIMAL if proved else SolveStatus.FEASIBLE
        return Solution(status, x, duals, value, bound)

    def _multipliers(self, seconds: float) -> Floats:
        """Return multipliers from the dual program; if it fails zeros, which are always valid."""
        dual, back = dual_program(self.current)
        try:
            claim = self._solver.run(dual, Request(seconds=seconds))
        except SolverError:
            claim = Claim(SolveStatus.UNKNOWN)
        return np.zeros(self.program.n_rows) if claim.x is None else back(claim.x)
