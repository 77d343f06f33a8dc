"""A program that HiGHS solves once: mixed-integer, or linear by a chosen algorithm."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tablecloak.solve.highs.instance import highspy, new_instance, pass_program, run
from tablecloak.solve.program import Program
from tablecloak.solve.solver import FEASIBILITY_TOLERANCE, Claim, Request, SolveStatus

__all__ = ["run_once"]

INFINITE = 1e20
"""Least absolute bound that HiGHS regards as infinite."""


def run_once(program: Program, request: Request) -> Claim:
    """Solve a program once.

    Parameters
    ----------
    program : Program
    request : Request
    """
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
