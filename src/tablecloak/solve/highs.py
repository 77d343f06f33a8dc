"""HiGHS as a class in the registry of solvers: one instance, and the programs it solves.

Only this module imports highspy.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget, Stopwatch, running
from tablecloak.errors import SolverError
from tablecloak.solve.bounds import ACCEPTED_VIOLATION, violation
from tablecloak.solve.program import Program
from tablecloak.solve.solver import (
    FEASIBILITY_TOLERANCE,
    SOLVERS,
    Capability,
    Claim,
    LinearMethod,
    LoadedProgram,
    Request,
    Solver,
    SolveStatus,
)

THREADS = 1
"""Threads of every instance: HiGHS refuses to run when instances in one process differ."""

STOPPABLE = 8000
"""Least number of rows and columns of a linear program that can be stopped while it is solved.
Smaller programs end soon, and the call in each iteration would cost up to a third of their time.
docs/decisions, "Stopping a program"."""

NAMES = {
    "kOptimal": SolveStatus.OPTIMAL,
    "kInfeasible": SolveStatus.INFEASIBLE,
    "kUnboundedOrInfeasible": SolveStatus.INFEASIBLE,
    "kUnbounded": SolveStatus.UNBOUNDED,
}
"""Our status for each status of HiGHS; all others are UNKNOWN."""

OPTIONS: dict[LinearMethod, dict[str, Any]] = {
    LinearMethod.COLD: {},
    LinearMethod.PRESOLVED: {"presolve": "on", "simplex_strategy": 1},
    LinearMethod.INTERIOR: {"presolve": "on", "solver": "ipx", "run_crossover": "on"},
    LinearMethod.CENTRAL: {"presolve": "on", "solver": "ipx", "run_crossover": "off"},
}
"""Options of each method that starts from scratch."""

INFINITE = 1e20
"""Least absolute bound that HiGHS regards as infinite."""

TOLERANCES = (FEASIBILITY_TOLERANCE, 1e-7)
"""Tolerances of the active-set method, tried one after the other."""

LEAST_ITERATIONS = 1000
"""Iterations of the active-set method that are allowed for every program."""

ITERATIONS = 20
"""Further iterations allowed for each row and column; some limit is needed since the method can
cycle."""


_FIRST_CALL = threading.Lock()
"""Held while the module is imported: of two threads that send the output nowhere at the same time,
each would put back what the other had put in place, and all later output would be lost."""


def highspy() -> Any:
    """Return the module, imported at the first call."""
    with _FIRST_CALL:
        return _imported()


@cache
def _imported() -> Any:
    import highspy as module

    # HiGHS 1.16 prints its name and licence when the first instance is made, before any option can
    # be set: between the lines of a table that a command writes to its output.
    with _no_output():
        module.Highs()
    return module


@contextmanager
def _no_output() -> Iterator[None]:
    """Send what compiled code prints nowhere."""
    flush = ctypes.CDLL(None).fflush if os.name == "posix" else ctypes.cdll.msvcrt.fflush
    try:
        kept = os.dup(1)
    except OSError:
        # There is no output that anything could get into.
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        flush(None)
        os.dup2(nowhere, 1)
        yield
        flush(None)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def new_instance(*, as_shipped: bool = False) -> Any:
    """Return a silent instance with one thread, and tight tolerances unless it is `as_shipped`."""
    highs = highspy().Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", THREADS)
    highs.setOptionValue("random_seed", 0)
    if not as_shipped:
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(name, FEASIBILITY_TOLERANCE)
    return highs


def pass_program(highs: Any, program: Program) -> None:
    """Transfer a program to HiGHS.

    Raises
    ------
    SolverError
        If HiGHS refuses it.
    """
    module, matrix = highspy(), program.matrix
    # Arrays are copied as they are; the attributes of a HighsLp take them number by number.
    status = highs.passModel(
        program.n_columns,
        program.n_rows,
        matrix.nnz,
        int(module.MatrixFormat.kRowwise),
        int(module.ObjSense.kMinimize),
        0.0,
        *(program.cost, program.lower, program.upper, program.row_lower, program.row_upper),
        *(matrix.indptr, matrix.indices, matrix.data),
        program.integral,
    )
    if status == module.HighsStatus.kError:
        raise SolverError(
            f"HiGHS refused a program of {program.n_rows} rows and {program.n_columns} columns. "
            "Check the problem for numbers that are not finite or very large, and for lower bounds "
            "above upper ones."
        )


def run(highs: Any, seconds: float, *, is_long: bool = False) -> SolveStatus:
    """Run HiGHS, and once more with a new thread scheduler if the first run ends in an error.

    A long run, by its size or by `is_long`, ends when the search that it belongs to is stopped.

    Raises
    ------
    SolverError
        If both runs end in an error.
    """
    watch = Stopwatch()
    is_long |= highs.getNumRow() + highs.getNumCol() >= STOPPABLE
    with _stopped_with_search(highs) if is_long else nullcontext():
        _limit(highs, seconds)
        if not _ends(highs):
            highspy().Highs.resetGlobalScheduler(True)
            highs.clearSolver()
            _limit(highs, seconds - watch.seconds)
            if not _ends(highs):
                raise SolverError(
                    "HiGHS broke off twice, with status "
                    f"{highs.modelStatusToString(highs.getModelStatus())}. Values may be too large "
                    "or too small for it: use larger or smaller units, or choose another solver."
                )
    return status_of(highs)


def status_of(highs: Any) -> SolveStatus:
    """Return our status for what HiGHS claims about its program."""
    return _statuses().get(highs.getModelStatus(), SolveStatus.UNKNOWN)


@cache
def _statuses() -> dict[Any, SolveStatus]:
    """Return our status for each status object; reading its name takes longer than a small run."""
    return {getattr(highspy().HighsModelStatus, name): claim for name, claim in NAMES.items()}


class _Listener:
    """Ends a run once the search that it belongs to is stopped.

    An error raised by the progress of the search cannot pass through HiGHS, so it is kept here and
    raised after the run.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.error: BaseException | None = None

    def __call__(self, event: Any) -> None:
        try:
            is_stopped = self.budget.hears_stop()
        except BaseException as error:
            self.error, is_stopped = error, True
        # HiGHS keeps the flag of an earlier run, so it is set at each call.
        event.interrupt(is_stopped)


@contextmanager
def _stopped_with_search(highs: Any) -> Iterator[None]:
    """End the run inside when its search is stopped."""
    budget = running()
    # A program that is begun after a stop is needed to finish the search, and is not interrupted.
    if budget is None or budget.is_stopped:
        yield
        return
    listener = _Listener(budget)
    events = (highs.cbSimplexInterrupt, highs.cbIpmInterrupt, highs.cbMipInterrupt)
    for event in events:
        event.subscribe(listener)
    try:
        yield
    finally:
        for event in events:
            event.unsubscribe(listener)
    if listener.error is not None:
        raise listener.error


def _limit(highs: Any, seconds: float) -> None:
    # HiGHS counts the limit from the creation of the instance, not from the start of the run.
    limit = highs.getRunTime() + max(seconds, 0.0) if np.isfinite(seconds) else np.inf
    highs.setOptionValue("time_limit", limit)


def _ends(highs: Any) -> bool:
    """Run, and return whether HiGHS ended without an error; memory errors are ValueErrors."""
    try:
        return bool(highs.run() != highspy().HighsStatus.kError)
    except ValueError:
        return False


class HighsProgram(LoadedProgram):
    """One instance of HiGHS that holds a linear program.

    Parameters
    ----------
    program : Program
    primal : bool, default=False
        Start with the primal simplex method.
    """

    fallbacks: ClassVar[tuple[LinearMethod, ...]] = (
        LinearMethod.COLD,
        LinearMethod.PRESOLVED,
        LinearMethod.INTERIOR,
    )

    def __init__(self, program: Program, *, primal: bool = False) -> None:
        self._options: dict[str, Any] = {
            "presolve": "off",
            "solver": "choose",
            "simplex_strategy": 4 if primal else 1,
        }
        self._highs = new_instance()
        self._set(self._options)
        pass_program(self._highs, program)

    def change_costs(self, columns: Integers, costs: Floats) -> None:
        """Replace the costs of some columns; the last basis stays primal feasible."""
        self._highs.changeColsCost(len(columns), np.asarray(columns, np.int32), costs)

    def change_bounds(self, columns: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the bounds of some columns; the last basis stays dual feasible."""
        self._highs.changeColsBounds(len(columns), np.asarray(columns, np.int32), lower, upper)

    def change_sides(self, rows: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the sides of some rows; the last basis stays dual feasible."""
        for row, low, high in zip(rows.tolist(), lower, upper, strict=True):
            self._highs.changeRowBounds(row, low, high)

    def add_rows(self, matrix: csr_array, lower: Floats, upper: Floats) -> None:
        """Append rows."""
        self._highs.addRows(
            matrix.shape[0],
            lower,
            upper,
            matrix.nnz,
            matrix.indptr.astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float64),
        )

    def drop_rows(self, rows: Integers) -> None:
        """Remove some rows; the last basis stays usable if they were slack."""
        self._highs.deleteRows(len(rows), np.asarray(rows, np.int32))

    def run(
        self,
        seconds: float,
        method: LinearMethod = LinearMethod.WARM,
        *,
        cutoff: float = np.inf,
        iterations: int | None = None,
        duals: bool = True,
    ) -> Claim:
        """Solve the program as it stands, by default from the last basis."""
        changed = self._prepare(method, cutoff, iterations)
        try:
            status = run(self._highs, seconds)
        finally:
            self._set(changed)
        reached = highspy().HighsModelStatus.kObjectiveBound
        is_beyond = cutoff < np.inf and self._highs.getModelStatus() == reached
        raw = self._highs.getSolution()
        return Claim(
            status,
            np.array(raw.col_value, dtype=np.float64) if raw.value_valid else None,
            np.array(raw.row_dual, dtype=np.float64) if duals else np.empty(0),
            is_beyond=bool(is_beyond),
        )

    @property
    def basis(self) -> Any:
        """The last basis of the simplex method."""
        return self._highs.getBasis()

    @basis.setter
    def basis(self, basis: Any) -> None:
        self._highs.setBasis(basis)

    def _prepare(
        self, method: LinearMethod, cutoff: float, iterations: int | None
    ) -> dict[str, Any]:
        """Set the options of one run; return the settings to restore afterwards."""
        before: dict[str, Any] = {}
        if method is not LinearMethod.WARM:
            self._highs.clearSolver()
            self._set(OPTIONS[method])
            before |= self._options
        if cutoff < np.inf:
            self._highs.setOptionValue("objective_bound", cutoff)
            before["objective_bound"] = np.inf
        if iterations is not None:
            self._highs.setOptionValue("simplex_iteration_limit", iterations)
            before["simplex_iteration_limit"] = int(np.iinfo(np.int32).max)
        return before

    def _set(self, options: dict[str, Any]) -> None:
        for name, setting in options.items():
            self._highs.setOptionValue(name, setting)


def _run_once(program: Program, request: Request) -> Claim:
    highs = new_instance(as_shipped=request.as_shipped)
    history: list[tuple[float, float, float]] = []
    highs.setOptionValue("mip_rel_gap", request.gap)
    if request.nodes is not None:
        highs.setOptionValue("mip_max_nodes", request.nodes)
    if request.algorithm:
        highs.setOptionValue("solver", request.algorithm)
    if np.isfinite(request.target):
        highs.setOptionValue("objective_target", request.target)
    if request.as_shipped and program.is_mixed_integer:
        highs.cbMipImprovingSolution.subscribe(partial(_note, history))
    elif not request.as_shipped:
        highs.setOptionValue("mip_feasibility_tolerance", FEASIBILITY_TOLERANCE)
    pass_program(highs, program)
    if request.start is not None:
        solution = highspy().HighsSolution()
        solution.col_value = list(request.start)
        highs.setSolution(solution)
    status = run(highs, request.seconds, is_long=True)
    return _claim(highs, program, status, history)


def _claim(
    highs: Any, program: Program, status: SolveStatus, history: list[tuple[float, float, float]]
) -> Claim:
    raw = highs.getSolution()
    x = np.array(raw.col_value, dtype=np.float64) if raw.value_valid else None
    duals, bound = np.array(raw.row_dual, dtype=np.float64), -np.inf
    if program.is_mixed_integer:
        duals, bound = np.empty(0), float(highs.getInfo().mip_dual_bound)
        if x is not None and status is SolveStatus.UNKNOWN:
            status = SolveStatus.FEASIBLE
    if bound >= INFINITE:
        bound = np.inf
    elif bound <= -INFINITE:
        bound = -np.inf
    message = highs.modelStatusToString(highs.getModelStatus())
    return Claim(status, x, duals, bound, message=message, history=history)


def _note(history: list[tuple[float, float, float]], event: Any) -> None:
    out = event.data_out
    history.append((out.running_time, out.mip_primal_bound, out.mip_dual_bound))


def _run_quadratic(program: Program, curvature: Floats, seconds: float) -> Claim:
    """Minimise c.x + 1/2 sum q_i x_i^2 over the points of a linear program.

    At some tolerances HiGHS breaks off on feasible programs, or cycles without end. Tolerances are
    tried in order, and the first point that satisfies the program is returned, optimal or not.

    Raises
    ------
    SolverError
        If HiGHS refuses the program.
    """
    watch = Stopwatch()
    for tolerance in TOLERANCES:
        highs = new_instance()
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(name, tolerance)
        iterations = LEAST_ITERATIONS + ITERATIONS * (program.n_rows + program.n_columns)
        highs.setOptionValue("qp_iteration_limit", iterations)
        pass_program(highs, program)
        if highs.passHessian(_hessian(curvature)) == highspy().HighsStatus.kError:
            raise SolverError(
                f"HiGHS refused the quadratic objective of a program of {program.n_columns} "
                "columns. Check that all weights are finite and none is negative."
            )
        try:
            run(highs, seconds - watch.seconds, is_long=True)
        except SolverError:
            continue
        raw = highs.getSolution()
        x = np.array(raw.col_value, dtype=np.float64)
        if raw.value_valid and violation(program, x).worst <= ACCEPTED_VIOLATION:
            return Claim(SolveStatus.FEASIBLE, x, np.array(raw.row_dual, dtype=np.float64))
    return Claim(SolveStatus.UNKNOWN)


def _hessian(curvature: Floats) -> object:
    """Return the diagonal as HiGHS stores it, without its zeros."""
    hessian = highspy().HighsHessian()
    curved = curvature > 0
    hessian.dim_ = len(curvature)
    hessian.format_ = highspy().HessianFormat.kTriangular
    hessian.start_ = np.concatenate([[0], np.cumsum(curved)]).astype(np.int32)
    hessian.index_ = np.flatnonzero(curved).astype(np.int32)
    hessian.value_ = curvature[curved].astype(np.float64)
    return hessian


@SOLVERS.register
class Highs(Solver):
    """HiGHS, in this process: hot starts, integers, least squares. Fastest, and the default."""

    name = "highs"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)
    algorithms: ClassVar[tuple[str, ...]] = ("simplex", "ipm", "pdlp")
    packages: ClassVar[tuple[str, ...]] = ("highspy",)

    def run(self, program: Program, request: Request) -> Claim:
        """Solve a program once, from scratch."""
        if request.curvature is not None:
            return _run_quadratic(program, request.curvature, request.seconds)
        if program.is_mixed_integer or request.algorithm or request.as_shipped:
            return _run_once(program, request)
        return HighsProgram(program).run(request.seconds, request.method)

    def load(self, program: Program, *, primal: bool = False) -> LoadedProgram:
        """Keep a linear program in an instance of HiGHS."""
        return HighsProgram(program, primal=primal)
