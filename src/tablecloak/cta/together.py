"""Several variables over the same cells, adjusted so that their covariances stay.

The variables are adjusted one after the other. The adjusted values v of an earlier variable b are
known, so that the covariance with the next one, a, is a linear row: Cov(x, v) = Cov(a, b) for its
adjusted values x. The row is exact; if all variables were adjusted at once, covariances would
contain products of changes, which no linear row can express.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tablecloak.budget import Budget
from tablecloak.cta.adjust import adjust
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.statistics.moments import Subset
from tablecloak.cta.statistics.regression import Covariance
from tablecloak.cta.statistics.statistic import Statistic
from tablecloak.errors import InputError
from tablecloak.tables.problem import ProtectionProblem

LEAST_SECONDS = 1.0
"""Least time in seconds for all remaining tables together, past the time limit if need be."""


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
        Tables with the same cells in the same order, such as turnover and wages by region.
    covariance : str, mapping, or array, default="all"
        Cells over which the covariance of each pair of variables is preserved.
    preserve : sequence of Statistic or str, default=()
        Further statistics to preserve in each table. With "variance" or "slope" among them, the
        regression of one variable on another keeps its slope too.
    tolerance : float, default=0
        Accepted change of a covariance, as a share of the product of standard deviations.
    time_limit : float, default=60
        Seconds, for all tables together.
    **options
        As for `adjust`.

    Returns
    -------
    list of Adjustment
        In the order of the problems, each verified. The bound of each table holds for given
        adjusted values of the tables before it.

    Raises
    ------
    InputError
        If the problems do not have the same cells.
    ModelError
        If no adjustment of a table preserves what is asked; the message names the table.
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
