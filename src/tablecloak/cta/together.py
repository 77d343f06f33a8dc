"""Several variables over the same cells, adjusted so that their covariances stay.

One variable is adjusted after the other. For the next one the adjusted values of those before
it are known, so that each covariance is a linear row: Cov(x, v) = Cov(a, b) for adjusted values
x, v of true values a, b. Nothing is left out, as the products of changes would be if all were
adjusted at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablecloak.budget import Budget
from tablecloak.cta.adjust import adjust
from tablecloak.cta.adjustment import Adjustment
from tablecloak.cta.statistics.covariance import Covariance
from tablecloak.cta.statistics.statistic import Statistic
from tablecloak.cta.subsets import Subset
from tablecloak.errors import InputError
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["adjust_together"]

LEAST_SECONDS = 1.0
"""Seconds that the tables left share at least, past the time limit if need be."""


def adjust_together(
    problems: Sequence[ProtectionProblem],
    *,
    covariance: Subset = "all",
    preserve: Sequence[Statistic | str] = (),
    tolerance: float = 0.0,
    time_limit: float = 60.0,
    **options: Any,
) -> list[Adjustment]:
    """Adjust tables of several variables over the same cells; keep their covariances.

    Parameters
    ----------
    problems : sequence of ProtectionProblem
        With the same cells in the same order, such as turnover and wages by region x industry.
    covariance : str, mapping, or array, default="all"
        Cells over which the covariance of each pair stays.
    preserve : sequence of Statistic or str, default=()
        Statistics to keep in each table. With "variance" or "slope" besides, the regression of
        one variable on another keeps its slope too.
    tolerance : float, default=0
        Accepted change of a covariance, as a share of the product of standard deviations.
    time_limit : float, default=60
        Seconds, for all tables together.
    **options
        As for `adjust`.

    Returns
    -------
    list of Adjustment
        In the order of the problems, each verified. The bound of each table refers to the rows
        that the tables before it left.

    Raises
    ------
    InputError
        If cells differ.
    ModelError
        If some table cannot be adjusted so; its name is in the message of `adjust`.
    """
    budget = Budget.begun(time_limit)
    adjusted: list[Adjustment] = []
    with budget.interruptible():
        for number, problem in enumerate(problems):
            if not problem.table.keys.equals(problems[0].table.keys):
                raise InputError(
                    f"Table {number + 1} does not have the cells of the first in the same order. "
                    f"Tabulate all variables from the same records, or reorder them by their codes."
                )
            rows = [
                Covariance(
                    covariance,
                    tolerance,
                    other=before.problem.table.values,
                    published=before.values,
                )
                for before in adjusted
            ]
            seconds = max(budget.left, LEAST_SECONDS) / (len(problems) - number)
            adjusted.append(
                adjust(problem, preserve=[*preserve, *rows], time_limit=seconds, **options)
            )
    return adjusted
