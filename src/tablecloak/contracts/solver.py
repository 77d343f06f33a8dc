"""The contract of a solver: it solves small programs whose optima are known by hand."""

from __future__ import annotations

from tablecloak.contracts.facts import check_facts
from tablecloak.solve.conformance import CHECKS
from tablecloak.solve.solver import Solver

SOLVER = CHECKS
"""Facts that every solver must satisfy, each a function of the solver."""


def _assertions_run() -> bool:
    return __debug__


def check_solver(solver: Solver) -> None:
    """Check a solver on small programs: points, bounds, multipliers, statuses and changes.

    Parameters
    ----------
    solver : Solver
        A solver of your own. Only the capabilities that it claims are checked.

    Raises
    ------
    AssertionError
        With the first fact that does not hold.
    RuntimeError
        If Python runs with -O, which removes the assertions.

    Examples
    --------
    >>> from tablecloak.contracts import check_solver
    >>> from tablecloak.solve.solver import SOLVERS
    >>> check_solver(SOLVERS.build("highs"))
    """
    if not _assertions_run():
        raise RuntimeError("The contract of solvers consists of assertions: run Python without -O.")
    check_facts(solver, f"The solver {getattr(solver, 'name', type(solver).__name__)!r}", SOLVER)
