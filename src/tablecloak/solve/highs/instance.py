"""An instance of HiGHS: settings, transfer of a program, one run, and translation of statuses."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from tablecloak.budget import Budget, Stopwatch, running
from tablecloak.errors import SolverError
from tablecloak.solve.program import Program
from tablecloak.solve.solver import FEASIBILITY_TOLERANCE, SolveStatus

__all__ = ["NAMES", "highspy", "new_instance", "pass_program", "run", "status_of"]

THREADS = 1
"""Threads of every instance: HiGHS refuses to run when instances in one process differ."""

STOPPABLE = 2000
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


@cache
def highspy() -> Any:
    """Return the module, imported at the first call."""
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
    module = highspy()
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
