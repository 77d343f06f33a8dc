"""A solver with prepared answers, true or false, to test how they are checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import SolverError
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Capability, Claim, Request, Solver, SolveStatus


class MockSolver(Solver):
    """Solver that returns prepared answers one after the other, then raises SolverError.

    Parameters
    ----------
    answers : iterable of Claim
        None stands for a run that raises SolverError.
    capabilities : iterable of Capability, optional
        By default INTEGERS, DUALS and QUADRATIC.
    """

    name = "mock"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.INTEGERS, Capability.DUALS, Capability.QUADRATIC}
    )

    def __init__(
        self, answers: Iterable[Claim | None] = (), capabilities: Iterable[Capability] | None = None
    ) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Program, Request]] = []
        if capabilities is not None:
            self.capabilities = frozenset(capabilities)  # type: ignore[misc]

    def run(self, program: Program, request: Request) -> Claim:
        """Record the request, and return the next answer."""
        self.asked.append((program, request))
        answer = self.answers.pop(0) if self.answers else None
        if answer is None:
            raise SolverError("The mock has no further answer.")
        return answer


def optimal(x: Floats, duals: Floats | None = None, bound: float = -np.inf) -> Claim:
    """Return the claim that a point is optimal, true or not."""
    return Claim(SolveStatus.OPTIMAL, x, np.empty(0) if duals is None else duals, bound)


def infeasible() -> Claim:
    """Return the claim that no point is feasible."""
    return Claim(SolveStatus.INFEASIBLE)


def unbounded() -> Claim:
    """Return the claim that there is no finite minimum."""
    return Claim(SolveStatus.UNBOUNDED)


def out_of_time(x: Floats | None = None) -> Claim:
    """Return the claim of a solver that ran out of time, with or without a point."""
    return Claim(SolveStatus.UNKNOWN, x)
