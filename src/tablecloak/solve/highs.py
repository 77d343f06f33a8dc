"""Persistent HiGHS: hot starts, changed costs and bounds, statuses translated and checked.

What HiGHS says is checked, not believed: a point is accepted only if it satisfies the
program, and "optimal" only if the row multipliers prove it by weak duality. Otherwise the
program is solved again from scratch, by other algorithms, before we give up.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.errors import SolverError
from tablecloak.solve.bounds import dual_bound, elastic, proves_infeasible, violation
from tablecloak.solve.program import Program

__all__ = [
    "Infeasibility",
    "LinearSolver",
    "Solution",
    "SolveStatus",
    "find_infeasibility",
    "new_highs",
    "pass_program",
    "solve",
    "solve_quadratic",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

THREADS = 1
"""The same for every instance: HiGHS refuses to run when instances in one process differ."""

FEASIBILITY_TOLERANCE = 1e-9
ACCEPTED_VIOLATION = 1e-7
"""Largest violation of a scaled program that an accepted point may have."""

ACCEPTED_GAP = 1e-6
"""Largest relative difference between value and weak-duality bound that counts as optimal."""


class SolveStatus(Enum):
    """What we know after a run; checked by us, not quoted from the solver."""

    OPTIMAL = "optimal"
    """Feasible; for a linear program also proved optimal by its multipliers."""
    FEASIBLE = "feasible"
    """Feasible, not proved optimal: the limit was reached or the proof failed."""
    INFEASIBLE = "infeasible"
    """The solver says so; `find_infeasibility` confirms it."""
    UNBOUNDED = "unbounded"
    """The objective has no finite minimum."""
    UNKNOWN = "unknown"
    """No point was found within the limits."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer to one run, with what we measured.

    Parameters
    ----------
    status : SolveStatus
    x : numpy.ndarray of float, shape (n_columns,)
        Empty if no point was found.
    duals : numpy.ndarray of float, shape (n_rows,)
        Row multipliers; empty for a mixed-integer program.
    value : float
        Objective of `x`, computed by us.
    bound : float
        Lower bound. For a linear program proved by `duals`, for a mixed-integer program only
        claimed by the solver.
    """

    status: SolveStatus
    x: Floats
    duals: Floats
    value: float
    bound: float


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
        "first" means the first solve and each one after `restart`.
    crossover : bool, default=True
        Whether the interior point method ends in a vertex. Without, the answer is as accurate
        and comes several times sooner, but is no start for the simplex method.
    once : bool, default=False
        Take the first answer as it comes, without a check and without multipliers: for heuristics
        whose results are checked where they are used.
    """

    def __init__(
        self,
        program: Program,
        *,
        primal: bool = False,
        interior: Interior = "never",
        crossover: bool = True,
        once: bool = False,
    ) -> None:
        self.program = program.relaxed()
        self.cost = program.cost.copy()
        self.lower = program.lower.copy()
        self.upper = program.upper.copy()
        self.runs = 0
        self._options: dict[str, Any] = {
            "presolve": "off",
            "solver": "choose",
            "simplex_strategy": 4 if primal else 1,
        }
        self._once = once
        self._interior = interior
        self._crossover = "on" if crossover else "off"
        self._cold = interior != "never"
        self._highs = new_highs()
        self._set_options(self._options)
        pass_program(self._highs, self.program)

    def restart(self) -> None:
        """Say that the last basis is of no use for the next solve."""
        self._cold = self._interior != "never"

    def change_costs(self, columns: Integers, costs: Floats) -> None:
        """Replace the costs of some columns; the last basis stays primal feasible."""
        self.cost[columns] = costs
        self._highs.changeColsCost(len(columns), np.asarray(columns, np.int32), costs)

    def change_bounds(self, columns: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the bounds of some columns; the last basis stays dual feasible."""
        self.lower[columns], self.upper[columns] = lower, upper
        self._highs.changeColsBounds(len(columns), np.asarray(columns, np.int32), lower, upper)

    def add_rows(self, matrix: csr_array, row_lower: Floats, row_upper: Floats) -> None:
        """Append rows."""
        self.program = self.program.with_rows(matrix, row_lower, row_upper)
        self._highs.addRows(
            matrix.shape[0],
            row_lower,
            row_upper,
            matrix.nnz,
            matrix.indptr.astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float64),
        )

    def keep_rows(self, kept: Integers) -> None:
        """Drop all rows but some; the last basis stays usable if the others were slack."""
        dropped = np.delete(np.arange(self.program.n_rows, dtype=np.int32), kept)
        if len(dropped):
            self._highs.deleteRows(len(dropped), dropped)
            self.program = self.program.only_rows(kept)

    @property
    def current(self) -> Program:
        """The program as it stands after all changes."""
        return self.program.with_columns(self.cost, self.lower, self.upper)

    def solve(self, time_limit: float = np.inf, *, confirm: bool = True) -> Solution:
        """Solve from the last basis; if the answer fails its check, from scratch.

        Parameters
        ----------
        time_limit : float, default=inf
            Seconds of wall time.
        confirm : bool, default=True
            Whether other algorithms must find it infeasible as well; a search in which nothing
            depends on it need not wait for them.

        Returns
        -------
        Solution
            UNKNOWN if HiGHS breaks off however it is called.
        """
        deadline = time.monotonic() + time_limit
        solution = self._attempt(deadline)
        if self._once or (self._crossover == "off" and len(solution.x)):
            return solution
        if solution.status is SolveStatus.INFEASIBLE and not confirm:
            return solution
        # Warm starts are known to end in points that are not what they claim to be.
        for options in _FALLBACKS:
            if solution.status is SolveStatus.OPTIMAL or time.monotonic() >= deadline:
                break
            self._highs.clearSolver()
            self._set_options(options)
            cold, self._cold = self._cold, False
            solution = self._attempt(deadline)
            self._cold = cold
            self._set_options(self._options)
        return solution

    @property
    def basis(self) -> Any:
        """Where the simplex method stands, to go back to by `solve_from`."""
        return self._highs.getBasis()

    def solve_from(self, basis: Any, cutoff: float, time_limit: float = np.inf) -> Solution:
        """Solve from a basis that is optimal for other bounds, unless it gets worse than a cutoff.

        Parameters
        ----------
        basis : object
            What `basis` was after the solve to start from.
        cutoff : float
            Objective at which the dual simplex method gives up.
        time_limit : float, default=inf
            Seconds of wall time.

        Returns
        -------
        Solution
            Of a value at or above the cutoff, or one that fails its check, only that it is UNKNOWN;
            INFEASIBLE is not confirmed.
        """
        self._highs.setBasis(basis)
        self._highs.setOptionValue("objective_bound", cutoff)
        try:
            return self._attempt(time.monotonic() + time_limit)
        finally:
            self._highs.setOptionValue("objective_bound", np.inf)

    def probe(self, column: int, lower: float, upper: float, iterations: int) -> float:
        """Lower bound after a few iterations with other bounds of one column; for choices only.

        The program and its basis stay as they were.

        Parameters
        ----------
        column : int
        lower, upper : float
        iterations : int

        Returns
        -------
        float
            inf if HiGHS finds that no point is left.
        """
        one, basis = np.array([column]), self._highs.getBasis()
        old = self.lower[one].copy(), self.upper[one].copy()
        self.change_bounds(one, np.array([lower]), np.array([upper]))
        self._highs.setOptionValue("simplex_iteration_limit", iterations)
        status = SolveStatus.UNKNOWN
        with contextlib.suppress(SolverError):
            status = _run(self._highs, np.inf)
        duals = np.array(self._highs.getSolution().row_dual, dtype=np.float64)
        known = len(duals) == self.program.n_rows
        bound = dual_bound(self.current, duals) if known else -np.inf
        self._highs.setOptionValue("simplex_iteration_limit", np.iinfo(np.int32).max)
        self.change_bounds(one, *old)
        self._highs.setBasis(basis)
        return np.inf if status is SolveStatus.INFEASIBLE else bound

    def _attempt(self, deadline: float) -> Solution:
        self.runs += 1
        if self._cold:
            self._highs.clearSolver()
            self._set_options({**_INTERIOR, "run_crossover": self._crossover})
        try:
            status = _run(self._highs, deadline)
        except SolverError:
            # Other algorithms may still succeed; without a point nothing is claimed.
            return Solution(SolveStatus.UNKNOWN, np.empty(0), np.empty(0), np.inf, -np.inf)
        finally:
            if self._cold:
                self._set_options(self._options)
                self._cold = self._interior == "always"
        raw = self._highs.getSolution()
        x = np.array(raw.col_value, dtype=np.float64)
        given_up = self._highs.getModelStatus() == _module().HighsModelStatus.kObjectiveBound
        if status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED) or (
            given_up or not raw.value_valid
        ):
            kept = status if status is not SolveStatus.OPTIMAL else SolveStatus.UNKNOWN
            return Solution(kept, np.empty(0), np.empty(0), np.inf, -np.inf)
        if self._once:
            kept = SolveStatus.FEASIBLE if status is SolveStatus.OPTIMAL else SolveStatus.UNKNOWN
            x = np.clip(x, self.lower, self.upper) if status is SolveStatus.OPTIMAL else np.empty(0)
            return Solution(kept, x, np.empty(0), np.inf, -np.inf)
        program = self.current
        duals = np.array(raw.row_dual, dtype=np.float64)
        value = program.objective(x)
        bound = dual_bound(program, duals)
        if violation(program, x).worst > ACCEPTED_VIOLATION:
            return Solution(SolveStatus.UNKNOWN, np.empty(0), duals, np.inf, bound)
        x = np.clip(x, program.lower, program.upper)
        proved = _reached(program, x, duals, value, bound)
        checked = SolveStatus.OPTIMAL if proved else SolveStatus.FEASIBLE
        return Solution(checked, x, duals, value, bound)

    def _set_options(self, options: dict[str, Any]) -> None:
        for name, setting in options.items():
            self._highs.setOptionValue(name, setting)


QUADRATIC_TOLERANCES = (FEASIBILITY_TOLERANCE, 1e-7)
"""Tolerances of the active-set method, tried one after the other."""

Interior = Literal["never", "first", "always"]
_INTERIOR: dict[str, Any] = {"presolve": "on", "solver": "ipx"}
_FALLBACKS: tuple[dict[str, Any], ...] = (
    {},
    {"presolve": "on", "simplex_strategy": 1},
    {"presolve": "on", "solver": "ipx", "run_crossover": "on"},
)


def solve(
    program: Program,
    *,
    start: Floats | None = None,
    time_limit: float = np.inf,
    gap: float = 1e-6,
    target: float = -np.inf,
) -> Solution:
    """Solve one program once, mixed-integer or linear.

    Parameters
    ----------
    program : Program
        Scaled: see `Scaling`.
    start : numpy.ndarray of float, shape (n_columns,), optional
        A feasible point to start a mixed-integer search from.
    time_limit : float, default=inf
        Seconds of wall time.
    gap : float, default=1e-6
        Relative gap at which a mixed-integer search may stop.
    target : float, default=-inf
        Objective at which a mixed-integer search may stop.

    Returns
    -------
    Solution
        For a mixed-integer program `bound` is the solver's claim; prove it by
        `branch_and_bound`, or take `dual_bound` of the relaxation instead.
    """
    if not program.is_mixed_integer:
        return LinearSolver(program).solve(time_limit)
    highs = new_highs()
    highs.setOptionValue("mip_rel_gap", gap)
    if np.isfinite(target):
        highs.setOptionValue("objective_target", target)
    highs.setOptionValue("mip_feasibility_tolerance", FEASIBILITY_TOLERANCE)
    pass_program(highs, program)
    if start is not None:
        given = _module().HighsSolution()
        given.col_value = list(start)
        highs.setSolution(given)
    status = _run(highs, time.monotonic() + time_limit)
    info = highs.getInfo()
    raw = highs.getSolution()
    nothing = Solution(status, np.empty(0), np.empty(0), np.inf, -np.inf)
    if not raw.value_valid:
        return nothing
    x = np.array(raw.col_value, dtype=np.float64)
    x[program.integral] = np.rint(x[program.integral])
    if violation(program, x).worst > 10 * ACCEPTED_VIOLATION:
        return Solution(SolveStatus.UNKNOWN, np.empty(0), np.empty(0), np.inf, info.mip_dual_bound)
    kept = SolveStatus.OPTIMAL if status is SolveStatus.OPTIMAL else SolveStatus.FEASIBLE
    return Solution(kept, x, np.empty(0), program.objective(x), float(info.mip_dual_bound))


def solve_quadratic(
    program: Program, curvature: Floats, time_limit: float = np.inf
) -> tuple[Floats, Floats]:
    """Minimise c.x + 1/2 sum q_i x_i^2 over the points of a linear program.

    Parameters
    ----------
    program : Program
        Scaled.
    curvature : numpy.ndarray of float, shape (n_columns,)
        q, all >= 0.
    time_limit : float, default=inf
        Seconds of wall time.

    Returns
    -------
    x, duals : numpy.ndarray of float
        Both empty if no feasible point was found. How good they are is for the caller to
        prove: the active-set method of HiGHS may stop early.
    """
    deadline = time.monotonic() + time_limit
    hessian = _module().HighsHessian()
    curved = curvature > 0
    hessian.dim_ = program.n_columns
    hessian.format_ = _module().HessianFormat.kTriangular
    hessian.start_ = np.concatenate([[0], np.cumsum(curved)]).astype(np.int32)
    hessian.index_ = np.flatnonzero(curved).astype(np.int32)
    hessian.value_ = curvature[curved].astype(np.float64)
    for tolerance in QUADRATIC_TOLERANCES:
        highs = new_highs()
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(name, tolerance)
        pass_program(highs, program)
        if highs.passHessian(hessian) == _module().HighsStatus.kError:
            raise SolverError("HiGHS refused the quadratic program.")
        try:
            _run(highs, deadline)
        except SolverError:
            # It breaks off on some feasible programs, at some tolerances.
            continue
        raw = highs.getSolution()
        x = np.array(raw.col_value, dtype=np.float64)
        if raw.value_valid and violation(program, x).worst <= ACCEPTED_VIOLATION:
            duals = np.array(raw.row_dual, dtype=np.float64)
            return np.clip(x, program.lower, program.upper), duals
    return np.empty(0), np.empty(0)


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """Outcome of the elastic program: how much the rows must give way.

    Parameters
    ----------
    confirmed : bool
        Whether the multipliers prove that no point exists.
    shortfall : numpy.ndarray of float, shape (n_rows,)
        How much each row gives way in the cheapest compromise.
    duals : numpy.ndarray of float, shape (n_rows,)
        Multipliers of the proof.
    x : numpy.ndarray of float, shape (n_columns,)
        The compromise; feasible if nothing had to give way.
    """

    confirmed: bool
    shortfall: Floats
    duals: Floats
    x: Floats


def find_infeasibility(program: Program, *, time_limit: float = np.inf) -> Infeasibility:
    """Confirm or refute "infeasible" by an elastic linear program.

    Whole-number conditions are left out: a confirmed result holds with them as well, an
    unconfirmed one says nothing about them.
    """
    relaxed = elastic(program.relaxed())
    solution = LinearSolver(relaxed).solve(time_limit)
    if not len(solution.x):
        raise SolverError(
            "The elastic program, which always has a solution, was not solved: status "
            f"{solution.status.value}. Raise the time limit, or check the scale of the data."
        )
    n, m = program.n_columns, program.n_rows
    slack = solution.x[n : n + m] + solution.x[n + m :]
    confirmed = proves_infeasible(program, solution.duals)
    return Infeasibility(confirmed, slack, solution.duals, solution.x[:n])


# -- HiGHS itself -------------------------------------------------------------------------


def _module() -> Any:
    import highspy

    return highspy


def new_highs() -> Any:
    """Return an instance with our settings: quiet, one thread, tight tolerances."""
    highs = _module().Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", THREADS)
    highs.setOptionValue("random_seed", 0)
    for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        highs.setOptionValue(name, FEASIBILITY_TOLERANCE)
    return highs


def pass_program(highs: Any, program: Program) -> None:
    """Hand a program over to HiGHS."""
    module = _module()
    lp = module.HighsLp()
    lp.num_col_, lp.num_row_ = program.n_columns, program.n_rows
    lp.col_cost_ = program.cost
    lp.col_lower_, lp.col_upper_ = program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = module.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = program.matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = program.matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = program.matrix.data.astype(np.float64)
    if program.is_mixed_integer:
        kinds = (module.HighsVarType.kContinuous, module.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in program.integral]
    if highs.passModel(lp) == module.HighsStatus.kError:
        raise SolverError("HiGHS refused the program; its arrays hold something unusable.")


def _run(highs: Any, deadline: float) -> SolveStatus:
    """Run once; an error of the thread scheduler is cured by resetting it."""
    module = _module()
    seconds = max(deadline - time.monotonic(), 0.0)
    # The limit counts from the creation of the instance, not from this run.
    limit = highs.getRunTime() + seconds if np.isfinite(seconds) else np.inf
    highs.setOptionValue("time_limit", limit)
    if not _runs(highs):
        module.Highs.resetGlobalScheduler(True)
        highs.clearSolver()
        if not _runs(highs):
            raise SolverError(
                "HiGHS broke off twice, with status "
                f"{highs.modelStatusToString(highs.getModelStatus())}. The scale of the data may "
                f"be out of its range."
            )
    return _translated(highs.getModelStatus())


def _runs(highs: Any) -> bool:
    """Run, and say whether HiGHS came to an end; it also throws errors of its own memory."""
    try:
        return bool(highs.run() != _module().HighsStatus.kError)
    except ValueError:
        return False


def _translated(status: Any) -> SolveStatus:
    names = {
        "kOptimal": SolveStatus.OPTIMAL,
        "kInfeasible": SolveStatus.INFEASIBLE,
        "kUnboundedOrInfeasible": SolveStatus.INFEASIBLE,
        "kUnbounded": SolveStatus.UNBOUNDED,
    }
    return names.get(str(status).rsplit(".", 1)[-1], SolveStatus.UNKNOWN)


def _reached(program: Program, x: Floats, duals: Floats, value: float, bound: float) -> bool:
    """Whether value and bound meet.

    On an infinite bound the safe bound is -inf as soon as one reduced cost is off by a
    rounding error; there we ask for the reduced costs to have the right sign within the
    tolerance, which tells a false answer from a true one but proves nothing.
    """
    if value - bound <= ACCEPTED_GAP * max(1.0, abs(value)):
        return True
    if np.isfinite(bound):
        return False
    reduced = program.cost - program.matrix.T @ duals
    lower = np.where(np.isinf(program.lower), np.minimum(x, 0.0) - 1.0, program.lower)
    upper = np.where(np.isinf(program.upper), np.maximum(x, 0.0) + 1.0, program.upper)
    boxed = dual_bound(program, duals, lower=lower, upper=upper)
    harmless = np.all(reduced[np.isinf(program.upper)] >= -1e-7) and np.all(
        reduced[np.isinf(program.lower)] <= 1e-7
    )
    return bool(harmless) and value - boxed <= ACCEPTED_GAP * max(1.0, abs(value))
