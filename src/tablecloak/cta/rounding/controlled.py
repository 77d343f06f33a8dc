"""Controlled rounding: an additive table of multiples of a base, each next to its true value.

Zero-restricted rounding takes each value to one of the two multiples around it and leaves
multiples alone::

    min sum w_i |x_i - a_i|,   x_i = r floor(a_i / r) + r t_i,   A x = b,   t_i in {0, 1}

Two-dimensional tables always have such a rounding, and the linear relaxation finds it: their
matrix is totally unimodular. In more dimensions there may be none; then K steps are allowed,
|x_i - a_i| < K r, with K as small as possible. Large tables of three dimensions and more are
rounded slab by slab (`slabs.py`), with as few exceptions from the first step as are found.

References
----------
.. [1] Cox, Ernst: Controlled rounding, INFOR 20 (1982).
.. [2] Salazar: Controlled rounding and cell perturbation: statistical disclosure limitation
   methods for tabular data, Mathematical Programming 105 (2006).
"""

from __future__ import annotations

from tablecloak.budget import Budget, Progress
from tablecloak.cta.rounding.rounded_table import RoundedTable
from tablecloak.cta.rounding.slabs import rounding_by_slabs
from tablecloak.cta.rounding.steps import rounding_in_steps
from tablecloak.cta.rounding.task import RoundingTask
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.tables.problem import ProtectionProblem, require_problem
from tablecloak.tables.weights import WeightRule


@on_chosen_solver
def controlled_rounding(
    problem: ProtectionProblem,
    *,
    base: int = 5,
    max_steps: int = 3,
    weights: WeightRule | str = WeightRule.UNIT,
    time_limit: float = 60.0,
    progress: Progress | None = None,
    solver: str | None = None,
) -> RoundedTable:
    """Round a table of whole numbers so that it stays additive.

    Parameters
    ----------
    problem : ProtectionProblem
        Problem of a table of whole numbers, such as counts. Its sensitive cells have no effect on
        the rounding; `verdict()` says whether the rounding protects them.
    base : int, default=5
        Values are rounded to multiples of this number, at least 2.
    max_steps : int, default=3
        Largest K to try if there is no zero-restricted rounding.
    weights : WeightRule or str, default="unit"
        Cost of moving a cell by one.
    time_limit : float, default=60
        Seconds, shared by all steps.
    progress : callable, optional
        Called with stage, loss, bound and number of open nodes.
    solver : str, optional
        Name of the solver of all programs, such as "highs" or "cbc"; by default the one chosen by
        `tablecloak.solve.solver.using_solver`, or else "highs".

    Returns
    -------
    RoundedTable
        Verified. Its notes say why more than one step was needed.

    Raises
    ------
    InputError
        If values are not whole, the base is not a whole number of 2 or more, or a frozen cell or
        a right-hand side is not a multiple of the base.
    ModelError
        If it is proved that no rounding within `max_steps` exists.
    SolverError
        If no rounding was found in time.

    Examples
    --------
    >>> import tablecloak as tc
    >>> rounded = tc.controlled_rounding(tc.examples.cox_rounded(), base=25)
    >>> rounded.steps, rounded.is_optimal
    (1, True)
    """
    require_problem(problem)
    del solver
    budget = Budget.begun(time_limit, progress=progress)
    task = RoundingTask.of(problem, base=base, max_steps=max_steps, weights=weights)
    with budget.interruptible():
        rounding = rounding_by_slabs(task, budget) or rounding_in_steps(task, budget)
        rounded = RoundedTable.of(task, rounding)
    return rounded.ended(budget)
