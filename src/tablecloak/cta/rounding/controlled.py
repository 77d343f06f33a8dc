"""Controlled rounding: an additive table of multiples of a base, each next to its true value.

Zero-restricted rounding takes each value to one of the two multiples around it and leaves
multiples alone::

    min sum w_i |x_i - a_i|,   x_i = r floor(a_i / r) + r t_i,   A x = b,   t_i in {0, 1}

Two-dimensional tables always have such a rounding, and the linear relaxation finds it: their
matrix is totally unimodular. In more dimensions there may be none; then K steps are allowed,
|x_i - a_i| < K r, with K as small as possible. Large tables of three dimensions and more are
rounded slab by slab (`slab_search.py`), with as few exceptions from the first step as are found.

References
----------
.. [1] Cox, Ernst: Controlled rounding, INFOR 20 (1982).
.. [2] Salazar: Controlled rounding and cell perturbation: statistical disclosure limitation
   methods for tabular data, Mathematical Programming 105 (2006).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.budget import Budget, Progress
from tablecloak.cta.rounding.model import RoundingModel, uneven_relations
from tablecloak.cta.rounding.rounded_table import RoundedTable
from tablecloak.cta.rounding.search import Rounding, nearest_rounding
from tablecloak.cta.rounding.slab_search import large_rounding
from tablecloak.errors import InputError, ModelError, SolverError, listed
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights.rule import WeightRule

__all__ = ["check_whole", "controlled_rounding"]

LARGEST = 10**15
"""Largest base: sums of such numbers are exact."""

LEAST_SECONDS = 0.1
"""Time limit in seconds for the first rounding if the time is over already."""


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
        the rounding; ``tablecloak.audit`` says whether the rounding protects them.
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
    del solver
    budget = Budget.begun(time_limit, progress=progress)
    _check(problem, base, max_steps)
    base, max_steps = int(base), int(max_steps)
    cost = WeightRule(weights).of(problem)
    notes: list[str] = []
    is_empty = True
    with budget.interruptible():
        large = large_rounding(problem, base, max_steps, cost, budget)
        if large is not None:
            result = _verified(*large)
            return replace(result, seconds=budget.elapsed)
        for steps in range(1, max_steps + 1):
            if notes and budget.is_over:
                is_empty = False
                break
            # Until a rounding is found, keep half of the time for more steps.
            first = budget.share(1.0 if steps == max_steps else 0.5).at_least(LEAST_SECONDS)
            model = RoundingModel(problem, base, steps, cost)
            rounding = nearest_rounding(model, first, budget)
            if isinstance(rounding, Rounding):
                result = _verified(model, problem, rounding, steps, tuple(notes))
                return replace(result, seconds=budget.elapsed)
            is_empty &= rounding
            why = "is proved to be impossible" if rounding else "was not found in time"
            notes.append(f"a rounding with {steps} step{'s' * (steps > 1)} {why}")
    if is_empty:
        raise ModelError(
            f"No additive rounding to base {base} within {max_steps} steps exists (proved by a "
            f"complete search). Raise `max_steps`, or let frozen cells be rounded."
        )
    raise SolverError(
        f"No additive rounding to base {base} was found in time: {'; '.join(notes)}. Raise "
        f"`time_limit` or `max_steps`."
    )


def _verified(
    model: RoundingModel,
    problem: ProtectionProblem,
    rounding: Rounding,
    steps: int,
    notes: tuple[str, ...],
) -> RoundedTable:
    result = RoundedTable(
        problem=problem,
        values=rounding.values,
        base=model.base,
        steps=steps,
        weights=model.weights,
        bound_certificate=rounding.proof,
        bound=0.0,
        seconds=0.0,
        notes=notes,
    )
    result = replace(result, bound=min(result.proved_bound(), result.loss))
    result.verify()
    return result


def check_whole(name: str, given: object, least: int) -> None:
    """Refuse anything but a whole number in a sensible range.

    Raises
    ------
    InputError
    """
    number = float(given) if isinstance(given, int | float | np.integer | np.floating) else np.nan
    if not least <= number <= LARGEST or number != np.rint(number):
        raise InputError(
            f"`{name}` must be a whole number from {least} (to {LARGEST:,}). Got {given!r}."
        )


def _check(problem: ProtectionProblem, base: int, max_steps: int) -> None:
    check_whole("base", base, 2)
    check_whole("max_steps", max_steps, 1)
    if base * max_steps > LARGEST:
        raise InputError(
            f"{max_steps} steps of {base} are more than numbers can hold. Lower `base` or "
            f"`max_steps`."
        )
    table = problem.table
    if not table.integer:
        raise InputError(
            "Controlled rounding needs a table of whole numbers, such as counts. Round the values "
            "to whole numbers that add up first, or protect the table by suppression or adjustment."
        )
    odd = np.flatnonzero(problem.frozen & (np.rint(table.values) % base != 0))
    if len(odd):
        raise InputError(
            f"{len(odd)} cells must be published as they are (status z), but are not multiples of "
            f"{base}: {listed(table.labels(odd[:5]))}. Give them another status."
        )
    uneven = uneven_relations(table, base)
    if len(uneven):
        raise InputError(
            f"{len(uneven)} relations have a right-hand side that is not a multiple of {base} (in "
            f"whole coefficients without a common divisor), so that no multiples of it can satisfy "
            f"them; the first is {table.describe_relation(int(uneven[0]))}. Take a base that "
            f"divides it."
        )
